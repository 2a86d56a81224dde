// GET /metrics: everything the node counts.
#include "admin/api.h"
#include "admin/internode.h"
#include "admin/prometheus.h"
#include "admin/statistics.h"

namespace cassandra_like::admin {
namespace {

using Kind = PrometheusText::Kind;
using Labels = PrometheusText::Labels;

void counter(PrometheusText& text, const char* name, const char* help, uint64_t value) {
  text.family(name, Kind::kCounter, help);
  text.sample({}, static_cast<double>(value));
}

void gauge(PrometheusText& text, const char* name, const char* help, double value) {
  text.family(name, Kind::kGauge, help);
  text.sample({}, value);
}

struct TableNumber {
  const char* name;
  Kind kind;
  const char* help;
  uint64_t TableStatistics::*value;
};

constexpr TableNumber kTableNumbers[] = {
    {"cassandra_table_reads_total", Kind::kCounter, "Local reads", &TableStatistics::reads},
    {"cassandra_table_writes_total", Kind::kCounter, "Local writes", &TableStatistics::writes},
    {"cassandra_table_sstables", Kind::kGauge, "Live SSTables", &TableStatistics::sstables},
    {"cassandra_table_live_disk_bytes", Kind::kGauge, "Bytes of live SSTables", &TableStatistics::live_disk_bytes},
    {"cassandra_table_total_disk_bytes", Kind::kGauge, "Bytes of all SSTables, those to be removed too",
     &TableStatistics::total_disk_bytes},
    {"cassandra_table_estimated_partitions", Kind::kGauge, "Partitions, estimated",
     &TableStatistics::estimated_partitions},
    {"cassandra_table_memtable_bytes", Kind::kGauge, "Bytes in memtables", &TableStatistics::memtable_bytes},
    {"cassandra_table_memtable_rows", Kind::kGauge, "Rows in memtables", &TableStatistics::memtable_rows},
    {"cassandra_table_memtable_switches_total", Kind::kCounter, "Memtables that were flushed",
     &TableStatistics::memtable_switches},
    {"cassandra_table_pending_flushes", Kind::kGauge, "Flushes that wait or run", &TableStatistics::pending_flushes},
    {"cassandra_table_bloom_filter_bytes", Kind::kGauge, "Memory of bloom filters", &TableStatistics::bloom_bytes},
    {"cassandra_table_bloom_filter_false_positives_total", Kind::kCounter, "Reads that a bloom filter misled",
     &TableStatistics::bloom_false_positives},
};

// Only tables that were used: a histogram without a sample is many lines of nothing.
void table_latencies(PrometheusText& text, const std::vector<TableReport>& reports, const char* name, const char* help,
                     Histogram TableStatistics::*histogram) {
  text.family(name, Kind::kHistogram, help);
  for (const TableReport& report : reports) {
    const Histogram& h = report.statistics.*histogram;
    if (h.count() > 0) text.micros({{"keyspace", report.table->keyspace}, {"table", report.table->name}}, h);
  }
}

void add_tables(PrometheusText& text, const std::vector<TableReport>& reports) {
  for (const TableNumber& number : kTableNumbers) {
    text.family(number.name, number.kind, number.help);
    for (const TableReport& report : reports) {
      text.sample({{"keyspace", report.table->keyspace}, {"table", report.table->name}},
                  static_cast<double>(report.statistics.*number.value));
    }
  }
  table_latencies(text, reports, "cassandra_table_read_latency_seconds", "Local reads", &TableStatistics::read_micros);
  table_latencies(text, reports, "cassandra_table_write_latency_seconds", "Local writes",
                  &TableStatistics::write_micros);
}

void add_requests(PrometheusText& text, const CoordinatorStatistics& c, const QueryStatistics& q) {
  text.family("cassandra_client_request_latency_seconds", Kind::kHistogram, "Requests as their coordinator saw them");
  text.micros({{"request", "read"}}, c.read_micros);
  text.micros({{"request", "range"}}, c.range_micros);
  text.micros({{"request", "write"}}, c.write_micros);
  text.micros({{"request", "cas_read"}}, c.cas_read_micros);
  text.micros({{"request", "cas_write"}}, c.cas_write_micros);
  text.micros({{"request", "view_write"}}, c.view_write_micros);
  counter(text, "cassandra_client_request_unavailables_total", "Requests refused for want of replicas", c.unavailables);
  counter(text, "cassandra_client_request_timeouts_total", "Requests that replicas did not answer in time", c.timeouts);
  counter(text, "cassandra_client_request_failures_total", "Requests that a replica failed", c.failures);
  counter(text, "cassandra_client_request_abandoned_total", "Reads that ended early because their client was gone",
          c.abandoned_reads);
  counter(text, "cassandra_denylist_writes_rejected_total", "Writes to partitions that are denied", c.denied_writes);
  counter(text, "cassandra_denylist_reads_rejected_total", "Reads of partitions that are denied", c.denied_reads);
  counter(text, "cassandra_denylist_range_reads_rejected_total", "Reads of ranges with partitions that are denied",
          c.denied_range_reads);
  counter(text, "cassandra_cql_regular_statements_total", "Statements executed that were not prepared",
          q.regular_statements);
  counter(text, "cassandra_cql_prepared_statements_executed_total", "Prepared statements executed",
          q.prepared_statements_executed);
  counter(text, "cassandra_cql_prepared_statements_evicted_total", "Prepared statements that had to make room",
          q.prepared_evicted);
  gauge(text, "cassandra_cql_prepared_statements", "Prepared statements that are kept",
        static_cast<double>(q.prepared_statements));
}

void add_replication(PrometheusText& text, const CoordinatorStatistics& c, const HintsStatistics& h) {
  counter(text, "cassandra_read_repairs_attempted_total", "Reads whose replicas differed", c.read_repairs_attempted);
  counter(text, "cassandra_read_repairs_blocking_total", "Read repairs that their client waited for",
          c.read_repairs_blocking);
  counter(text, "cassandra_speculative_retries_total", "Reads that asked one more replica because one was slow",
          c.speculative_retries);
  counter(text, "cassandra_speculative_insufficient_replicas_total", "Slow reads without another replica to ask",
          c.speculative_insufficient_replicas);
  counter(text, "cassandra_hints_written_total", "Hints kept for other nodes", h.written);
  counter(text, "cassandra_hints_succeeded_total", "Hints that their node has taken", h.succeeded);
  counter(text, "cassandra_hints_failed_total", "Hints that their node could not take", h.failed);
  counter(text, "cassandra_hints_timed_out_total", "Hints that were not answered in time", h.timed_out);
  counter(text, "cassandra_hints_overflowed_total", "Writes without a hint for want of window, room or disk",
          h.overflowed);
  counter(text, "cassandra_hints_expired_total", "Hints that were not sent because they were too old", h.expired);
  counter(text, "cassandra_hints_damaged_total", "Hints that were not sent because their file is damaged", h.damaged);
}

constexpr std::pair<ConnectionType, const char*> kConnectionTypes[] = {
    {ConnectionType::kUrgent, "urgent"}, {ConnectionType::kSmall, "small"}, {ConnectionType::kLarge, "large"}};

// One sample a type of connection.
void outbound(PrometheusText& text, InternodeReport& r, const char* name, Kind kind, const char* help,
              uint64_t (*value)(const OutboundTotals&)) {
  text.family(name, kind, help);
  for (const auto& [type, label] : kConnectionTypes) {
    text.sample({{"type", label}}, static_cast<double>(value(r.by_type[type])));
  }
}

void add_internode(PrometheusText& text, InternodeReport& r) {
  using Totals = const OutboundTotals&;
  outbound(text, r, "cassandra_internode_connections", Kind::kGauge, "Open connections to other nodes",
           [](Totals t) { return t.connected; });
  outbound(text, r, "cassandra_internode_pending_messages", Kind::kGauge, "Messages that wait to be sent",
           [](Totals t) { return t.pending; });
  outbound(text, r, "cassandra_internode_pending_bytes", Kind::kGauge, "Bytes of those",
           [](Totals t) { return t.pending_bytes; });
  outbound(text, r, "cassandra_internode_sent_messages_total", Kind::kCounter, "Messages sent to other nodes",
           [](Totals t) { return t.counters.sent; });
  outbound(text, r, "cassandra_internode_sent_bytes_total", Kind::kCounter, "Bytes of those",
           [](Totals t) { return t.counters.sent_bytes; });
  outbound(text, r, "cassandra_internode_expired_messages_total", Kind::kCounter,
           "Messages that expired before they were sent", [](Totals t) { return t.counters.expired; });
  outbound(text, r, "cassandra_internode_overloaded_messages_total", Kind::kCounter,
           "Messages refused because the queue to their node was full", [](Totals t) { return t.counters.overloaded; });
  outbound(text, r, "cassandra_internode_connection_attempts_total", Kind::kCounter, "Connections that were tried",
           [](Totals t) { return t.counters.attempts; });
  InboundTotals received;
  for (const auto& [peer, totals] : r.inbound) {
    received.connections += totals.connections;
    received.pending_bytes += totals.pending_bytes;
  }
  gauge(text, "cassandra_internode_inbound_connections", "Open connections from other nodes",
        static_cast<double>(received.connections));
  gauge(text, "cassandra_internode_inbound_pending_bytes", "Bytes of messages that are being handled",
        static_cast<double>(received.pending_bytes));
  gauge(text, "cassandra_internode_waiting_requests", "Requests that other nodes have not answered yet",
        static_cast<double>(r.waiting_requests));
  counter(text, "cassandra_internode_unexpected_responses_total", "Answers that nobody waited for any more",
          r.unexpected_responses);
  text.family("cassandra_dropped_messages_total", Kind::kCounter, "Messages that expired before they were handled");
  for (size_t i = 0; i < kVerbCount; ++i) {
    if (r.dropped[i] > 0) text.sample({{"verb", verb_at(i).name}}, static_cast<double>(r.dropped[i]));
  }
}

void add_members(PrometheusText& text, const MembershipService& membership) {
  const Gossiper& gossiper = membership.gossiper();
  gauge(text, "cassandra_gossip_running", "1 while this node gossips", membership.is_gossip_running());
  gauge(text, "cassandra_gossip_live_nodes", "Other nodes that live", static_cast<double>(gossiper.live().size()));
  gauge(text, "cassandra_gossip_unreachable_nodes", "Other nodes that do not",
        static_cast<double>(gossiper.unreachable().size()));
}

void add_replicas(PrometheusText& text, const ReplicaStatistics& r) {
  counter(text, "cassandra_shard_requests_local_total", "Reads and writes on the shard that owns their keys", r.local);
  counter(text, "cassandra_shard_requests_forwarded_total", "Reads and writes that were sent on to the owning shard",
          r.forwarded);
}

void add_engines(PrometheusText& text, const EngineStatistics& e) {
  gauge(text, "cassandra_commitlog_bytes", "Bytes of commit log segments", static_cast<double>(e.commitlog_bytes));
  gauge(text, "cassandra_commitlog_segments", "Commit log segments", static_cast<double>(e.commitlog_segments));
  gauge(text, "cassandra_commitlog_pending", "Writes that wait for a sync", static_cast<double>(e.commitlog_pending));
  counter(text, "cassandra_commitlog_writes_total", "Writes appended to the commit log", e.commitlog_completed);
  gauge(text, "cassandra_memtable_bytes", "Bytes in memtables", static_cast<double>(e.memtable_bytes));
  counter(text, "cassandra_flushes_total", "Memtables written to SSTables", e.flushes_completed);
  gauge(text, "cassandra_flushes_pending", "Flushes that wait or run", static_cast<double>(e.flushes_pending));
  counter(text, "cassandra_compactions_total", "Compactions finished", e.compactions_completed);
  gauge(text, "cassandra_compactions_pending", "Compactions that wait or run",
        static_cast<double>(e.compactions_pending));
  gauge(text, "cassandra_chunk_cache_bytes", "Bytes of uncompressed chunks that are kept",
        static_cast<double>(e.chunk_cache.bytes));
  counter(text, "cassandra_chunk_cache_requests_total", "Chunks that reads asked for", e.chunk_cache.requests);
  counter(text, "cassandra_chunk_cache_misses_total", "Chunks that came from the disk", e.chunk_cache.misses);
  text.family("cassandra_disk_wait_seconds", Kind::kHistogram, "Waits of reads for bytes that were not in memory");
  text.micros({}, e.disk_wait_micros);
}

void add_transport(PrometheusText& text, const AdminTransport& t) {
  gauge(text, "cassandra_transport_connected_clients", "Open connections", static_cast<double>(t.connected_clients));
  gauge(text, "cassandra_transport_requests_in_flight", "Requests that are being answered",
        static_cast<double>(t.requests_in_flight));
  gauge(text, "cassandra_transport_request_bytes_in_flight", "Bytes of those",
        static_cast<double>(t.request_bytes_in_flight));
  gauge(text, "cassandra_transport_paused_connections", "Connections that are not read for now",
        static_cast<double>(t.paused_connections));
  counter(text, "cassandra_transport_connections_total", "Connections accepted", t.connections);
  counter(text, "cassandra_transport_connections_refused_total", "Connections over a limit", t.connections_refused);
  counter(text, "cassandra_transport_requests_total", "Requests received", t.requests);
  counter(text, "cassandra_transport_requests_discarded_total", "Requests refused for overload", t.requests_discarded);
  counter(text, "cassandra_transport_bytes_received_total", "Bytes from clients", t.bytes_received);
  counter(text, "cassandra_transport_bytes_sent_total", "Bytes to clients", t.bytes_sent);
  counter(text, "cassandra_transport_protocol_errors_total", "Requests that broke the protocol", t.protocol_errors);
  counter(text, "cassandra_transport_auth_successes_total", "Logins", t.auth_successes);
  counter(text, "cassandra_transport_auth_failures_total", "Logins refused", t.auth_failures);
  counter(text, "cassandra_transport_events_sent_total", "Events pushed to clients", t.events_sent);
  text.family("cassandra_transport_request_latency_seconds", Kind::kHistogram, "Requests from frame to answer");
  text.micros({}, t.request_micros);
}

void add_node(PrometheusText& text, const AdminContext& context) {
  text.family("cassandra_info", Kind::kGauge, "The node; always 1");
  const Endpoint& local = context.replica().topology().current()->local();
  std::string host_id = local.host_id.to_string();
  text.sample({{"release_version", kReleaseVersion},
               {"cluster", context.local().cluster_name},
               {"data_center", local.datacenter},
               {"rack", local.rack},
               {"host_id", host_id}},
              1);
  gauge(text, "cassandra_uptime_seconds", "Since the node started",
        static_cast<double>(context.uptime_millis()) / 1000);
  gauge(text, "cassandra_shards", "Shards of the node", context.node.runtime->shard_count());
  if (auto bytes = resident_bytes(context.runtime().disk)) {
    gauge(text, "cassandra_process_resident_memory_bytes", "Resident memory of the process",
          static_cast<double>(*bytes));
  }
}

}  // namespace

Task<Answer> metrics(AdminContextPtr context, Parameters) {
  Task<std::vector<TableReport>> tables = report_tables(context, stored_tables(*context->schema()));
  std::vector<TableReport> reports = co_await tables;
  ReplicaStatistics replicas = co_await sum_replicas(context);
  EngineStatistics engines = co_await sum_engines(context);
  CoordinatorStatistics coordinators = co_await sum_coordinators(context);
  QueryStatistics queries = co_await sum_queries(context);
  Task<AdminTransport> transport_task = call_hook<AdminTransport>(context, context->hooks.transport);
  AdminTransport transport = co_await transport_task;
  Task<InternodeReport> internode_task = report_internode(context);
  InternodeReport internode = co_await internode_task;
  Task<HintsStatistics> hints_task = sum_hints(context);
  HintsStatistics hints = co_await hints_task;
  PrometheusText text;
  add_node(text, *context);
  add_requests(text, coordinators, queries);
  add_transport(text, transport);
  add_replicas(text, replicas);
  add_engines(text, engines);
  if (const MembershipService* membership = context->node.membership) {
    add_members(text, *membership);
    add_internode(text, internode);
    add_replication(text, coordinators, hints);
  }
  add_tables(text, reports);
  Answer answer;
  answer.text = text.take();
  co_return answer;
}

}  // namespace cassandra_like::admin
