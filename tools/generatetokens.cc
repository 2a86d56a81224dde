// generatetokens (GenerateTokens, OfflineTokenAllocator).
#include "generatetokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "command_line.h"
#include "ring/token_allocator.h"
#include "sstable_tools.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr const char* kUsage = R"(
usage: generatetokens -n NODES -t TOKENS --rf REPLICATION_FACTOR
--
Generates tokens for a datacenter with the given number of nodes using the
token allocation algorithm.
Options are:
 -n,--nodes <arg>         Number of nodes.
 -p,--partitioner <arg>   Database partitioner, either Murmur3Partitioner
                          or RandomPartitioner.
    --racks <arg>         Number of nodes per rack, separated by commas.
                          Must add up to the total node count.
                          For example, 'generatetokens -n 30 -t 8 --rf 3
                          --racks 10,10,10' will generate tokens for
                          three racks of 10 nodes each.
    --rf <arg>            Replication factor.
 -t,--tokens <arg>        Number of tokens/vnodes per node.
 -v,--verbose             Verbose logging.
)";

// Options without a letter.
constexpr char kReplicationFactor = '\1', kRacks = '\2';

struct Plan {
  int replicas = 0, num_tokens = 0;
  std::vector<int> racks;  // nodes in each
};

Result<int> integer(const std::string& text) {
  int value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) {
    return invalid(fmt::format("Invalid integer For input string: \"{}\"", text));
  }
  return value;
}

Result<std::vector<int>> integers(const std::string& text) {
  std::vector<int> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    ASSIGN_OR_RETURN(const int value, integer(text.substr(at, comma - at)));
    out.push_back(value);
    at = comma + 1;
  }
  return out;
}

Result<Plan> plan_of(const std::vector<std::string>& arguments) {
  const CommandLine line = CommandLine::parse_gnu({{'n', "nodes", 1},
                                                   {'t', "tokens", 1},
                                                   {kReplicationFactor, "rf", 1},
                                                   {'p', "partitioner", 1},
                                                   {kRacks, "racks", 1},
                                                   {'v', "verbose"}},
                                                  arguments);
  if (!line.error.empty()) return invalid(line.error);
  std::vector<std::string> missing;
  for (const auto& [letter, name] : {std::pair('n', "n"), std::pair('t', "t"), std::pair(kReplicationFactor, "rf")}) {
    if (!line.has(letter)) missing.emplace_back(name);
  }
  if (!missing.empty()) {
    return invalid(
        fmt::format("Missing required option{}: {}", missing.size() > 1 ? "s" : "", fmt::join(missing, ", ")));
  }
  Plan plan;
  ASSIGN_OR_RETURN(plan.replicas, integer(line.options.at(kReplicationFactor).front()));
  ASSIGN_OR_RETURN(plan.num_tokens, integer(line.options.at('t').front()));
  const std::string& nodes = line.options.at('n').front();
  ASSIGN_OR_RETURN(const int count, integer(nodes));
  if (line.has('p') && !line.options.at('p').front().ends_with("Murmur3Partitioner")) {
    return invalid(
        fmt::format("The partitioner {} is not there: Murmur3Partitioner is.", line.options.at('p').front()));
  }
  const std::string& racks = line.has(kRacks) ? line.options.at(kRacks).front() : nodes;
  ASSIGN_OR_RETURN(plan.racks, integers(racks));
  if (std::accumulate(plan.racks.begin(), plan.racks.end(), int64_t{0}) != count) {
    return invalid(fmt::format("The sum of nodes in each rack {} must equal total node count {}.", racks, nodes));
  }
  return plan;
}

std::string names(const std::vector<int>& counts) { return fmt::format("[{}]", fmt::join(counts, ", ")); }

Status check(const Plan& plan) {
  const auto nodes = std::accumulate(plan.racks.begin(), plan.racks.end(), int64_t{0});
  if (plan.replicas <= 0) return invalid("rf must be greater than zero");
  if (plan.num_tokens <= 0) return invalid("num_tokens must be greater than zero");
  if (nodes < plan.replicas) {
    return invalid(fmt::format("not enough nodes {} for rf {} in {}", nodes, plan.replicas, names(plan.racks)));
  }
  return {};
}

}  // namespace

Result<std::vector<PlannedNode>> plan_datacenter(int replicas, int num_tokens, std::vector<int> racks, Token first) {
  Endpoint outside;  // the ring of the first node: one endpoint without tokens
  outside.state = EndpointStatus::kLeft;
  std::vector<Endpoint> ring{outside};
  std::vector<PlannedNode> out;
  // The racks in turn, those that are full are passed over.
  for (size_t rack = 0; racks[rack] > 0;) {
    const TokenRequest request{outside.datacenter, outside.rack, replicas, static_cast<size_t>(num_tokens), first};
    ASSIGN_OR_RETURN(auto tokens, allocate_tokens(TokenRing(ring, 0), request));
    ring.emplace_back().tokens = tokens;
    out.push_back({rack, std::move(tokens)});
    size_t next = (rack + 1) % racks.size();
    while (racks[next] == 0 && next != rack) next = (next + 1) % racks.size();
    --racks[rack];
    rack = next;
  }
  return out;
}

int run_generatetokens(const std::vector<std::string>& arguments, const ToolContext& context) {
  const Result<Plan> plan = plan_of(arguments);
  if (!plan.ok()) {
    context.err << plan.error().message() << "\n";
    context.out << kUsage;
    return 1;
  }
  const auto nodes = std::accumulate(plan->racks.begin(), plan->racks.end(), int64_t{0});
  context.out << fmt::format(
      "Generating tokens for {} nodes with {} vnodes each for replication factor {} and partitioner "
      "Murmur3Partitioner\n",
      nodes, plan->num_tokens, plan->replicas);
  auto tokens = [&]() -> Result<std::vector<PlannedNode>> {
    TRY(check(*plan));
    const auto first = static_cast<Token>(context.runtime->shard(0).random.next());
    return plan_datacenter(plan->replicas, plan->num_tokens, plan->racks, first);
  }();
  if (!tokens.ok()) {
    context.out << "WARNING: Error running tool.\n";
    context.err << tokens.error().message() << "\n";
    return 1;
  }
  for (size_t i = 0; i < tokens->size(); ++i) {
    const PlannedNode& node = (*tokens)[i];
    context.out << fmt::format("Node {} rack {}: [{}]\n", i, node.rack, fmt::join(node.tokens, ", "));
  }
  return 0;
}

}  // namespace cassandra_like::sstable_tools
