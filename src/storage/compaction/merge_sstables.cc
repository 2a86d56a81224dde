// One pass over all inputs.
#include "storage/compaction/merge_sstables.h"

#include <algorithm>

#include "read/merge.h"

namespace cassandra_like {

namespace {

constexpr int64_t kMergeSliceNanos = 1'000'000;

SSTableWriterOptions writer_options_for(const SSTableMerge& merge) {
  SSTableWriterOptions options;
  options.host_id = merge.host_id;
  options.row_index_granularity = merge.row_index_granularity;
  options.stats.min_timestamp = std::numeric_limits<int64_t>::max();
  options.stats.min_local_deletion_time = std::numeric_limits<int64_t>::max();
  options.stats.min_ttl = std::numeric_limits<int32_t>::max();
  options.estimated_partitions = 0;
  for (const SSTablePtr& input : merge.inputs) {
    const SSTableInfo& info = input->info();
    options.stats.min_timestamp = std::min(options.stats.min_timestamp, info.min_timestamp);
    options.stats.min_local_deletion_time =
        std::min(options.stats.min_local_deletion_time, info.min_local_deletion_time);
    options.stats.min_ttl = std::min(options.stats.min_ttl, info.min_ttl);
    options.estimated_partitions += info.partitions;
    for (const auto& interval : info.commit_log_intervals) options.commit_log_intervals.push_back(interval);
  }
  // EncodingStats.merge does the same: the epochs stand for values that do not occur.
  if (options.stats.min_local_deletion_time == kNoDeletionTime) {
    options.stats.min_local_deletion_time = EncodingStats::kDeletionTimeEpoch;
  }
  options.static_columns = merge.table->static_columns;
  options.regular_columns = merge.table->regular_columns;
  return options;
}

class SSTableMerger {
 public:
  SSTableMerger(ShardRuntime& runtime, const Gate& gate) : runtime_(runtime), gate_(gate) {}

  Task<Status> write(MergedScanner* merged, SSTableWriter* writer);
  SSTableMergeResult result;

 private:
  Task<void> pause_if_due() {
    if (runtime_.clock.monotonic_nanos() < slice_end_) return {};
    slice_end_ = runtime_.clock.monotonic_nanos() + kMergeSliceNanos;
    return runtime_.executor.yield();
  }

  ShardRuntime& runtime_;
  const Gate& gate_;
  int64_t slice_end_ = 0;
};

Task<Status> SSTableMerger::write(MergedScanner* merged, SSTableWriter* writer) {
  while (true) {
    CO_ASSIGN_OR_RETURN(PartitionReader * partition, merged->next());
    if (partition == nullptr) co_return Status();
    ++result.merged_partitions[static_cast<int32_t>(merged->sources_of_partition())];
    CO_ASSIGN_OR_RETURN(const Unfiltered* at, partition->next());
    if (at == nullptr && partition->static_row().is_empty() && partition->partition_deletion().is_live()) continue;
    CO_TRY(writer->begin_partition(partition->key(), partition->partition_deletion(), partition->static_row()));
    while (at != nullptr) {
      CO_TRY(writer->append(*at));
      co_await pause_if_due();
      CO_ASSIGN_OR_RETURN(at, partition->next());
    }
    CO_TRY(writer->end_partition());
    result.wrote = true;
    if (gate_.closed()) co_return Error(ErrorCode::kClosed, "The node is stopping");
    co_await pause_if_due();
  }
}

}  // namespace

Task<Result<SSTableMergeResult>> merge_sstables(ShardRuntime* runtime, const Gate* gate, const SSTableMerge* merge) {
  std::vector<std::unique_ptr<PartitionScanner>> scanners;
  for (const SSTablePtr& input : merge->inputs) {
    CO_ASSIGN_OR_RETURN(auto scanner, input->scan(merge->table, {}, {}));
    scanners.push_back(std::move(scanner));
  }
  MergedScanner merged(std::move(scanners), false);
  SSTableWriterOptions options = writer_options_for(*merge);
  CO_ASSIGN_OR_RETURN(auto writer, SSTableWriter::create(runtime->disk, merge->output, merge->table, options));
  SSTableMerger merging(*runtime, *gate);
  Status written = co_await merging.write(&merged, writer.get());
  if (!written.ok()) co_return std::move(written.error());
  if (merging.result.wrote) {
    Result<SSTableInfo> info = co_await writer->finish();
    if (!info.ok()) co_return std::move(info.error());
  }
  co_return std::move(merging.result);
}

}  // namespace cassandra_like
