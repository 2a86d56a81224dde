// The least of what the inputs have.
#include "storage/compaction/rewrite_options.h"

#include <algorithm>

namespace cassandra_like {

namespace {

// The length of a key, a live deletion and the end. A damaged index may say that there are more partitions than the data has room
// for; filters of their size would take all memory.
constexpr uint64_t kSmallestPartition = 4;

}  // namespace

SSTableWriterOptions rewrite_options(const TablePtr& table, std::span<const SSTablePtr> inputs) {
  SSTableWriterOptions options;
  options.stats.min_timestamp = std::numeric_limits<int64_t>::max();
  options.stats.min_local_deletion_time = std::numeric_limits<int64_t>::max();
  options.stats.min_ttl = std::numeric_limits<int32_t>::max();
  options.estimated_partitions = 0;
  options.repaired_at = inputs[0]->info().repaired_at;
  options.pending_repair = inputs[0]->info().pending_repair;
  for (const SSTablePtr& input : inputs) {
    const SSTableInfo& info = input->info();
    options.stats.min_timestamp = std::min(options.stats.min_timestamp, info.min_timestamp);
    options.stats.min_local_deletion_time =
        std::min(options.stats.min_local_deletion_time, info.min_local_deletion_time);
    options.stats.min_ttl = std::min(options.stats.min_ttl, info.min_ttl);
    options.estimated_partitions += std::min(info.partitions, info.uncompressed_bytes / kSmallestPartition + 1);
    options.repaired_at = std::min(options.repaired_at, info.repaired_at);
    if (info.pending_repair != options.pending_repair) options.pending_repair.reset();
  }
  // EncodingStats.merge does the same: the epochs stand for values that do not occur.
  if (options.stats.min_local_deletion_time == kNoDeletionTime) {
    options.stats.min_local_deletion_time = EncodingStats::kDeletionTimeEpoch;
  }
  options.static_columns = table->static_columns;
  options.regular_columns = table->regular_columns;
  return options;
}

}  // namespace cassandra_like
