// A table under each strategy: after every flush compaction ends, a read looks at a bounded number of SSTables, and a row is
// rewritten as often as the strategy's theory says. Each test prints its figures.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/strategy/simulated_table.h"

namespace cassandra_like::strategy_test {
namespace {

constexpr size_t kFlushes = 300;
constexpr size_t kRowsPerFlush = 500;
constexpr size_t kEndless = 10'000;  // tasks

struct Outcome {
  size_t overlap = 0;  // the most that a read looked at once compaction was quiet
  size_t tasks = 0;
  double write_amplification = 0;
  double space_amplification = 0;
};

// 300 flushes of 5 MB into a table of at most 200 MB.
Outcome load(SimulatedTable& table, const std::string& name, size_t flushes = kFlushes, int64_t pause_millis = 1000) {
  std::mt19937_64 random(7);
  Outcome outcome;
  for (size_t i = 0; i < flushes; ++i) {
    table.flush(random, kRowsPerFlush, pause_millis);
    const size_t tasks = table.compact(kEndless);
    EXPECT_LT(tasks, kEndless) << name << " does not end after flush " << i;
    outcome.tasks += tasks;
    outcome.overlap = std::max(outcome.overlap, table.most_overlap());
  }
  EXPECT_EQ(table.compact(kEndless), 0u) << name;
  EXPECT_TRUE(table.has_what_was_written()) << name;
  outcome.write_amplification = table.write_amplification();
  const uint64_t bytes = table.live_bytes();
  table.compact_all();
  outcome.space_amplification =
      static_cast<double>(bytes) / static_cast<double>(std::max<uint64_t>(table.live_bytes(), 1));
  std::printf("%-34s a read looks at %2zu at most, written %4.1f times, space %.2f times, %zu tasks\n", name.c_str(),
              outcome.overlap, outcome.write_amplification, outcome.space_amplification, outcome.tasks);
  return outcome;
}

SimulatedTable::Setup setup(StringPairs compaction) {
  SimulatedTable::Setup result;
  result.compaction = std::move(compaction);
  return result;
}

// log base `fan` of how much larger the table is than a flush: 200 MB to 5 MB.
double levels(double fan) { return std::log(40) / std::log(fan); }

TEST(Simulation, SizeTieredKeepsThreeOfASize) {
  SimulatedTable table(setup({{"class", "SizeTieredCompactionStrategy"}, {"min_sstable_size", "1000"}}));
  const Outcome outcome = load(table, "SizeTiered");
  // Three SSTables wait for the fourth at each size; sizes in between make some more of them.
  EXPECT_LE(static_cast<double>(outcome.overlap), 3 * std::ceil(levels(4)) + 6);
  EXPECT_LE(outcome.write_amplification, 1 + std::ceil(levels(4)) + 1);
}

TEST(Simulation, LeveledReadsOneSSTableALevel) {
  for (const char* uplevel : {"false", "true"}) {
    SimulatedTable table(setup({{"class", "LeveledCompactionStrategy"},
                                {"sstable_size_in_mb", "2"},
                                {"fanout_size", "4"},
                                {"single_sstable_uplevel", uplevel}}));
    const Outcome outcome = load(table, std::string("Leveled, uplevel ") + uplevel);
    // Level 0 has a few, then one for each level; 200 MB need four levels of 2 MB times powers of 4.
    EXPECT_LE(outcome.overlap, 3u + 4u);
    EXPECT_LE(outcome.write_amplification, 1 + 4 * (4 + 1.5));
    EXPECT_TRUE(table.levels_are_disjoint());
    // The last level has just begun: the levels below hold nearly as much.
    EXPECT_LE(outcome.space_amplification, 2);
  }
}

struct UnifiedCase {
  const char* scaling;
  double fan;
  size_t per_level;  // SSTables that a level keeps: its threshold less one
  double rewrites;   // for each level
};

void check_unified(const UnifiedCase& c, const OwnedRanges& ranges, const std::string& name) {
  SimulatedTable::Setup unified = setup({{"class", "UnifiedCompactionStrategy"},
                                         {"scaling_parameters", c.scaling},
                                         {"target_sstable_size", "8MiB"},
                                         {"min_sstable_size", "1MiB"},
                                         {"sstable_growth", "0"}});
  unified.ranges = ranges;
  SimulatedTable table(unified);
  const Outcome outcome = load(table, name + c.scaling);
  const double all = std::ceil(levels(c.fan)) + 1;
  EXPECT_LE(static_cast<double>(outcome.overlap), static_cast<double>(c.per_level) * all) << c.scaling;
  EXPECT_LE(outcome.write_amplification, 1 + c.rewrites * all) << c.scaling;
  // 8 MiB times the root of 2, and what a share has more than another.
  EXPECT_LE(table.largest_sstable(), uint64_t{13} << 20) << c.scaling;
}

TEST(Simulation, UnifiedKeepsItsScalingParametersPromise) {
  for (const UnifiedCase& c : {UnifiedCase{"T4", 4, 3, 1}, UnifiedCase{"T8", 8, 7, 1}, UnifiedCase{"N", 2, 1, 1},
                               UnifiedCase{"L4", 4, 1, 3}, UnifiedCase{"L10", 10, 1, 9}}) {
    check_unified(c, OwnedRanges(), "Unified ");
  }
}

// A shard's slivers make the same levels as a whole ring.
TEST(Simulation, UnifiedKeepsItsPromiseOnAShard) {
  const OwnedRanges shard = OwnedRanges::of_shard(std::vector<OwnedRange>{OwnedRange{}}, 2, 5);
  for (const UnifiedCase& c : {UnifiedCase{"T4", 4, 3, 1}, UnifiedCase{"L4", 4, 1, 3}}) {
    check_unified(c, shard, "Unified, shard 2 of 5, ");
  }
}

// A window of a minute, rows that live ten: each window ends as one SSTable, and goes unread.
TEST(Simulation, TimeWindowsGoUnreadWhenTheyHaveExpired) {
  SimulatedTable::Setup windows = setup({{"class", "TimeWindowCompactionStrategy"},
                                         {"compaction_window_unit", "MINUTES"},
                                         {"compaction_window_size", "1"},
                                         {"expired_sstable_check_frequency_seconds", "1"},
                                         {"min_sstable_size", "1000"}});
  windows.ttl_millis = 600'000;
  SimulatedTable table(windows);
  std::mt19937_64 random(7);
  for (int i = 0; i < 400; ++i) {
    table.flush(random, 100, 6'000);
    ASSERT_LT(table.compact(kEndless), kEndless);
    // Ten windows of one SSTable, the one under way by size, and one that just ended.
    EXPECT_LE(table.sstables(), 10u + 6 + 2) << i;
    if (i % 20 == 0) {
      ASSERT_TRUE(table.has_what_was_written());
    }
  }
  EXPECT_GE(table.dropped_unread(), 25u);
  std::printf("%-34s %zu SSTables, %zu dropped unread, written %.1f times\n", "TimeWindow", table.sstables(),
              table.dropped_unread(), table.write_amplification());
  EXPECT_LE(table.write_amplification(), 4);
  table.pass(3'600'000);
  EXPECT_LE(table.compact(kEndless), 2u);
  EXPECT_EQ(table.sstables(), 0u);
}

// Tombstones that stay must not make an SSTable be compacted for ever: once in tombstone_compaction_interval.
TEST(Simulation, TombstonesThatStayAreTriedOnceADay) {
  for (const char* strategy : {"SizeTieredCompactionStrategy", "LeveledCompactionStrategy"}) {
    SimulatedTable table(setup({{"class", strategy}}));
    std::mt19937_64 random(7);
    table.flush(random, 500, 1000);
    table.pretend_droppable(0.9);
    for (int hour = 0; hour < 72; ++hour) {
      table.pass(3'600'000);
      EXPECT_LE(table.compact(kEndless), 1u) << strategy;
    }
    EXPECT_EQ(table.tombstone_tasks(), 3u) << strategy;
  }
}

// Every strategy takes over a table that another one left, and ends quiet.
TEST(Simulation, OneThousandSmallFlushesAtOnceAreWorkedOff) {
  for (const char* strategy : {"SizeTieredCompactionStrategy", "LeveledCompactionStrategy", "UnifiedCompactionStrategy",
                               "TimeWindowCompactionStrategy"}) {
    SimulatedTable table(setup({{"class", strategy}}));
    std::mt19937_64 random(7);
    for (int i = 0; i < 1000; ++i) table.flush(random, 20, 10);
    const uint32_t estimated = table.estimated_tasks();
    const size_t tasks = table.compact(kEndless);
    EXPECT_LT(tasks, kEndless) << strategy;
    EXPECT_GT(estimated, 0u) << strategy;
    EXPECT_LE(table.most_overlap(), 8u) << strategy;
    EXPECT_TRUE(table.has_what_was_written()) << strategy;
    std::printf("%-34s %u tasks estimated, %zu were, %zu SSTables left\n", strategy, estimated, tasks,
                table.sstables());
  }
}

}  // namespace
}  // namespace cassandra_like::strategy_test
