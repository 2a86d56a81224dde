// The tables of system_views, from the same numbers that nodetool shows.
#include <algorithm>
#include <cmath>

#include "admin/admin.h"
#include "admin/gossip_view.h"
#include "admin/internode.h"
#include "admin/statistics.h"
#include "admin/view_rows.h"
#include "base/ascii.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

using Fill = Task<VirtualRows> (*)(AdminContextPtr, TablePtr);

class SystemView : public VirtualTable {
 public:
  SystemView(AdminContextPtr context, TablePtr metadata, Fill fill)
      : context_(std::move(context)), metadata_(std::move(metadata)), fill_(fill) {}
  const TablePtr& metadata() const override { return metadata_; }
  Task<VirtualRows> rows() override { return fill_(context_, metadata_); }

 private:
  AdminContextPtr context_;
  TablePtr metadata_;
  Fill fill_;
};

// Cassandra rounds for readers of cqlsh, too: three decimals.
double rounded(double value) { return std::round(value * 1000) / 1000; }

Bytes inet(const std::string& address) {
  auto bytes = parse_inet(address);
  return bytes.ok() ? std::move(*bytes) : Bytes();
}

// Tables of things that this node does not have: streams, properties of a JVM, and a
// logback appender that would fill system_logs (Cassandra's configuration has none, either).
Task<VirtualRows> nothing(AdminContextPtr, TablePtr) { return VirtualRows(); }

Task<VirtualRows> sstable_tasks(AdminContextPtr context, TablePtr table) {
  std::vector<RunningCompaction> all = co_await running_compactions(context);
  ViewRows rows(*table);
  for (const RunningCompaction& task : all) {
    const double ratio = task.total == 0 ? 1 : static_cast<double>(task.completed) / static_cast<double>(task.total);
    rows.row().set("keyspace_name", task.table->keyspace).set("table_name", task.table->name);
    rows.set("task_id", Bytes(task.id.view())).real("completion_ratio", ratio);
    rows.set("kind", lower(operation_text(task.operation))).bigint("progress", task.completed);
    rows.integer("sstables", static_cast<int64_t>(task.sstables)).set("target_directory", task.directory);
    rows.bigint("total", task.total).bigint("total_compressed", task.total_compressed).set("unit", "bytes");
  }
  co_return rows.take();
}

// Rates of the last seconds are not kept.
Task<VirtualRows> caches(AdminContextPtr context, TablePtr table) {
  EngineStatistics engines = co_await sum_engines(context);
  const ChunkCache::Statistics& chunks = engines.chunk_cache;
  ViewRows rows(*table);
  if (chunks.capacity_bytes == 0) co_return rows.take();
  rows.row().set("name", "chunks").bigint("capacity_bytes", chunks.capacity_bytes).bigint("size_bytes", chunks.bytes);
  rows.integer("entry_count", static_cast<int64_t>(chunks.entries)).bigint("request_count", chunks.requests);
  rows.bigint("hit_count", chunks.requests - chunks.misses);
  if (auto rate = chunks.hit_rate()) rows.real("hit_ratio", *rate);
  co_return rows.take();
}

Task<VirtualRows> clients(AdminContextPtr context, TablePtr table) {
  auto task = call_hook<std::vector<AdminClient>>(context, context->hooks.clients);
  std::vector<AdminClient> clients = co_await task;
  ViewRows rows(*table);
  for (const AdminClient& client : clients) {
    rows.row().set("address", inet(client.address)).integer("port", client.port);
    rows.set("hostname", client.address).set("username", client.user.empty() ? "anonymous" : client.user);
    rows.set("connection_stage", client.stage).set("client_options", encode_text_map(client.options));
    rows.integer("protocol_version", client.protocol_version).bigint("request_count", client.requests);
    rows.set("ssl_enabled", encode_boolean(false));
    if (!client.keyspace.empty()) rows.set("keyspace_name", client.keyspace);
    if (!client.driver_name.empty()) rows.set("driver_name", client.driver_name);
    if (!client.driver_version.empty()) rows.set("driver_version", client.driver_version);
  }
  co_return rows.take();
}

Task<VirtualRows> cql_metrics(AdminContextPtr context, TablePtr table) {
  QueryStatistics s = co_await sum_queries(context);
  auto executed = static_cast<double>(s.prepared_statements_executed);
  auto regular = static_cast<double>(s.regular_statements);
  ViewRows rows(*table);
  auto add = [&rows](const char* name, double value) { rows.row().set("name", name).real("value", value); };
  add("prepared_statements_count", static_cast<double>(s.prepared_statements));
  add("prepared_statements_evicted", static_cast<double>(s.prepared_evicted));
  add("prepared_statements_executed", executed);
  add("prepared_statements_ratio", executed + regular == 0 ? 0 : executed / (executed + regular));
  add("regular_statements_executed", regular);
  co_return rows.take();
}

Task<VirtualRows> gossip_info(AdminContextPtr context, TablePtr table) {
  Task<std::vector<GossipedNode>> asked = gossiped_nodes(context);
  std::vector<GossipedNode> nodes = co_await asked;
  ViewRows rows(*table);
  for (const GossipedNode& node : nodes) {
    rows.row().set("address", inet(node.endpoint.host())).integer("port", node.endpoint.port);
    rows.set("hostname", node.endpoint.host());
    rows.integer("generation", node.generation).integer("heartbeat", node.heartbeat);
    for (const GossipedState& each : node.states) {
      const std::string column = lower(application_state_name(each.state));
      if (rows.has(column)) rows.set(column, each.value);  // TOKENS has a version only
      if (rows.has(column + "_version")) rows.integer(column + "_version", each.version);
    }
  }
  co_return rows.take();
}

// Where each node is, for keys of tables: a node that gossip does not know is in no place.
Task<std::map<InetAddressAndPort, NodeLocation>> locations(AdminContextPtr context) {
  using Locations = std::map<InetAddressAndPort, NodeLocation>;
  const MembershipService* membership = context->node.membership;
  if (membership == nullptr) return Task<Locations>(Locations());
  return on_gossip_shard<Locations>(context, [membership] {
    Locations all;
    for (const auto& [endpoint, state] : membership->gossiper().states()) {
      all[endpoint] = membership->membership().location(endpoint);
    }
    return Task<Locations>(std::move(all));
  });
}

NodeLocation location_in(const std::map<InetAddressAndPort, NodeLocation>& all, const InetAddressAndPort& endpoint) {
  auto it = all.find(endpoint);
  return it == all.end() ? NodeLocation{kUnknownDatacenter, kUnknownRack} : it->second;
}

void add_peer_key(ViewRows& rows, const InetAddressAndPort& peer, const NodeLocation& where) {
  rows.row().set("address", inet(peer.host())).integer("port", peer.port);
  rows.set("dc", where.datacenter).set("rack", where.rack);
}

// Reserves in use are not kept by peer: null.
Task<VirtualRows> internode_outbound(AdminContextPtr context, TablePtr table) {
  Task<InternodeReport> report_task = report_internode(context);
  InternodeReport report = co_await report_task;
  auto locations_task = locations(context);
  auto places = co_await locations_task;
  ViewRows rows(*table);
  for (const auto& [peer, totals] : report.outbound) {
    const PeerLink::Counters& c = totals.counters;
    add_peer_key(rows, peer, location_in(places, peer));
    rows.bigint("using_bytes", totals.pending_bytes).bigint("pending_bytes", totals.pending_bytes);
    rows.bigint("pending_count", totals.pending);
    rows.bigint("sent_count", c.sent).bigint("sent_bytes", c.sent_bytes);
    rows.bigint("expired_count", c.expired).bigint("expired_bytes", c.expired_bytes);
    rows.bigint("error_count", 0).bigint("error_bytes", 0);
    rows.bigint("overload_count", c.overloaded).bigint("overload_bytes", c.overloaded_bytes);
    rows.bigint("active_connections", totals.connected).bigint("connection_attempts", c.attempts);
    rows.bigint("successful_connection_attempts", c.connections);
  }
  co_return rows.take();
}

// Numbers of the connections that are open; null is what is not counted.
Task<VirtualRows> internode_inbound(AdminContextPtr context, TablePtr table) {
  Task<InternodeReport> report_task = report_internode(context);
  InternodeReport report = co_await report_task;
  auto locations_task = locations(context);
  auto places = co_await locations_task;
  ViewRows rows(*table);
  for (const auto& [peer, totals] : report.inbound) {
    const InboundLink::Counters& c = totals.counters;
    add_peer_key(rows, peer, location_in(places, peer));
    rows.bigint("using_bytes", totals.pending_bytes);
    rows.bigint("received_count", c.received).bigint("received_bytes", c.received_bytes);
    rows.bigint("expired_count", c.expired).bigint("error_count", c.lost).bigint("throttled_count", c.throttled);
    rows.bigint("corrupt_frames_recovered", c.corrupt_frames);
  }
  co_return rows.take();
}

Task<VirtualRows> pending_hints(AdminContextPtr context, TablePtr table) {
  Task<std::vector<HintedNode>> asked = hinted_nodes(context);
  std::vector<HintedNode> nodes = co_await asked;
  ViewRows rows(*table);
  for (const HintedNode& node : nodes) {
    rows.row().set("host_id", Bytes(node.hints.host_id.view()));
    if (node.endpoint) rows.set("address", inet(node.endpoint->host())).integer("port", node.endpoint->port);
    rows.set("rack", node.location.rack).set("dc", node.location.datacenter).set("status", node.status);
    rows.integer("files", static_cast<int64_t>(node.hints.files));
    rows.set("newest", encode_bigint(node.hints.newest_millis)).set("oldest", encode_bigint(node.hints.oldest_millis));
  }
  co_return rows.take();
}

Task<VirtualRows> settings(AdminContextPtr context, TablePtr table) {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  auto task = call_hook<Settings>(context, context->hooks.settings);
  Settings settings = co_await task;
  ViewRows rows(*table);
  for (const auto& [name, value] : settings) rows.row().set("name", name).set("value", value);
  co_return rows.take();
}

Task<VirtualRows> snapshots(AdminContextPtr context, TablePtr table) {
  ViewRows rows(*table);
  auto found = list_snapshots(context->runtime().disk, context->node.engine_options);
  if (!found.ok()) return VirtualRows();
  for (const SnapshotInfo& each : *found) {
    rows.row().set("name", each.tag).set("keyspace_name", each.keyspace).set("table_name", each.table);
    rows.set("created_at", encode_bigint(each.created_millis)).set("ephemeral", encode_boolean(false));
    rows.bigint("size_on_disk", each.total_bytes).bigint("true_size", each.true_bytes);
  }
  return rows.take();
}

Task<VirtualRows> pools(AdminContextPtr context, TablePtr table) {
  Task<std::vector<TableReport>> tables = report_tables(context, stored_tables(*context->schema()));
  std::vector<TableReport> reports = co_await tables;
  EngineStatistics engines = co_await sum_engines(context);
  Task<AdminTransport> transport_task = call_hook<AdminTransport>(context, context->hooks.transport);
  AdminTransport transport = co_await transport_task;
  ViewRows rows(*table);
  for (const ThreadPool& pool : thread_pools(reports, engines, transport)) {
    rows.row().set("name", pool.name).integer("active_tasks", static_cast<int64_t>(pool.active));
    rows.integer("active_tasks_limit", pool.is_idle ? 0 : context->node.runtime->shard_count());
    rows.integer("pending_tasks", static_cast<int64_t>(pool.pending)).bigint("completed_tasks", pool.completed);
    rows.bigint("blocked_tasks", 0).bigint("blocked_tasks_all_time", 0);
  }
  co_return rows.take();
}

// One row a table.
using AddNumbers = void (*)(ViewRows&, const TableReport&);
Task<VirtualRows> for_each_table(AdminContextPtr context, TablePtr table, AddNumbers add) {
  Task<std::vector<TableReport>> task = report_tables(context, stored_tables(*context->schema()));
  std::vector<TableReport> reports = co_await task;
  ViewRows rows(*table);
  for (const TableReport& report : reports) {
    rows.row().set("keyspace_name", report.table->keyspace).set("table_name", report.table->name);
    add(rows, report);
  }
  co_return rows.take();
}

// `per_second` stays null: rates are not kept.
void add_latency(ViewRows& rows, const Histogram& micros) {
  Percentiles p = percentiles(micros);
  rows.bigint("count", micros.count()).real("max_ms", rounded(static_cast<double>(p.max) / 1000));
  rows.real("p50th_ms", rounded(static_cast<double>(p.p50) / 1000));
  rows.real("p99th_ms", rounded(static_cast<double>(p.p99) / 1000));
}

template <Histogram TableStatistics::*kMicros>
Task<VirtualRows> latency(AdminContextPtr context, TablePtr table) {
  return for_each_table(std::move(context), std::move(table), [](ViewRows& rows, const TableReport& report) {
    add_latency(rows, report.statistics.*kMicros);
  });
}

template <Histogram TableRequests::*kMicros>
Task<VirtualRows> coordinator_latency(AdminContextPtr context, TablePtr table) {
  return for_each_table(std::move(context), std::move(table), [](ViewRows& rows, const TableReport& report) {
    add_latency(rows, report.coordinator.*kMicros);
  });
}

Task<VirtualRows> batch_metrics(AdminContextPtr context, TablePtr table) {
  CoordinatorStatistics s = co_await sum_coordinators(context);
  ViewRows rows(*table);
  for (auto [name, histogram] : {std::pair{"partitions_per_logged_batch", &s.partitions_per_logged_batch},
                                 {"partitions_per_unlogged_batch", &s.partitions_per_unlogged_batch},
                                 {"partitions_per_counter_batch", &s.partitions_per_counter_batch}}) {
    Percentiles p = percentiles(*histogram);
    rows.row().set("name", name).bigint("max", p.max).real("p50th", static_cast<double>(p.p50));
    rows.real("p99th", static_cast<double>(p.p99)).real("p999th", static_cast<double>(histogram->quantile(0.999)));
  }
  co_return rows.take();
}

template <Histogram TableStatistics::*kCounts>
Task<VirtualRows> distribution(AdminContextPtr context, TablePtr table) {
  return for_each_table(std::move(context), std::move(table), [](ViewRows& rows, const TableReport& report) {
    const Histogram& counts = report.statistics.*kCounts;
    Percentiles p = slice_percentiles(counts);
    rows.bigint("count", counts.count()).real("max", static_cast<double>(p.max));
    rows.real("p50th", static_cast<double>(p.p50)).real("p99th", static_cast<double>(p.p99));
  });
}

uint64_t mebibytes(uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

Task<VirtualRows> disk_usage(AdminContextPtr context, TablePtr table) {
  return for_each_table(std::move(context), std::move(table), [](ViewRows& rows, const TableReport& report) {
    rows.bigint("mebibytes", mebibytes(report.statistics.total_disk_bytes));
  });
}

Task<VirtualRows> max_sstable_size(AdminContextPtr context, TablePtr table) {
  return for_each_table(std::move(context), std::move(table), [](ViewRows& rows, const TableReport& report) {
    rows.bigint("mebibytes", mebibytes(report.max_sstable_bytes));
  });
}

Task<VirtualRows> max_partition_size(AdminContextPtr context, TablePtr table) {
  return for_each_table(std::move(context), std::move(table), [](ViewRows& rows, const TableReport& report) {
    const Histogram& sizes = report.statistics.partition_bytes;
    if (sizes.count() > 0 || report.statistics.sstables == 0)
      rows.bigint("mebibytes", mebibytes(percentiles(sizes).max));
  });
}

struct View {
  const char* name;
  Fill fill;
};

constexpr View kViews[] = {
    {"batch_metrics", batch_metrics},
    {"caches", caches},
    {"clients", clients},
    {"coordinator_read_latency", coordinator_latency<&TableRequests::read_micros>},
    {"coordinator_scan_latency", coordinator_latency<&TableRequests::range_micros>},
    {"coordinator_write_latency", coordinator_latency<&TableRequests::write_micros>},
    {"cql_metrics", cql_metrics},
    {"disk_usage", disk_usage},
    {"gossip_info", gossip_info},
    {"internode_inbound", internode_inbound},
    {"internode_outbound", internode_outbound},
    {"local_read_latency", latency<&TableStatistics::read_micros>},
    {"local_scan_latency", latency<&TableStatistics::range_micros>},
    {"local_write_latency", latency<&TableStatistics::write_micros>},
    {"max_partition_size", max_partition_size},
    {"max_sstable_size", max_sstable_size},
    {"pending_hints", pending_hints},
    {"rows_per_read", distribution<&TableStatistics::live_rows_per_read>},
    {"settings", settings},
    {"snapshots", snapshots},
    {"sstable_tasks", sstable_tasks},
    {"streaming", nothing},
    {"system_logs", nothing},
    {"system_properties", nothing},
    {"thread_pools", pools},
    {"tombstones_per_read", distribution<&TableStatistics::tombstones_per_read>},
};

}  // namespace

void add_system_views(const AdminNode& node, unsigned shard, AdminHooks hooks) {
  auto context = std::make_shared<AdminContext>();
  context->node = node;
  context->hooks = std::move(hooks);
  context->shard = shard;
  for (const View& view : kViews) {
    TablePtr metadata = context->schema()->table("system_views", view.name);
    CHECK(metadata != nullptr);
    context->replica().virtual_tables().add(std::make_unique<SystemView>(context, std::move(metadata), view.fill));
  }
}

}  // namespace cassandra_like
