// tables, table_histograms, data_paths, flush, auto_compaction.
#include <cmath>
#include <map>

#include "admin/selection.h"
#include "admin/statistics.h"
#include "runtime/gather.h"
#include "storage/compaction/strategy/options.h"

namespace cassandra_like::admin {
namespace {

Json to_json(const Percentiles& p) {
  return {{"p50", p.p50}, {"p75", p.p75}, {"p95", p.p95}, {"p98", p.p98},
          {"p99", p.p99}, {"min", p.min}, {"max", p.max}};
}

Json to_json(const Histogram& histogram) { return to_json(percentiles(histogram)); }

Json mean_of(const Histogram& histogram) { return histogram.count() == 0 ? Json(nullptr) : Json(histogram.mean()); }

void add_latency(Json& json, const char* name, uint64_t count, const Histogram& micros) {
  std::string prefix = name;
  json[prefix + "_count"] = count;
  json[prefix + "_total_micros"] = micros.sum();
  json[prefix + "_mean_micros"] = mean_of(micros);
}

// The time window of TimeWindowCompactionStrategy, null for the others.
Json time_window(const TableMetadata& table) {
  const StringPairs& compaction = table.params.compaction;
  auto option = [&compaction](const char* name, const char* fallback) {
    auto it = compaction.find(name);
    return it == compaction.end() ? std::string(fallback) : it->second;
  };
  if (option("class", "").find("TimeWindowCompactionStrategy") == std::string::npos) return nullptr;
  return {{"unit", option("compaction_window_unit", "DAYS")}, {"size", option("compaction_window_size", "1")}};
}

void add_strategy(Json& json, const TableReport& report) {
  const Result<CompactionOptions> options = parse_compaction_options(report.table->params.compaction);
  const bool is_leveled = options.ok() && options->strategy == CompactionOptions::Strategy::kLeveled;
  json["sstables_per_level"] = is_leveled ? Json(report.sstables_per_level) : Json(nullptr);
  json["sstable_bytes_per_level"] = is_leveled ? Json(report.sstable_bytes_per_level) : Json(nullptr);
  json["level_fanout"] = is_leveled ? options->leveled.fanout_size : LeveledOptions().fanout_size;
  json["twcs"] = time_window(*report.table);
  json["twcs_max_duration_millis"] =
      json["twcs"].is_null() ? Json(nullptr) : Json(report.longest_sstable_micros / 1000);
}

void add_storage(Json& json, const TableReport& report, uint64_t snapshot_bytes) {
  const TableStatistics& s = report.statistics;
  json["sstable_count"] = s.sstables;
  json["old_sstable_count"] = report.old_sstables;
  json["max_sstable_size_bytes"] = report.max_sstable_bytes;
  add_strategy(json, report);
  json["space_used_live_bytes"] = s.live_disk_bytes;
  json["space_used_total_bytes"] = s.total_disk_bytes;
  json["space_used_by_snapshots_bytes"] = snapshot_bytes;
  json["sstable_compression_ratio"] = report.compression_ratio();
  json["partitions_estimate"] = s.estimated_partitions;
  json["memtable_cell_count"] = s.memtable_rows;
  json["memtable_data_bytes"] = s.memtable_bytes;
  json["memtable_off_heap_bytes"] = s.memtable_bytes;
  json["memtable_switch_count"] = s.memtable_switches;
}

// Facts that only SSTables know are null until there is one.
Json or_null(const Histogram& histogram, uint64_t value) {
  return histogram.count() == 0 ? Json(nullptr) : Json(value);
}

void add_slices(Json& json, const std::string& name, const Histogram& of_reads) {
  json[name + "_mean"] = of_reads.count() == 0 ? Json(nullptr) : Json(slice_mean(of_reads));
  json[name + "_max"] = slice_percentiles(of_reads).max;
}

void add_partitions(Json& json, const TableStatistics& s) {
  Percentiles sizes = percentiles(s.partition_bytes);
  json["partition_min_bytes"] = or_null(s.partition_bytes, sizes.min);
  json["partition_max_bytes"] = or_null(s.partition_bytes, sizes.max);
  json["partition_mean_bytes"] = or_null(s.partition_bytes, static_cast<uint64_t>(std::ceil(s.partition_bytes.mean())));
  add_slices(json, "live_cells", s.live_rows_per_read);
  add_slices(json, "tombstones", s.tombstones_per_read);
}

// Bytes that only snapshots hold, by keyspace and table.
using SnapshotBytes = std::map<std::pair<std::string, std::string>, uint64_t>;

Json table_json(const TableReport& report, uint64_t snapshot_bytes) {
  const TableStatistics& s = report.statistics;
  Json json = {
      {"keyspace", report.table->keyspace}, {"table", report.table->name}, {"is_index", report.table->is_index}};
  add_storage(json, report, snapshot_bytes);
  json["speculative_retries"] = report.coordinator.speculative_retries;
  add_latency(json, "read", s.reads, s.read_micros);
  add_latency(json, "write", s.writes, s.write_micros);
  json["pending_flushes"] = s.pending_flushes;
  json["percent_repaired"] = report.percent_repaired();
  json["bytes_repaired"] = report.repaired_bytes;
  json["bytes_unrepaired"] = report.unrepaired_bytes;
  json["bytes_pending_repair"] = report.pending_repair_bytes;
  json["bloom_filter_false_positives"] = s.bloom_false_positives;
  json["bloom_filter_false_ratio"] = report.bloom_false_ratio();
  json["bloom_filter_disk_bytes"] = s.bloom_bytes;
  json["bloom_filter_off_heap_bytes"] = s.bloom_bytes;
  json["index_summary_off_heap_bytes"] = s.index_summary_bytes;
  json["compression_metadata_off_heap_bytes"] = s.compression_metadata_bytes;
  add_partitions(json, s);
  json["droppable_tombstone_ratio"] = report.droppable_ratio();
  json["misplaced_sstables"] = false;
  return json;
}

Json histograms_json(const TableReport& report) {
  const TableStatistics& s = report.statistics;
  auto of_sstables = [](const Histogram& h) { return h.count() == 0 ? Json(nullptr) : to_json(h); };
  return {{"keyspace", report.table->keyspace},
          {"table", report.table->name},
          {"read_micros", to_json(s.read_micros)},
          {"write_micros", to_json(s.write_micros)},
          {"sstables_per_read", to_json(s.sstables_per_read)},
          {"partition_bytes", of_sstables(s.partition_bytes)},
          {"cell_count", of_sstables(s.cells_per_partition)}};
}

}  // namespace

Task<Answer> tables(AdminContextPtr context, Parameters) {
  Task<std::vector<TableReport>> task = report_tables(context, stored_tables(*context->schema()));
  std::vector<TableReport> reports = co_await task;
  Json all = Json::array();
  auto snapshots = list_snapshots(context->runtime().disk, context->node.engine_options);
  if (!snapshots.ok()) co_return failure(snapshots.error());
  SnapshotBytes snapshot_bytes;
  for (const SnapshotInfo& each : *snapshots) snapshot_bytes[{each.keyspace, each.table}] += each.true_bytes;
  for (const TableReport& report : reports) {
    all.push_back(table_json(report, snapshot_bytes[{report.table->keyspace, report.table->name}]));
  }
  Answer answer;
  answer.json["tables"] = std::move(all);
  co_return answer;
}

Task<Answer> table_histograms(AdminContextPtr context, Parameters parameters) {
  std::vector<TablePtr> wanted;
  if (parameters.has("keyspace") || parameters.has("table")) {
    const std::string &keyspace = parameters.get("keyspace"), &name = parameters.get("table");
    TablePtr table = context->schema()->table(keyspace, name);
    if (table == nullptr || table->is_virtual) co_return refuse(400, "Unknown table " + keyspace + "." + name);
    wanted.push_back(std::move(table));
  } else {
    wanted = stored_tables(*context->schema());
  }
  Task<std::vector<TableReport>> task = report_tables(context, std::move(wanted));
  std::vector<TableReport> reports = co_await task;
  Json all = Json::array();
  for (const TableReport& report : reports) all.push_back(histograms_json(report));
  Answer answer;
  answer.json["tables"] = std::move(all);
  co_return answer;
}

// ColumnFamilyStore.getDataPaths
Task<Answer> data_paths(AdminContextPtr context, Parameters) {
  Json all = Json::array();
  for (const TablePaths& each : context->replica().maintenance().paths()) {
    all.push_back({{"keyspace", each.keyspace}, {"table", each.table}, {"paths", each.directories}});
  }
  Answer answer;
  answer.json["tables"] = std::move(all);
  return answer;
}

Task<Answer> flush(AdminContextPtr context, Parameters parameters) {
  TableWork work = [](Maintenance& maintenance, const TableSelection& tables) { return maintenance.flush(tables); };
  return on_named_tables(std::move(context), std::move(parameters), std::move(work));
}

// Hidden tables of indexes are tables here, as in Cassandra. A table is switched on all shards alike: the first one tells.
Task<Answer> auto_compaction(AdminContextPtr context, Parameters parameters) {
  Selections selections;
  if (auto refusal = select(*context->schema(), parameters, selections, 400)) co_return std::move(*refusal);
  Json all = Json::array();
  for (const TableSelection& selection : selections) {
    if (context->stopped) break;
    auto* node = &context->node;
    auto ask = [node, &selection](unsigned shard) {
      return Task<std::vector<AutoCompactionState>>(node->replicas[shard]->maintenance().auto_compaction(selection));
    };
    auto shards = co_await gather<std::vector<AutoCompactionState>>(*node->runtime, context->here(), ask);
    for (const AutoCompactionState& table : shards[0]) {
      all.push_back({{"keyspace", table.keyspace}, {"table", table.table}, {"running", table.running}});
    }
  }
  Answer answer;
  answer.json["tables"] = std::move(all);
  co_return answer;
}

Task<Answer> set_auto_compaction(AdminContextPtr context, Parameters parameters) {
  if (!parameters.has("enabled")) return refuse(400, "enabled is true or false");
  const bool enabled = parameters.is_true("enabled");
  TableWork work = [enabled](Maintenance& maintenance, const TableSelection& tables) {
    maintenance.set_auto_compaction(tables, enabled);
    return Task<Status>(Status());
  };
  return on_named_tables(std::move(context), std::move(parameters), std::move(work), 400);
}

}  // namespace cassandra_like::admin
