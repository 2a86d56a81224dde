// version, ring, info, cluster, gossip, endpoints, token_ranges: what the cluster looks like from here. It has one node.
#include <algorithm>
#include <limits>

#include "admin/api.h"
#include "admin/endpoint_state.h"
#include "admin/statistics.h"
#include "replica/replica.h"

namespace cassandra_like::admin {
namespace {

Json address_of(const LocalNode& local) { return {{"address", local.broadcast_address}, {"port", local.storage_port}}; }

Json tokens_of(const LocalNode& local) {
  std::vector<Token> tokens = local.tokens;
  std::sort(tokens.begin(), tokens.end());
  Json result = Json::array();
  for (Token token : tokens) result.push_back(std::to_string(token));
  return result;
}

struct Ownership {
  double owns = 1;   // this node's share
  std::string note;  // why it does not count replicas; empty: it does
};

constexpr const char* kLocalNote = "Ownership values for keyspaces with LocalStrategy are meaningless";
constexpr const char* kMixedNote =
    "Non-system keyspaces don't have the same replication settings, effective ownership information is meaningless";

double share(const KeyspaceMetadata& keyspace, const LocalNode& local) {
  return count_replicas(keyspace.replication, local.data_center).local_alive > 0 ? 1 : 0;
}

// For all keyspaces of users together: the answer of each of them, when they agree.
Ownership common_ownership(const Schema& schema, const LocalNode& local) {
  KeyspacePtr first;
  for (const auto& [name, keyspace] : schema.keyspaces()) {
    if (is_system_keyspace(name) || keyspace->is_virtual) continue;
    if (first == nullptr) first = keyspace;
    if (keyspace->replication.options != first->replication.options) return {1, kMixedNote};
  }
  if (first == nullptr) first = schema.keyspace("system_traces");
  return {share(*first, local), ""};
}

Result<Ownership> ownership(const Schema& schema, const LocalNode& local, const std::string& name) {
  if (name.empty()) return common_ownership(schema, local);
  KeyspacePtr keyspace = schema.keyspace(name);
  if (keyspace == nullptr || keyspace->is_virtual) {
    return Result<Ownership>(invalid("The keyspace " + name + ", does not exist"));
  }
  if (keyspace->replication.short_class() == "LocalStrategy") return Ownership{1, kLocalNote};
  return Ownership{share(*keyspace, local), ""};
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
  const LocalNode& local = context->local();
  auto owned = ownership(*context->schema(), local, parameters.get("keyspace"));
  if (!owned.ok()) co_return failure(owned.error(), 400);
  Task<std::vector<TableReport>> reports = report_tables(context, stored_tables(*context->schema()));
  uint64_t load = load_of(co_await reports);
  Json node = address_of(local);
  node.update({{"host_name", local.broadcast_address},
               {"data_center", local.data_center},
               {"rack", local.rack},
               {"status", "up"},
               {"state", "normal"},
               {"load_bytes", load},
               {"owns", owned->owns},
               {"host_id", local.host_id.to_string()},
               {"tokens", tokens_of(local)}});
  Answer answer;
  answer.json = {{"effective", owned->note.empty()},
                 {"note", owned->note.empty() ? Json(nullptr) : Json(owned->note)},
                 {"nodes", Json::array({node})}};
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
  const LocalNode& local = context->local();
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
                 {"data_center", local.data_center},
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
  Json nodes = Json::array({address_of(local)});
  const SchemaPtr& schema = context->schema();
  Answer answer;
  answer.json = {{"name", local.cluster_name},
                 {"snitch", context->node.snitch},
                 {"dynamic_snitch", false},
                 {"partitioner", local.partitioner},
                 {"schema_versions", Json::array({{{"version", schema->version().to_string()}, {"nodes", nodes}}})},
                 {"live", 1},
                 {"joining", 0},
                 {"moving", 0},
                 {"leaving", 0},
                 {"unreachable", 0},
                 {"data_centers", Json::array({{{"name", local.data_center}, {"nodes", 1}, {"down", 0}}})},
                 {"release_versions", Json::array({{{"version", kReleaseVersion}, {"nodes", nodes}}})},
                 {"keyspaces", keyspaces_of(*schema)}};
  return answer;
}

Task<Answer> gossip(AdminContextPtr context, Parameters) {
  EndpointState state = co_await endpoint_state(context);
  Json states = Json::array();
  for (const ApplicationState& each : state.states) {
    states.push_back({{"name", each.name}, {"version", each.version}, {"value", each.value}});
  }
  Json node = address_of(context->local());
  node.update({{"host_name", context->local().broadcast_address},
               {"generation", state.generation},
               {"heartbeat", state.heartbeat},
               {"states", states}});
  Answer answer;
  answer.json = {{"nodes", Json::array({node})}};
  co_return answer;
}

Task<Answer> endpoints(AdminContextPtr context, Parameters parameters) {
  std::string keyspace_name = parameters.get("keyspace"), table_name = parameters.get("table");
  KeyspacePtr keyspace = context->schema()->keyspace(keyspace_name);
  if (keyspace == nullptr || keyspace->is_virtual) return refuse(400, "Unknown keyspace '" + keyspace_name + "'");
  TablePtr table = keyspace->table(table_name);
  if (table == nullptr) {
    return refuse(400, "Unknown table '" + table_name + "' in keyspace '" + keyspace_name + "'");
  }
  auto key = table->partition_key_type()->from_text(parameters.get("key"));
  if (!key.ok()) return refuse(400, key.error().message());
  Json nodes = Json::array();
  if (share(*keyspace, context->local()) > 0) nodes.push_back(address_of(context->local()));
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
  const LocalNode& local = context->local();
  Json endpoints = Json::array();
  if (share(*keyspace, local) > 0) {
    endpoints.push_back(address_of(local));
    endpoints.back().update({{"native_address", local.rpc_address},
                             {"native_port", local.native_port},
                             {"data_center", local.data_center},
                             {"rack", local.rack}});
  }
  const Json tokens = tokens_of(local);
  Json ranges = Json::array();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Json& start = i == 0 ? tokens.back() : tokens[i - 1];
    ranges.push_back({{"start", start}, {"end", tokens[i]}, {"endpoints", endpoints}});
  }
  Answer answer;
  answer.json = {{"ranges", ranges}};
  return answer;
}

}  // namespace cassandra_like::admin
