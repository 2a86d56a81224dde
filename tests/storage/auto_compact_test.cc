// Automatic compaction: which tables are compacted when, what ends a compaction, and what a failure leaves.
#include <algorithm>

#include <fmt/format.h>

#include "fixture.h"
#include "storage/compaction/strategy/options.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like::storage_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TablePtr table_with(StringPairs compaction, bool compressed = true) {
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  table->params.gc_grace_seconds = 10;
  if (!compressed) table->params.compression = {{"enabled", "false"}};
  table->params.compaction = normal_compaction(compaction).value();
  return table;
}

const StringPairs kSizeTiered{{"class", "SizeTieredCompactionStrategy"}};

// A node that compacts table t, and keeps what record_compaction was told.
class Compacting {
 public:
  explicit Compacting(StringPairs compaction = kSizeTiered, EngineOptions options = {}, unsigned shards = 1)
      : node(1, shards, with_hooks(std::move(options)), {table_with(std::move(compaction), false), make_table("kv")}) {
    node.machine().shift_wall_clock(seconds(kNow) -
                                    std::chrono::microseconds(node.runtime().shard(0).clock.wall_micros()));
  }

  Maintenance& maintenance() { return node.engine().maintenance(); }
  std::vector<SSTableInfo> sstables() { return maintenance().sstables(node.table("t")->id); }
  // Rows of `keys` keys in an SSTable, `bytes` each that do not compress.
  void write(int keys = 3, size_t bytes = 10) {
    ++timestamp;
    for (int key = 0; key < keys; ++key) {
      std::string value;
      while (value.size() < bytes) value += std::to_string(node.world().random().next());
      Update row(node.table("t"), fmt::format("key{}", key));
      ASSERT_TRUE(node.apply(row.at(timestamp).row(0).cell("v", value)).ok());
    }
    ASSERT_TRUE(node.run(maintenance().flush({"ks", "t"})).ok());
  }
  // The commit log has nothing of what was written until now.
  void leave_segments() {
    for (int i = 0; i < 40; ++i) {
      Update filler(node.table("kv"), "filler");
      ASSERT_TRUE(node.apply(filler.row(std::vector<int32_t>{}).cell("v1", std::string(400, 'x'))).ok());
    }
    ASSERT_TRUE(node.run(maintenance().flush({"ks", "kv"})).ok());
  }
  bool wait_for_sstables(size_t count, Duration limit = seconds(20)) {
    return node.world().run_until([&] { return sstables().size() == count; }, limit);
  }
  bool wait_for_compaction(Duration limit = seconds(20)) {
    return node.world().run_until([&] { return !maintenance().running_compactions().empty(); }, limit);
  }
  bool wait_for_quiet(Duration limit) {
    return node.world().run_until([&] { return maintenance().running_compactions().empty(); }, limit);
  }
  // A byte in the middle of its data is another one.
  void restart_with_damage(const SSTableDescriptor& damaged) {
    node.kill();
    Disk& disk = node.machine().boot(1).shard(0).disk;
    const std::string path = damaged.file(components::kData);
    Bytes content(disk.open(path).value()->size(), '\0');
    ASSERT_TRUE(disk.open(path).value()->read(0, content).ok());
    content[content.size() / 2] = static_cast<char>(~content[content.size() / 2]);
    ASSERT_TRUE(disk.remove(path).ok());
    ASSERT_TRUE(disk.create(path).value()->append(content).ok());
    node.machine().shut_down();
    ASSERT_TRUE(node.boot()) << node.error();
  }
  // Files of SSTables that are not live would be found.
  size_t sstables_on_disk() {
    return find_sstables(node.disk(), "/data/ks/" + node.table("t")->directory_name())->size();
  }

  std::vector<CompactionRecord> records;
  int64_t timestamp = 0;
  Node node;

 private:
  EngineOptions with_hooks(EngineOptions options) {
    options.auto_compaction = true;
    options.commitlog_segment_bytes = 1 << 20;
    options.record_compaction = [this](CompactionRecord record) -> Task<Status> {
      records.push_back(std::move(record));
      return Status();
    };
    return options;
  }
};

EngineOptions slow() {
  EngineOptions options;
  options.compaction_throughput = 100'000;
  return options;
}

TEST(AutoCompact, FourFlushesOfOneSizeBecomeOneSSTable) {
  Compacting c;
  for (int i = 0; i < 3; ++i) c.write();
  c.node.world().run_for(seconds(5));
  EXPECT_EQ(c.sstables().size(), 3u);
  const Lines rows = c.node.scan("t");
  c.write();
  EXPECT_TRUE(c.wait_for_sstables(1));
  EXPECT_EQ(c.sstables_on_disk(), 1u);
  EXPECT_EQ(c.node.scan("t").size(), rows.size());
  c.node.world().run_for(seconds(1));
  ASSERT_EQ(c.records.size(), 1u);
  EXPECT_EQ(c.records[0].merged_partitions, (std::map<int32_t, int64_t>{{4, 3}}));
}

TEST(AutoCompact, ANodeThatStartsWithoutItWaitsUntilItIsSwitchedOn) {
  Node node(1, 1, {}, {table_with(kSizeTiered)});
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(node.apply(Update(node.table("t"), "a").at(i).row(1).live()).ok());
    node.flush();
  }
  node.world().run_for(minutes(3));
  Maintenance& maintenance = node.engine().maintenance();
  EXPECT_EQ(maintenance.sstables(node.table("t")->id).size(), 5u);
  EXPECT_FALSE(maintenance.auto_compaction({"ks", "t"})[0].running);
  maintenance.set_auto_compaction({"ks", "t"}, true);
  EXPECT_TRUE(maintenance.auto_compaction({"ks", "t"})[0].running);
  node.world().run_for(minutes(1));
  EXPECT_EQ(maintenance.sstables(node.table("t")->id).size(), 1u);
}

TEST(AutoCompact, UnifiedCompactsWhatOverlaps) {
  Compacting c(StringPairs{{"class", "UnifiedCompactionStrategy"}});
  for (int i = 0; i < 4; ++i) c.write();
  EXPECT_TRUE(c.wait_for_sstables(1));
}

TEST(AutoCompact, LevelsAboveTheFirstDoNotOverlap) {
  Compacting c(StringPairs{{"class", "LeveledCompactionStrategy"}, {"sstable_size_in_mb", "1"}});
  for (int i = 0; i < 6; ++i) {
    c.write(600, 2000);
    c.node.world().run_for(seconds(5));
  }
  c.node.world().run_for(minutes(2));
  std::map<int, std::vector<SSTableInfo>> levels;
  for (SSTableInfo& info : c.sstables()) levels[info.level].push_back(std::move(info));
  ASSERT_GT(levels[1].size() + levels[2].size(), 1u);
  for (auto& [level, sstables] : levels) {
    if (level == 0) continue;
    std::sort(sstables.begin(), sstables.end(), [](const SSTableInfo& a, const SSTableInfo& b) {
      return DecoratedKey::of(a.first_key) < DecoratedKey::of(b.first_key);
    });
    for (size_t i = 0; i + 1 < sstables.size(); ++i) {
      EXPECT_LT(DecoratedKey::of(sstables[i].last_key), DecoratedKey::of(sstables[i + 1].first_key));
      EXPECT_LT(sstables[i].data_bytes, 1'200'000u);
    }
  }
  EXPECT_EQ(c.node.scan("t").size(), 1200u);
}

// Ten bits a key: a filter that had room for the keys of all outputs would take memory for nothing.
TEST(AutoCompact, FiltersHaveRoomForTheKeysOfTheirOwnSSTable) {
  Compacting c(StringPairs{{"class", "LeveledCompactionStrategy"}, {"sstable_size_in_mb", "1"}});
  c.write(6000, 1000);
  c.node.world().run_for(minutes(2));
  ASSERT_TRUE(c.node.run(c.maintenance().compact({"ks", "t"})).ok());
  ASSERT_GT(c.sstables().size(), 4u);
  for (const SSTableInfo& info : c.sstables()) {
    const uint64_t filter = c.node.disk().open(info.descriptor.file(components::kFilter)).value()->size();
    const auto keys = static_cast<double>(info.partitions);
    EXPECT_GT(static_cast<double>(filter) * 8 / keys, 9) << info.descriptor.file(components::kFilter);
    EXPECT_LT(static_cast<double>(filter) * 8 / keys, 13) << info.descriptor.file(components::kFilter);
  }
}

// While the commit log holds the rows, the SSTable says that they need no replay.
TEST(AutoCompact, AnExpiredWindowGoesUnreadOnceTheLogIsBehindIt) {
  EngineOptions options;
  options.commitlog_sync = CommitLogSync::kBatch;
  Compacting c(StringPairs{{"class", "TimeWindowCompactionStrategy"}}, options);
  ASSERT_TRUE(c.node.apply(Update(c.node.table("t"), "a").at(5).row(1).cell("v", "x", 5, kNow - 100)).ok());
  c.node.flush();
  c.node.world().run_for(minutes(12));
  EXPECT_EQ(c.sstables().size(), 1u);
  for (int i = 0; i < 70; ++i) c.leave_segments();
  EXPECT_TRUE(c.wait_for_sstables(0, minutes(15)));
  c.node.world().run_for(seconds(1));
  auto of_t = std::find_if(c.records.begin(), c.records.end(), [](const auto& r) { return r.table->name == "t"; });
  ASSERT_NE(of_t, c.records.end());
  EXPECT_EQ(of_t->merged_partitions, (std::map<int32_t, int64_t>{}));
  EXPECT_EQ(of_t->bytes_out, 0u);
  EXPECT_EQ(c.sstables_on_disk(), 0u);
}

TEST(AutoCompact, WhatAMemtableHasOfAnOlderTimeKeepsAnExpiredWindow) {
  Compacting c(StringPairs{{"class", "TimeWindowCompactionStrategy"}});
  ASSERT_TRUE(c.node.apply(Update(c.node.table("t"), "a").at(5).row(1).cell("v", "x", 5, kNow - 100)).ok());
  c.node.flush();
  for (int i = 0; i < 70; ++i) c.leave_segments();
  ASSERT_TRUE(c.node.apply(Update(c.node.table("t"), "a").at(3).row(1).cell("v", "older")).ok());
  c.node.world().run_for(minutes(25));
  EXPECT_EQ(c.sstables().size(), 1u);
  EXPECT_EQ(c.node.read("t", "a"), Lines());
}

TEST(AutoCompact, ATableIsSwitchedOffAndOnByItsParameterAndByTheOperator) {
  StringPairs off = kSizeTiered;
  off["enabled"] = "false";
  Compacting c(off);
  for (int i = 0; i < 4; ++i) c.write();
  c.node.world().run_for(minutes(2));
  EXPECT_EQ(c.sstables().size(), 4u);
  EXPECT_FALSE(c.maintenance().auto_compaction({"ks", "t"})[0].running);
  c.maintenance().set_auto_compaction({"ks", "t"}, true);
  EXPECT_TRUE(c.maintenance().auto_compaction({"ks", "t"})[0].running);
  EXPECT_TRUE(c.wait_for_sstables(1));
  c.maintenance().set_auto_compaction({"ks", "t"}, false);
  for (int i = 0; i < 4; ++i) c.write();
  c.node.world().run_for(minutes(2));
  EXPECT_EQ(c.sstables().size(), 5u);
}

TEST(AutoCompact, TheOperatorsThresholdsOutliveTheParameters) {
  Compacting c;
  auto thresholds = [&c] {
    const AutoCompactionState state = c.maintenance().auto_compaction({"ks", "t"})[0];
    return std::pair(state.min_threshold, state.max_threshold);
  };
  EXPECT_EQ(thresholds(), std::pair(4, 32));
  for (int i = 0; i < 2; ++i) c.write();
  c.node.world().run_for(minutes(2));
  EXPECT_EQ(c.sstables().size(), 2u);
  c.maintenance().set_compaction_thresholds({"ks", "t"}, 2, 8);
  EXPECT_TRUE(c.wait_for_sstables(1));
  StringPairs many = kSizeTiered;
  many["min_threshold"] = "20";
  c.node.set_tables({table_with(many, false), make_table("kv")});
  EXPECT_EQ(thresholds(), std::pair(2, 8));
  EXPECT_EQ(c.maintenance().auto_compaction({"ks", "kv"})[0].min_threshold, 4);
}

TEST(AutoCompact, AlterAsksTheStrategyThatItMakes) {
  StringPairs many = kSizeTiered;
  many["min_threshold"] = "20";
  Compacting c(many);
  for (int i = 0; i < 4; ++i) c.write();
  c.node.world().run_for(minutes(2));
  EXPECT_EQ(c.sstables().size(), 4u);
  c.node.set_tables({table_with(kSizeTiered, false), make_table("kv")});
  EXPECT_TRUE(c.wait_for_sstables(1));
}

TEST(AutoCompact, AStartGoesOnWhereTheNodeEnded) {
  Compacting c(kSizeTiered, slow());
  for (int i = 0; i < 4; ++i) c.write(100, 1000);
  ASSERT_TRUE(c.wait_for_compaction());
  c.node.world().run_for(milliseconds(500));
  ASSERT_EQ(c.sstables().size(), 4u);
  const Lines rows = c.node.scan("t");
  for (int life = 0; life < 2; ++life) {
    c.node.crash();
    ASSERT_TRUE(c.node.boot()) << c.node.error();
    EXPECT_EQ(c.sstables().size(), 4u);
    EXPECT_EQ(c.node.scan("t"), rows);
  }
  EXPECT_TRUE(c.wait_for_sstables(1, minutes(1)));
  EXPECT_EQ(c.sstables_on_disk(), 1u);
  EXPECT_EQ(c.node.scan("t"), rows);
}

TEST(AutoCompact, TheThroughputIsKeptAndMayChange) {
  Compacting c(kSizeTiered, slow());
  for (int i = 0; i < 4; ++i) c.write(100, 1000);  // 400 kB at 100 kB a second
  ASSERT_TRUE(c.wait_for_compaction());
  const int64_t begun = c.node.world().clock().monotonic_nanos();
  c.node.world().run_for(seconds(1));
  std::vector<RunningCompaction> running = c.maintenance().running_compactions();
  ASSERT_EQ(running.size(), 1u);
  EXPECT_EQ(running[0].sstables, 4u);
  EXPECT_EQ(running[0].operation, CompactionOperation::kCompaction);
  EXPECT_EQ(running[0].table->name, "t");
  EXPECT_GT(running[0].total, 400'000u);
  const double share = static_cast<double>(running[0].completed) / static_cast<double>(running[0].total);
  EXPECT_GT(share, 0.1);
  EXPECT_LT(share, 0.6);
  c.node.world().run_for(seconds(1));
  EXPECT_EQ(c.sstables().size(), 4u);
  c.maintenance().set_compaction_throughput(0);
  EXPECT_TRUE(c.wait_for_sstables(1, seconds(1)));
  EXPECT_LT(c.node.world().clock().monotonic_nanos() - begun, 3'200'000'000);
}

TEST(AutoCompact, AStopActsWithinATenthOfASecond) {
  Compacting c(kSizeTiered, slow());
  for (int i = 0; i < 4; ++i) c.write(100, 1000);
  ASSERT_TRUE(c.wait_for_compaction());
  c.node.world().run_for(seconds(1));
  auto is_major = [](const RunningCompaction& r) { return r.operation == CompactionOperation::kMajor; };
  EXPECT_EQ(c.maintenance().stop_compactions(is_major), 0u);
  EXPECT_EQ(c.maintenance().stop_compactions([](const RunningCompaction&) { return true; }), 1u);
  EXPECT_TRUE(c.wait_for_quiet(milliseconds(100)));
  c.node.world().run_for(milliseconds(100));
  EXPECT_EQ(c.sstables().size(), 4u);
  EXPECT_EQ(c.sstables_on_disk(), 4u);
  EXPECT_TRUE(c.wait_for_compaction(minutes(1)));  // by the clock
}

TEST(AutoCompact, TruncateDropAndTheEndOfTheNodeEndACompaction) {
  for (const char* how : {"truncate", "drop", "drain"}) {
    SCOPED_TRACE(how);
    EngineOptions options = slow();
    options.auto_snapshot = false;
    Compacting c(kSizeTiered, options);
    for (int i = 0; i < 4; ++i) c.write(100, 1000);
    ASSERT_TRUE(c.wait_for_compaction());
    c.node.world().run_for(seconds(1));
    const std::string directory = "/data/ks/" + c.node.table("t")->directory_name();
    const int64_t begun = c.node.world().clock().monotonic_nanos();
    const bool drains = std::string(how) == "drain";
    if (drains) {
      ASSERT_TRUE(c.node.run(c.node.engine().drain()).ok());
    } else if (std::string(how) == "drop") {
      c.node.set_tables({make_table("kv")});
    } else {
      ASSERT_TRUE(c.node.truncate(c.node.table("t")).ok());
    }
    EXPECT_LT(c.node.world().clock().monotonic_nanos() - begun, 300'000'000);
    EXPECT_TRUE(c.maintenance().running_compactions().empty());
    EXPECT_EQ(find_sstables(c.node.disk(), directory)->size(), drains ? 4u : 0u);
    if (!drains) c.node.world().run_for(minutes(2));
    EXPECT_EQ(find_sstables(c.node.disk(), directory)->size(), drains ? 4u : 0u);
  }
}

TEST(AutoCompact, AMajorCompactionTakesTheTableFromAnAutomaticOne) {
  Compacting c(kSizeTiered, slow());
  for (int i = 0; i < 4; ++i) c.write(100, 1000);
  ASSERT_TRUE(c.wait_for_compaction());
  c.node.world().run_for(seconds(1));
  c.maintenance().set_compaction_throughput(0);
  ASSERT_TRUE(c.node.run(c.maintenance().compact({"ks", "t"})).ok());
  EXPECT_EQ(c.sstables().size(), 1u);
  ASSERT_EQ(c.records.size(), 1u);
  EXPECT_EQ(c.sstables_on_disk(), 1u);
}

TEST(AutoCompact, AFullDiskWaitsForTheNextReasonToAsk) {
  Compacting c;
  for (int i = 0; i < 3; ++i) c.write(100, 1000);
  const uint64_t used = [&] {
    auto space = c.node.disk().space("/");
    return space->total - space->available;
  }();
  // The fourth flush has room, and a compaction of all does not.
  c.node.machine().set_disk_capacity(used + (1 << 20) + 200'000);
  c.write(100, 1000);
  c.node.machine().set_disk_capacity(used + 200'000);
  c.node.world().run_for(seconds(30));
  const uint64_t steps = c.node.world().steps();
  c.node.world().run_for(seconds(20));
  EXPECT_LT(c.node.world().steps() - steps, 1000u);
  c.node.machine().set_disk_capacity(1ull << 40);
  EXPECT_TRUE(c.wait_for_sstables(1, minutes(2)));
}

TEST(AutoCompact, ACompactionThatFillsTheDiskIsUndone) {
  Compacting c;
  for (int i = 0; i < 3; ++i) c.write(20, 1000);
  c.node.machine().faults().disk_full_ppm = 0;
  c.maintenance().set_compaction_throughput(20'000);
  c.write(20, 1000);
  ASSERT_TRUE(c.wait_for_compaction());
  c.node.machine().faults().disk_full_ppm = 1'000'000;
  ASSERT_TRUE(c.wait_for_quiet(seconds(30)));
  EXPECT_EQ(c.sstables().size(), 4u);
  c.node.machine().faults().disk_full_ppm = 0;
  c.maintenance().set_compaction_throughput(0);
  EXPECT_TRUE(c.wait_for_sstables(1, minutes(2)));
  EXPECT_EQ(c.sstables_on_disk(), 1u);
  EXPECT_TRUE(c.node.failures.empty());
}

// The damaged one stays as it is, and the others are compacted without it.
TEST(AutoCompact, ADamagedInputIsNotPickedAgain) {
  StringPairs off = kSizeTiered;
  off["enabled"] = "false";
  Compacting c(off);
  for (int i = 0; i < 5; ++i) c.write();
  const SSTableDescriptor damaged = c.sstables()[2].descriptor;
  c.restart_with_damage(damaged);
  c.maintenance().set_auto_compaction({"ks", "t"}, true);
  EXPECT_TRUE(c.wait_for_sstables(2));
  c.node.world().run_for(minutes(3));
  std::vector<SSTableInfo> left = c.sstables();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_TRUE(left[0].descriptor == damaged || left[1].descriptor == damaged);
}

// Inputs are compacted without what newer data hides; when that cannot be read, they are compacted without looking at it.
TEST(AutoCompact, ADamagedNewerSSTableIsNotLookedAtAgain) {
  StringPairs off = kSizeTiered;
  off["enabled"] = "false";
  off["min_sstable_size"] = "0";
  off["provide_overlapping_tombstones"] = "CELL";
  Compacting c(off);
  for (int i = 0; i < 4; ++i) c.write();
  c.write(3, 50'000);
  const SSTableDescriptor newest = c.sstables()[0].descriptor;
  c.restart_with_damage(newest);
  c.maintenance().set_auto_compaction({"ks", "t"}, true);
  EXPECT_TRUE(c.wait_for_sstables(2));
  EXPECT_EQ(c.sstables()[0].descriptor, newest);
  EXPECT_EQ(c.sstables()[1].rows, 3u);
}

TEST(AutoCompact, EachShardCompactsItsOwn) {
  Compacting c(kSizeTiered, {}, 2);
  for (int i = 0; i < 4; ++i) {
    for (int key = 0; key < 20; ++key) {
      ASSERT_TRUE(c.node.apply(Update(c.node.table("t"), std::to_string(key)).at(i).row(1).cell("v", "x")).ok());
    }
    for (unsigned shard = 0; shard < 2; ++shard) {
      ASSERT_TRUE(c.node.run(c.node.engine(shard).maintenance().flush({})).ok());
    }
  }
  c.node.world().run_for(seconds(10));
  for (unsigned shard = 0; shard < 2; ++shard) {
    EXPECT_EQ(c.node.engine(shard).maintenance().sstables(c.node.table("t")->id).size(), 1u);
  }
}

}  // namespace
}  // namespace cassandra_like::storage_test
