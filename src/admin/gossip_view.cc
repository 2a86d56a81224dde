#include "admin/gossip_view.h"

#include <algorithm>

#include "admin/statistics.h"
#include "base/log.h"
#include "gossip/state_values.h"
#include "model/values.h"
#include "runtime/gather.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

constexpr const char* kMessagingVersion = "13";  // of Cassandra 5.0
constexpr const char* kHidden = "<hidden>";

std::vector<GossipedNode> nodes_of(const Gossiper& gossiper) {
  std::vector<GossipedNode> nodes;
  for (const auto& [endpoint, known] : gossiper.states()) {
    GossipedNode node;
    node.endpoint = endpoint;
    node.is_alive = gossiper.is_alive(endpoint);
    node.generation = known->heart_beat.generation;
    node.heartbeat = known->heart_beat.version;
    for (const auto& [state, value] : known->states) {
      if (state != ApplicationState::kTokens) node.states.push_back({state, value.version, value.value});
    }
    if (const VersionedValue* tokens = known->find(ApplicationState::kTokens)) {
      node.states.push_back({ApplicationState::kTokens, tokens->version, kHidden});
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Task<int64_t> saved_generation(AdminContextPtr context) {
  ReadCommand command;
  command.table = context->schema()->table("system", "local");
  command.range = KeyRange{};
  command.now_seconds = context->runtime().clock.wall_seconds();
  InternalRows rows(command.table);
  Task<Result<ReadStatistics>> task = context->replica().read(command, rows);
  Result<ReadStatistics> read = co_await task;
  if (!read.ok()) LOG_WARN("Cannot read system.local: {}", read.error().message());
  co_return rows.rows.empty() ? 0 : rows.rows[0].integer("gossip_generation");
}

// The states of a node that is alone.
Task<GossipedNode> lonely_node(AdminContextPtr context) {
  GossipedNode node;
  node.generation = co_await saved_generation(context);
  Task<std::vector<TableReport>> reports = report_tables(context, stored_tables(*context->schema()));
  uint64_t load = load_of(co_await reports);
  Task<bool> serving = call_hook<bool>(context, context->hooks.binary_running);
  bool rpc_ready = co_await serving;
  const Endpoint& endpoint = context->replica().topology().current()->local();
  if (auto address = InetAddressAndPort::parse(endpoint.address, endpoint.storage_port)) node.endpoint = *address;
  std::vector<Token> tokens = endpoint.tokens;
  std::sort(tokens.begin(), tokens.end());
  std::string status = tokens.empty() ? "" : state_values::normal(tokens);
  SocketAddress native{endpoint.native_address, endpoint.native_port};
  const auto written = SSTableDescriptor::of(context->node.engine_options.sstable_version, "", "");
  using enum ApplicationState;
  node.states = {{kStatus, 13, status},
                 {kLoad, 9, double_to_text(static_cast<double>(load))},
                 {kSchema, 7, context->schema()->version().to_string()},
                 {kDc, 8, endpoint.datacenter},
                 {kRack, 10, endpoint.rack},
                 {kReleaseVersion, 5, std::string(cassandra_like::kReleaseVersion)},
                 {kRpcAddress, 4, endpoint.native_address},
                 {kNetVersion, 1, kMessagingVersion},
                 {kHostId, 2, endpoint.host_id.to_string()},
                 {kRpcReady, 14, rpc_ready ? "true" : "false"},
                 {kNativeAddressAndPort, 3, native.to_string()},
                 {kStatusWithPort, 12, status},
                 {kSstableVersions, 6, written.format + "-" + written.version},
                 {kTokens, 11, kHidden}};
  co_return node;
}

void add(PendingHints& total, const PendingHints& part) {
  const bool first = total.files == 0;
  total.host_id = part.host_id;
  total.files += part.files;
  total.bytes += part.bytes;
  total.oldest_millis = first ? part.oldest_millis : std::min(total.oldest_millis, part.oldest_millis);
  total.newest_millis = std::max(total.newest_millis, part.newest_millis);
}

std::vector<HintedNode> located(const MembershipService& service, std::vector<HintedNode> nodes) {
  for (HintedNode& node : nodes) {
    node.endpoint = service.membership().endpoint_of(node.hints.host_id);
    if (!node.endpoint) continue;
    node.location = service.membership().location(*node.endpoint);
    node.status = service.gossiper().is_alive(*node.endpoint) ? "UP" : "DOWN";
  }
  return nodes;
}

}  // namespace

std::string_view GossipedNode::text(ApplicationState state) const {
  for (const GossipedState& each : states) {
    if (each.state == state) return each.value;
  }
  return {};
}

Task<std::vector<GossipedNode>> gossiped_nodes(AdminContextPtr context) {
  using Nodes = std::vector<GossipedNode>;
  MembershipService* membership = context->node.membership;
  if (membership == nullptr) {
    Nodes nodes;
    nodes.push_back(co_await lonely_node(context));
    co_return nodes;
  }
  Task<Nodes> hop =
      on_gossip_shard<Nodes>(context, [membership] { return Task<Nodes>(nodes_of(membership->gossiper())); });
  co_return co_await hop;
}

Task<int64_t> gossip_generation(AdminContextPtr context) {
  MembershipService* membership = context->node.membership;
  if (membership == nullptr) co_return co_await saved_generation(context);
  auto ask = [membership] {
    const Gossiper& gossiper = membership->gossiper();
    const EndpointState* local = gossiper.state(gossiper.config().local);
    return Task<int64_t>(local == nullptr ? 0 : local->heart_beat.generation);
  };
  Task<int64_t> hop = on_gossip_shard<int64_t>(context, ask);
  co_return co_await hop;
}

Task<std::vector<HintedNode>> hinted_nodes(AdminContextPtr context) {
  using Pending = std::vector<PendingHints>;
  using Nodes = std::vector<HintedNode>;
  Nodes nodes;
  if (context->node.hints.empty() || context->stopped) co_return nodes;
  auto* node = &context->node;
  auto ask = [node](unsigned shard) { return Task<Pending>(node->hints[shard]->pending()); };
  auto parts = co_await gather<Pending>(*node->runtime, context->here(), ask);
  std::map<Uuid, PendingHints> by_host;
  for (const Pending& part : parts) {
    for (const PendingHints& each : part) add(by_host[each.host_id], each);
  }
  for (auto& [host_id, pending] : by_host) nodes.push_back({.hints = pending});
  MembershipService* membership = context->node.membership;
  if (membership == nullptr || context->stopped) co_return nodes;
  auto locate = [membership, nodes]() { return Task<Nodes>(located(*membership, nodes)); };
  Task<Nodes> hop = on_gossip_shard<Nodes>(context, locate);
  co_return co_await hop;
}

}  // namespace cassandra_like
