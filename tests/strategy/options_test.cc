// Options of every strategy are refused with Cassandra's words, and read as Cassandra's strategies read them.
#include <gtest/gtest.h>

#include "model/values.h"
#include "tests/strategy/recorded.h"

namespace cassandra_like::strategy_test {
namespace {

std::string text_of(bool value) { return value ? "true" : "false"; }

std::string size_tiered_text(const SizeTieredOptions& o) {
  return std::to_string(o.min_sstable_size) + " " + double_to_text(o.bucket_low) + " " + double_to_text(o.bucket_high);
}

std::string unified_text(const UnifiedOptions& o) {
  constexpr const char* kOverlaps[] = {"NONE", "SINGLE", "TRANSITIVE"};
  std::string scaling;
  for (int32_t w : o.scaling_parameters) scaling += (scaling.empty() ? "" : ",") + std::to_string(w);
  return std::to_string(o.min_sstable_size) + " " + std::to_string(o.flush_size_override) + " " +
         std::to_string(o.max_sstables_to_compact) + " " + std::to_string(o.expired_check_millis) + " " +
         std::to_string(o.base_shard_count) + " " + std::to_string(o.target_sstable_size) + " " +
         double_to_text(o.sstable_growth) + " " + kOverlaps[static_cast<size_t>(o.overlap)] + " " + scaling;
}

// The oracle prints the options of a strategy so.
std::string describe(const CompactionOptions& o) {
  constexpr const char* kTombstones[] = {"NONE", "ROW", "CELL"};
  constexpr const char* kResolutions[] = {"SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS"};
  std::string text = text_of(o.enabled) + " " + std::to_string(o.min_threshold) + " " +
                     std::to_string(o.max_threshold) + " " + float_to_text(o.tombstone_threshold) + " " +
                     std::to_string(o.tombstone_compaction_interval) + " " + text_of(o.unchecked_tombstone_compaction) +
                     " " + text_of(!o.tombstone_compactions) + " " + text_of(o.log_all) + " " +
                     kTombstones[static_cast<size_t>(o.provide_overlapping_tombstones)] + " ";
  using Strategy = CompactionOptions::Strategy;
  if (o.strategy == Strategy::kUnified) return text + unified_text(o.unified);
  if (o.strategy == Strategy::kLeveled) {
    text += std::to_string(int64_t{o.leveled.sstable_size_in_mb} << 20) + " " + std::to_string(o.leveled.fanout_size) +
            " " + text_of(o.leveled.single_sstable_uplevel) + " ";
  }
  if (o.strategy == Strategy::kTimeWindow) {
    text += std::to_string(o.time_window.window_seconds) + " " +
            kResolutions[static_cast<size_t>(o.time_window.timestamp_resolution)] + " " +
            std::to_string(o.time_window.expired_check_millis) + " ";
  }
  return text + size_tiered_text(o.size_tiered);
}

// "ok" and what was read, or "error" and the message.
std::string check(const StringPairs& map) {
  auto normal = normal_compaction(map);
  if (!normal.ok()) return "error\t" + normal.error().message();
  auto options = parse_compaction_options(*normal);
  if (!options.ok()) return "error\t" + options.error().message();
  return "ok\t" + describe(*options);
}

TEST(CompactionOptions, AreReadAndRefusedAsCassandraDoes) {
  size_t compared = 0;
  for (const Fields& line : recorded_lines("options.txt")) {
    const std::string ours = check(recorded_map(line[0]));
    // Where Cassandra takes the options and then cannot make the strategy, or fails without an error of its own.
    if (line[1] == "exception" || line[2] == "fails")
      EXPECT_EQ(split(ours, '\t')[0], "error") << line[0];
    else
      EXPECT_EQ(ours, line[1] + "\t" + line[2]) << line[0];
    ++compared;
  }
  EXPECT_GT(compared, 1000u);
}

TEST(CompactionOptions, ClassIsNeededAndMustBeKnown) {
  EXPECT_EQ(check({{"min_threshold", "4"}}), "error\tMissing sub-option 'class' for the 'compaction' option");
  EXPECT_EQ(check({{"class", "NoSuchStrategy"}}),
            "error\tUnable to find compaction strategy class 'org.apache.cassandra.db.compaction.NoSuchStrategy'");
  EXPECT_EQ(check({{"class", "a.b.SizeTieredCompactionStrategy"}}),
            "error\tUnable to find compaction strategy class 'a.b.SizeTieredCompactionStrategy'");
}

// Cassandra takes it, and its strategy fails at the first compaction.
TEST(CompactionOptions, ScalingParametersOfCommasAloneAreRefused) {
  EXPECT_EQ(check({{"class", "UnifiedCompactionStrategy"}, {"scaling_parameters", ",,"}}),
            "error\tScaling parameter ,, must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+");
}

}  // namespace
}  // namespace cassandra_like::strategy_test
