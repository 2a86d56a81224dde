// The `compaction` parameter of a table, {'class': …, option: value, …}: the one place where its options are read and
// checked (CompactionParams, AbstractCompactionStrategy.validateOptions and each strategy's own).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/schema.h"

namespace cassandra_like {

struct SizeTieredOptions {
  uint64_t min_sstable_size = 50 << 20;  // bytes: smaller ones are all of one size
  double bucket_low = 0.5;
  double bucket_high = 1.5;
};

struct LeveledOptions {
  int32_t sstable_size_in_mb = 160;
  int32_t fanout_size = 10;
  bool single_sstable_uplevel = false;
};

struct TimeWindowOptions {
  enum class Resolution : uint8_t { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds };
  Resolution timestamp_resolution = Resolution::kMicroseconds;
  int64_t window_seconds = 86400;
  int64_t expired_check_millis = 600'000;
};

struct UnifiedOptions {
  enum class Overlap : uint8_t { kNone, kSingle, kTransitive };
  std::vector<int32_t> scaling_parameters{2};  // W of each level, the last for all above: T4 is 2, L4 -2, N 0
  int64_t target_sstable_size = int64_t{1} << 30;
  int64_t min_sstable_size = 100 << 20;  // 0: none
  int64_t flush_size_override = 0;       // 0: none
  int32_t base_shard_count = 4;
  double sstable_growth = 0.333;
  int32_t max_sstables_to_compact = std::numeric_limits<int32_t>::max();
  int64_t expired_check_millis = 600'000;
  Overlap overlap = Overlap::kTransitive;
};

struct CompactionOptions {
  enum class Strategy : uint8_t { kSizeTiered, kLeveled, kTimeWindow, kUnified };
  enum class OverlappingTombstones : uint8_t { kNone, kRow, kCell };
  Strategy strategy = Strategy::kSizeTiered;
  bool enabled = true;
  int32_t min_threshold = 4;
  int32_t max_threshold = 32;
  float tombstone_threshold = 0.2F;
  int64_t tombstone_compaction_interval = 86400;  // seconds
  bool unchecked_tombstone_compaction = false;
  bool tombstone_compactions = true;  // TWCS: only when one of the three options above is given
  bool only_purge_repaired_tombstones = false;
  bool log_all = false;
  OverlappingTombstones provide_overlapping_tombstones = OverlappingTombstones::kNone;
  SizeTieredOptions size_tiered;  // of SizeTiered, Leveled (in L0) and TimeWindow
  LeveledOptions leveled;
  TimeWindowOptions time_window;
  UnifiedOptions unified;
};

// `map` in the form that the schema keeps: full class name, thresholds. kConfigError where the class is missing or
// unknown.
Result<StringPairs> normal_compaction(const StringPairs& map);
// The map is in normal form. kConfigError with Cassandra's words for the first option that is wrong or unknown.
Result<CompactionOptions> parse_compaction_options(const StringPairs& compaction);

}  // namespace cassandra_like
