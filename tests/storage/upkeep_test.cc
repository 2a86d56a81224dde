// Orders of operators for SSTables: a part of a table is compacted, files are written anew. Nothing is lost, nothing comes
// back, wherever it fails.
#include <algorithm>

#include <fmt/format.h>

#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_version.h"
#include "upkeep.h"

namespace cassandra_like::storage_test::upkeep_test {
namespace {

SSTableRewrite all_of_them() {
  SSTableRewrite rewrite;
  rewrite.include_all = true;
  return rewrite;
}

TEST(Upkeep, FindsTheSSTablesOfAKey) {
  Upkeep u(2);
  u.write({"a", "b"}, 10);
  u.write({"a"}, 20);
  u.remove("a", 30);
  auto with_key = [&u](const char* key) {
    const unsigned owner = shard_of(murmur3_token(key), 2);
    return u.maintenance(owner).sstables_with_key(u.t->id, key).value().size();
  };
  EXPECT_EQ(with_key("a"), 3u);
  EXPECT_EQ(with_key("b"), 1u);
  EXPECT_EQ(with_key("c"), 0u);
}

TEST(Upkeep, CompactsTheSSTablesThatAreWanted) {
  Upkeep u;
  u.write({"a", "b"}, 10);
  u.write({"a"}, 20);
  u.write({"b"}, 30);
  const Lines expected = u.rows();
  CompactionScope scope;
  scope.wants = [](const TableMetadata& table, const SSTable& sstable) {
    const DecoratedKey key = DecoratedKey::of("a");
    return table.name == "t" && sstable.may_contain(key);
  };
  ASSERT_TRUE(u.compact(scope).ok());
  EXPECT_EQ(u.sstables().size(), 2u);
  EXPECT_EQ(u.rows(), expected);
  const std::vector<std::string> before = u.names();
  scope.wants = [](const TableMetadata&, const SSTable&) { return false; };
  ASSERT_TRUE(u.compact(scope).ok());
  EXPECT_EQ(u.names(), before);
}

// The rest may hold older data than the deletion.
TEST(Upkeep, APartOfATablePurgesNothingThatTheRestNeeds) {
  Upkeep u;
  u.write({"a"}, 10);
  u.remove("a", 20);
  const Lines expected = u.rows();
  CompactionScope newest;
  newest.wants = [](const TableMetadata&, const SSTable& sstable) { return sstable.info().max_timestamp == 20; };
  ASSERT_TRUE(u.compact(newest).ok());
  EXPECT_EQ(u.sstables().size(), 2u);
  EXPECT_EQ(u.rows(), expected);
}

// A leveled compaction of one SSTable leaves it in its level; of several it ends in the first one.
TEST(Upkeep, TheStrategyCutsWhatItIsGiven) {
  Upkeep u(1, 1, {}, "LeveledCompactionStrategy");
  u.write({"a", "b"}, 10);
  u.write({"a", "c"}, 20);
  CompactionScope split;
  split.split_output = true;
  ASSERT_TRUE(u.compact(split).ok());
  ASSERT_EQ(u.sstables().size(), 1u);
  EXPECT_EQ(u.sstables()[0].level, 1);
  CompactionScope all;
  all.wants = [](const TableMetadata&, const SSTable&) { return true; };
  ASSERT_TRUE(u.compact(all).ok());
  EXPECT_EQ(u.sstables()[0].level, 1);
  u.write({"d"}, 30);
  ASSERT_TRUE(u.compact(all).ok());
  ASSERT_EQ(u.sstables().size(), 1u);
  EXPECT_EQ(u.sstables()[0].level, 0);
}

TEST(Upkeep, WritesOldVersionsAnew) {
  EngineOptions options;
  options.sstable_version = &SSTableVersion::nb();
  Upkeep u(1, 1, options);
  u.write({"a", "b"}, 10);
  u.write({"a"}, 20);
  const Lines expected = u.rows();
  EXPECT_EQ(u.versions(), (std::vector<std::string>{"nb-big", "nb-big"}));
  ASSERT_TRUE(u.rewrite().ok());  // this is what the node writes
  EXPECT_EQ(u.versions(), (std::vector<std::string>{"nb-big", "nb-big"}));
  u.restart_with(SSTableVersion::da());
  u.remove("b", 30);
  EXPECT_EQ(u.versions(), (std::vector<std::string>{"da-bti", "nb-big", "nb-big"}));
  const Lines removed = u.rows();
  ASSERT_TRUE(u.rewrite().ok());
  EXPECT_EQ(u.versions(), (std::vector<std::string>{"da-bti", "da-bti", "da-bti"}));
  EXPECT_EQ(u.rows(), removed);
  EXPECT_EQ(u.files(), 3u);
  const std::vector<std::string> before = u.names();
  ASSERT_TRUE(u.rewrite().ok());
  EXPECT_EQ(u.names(), before);
  u.node.restart();
  EXPECT_EQ(u.rows(), removed);
}

TEST(Upkeep, RecompressesWhatHasAnotherCompressionThanTheTable) {
  Upkeep u;
  u.write({"a", "b"}, 10);
  u.write({"a"}, 20);
  const Lines expected = u.rows();
  SSTableRewrite order;
  order.recompresses = true;
  const std::vector<std::string> before = u.names();
  ASSERT_TRUE(u.rewrite(order).ok());
  EXPECT_EQ(u.names(), before);
  std::vector<std::string> last = before;
  for (const StringPairs& compression :
       {StringPairs{{"class", "org.apache.cassandra.io.compress.ZstdCompressor"}, {"chunk_length_in_kb", "16"}},
        StringPairs{{"class", "org.apache.cassandra.io.compress.ZstdCompressor"}, {"chunk_length_in_kb", "4"}},
        StringPairs{{"enabled", "false"}}}) {
    auto changed = std::make_shared<TableMetadata>(*u.t);
    changed->params.compression = compression;
    u.node.set_tables({changed, make_table("kv")});
    ASSERT_TRUE(u.rewrite(order).ok());
    const std::vector<std::string> now = u.names();
    EXPECT_EQ(now.size(), 2u);
    for (const std::string& name : now) EXPECT_EQ(std::count(last.begin(), last.end(), name), 0) << name;
    EXPECT_EQ(u.rows(), expected);
    ASSERT_TRUE(u.rewrite(order).ok());
    EXPECT_EQ(u.names(), now);
    last = now;
  }
}

TEST(Upkeep, TheLatestVersionIsThatOfTheFormat) {
  EngineOptions options;
  options.sstable_version = &SSTableVersion::oa();
  Upkeep u(1, 1, options);
  u.write({"a"}, 10);
  u.restart_with(SSTableVersion::da());
  ASSERT_TRUE(u.rewrite().ok());
  EXPECT_EQ(u.versions(), (std::vector<std::string>{"oa-big"}));
  ASSERT_TRUE(u.rewrite(all_of_them()).ok());
  EXPECT_EQ(u.versions(), (std::vector<std::string>{"da-bti"}));
}

TEST(Upkeep, ARewriteMergesAndPurgesNothing) {
  Upkeep u;
  u.write({"a", "b"}, 10);
  u.remove("a", 20);
  u.leave_segments();
  const Lines expected = u.rows();
  const std::vector<SSTableInfo> before = u.sstables();
  ASSERT_TRUE(u.rewrite(all_of_them()).ok());
  const std::vector<SSTableInfo> after = u.sstables();
  ASSERT_EQ(after.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NE(after[i].descriptor, before[i].descriptor);
    EXPECT_EQ(after[i].partitions, before[i].partitions);
    EXPECT_EQ(after[i].rows, before[i].rows);
    EXPECT_EQ(after[i].cells, before[i].cells);
    EXPECT_EQ(after[i].max_timestamp, before[i].max_timestamp);
  }
  EXPECT_EQ(u.rows(), expected);
}

TEST(Upkeep, ARewriteTakesFilesUpToATime) {
  Upkeep u;
  u.write({"a"}, 10);
  const std::vector<std::string> first = u.names();
  u.node.world().run_for(std::chrono::seconds(10));
  SSTableRewrite order = all_of_them();
  order.created_until_millis = u.node.runtime().shard(0).clock.wall_millis();
  u.node.world().run_for(std::chrono::seconds(10));
  u.write({"a"}, 20);
  std::vector<std::string> second = u.names();
  std::erase(second, first[0]);
  ASSERT_TRUE(u.rewrite(order).ok());
  const std::vector<std::string> names = u.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), first[0]), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), second[0]), 1);
}

// The part of each shard is written anew by the split.
TEST(Upkeep, SharedFilesAreSplitBefore) {
  EngineOptions options;
  options.sstable_version = &SSTableVersion::nb();
  Upkeep u(2, 1, options);
  u.write({"a", "b", "c", "d", "e", "f", "g", "h"}, 10);
  const Lines expected = u.rows();
  u.node.kill();
  u.node.options.sstable_version = nullptr;
  u.node.set_shards(3);
  ASSERT_TRUE(u.node.boot()) << u.node.error();
  bool refused = false;
  for (unsigned i = 0; i < 3; ++i) refused |= !u.rewrite(SSTableRewrite(), i).ok();
  EXPECT_TRUE(refused);
  u.flush();
  u.leave_segments();
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(u.node.engine(i).remove_foreign_segments().ok());
  ASSERT_TRUE(u.node.run(u.node.disk().sync_directory(u.node.options.commitlog_directory)).ok());
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(u.node.run(u.maintenance(i).relocate({"ks", "t"})).ok());
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(u.rewrite(SSTableRewrite(), i).ok());
  for (unsigned i = 0; i < 3; ++i) {
    for (const std::string& version : u.versions(i)) EXPECT_EQ(version, "da-bti");
  }
  EXPECT_EQ(u.rows(), expected);
}

SSTableRewrite garbage(bool skips_cells) {
  SSTableRewrite rewrite;
  rewrite.operation = CompactionOperation::kGarbageCollect;
  rewrite.skips_cells = skips_cells;
  return rewrite;
}

// The range 0 to 1 is deleted, the row 1, and the cell and the map of row 2.
TEST(Garbage, WhatNewerDeletionsHideGoes) {
  Upkeep u;
  u.write({"a"}, 10);
  u.remove("a", 20);
  u.leave_segments();
  const Lines expected = u.rows();
  ASSERT_EQ(with_max_timestamp(u, 10).rows, 4u);  // the static one counts
  ASSERT_EQ(with_max_timestamp(u, 10).cells, 7u);
  SSTableRewrite alone = garbage(false);
  alone.skips_rows = false;  // newer SSTables are not looked at
  const SSTableDescriptor before = with_max_timestamp(u, 10).descriptor;
  ASSERT_TRUE(u.rewrite(alone).ok());
  EXPECT_NE(with_max_timestamp(u, 10).descriptor, before);
  EXPECT_EQ(with_max_timestamp(u, 10).rows, 4u);
  EXPECT_EQ(with_max_timestamp(u, 10).cells, 7u);
  ASSERT_TRUE(u.rewrite(garbage(false)).ok());
  EXPECT_EQ(with_max_timestamp(u, 10).rows, 2u);
  EXPECT_EQ(with_max_timestamp(u, 10).cells, 3u);
  EXPECT_EQ(u.rows(), expected);
  ASSERT_TRUE(u.rewrite(garbage(true)).ok());
  EXPECT_EQ(with_max_timestamp(u, 10).rows, 2u);
  EXPECT_EQ(with_max_timestamp(u, 10).cells, 1u);
  EXPECT_EQ(u.rows(), expected);
  EXPECT_EQ(u.sstables().size(), 2u);
  u.node.restart();
  EXPECT_EQ(u.rows(), expected);
}

// The data goes first, and then the deletion has nothing left to hide.
TEST(Garbage, ADeletionFollowsWhatItHid) {
  Upkeep u;
  u.write({"a"}, 10);
  ASSERT_TRUE(u.node.apply(Update(u.t, "a").at(20).delete_partition()).ok());
  u.flush();
  u.leave_segments();
  ASSERT_TRUE(u.rewrite(garbage(false)).ok());
  EXPECT_EQ(u.sstables().size(), 0u);
  EXPECT_EQ(u.files(), 0u);
  EXPECT_EQ(u.rows(), Lines());
}

TEST(Garbage, OverwrittenCellsGoWhereCellsCount) {
  Upkeep u;
  u.write({"a", "b"}, 10);
  u.write({"a"}, 20);
  u.leave_segments();
  const Lines expected = u.rows();
  ASSERT_TRUE(u.rewrite(garbage(false)).ok());
  EXPECT_EQ(with_max_timestamp(u, 10).cells, 14u);
  ASSERT_TRUE(u.rewrite(garbage(true)).ok());
  EXPECT_EQ(with_max_timestamp(u, 10).cells, 7u);
  EXPECT_EQ(u.rows(), expected);
}

// Boolean.parseBoolean ignores the case.
TEST(Garbage, OnlyRepairedTombstonesGoWhereTheTableSaysSo) {
  std::vector<std::string> purging, collecting;
  for (const char* value : {"false", "False", "true", "True", "TRUE"}) {
    for (const bool collects : {false, true}) {
      Upkeep u;
      u.alter({{"only_purge_repaired_tombstones", value}});
      u.write({"a"}, 10);
      ASSERT_TRUE(u.node.apply(Update(u.t, "a").at(20).delete_partition()).ok());
      u.flush();
      u.leave_segments();
      if (collects) {
        ASSERT_TRUE(u.rewrite(garbage(false)).ok());
      } else {
        u.node.compact();
      }
      if (u.sstables().empty()) (collects ? collecting : purging).push_back(value);
    }
  }
  EXPECT_EQ(purging, (Lines{"false", "False"}));
  EXPECT_EQ(collecting, (Lines{"false", "False"}));
}

// CompactionController.shadowSources: every compaction of the table does what a garbage collection does. The newer data lies
// where the compaction does not write.
TEST(Garbage, NewerDataIsLookedAtByAllCompactionsWhereTheTableSaysSo) {
  std::vector<std::pair<uint64_t, uint64_t>> left;  // rows and cells
  for (const char* value : {"NONE", "ROW", "cell"}) {
    Upkeep u;
    u.alter({{"provide_overlapping_tombstones", value}});
    for (int c = 0; c < 5; ++c) {
      ASSERT_TRUE(u.node.apply(Update(u.t, "a").at(1000).row(c).cell("v", "x")).ok());
      // The oldest input is not the first.
      if (c == 2) u.flush();
    }
    u.flush();
    ASSERT_TRUE(u.node.apply(Update(u.t, "a").at(2000).row(2).delete_row().row(3).cell("v", "y")).ok());
    u.flush();
    u.leave_segments();
    const Lines expected = u.rows();
    CompactionScope older;
    older.wants = [](const TableMetadata&, const SSTable& sstable) { return sstable.info().max_timestamp == 1000; };
    ASSERT_TRUE(u.compact(older).ok());
    const SSTableInfo output = with_max_timestamp(u, 1000);
    left.emplace_back(output.rows, output.cells);
    EXPECT_EQ(u.sstables().size(), 2u);
    EXPECT_EQ(u.rows(), expected);
  }
  EXPECT_EQ(left, (std::vector<std::pair<uint64_t, uint64_t>>{{5, 5}, {4, 4}, {3, 3}}));
}

// A compaction of several inputs looks at what is newer than the oldest of them, whichever comes first.
TEST(Garbage, NewerThanTheOldestInputIsNewer) {
  for (const bool is_last : {false, true}) {
    Upkeep u;
    u.alter({{"provide_overlapping_tombstones", "CELL"}});
    auto put = [&u](const char* key, int64_t timestamp) {
      ASSERT_TRUE(u.node.apply(Update(u.t, key).at(timestamp).row(1).cell("v", "x")).ok());
      u.flush();
    };
    put(is_last ? "b" : "a", is_last ? 3000 : 1000);
    put(is_last ? "a" : "b", is_last ? 1000 : 3000);
    ASSERT_TRUE(u.node.apply(Update(u.t, "a").at(2000).row(1).delete_row()).ok());
    u.flush();
    u.leave_segments();
    CompactionScope others;
    others.wants = [](const TableMetadata&, const SSTable& sstable) { return sstable.info().max_timestamp != 2000; };
    ASSERT_TRUE(u.compact(others).ok());
    EXPECT_EQ(with_max_timestamp(u, 3000).cells, 1u) << is_last;
    EXPECT_EQ(u.rows(), (Lines{"  1: v=x@3000", "b"}));
  }
}

// A set-aside SSTable may be older, and no compaction knows what it needs.
TEST(Garbage, NothingGoesForTheTablesSakeWhileAnSSTableIsSetAside) {
  Upkeep u;
  u.alter({{"provide_overlapping_tombstones", "ROW"}});
  u.write({"a"}, 10);
  u.write({"b"}, 15);
  u.remove("a", 20);
  u.leave_segments();
  const SSTableDescriptor lost = with_max_timestamp(u, 15).descriptor;
  ASSERT_TRUE(u.node.disk().remove(lost.file(components::kStatistics)).ok());
  u.node.restart();
  CompactionScope oldest;
  oldest.wants = [](const TableMetadata&, const SSTable& sstable) { return sstable.info().max_timestamp == 10; };
  ASSERT_TRUE(u.compact(oldest).ok());
  EXPECT_EQ(with_max_timestamp(u, 10).rows, 4u);
}

// Whatever lies over what: nobody who reads sees that garbage was collected.
TEST(Garbage, NobodySeesIt) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Upkeep u(1, seed);
    Random& random = u.node.world().random();
    auto any = [&random](int limit) { return static_cast<int>(random.next() % static_cast<uint64_t>(limit)); };
    for (int flush = 0; flush < 4; ++flush) {
      for (int i = 0; i < 12; ++i) {
        Update update(u.t, std::string(1, static_cast<char>('a' + any(2))));
        update.at(1 + any(40));
        const int from = any(8), kind = any(8);
        if (kind == 0) update.delete_partition();
        if (kind == 1) update.static_row().cell("s", "static");
        if (kind == 2 || kind == 3) update.delete_range(from, any(2) == 0, from + 1 + any(5), any(2) == 0);
        if (kind == 4) update.row(from).delete_row();
        if (kind == 5) update.row(from).tombstone("v").clear("m");
        if (kind >= 6) update.row(from).live().cell("v", "x").element("m", "k", "e");
        ASSERT_TRUE(u.node.apply(update).ok());
      }
      u.flush();
    }
    if (seed % 2 == 0) u.leave_segments();
    const Lines expected = u.rows();
    ASSERT_TRUE(u.rewrite(garbage(seed % 3 == 0)).ok());
    ASSERT_EQ(u.rows(), expected) << "seed " << seed;
    ASSERT_TRUE(u.rewrite(garbage(seed % 3 != 0)).ok());
    ASSERT_EQ(u.rows(), expected) << "seed " << seed;
    u.node.crash();
    ASSERT_TRUE(u.node.boot()) << u.node.error();
    ASSERT_EQ(u.rows(), expected) << "seed " << seed;
    ASSERT_TRUE(u.node.run(u.maintenance().compact({"ks", "t"})).ok());
    ASSERT_EQ(u.rows(), expected) << "seed " << seed;
  }
}

TEST(Upkeep, ARewriteIsSeenAndStops) {
  Upkeep u(1, 1, slowly());
  write_slow_rows(u);
  const Lines expected = u.rows();
  const std::vector<std::string> before = u.names();
  std::optional<Status> done;
  spawn(finish<Status>(u.maintenance().rewrite({"ks", "t"}, all_of_them()), &done));
  ASSERT_TRUE(u.node.world().run_until([&] { return !u.maintenance().running_compactions().empty(); },
                                       std::chrono::seconds(5)));
  u.node.world().run_for(std::chrono::milliseconds(500));
  ASSERT_EQ(u.maintenance().running_compactions().size(), 1u);
  EXPECT_EQ(operation_constant(u.maintenance().running_compactions()[0].operation), "UPGRADE_SSTABLES");
  EXPECT_EQ(u.maintenance().stop_compactions([](const RunningCompaction&) { return true; }), 1u);
  EXPECT_TRUE(u.node.world().run_until([&] { return done.has_value(); }, std::chrono::milliseconds(100)));
  EXPECT_FALSE(done->ok());
  EXPECT_EQ(u.names(), before);
  EXPECT_EQ(u.files(), before.size());
  EXPECT_EQ(u.rows(), expected);
}

// One order with a fault at its n-th change of the disk; then power cuts and restarts, and the order again.
struct OrderCourse {
  OrderCourse(uint64_t seed, const SSTableVersion& version) : u(1, seed, of(version)) {}
  static EngineOptions of(const SSTableVersion& version) {
    EngineOptions options;
    options.sstable_version = &version;
    return options;
  }

  // Empty: all is well.
  std::string run(uint64_t operations, SimFaults::Fault fault, const SSTableRewrite& order) {
    u.write({"a", "b", "c"}, 10);
    u.leave_segments();
    u.remove("a", 20);
    u.restart_with(SSTableVersion::da());
    const Lines expected = u.rows();
    SimFaults& faults = u.node.machine().faults();
    faults.operations_until_fault = operations;
    faults.fault = fault;
    failed = !u.rewrite(order).ok();
    ended = faults.operations_until_fault && *faults.operations_until_fault > 0;
    faults.operations_until_fault.reset();
    if (fault != SimFaults::Fault::kAllAfter && u.rows() != expected) {
      return "after the fault: " + testing::PrintToString(u.rows());
    }
    for (int crash = 0; crash < 2; ++crash) {
      u.node.crash();
      if (!u.node.boot()) return "does not start: " + u.node.error();
      if (u.rows() != expected) return "after a crash: " + testing::PrintToString(u.rows());
      if (!u.rewrite(order).ok()) return "after a crash, the order failed";
      if (u.rows() != expected) return "after the order: " + testing::PrintToString(u.rows());
    }
    if (u.files() != u.sstables().size()) return "files are left";
    return "";
  }

  Upkeep u;
  bool ended = false, failed = false;
};

class UpkeepFaults : public testing::TestWithParam<SimFaults::Fault> {};

TEST_P(UpkeepFaults, NothingIsLostWhereverARewriteFails) {
  int failures = 0;
  for (uint64_t operations = 0;; ++operations) {
    OrderCourse course(operations + 1, operations % 2 == 0 ? SSTableVersion::nb() : SSTableVersion::da());
    ASSERT_EQ(course.run(operations, GetParam(), all_of_them()), "") << "operation " << operations;
    failures += course.failed ? 1 : 0;
    if (course.ended) {
      EXPECT_GT(operations, 40u);
      EXPECT_GT(failures, 20);
      return;
    }
  }
}

TEST_P(UpkeepFaults, NothingComesBackWhereverGarbageCollectionFails) {
  int failures = 0;
  for (uint64_t operations = 0;; ++operations) {
    OrderCourse course(operations + 1, SSTableVersion::da());
    ASSERT_EQ(course.run(operations, GetParam(), garbage(operations % 2 == 0)), "") << "operation " << operations;
    failures += course.failed ? 1 : 0;
    if (course.ended) {
      EXPECT_GT(operations, 40u);
      EXPECT_GT(failures, 20);
      return;
    }
  }
}

TEST(OwnedTokens, AreSpansThatDoNotTouch) {
  constexpr Token kLeast = std::numeric_limits<Token>::min(), kGreatest = std::numeric_limits<Token>::max();
  EXPECT_TRUE(OwnedTokens::of({{5, 5}}).are_all());
  EXPECT_TRUE(OwnedTokens::of({{0, 10}, {10, 0}}).are_all());
  EXPECT_FALSE(OwnedTokens().contains(0));
  const OwnedTokens some = OwnedTokens::of({{100, -100}, {0, 10}, {10, 20}});
  ASSERT_EQ(some.spans().size(), 3u);
  EXPECT_TRUE(some.contains(kLeast, -100));
  EXPECT_FALSE(some.contains(-99));
  EXPECT_FALSE(some.contains(0));
  EXPECT_TRUE(some.contains(1, 20));
  EXPECT_FALSE(some.contains(1, 21));
  EXPECT_FALSE(some.contains(100));
  EXPECT_TRUE(some.contains(101, kGreatest));
  EXPECT_TRUE(some.intersects(-50, 1));
  EXPECT_FALSE(some.intersects(21, 100));
}

TEST(Cleanup, KeysOfOthersGo) {
  Upkeep u;
  u.write({"a", "b", "c"}, 10);
  u.write({"b"}, 20);
  const Lines b = u.node.read("t", "b"), c = u.node.read("t", "c");
  const std::vector<std::string> before = u.names();
  ASSERT_TRUE(u.rewrite(cleanup_of({"a"})).ok());
  EXPECT_EQ(u.node.read("t", "a"), Lines());
  EXPECT_EQ(u.node.read("t", "b"), b);
  EXPECT_EQ(u.node.read("t", "c"), c);
  ASSERT_EQ(u.sstables().size(), 2u);
  EXPECT_EQ(with_max_timestamp(u, 10).partitions, 2u);
  // The other had none: it is left alone, and both the next time.
  const std::vector<std::string> after = u.names();
  EXPECT_EQ(std::count_if(after.begin(), after.end(),
                          [&before](const std::string& name) {
                            return std::find(before.begin(), before.end(), name) != before.end();
                          }),
            1);
  ASSERT_TRUE(u.rewrite(cleanup_of({"a"})).ok());
  EXPECT_EQ(u.names(), after);
  u.node.restart();
  EXPECT_EQ(u.node.read("t", "b"), b);
}

TEST(Cleanup, TokensThatTheNodeGotSinceTheOrderCameStay) {
  Upkeep u;
  u.write({"a", "b", "c"}, 10);
  const Lines b = u.node.read("t", "b");
  SSTableRewrite order = cleanup_of({"a"});
  auto is_first = std::make_shared<bool>(true);
  order.owned = [before = cleanup_of({"a", "b"}).owned, after = order.owned, is_first](const TableMetadata& table) {
    return std::exchange(*is_first, false) ? before(table) : after(table);
  };
  ASSERT_TRUE(u.rewrite(order).ok());
  EXPECT_EQ(u.node.read("t", "a"), Lines());
  EXPECT_EQ(u.node.read("t", "b"), b);
}

TEST(Cleanup, WithAllRangesAFileIsLeftAlone) {
  Upkeep u;
  u.write({"a", "b", "c"}, 10);
  const std::vector<std::string> before = u.names();
  SSTableRewrite order = cleanup_of({"a"});
  order.owned = [](const TableMetadata&) { return OwnedTokens::all(); };
  ASSERT_TRUE(u.rewrite(order).ok());
  EXPECT_EQ(u.names(), before);
}

TEST(Cleanup, AFileOfOthersAloneIsDropped) {
  Upkeep u;
  u.write({"a"}, 10);
  u.write({"b"}, 20);
  const Lines b = u.node.read("t", "b");
  u.leave_segments();
  ASSERT_TRUE(u.rewrite(cleanup_of({"a"})).ok());
  EXPECT_EQ(u.sstables().size(), 1u);
  EXPECT_EQ(u.files(), 1u);
  SSTableRewrite order = cleanup_of({"b"});
  order.owned = [](const TableMetadata&) { return OwnedTokens(); };
  EXPECT_EQ(u.node.read("t", "b"), b);
  ASSERT_TRUE(u.rewrite(order).ok());
  EXPECT_EQ(u.files(), 0u);
  u.node.restart();
  EXPECT_EQ(u.rows(), Lines());
}

// A fault at the n-th change of the disk, then power cuts and restarts: what stays is always there, and what goes is gone in the end.
TEST_P(UpkeepFaults, NothingIsLostWhereverACleanupFails) {
  int failures = 0;
  for (uint64_t operations = 0;; ++operations) {
    Upkeep u(1, operations + 1);
    u.write({"a", "b"}, 10);
    u.write({"a"}, 20);
    u.write({"c", "a"}, 30);
    u.leave_segments();
    const Lines b = u.node.read("t", "b"), c = u.node.read("t", "c");
    const SSTableRewrite order = cleanup_of({"a"});
    SimFaults& faults = u.node.machine().faults();
    faults.operations_until_fault = operations;
    faults.fault = GetParam();
    failures += u.rewrite(order).ok() ? 0 : 1;
    const bool ended = faults.operations_until_fault && *faults.operations_until_fault > 0;
    faults.operations_until_fault.reset();
    for (int crash = 0; crash < 2; ++crash) {
      u.node.crash();
      ASSERT_TRUE(u.node.boot()) << u.node.error() << " operation " << operations;
      ASSERT_EQ(u.node.read("t", "b"), b) << "operation " << operations;
      ASSERT_EQ(u.node.read("t", "c"), c) << "operation " << operations;
      ASSERT_TRUE(u.rewrite(order).ok()) << "operation " << operations;
      ASSERT_EQ(u.node.read("t", "a"), Lines()) << "operation " << operations;
      ASSERT_EQ(u.node.read("t", "b"), b) << "operation " << operations;
    }
    ASSERT_EQ(u.files(), u.sstables().size());
    if (!ended) continue;
    EXPECT_GT(operations, 40u);
    EXPECT_GT(failures, 20);
    return;
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, UpkeepFaults,
                         testing::Values(SimFaults::Fault::kAllAfter, SimFaults::Fault::kOne,
                                         SimFaults::Fault::kOneDiskFull));

}  // namespace
}  // namespace cassandra_like::storage_test::upkeep_test
