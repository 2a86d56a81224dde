// Compactions of a shard's tables: what they purge, what keeps them from it, and what a crash at any of their steps leaves.
#include <fmt/format.h>

#include <algorithm>

#include "fixture.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_writer.h"
#include "storage/sstable/transaction_log.h"
#include "tests/support/sanitized.h"

namespace cassandra_like::storage_test {
namespace {

constexpr int kGrace = 10;

TablePtr table_with_grace(const std::string& name) {
  auto table = std::make_shared<TableMetadata>(*make_table(name));
  table->params.gc_grace_seconds = kGrace;
  return table;
}

// A node whose clock says that the fixture's deletions are old enough to be purged.
class Purging {
 public:
  explicit Purging(uint64_t seed = 1, EngineOptions options = small_segments())
      : node(seed, 1, std::move(options), {table_with_grace("t"), make_table("kv"), make_table("d")}),
        t(node.table("t")) {
    node.machine().shift_wall_clock(std::chrono::seconds(kNow) -
                                    std::chrono::microseconds(node.runtime().shard(0).clock.wall_micros()));
  }
  static EngineOptions small_segments() {
    EngineOptions options;
    options.commitlog_segment_bytes = 8 << 10;
    options.commitlog_sync = CommitLogSync::kBatch;
    return options;
  }

  Status flush() { return node.run(node.engine().maintenance().flush({"ks", "t"})); }
  Status compact() { return node.run(node.engine().maintenance().compact({"ks", "t"})); }
  std::vector<SSTableInfo> sstables() { return node.engine().maintenance().sstables(t->id); }
  // The segments that hold what was written until now are gone, unless something else in them is not flushed.
  void leave_segments() {
    for (int i = 0; i < 40; ++i) {
      Update filler(node.table("kv"), "filler");
      filler.row(std::vector<int32_t>{}).cell("v1", std::string(400, 'x'));
      ASSERT_TRUE(node.apply(filler).ok());
    }
    ASSERT_TRUE(node.run(node.engine().maintenance().flush({"ks", "kv"})).ok());
  }
  // Rows of three keys, in an SSTable.
  void write() {
    for (const char* key : {"a", "b", "c"}) {
      Update rows(t, key);
      rows.at(10).static_row().cell("s", "static");
      for (int c = 0; c < 5; ++c) rows.row(c).live().cell("v", "x").element("m", "k", "e");
      ASSERT_TRUE(node.apply(rows).ok());
    }
    ASSERT_TRUE(flush().ok());
  }
  // Their deletions, in an SSTable of its own.
  void remove(bool everything = false) {
    ASSERT_TRUE(node.apply(Update(t, "a").at(20).delete_partition()).ok());
    ASSERT_TRUE(node.apply(Update(t, "b").at(20).row(1).delete_row().row(2).tombstone("v").clear("m")).ok());
    ASSERT_TRUE(node.apply(Update(t, "b").at(20).delete_range(3, true, 4, false)).ok());
    ASSERT_TRUE(node.apply(Update(t, "c").at(20).row(0).cell("w", "gone", 5, kNow - kGrace - 50)).ok());
    if (everything) {
      for (const char* key : {"b", "c"}) ASSERT_TRUE(node.apply(Update(t, key).at(30).delete_partition()).ok());
    }
    ASSERT_TRUE(flush().ok());
  }

  Node node;
  TablePtr t;
};

const Lines kLeft{"c [s=static@10]",           "  0: @10 v=x@10 m[k]=e@10", "  1: @10 v=x@10 m[k]=e@10",
                  "  2: @10 v=x@10 m[k]=e@10", "  3: @10 v=x@10 m[k]=e@10", "  4: @10 v=x@10 m[k]=e@10",
                  "b [s=static@10]",           "  0: @10 v=x@10 m[k]=e@10", "  2: @10",
                  "  4: @10 v=x@10 m[k]=e@10"};

Lines sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(Compaction, AReadThatBeganBeforeATtlEndedFindsTheWholeRow) {
  Purging p;
  ASSERT_TRUE(p.node.apply(Update(p.t, "a").row(1).live(5, kNow - 5).cell("v", "x", 5, kNow - 5)).ok());
  ASSERT_TRUE(p.flush().ok());
  ASSERT_TRUE(p.compact().ok());
  ReadCommand command = p.node.command("t");
  command.range = KeyRange{};
  command.now_seconds = kNow - 6;
  EXPECT_EQ(p.node.read(command), (Lines{"a", "  1: @1+5 v=x@1+5"}));
  command.now_seconds = kNow - 5;
  EXPECT_EQ(p.node.read(command), Lines());
}

// Sources that are damaged, or that a Cassandra of old wrote, give such things.
TEST(Writing, WhatIsNotInOrderIsDamageAndEndsNothingElse) {
  Node node;
  const TablePtr t = node.table("t");
  SSTableWriterOptions options;
  options.regular_columns = t->regular_columns;
  const auto descriptor = SSTableDescriptor::of(nullptr, "/data/ks/" + t->directory_name(), "7");
  auto writer = SSTableWriter::create(node.disk(), descriptor, t, options);
  ASSERT_TRUE(writer.ok());
  Update rows(t, "a");
  rows.row(1).cell("v", "x").row(2).cell("v", "y");
  const PartitionUpdate& update = rows.build();
  Unfiltered first, second;
  first.row = update.rows[0];
  second.row = update.rows[1];
  ASSERT_TRUE((*writer)->begin_partition(update.key, DeletionTime(), Row()).ok());
  ASSERT_TRUE((*writer)->append(first).ok());
  ASSERT_TRUE((*writer)->append(second).ok());
  for (const Unfiltered& again : {second, first}) {
    EXPECT_EQ((*writer)->append(again).error().code(), ErrorCode::kCorruption);
  }
  ASSERT_TRUE((*writer)->end_partition().ok());
  EXPECT_EQ((*writer)->begin_partition(update.key, DeletionTime(), Row()).error().code(), ErrorCode::kCorruption);
}

TEST(Compaction, TombstonesThatNothingNeedsGo) {
  Purging p;
  p.write();
  p.remove();
  ASSERT_EQ(sorted(p.node.scan("t")), sorted(kLeft));
  ASSERT_TRUE(p.compact().ok());
  EXPECT_EQ(sorted(p.node.scan("t")), sorted(kLeft));
  auto left = p.sstables();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].partitions, 2u);
  EXPECT_EQ(left[0].rows, 8u + 2u);  // the static ones count
  EXPECT_EQ(left[0].droppable_before(kMaxDeletionTime), 0);
  EXPECT_EQ(left[0].min_local_deletion_time, kNoDeletionTime);
  EXPECT_EQ(left[0].max_timestamp, 10);
}

TEST(Compaction, TombstonesStayDuringTheirGrace) {
  Purging p;
  p.node.machine().shift_wall_clock(-std::chrono::seconds(200));
  p.write();
  p.remove();
  ASSERT_TRUE(p.compact().ok());
  auto left = p.sstables();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].partitions, 3u);
  EXPECT_EQ(left[0].max_timestamp, 20);
  EXPECT_GT(left[0].droppable_before(kMaxDeletionTime), 0);
}

// The older row is in an SSTable of another node's shards, in the memtable, or in a file that is not read.
TEST(Compaction, TombstonesStayWhileSomethingOlderIsElsewhere) {
  Purging p;
  ASSERT_TRUE(p.node.apply(Update(p.t, "a").at(20).row(1).delete_row()).ok());
  ASSERT_TRUE(p.flush().ok());
  ASSERT_TRUE(p.node.apply(Update(p.t, "b").at(20).row(1).delete_row().row(2).live()).ok());
  ASSERT_TRUE(p.flush().ok());
  ASSERT_TRUE(p.node.apply(Update(p.t, "a").at(10).row(1).live()).ok());
  ASSERT_TRUE(p.compact().ok());
  ASSERT_EQ(p.sstables().size(), 1u);
  EXPECT_EQ(p.sstables()[0].rows, 2u);  // of a: the deletion; of b: the other row
  EXPECT_EQ(p.node.read("t", "a"), Lines());
  ASSERT_TRUE(p.flush().ok());
  ASSERT_TRUE(p.compact().ok());
  EXPECT_EQ(p.sstables()[0].rows, 1u);
}

TEST(Compaction, NothingGoesWhileAnSSTableIsNotRead) {
  EngineOptions options = Purging::small_segments();
  options.disk_failure_policy = FailurePolicy::kIgnore;
  Purging p(1, options);
  ASSERT_TRUE(p.node.apply(Update(p.t, "a").at(10).row(1).live()).ok());
  ASSERT_TRUE(p.flush().ok());
  const SSTableDescriptor damaged = p.sstables()[0].descriptor;
  ASSERT_TRUE(p.node.apply(Update(p.t, "a").at(20).row(1).delete_row()).ok());
  ASSERT_TRUE(p.node.apply(Update(p.t, "b").at(20).row(1).live()).ok());
  ASSERT_TRUE(p.flush().ok());
  p.node.kill();
  Disk& disk = p.node.machine().boot(1).shard(0).disk;
  ASSERT_TRUE(disk.rename(damaged.file("Statistics.db"), damaged.file("Statistics.lost")).ok());
  p.node.machine().shut_down();
  ASSERT_TRUE(p.node.boot());
  ASSERT_TRUE(p.compact().ok());
  ASSERT_EQ(p.sstables().size(), 1u);
  EXPECT_EQ(p.sstables()[0].partitions, 2u);
  // Its file is found again.
  p.node.kill();
  Disk& again = p.node.machine().boot(1).shard(0).disk;
  ASSERT_TRUE(again.rename(damaged.file("Statistics.lost"), damaged.file("Statistics.db")).ok());
  p.node.machine().shut_down();
  ASSERT_TRUE(p.node.boot()) << p.node.error();
  EXPECT_EQ(p.node.read("t", "a"), Lines());
}

// The last tombstone stays as long as the log has what it hides: an interval without an SSTable would be lost.
TEST(Compaction, AnEmptyOutputWaitsForTheCommitLog) {
  Purging p;
  auto write_one_and_delete_it = [&] {
    ASSERT_TRUE(p.node.apply(Update(p.t, "a").at(10).row(1).live()).ok());
    ASSERT_TRUE(p.flush().ok());
    ASSERT_TRUE(p.node.apply(Update(p.t, "a").at(20).row(1).delete_row()).ok());
    ASSERT_TRUE(p.flush().ok());
  };
  write_one_and_delete_it();
  ASSERT_TRUE(p.compact().ok());
  ASSERT_EQ(p.sstables().size(), 1u);
  EXPECT_EQ(p.sstables()[0].partitions, 1u);
  p.leave_segments();
  ASSERT_TRUE(p.compact().ok());
  EXPECT_EQ(p.sstables().size(), 0u);
  EXPECT_TRUE(find_sstables(p.node.disk(), "/data/ks/" + p.t->directory_name())->empty());
}

// Where the commit log stands when the compaction begins.
enum class Log {
  kBehind,   // no segment holds what the inputs hold
  kHeld,     // another table holds the segment with the rows, while that of their deletions is gone
  kEmptied,  // the same, and all rows are deleted
};

// A compaction that purges, with a fault at its n-th change of the disk; then a power cut, a restart, another compaction, and a
// power cut again. `expected`: what the table shows all the time.
class Course {
 public:
  Course(uint64_t seed, uint64_t operations, SimFaults::Fault fault, Log log)
      : p(seed, options()), operations_(operations), fault_(fault), log_(log) {}

  // Empty: all is well.
  std::string run() {
    Update held(p.node.table("d"), "held");
    held.row({1, 1}).cell("v", "x");
    if (log_ != Log::kBehind) must(p.node.apply(held));
    p.write();
    p.leave_segments();
    p.remove(log_ == Log::kEmptied);
    p.leave_segments();
    const Lines expected = p.node.scan("t");
    SimFaults& faults = p.node.machine().faults();
    faults.operations_until_fault = operations_;
    faults.fault = fault_;
    failed = !p.compact().ok();
    ended = faults.operations_until_fault && *faults.operations_until_fault > 0;
    faults.operations_until_fault.reset();
    if (fault_ != SimFaults::Fault::kAllAfter) {
      if (p.node.scan("t") != expected) return "after the fault: " + testing::PrintToString(p.node.scan("t"));
      if (operations_ % 2 == 0 && !p.compact().ok()) return "a compaction after the fault failed";
    }
    for (int crash = 0; crash < 2; ++crash) {
      p.node.crash();
      before_boot();
      if (!p.node.boot()) return "does not start: " + p.node.error();
      if (p.node.scan("t") != expected) return "after a crash: " + testing::PrintToString(p.node.scan("t"));
      if (!p.compact().ok()) return "a compaction after the crash failed";
      if (p.node.scan("t") != expected) return "after a compaction: " + testing::PrintToString(p.node.scan("t"));
    }
    return "";
  }

  std::function<void(Node&)> plant;
  bool ended = false, failed = false;
  Purging p;

 private:
  static EngineOptions options() {
    EngineOptions options = Purging::small_segments();
    options.disk_failure_policy = FailurePolicy::kIgnore;
    return options;
  }
  static void must(const Status& status) { ASSERT_TRUE(status.ok()); }
  void before_boot() {
    if (plant) plant(p.node);
  }

  uint64_t operations_;
  SimFaults::Fault fault_;
  Log log_;
};

class CompactionFaults : public testing::TestWithParam<std::tuple<SimFaults::Fault, Log>> {};

TEST_P(CompactionFaults, NothingIsLostAndNothingComesBackWhereverItFails) {
  const auto [fault, log] = GetParam();
  int failures = 0;
  for (uint64_t operations = 0;; operations += test::kIsSanitized ? 11 : 1) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Course course(operations * 3 + seed, operations, fault, log);
      ASSERT_EQ(course.run(), "") << "operation " << operations << ", seed " << seed;
      failures += course.failed ? 1 : 0;
      if (course.ended && seed == 3) {
        EXPECT_GT(operations, 40u);
        EXPECT_GT(failures, test::kIsSanitized ? 2 : 60);
        return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, CompactionFaults,
                         testing::Combine(testing::Values(SimFaults::Fault::kAllAfter, SimFaults::Fault::kOne,
                                                          SimFaults::Fault::kOneDiskFull),
                                          testing::Values(Log::kBehind, Log::kHeld, Log::kEmptied)));

// The same, for a program that takes every transaction for committed: the check finds it.
TEST(Compaction, AnInputThatGoesBeforeTheCommitIsMissed) {
  int found = 0;
  for (uint64_t operations = 0; operations < 150; ++operations) {
    Course course(operations + 1, operations, SimFaults::Fault::kAllAfter, Log::kBehind);
    course.plant = [](Node& node) {
      Disk& disk = node.machine().boot(1).shard(0).disk;
      const std::string directory = "/data/ks/" + node.table("t")->directory_name();
      const auto entries = disk.list(directory).value();
      for (const DirectoryEntry& log : entries) {
        if (!is_transaction_log(log.name)) continue;
        const auto transaction = TransactionLog::read(disk, {directory + "/" + log.name});
        if (!transaction.ok() || transaction->is_committed()) continue;
        const std::vector<std::string> outputs = transaction->void_sstables();
        for (const DirectoryEntry& entry : entries) {
          const bool is_output = std::any_of(outputs.begin(), outputs.end(),
                                             [&](const std::string& output) { return entry.name.starts_with(output); });
          if (is_output) continue;
          ASSERT_TRUE(disk.remove(directory + "/" + entry.name).ok());
        }
      }
      node.machine().shut_down();
    };
    found += course.run().empty() ? 0 : 1;
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace cassandra_like::storage_test
