// version, ring, info, cluster, gossip, endpoints, token_ranges: what the cluster looks like from here: the shard's
// topology, and what this node knows of itself.
#include <algorithm>
#include <limits>

#include "admin/api.h"
#include "admin/endpoint_state.h"
#include "admin/statistics.h"
#include "replica/replica.h"
#include "ring/topology.h"

namespace cassandra_like::admin {
namespace {

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

struct Totals {
  uint64_t load = 0, uncompressed_load = 0, repaired = 0, unrepaired = 0, off_heap = 0;
};

Totals totals_of(const std::vector<TableReport>& reports) {
  Totals totals;
  totals.load = load_of(reports);
  for (const TableReport& report : reports) {
    totals.uncompressed_load += report.uncompressed_load;
    totals.repaired += report.repaired_bytes;
    totals.unrepaired += report.unrepaired_bytes;
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
  Json nodes = Json::array();
  const TokenRing& endpoints = *topology->ring();
  for (EndpointIndex i = 0; i < endpoints.endpoints().size(); ++i) {
    const Endpoint& endpoint = endpoints.endpoint(i);
    nodes.push_back(address_of(endpoint));
    nodes.back().update({{"host_name", endpoint.address},
                         {"data_center", endpoint.datacenter},
                         {"rack", endpoint.rack},
                         {"status", topology->is_alive(i) ? "up" : "down"},
                         {"state", state_of(endpoint)},
                         {"load_bytes", i == endpoints.local() ? Json(load) : Json(nullptr)},
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
Json chunk_cache_of(const ChunkCache::Statistics& cache) {
  if (cache.capacity_bytes == 0) return nullptr;
  const std::optional<double> hit_rate = cache.hit_rate();
  return {{"entries", cache.entries},
          {"size_bytes", cache.bytes},
          {"capacity_bytes", cache.capacity_bytes},
          {"misses", cache.misses},
          {"requests", cache.requests},
          {"recent_hit_rate", hit_rate ? Json(*hit_rate) : Json(nullptr)},
          {"miss_latency_micros", nullptr}};
}

Task<Answer> info(AdminContextPtr context, Parameters) {
  int64_t generation = co_await gossip_generation(context);
  EngineStatistics engines = co_await sum_engines(context);
  Task<std::vector<TableReport>> reports = report_tables(context, stored_tables(*context->schema()));
  Totals totals = totals_of(co_await reports);
  Task<bool> serving = call_hook<bool>(context, context->hooks.binary_running);
  bool native_active = co_await serving;
  const Endpoint& local = topology_of(context).local();
  Answer answer;
  answer.json = {{"host_id", local.host_id.to_string()},
                 {"gossip_active", false},
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
                 {"chunk_cache", chunk_cache_of(engines.chunk_cache)},
                 {"network_cache", nullptr},
                 {"percent_repaired", percent_repaired(totals.repaired, totals.unrepaired)},
                 {"joined", true},
                 {"tokens", tokens_of(local)},
                 {"bootstrap_state", "COMPLETED"},
                 {"bootstrap_failed", false},
                 {"decommissioning", false},
                 {"decommission_failed", false}};
  co_return answer;
}

Task<Answer> cluster(AdminContextPtr context, Parameters) {
  const LocalNode& local = context->local();
  const Topology& topology = topology_of(context);
  Json nodes = Json::array({address_of(topology.local())});
  const SchemaPtr& schema = context->schema();
  std::map<EndpointStatus, int> by_state;
  std::map<std::string, std::pair<int, int>> by_datacenter;  // endpoints, those of them that are down
  int live = 0;
  const std::span<const Endpoint> endpoints = topology.ring()->endpoints();
  for (EndpointIndex i = 0; i < endpoints.size(); ++i) {
    live += topology.is_alive(i);
    ++by_state[endpoints[i].state];
    auto& [all, down] = by_datacenter[endpoints[i].datacenter];
    ++all;
    down += !topology.is_alive(i);
  }
  Json datacenters = Json::array();
  for (const auto& [name, counts] : by_datacenter) {
    datacenters.push_back({{"name", name}, {"nodes", counts.first}, {"down", counts.second}});
  }
  const Ownership owned = common_ownership(*schema, topology);
  Answer answer;
  answer.json = {{"name", local.cluster_name},
                 {"snitch", context->node.snitch},
                 {"dynamic_snitch", false},
                 {"partitioner", local.partitioner},
                 {"schema_versions", Json::array({{{"version", schema->version().to_string()}, {"nodes", nodes}}})},
                 {"live", live},
                 {"joining", by_state[EndpointStatus::kJoining]},
                 {"moving", by_state[EndpointStatus::kMoving]},
                 {"leaving", by_state[EndpointStatus::kLeaving]},
                 {"unreachable", static_cast<int>(endpoints.size()) - live},
                 {"data_centers", datacenters},
                 {"release_versions", Json::array({{{"version", kReleaseVersion}, {"nodes", nodes}}})},
                 {"keyspaces", keyspaces_of(*schema)},
                 {"note", owned.note.empty() ? Json(nullptr) : Json(owned.note)}};
  return answer;
}

Task<Answer> gossip(AdminContextPtr context, Parameters) {
  EndpointState state = co_await endpoint_state(context);
  Json states = Json::array();
  for (const ApplicationState& each : state.states) {
    states.push_back({{"name", each.name}, {"version", each.version}, {"value", each.value}});
  }
  const Endpoint& local = topology_of(context).local();
  Json node = address_of(local);
  node.update({{"host_name", local.address},
               {"generation", state.generation},
               {"heartbeat", state.heartbeat},
               {"states", states}});
  Answer answer;
  answer.json = {{"nodes", Json::array({node})}};
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
