// Rows that are large compared with the memory that rows may have (read/row_memory.h).
#include <algorithm>

#include <fmt/format.h>

#include "fixture.h"
#include "storage/compaction/strategy/options.h"

namespace cassandra_like::storage_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint64_t kBound = 4 << 20;
constexpr size_t kElement = 100'000;

TablePtr table_t() {
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  table->params.compaction =
      normal_compaction({{"class", "SizeTieredCompactionStrategy"}, {"enabled", "false"}}).value();
  return table;
}

class LargeRowTest : public ::testing::Test {
 protected:
  static EngineOptions options() {
    EngineOptions options;
    options.row_memory = std::make_shared<RowMemory>(kBound);
    options.commitlog_segment_bytes = 1 << 20;
    return options;
  }
  // Elements of the map m of one row, of 100,000 bytes each: one mutation each.
  void write(const std::string& key, int row, int first, int count) {
    for (int i = first; i < first + count; ++i) {
      Update update(node.table("t"), key);
      ASSERT_TRUE(node.apply(update.at(10).row(row).element("m", fmt::format("{:03}", i), value())).ok());
    }
  }
  static std::string value() { return std::string(kElement, 'x'); }
  void write_small(const std::string& key, int row, int64_t timestamp = 10) {
    ASSERT_TRUE(node.apply(Update(node.table("t"), key).at(timestamp).row(row).cell("v", "small")).ok());
  }
  // How the row reads that write() made.
  static std::string line(int row, int first, int count) {
    std::string line = fmt::format("  {}:", row);
    for (int i = first; i < first + count; ++i) line += fmt::format(" m[{:03}]={}@10", i, value());
    return line;
  }
  Result<ReadStatistics> try_read(const ReadCommand& command) {
    TextSink sink(*command.table);
    return node.run(node.engine().read(command, sink));
  }
  ReadCommand of_key(const std::string& key) {
    ReadCommand command = node.command("t");
    command.keys = {DecoratedKey::of(keys_.emplace_back(key))};
    return command;
  }
  std::string file_of_only_sstable() {
    return node.engine().maintenance().sstables(node.table("t")->id)[0].descriptor.file("Data.db");
  }
  uint64_t held() const { return node.options.row_memory->used(); }

  Node node{1, 1, options(), {table_t(), make_table("kv")}};

 private:
  std::deque<std::string> keys_;
};

TEST_F(LargeRowTest, ARowWithinTheBoundIsReadWhole) {
  write("a", 1, 0, 30);
  node.flush();
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", line(1, 0, 30)}));
  EXPECT_EQ(node.scan("t"), (Lines{"a", line(1, 0, 30)}));
  EXPECT_EQ(held(), 0u);
}

TEST_F(LargeRowTest, AReadOfALargerRowFailsAndNamesIt) {
  write("a", 1, 0, 50);
  write_small("b", 1);
  node.flush();
  Result<ReadStatistics> read = try_read(of_key("a"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kOverloaded);
  // 50 elements with flags, lengths, times and keys, and what comes before them.
  EXPECT_EQ(read.error().message(),
            fmt::format("{} at 4: a row of ks.t with the partition key 'a' needs 5000463 bytes of memory. Other rows, "
                        "and its parts in other SSTables, have 0 of the 4194304 that there are",
                        file_of_only_sstable()));
  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(node.read("t", "b"), (Lines{"b", "  1: v=small@10"}));
}

// From the memtable it is read: it is in memory already.
TEST_F(LargeRowTest, AMemtableHasItInMemoryAlready) {
  write("a", 1, 0, 50);
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", line(1, 0, 50)}));
}

TEST_F(LargeRowTest, ThePartsThatSSTablesHaveOfARowCountTogether) {
  write("a", 1, 0, 25);
  node.flush();
  EXPECT_TRUE(try_read(of_key("a")).ok());
  write("a", 1, 25, 25);
  node.flush();
  EXPECT_EQ(try_read(of_key("a")).error().code(), ErrorCode::kOverloaded);
  ReadCommand all = node.command("t");
  all.range = KeyRange{};
  EXPECT_EQ(try_read(all).error().code(), ErrorCode::kOverloaded);
  EXPECT_EQ(held(), 0u);
}

// The only row of a partition is looked up in one SSTable after the other, and is not copied from any.
TEST_F(LargeRowTest, ThePartsOfAnOnlyRowCountTogether) {
  const std::string value(400'000, 'v');
  std::string line = " ";
  for (int i = 1; i <= 5; ++i) {
    const std::string column = fmt::format("v{}", i);
    Update update(node.table("kv"), "a");
    ASSERT_TRUE(node.apply(update.at(10).row(std::vector<int32_t>{}).cell(column, value)).ok());
    line += fmt::format(" {}={}@10", column, value);
    if (i == 3) node.flush();
  }
  node.flush();
  EXPECT_EQ(node.read("kv", "a"), (Lines{"a", line}));
  EXPECT_EQ(held(), 0u);
  node.options.row_memory = std::make_shared<RowMemory>(1'500'000);  // for each of the parts, not for both
  node.restart();
  ReadCommand command = node.command("kv");
  command.keys = {DecoratedKey::of("a")};
  EXPECT_EQ(try_read(command).error().code(), ErrorCode::kOverloaded);
  EXPECT_EQ(held(), 0u);
}

// Rows of one partition follow one another in memory.
TEST_F(LargeRowTest, OneRowAfterTheOtherHasTheMemory) {
  for (int row = 0; row < 4; ++row) write("a", row, 0, 25);
  node.flush();
  Lines all{"a"};
  for (int row = 0; row < 4; ++row) all.push_back(line(row, 0, 25));
  EXPECT_EQ(node.read("t", "a"), all);
  std::reverse(all.begin() + 1, all.end());
  EXPECT_EQ(node.read("t", "a", {}, true), all);
  EXPECT_EQ(held(), 0u);
}

// Who begins behind a row passes over it without its bytes, forwards and backwards.
TEST_F(LargeRowTest, ARowThatIsPassedOverMayBeLarger) {
  write("a", 1, 0, 50);
  write_small("a", 2);
  write_small("a", 3);
  node.flush();
  Arena arena;
  const std::string two = int_bytes(2);
  const BytesView values[] = {two};
  const auto from = make_clustering(*node.table("t"), values, ClusteringKind::kInclStartBound, arena);
  const Slices slices{{Bytes(from.comparable), Bytes()}};
  EXPECT_EQ(node.read("t", "a", slices), (Lines{"a", "  2: v=small@10", "  3: v=small@10"}));
  EXPECT_EQ(node.read("t", "a", slices, true), (Lines{"a", "  3: v=small@10", "  2: v=small@10"}));
}

TEST_F(LargeRowTest, ALargeStaticRowIsBoundedToo) {
  ASSERT_TRUE(node.apply(Update(node.table("t"), "a").at(10).static_row().cell("s", std::string(400'000, 's'))).ok());
  write_small("a", 1);
  node.flush();
  EXPECT_EQ(node.read("t", "a"), (Lines{"a [s=" + std::string(400'000, 's') + "@10]", "  1: v=small@10"}));
  EXPECT_EQ(held(), 0u);
  node.options.row_memory = std::make_shared<RowMemory>(500'000);  // not for the row and its copy
  node.restart();
  EXPECT_EQ(try_read(of_key("a")).error().code(), ErrorCode::kOverloaded);
}

// Many small cells take more memory than their bytes.
TEST_F(LargeRowTest, CellsCountToo) {
  Update many(node.table("t"), "a");
  many.at(10).row(1);
  for (int i = 0; i < 40'000; ++i) many.element("m", fmt::format("{:05}", i), "x");
  node.options.commitlog_segment_bytes = 4 << 20;
  node.restart();
  ASSERT_TRUE(node.apply(many).ok());
  node.flush();
  EXPECT_TRUE(try_read(of_key("a")).ok());
  node.options.row_memory = std::make_shared<RowMemory>(40'000 * sizeof(Cell));  // for nothing but cells
  node.restart();
  Result<ReadStatistics> read = try_read(of_key("a"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kOverloaded);
  EXPECT_EQ(held(), 0u);
}

TEST_F(LargeRowTest, ACompactionThatHasNoRoomFailsAndLeavesItsInputs) {
  write("a", 1, 0, 25);
  node.flush();
  write("a", 1, 25, 25);
  node.flush();
  Status compacted = node.run(node.engine().maintenance().compact({}));
  ASSERT_FALSE(compacted.ok());
  EXPECT_EQ(compacted.error().code(), ErrorCode::kOverloaded);
  EXPECT_NE(compacted.error().message().find("a row of ks.t with the partition key 'a' needs "), std::string::npos);
  EXPECT_EQ(node.engine().maintenance().sstables(node.table("t")->id).size(), 2u);
  EXPECT_EQ(held(), 0u);
  EXPECT_TRUE(node.failures.empty());
}

// The others are compacted without it.
TEST_F(LargeRowTest, AnAutomaticCompactionSetsItAside) {
  write("a", 1, 0, 50);
  node.flush();
  for (int i = 0; i < 5; ++i) {
    write(fmt::format("b{}", i), 1, 0, 25);
    write(fmt::format("b{}", i), 2, 0, 25);
    node.flush();
  }
  node.engine().maintenance().set_auto_compaction({"ks", "t"}, true);
  node.world().run_for(minutes(3));
  const std::vector<SSTableInfo> left = node.engine().maintenance().sstables(node.table("t")->id);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(std::max(left[0].partitions, left[1].partitions), 5u);
  EXPECT_EQ(std::min(left[0].partitions, left[1].partitions), 1u);
}

// The row is written in pieces, and its cells are those of one map in all parts.
TEST_F(LargeRowTest, AFlushAndACompactionWriteItWhole) {
  write("a", 1, 0, 15);
  node.flush();
  write("a", 1, 15, 15);
  write_small("a", 2);
  node.flush();
  node.compact();
  ASSERT_EQ(node.engine().maintenance().sstables(node.table("t")->id).size(), 1u);
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", line(1, 0, 30), "  2: v=small@10"}));
  EXPECT_EQ(held(), 0u);
}

}  // namespace
}  // namespace cassandra_like::storage_test
