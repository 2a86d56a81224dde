// version, ring, info, cluster, gossip, endpoints, token_ranges: what the cluster looks like from here: the shard's
// topology, and what gossip tells.
#include <algorithm>
#include <limits>

#include "admin/api.h"
#include "admin/gossip_view.h"
#include "admin/statistics.h"
#include "replica/replica.h"
#include "ring/topology.h"

namespace cassandra_like::admin {
namespace {

Json address_of(const InetAddressAndPort& endpoint) { return {{"address", endpoint.host()}, {"port", endpoint.port}}; }
Json address_of(const Endpoint& endpoint) { return {{"address", endpoint.address}, {"port", endpoint.storage_port}}; }

Json tokens_of(const Endpoint& endpoint) {
  std::vector<Token> tokens = endpoint.tokens;
  std::sort(tokens.begin(), tokens.end());
  Json result = Json::array();
  for (Token token : tokens) result.push_back(std::to_string(token));
  return result;
}

const char* state_of(const Endpoint& endpoint) {
  switch (endpoint.state) {
    case EndpointStatus::kNormal:
      return "normal";
    case EndpointStatus::kLeaving:
      return "leaving";
    case EndpointStatus::kMoving:
      return "moving";
    case EndpointStatus::kJoining:
      return "joining";
    case EndpointStatus::kLeft:
      return "left";
  }
  return "normal";
}

const Topology& topology_of(const AdminContextPtr& context) { return *context->replica().topology().current(); }

struct Ownership {
  std::vector<double> owns;  // each endpoint's share of the ring
  std::string note;          // why it does not count replicas; empty: it does
};

constexpr const char* kLocalNote = "Ownership values for keyspaces with LocalStrategy are meaningless";
constexpr const char* kMixedNote =
    "Non-system keyspaces don't have the same replication settings, effective ownership information is meaningless";

// Nobody has replicas when the replication options make no sense.
std::optional<ReplicaMap> replicas_of(const KeyspaceMetadata& keyspace, const Topology& topology) {
  auto strategy = ReplicationStrategy::make(keyspace.replication);
  if (!strategy.ok()) return std::nullopt;
  return ReplicaMap(topology.ring(), *strategy);
}

std::vector<double> shares(const KeyspaceMetadata& keyspace, const Topology& topology) {
  std::vector<double> owns(topology.ring()->endpoints().size());
  std::optional<ReplicaMap> replicas = replicas_of(keyspace, topology);
  for (EndpointIndex i = 0; replicas && i < owns.size(); ++i) owns[i] = ownership(*replicas, i);
  return owns;
}

std::vector<double> everything(const Topology& topology) {
  return std::vector<double>(topology.ring()->endpoints().size(), 1);
}

// For all keyspaces of users together: the answer of each of them, when they agree.
Ownership common_ownership(const Schema& schema, const Topology& topology) {
  KeyspacePtr first;
  for (const auto& [name, keyspace] : schema.keyspaces()) {
    if (is_system_keyspace(name) || keyspace->is_virtual) continue;
    if (first == nullptr) first = keyspace;
    if (keyspace->replication.options != first->replication.options) return {everything(topology), kMixedNote};
  }
  if (first == nullptr) first = schema.keyspace("system_traces");
  return {shares(*first, topology), ""};
}

Result<Ownership> ownership_in(const Schema& schema, const Topology& topology, const std::string& name) {
  if (name.empty()) return common_ownership(schema, topology);
  KeyspacePtr keyspace = schema.keyspace(name);
  if (keyspace == nullptr || keyspace->is_virtual) {
    return Result<Ownership>(invalid("The keyspace " + name + ", does not exist"));
  }
  if (keyspace->replication.short_class() == "LocalStrategy") return Ownership{everything(topology), kLocalNote};
  return Ownership{shares(*keyspace, topology), ""};
}

// A node without tokens takes requests and owns nothing: it is in nobody's ring.
bool is_in_ring(const Endpoint& endpoint) {
  return endpoint.state != EndpointStatus::kLeft && !endpoint.tokens.empty();
}

std::string name_of(const Endpoint& endpoint) {
  return SocketAddress{endpoint.address, endpoint.storage_port}.to_string();
}

// LOAD of each node, by address and port.
Task<std::map<std::string, double>> gossiped_loads(AdminContextPtr context) {
  std::map<std::string, double> loads;
  if (context->node.membership == nullptr) co_return loads;
  Task<std::vector<GossipedNode>> asked = gossiped_nodes(context);
  std::vector<GossipedNode> nodes = co_await asked;
  for (const GossipedNode& node : nodes) {
    const std::string text(node.text(ApplicationState::kLoad));
    if (!text.empty()) loads[node.endpoint.host_and_port()] = std::strtod(text.c_str(), nullptr);
  }
  co_return loads;
}

struct Totals {
  uint64_t load = 0, uncompressed_load = 0, repaired = 0, unrepaired = 0, off_heap = 0;
};

// TableMetrics.totalNonSystemTablesSize: repairs are for tables with several replicas.
bool is_repairable(const KeyspaceMetadata& keyspace) {
  auto strategy = ReplicationStrategy::make(keyspace.replication);
  return keyspace.name != "system_distributed" && strategy.ok() && strategy->replication_factor() >= 2;
}

Totals totals_of(const Schema& schema, const std::vector<TableReport>& reports) {
  Totals totals;
  totals.load = load_of(reports);
  for (const TableReport& report : reports) {
    totals.uncompressed_load += report.uncompressed_load;
    if (const auto keyspace = schema.keyspace(report.table->keyspace); keyspace && is_repairable(*keyspace)) {
      totals.repaired += report.repaired_bytes;
      totals.unrepaired += report.unrepaired_bytes + report.pending_repair_bytes;
    }
    const TableStatistics& s = report.statistics;
    totals.off_heap += s.memtable_bytes + s.bloom_bytes + s.index_summary_bytes + s.compression_metadata_bytes;
  }
  return totals;
}

Json keyspaces_of(const Schema& schema) {
  Json result = Json::array();
  for (const auto& [name, keyspace] : schema.keyspaces()) {
    if (keyspace->is_virtual) continue;
    Json options = Json::object();
    for (const auto& [key, value] : keyspace->replication.options) {
      if (key != "class") options[key] = value;
    }
    result.push_back({{"name", name}, {"class", keyspace->replication.short_class()}, {"options", options}});
  }
  return result;
}

// The nodes that live, those that do not, and all of them by the version that they run.
struct Parties {
  std::vector<InetAddressAndPort> live, unreachable;
  std::map<std::string, std::vector<InetAddressAndPort>> by_release;
};

Task<Parties> parties_of(AdminContextPtr context) {
  Task<std::vector<GossipedNode>> asked = gossiped_nodes(context);
  std::vector<GossipedNode> nodes = co_await asked;
  const MembershipService* membership = context->node.membership;
  Parties parties;
  for (const GossipedNode& node : nodes) {
    // Who has left is remembered for a while, and belongs to nobody.
    if (!node.is_alive && membership != nullptr && !membership->gossiper().unreachable().contains(node.endpoint))
      continue;
    (node.is_alive ? parties.live : parties.unreachable).push_back(node.endpoint);
    parties.by_release[std::string(node.text(ApplicationState::kReleaseVersion))].push_back(node.endpoint);
  }
  co_return parties;
}

// [{"version": NAME, "nodes": […]}]
Json with_nodes(const std::map<std::string, std::vector<InetAddressAndPort>>& by_version) {
  Json result = Json::array();
  for (const auto& [version, endpoints] : by_version) {
    Json nodes = Json::array();
    for (const InetAddressAndPort& endpoint : endpoints) nodes.push_back(address_of(endpoint));
    result.push_back({{"version", version}, {"nodes", nodes}});
  }
  return result;
}

// Every peer is asked.
Task<Json> schema_versions_of(AdminContextPtr context, Parties parties) {
  using Versions = std::map<std::string, std::vector<InetAddressAndPort>>;
  SchemaSync* sync = context->node.schema_sync;
  if (sync == nullptr || context->stopped) {
    co_return with_nodes({{context->schema()->version().to_string(), parties.live}});
  }
  Task<Versions> task = sync->versions(parties.live, parties.unreachable);
  Versions versions = co_await task;
  co_return with_nodes(versions);
}

}  // namespace

Task<Answer> version(AdminContextPtr, Parameters) {
  Answer answer;
  answer.json = {{"release_version", kReleaseVersion}, {"git_sha", "unknown"}};
  return answer;
}

Task<Answer> ring(AdminContextPtr context, Parameters parameters) {
  TopologyPtr topology = context->replica().topology().current();
  auto owned = ownership_in(*context->schema(), *topology, parameters.get("keyspace"));
  if (!owned.ok()) co_return failure(owned.error(), 400);
  Task<std::vector<TableReport>> reports = report_tables(context, stored_tables(*context->schema()));
  uint64_t load = load_of(co_await reports);
  Task<std::map<std::string, double>> asked = gossiped_loads(context);
  std::map<std::string, double> loads = co_await asked;
  Json nodes = Json::array();
  const TokenRing& endpoints = *topology->ring();
  for (EndpointIndex i = 0; i < endpoints.endpoints().size(); ++i) {
    const Endpoint& endpoint = endpoints.endpoint(i);
    if (!is_in_ring(endpoint)) continue;
    auto told = loads.find(name_of(endpoint));
    Json load_bytes = told == loads.end() ? Json(nullptr) : Json(told->second);
    if (i == endpoints.local()) load_bytes = load;
    nodes.push_back(address_of(endpoint));
    nodes.back().update({{"host_name", endpoint.address},
                         {"data_center", endpoint.datacenter},
                         {"rack", endpoint.rack},
                         {"status", topology->is_alive(i) ? "up" : "down"},
                         {"state", state_of(endpoint)},
                         {"load_bytes", load_bytes},
                         {"owns", owned->owns[i]},
                         {"host_id", endpoint.host_id.to_string()},
                         {"tokens", tokens_of(endpoint)}});
  }
  Answer answer;
  answer.json = {{"effective", owned->note.empty()},
                 {"note", owned->note.empty() ? Json(nullptr) : Json(owned->note)},
                 {"nodes", nodes}};
  co_return answer;
}

// Null when file_cache_enabled is false.
Json chunk_cache_of(const EngineStatistics& engines) {
  const ChunkCache::Statistics& cache = engines.chunk_cache;
  if (cache.capacity_bytes == 0) return nullptr;
  const std::optional<double> hit_rate = cache.hit_rate();
  const Histogram& waits = engines.disk_wait_micros;
  return {{"entries", cache.entries},
          {"size_bytes", cache.bytes},
          {"capacity_bytes", cache.capacity_bytes},
          {"misses", cache.misses},
          {"requests", cache.requests},
          {"recent_hit_rate", hit_rate ? Json(*hit_rate) : Json(nullptr)},
          {"miss_latency_micros", waits.count() > 0 ? Json(waits.mean()) : Json(nullptr)}};
}

Task<Answer> info(AdminContextPtr context, Parameters) {
  int64_t generation = co_await gossip_generation(context);
  EngineStatistics engines = co_await sum_engines(context);
  const SchemaPtr schema = context->schema();  // it may change while the shards report
  Task<std::vector<TableReport>> reports = report_tables(context, stored_tables(*schema));
  Totals totals = totals_of(*schema, co_await reports);
  Task<bool> serving = call_hook<bool>(context, context->hooks.binary_running);
  bool native_active = co_await serving;
  const Endpoint& local = topology_of(context).local();
  const MembershipService* membership = context->node.membership;
  const bool has_joined = membership == nullptr || membership->has_joined();
  Answer answer;
  answer.json = {{"host_id", local.host_id.to_string()},
                 {"gossip_active", membership != nullptr && membership->is_gossip_running()},
                 {"native_transport_active", native_active},
                 {"load_bytes", totals.load},
                 {"uncompressed_load_bytes", totals.uncompressed_load},
                 {"generation", generation},
                 {"uptime_seconds", context->uptime_millis() / 1000},
                 {"memory_used_bytes", resident_bytes(context->runtime().disk).value_or(0)},
                 {"memory_max_bytes", context->node.engine_options.memtable_bytes},
                 {"off_heap_bytes", totals.off_heap},
                 {"data_center", local.datacenter},
                 {"rack", local.rack},
                 {"exceptions", 0},
                 {"key_cache", nullptr},
                 {"row_cache", nullptr},
                 {"counter_cache", nullptr},
                 {"chunk_cache", chunk_cache_of(engines)},
                 {"network_cache", nullptr},
                 {"percent_repaired", percent_repaired(totals.repaired, totals.unrepaired)},
                 {"joined", has_joined},
                 {"tokens", tokens_of(local)},
                 {"bootstrap_state", has_joined ? "COMPLETED" : "NEEDS_BOOTSTRAP"},
                 {"bootstrap_failed", false},
                 {"decommissioning", false},
                 {"decommission_failed", false}};
  co_return answer;
}

Task<Answer> cluster(AdminContextPtr context, Parameters) {
  Task<Parties> asked = parties_of(context);
  Parties parties = co_await asked;
  Task<Json> versions = schema_versions_of(context, parties);
  Json schema_versions = co_await versions;
  const LocalNode& local = context->local();
  const Topology& topology = topology_of(context);
  std::map<EndpointStatus, int> by_state;
  std::map<std::string, std::pair<int, int>> by_datacenter;  // endpoints, those of them that are down
  const std::span<const Endpoint> endpoints = topology.ring()->endpoints();
  for (EndpointIndex i = 0; i < endpoints.size(); ++i) {
    ++by_state[endpoints[i].state];
    if (!is_in_ring(endpoints[i])) continue;
    auto& [all, down] = by_datacenter[endpoints[i].datacenter];
    ++all;
    down += !topology.is_alive(i);
  }
  Json datacenters = Json::array();
  for (const auto& [name, counts] : by_datacenter) {
    datacenters.push_back({{"name", name}, {"nodes", counts.first}, {"down", counts.second}});
  }
  const Ownership owned = common_ownership(*context->schema(), topology);
  Answer answer;
  answer.json = {{"name", local.cluster_name},
                 {"snitch", context->node.snitch},
                 {"dynamic_snitch", context->node.dynamic_snitch},
                 {"partitioner", local.partitioner},
                 {"schema_versions", schema_versions},
                 {"live", parties.live.size()},
                 {"joining", by_state[EndpointStatus::kJoining]},
                 {"moving", by_state[EndpointStatus::kMoving]},
                 {"leaving", by_state[EndpointStatus::kLeaving]},
                 {"unreachable", parties.unreachable.size()},
                 {"data_centers", datacenters},
                 {"release_versions", with_nodes(parties.by_release)},
                 {"keyspaces", keyspaces_of(*context->schema())},
                 {"note", owned.note.empty() ? Json(nullptr) : Json(owned.note)}};
  co_return answer;
}

Task<Answer> gossip(AdminContextPtr context, Parameters) {
  Task<std::vector<GossipedNode>> asked = gossiped_nodes(context);
  std::vector<GossipedNode> known = co_await asked;
  Json nodes = Json::array();
  for (const GossipedNode& each : known) {
    Json states = Json::array();
    for (const GossipedState& state : each.states) {
      states.push_back(
          {{"name", application_state_name(state.state)}, {"version", state.version}, {"value", state.value}});
    }
    nodes.push_back(address_of(each.endpoint));
    nodes.back().update({{"host_name", each.endpoint.host()},
                         {"generation", each.generation},
                         {"heartbeat", each.heartbeat},
                         {"states", states}});
  }
  Answer answer;
  answer.json = {{"nodes", nodes}};
  co_return answer;
}

Task<Answer> endpoints(AdminContextPtr context, Parameters parameters) {
  const std::string &keyspace_name = parameters.get("keyspace"), &table_name = parameters.get("table");
  KeyspacePtr keyspace = context->schema()->keyspace(keyspace_name);
  if (keyspace == nullptr || keyspace->is_virtual) return refuse(400, "Unknown keyspace '" + keyspace_name + "'");
  TablePtr table = keyspace->table(table_name);
  if (table == nullptr) {
    return refuse(400, "Unknown table '" + table_name + "' in keyspace '" + keyspace_name + "'");
  }
  auto key = table->partition_key_type()->from_text(parameters.get("key"));
  if (!key.ok()) return refuse(400, key.error().message());
  Json nodes = Json::array();
  const Topology& topology = topology_of(context);
  if (std::optional<ReplicaMap> replicas = replicas_of(*keyspace, topology)) {
    for (EndpointIndex endpoint : replicas->replicas(murmur3_token(*key))) {
      nodes.push_back(address_of(topology.ring()->endpoint(endpoint)));
    }
  }
  Answer answer;
  answer.json = {{"endpoints", nodes}};
  return answer;
}

Task<Answer> token_ranges(AdminContextPtr context, Parameters parameters) {
  const std::string& name = parameters.get("keyspace");
  KeyspacePtr keyspace = context->schema()->keyspace(name);
  if (keyspace == nullptr || keyspace->is_virtual) return refuse(404, "No such keyspace: " + name);
  if (keyspace->replication.short_class() == "LocalStrategy") {
    return refuse(404, "There is no ring for the keyspace: " + name);
  }
  const Topology& topology = topology_of(context);
  const TokenRing& endpoints = *topology.ring();
  std::optional<ReplicaMap> replicas = replicas_of(*keyspace, topology);
  Json ranges = Json::array();
  for (size_t i = 0; i < endpoints.entries().size(); ++i) {
    const TokenRange range = endpoints.range_of(i);
    Json owners = Json::array();
    std::span<const EndpointIndex> indexes;
    if (replicas) indexes = replicas->replicas(range.right);
    for (EndpointIndex index : indexes) {
      const Endpoint& endpoint = endpoints.endpoint(index);
      owners.push_back(address_of(endpoint));
      owners.back().update({{"native_address", endpoint.native_address},
                            {"native_port", endpoint.native_port},
                            {"data_center", endpoint.datacenter},
                            {"rack", endpoint.rack}});
    }
    ranges.push_back(
        {{"start", std::to_string(range.left)}, {"end", std::to_string(range.right)}, {"endpoints", owners}});
  }
  Answer answer;
  answer.json = {{"ranges", ranges}};
  return answer;
}

}  // namespace cassandra_like::admin
