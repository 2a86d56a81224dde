// proxy_histograms, thread_pools, clients, compaction_history, network: what the node is doing, and did.
#include <algorithm>
#include <map>

#include "admin/api.h"
#include "admin/internode.h"
#include "admin/statistics.h"
#include "model/values.h"
#include "schema/internal_table.h"

namespace cassandra_like::admin {
namespace {

Json latency(const Histogram& micros) {
  Percentiles p = percentiles(micros);
  return {{"p50", p.p50}, {"p75", p.p75}, {"p95", p.p95}, {"p98", p.p98},
          {"p99", p.p99}, {"min", p.min}, {"max", p.max}};
}

// Each verb with what expired of it before it was handled or sent. How long it waited is not kept.
Json dropped_messages(const InternodeReport& report) {
  Json dropped = Json::array();
  for (size_t i = 0; i < kVerbCount; ++i) {
    dropped.push_back({{"type", verb_at(i).name}, {"dropped", report.dropped[i]}, {"wait_micros", nullptr}});
  }
  return dropped;
}

Json link_json(const char* name, const OutboundTotals& totals) {
  return {{"name", name},
          {"pending", totals.pending},
          {"completed", totals.counters.sent},
          {"dropped", totals.counters.expired + totals.counters.overloaded}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string user_of(const AdminClient& client) { return client.user.empty() ? "anonymous" : client.user; }

Json connection_json(const AdminClient& client) {
  return {{"address", client.address},
          {"port", client.port},
          {"ssl", false},
          {"cipher", nullptr},
          {"ssl_protocol", nullptr},
          {"protocol_version", client.protocol_version},
          {"user", user_of(client)},
          {"keyspace", client.keyspace},
          {"requests", client.requests},
          {"driver_name", text_or_null(client.driver_name)},
          {"driver_version", text_or_null(client.driver_version)},
          {"options", client.options}};
}

int64_t bigint(const InternalRow& row, std::string_view column) {
  const Bytes& value = row.get(column);
  return value.size() == 8 ? decode_bigint(value) : 0;
}

Json compaction_json(const InternalRow& row) {
  Json merged = Json::object();
  if (auto it = row.elements.find("rows_merged"); it != row.elements.end()) {
    for (const auto& [sstables, partitions] : it->second) {
      merged[std::to_string(decode_int(sstables))] = decode_bigint(partitions);
    }
  }
  return {{"id", row.uuid("id").value_or(Uuid()).to_string()},
          {"keyspace", row.text("keyspace_name")},
          {"table", row.text("columnfamily_name")},
          {"compacted_millis", bigint(row, "compacted_at")},
          {"bytes_in", bigint(row, "bytes_in")},
          {"bytes_out", bigint(row, "bytes_out")},
          {"rows_merged", std::move(merged)},
          {"properties", row.text_map("compaction_properties")}};
}

}  // namespace

Task<Answer> proxy_histograms(AdminContextPtr context, Parameters) {
  Task<CoordinatorStatistics> task = sum_coordinators(context);
  CoordinatorStatistics s = co_await task;
  Answer answer;
  answer.json = {{"read", latency(s.read_micros)},           {"write", latency(s.write_micros)},
                 {"range", latency(s.range_micros)},         {"cas_read", latency(s.cas_read_micros)},
                 {"cas_write", latency(s.cas_write_micros)}, {"view_write", latency(s.view_write_micros)}};
  co_return answer;
}

Task<Answer> pools(AdminContextPtr context, Parameters) {
  Task<std::vector<TableReport>> tables = report_tables(context, stored_tables(*context->schema()));
  std::vector<TableReport> reports = co_await tables;
  EngineStatistics engines = co_await sum_engines(context);
  Task<AdminTransport> transport_task = call_hook<AdminTransport>(context, context->hooks.transport);
  AdminTransport transport = co_await transport_task;
  Task<InternodeReport> internode_task = report_internode(context);
  InternodeReport internode = co_await internode_task;
  Json all = Json::array();
  for (const ThreadPool& pool : thread_pools(reports, engines, transport)) {
    all.push_back({{"name", pool.name},
                   {"active", pool.active},
                   {"pending", pool.pending},
                   {"completed", pool.completed},
                   {"blocked", 0},
                   {"all_time_blocked", 0}});
  }
  Answer answer;
  answer.json = {{"pools", std::move(all)}, {"dropped", dropped_messages(internode)}};
  co_return answer;
}

Task<Answer> clients(AdminContextPtr context, Parameters) {
  auto clients_task = call_hook<std::vector<AdminClient>>(context, context->hooks.clients);
  std::vector<AdminClient> clients = co_await clients_task;
  auto history_task = call_hook<std::vector<AdminClientHistory>>(context, context->hooks.client_history);
  std::vector<AdminClientHistory> history = co_await history_task;
  Json connections = Json::array(), by_user = Json::array(), by_protocol = Json::array();
  std::map<std::string, int> users;
  for (const AdminClient& client : clients) {
    connections.push_back(connection_json(client));
    ++users[user_of(client)];
  }
  for (const auto& [user, count] : users) by_user.push_back({{"user", user}, {"connections", count}});
  // A host may have been seen by several shards.
  std::map<std::pair<int, std::string>, int64_t> last_seen;
  for (const AdminClientHistory& h : history) {
    int64_t& seen = last_seen[{h.protocol_version, h.host}];
    seen = std::max(seen, h.last_seen_millis);
  }
  for (const auto& [key, seen] : last_seen) {
    by_protocol.push_back({{"protocol_version", key.first}, {"address", key.second}, {"last_seen_millis", seen}});
  }
  Answer answer;
  answer.json = {{"connections", std::move(connections)},
                 {"by_user", std::move(by_user)},
                 {"by_protocol", std::move(by_protocol)}};
  co_return answer;
}

Task<Answer> clear_client_history(AdminContextPtr context, Parameters) {
  Task<Status> task = call_hook<Status>(context, context->hooks.clear_client_history);
  Status status = co_await task;
  co_return done_or_failure(status);
}

Task<Answer> compaction_history(AdminContextPtr context, Parameters) {
  ReadCommand command;
  command.table = context->schema()->table("system", "compaction_history");
  command.range = KeyRange{};
  command.now_seconds = context->runtime().clock.wall_seconds();
  InternalRows rows(command.table);
  Task<Result<ReadStatistics>> task = context->replica().read(command, rows);
  Result<ReadStatistics> read = co_await task;
  if (!read.ok()) co_return failure(read.error());
  std::vector<Json> all;
  for (const InternalRow& row : rows.rows) all.push_back(compaction_json(row));
  std::stable_sort(all.begin(), all.end(), [](const Json& a, const Json& b) {
    return a.at("compacted_millis").get<int64_t>() > b.at("compacted_millis").get<int64_t>();
  });
  Answer answer;
  answer.json["compactions"] = std::move(all);
  co_return answer;
}

// Nothing is streamed.
Task<Answer> network(AdminContextPtr context, Parameters) {
  Task<std::string> asked = call_hook<std::string>(context, context->hooks.operation_mode);
  std::string mode = co_await asked;
  Task<InternodeReport> internode_task = report_internode(context);
  InternodeReport internode = co_await internode_task;
  Task<CoordinatorStatistics> coordinators_task = sum_coordinators(context);
  CoordinatorStatistics coordinators = co_await coordinators_task;
  Answer answer;
  answer.json = {{"mode", std::move(mode)},
                 {"streams", Json::array()},
                 {"read_repairs",
                  {{"attempted", coordinators.read_repairs_attempted},
                   {"blocking_mismatches", coordinators.read_repairs_blocking},
                   {"background_mismatches", 0}}},
                 {"messages",
                  {link_json("Large messages", internode.by_type[ConnectionType::kLarge]),
                   link_json("Small messages", internode.by_type[ConnectionType::kSmall]),
                   link_json("Gossip messages", internode.by_type[ConnectionType::kUrgent])}}};
  co_return answer;
}

}  // namespace cassandra_like::admin
