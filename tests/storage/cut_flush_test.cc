// Flushes that UnifiedCompactionStrategy cuts: several SSTables, which appear in one step.
#include <set>

#include <fmt/format.h>

#include "failed_commit.h"
#include "fixture.h"
#include "storage/compaction/strategy/options.h"
#include "storage/compaction/strategy/owned_ranges.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_version.h"
#include "storage/sstable/statistics.h"
#include "storage/sstable/transaction_log.h"
#include "tests/support/forwarding_disk.h"
#include "tests/support/sanitized.h"

namespace cassandra_like::storage_test::cut_flush_test {
namespace {

using Fault = SimFaults::Fault;

StringPairs cut_into(const std::string& shares) {
  return {{"class", "UnifiedCompactionStrategy"}, {"min_sstable_size", "0B"}, {"base_shard_count", shares}};
}

TablePtr table_with(StringPairs compaction, bool has_index = false) {
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  table->params.compaction = normal_compaction(compaction).value();
  if (has_index) {
    IndexMetadata index;
    index.name = "by";
    index.options["target"] = "v";
    table->indexes[index.name] = index;
  }
  return table;
}

EngineOptions careful() {
  EngineOptions options;
  options.commitlog_sync = CommitLogSync::kBatch;
  options.disk_failure_policy = FailurePolicy::kIgnore;
  return options;
}

// So many SSTables a start would take, if no transaction said otherwise.
size_t whole_in(Disk& disk, const std::string& directory) {
  const auto entries = disk.list(directory);
  if (!entries.ok()) return 0;  // there is no directory yet
  return static_cast<size_t>(std::count_if(entries->begin(), entries->end(), [](const DirectoryEntry& entry) {
    return entry.name.ends_with(components::kToc);
  }));
}

// A node whose table t is cut so. Its keys are key0, key1, …
class CutFlush {
 public:
  explicit CutFlush(StringPairs compaction, EngineOptions options = careful(), uint64_t seed = 1, unsigned shards = 1)
      : node(seed, shards, std::move(options), {table_with(std::move(compaction))}) {}

  void write(int keys, int64_t timestamp = 1) {
    for (int key = 0; key < keys; ++key) {
      Update row(node.table("t"), fmt::format("key{}", key));
      ASSERT_TRUE(node.apply(row.at(timestamp).row(1).cell("v", "x")).ok());
    }
  }
  Status flush() { return node.run(node.engine().maintenance().flush({})); }
  std::vector<SSTableInfo> sstables(unsigned shard = 0) {
    std::vector<SSTableInfo> found = node.engine(shard).maintenance().sstables(node.table("t")->id);
    std::sort(found.begin(), found.end(), [](const SSTableInfo& a, const SSTableInfo& b) {
      return DecoratedKey::of(a.first_key) < DecoratedKey::of(b.first_key);
    });
    return found;
  }
  std::string directory() { return "/data/ks/" + node.table("t")->directory_name(); }
  size_t whole_on_disk() {
    size_t out = 0;
    for (const std::string& data : node.options.data_directories) {
      out += whole_in(node.disk(), data + "/ks/" + node.table("t")->directory_name());
    }
    return out;
  }

  Node node;
};

// The share of the ring that a key lies in, and that it is alone there.
std::vector<std::pair<size_t, size_t>> shares_of(const std::vector<SSTableInfo>& sstables,
                                                 const std::vector<Token>& boundaries) {
  auto share = [&boundaries](const Bytes& key) {
    const Token token = DecoratedKey::of(key).token;
    return static_cast<size_t>(std::lower_bound(boundaries.begin(), boundaries.end(), token) - boundaries.begin());
  };
  std::vector<std::pair<size_t, size_t>> out;
  for (const SSTableInfo& info : sstables) out.emplace_back(share(info.first_key), share(info.last_key));
  return out;
}

using Shares = std::vector<std::pair<size_t, size_t>>;  // of the first and the last key of each SSTable

TEST(CutFlush, EachShareOfTheRingGetsAnSSTable) {
  CutFlush c(cut_into("4"));
  c.write(40);
  const Lines before = c.node.scan("t");
  ASSERT_TRUE(c.flush().ok());
  EXPECT_EQ(shares_of(c.sstables(), OwnedRanges().boundaries(4)), (Shares{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
  uint64_t partitions = 0;
  for (const SSTableInfo& info : c.sstables()) {
    partitions += info.partitions;
    EXPECT_EQ(info.commit_log_intervals, c.sstables()[0].commit_log_intervals);
  }
  EXPECT_EQ(partitions, 40u);
  EXPECT_EQ(c.node.scan("t"), before);
  EXPECT_EQ(c.whole_on_disk(), 4u);
  c.node.crash();
  ASSERT_TRUE(c.node.boot()) << c.node.error();
  EXPECT_EQ(c.node.scan("t"), before);
  EXPECT_EQ(c.sstables().size(), 4u);
}

// ShardedMultiWriter makes none for a share without a key.
// Cassandra takes it for the density of the SSTable.
TEST(CutFlush, StatisticsTellTheShareOfTheRing) {
  CutFlush shop(cut_into("4"), careful(), 1, 2);
  auto told = [&shop](const SSTableInfo& info) {
    auto file = shop.node.disk().open(info.descriptor.file(components::kStatistics));
    Bytes content((*file)->size(), '\0');
    EXPECT_TRUE((*file)->read(0, content).ok());
    return Statistics::parse(content, *info.descriptor.known_version())->token_space_coverage;
  };
  auto check_both = [&](size_t of_a_shard) {
    for (unsigned shard = 0; shard < 2; ++shard) {
      const OwnedRanges ranges = OwnedRanges::of_shard(std::vector<OwnedRange>{OwnedRange{}}, shard, 2);
      const std::vector<SSTableInfo> sstables = shop.sstables(shard);
      EXPECT_EQ(sstables.size(), of_a_shard);
      for (const SSTableInfo& info : sstables) {
        const double share =
            ranges.spanned(DecoratedKey::of(info.first_key).token, DecoratedKey::of(info.last_key).token);
        EXPECT_EQ(told(info), share);
        EXPECT_LT(share, 0.5 / static_cast<double>(of_a_shard) + 0.001);
      }
    }
  };
  shop.write(1000);
  for (unsigned shard : {0, 1}) ASSERT_TRUE(shop.node.run(shop.node.engine(shard).maintenance().flush({})).ok());
  check_both(4);
  for (unsigned shard : {0, 1}) ASSERT_TRUE(shop.node.run(shop.node.engine(shard).maintenance().compact({})).ok());
  check_both(4);
}

TEST(CutFlush, SharesWithoutKeysAreLeftOut) {
  CutFlush c(cut_into("4"));
  c.write(1);
  ASSERT_TRUE(c.flush().ok());
  ASSERT_TRUE(c.flush().ok());  // of nothing
  EXPECT_EQ(c.sstables().size(), 1u);
  EXPECT_EQ(c.node.scan("t"), (Lines{"key0", "  1: v=x@1"}));
}

// The flushes before tell the size of this one: with it, an SSTable of a share would have more than min_sstable_size.
TEST(CutFlush, TheFirstOfATableIsWholeUnlessSSTablesMayBeSmall) {
  StringPairs compaction = cut_into("4");
  compaction["min_sstable_size"] = "100B";
  CutFlush c(compaction);
  c.write(100);
  ASSERT_TRUE(c.flush().ok());
  ASSERT_EQ(c.sstables().size(), 1u);
  ASSERT_GT(c.sstables()[0].data_bytes, 400u);
  c.write(100, 2);
  ASSERT_TRUE(c.flush().ok());
  EXPECT_EQ(c.sstables().size(), 5u);
}

TEST(CutFlush, OfSmallFlushesTheDefaultMakesOneSSTable) {
  CutFlush c(StringPairs{{"class", "UnifiedCompactionStrategy"}});
  for (int i = 0; i < 3; ++i) {
    c.write(40, i);
    ASSERT_TRUE(c.flush().ok());
  }
  EXPECT_EQ(c.sstables().size(), 3u);
}

TEST(CutFlush, EachShardCutsItsOwnPart) {
  CutFlush c(cut_into("2"), careful(), 1, 2);
  c.write(80);
  for (unsigned shard = 0; shard < 2; ++shard) {
    ASSERT_TRUE(c.node.run(c.node.engine(shard).maintenance().flush({})).ok());
    const OwnedRanges own = OwnedRanges::of_shard(std::vector<OwnedRange>{OwnedRange{}}, shard, 2);
    EXPECT_EQ(shares_of(c.sstables(shard), own.boundaries(2)), (Shares{{0, 0}, {1, 1}})) << shard;
  }
}

// Ten bits a key: a filter that had room for the keys of all outputs would take memory for nothing.
TEST(CutFlush, FiltersHaveRoomForTheKeysOfTheirOwnSSTable) {
  CutFlush c(cut_into("4"));
  c.write(2000);
  ASSERT_TRUE(c.flush().ok());
  ASSERT_EQ(c.sstables().size(), 4u);
  for (const SSTableInfo& info : c.sstables()) {
    const uint64_t filter = c.node.disk().open(info.descriptor.file(components::kFilter)).value()->size();
    const auto keys = static_cast<double>(info.partitions);
    EXPECT_GT(static_cast<double>(filter) * 8 / keys, 9) << info.descriptor.file(components::kFilter);
    EXPECT_LT(static_cast<double>(filter) * 8 / keys, 13) << info.descriptor.file(components::kFilter);
  }
}

// Enumerations look at each operation on the disk; with a sanitizer, at some.
constexpr uint64_t kOperations = test::kIsSanitized ? 7 : 1;

bool has_come(const SimFaults& faults) { return faults.operations_until_fault.value_or(0) == 0; }

// The node ends at an operation of a flush: with some outputs whole on the disk, with all, or with none.
struct EndedFlush {
  bool came = false;          // the end, before the flush was done
  size_t outputs_before = 0;  // that were whole on the disk
};

EndedFlush end_flush_at(uint64_t operations, bool loses_power) {
  CutFlush c(cut_into("4"), careful(), operations + 1);
  c.write(20);
  const Lines written = c.node.scan("t");
  SimFaults& faults = c.node.machine().faults();
  faults.operations_until_fault = operations;
  faults.fault = Fault::kAllAfter;
  EndedFlush out;
  out.came = !c.flush().ok();
  out.came |= has_come(faults);
  out.outputs_before = c.whole_on_disk();
  faults = SimFaults();
  loses_power ? c.node.crash() : c.node.kill();
  EXPECT_TRUE(c.node.boot()) << c.node.error();
  EXPECT_EQ(c.node.scan("t"), written) << operations;
  // Nothing is left of those that do not count.
  const size_t live = c.sstables().size();
  EXPECT_EQ(c.whole_on_disk(), live) << operations;
  EXPECT_TRUE(live == 0 || live == 4) << operations << ": " << live;
  return out;
}

TEST(CutFlush, AllOfItsOutputsCountOrTheLogIsReplayed) {
  for (bool loses_power : {false, true}) {
    std::set<size_t> outputs_before;
    EndedFlush ended;
    for (uint64_t operations = 0; (ended = end_flush_at(operations, loses_power)).came; operations += kOperations) {
      outputs_before.insert(ended.outputs_before);
    }
    EXPECT_EQ(outputs_before, (std::set<size_t>{0, 1, 2, 3, 4})) << loses_power;
  }
}

struct FailedCommitCase {
  CommitFault fault;
  std::vector<std::string> data_directories;
  bool loses_power;
};

// The node ends so many operations after a COMMIT that failed. False: they were more than came.
bool end_after_failed_commit(const FailedCommitCase& failed, uint64_t operations) {
  EngineOptions options = careful();
  options.data_directories = failed.data_directories;
  CutFlush c(cut_into("4"), options, operations + 1);
  SimFaults& faults = c.node.machine().faults();
  bool wraps = true;
  c.node.wrap_disk = [&](Disk& disk) -> std::unique_ptr<Disk> {
    if (!wraps) return std::make_unique<test::ForwardingDisk>(disk);
    return std::make_unique<FailedCommit>(disk, faults, failed.fault, operations);
  };
  c.node.restart();
  c.write(20);
  const Lines written = c.node.scan("t");
  static_cast<void>(c.flush());
  const bool came = faults.operations_until_fault == 0;
  EXPECT_TRUE(faults.operations_until_fault.has_value()) << "there was no COMMIT";
  faults = SimFaults();
  failed.loses_power ? c.node.crash() : c.node.kill();
  wraps = false;
  EXPECT_TRUE(c.node.boot()) << c.node.error();
  EXPECT_EQ(c.node.scan("t"), written) << operations;
  EXPECT_EQ(c.whole_on_disk(), c.sstables().size()) << operations;
  return came;
}

// All of the outputs count, or none and the log is replayed, while the flush is taken back.
TEST(CutFlush, WhoseCommitFailsLosesNothing) {
  for (CommitFault fault : {CommitFault::kDiskFull, CommitFault::kSync}) {
    for (const std::vector<std::string>& data : {std::vector<std::string>{"/a"}, {"/a", "/b"}}) {
      for (bool loses_power : {false, true}) {
        uint64_t operations = 0;
        while (end_after_failed_commit({fault, data, loses_power}, operations)) operations += kOperations;
        EXPECT_GT(operations, 30u);
      }
    }
  }
}

// Whether the fault has come. The flush is tried again, by the node itself when it has failed.
bool flush_with_fault(uint64_t operations, Fault fault, bool has_backups) {
  EngineOptions options = careful();
  options.incremental_backups = has_backups;
  CutFlush c(cut_into("4"), options, operations + 1);
  c.write(20);
  const Lines written = c.node.scan("t");
  SimFaults& faults = c.node.machine().faults();
  faults.operations_until_fault = operations;
  faults.fault = fault;
  const bool failed = !c.flush().ok();
  const bool came = has_come(faults);
  faults.operations_until_fault.reset();
  EXPECT_EQ(c.node.scan("t"), written) << operations;
  EXPECT_EQ(c.sstables().size(), failed ? 0u : 4u) << operations;
  c.node.world().run_for(std::chrono::seconds(10));
  EXPECT_EQ(c.sstables().size(), 4u) << operations;
  // Files that could not be removed at once go with the next compaction.
  c.node.compact();
  EXPECT_EQ(c.whole_on_disk(), 4u) << operations;
  std::set<std::string> backed_up;
  const auto found = find_sstables(c.node.disk(), c.directory() + "/backups").value();
  for (const SSTableOnDisk& files : found) {
    if (files.has(components::kToc)) backed_up.insert(files.descriptor.id);
  }
  EXPECT_EQ(backed_up.size(), has_backups ? 4u : 0u) << operations;
  c.node.restart();
  EXPECT_EQ(c.node.scan("t"), written) << operations;
  return came;
}

TEST(CutFlush, OneThatFailsLeavesNothingAndIsTriedAgain) {
  for (Fault fault : {Fault::kOne, Fault::kOneDiskFull}) {
    for (bool has_backups : {false, true}) {
      uint64_t operations = 0;
      while (flush_with_fault(operations, fault, has_backups)) operations += kOperations;
      EXPECT_GT(operations, 60u);
    }
  }
}

// Wherever errors of the disk stop flushes, compactions and truncations.
TEST(CutFlush, WhatAFailureLeftDoesNotComeBackAfterATruncation) {
  const uint64_t seeds = test::kIsSanitized ? 10 : 100;
  uint64_t failed = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    CutFlush c(cut_into("4"), careful(), seed);
    for (int round = 0; round < 2; ++round) {
      c.write(8, round);
      c.node.machine().faults().io_error_ppm = 10'000;
      if (!c.flush().ok()) ++failed;
      c.node.machine().faults().io_error_ppm = 0;
    }
    const auto positions = c.node.truncate(c.node.table("t"));
    ASSERT_TRUE(positions.ok()) << positions.error().message();
    c.node.truncated[c.node.table("t")->id] = {0, (*positions)[0], *positions};
    c.node.restart();
    EXPECT_EQ(c.node.scan("t"), Lines()) << seed;
  }
  EXPECT_GT(failed, seeds / 3);
}

// The first data directory has less room than the second, which is full once it has two SSTables.
class SmallSecondDisk final : public test::ForwardingDisk {
 public:
  using ForwardingDisk::ForwardingDisk;
  Result<DiskSpace> space(const std::string& path) override {
    return DiskSpace{.total = 1 << 30, .available = path.starts_with("/a/") ? 100u << 20 : 200u << 20};
  }
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    const bool is_data = path.starts_with("/b/") && path.ends_with(components::kData);
    if (is_data && ++created_ > 1) return Error(ErrorCode::kDiskFull, "cannot create " + path);
    return disk_.create(path);
  }

 private:
  int created_ = 0;
};

TEST(CutFlush, AnotherDirectoryTakesAllOfWhatOneCouldNot) {
  EngineOptions options = careful();
  options.data_directories = {"/a", "/b"};
  CutFlush c(cut_into("4"), options);
  c.node.wrap_disk = [](Disk& disk) { return std::make_unique<SmallSecondDisk>(disk); };
  c.node.restart();
  c.write(20);
  const Lines written = c.node.scan("t");
  ASSERT_TRUE(c.flush().ok());
  std::string directories;
  for (const SSTableInfo& info : c.sstables()) directories += info.descriptor.directory.substr(1, 1);
  EXPECT_EQ(directories, "aaaa");
  const std::string second = "/b/ks/" + c.node.table("t")->directory_name();
  EXPECT_TRUE(find_sstables(c.node.disk(), second).value().empty());
  EXPECT_EQ(c.node.scan("t"), written);
}

// DROP INDEX does not wait for the index's flush: nothing of it may stay where an index of the same name will be.
TEST(CutFlush, OfADroppedIndexLeavesNothing) {
  int dropped_between = 0;
  for (int steps = 0; steps < 240; steps += 4) {
    CutFlush c(cut_into("4"));
    const TablePtr plain = c.node.table("t"), indexed = table_with(cut_into("4"), true);
    c.node.set_tables({indexed});
    for (int key = 0; key < 20; ++key) {
      const std::string name = fmt::format("key{}", key);
      ASSERT_TRUE(c.node.apply(Update(indexed, name).row(1).cell("v", "value of " + name)).ok());
    }
    std::optional<Status> flushed;
    spawn(finish<Status>(c.node.engine().maintenance().flush({}), &flushed));
    for (int i = 0; i < steps && !flushed; ++i) c.node.world().step();
    const std::string of_index = c.directory() + "/.by";
    const size_t begun = whole_in(c.node.disk(), of_index);
    c.node.set_tables({plain});
    c.node.world().run_until([&] { return flushed.has_value(); }, std::chrono::hours(1));
    ASSERT_TRUE(flushed && flushed->ok()) << steps;
    dropped_between += begun > 0 && begun < 4 ? 1 : 0;
    EXPECT_EQ(whole_in(c.node.disk(), of_index), 0u) << steps;
    const auto entries = c.node.disk().list(of_index).value();
    for (const DirectoryEntry& entry : entries) {
      EXPECT_FALSE(is_transaction_log(entry.name)) << steps;
    }
  }
  EXPECT_GT(dropped_between, 3);
}

}  // namespace
}  // namespace cassandra_like::storage_test::cut_flush_test
