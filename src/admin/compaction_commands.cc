// Compactions under way and what limits them: GET and POST /v1/compactions, POST /v1/compactions/stop.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "admin/api.h"
#include "admin/statistics.h"
#include "runtime/gather.h"

namespace cassandra_like::admin {

namespace {

double per_second(uint64_t count, int64_t millis) {
  return millis <= 0 ? 0 : 1000 * static_cast<double>(count) / static_cast<double>(millis);
}

Json running_json(const RunningCompaction& compaction) {
  return {{"id", compaction.id.to_string()},
          {"type", operation_text(compaction.operation)},
          {"keyspace", compaction.table->keyspace},
          {"table", compaction.table->name},
          {"completed", compaction.completed},
          {"total", compaction.total},
          {"total_compressed", compaction.total_compressed},
          {"sstables", compaction.sstables},
          {"unit", "bytes"},
          {"target_directory", compaction.directory}};
}

// Tasks that a table still needs, and those of it that run (CompactionMetrics.pendingTasksByTableName): the sums of all
// shards, in the order of the first one.
Task<Json> pending_json(AdminContextPtr context, const std::vector<RunningCompaction>* running) {
  Json pending = Json::array();
  if (context->stopped) co_return pending;
  auto* node = &context->node;
  auto ask = [node](unsigned shard) {
    return Task<std::vector<AutoCompactionState>>(node->replicas[shard]->maintenance().auto_compaction({}));
  };
  auto shards = co_await gather<std::vector<AutoCompactionState>>(*node->runtime, context->here(), ask);
  for (const AutoCompactionState& table : shards[0]) {
    auto tasks = static_cast<uint64_t>(std::count_if(running->begin(), running->end(), [&](const auto& compaction) {
      return compaction.table->keyspace == table.keyspace && compaction.table->name == table.table;
    }));
    for (const auto& shard : shards) {
      for (const AutoCompactionState& other : shard) {
        if (other.keyspace == table.keyspace && other.table == table.table) tasks += other.pending_tasks;
      }
    }
    if (tasks > 0) pending.push_back({{"keyspace", table.keyspace}, {"table", table.table}, {"tasks", tasks}});
  }
  co_return pending;
}

// Calls work on the engine of each shard.
template <class Work>
Task<size_t> on_all_engines(AdminContextPtr context, Work work) {
  if (context->stopped) co_return 0;
  auto* node = &context->node;
  auto run = [node, work](unsigned shard) { return Task<size_t>(work(node->replicas[shard]->maintenance())); };
  auto counts = co_await gather<size_t>(*node->runtime, context->here(), run);
  size_t total = 0;
  for (size_t count : counts) total += count;
  co_return total;
}

std::optional<int64_t> whole(const std::string& text) {
  int64_t value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr std::array kOwn{CompactionOperation::kCompaction, CompactionOperation::kMajor,
                          CompactionOperation::kTombstones, CompactionOperation::kRelocate,
                          CompactionOperation::kUpgrade,    CompactionOperation::kGarbageCollect,
                          CompactionOperation::kVerify,     CompactionOperation::kCleanup,
                          CompactionOperation::kScrub,      CompactionOperation::kIndexBuild};

// The other members of Cassandra's OperationType. This node runs none of them as a compaction, so there is none to stop.
constexpr std::array kOthers{
    "VALIDATION", "ANTICOMPACTION", "VIEW_BUILD",     "INDEX_SUMMARY",      "P0",     "FLUSH", "WRITE",
    "STREAM",     "KEY_CACHE_SAVE", "ROW_CACHE_SAVE", "COUNTER_CACHE_SAVE", "UNKNOWN"};

Task<Answer> stop_where(AdminContextPtr context, std::function<bool(const RunningCompaction&)> which) {
  auto stop = [which](Maintenance& maintenance) { return maintenance.stop_compactions(which); };
  Answer answer;
  answer.json["stopped"] = co_await on_all_engines(context, stop);
  co_return answer;
}

}  // namespace

Task<Answer> compactions(AdminContextPtr context, Parameters) {
  EngineStatistics engines = co_await sum_engines(context);
  const std::vector<RunningCompaction> all = co_await running_compactions(context);
  Json pending = co_await pending_json(context, &all);
  Json running = Json::array();
  for (const RunningCompaction& compaction : all) running.push_back(running_json(compaction));
  Answer answer;
  answer.json = {{"concurrent_compactors", engines.concurrent_compactors},
                 {"pending", pending},
                 {"completed", engines.compactions_completed},
                 {"bytes_compacted", engines.bytes_compacted},
                 {"compressed_bytes_compacted", engines.compressed_bytes_compacted},
                 {"aborted", engines.compactions_aborted},
                 {"reduced", engines.compactions_reduced},
                 {"sstables_dropped", engines.sstables_left_out},
                 {"fifteen_minute_rate_per_second", engines.compactions_per_second},
                 {"mean_rate_per_second", per_second(engines.compactions_completed, context->uptime_millis())},
                 {"throughput_bytes_per_second", engines.compaction_throughput},
                 {"running", running}};
  co_return answer;
}

// DatabaseDescriptor.setCompactionThroughputMebibytesPerSec
std::optional<Answer> check_throughput(std::optional<int64_t> mib_per_second) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (!mib_per_second) return refuse(400, "throughput_mib_per_second is a whole number from 0 on");
  if (*mib_per_second < 0) return refuse(400, "Invalid data rate: value must be non-negative");
  if (*mib_per_second < kMost) return std::nullopt;
  return refuse(400, fmt::format("compaction_throughput: {} is too large; it should be less than {} in MiB/s",
                                 *mib_per_second, kMost));
}

// Changes what is given, once all of it is understood.
Task<Answer> set_compactions(AdminContextPtr context, Parameters parameters) {
  std::optional<int64_t> throughput, compactors;
  if (parameters.has("throughput_mib_per_second")) {
    throughput = whole(parameters.get("throughput_mib_per_second"));
    if (auto refusal = check_throughput(throughput)) co_return std::move(*refusal);
  }
  if (parameters.has("concurrent_compactors")) {
    compactors = whole(parameters.get("concurrent_compactors"));
    if (!compactors || *compactors <= 0 || *compactors > std::numeric_limits<int32_t>::max()) {
      co_return refuse(400, "concurrent_compactors should be great than 0.");
    }
  }
  auto change = [throughput, compactors](Maintenance& maintenance) -> size_t {
    if (throughput) maintenance.set_compaction_throughput(static_cast<uint64_t>(*throughput) << 20);
    if (compactors) maintenance.set_concurrent_compactors(static_cast<unsigned>(*compactors));
    return 0;
  };
  co_await on_all_engines(context, change);
  co_return Answer{};
}

// CompactionManager.stopCompaction and stopCompactionById. The type is UNKNOWN where none is given.
Task<Answer> stop_compactions(AdminContextPtr context, Parameters parameters) {
  if (parameters.has("id")) {
    const std::string& id = parameters.get("id");
    return stop_where(std::move(context), [id](const RunningCompaction& c) { return c.id.to_string() == id; });
  }
  const std::string& type = parameters.get("type");
  const bool is_known = std::find(kOthers.begin(), kOthers.end(), type) != kOthers.end() ||
                        std::any_of(kOwn.begin(), kOwn.end(),
                                    [&type](CompactionOperation own) { return operation_constant(own) == type; });
  if (!is_known) return refuse(400, "No enum constant org.apache.cassandra.db.compaction.OperationType." + type);
  return stop_where(std::move(context),
                    [type](const RunningCompaction& c) { return operation_constant(c.operation) == type; });
}

}  // namespace cassandra_like::admin
