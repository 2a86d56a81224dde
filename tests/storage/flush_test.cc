// From the memtable to disk and back.
#include <set>

#include "fixture.h"
#include "model/counter.h"
#include "storage/sstable/sstable_partition_reader.h"
#include "storage/sstable/sstable_version.h"
#include "tests/support/sanitized.h"

namespace cassandra_like::storage_test {
namespace {

class FlushTest : public testing::Test {
 protected:
  Node node;
};

TEST_F(FlushTest, WhatWasFlushedReadsTheSame) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").at(3).static_row().cell("s", "st")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(4).row(1).live().cell("v", "x").element("m", "k", "v")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(4).row(5).live().cell("v", "gone")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(5).delete_range(4, true, 6, true)).ok());
  ASSERT_TRUE(node.apply(Update(t, "b").at(6).row(2).cell("w", "y")).ok());
  Lines before = node.scan("t");
  node.flush();
  EXPECT_EQ(node.engine().maintenance().sstables(t->id).size(), 1u);
  EXPECT_EQ(node.scan("t"), before);
  EXPECT_EQ(node.read("t", "a"), (Lines{"a [s=st@3]", "  1: @4 v=x@4 m[k]=v@4"}));
  EXPECT_EQ(node.engine().maintenance().statistics().commitlog_segments, 1u);
}

// A partition's rows have an index where they are more than a block.
TEST_F(FlushTest, TheSizeOfBlocksMayChange) {
  auto bytes_of_index = [this](const char* key) {
    const TablePtr t = node.table("t");
    Update rows(t, key);
    for (int c = 0; c < 100; ++c) rows.row(c).cell("v", std::string(100, 'x'));
    EXPECT_TRUE(node.apply(rows).ok());
    node.flush();
    const SSTableInfo info = node.engine().maintenance().sstables(t->id).back();
    return node.disk().open(info.descriptor.file("Rows.db")).value()->size();
  };
  EXPECT_EQ(node.engine().maintenance().settings().column_index_bytes, std::nullopt);
  const uint64_t of_format = bytes_of_index("a");
  EngineSettings settings;
  settings.column_index_bytes = 1024;
  node.engine().maintenance().use(settings);
  EXPECT_GT(bytes_of_index("b"), of_format);
  settings.column_index_bytes = 1 << 20;
  node.engine().maintenance().use(settings);
  EXPECT_LT(bytes_of_index("c"), of_format);
}

// Cassandra refuses SSTables of system.batches in the order of tokens. So there is none: a flush logs open batches once more.
TEST(FlushOfBatchesTest, OpenBatchesStayInTheLog) {
  const TablePtr like = make_table("kv");
  const TablePtr batches =
      std::make_shared<TableMetadata>("system", "batches", Uuid::name_based("system.batches"), like->partition_key,
                                      like->clustering, like->regular_columns);
  Node node(1, 1, {}, {batches});
  auto sstables = [&] { return node.engine().maintenance().sstables(batches->id).size(); };
  ASSERT_TRUE(node.apply(Update(batches, "ended").at(1).row(std::vector<int32_t>{}).cell("v1", "x")).ok());
  ASSERT_TRUE(node.apply(Update(batches, "ended").at(2).delete_partition()).ok());
  ASSERT_TRUE(node.apply(Update(batches, "open").at(3).row(std::vector<int32_t>{}).cell("v1", "y")).ok());
  const Lines open = node.scan("batches");
  ASSERT_EQ(open.size(), 2u);
  const uint64_t logged = node.engine().maintenance().statistics().commitlog_completed;

  node.flush();
  EXPECT_EQ(sstables(), 0u);
  EXPECT_EQ(node.engine().maintenance().statistics().commitlog_completed, logged + 1);
  EXPECT_EQ(node.scan("batches"), open);
  node.flush();
  node.crash();
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_EQ(node.scan("batches"), open);

  ASSERT_TRUE(node.run(node.engine().drain()).ok());
  node.restart();
  EXPECT_EQ(node.scan("batches"), open);
  ASSERT_TRUE(node.apply(Update(batches, "open").at(4).delete_partition()).ok());
  node.flush();
  node.restart();
  EXPECT_EQ(node.scan("batches"), Lines{});
  EXPECT_EQ(sstables(), 0u);
}

TEST_F(FlushTest, MemtableAndSstablesMerge) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").at(1).row(1).cell("v", "1").cell("w", "1")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(1).row(2).cell("v", "1")).ok());
  node.flush();
  ASSERT_TRUE(node.apply(Update(t, "a").at(2).row(1).cell("v", "2")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(2).row(3).cell("v", "2")).ok());
  node.flush();
  ASSERT_TRUE(node.apply(Update(t, "a").at(3).row(2).delete_row()).ok());
  Lines expected{"a", "  1: v=2@2 w=1@1", "  3: v=2@2"};
  EXPECT_EQ(node.read("t", "a"), expected);
  std::string one = int_bytes(1);
  BytesView prefix[] = {one};
  EXPECT_EQ(node.read("t", "a", {Slice::of_prefix(*t, prefix)}), (Lines{"a", "  1: v=2@2 w=1@1"}));
  node.flush();
  EXPECT_EQ(node.read("t", "a"), expected);
  node.compact();
  EXPECT_EQ(node.engine().maintenance().sstables(t->id).size(), 1u);
  EXPECT_EQ(node.read("t", "a"), expected);
  node.restart();
  EXPECT_EQ(node.read("t", "a"), expected);
}

TEST_F(FlushTest, ReadersKeepNoMemoryOfLargeValues) {
  EngineOptions options;
  options.commitlog_segment_bytes = 16 << 20;
  Node large(1, 1, options);
  auto t = large.table("t");
  ASSERT_TRUE(large.apply(Update(t, "a").at(1).row(1).cell("v", std::string(4 << 20, 'x'))).ok());
  large.flush();
  EXPECT_EQ(large.read("t", "a").size(), 2u);
  std::vector<std::unique_ptr<ReadState>> pooled;  // by this thread
  for (int i = 0; i < 8; ++i) {
    pooled.push_back(ReadState::take());
    EXPECT_LT(pooled.back()->cursor.reserved(), 1u << 20);
  }
}

// A node whose configuration changes goes on with what it has. Compactions write the version that is configured then.
TEST_F(FlushTest, FilesOfAllVersionsAreOneTable) {
  const std::vector<const SSTableVersion*> versions{&SSTableVersion::da(), &SSTableVersion::oa(),
                                                    &SSTableVersion::nb()};
  Lines expected{"a [s=st@1]"};
  for (int i = 0; i < 3; ++i) {
    node.options.sstable_version = versions[static_cast<size_t>(i)];
    node.restart();
    auto t = node.table("t");
    ASSERT_TRUE(node.apply(Update(t, "a").at(1).static_row().cell("s", "st").row(i).live().cell("v", "x")).ok());
    ASSERT_TRUE(node.apply(Update(t, "a").at(2).delete_range(10 * i + 10, true, 10 * i + 20, true)).ok());
    ASSERT_TRUE(node.apply(Update(t, "a").at(1).row(10 * i + 15).cell("v", "deleted")).ok());
    node.flush();
    expected.push_back("  " + std::to_string(i) + ": @1 v=x@1");
    EXPECT_EQ(node.read("t", "a"), expected);
  }
  auto versions_on_disk = [&] {
    std::multiset<std::string> found;
    for (const SSTableInfo& info : node.engine().maintenance().sstables(node.table("t")->id)) {
      found.insert(info.descriptor.version + info.descriptor.format);
    }
    return found;
  };
  EXPECT_EQ(versions_on_disk(), (std::multiset<std::string>{"dabti", "nbbig", "oabig"}));
  node.compact();
  EXPECT_EQ(versions_on_disk(), std::multiset<std::string>{"nbbig"});
  EXPECT_EQ(node.read("t", "a"), expected);
  node.restart();
  EXPECT_EQ(node.read("t", "a"), expected);
}

TEST_F(FlushTest, APointReadStopsAtTheNewestCompleteRow) {
  auto kv = node.table("kv");
  auto whole = [&](int64_t ts) {
    Update update(kv, "k");
    update.row(std::vector<int32_t>{}).at(ts).live();
    for (int i = 1; i <= 5; ++i) update.cell("v" + std::to_string(i), "x" + std::to_string(ts));
    return update;
  };
  for (int64_t ts : {1, 2, 3}) {
    ASSERT_TRUE(node.apply(whole(ts)).ok());
    node.flush();
  }
  ReadCommand command = node.command("kv");
  std::string key = "k";
  command.keys = {DecoratedKey::of(key)};
  TextSink sink(*kv);
  const Result<ReadStatistics> statistics = node.run(node.engine().read(command, sink));
  ASSERT_TRUE(statistics.ok());
  EXPECT_EQ(sink.lines, (Lines{"k", "   @3 v1=x3@3 v2=x3@3 v3=x3@3 v4=x3@3 v5=x3@3"}));
  EXPECT_EQ(statistics->sstables, 1u);
}

// The values of a table's rows, which it takes as plain ones or not.
class ValueSink : public RowSink {
 public:
  ValueSink(const TablePtr& table, bool takes_uniform_rows) : table_(table), takes_plain_rows_(takes_uniform_rows) {}
  Next begin_partition(const DecoratedKey& key, const Row&) override {
    key_ = std::string(key.key);
    return Next::kContinue;
  }
  Next row(const Row& row) override {
    std::vector<BytesView> values;
    for (const ColumnPtr& column : table_->regular_columns) {
      auto of_column = [&](const Cell& cell) { return cell.column->name == column->name; };
      auto cell = std::find_if(row.cells.begin(), row.cells.end(), of_column);
      values.push_back(cell == row.cells.end() ? kNull : cell->value);
    }
    return add(row.clustering, values);
  }
  bool takes_uniform_rows() const override { return takes_plain_rows_; }
  Next uniform_row(const UniformRow& row) override {
    ++plain_rows;
    return add(row.clustering, row.values);
  }
  Lines lines;
  size_t plain_rows = 0;

 private:
  Next add(const ClusteringPrefix& clustering, std::span<const BytesView> values) {
    std::string line = key_;
    for (BytesView value : clustering.values) line += " " + to_hex(value);
    for (BytesView value : values) line += is_null(value) ? " null" : " " + std::string(value);
    lines.push_back(std::move(line));
    return Next::kContinue;
  }
  const TablePtr table_;
  const bool takes_plain_rows_;
  std::string key_;
};

TEST_F(FlushTest, PlainRowsAreWhatAllRowsAreForThoseWhoWantValues) {
  auto d = node.table("d");
  Update update(d, "k");
  update.at(10);
  for (int a = 0; a < 60; ++a) {
    for (int b = 0; b < 10; ++b) {
      update.row({a, b}).live();
      if (a % 7 == 3) continue;  // no value
      if (a % 7 == 5) {
        update.cell("v", "expires", 100, kNow + (a < 30 ? 50 : -50));
      } else if (a == 20) {
        update.tombstone("v");
      } else {
        update.cell("v", std::string(40, 'x'));
      }
    }
  }
  update.at(20).delete_range(40, true, 44, false).row({50, 4}).delete_row();
  ASSERT_TRUE(node.apply(update).ok());
  node.flush();
  auto read = [&](bool plain, Slices slices, uint64_t limit) {
    ReadCommand command = node.command("d");
    command.keys = {DecoratedKey::of("k")};
    command.slices = std::move(slices);
    command.limits.rows = limit;
    ValueSink sink(d, plain);
    const Result<ReadStatistics> read = node.run(node.engine().read(command, sink));
    EXPECT_TRUE(read.ok()) << read.error().message();
    return sink;
  };
  auto expect_the_same = [&](size_t at_least_plain) {
    size_t plain_rows = 0;
    for (int from = -1; from < 60; ++from) {
      const std::string value = int_bytes(from);
      BytesView prefix[] = {value};
      Slice slice = Slice::of_prefix(*d, prefix);
      if (from < 0) slice.start.clear();
      if (from % 2 != 0) slice.end.clear();
      for (uint64_t limit : {1u, 25u, 1000u}) {
        ValueSink plain = read(true, {slice}, limit);
        EXPECT_EQ(plain.lines, read(false, {slice}, limit).lines) << from;
        plain_rows += plain.plain_rows;
      }
    }
    EXPECT_GE(plain_rows, at_least_plain);
  };
  expect_the_same(5000);
  // Newer versions of some rows, which have to be merged.
  Update newer(d, "k");
  for (int a = 10; a < 15; ++a) newer.at(30).row({a, 2}).live().cell("v", "newer");
  ASSERT_TRUE(node.apply(newer).ok());
  expect_the_same(1000);
}

// Each state of a row in an older SSTable, beside each in a newer one or a memtable.
TEST_F(FlushTest, APointReadFindsTheSameRowAsAPlainOne) {
  auto kv = node.table("kv");
  using Write = std::function<void(Update&)>;
  auto fill = [](Update& update, int columns, int32_t ttl = 0, int64_t expires = kNoDeletionTime) {
    for (int i = 1; i <= columns; ++i) update.cell("v" + std::to_string(i), "x" + std::to_string(i), ttl, expires);
  };
  const std::vector<Write> states{
      [&](Update& u) { fill(u.row(std::vector<int32_t>{}).live(), 5); },
      [&](Update& u) { fill(u.row(std::vector<int32_t>{}), 5); },
      [&](Update& u) { fill(u.row(std::vector<int32_t>{}).live(), 2); },
      [&](Update& u) { fill(u.row(std::vector<int32_t>{}).live(100, kNow + 50), 5, 100, kNow + 50); },
      [&](Update& u) { fill(u.row(std::vector<int32_t>{}).live(100, kNow - 50), 5, 100, kNow - 50); },
      [&](Update& u) { fill(u.row(std::vector<int32_t>{}).live().tombstone("v5"), 4); },
      [&](Update& u) { u.row(std::vector<int32_t>{}).delete_row(); },
      [&](Update& u) { u.delete_partition(); },
  };
  std::vector<std::string> keys;
  auto write = [&](bool newer, int64_t timestamp) {
    for (size_t older = 0; older <= states.size(); ++older) {
      for (size_t newest = 0; newest <= states.size(); ++newest) {
        const std::string key =
            std::to_string(older) + "+" + std::to_string(newest) + "@" + std::to_string(timestamp % 2);
        const size_t state = newer ? newest : older;
        if (newer) keys.push_back(key);
        if (state == states.size()) continue;  // it has nothing of this partition
        Update update(kv, key);
        update.at(timestamp);
        states[state](update);
        ASSERT_TRUE(node.apply(update).ok());
      }
    }
  };
  auto read = [&](const std::string& key, bool plain) {
    ReadCommand command = node.command("kv");
    command.keys = {DecoratedKey::of(key)};
    ValueSink sink(kv, plain);
    const Result<ReadStatistics> read = node.run(node.engine().read(command, sink));
    EXPECT_TRUE(read.ok()) << read.error().message();
    return sink;
  };
  auto expect_the_same = [&](size_t plain_rows) {
    size_t seen = 0;
    for (const std::string& key : keys) {
      ValueSink plain = read(key, true);
      EXPECT_EQ(plain.lines, read(key, false).lines) << key;
      seen += plain.plain_rows;
    }
    EXPECT_EQ(seen, plain_rows);
  };
  // In the second round of writes the first ones are newer.
  write(false, 10);
  write(false, 31);
  node.flush();
  write(true, 20);
  write(true, 21);
  // Plain is a row that one source alone has, whole, for ever or with a TTL. A memtable has more of them: without a value, or
  // without the row's own liveness.
  constexpr size_t kRounds = 2, kInSSTable = 2, kInMemtable = 4;
  expect_the_same(kRounds * (kInSSTable + kInMemtable));
  node.flush();
  expect_the_same(kRounds * (kInSSTable + kInSSTable));
}

TEST_F(FlushTest, TruncatedTablesAreEmptyAlsoAfterReplay) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").row(1).cell("v", "flushed")).ok());
  node.flush();
  ASSERT_TRUE(node.apply(Update(t, "b").row(1).cell("v", "logged")).ok());
  auto positions = node.truncate(t, "before");
  ASSERT_TRUE(positions.ok());
  ASSERT_TRUE(node.apply(Update(t, "c").row(1).cell("v", "after")).ok());
  EXPECT_EQ(node.scan("t"), (Lines{"c", "  1: v=after@1"}));
  node.truncated[t->id] = {0, (*positions)[0], *positions};
  node.restart();
  EXPECT_EQ(node.scan("t"), (Lines{"c", "  1: v=after@1"}));
  auto snapshots = list_snapshots(node.disk(), node.options);
  ASSERT_TRUE(snapshots.ok());
  ASSERT_EQ(snapshots->size(), 1u);
  EXPECT_EQ((*snapshots)[0].tag, "before");
  EXPECT_EQ((*snapshots)[0].table, "t");
  EXPECT_EQ((*snapshots)[0].true_bytes, (*snapshots)[0].total_bytes);
}

// Wherever an error of the disk stops a flush, a compaction or a truncation.
TEST(Truncation, WhatAFailureLeftDoesNotComeBack) {
  const int seeds = test::kIsSanitized ? 20 : 300;
  int failed = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    Node node(seed);
    auto t = node.table("t");
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(node.apply(Update(t, "a").row(round).cell("v", "x")).ok());
      node.machine().faults().io_error_ppm = 20'000;
      if (!node.run(node.engine().maintenance().flush({})).ok()) ++failed;
      node.machine().faults().io_error_ppm = 0;
    }
    node.machine().faults().io_error_ppm = 20'000;
    if (!node.run(node.engine().maintenance().compact({})).ok()) ++failed;
    if (!node.truncate(t).ok()) ++failed;
    node.machine().faults().io_error_ppm = 0;
    auto positions = node.truncate(t);
    ASSERT_TRUE(positions.ok()) << positions.error().message();
    node.truncated[t->id] = {0, (*positions)[0], *positions};
    node.restart();
    EXPECT_EQ(node.scan("t"), Lines()) << seed;
  }
  EXPECT_GT(failed, seeds / 3);
}

// Whether the fault has come. The log has nothing of the table, so that its SSTables alone decide.
bool truncate_until_fault(uint64_t operations, SimFaults::Fault fault, bool loses_power) {
  Node node(operations + 1);
  auto t = node.table("t");
  CHECK(node.apply(Update(t, "a").at(1).row(1).cell("v", "deleted")).ok());
  node.flush();
  CHECK(node.apply(Update(t, "a").at(2).row(1).delete_row()).ok());
  CHECK(node.apply(Update(t, "b").at(2).row(1).cell("v", "x")).ok());
  node.flush();
  CHECK(node.run(node.engine().drain()).ok());
  node.restart();
  SimFaults& faults = node.machine().faults();
  faults.operations_until_fault = operations;
  faults.fault = fault;
  const auto truncated = node.truncate(t);
  if (truncated.ok()) node.truncated[t->id] = {0, (*truncated)[0], *truncated};
  const bool came = !faults.operations_until_fault || *faults.operations_until_fault == 0;
  faults.operations_until_fault.reset();
  EXPECT_EQ(node.read("t", "a"), Lines()) << operations;
  loses_power ? node.crash() : node.kill();
  EXPECT_TRUE(node.boot()) << node.error() << operations;
  const Lines b = node.read("t", "b");
  EXPECT_EQ(node.read("t", "a"), Lines()) << operations;
  EXPECT_TRUE(b.empty() || (!truncated.ok() && b == Lines{"b", "  1: v=x@2"})) << operations;
  return came;
}

// A deletion does not go before what it hides, wherever a TRUNCATE ends.
TEST(Truncation, NoDeletionGoesBeforeWhatItHides) {
  using Fault = SimFaults::Fault;
  for (Fault fault : {Fault::kAllAfter, Fault::kOne, Fault::kOneDiskFull}) {
    for (bool loses_power : {false, true}) {
      uint64_t operations = 0;
      while (truncate_until_fault(operations, fault, loses_power)) ++operations;
      EXPECT_GT(operations, 10u);
    }
  }
}

enum class Shared { kRows, kDeletions };

// Two shards read one SSTable with the rows, or with their deletions; each has the other part in an SSTable of its own.
bool truncate_shared_until_fault(uint64_t operations, Shared shared, bool loses_power) {
  Node node(operations + 1);
  auto t = node.table("t");
  node.set_tables({t}, false);  // its SSTables alone decide
  auto write = [&](bool rows) {
    for (char key = 'a'; key <= 'h'; ++key) {
      Update update(t, std::string(1, key));
      rows ? update.at(1).row(1).cell("v", "deleted") : update.at(2).row(1).delete_row();
      CHECK(node.apply(update).ok());
    }
    for (unsigned shard = 0; shard < node.runtime().shard_count(); ++shard) {
      CHECK(node.run(node.engine(shard).maintenance().flush({})).ok());
    }
  };
  write(shared == Shared::kRows);
  node.kill();
  node.set_shards(2);
  CHECK(node.boot());
  write(shared != Shared::kRows);
  SimFaults& faults = node.machine().faults();
  faults.operations_until_fault = operations;
  faults.fault = SimFaults::Fault::kAllAfter;
  const auto truncated = node.truncate(t);
  if (truncated.ok()) node.truncated[t->id] = {0, (*truncated)[0], *truncated};
  const bool came = *faults.operations_until_fault == 0;
  faults.operations_until_fault.reset();
  loses_power ? node.crash() : node.kill();
  EXPECT_TRUE(node.boot()) << node.error() << operations;
  EXPECT_EQ(node.scan("t"), Lines()) << operations;
  return came;
}

TEST(Truncation, NoDeletionGoesBeforeTheRowsOfAnSSTableThatShardsShare) {
  for (Shared shared : {Shared::kRows, Shared::kDeletions}) {
    for (bool loses_power : {false, true}) {
      uint64_t operations = 0;
      while (truncate_shared_until_fault(operations, shared, loses_power)) ++operations;
      EXPECT_GT(operations, 10u);
    }
  }
}

// Several shards share it; another number of them could scrub it.
TEST(Truncation, TakesSharedSSTablesThatAreSetAside) {
  EngineOptions options;
  options.disk_failure_policy = FailurePolicy::kIgnore;
  Node node(1, 1, options);
  auto t = node.table("t");
  for (char key = 'a'; key <= 'z'; ++key) {
    ASSERT_TRUE(node.apply(Update(t, std::string(1, key)).row(1).cell("v", "x")).ok());
  }
  node.flush();
  ASSERT_TRUE(node.run(node.engine().drain()).ok());
  node.restart();
  const SSTableDescriptor sstable = node.engine().maintenance().sstables(t->id)[0].descriptor;
  node.kill();
  node.set_shards(2);
  Disk& disk = node.machine().boot(1).shard(0).disk;
  ASSERT_TRUE(disk.remove(sstable.file("Partitions.db")).ok());
  node.machine().shut_down();
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_EQ(node.scan("t"), Lines());
  const auto truncated = node.truncate(t, "before");
  ASSERT_TRUE(truncated.ok()) << truncated.error().message();
  EXPECT_FALSE(node.disk().exists(sstable.file("Data.db")));
  EXPECT_TRUE(node.disk().exists(sstable.directory + "/snapshots/before" +
                                 sstable.file("Data.db").substr(sstable.directory.size())));
}

// The memtable that a flush failed to write goes first in the next one. A crash may come before the second one is there.
TEST(Flush, AFailedOneIsMadeUpForWithoutLosingWhatCameLater) {
  int crashes_between = 0;
  for (uint64_t operations = 0; operations < 60; ++operations) {
    EngineOptions options;
    options.commitlog_sync = CommitLogSync::kBatch;
    options.disk_failure_policy = FailurePolicy::kIgnore;
    Node node(operations + 1, 1, options);
    auto t = node.table("t");
    SimFaults& faults = node.machine().faults();
    ASSERT_TRUE(node.apply(Update(t, "a").at(1).row(1).cell("v", "first")).ok());
    faults.operations_until_fault = 3;
    ASSERT_FALSE(node.run(node.engine().maintenance().flush({"ks", "t"})).ok());
    faults.operations_until_fault.reset();
    ASSERT_TRUE(node.apply(Update(t, "b").at(2).row(1).cell("v", "later")).ok());
    faults.operations_until_fault = operations;
    faults.fault = SimFaults::Fault::kAllAfter;
    const bool failed = !node.run(node.engine().maintenance().flush({"ks", "t"})).ok();
    crashes_between += failed && node.engine().maintenance().sstables(t->id).size() == 1 ? 1 : 0;
    faults = SimFaults();
    node.kill();
    ASSERT_TRUE(node.boot()) << node.error();
    EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: v=first@1"})) << operations;
    EXPECT_EQ(node.read("t", "b"), (Lines{"b", "  1: v=later@2"})) << operations;
  }
  EXPECT_GT(crashes_between, 5);
}

TEST_F(FlushTest, DroppedColumnsAreHiddenAndFormerNamesDoNotComeBack) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").at(10).row(1).cell("v", "flushed").cell("w", "stays")).ok());
  node.flush();
  ASSERT_TRUE(node.apply(Update(t, "a").at(11).row(2).cell("v", "in memory").cell("w", "stays")).ok());
  std::vector<ColumnPtr> others;
  for (const auto& c : t->regular_columns)
    if (c->name != "v") others.push_back(c);
  for (const auto& c : t->static_columns) others.push_back(c);
  auto without = std::make_shared<TableMetadata>("ks", "t", t->id, t->partition_key, t->clustering, others);
  without->dropped_columns["v"] = {std::make_shared<Column>(*t->column("v")), 20};
  node.set_tables({without});
  Lines hidden{"a", "  1: w=stays@10", "  2: w=stays@11"};
  EXPECT_EQ(node.read("t", "a"), hidden);
  others.push_back(std::make_shared<Column>(*t->column("v")));
  auto again = std::make_shared<TableMetadata>("ks", "t", t->id, t->partition_key, t->clustering, others);
  again->dropped_columns = without->dropped_columns;
  node.set_tables({again});
  EXPECT_EQ(node.read("t", "a"), hidden);
  ASSERT_TRUE(node.apply(Update(again, "a").at(21).row(1).cell("v", "anew")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: v=anew@21 w=stays@10", "  2: w=stays@11"}));
  node.flush();
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: v=anew@21 w=stays@10", "  2: w=stays@11"}));
}

TEST_F(FlushTest, CountersAddUpOverFlushesAndRestarts) {
  auto n = node.table("n");
  auto add = [&](int64_t delta) {
    Update update(n, "a");
    update.row(1).at(5).cell("n", make_counter_update(delta));
    Result<SerializedMutation> added = node.run(node.engine().apply_counter(update.mutation()));
    return added.ok() ? Status() : Status(std::move(added.error()));
  };
  ASSERT_TRUE(add(5).ok());
  ASSERT_TRUE(add(-2).ok());
  node.flush();
  ASSERT_TRUE(add(10).ok());
  EXPECT_EQ(node.counter("a"), 13);
  node.restart();
  EXPECT_EQ(node.counter("a"), 13);
  ASSERT_TRUE(add(1).ok());
  node.flush();
  node.compact();
  EXPECT_EQ(node.counter("a"), 14);
}

}  // namespace
}  // namespace cassandra_like::storage_test
