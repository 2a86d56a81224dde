// Replay: what a kill or a power failure leaves in the commit log, and what damage does.
#include <fmt/format.h>

#include <algorithm>

#include "base/checksum.h"
#include "fixture.h"
#include "model/counter.h"
#include "storage/commitlog/segment_reader.h"
#include "tests/support/captured_log.h"
#include "tests/support/forwarding_disk.h"

namespace cassandra_like::storage_test {
namespace {

EngineOptions with_sync(CommitLogSync sync) {
  EngineOptions options;
  options.commitlog_sync = sync;
  options.commitlog_group_window = std::chrono::milliseconds(10);
  return options;
}

Update write(const TablePtr& t, int c, const std::string& value = "x") {
  return std::move(Update(t, "key").row(c).at(c + 1).cell("v", value));
}

Lines rows(int n) {
  Lines out;
  if (n > 0) out.push_back("key");
  for (int c = 0; c < n; ++c) out.push_back(fmt::format("  {}: v=x@{}", c, c + 1));
  return out;
}

std::vector<std::string> segments(Node& node) {
  std::vector<std::string> out;
  auto entries = node.disk().list("/commitlog");
  for (const DirectoryEntry& entry : entries.value()) out.push_back("/commitlog/" + entry.name);
  return out;
}

Bytes contents(Disk& disk, const std::string& path) {
  auto file = disk.open(path);
  CHECK(file.ok());
  Bytes out((*file)->size(), '\0');
  CHECK((*file)->read(0, out).ok());
  return out;
}

void replace(Node& node, const std::string& path, BytesView data) {
  CHECK(node.disk().remove(path).ok());
  auto file = node.disk().create(path);
  CHECK(file.ok() && (*file)->append(data).ok());
  CHECK(node.run((*file)->sync()).ok());
}

class EverySyncMode : public testing::TestWithParam<CommitLogSync> {};

TEST_P(EverySyncMode, AKillLosesNothing) {
  Node node(1, 1, with_sync(GetParam()));
  for (int c = 0; c < 50; ++c) ASSERT_TRUE(node.apply(write(node.table("t"), c)).ok());
  node.restart();
  EXPECT_EQ(node.read("t", "key"), rows(50));
  // Adopted, not rewritten; and the next run adds to it.
  ASSERT_TRUE(node.apply(write(node.table("t"), 50)).ok());
  node.restart();
  EXPECT_EQ(node.read("t", "key"), rows(51));
}

TEST_P(EverySyncMode, APowerFailureLosesOnlyWhatWasNotSynced) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Node node(seed, 1, with_sync(GetParam()));
    int written = 0;
    for (; written < 20 + static_cast<int>(seed); ++written) {
      ASSERT_TRUE(node.apply(write(node.table("t"), written)).ok());
      if (written == 10 && GetParam() == CommitLogSync::kPeriodic) {
        ASSERT_TRUE(node.run(node.engine().sync_commitlog()).ok());
      }
    }
    node.crash();
    ASSERT_TRUE(node.boot()) << "seed " << seed << ": " << node.error();
    int safe = GetParam() == CommitLogSync::kPeriodic ? 11 : written;
    Lines found = node.read("t", "key");
    auto n = static_cast<int>(found.size()) - 1;
    EXPECT_GE(n, safe) << "seed " << seed;
    EXPECT_EQ(found, rows(n)) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(CommitLog, EverySyncMode,
                         testing::Values(CommitLogSync::kPeriodic, CommitLogSync::kBatch, CommitLogSync::kGroup));

TEST(CommitLogTest, PeriodicWritesAreSyncedWithinThePeriod) {
  Node node(1, 1, with_sync(CommitLogSync::kPeriodic));
  ASSERT_TRUE(node.apply(write(node.table("t"), 0)).ok());
  node.world().run_for(std::chrono::seconds(11));
  ASSERT_TRUE(node.apply(write(node.table("t"), 1)).ok());
  node.crash();
  ASSERT_TRUE(node.boot());
  Lines found = node.read("t", "key");
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[1], "  0: v=x@1");
}

TEST(CommitLogTest, AStartBringsToTheDiskWhatAKillLeft) {
  Node node(1, 1, with_sync(CommitLogSync::kPeriodic));
  node.machine().faults().tear_on_crash = false;
  for (int c = 0; c < 10; ++c) ASSERT_TRUE(node.apply(write(node.table("t"), c)).ok());
  node.restart();
  node.crash();
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_EQ(node.read("t", "key"), rows(10));
}

// Complete for the next process, which needs the segments no longer, before its name was on the disk.
TEST(CommitLogTest, AnSSTableThatAKillLeftIsOnTheDiskBeforeItsSegmentsGo) {
  Node node(1, 1, with_sync(CommitLogSync::kBatch));
  node.machine().faults().tear_on_crash = false;
  for (int c = 0; c < 10; ++c) ASSERT_TRUE(node.apply(write(node.table("t"), c)).ok());
  std::optional<Status> flushed;
  spawn(finish<Status>(node.engine().maintenance().flush({}), &flushed));
  auto is_complete = [&] {
    auto directories = node.disk().list("/data/ks");
    for (const DirectoryEntry& directory : *directories) {
      auto files = node.disk().list("/data/ks/" + directory.name);
      if (std::any_of(files->begin(), files->end(), [](auto& file) { return file.name.ends_with("TOC.txt"); })) {
        return true;
      }
    }
    return false;
  };
  ASSERT_TRUE(node.world().run_until(is_complete, std::chrono::seconds(1)));
  ASSERT_FALSE(flushed.has_value());
  node.restart();
  // Its sync makes the removal of the segments last.
  ASSERT_TRUE(node.apply(Update(node.table("kv"), "other").row(std::vector<int32_t>{}).cell("v1", "y")).ok());
  node.crash();
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_EQ(node.read("t", "key"), rows(10));
}

// The flush covers the first part of a segment; the log goes on to the next one before it ends.
TEST(CommitLogTest, ASegmentStaysForWhatWasWrittenToItDuringAFlush) {
  Node node(1, 1, with_sync(CommitLogSync::kPeriodic));
  int written = 0;
  for (; written < 20; ++written) ASSERT_TRUE(node.apply(write(node.table("t"), written)).ok());
  std::optional<Status> flushed;
  spawn(finish<Status>(node.engine().maintenance().flush({}), &flushed));
  while (node.engine().maintenance().statistics().commitlog_segments < 2) {
    ASSERT_TRUE(node.apply(write(node.table("t"), written++)).ok());
  }
  ASSERT_FALSE(flushed.has_value());
  ASSERT_TRUE(node.world().run_until([&] { return flushed.has_value(); }, std::chrono::seconds(10)));
  ASSERT_TRUE(flushed->ok());
  node.restart();
  EXPECT_EQ(node.read("t", "key"), rows(written));
}

TEST(CommitLogTest, BatchWritesThatWaitTogetherShareASync) {
  Node node(1, 1, with_sync(CommitLogSync::kBatch));
  auto t = node.table("t");
  std::vector<Update> updates;
  for (int c = 0; c < 100; ++c) updates.push_back(write(t, c));
  std::vector<std::optional<Status>> done(updates.size());
  int64_t begun = node.world().clock().monotonic_nanos();
  for (size_t i = 0; i < updates.size(); ++i) {
    spawn(finish<Status>(node.engine().apply(updates[i].mutation()), &done[i]));
    EXPECT_FALSE(done[i].has_value());
  }
  EXPECT_EQ(node.engine().maintenance().statistics().commitlog_pending, 100u);
  node.world().run_until([&] { return done.back().has_value(); }, std::chrono::seconds(1));
  for (auto& status : done) EXPECT_TRUE(status && status->ok());
  // A sync takes up to 5 ms here; there were at most two, and one of the directory.
  EXPECT_LT(node.world().clock().monotonic_nanos() - begun, 16'000'000);
}

TEST(CommitLogTest, AFailedSyncAcknowledgesNothingAndStopsTheLog) {
  Node node(1, 1, with_sync(CommitLogSync::kBatch));
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(write(t, 0)).ok());
  node.machine().faults().io_error_ppm = 1'000'000;
  Status failed = node.apply(write(t, 1));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::kIo);
  node.machine().faults().io_error_ppm = 0;
  EXPECT_FALSE(node.apply(write(t, 2)).ok());
  ASSERT_EQ(node.failures.size(), 1u);
  EXPECT_EQ(node.failures[0].first, FailurePolicy::kStop);
}

// The kernel takes the pages for clean, so the next process reads records that the disk never got.
TEST(CommitLogTest, AReplayBringsToTheDiskWhatAFailedSyncDidNot) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Node node(seed, 1, with_sync(CommitLogSync::kPeriodic));
    auto t = node.table("t");
    ASSERT_TRUE(node.apply(write(t, 0)).ok());
    ASSERT_TRUE(node.run(node.engine().sync_commitlog()).ok());
    for (int c = 1; c < 50; ++c) ASSERT_TRUE(node.apply(write(t, c)).ok());
    node.machine().faults().io_error_ppm = 1'000'000;
    node.world().run_until([&] { return !node.failures.empty(); }, std::chrono::minutes(1));
    node.machine().faults().io_error_ppm = 0;
    ASSERT_EQ(node.failures.size(), 1u);
    node.restart();
    ASSERT_EQ(node.read("t", "key"), rows(50));
    node.crash();
    ASSERT_TRUE(node.boot()) << node.error();
    ASSERT_EQ(node.read("t", "key"), rows(50)) << seed;
  }
}

TEST(CommitLogTest, WithPolicyIgnoreLaterWritesGoToAFreshSegment) {
  EngineOptions options = with_sync(CommitLogSync::kBatch);
  options.commit_failure_policy = FailurePolicy::kIgnore;
  Node node(1, 1, options);
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(write(t, 0)).ok());
  node.machine().faults().io_error_ppm = 1'000'000;
  EXPECT_FALSE(node.apply(write(t, 1)).ok());
  node.machine().faults().io_error_ppm = 0;
  ASSERT_TRUE(node.apply(write(t, 2)).ok());
  EXPECT_TRUE(node.failures.empty());
  node.crash();
  ASSERT_TRUE(node.boot()) << node.error();
  Lines found = node.read("t", "key");
  EXPECT_EQ(found.front(), "key");
  EXPECT_EQ(found[1], "  0: v=x@1");
  EXPECT_EQ(found.back(), "  2: v=x@3");
}

TEST(CommitLogTest, AFullSegmentWhoseSyncFailsGoesLikeAnyOther) {
  EngineOptions options;
  options.commit_failure_policy = FailurePolicy::kIgnore;
  Node node(1, 1, options);
  auto t = node.table("t");
  size_t acknowledged = 0;
  auto write_hundred = [&](int first) {
    for (int c = first; c < first + 100; ++c) acknowledged += node.apply(write(t, c, std::string(1000, 'x'))).ok();
  };
  write_hundred(0);
  node.machine().faults().io_error_ppm = 1'000'000;
  write_hundred(100);
  node.world().run_for(std::chrono::seconds(1));
  node.machine().faults().io_error_ppm = 0;
  write_hundred(200);
  EXPECT_GE(acknowledged, 200u);
  EXPECT_GE(node.engine().maintenance().statistics().commitlog_segments, 4u);
  node.flush();
  EXPECT_EQ(node.engine().maintenance().statistics().commitlog_segments, 1u);
  EXPECT_LE(segments(node).size(), 2u);  // with the one that is prepared
  EXPECT_EQ(node.read("t", "key").size(), 1 + acknowledged);
}

TEST(CommitLogTest, ATornTailIsTheEnd) {
  Node node;
  for (int c = 0; c < 5; ++c) ASSERT_TRUE(node.apply(write(node.table("t"), c)).ok());
  std::string path = segments(node)[0];
  Bytes file = contents(node.disk(), path);
  size_t end = file.find_last_not_of('\0');
  file[end - 2] ^= 1;  // in the last record, behind the last marker
  replace(node, path, file);
  node.restart();
  EXPECT_EQ(node.read("t", "key"), rows(4));
}

class Corrupt : public testing::TestWithParam<FailurePolicy> {};

TEST_P(Corrupt, DamageBeforeTheLastMarkerIsReportedByFileAndOffset) {
  EngineOptions options;
  options.commit_failure_policy = GetParam();
  Node node(1, 1, options);
  for (int c = 0; c < 5; ++c) ASSERT_TRUE(node.apply(write(node.table("t"), c)).ok());
  ASSERT_TRUE(node.run(node.engine().sync_commitlog()).ok());
  std::string path = segments(node)[0];
  Bytes file = contents(node.disk(), path);
  size_t end = file.find_last_not_of('\0');
  size_t value = file.find("key");
  value = file.find("key", value + 1);  // of the second record
  file[value] ^= 1;
  replace(node, path, file);
  node.kill();
  bool booted = node.boot();
  if (GetParam() == FailurePolicy::kIgnore) {
    ASSERT_TRUE(booted);
    const Lines readable{"key", "  0: v=x@1", "  2: v=x@3", "  3: v=x@4", "  4: v=x@5"};
    EXPECT_EQ(node.read("t", "key"), readable);
    // The segment is kept for whoever can read the record; later starts leave it alone.
    node.flush();
    EXPECT_FALSE(node.disk().exists(path));
    EXPECT_EQ(contents(node.disk(), path + ".damaged"), file);
    node.restart();
    EXPECT_EQ(node.read("t", "key"), readable);
    EXPECT_EQ(contents(node.disk(), path + ".damaged"), file);
    return;
  }
  ASSERT_FALSE(booted);
  // The record begins where the first one ends.
  Reader in(file);
  auto descriptor = read_segment_header(file, path);
  ASSERT_TRUE(descriptor.ok());
  size_t first = descriptor->header_size + kMarkerSize;
  size_t second = first + kRecordOverhead + load_be<uint32_t>(file.data() + first);
  ASSERT_LT(second, end);
  EXPECT_EQ(node.error(), fmt::format("Failed commit log replay: Mutation checksum failure at {} in {}", second, path));
}

INSTANTIATE_TEST_SUITE_P(CommitLog, Corrupt,
                         testing::Values(FailurePolicy::kDie, FailurePolicy::kStop, FailurePolicy::kStopCommit,
                                         FailurePolicy::kIgnore));

TEST(CommitLogTest, SegmentsGoWhenTheirTablesHaveFlushed) {
  Node node;
  auto t = node.table("t");
  for (int c = 0; c < 200; ++c) ASSERT_TRUE(node.apply(write(t, c, std::string(1000, 'x'))).ok());
  EXPECT_EQ(node.engine().maintenance().statistics().commitlog_segments, 4u);
  ASSERT_TRUE(node.apply(Update(node.table("kv"), "other").row(std::vector<int32_t>{}).cell("v1", "y")).ok());
  node.flush();
  EXPECT_EQ(node.engine().maintenance().statistics().commitlog_segments, 1u);
  // Adopted ones as well.
  for (int c = 0; c < 100; ++c) ASSERT_TRUE(node.apply(write(t, c, std::string(1000, 'y'))).ok());
  node.restart();
  EXPECT_GE(node.engine().maintenance().statistics().commitlog_segments, 2u);
  node.flush();
  EXPECT_EQ(node.engine().maintenance().statistics().commitlog_segments, 1u);
  EXPECT_EQ(node.read("t", "key").size(), 201u);
}

// Between two segments of a shard are those of other shards, for Cassandra in the same log.
TEST(CommitLogTest, AnSSTableNamesThePartOfEachSegmentThatItHas) {
  Node node;
  auto t = node.table("t");
  const auto intervals = [&] {
    std::vector<std::pair<CommitLogPosition, CommitLogPosition>> all;
    for (const SSTableInfo& info : node.engine().maintenance().sstables(t->id)) {
      all.insert(all.end(), info.commit_log_intervals.begin(), info.commit_log_intervals.end());
    }
    return all;
  };
  for (int round = 0; round < 2; ++round) {
    for (int c = 0; c < 200; ++c) ASSERT_TRUE(node.apply(write(t, c, std::string(1000, 'x'))).ok());
    node.flush();
  }
  EXPECT_EQ(intervals().size(), 8u);
  for (const auto& [from, to] : intervals()) EXPECT_EQ(from.segment, to.segment);
  // A compaction forgets segments that are gone.
  ASSERT_TRUE(node.run(node.engine().maintenance().compact({}, {})).ok());
  EXPECT_EQ(intervals().size(), 1u);
}

TEST(CommitLogTest, AFullLogFlushesItsOldestTables) {
  EngineOptions options;
  options.commitlog_total_bytes = 256 << 10;
  Node node(1, 1, options);
  for (int c = 0; c < 1000; ++c) ASSERT_TRUE(node.apply(write(node.table("t"), c, std::string(1000, 'x'))).ok());
  node.world().run_for(std::chrono::seconds(1));
  EXPECT_LE(node.engine().maintenance().statistics().commitlog_segments, 5u);
  EXPECT_GE(node.engine().maintenance().sstables(node.table("t")->id).size(), 1u);
  EXPECT_EQ(node.read("t", "key").size(), 1001u);
}

// A replay cannot read past writes of a table that it does not know.
TEST(CommitLogTest, ADropTakesNothingFromTablesThatAreInTheSameRecords) {
  for (bool after_restart : {false, true}) {
    Node node;
    const TablePtr kv = node.table("kv"), t = node.table("t");
    const auto write_both = [&](const std::string& column) {
      Update gone(t, "key"), stays(kv, "key");
      gone.row(1).cell("v", "x");
      stays.row(std::vector<int32_t>{}).cell(column, "y");
      const PartitionUpdate updates[] = {gone.build(), stays.build()};
      const Mutation both{"ks", updates[0].key, updates};
      ASSERT_TRUE(node.run(node.engine().apply(both)).ok());
    };
    write_both("v1");
    if (after_restart) node.restart();
    // That one has no records in the log any more, and the other still has the same ones.
    ASSERT_TRUE(node.run(node.engine().maintenance().flush({"ks", "t"})).ok());
    ASSERT_TRUE(node.run(node.engine().prepare_drop({t->id})).ok());
    write_both("v2");
    node.set_tables({kv});
    node.restart();
    EXPECT_EQ(node.read("kv", "key"), (Lines{"key", "  v1=y@1 v2=y@1"})) << after_restart;
  }
}

TEST(CommitLogTest, AFlushOfOneTableBringsTheRecordsThatItSharesToTheDisk) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Node node(seed, 1, with_sync(CommitLogSync::kPeriodic));
    for (int c = 0; c < 50; ++c) {
      Update one(node.table("t"), "key"), other(node.table("kv"), "key");
      one.row(c).cell("v", "x").at(c + 1);
      other.row(std::vector<int32_t>{}).at(c + 1).cell("v1", std::to_string(c));
      const PartitionUpdate updates[] = {one.build(), other.build()};
      const Mutation both{"ks", updates[0].key, updates};
      ASSERT_TRUE(node.run(node.engine().apply(both)).ok());
    }
    ASSERT_TRUE(node.run(node.engine().maintenance().flush({"ks", "kv"})).ok());
    node.crash();
    ASSERT_TRUE(node.boot()) << node.error();
    ASSERT_EQ(node.read("kv", "key"), (Lines{"key", "  v1=49@50"})) << seed;
    ASSERT_EQ(node.read("t", "key").size(), 51u) << seed;
  }
}

TEST(CommitLogTest, ADropWaitsUntilTheDiskHasRoomForWhatSharesItsRecords) {
  Node node;
  Update gone(node.table("t"), "key"), stays(node.table("kv"), "key");
  gone.row(1).cell("v", "x");
  stays.row(std::vector<int32_t>{}).cell("v1", "y");
  const PartitionUpdate updates[] = {gone.build(), stays.build()};
  const Mutation both{"ks", updates[0].key, updates};
  ASSERT_TRUE(node.run(node.engine().apply(both)).ok());
  node.machine().faults().disk_full_ppm = 1'000'000;
  const Status refused = node.run(node.engine().prepare_drop({node.table("t")->id}));
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().message().starts_with(
      "ks.t cannot be dropped: writes of ks.kv that share records of the commit log with it cannot be flushed: "))
      << refused.error().message();
  node.machine().faults().disk_full_ppm = 0;
  const auto records_of_write = [&] {
    const uint64_t before = node.engine().maintenance().statistics().commitlog_completed;
    EXPECT_TRUE(node.run(node.engine().apply(both)).ok());
    return node.engine().maintenance().statistics().commitlog_completed - before;
  };
  const Uuid dropped[] = {node.table("t")->id};
  EXPECT_EQ(records_of_write(), 2u);
  // Until it is certain that the table stays, whatever else changes in the schema.
  node.set_tables({node.table("kv"), node.table("t")});
  EXPECT_EQ(records_of_write(), 2u);
  node.engine().cancel_drop(dropped);
  EXPECT_EQ(records_of_write(), 1u);
  EXPECT_TRUE(node.run(node.engine().prepare_drop({dropped[0]})).ok());
}

TEST(CommitLogTest, SegmentsThatWereNeverSyncedGo) {
  for (unsigned shards : {1u, 2u}) {
    Node node(1, shards);
    node.kill();
    Disk& disk = node.machine().boot(1).shard(0).disk;
    for (const char* id : {"1001", "1002"}) {
      ASSERT_TRUE(disk.create_mapped(std::string("/commitlog/CommitLog-8-") + id + ".log", 64 << 10).ok());
    }
    node.machine().shut_down();
    ASSERT_TRUE(node.boot()) << node.error();
    for (const std::string& path : segments(node)) EXPECT_EQ(path.find("-100"), std::string::npos) << path;
  }
}

// A write that has to wait since a sync takes too long waits for the next one, which begins at once.
TEST(CommitLogTest, NoWriteWaitsForAPeriodBehindASlowSync) {
  int waited = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EngineOptions options = with_sync(CommitLogSync::kPeriodic);
    options.commitlog_sync_period = std::chrono::seconds(10);
    Node node(seed, 1, options);
    SimFaults& faults = node.machine().faults();
    faults.max_sync_delay = std::chrono::seconds(8);
    ASSERT_TRUE(node.apply(write(node.table("t"), 0)).ok());
    node.world().run_for(std::chrono::seconds(16));
    faults.max_sync_delay = std::chrono::milliseconds(1);
    std::optional<Status> applied;
    Update update = write(node.table("t"), 1);
    const Mutation mutation = update.mutation();
    spawn(finish<Status>(node.engine().apply(mutation), &applied));
    waited += applied.has_value() ? 0 : 1;
    EXPECT_TRUE(node.world().run_until([&] { return applied.has_value(); }, std::chrono::milliseconds(9500))) << seed;
  }
  EXPECT_GT(waited, 0);
}

// Writes of batch mode wait for each sync.
TEST(CommitLogTest, TellsOfSlowSyncsOnceAMinute) {
  Node node(1, 1, with_sync(CommitLogSync::kBatch));
  ASSERT_TRUE(node.apply(write(node.table("t"), 0)).ok());
  node.machine().faults().max_sync_delay = std::chrono::seconds(8);
  CapturedLog log;
  for (int c = 1; c <= 5; ++c) ASSERT_TRUE(node.apply(write(node.table("t"), c)).ok());
  EXPECT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(log.count("A sync of the commit log in /commitlog took "), 1u);
}

TEST(CommitLogTest, AMutationLargerThanHalfASegmentIsRefused) {
  Node node;
  Status status = node.apply(write(node.table("t"), 1, std::string(40000, 'x')));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalid);
  EXPECT_TRUE(status.error().message().starts_with("Rejected an oversized mutation (40")) << status.error().message();
  EXPECT_TRUE(status.error().message().ends_with("for keyspace: ks. Top keys are: t.key")) << status.error().message();
}

TEST(CommitLogTest, AnotherNumberOfShardsReplaysEverythingOnce) {
  Node node(1, 2);
  auto t = node.table("t");
  Lines expected;
  for (char key = 'a'; key <= 'z'; ++key) {
    ASSERT_TRUE(node.apply(Update(t, std::string(1, key)).row(1).cell("v", "x")).ok());
  }
  EXPECT_TRUE(node.engine(0).foreign_segments().empty());
  node.kill();
  node.set_shards(3);
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_EQ(node.scan("t").size(), 52u);
  EXPECT_EQ(node.engine(0).foreign_segments().size(), 2u);
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(node.run(node.engine(i).maintenance().flush({})).ok());
  ASSERT_TRUE(node.engine(1).remove_foreign_segments().ok());
  // SSTables of three shards, opened by two.
  node.kill();
  node.set_shards(2);
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_EQ(node.scan("t").size(), 52u);
}

// A disk on which another shard is always faster to rename a file.
class DiskOfFasterShards final : public test::ForwardingDisk {
 public:
  using ForwardingDisk::ForwardingDisk;
  Status rename(const std::string& from, const std::string& to) override {
    TRY(disk_.rename(from, to));
    return disk_.rename(from, to);
  }
};

TEST(CommitLogTest, AllShardsSetADamagedSegmentOfAnotherOwnerAside) {
  EngineOptions options;
  options.commitlog_sync = CommitLogSync::kBatch;
  options.commit_failure_policy = FailurePolicy::kIgnore;
  Node node(1, 1, options);
  ASSERT_TRUE(node.apply(write(node.table("t"), 0)).ok());
  const std::string path = segments(node)[0];
  Bytes file = contents(node.disk(), path);
  file[file.find("key")] ^= 1;
  replace(node, path, file);
  node.kill();
  node.set_shards(2);
  node.wrap_disk = [](Disk& disk) { return std::make_unique<DiskOfFasterShards>(disk); };
  ASSERT_TRUE(node.boot()) << node.error();
  ASSERT_EQ(node.engine(0).foreign_segments(), std::vector<std::string>{path});
  for (unsigned i = 0; i < 2; ++i) {
    const Status removed = node.engine(i).remove_foreign_segments();
    EXPECT_TRUE(removed.ok()) << removed.error().message();
  }
  EXPECT_TRUE(node.disk().exists(path + ".damaged"));
}

// CommitLog-8-1795223318699.log of a Cassandra 5.0.9 (storage_compatibility_mode NONE) begins with these bytes: header,
// marker, and the size of the first record with its checksum.
TEST(SegmentFormatTest, ReadsAHeaderOfCassandra) {
  Bytes head;
  ASSERT_TRUE(from_hex("00000008000001a1fba5f0ab00027b7ddad1cbff00000cdc249cbb290000005ead97a3ef", &head));
  auto descriptor = read_segment_header(head, "f");
  ASSERT_TRUE(descriptor.ok()) << descriptor.error().message();
  EXPECT_EQ(descriptor->version, 8);
  EXPECT_EQ(descriptor->id, 1795223318699);
  EXPECT_FALSE(descriptor->writer.has_value());
  uint32_t at = descriptor->header_size;
  EXPECT_EQ(load_be<uint32_t>(head.data() + at + 4), marker_crc(descriptor->id, at));
  at += kMarkerSize;
  EXPECT_EQ(load_be<uint32_t>(head.data() + at + 4), size_crc(load_be<uint32_t>(head.data() + at)));
}

// A segment by hand: records of one letter, and markers before them, of which a power failure may leave less.
class HandMadeSegment {
 public:
  enum Left { kAll, kNothing, kFirstHalf, kSecondHalf };

  // So that the next marker lies in two sectors, with a half in each.
  void fill_sector() { record('.', (506 - file_.size() % 512 + 1024 - kRecordOverhead) % 512 + 512); }
  void record(char letter, size_t size = 20) {
    const Bytes mutation(size, letter);
    append_be(file_, static_cast<uint32_t>(size));
    append_be(file_, size_crc(static_cast<uint32_t>(size)));
    file_ += mutation;
    append_be(file_, crc32(mutation, size_crc(static_cast<uint32_t>(size))));
  }
  // Ends the section before it, whose marker is then as `left` says.
  void marker(Left left) {
    const auto end = static_cast<uint32_t>(file_.size());
    if (open_ != 0) store_marker(file_.data(), kId, open_, end);
    if (open_ != 0 && left_ == kNothing) file_.replace(open_, kMarkerSize, kMarkerSize, '\0');
    if (open_ != 0 && left_ == kFirstHalf) file_.replace(open_ + 4, 4, 4, '\7');
    if (open_ != 0 && left_ == kSecondHalf) file_.replace(open_, 4, 4, '\0');
    open_ = end;
    left_ = left;
    file_.append(kMarkerSize, '\0');
  }
  // The letters of the records that are found, without those that only fill.
  std::string read() {
    marker(kNothing);
    file_.append(1000, '\0');
    std::string letters;
    auto refuse = [](const Error& error) { return Status(error); };
    SegmentReadOptions options{.on_damage = refuse};
    auto found =
        read_segment(file_, "f", {.id = kId, .header_size = kHeader}, options, [&](BytesView mutation, uint32_t) {
          if (mutation[0] != '.') letters += mutation[0];
          return Status();
        });
    return found.ok() ? letters : found.error().message();
  }

 private:
  static constexpr int64_t kId = 77;
  static constexpr uint32_t kHeader = 40;
  Bytes file_ = Bytes(kHeader, 'h');
  uint32_t open_ = 0;  // the last marker
  Left left_ = kAll;
};

TEST(SegmentReaderTest, GoesOnBehindMarkersThatAPowerFailureLeftByHalf) {
  using Segment = HandMadeSegment;
  for (Segment::Left first : {Segment::kAll, Segment::kNothing, Segment::kFirstHalf, Segment::kSecondHalf}) {
    for (Segment::Left second : {Segment::kAll, Segment::kNothing, Segment::kFirstHalf, Segment::kSecondHalf}) {
      Segment segment;
      segment.marker(Segment::kAll);
      segment.record('a');
      segment.fill_sector();
      segment.marker(first);
      segment.record('b');
      segment.fill_sector();
      segment.marker(second);
      segment.record('c');
      segment.marker(Segment::kAll);
      segment.record('d');
      EXPECT_EQ(segment.read(), "abcd") << first << second;
    }
  }
}

TEST(SegmentReaderTest, AMarkerWithinASectorIsNeverStoredByHalf) {
  HandMadeSegment segment;
  segment.marker(HandMadeSegment::kFirstHalf);
  segment.record('a');
  segment.marker(HandMadeSegment::kAll);
  EXPECT_EQ(segment.read(),
            "Encountered bad header at position 40 of commit log f, with invalid CRC. The end of segment marker "
            "should be zero.");
}

TEST(SegmentFormatTest, NamesAreCassandras) {
  EXPECT_EQ(segment_file_name(1795223318699), "CommitLog-8-1795223318699.log");
  EXPECT_EQ(segment_id_of("CommitLog-7-12.log"), 12);
  EXPECT_EQ(segment_id_of("CommitLog-7-12_cdc.idx"), std::nullopt);
  EXPECT_EQ(segment_id_of("CommitLog-12.log"), std::nullopt);
}

// A new sum of a counter, and reads that begin before it is on the disk.
class CountsThatAreNotOnTheDisk : public testing::TestWithParam<CommitLogSync> {
 protected:
  using Read = std::optional<Result<ReadStatistics>>;
  struct Partitions : UnfilteredSink {
    void begin_partition(const Partition&) override { ++begun; }
    void unfiltered(const Unfiltered&) override {}
    bool end_partition() override { return true; }
    int begun = 0;
  };

  CountsThatAreNotOnTheDisk() {
    one.row(1).cell("n", make_counter_update(1));
    request.command = command;
    request.columns = ColumnFilter::all(*command.table);
  }
  ReadCommand of_counter() {
    ReadCommand read = node.command("n");
    read.keys = {DecoratedKey::of("counter")};
    return read;
  }
  void add() { spawn(finish<Result<SerializedMutation>>(node.engine().apply_counter(one.mutation()), &added)); }
  void read() {
    spawn(finish<Result<ReadStatistics>>(node.engine().read(command, rows), &live));
    spawn(finish<Result<ReadStatistics>>(node.engine().read_unfiltered(request, partitions), &unfiltered));
  }

  Node node{1, 1, with_sync(GetParam())};
  Update one{node.table("n"), "counter"};
  const ReadCommand command = of_counter();
  ReadRequest request;
  std::optional<Result<SerializedMutation>> added;
  TextSink rows{*node.table("n")};
  Partitions partitions;
  Read live, unfiltered;
};

// A coordinator may bring to other replicas what it reads here.
TEST_P(CountsThatAreNotOnTheDisk, AreReadOnceTheyAre) {
  add();
  read();
  EXPECT_EQ(node.read("t", "other"), Lines());  // nothing counts there
  EXPECT_FALSE(added.has_value());
  EXPECT_FALSE(live.has_value());
  EXPECT_FALSE(unfiltered.has_value());
  ASSERT_TRUE(node.world().run_until([&] { return live && unfiltered; }, std::chrono::seconds(10)));
  EXPECT_TRUE(live->ok() && unfiltered->ok());
  EXPECT_TRUE(added.has_value() && added->ok());
  EXPECT_EQ(rows.lines.size(), 2u);
  EXPECT_EQ(partitions.begun, 1);
  node.crash();
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_EQ(node.counter("counter"), 1);
}

TEST_P(CountsThatAreNotOnTheDisk, AreReadWhereTheLogHasFailed) {
  node.machine().faults().io_error_ppm = 1'000'000;
  add();
  read();
  ASSERT_TRUE(node.world().run_until([&] { return live && unfiltered; }, std::chrono::seconds(10)));
  EXPECT_TRUE(live->ok() && unfiltered->ok());
  EXPECT_TRUE(added.has_value() && !added->ok());
  node.machine().faults().io_error_ppm = 0;
  EXPECT_EQ(node.counter("counter"), 1);
}

INSTANTIATE_TEST_SUITE_P(CommitLog, CountsThatAreNotOnTheDisk,
                         testing::Values(CommitLogSync::kBatch, CommitLogSync::kGroup));

}  // namespace
}  // namespace cassandra_like::storage_test
