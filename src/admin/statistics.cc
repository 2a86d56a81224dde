#include "admin/statistics.h"

#include <algorithm>
#include <charconv>

#include "runtime/gather.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {
namespace {

void add(TableStatistics& total, const TableStatistics& part) {
  total.sstables += part.sstables;
  total.live_disk_bytes += part.live_disk_bytes;
  total.total_disk_bytes += part.total_disk_bytes;
  total.estimated_partitions += part.estimated_partitions;
  total.memtable_rows += part.memtable_rows;
  total.memtable_bytes += part.memtable_bytes;
  total.memtable_switches += part.memtable_switches;
  total.reads += part.reads;
  total.writes += part.writes;
  total.pending_flushes += part.pending_flushes;
  total.bloom_false_positives += part.bloom_false_positives;
  total.bloom_bytes += part.bloom_bytes;
  total.index_summary_bytes += part.index_summary_bytes;
  total.compression_metadata_bytes += part.compression_metadata_bytes;
  total.read_micros.merge(part.read_micros);
  total.range_micros.merge(part.range_micros);
  total.write_micros.merge(part.write_micros);
  total.sstables_per_read.merge(part.sstables_per_read);
  total.partition_bytes.merge(part.partition_bytes);
  total.cells_per_partition.merge(part.cells_per_partition);
  total.tombstones_per_read.merge(part.tombstones_per_read);
  total.live_rows_per_read.merge(part.live_rows_per_read);
}

uint64_t& bytes_like(TableReport& report, const SSTableInfo& info) {
  if (info.pending_repair) return report.pending_repair_bytes;
  return info.repaired_at > 0 ? report.repaired_bytes : report.unrepaired_bytes;
}

// From the first timestamp to the last, as Java subtracts. Without any, Statistics.db has the least and the greatest long.
int64_t duration_micros(const SSTableInfo& info) {
  if (info.min_timestamp == kNoTimestamp || info.max_timestamp == std::numeric_limits<int64_t>::max()) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(info.max_timestamp) - static_cast<uint64_t>(info.min_timestamp));
}

// written: an SSTable of the version that the node writes. Tombstones of before gc_before may go.
void add(TableReport& report, const SSTableInfo& info, const SSTableDescriptor& written, int64_t gc_before) {
  if (!report.counted.insert(info.descriptor.file(components::kData)).second) return;
  report.max_sstable_bytes = std::max(report.max_sstable_bytes, info.total_bytes);
  if (info.descriptor.format == written.format && info.descriptor.version != written.version) ++report.old_sstables;
  report.uncompressed_load += info.uncompressed_bytes;
  if (info.compression_ratio > 0) {
    report.compressed_bytes += info.data_bytes;
    report.decompressed_bytes += info.uncompressed_bytes;
  }
  bytes_like(report, info) += info.uncompressed_bytes;
  report.cells += info.estimated_cells;
  report.droppable_tombstones += info.droppable_before(gc_before) * static_cast<double>(info.estimated_cells);
  const size_t level = std::min<size_t>(static_cast<size_t>(std::max(info.level, 0)), kSSTableLevels - 1);
  ++report.sstables_per_level[level];
  report.sstable_bytes_per_level[level] += info.data_bytes;
  report.longest_sstable_micros = std::max(report.longest_sstable_micros, duration_micros(info));
}

void add(TableRequests& total, const TableRequests& part) {
  total.read_micros.merge(part.read_micros);
  total.range_micros.merge(part.range_micros);
  total.write_micros.merge(part.write_micros);
  total.speculative_retries += part.speculative_retries;
  total.speculative_failed_retries += part.speculative_failed_retries;
  total.speculative_insufficient_replicas += part.speculative_insufficient_replicas;
}

// On the replica's shard. A table that was dropped meanwhile adds nothing.
Task<std::vector<TableReport>> add_shard(Coordinator* coordinator, std::vector<TableReport> reports,
                                         SSTableDescriptor written, int64_t now_seconds) {
  Maintenance& engine = coordinator->replica().maintenance();
  for (TableReport& report : reports) {
    auto statistics = engine.table_statistics(report.table->id);
    if (!statistics.ok()) continue;
    add(report.statistics, *statistics);
    const int64_t gc_before = now_seconds - report.table->params.gc_grace_seconds;
    for (const SSTableInfo& info : engine.sstables(report.table->id)) add(report, info, written, gc_before);
    if (const TableRequests* part = coordinator->requests(report.table->id)) add(report.coordinator, *part);
  }
  return reports;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

double TableReport::compression_ratio() const {
  if (decompressed_bytes == 0) return -1;
  return ratio(static_cast<double>(compressed_bytes), static_cast<double>(decompressed_bytes));
}

double TableReport::droppable_ratio() const { return ratio(droppable_tombstones, static_cast<double>(cells)); }

double TableReport::percent_repaired() const {
  return cassandra_like::percent_repaired(repaired_bytes, unrepaired_bytes + pending_repair_bytes);
}

double TableReport::bloom_false_ratio() const {
  auto wrong = static_cast<double>(statistics.bloom_false_positives);
  return ratio(wrong, std::max(wrong, static_cast<double>(statistics.sstables_per_read.sum())));
}

std::vector<TablePtr> stored_tables(const Schema& schema) {
  std::vector<TablePtr> tables;
  for (const auto& [name, keyspace] : schema.keyspaces()) {
    if (keyspace->is_virtual) continue;
    for (const auto& [table_name, table] : keyspace->tables) tables.push_back(table);
  }
  return tables;
}

// One shard after the other: with all at once, every shard's histograms would be in memory together.
Task<std::vector<TableReport>> report_tables(AdminContextPtr context, std::vector<TablePtr> tables) {
  std::vector<TableReport> reports(tables.size());
  for (size_t i = 0; i < tables.size(); ++i) reports[i].table = std::move(tables[i]);
  const int64_t now = context->runtime().clock.wall_seconds();
  for (unsigned i = 0; i < context->node.runtime->shard_count() && !context->stopped; ++i) {
    Coordinator* coordinator = context->node.coordinators[i];
    const auto written = SSTableDescriptor::of(context->node.engine_options.sstable_version, "", "");
    auto hop = run_on<std::vector<TableReport>>(context->here(), context->node.runtime->shard(i).executor,
                                                [coordinator, written, now, reports = std::move(reports)]() mutable {
                                                  return add_shard(coordinator, std::move(reports), written, now);
                                                });
    reports = co_await hop;
  }
  co_return reports;
}

Task<ReplicaStatistics> sum_replicas(AdminContextPtr context) {
  ReplicaStatistics total;
  if (context->stopped) co_return total;
  auto* node = &context->node;
  auto ask = [node](unsigned shard) { return Task<ReplicaStatistics>(node->replicas[shard]->statistics()); };
  auto parts = co_await gather<ReplicaStatistics>(*node->runtime, context->here(), ask);
  for (const ReplicaStatistics& part : parts) {
    total.local += part.local;
    total.forwarded += part.forwarded;
  }
  co_return total;
}

Task<EngineStatistics> sum_engines(AdminContextPtr context) {
  EngineStatistics total;
  if (context->stopped) co_return total;
  auto* node = &context->node;
  auto ask = [node](unsigned shard) {
    return Task<EngineStatistics>(node->replicas[shard]->maintenance().statistics());
  };
  auto parts = co_await gather<EngineStatistics>(*node->runtime, context->here(), ask);
  for (const EngineStatistics& part : parts) {
    total.commitlog_bytes += part.commitlog_bytes;
    total.commitlog_segments += part.commitlog_segments;
    total.commitlog_pending += part.commitlog_pending;
    total.commitlog_completed += part.commitlog_completed;
    total.memtable_bytes += part.memtable_bytes;
    total.flushes_completed += part.flushes_completed;
    total.flushes_pending += part.flushes_pending;
    total.compactions_completed += part.compactions_completed;
    total.compactions_per_second += part.compactions_per_second;
    total.compactions_pending += part.compactions_pending;
    total.bytes_compacted += part.bytes_compacted;
    total.compressed_bytes_compacted += part.compressed_bytes_compacted;
    total.compactions_aborted += part.compactions_aborted;
    total.compactions_reduced += part.compactions_reduced;
    total.sstables_left_out += part.sstables_left_out;
    total.compaction_throughput = part.compaction_throughput;
    total.concurrent_compactors = part.concurrent_compactors;
    total.chunk_cache += part.chunk_cache;
    total.disk_wait_micros.merge(part.disk_wait_micros);
  }
  co_return total;
}

Task<std::vector<RunningCompaction>> running_compactions(AdminContextPtr context) {
  std::vector<RunningCompaction> all;
  if (context->stopped) co_return all;
  auto* node = &context->node;
  auto ask = [node](unsigned shard) {
    return Task<std::vector<RunningCompaction>>(node->replicas[shard]->maintenance().running_compactions());
  };
  auto parts = co_await gather<std::vector<RunningCompaction>>(*node->runtime, context->here(), ask);
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  co_return all;
}

Task<CoordinatorStatistics> sum_coordinators(AdminContextPtr context) {
  CoordinatorStatistics total;
  if (context->stopped) co_return total;
  auto* node = &context->node;
  auto ask = [node](unsigned shard) {
    return Task<CoordinatorStatistics>(CoordinatorStatistics(node->coordinators[shard]->statistics()));
  };
  auto parts = co_await gather<CoordinatorStatistics>(*node->runtime, context->here(), ask);
  for (const CoordinatorStatistics& part : parts) {
    total.read_micros.merge(part.read_micros);
    total.range_micros.merge(part.range_micros);
    total.write_micros.merge(part.write_micros);
    total.cas_read_micros.merge(part.cas_read_micros);
    total.cas_write_micros.merge(part.cas_write_micros);
    total.view_write_micros.merge(part.view_write_micros);
    total.partitions_per_logged_batch.merge(part.partitions_per_logged_batch);
    total.partitions_per_unlogged_batch.merge(part.partitions_per_unlogged_batch);
    total.partitions_per_counter_batch.merge(part.partitions_per_counter_batch);
    total.unavailables += part.unavailables;
    total.timeouts += part.timeouts;
    total.failures += part.failures;
    total.read_repairs_attempted += part.read_repairs_attempted;
    total.read_repairs_blocking += part.read_repairs_blocking;
    total.speculative_retries += part.speculative_retries;
    total.speculative_insufficient_replicas += part.speculative_insufficient_replicas;
    total.abandoned_reads += part.abandoned_reads;
    total.denied_writes += part.denied_writes;
    total.denied_reads += part.denied_reads;
    total.denied_range_reads += part.denied_range_reads;
  }
  co_return total;
}

Task<QueryStatistics> sum_queries(AdminContextPtr context) {
  QueryStatistics total;
  if (context->stopped) co_return total;
  auto* node = &context->node;
  auto ask = [node](unsigned shard) {
    return Task<QueryStatistics>(QueryStatistics(node->processors[shard]->statistics()));
  };
  auto parts = co_await gather<QueryStatistics>(*node->runtime, context->here(), ask);
  for (const QueryStatistics& part : parts) {
    total.regular_statements += part.regular_statements;
    total.prepared_statements_executed += part.prepared_statements_executed;
    total.prepared_evicted += part.prepared_evicted;
    // Each shard holds all of them.
    total.prepared_statements = std::max(total.prepared_statements, part.prepared_statements);
  }
  co_return total;
}

uint64_t load_of(const std::vector<TableReport>& reports) {
  uint64_t bytes = 0;
  for (const TableReport& report : reports) bytes += report.statistics.live_disk_bytes;
  return bytes;
}

double percent_repaired(uint64_t repaired, uint64_t unrepaired) {
  if (repaired + unrepaired == 0) return 100;
  return 100 * ratio(static_cast<double>(repaired), static_cast<double>(repaired + unrepaired));
}

// A bucket cannot tell 0 from 1, the maximum can.
Percentiles percentiles(const Histogram& histogram) {
  return histogram.max() == 0 ? Percentiles() : slice_percentiles(histogram);
}

Percentiles slice_percentiles(const Histogram& histogram) {
  Percentiles result;
  if (histogram.count() == 0) return result;
  const auto counts = histogram.counts();
  const auto& offsets = Histogram::offsets();
  auto is_used = [](uint64_t count) { return count > 0; };
  auto first = std::find_if(counts.begin(), counts.end(), is_used) - counts.begin();
  auto last = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), is_used) - 1;
  result.min = first == 0 ? 0 : offsets[static_cast<size_t>(first) - 1] + 1;
  result.max = offsets[static_cast<size_t>(last)];
  result.p50 = histogram.quantile(0.5);
  result.p75 = histogram.quantile(0.75);
  result.p95 = histogram.quantile(0.95);
  result.p98 = histogram.quantile(0.98);
  result.p99 = histogram.quantile(0.99);
  return result;
}

double slice_mean(const Histogram& histogram) {
  const auto counts = histogram.counts();
  uint64_t sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) sum += counts[i] * Histogram::offsets()[i];
  return ratio(static_cast<double>(sum), static_cast<double>(histogram.count()));
}

std::vector<ThreadPool> thread_pools(const std::vector<TableReport>& tables, const EngineStatistics& engines,
                                     const AdminTransport& transport) {
  uint64_t reads = 0, writes = 0;
  for (const TableReport& report : tables) {
    reads += report.statistics.reads;
    writes += report.statistics.writes;
  }
  uint64_t requests = transport.requests - std::min(transport.requests, transport.requests_in_flight);
  auto idle = [](const char* name) { return ThreadPool{name, 0, 0, 0, true}; };
  // A pool is idle when the node has no such work. Pools whose work nobody counts here are left out: GossipStage, HintsDispatcher.
  // At the end of a flush the commit log's segments and the memtable's memory are let go: Cassandra has two pools for that.
  return {idle("CacheCleanupExecutor"),
          {"CompactionExecutor", 0, engines.compactions_pending, engines.compactions_completed},
          {"MemtableFlushWriter", 0, engines.flushes_pending, engines.flushes_completed},
          {"MemtablePostFlush", 0, 0, engines.flushes_completed},
          {"MemtableReclaimMemory", 0, 0, engines.flushes_completed},
          {"MutationStage", 0, engines.commitlog_pending, writes},
          {"Native-Transport-Auth-Requests", 0, 0, transport.auth_successes + transport.auth_failures},
          {"Native-Transport-Requests", transport.requests_in_flight, 0, requests},
          {"ReadStage", 0, 0, reads},
          idle("Sampler"),
          idle("StatusPropagationExecutor"),
          idle("ValidationExecutor"),
          idle("ViewBuildExecutor")};
}

// Its second number is the resident pages. The file has no size, so it is read byte by byte.
std::optional<uint64_t> resident_bytes(Disk& disk) {
  constexpr uint64_t kPageBytes = 4096;
  auto file = disk.open("/proc/self/statm");
  if (!file.ok()) return std::nullopt;
  std::string text;
  for (char c = 0; text.size() < 100; text.push_back(c)) {
    if (!(*file)->read(text.size(), {&c, 1}).ok() || c == '\n') break;
  }
  size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  uint64_t pages = 0;
  auto parsed = std::from_chars(text.data() + space + 1, text.data() + text.size(), pages);
  if (parsed.ec != std::errc()) return std::nullopt;
  return pages * kPageBytes;
}

}  // namespace cassandra_like
