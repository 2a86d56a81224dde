#include "ring/replication.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/ascii.h"

namespace cassandra_like {

namespace {

constexpr const char* kReplicationFactor = "replication_factor";
constexpr const char* kPackage = "org.apache.cassandra.locator.";

Error config_error(std::string message) { return Error(ErrorCode::kConfigError, std::move(message)); }

// Integer.parseInt.
Result<int> parse_int(std::string_view text) {
  int value = 0;
  std::string_view digits = text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return config_error(fmt::format("For input string: \"{}\"", text));
  }
  return value;
}

// "3", or "3/1" with the number of transient replicas.
Result<int> parse_replication_factor(const std::string& text) {
  std::string_view all = text;
  std::string_view of_transient = "0";
  if (size_t slash = text.find('/'); slash != std::string::npos) {
    if (slash + 1 == text.size() || text.find('/', slash + 1) != std::string::npos) {
      return config_error("Replication factor format is <replicas> or <replicas>/<transient>");
    }
    all = all.substr(0, slash);
    of_transient = std::string_view(text).substr(slash + 1);
  }
  ASSIGN_OR_RETURN(int replicas, parse_int(all));
  ASSIGN_OR_RETURN(int transient, parse_int(of_transient));
  if (transient != 0) return config_error("Transient replication is not enabled on this node");
  if (replicas < 0) {
    return config_error(fmt::format("Replication factor must be non-negative, found {}", replicas));
  }
  return replicas;
}

Result<std::string> full_class_name(const StringPairs& options) {
  auto it = options.find("class");
  if (it == options.end()) return config_error("Missing replication strategy class");
  std::string name = it->second.find('.') == std::string::npos ? kPackage + it->second : it->second;
  if (name == std::string(kPackage) + "OldNetworkTopologyStrategy") {
    return config_error(
        "The support for the OldNetworkTopologyStrategy has been removed in C* version 4.0. The keyspace strategy "
        "should be switch to NetworkTopologyStrategy");
  }
  for (const char* known : {"LocalStrategy", "SimpleStrategy", "NetworkTopologyStrategy"}) {
    if (name == std::string(kPackage) + known) return name;
  }
  return config_error(fmt::format("Unable to find replication strategy class '{}'", name));
}

std::string previous_or_default(const ReplicationRequest& request) {
  auto it = request.previous.find(kReplicationFactor);
  return it != request.previous.end() ? it->second : std::to_string(request.default_replication_factor);
}

// NetworkTopologyStrategy.prepareOptions. A replication_factor that cannot be read counts for nothing.
void expand_datacenters(const ReplicationRequest& request, StringPairs* options) {
  bool none_given = options->empty();
  if (none_given) (*options)[kReplicationFactor] = previous_or_default(request);
  auto it = options->find(kReplicationFactor);
  if (it != options->end()) {
    std::string replication = it->second;
    options->erase(it);
    for (const auto& [name, value] : request.previous) {
      if (name != kReplicationFactor && name != "class") options->emplace(name, value);
    }
    auto factor = parse_replication_factor(replication);
    if (!factor.ok()) return;
    for (const std::string& datacenter : request.datacenters) options->emplace(datacenter, std::to_string(*factor));
  }
  std::erase_if(*options, [](const auto& option) { return option.second == "0"; });
}

Status check_recognized(const ReplicationRequest& request, const ReplicationParams& params) {
  bool network = params.short_class() == "NetworkTopologyStrategy";
  if (network && params.options.size() == 1) {
    return config_error("Configuration for at least one datacenter must be present");
  }
  auto known = [&](const std::string& name) {
    if (!network) return name == kReplicationFactor;
    return std::find(request.datacenters.begin(), request.datacenters.end(), name) != request.datacenters.end();
  };
  for (const auto& [name, value] : params.options) {
    if (name == "class" || known(name)) continue;
    return config_error(fmt::format("Unrecognized strategy option {{{}}} passed to {} for keyspace {}", name,
                                    params.short_class(), request.keyspace));
  }
  if (!network || !equals_ignoring_case(request.keyspace, "system_auth")) return {};
  std::string missing;
  for (const std::string& datacenter : request.datacenters) {
    if (params.options.count(datacenter) == 0) missing += (missing.empty() ? "" : ", ") + datacenter;
  }
  if (missing.empty()) return {};
  return config_error(
      "Following datacenters have active nodes and must be present in replication options for keyspace system_auth: [" +
      missing + "]");
}

}  // namespace

Result<ReplicationStrategy> ReplicationStrategy::make(const ReplicationParams& params) {
  ASSIGN_OR_RETURN(std::string name, full_class_name(params.options));
  ReplicationStrategy out;
  if (name.ends_with(".LocalStrategy")) return out;
  if (name.ends_with(".SimpleStrategy")) {
    out.kind_ = Kind::kSimple;
    auto it = params.options.find(kReplicationFactor);
    if (it == params.options.end()) {
      return config_error("SimpleStrategy requires a replication_factor strategy option.");
    }
    ASSIGN_OR_RETURN(out.replication_factor_, parse_replication_factor(it->second));
    return out;
  }
  out.kind_ = Kind::kNetworkTopology;
  out.replication_factor_ = 0;
  for (const auto& [datacenter, value] : params.options) {
    if (datacenter == "class") continue;
    if (equals_ignoring_case(datacenter, kReplicationFactor)) {
      return config_error(
          "replication_factor should not appear as an option at construction time for NetworkTopologyStrategy");
    }
    ASSIGN_OR_RETURN(int factor, parse_replication_factor(value));
    out.datacenters_[datacenter] = factor;
    out.replication_factor_ += factor;
  }
  return out;
}

int ReplicationStrategy::replication_factor() const { return replication_factor_; }

int ReplicationStrategy::replication_factor(const std::string& datacenter) const {
  if (kind_ != Kind::kNetworkTopology) return replication_factor_;
  auto it = datacenters_.find(datacenter);
  return it == datacenters_.end() ? 0 : it->second;
}

std::vector<EndpointIndex> ReplicationStrategy::replicas(const TokenRing& ring, Token token) const {
  if (kind_ == Kind::kLocal) return {ring.local()};
  if (ring.entries().empty()) return {};
  size_t entry = ring.entry_of(token);
  return kind_ == Kind::kSimple ? simple_replicas(ring, entry) : network_topology_replicas(ring, entry);
}

std::vector<EndpointIndex> ReplicationStrategy::simple_replicas(const TokenRing& ring, size_t entry) const {
  std::vector<EndpointIndex> out;
  auto entries = ring.entries();
  for (size_t n = 0; n < entries.size() && out.size() < static_cast<size_t>(replication_factor_); ++n) {
    EndpointIndex e = entries[(entry + n) % entries.size()].endpoint;
    if (std::find(out.begin(), out.end(), e) == out.end()) out.push_back(e);
  }
  return out;
}

std::vector<EndpointIndex> ReplicationStrategy::network_topology_replicas(const TokenRing& ring, size_t entry) const {
  // The replicas that a datacenter still needs, and how many of them may be in racks that already have one: as many as
  // there are more replicas than racks.
  struct Need {
    int replicas;
    int rack_repeats;
  };
  std::map<std::string_view, Need> needs;
  for (const auto& [name, factor] : datacenters_) {
    auto it = ring.datacenters().find(name);
    if (factor == 0 || it == ring.datacenters().end()) continue;
    int endpoints = static_cast<int>(it->second.endpoints), racks = static_cast<int>(it->second.racks);
    needs[name] = {std::min(factor, endpoints), factor - racks};
  }
  std::set<std::pair<std::string_view, std::string_view>> racks;
  std::vector<EndpointIndex> out;
  auto entries = ring.entries();
  for (size_t n = 0; n < entries.size() && !needs.empty(); ++n) {
    EndpointIndex index = entries[(entry + n) % entries.size()].endpoint;
    const Endpoint& endpoint = ring.endpoint(index);
    auto need = needs.find(endpoint.datacenter);
    if (need == needs.end() || std::find(out.begin(), out.end(), index) != out.end()) continue;
    bool new_rack = racks.emplace(endpoint.datacenter, endpoint.rack).second;
    if (!new_rack && need->second.rack_repeats-- <= 0) continue;
    out.push_back(index);
    if (--need->second.replicas == 0) needs.erase(need);
  }
  return out;
}

ReplicaMap::ReplicaMap(std::shared_ptr<const TokenRing> ring, const ReplicationStrategy& strategy)
    : ring_(std::move(ring)) {
  if (strategy.is_local() || ring_->entries().empty()) {
    groups_.push_back(strategy.replicas(*ring_, kMinimumToken));
    return;
  }
  std::map<std::vector<EndpointIndex>, uint32_t> known;
  for (const TokenRing::Entry& entry : ring_->entries()) {
    const auto next = static_cast<uint32_t>(groups_.size());
    auto [group, is_first] = known.try_emplace(strategy.replicas(*ring_, entry.token), next);
    if (is_first) groups_.push_back(group->first);
    group_of_entry_.push_back(group->second);
  }
}

Result<StringPairs> prepare_replication(const ReplicationRequest& request) {
  ASSIGN_OR_RETURN(std::string name, full_class_name(request.options));
  StringPairs options = request.options;
  options.erase("class");
  if (name.ends_with(".SimpleStrategy")) options.emplace(kReplicationFactor, previous_or_default(request));
  if (name.ends_with(".NetworkTopologyStrategy")) expand_datacenters(request, &options);
  options["class"] = name;
  if (name.ends_with(".LocalStrategy")) {
    return invalid("Unable to use given strategy class: LocalStrategy is reserved for internal use.");
  }
  ReplicationParams params{options, true};
  TRY(ReplicationStrategy::make(params));
  TRY(check_recognized(request, params));
  return options;
}

std::vector<std::string> replication_warnings(const std::string& keyspace, const ReplicationStrategy& strategy,
                                              const TokenRing& ring) {
  std::vector<std::string> out;
  if (strategy.is_local() || is_system_keyspace(keyspace)) return out;
  auto warn = [&](int factor, size_t nodes, const std::string& where) {
    if (nodes == 0 || static_cast<size_t>(factor) <= nodes) return;
    out.push_back(fmt::format("Your replication factor {} for keyspace {} is higher than the number of nodes {}{}",
                              factor, keyspace, nodes, where));
  };
  if (!strategy.is_network_topology()) {
    auto alive = [](const Endpoint& e) { return e.state != EndpointStatus::kLeft; };
    auto nodes = std::count_if(ring.endpoints().begin(), ring.endpoints().end(), alive);
    warn(strategy.replication_factor(), static_cast<size_t>(nodes), "");
  }
  for (const auto& [datacenter, factor] : strategy.datacenters()) {
    auto it = ring.datacenters().find(datacenter);
    if (it != ring.datacenters().end()) warn(factor, it->second.endpoints, " for datacenter " + datacenter);
  }
  return out;
}

}  // namespace cassandra_like
