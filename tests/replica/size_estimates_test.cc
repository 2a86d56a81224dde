// system.size_estimates and table_estimates of a node with three shards and four tokens.
#include "replica/size_estimates.h"

#include <numeric>

#include "schema/internal_table.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

using storage_test::make_table;

class SizeEstimates : public testing::Test {
 protected:
  SizeEstimates() {
    CHECK(node.change(0, make_keyspace({make_table("t"), make_table("empty")})).ok());
    TablePtr table = node.table("t");
    for (int i = 0; i < 300; ++i) {
      Update update = std::move(Update(table, "key" + std::to_string(i)).at(10).row(1).cell("v", "value"));
      CHECK(node.write(0, std::move(update)).ok());
    }
  }
  void flush() {
    auto flush = [](Engine& engine) { return engine.maintenance().flush({}); };
    CHECK(node.run<Status>(0, [&] { return node.on(0).on_every_engine(flush); }).ok());
  }
  void record() {
    std::vector<Replica*> replicas;
    for (unsigned i = 0; i < node.shards(); ++i) replicas.push_back(&node.on(i));
    Status done = node.run<Status>(0, [&] { return record_size_estimates(&node.runtime_of_all(), replicas); });
    ASSERT_TRUE(done.ok()) << done.error().message();
  }
  std::vector<InternalRow> rows(const std::string& name, const std::string& of_table) {
    TablePtr table = node.table(name, "system");
    InternalRows found(table);
    ReadCommand command;
    command.table = table;
    command.range = KeyRange{};
    command.now_seconds = storage_test::kNow;
    auto read = node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(command, found, kNoDeadline); });
    CHECK(read.ok());
    std::erase_if(found.rows, [&](const InternalRow& row) { return row.text("table_name") != of_table; });
    return std::move(found.rows);
  }
  static int64_t number(const InternalRow& row, const char* column) { return load_be<int64_t>(row.get(column).data()); }

  ReplicaNode node{3};
};

TEST_F(SizeEstimates, CountThePartitionsOfTheSSTablesInEveryPrimaryRange) {
  flush();
  record();
  const auto found = rows("size_estimates", "t");
  ASSERT_EQ(found.size(), 5u);  // four ranges, of which one wraps around
  int64_t partitions = 0;
  for (const InternalRow& row : found) {
    EXPECT_EQ(row.text("keyspace_name"), "ks");
    // A partition has 25 to 29 bytes. All are in one bucket of the histogram of Statistics.db, and the mean is its end.
    EXPECT_EQ(number(row, "mean_partition_size"), 29);
    partitions += number(row, "partitions_count");
  }
  // The mean size comes from the histogram of Statistics.db, whose buckets grow by a fifth: it may be too large by that.
  EXPECT_GE(partitions, 300 / 1.2);
  EXPECT_LE(partitions, 300);
  EXPECT_EQ(rows("table_estimates", "t").size(), 10u);  // primary and local_primary
}

TEST_F(SizeEstimates, AreZeroForTablesWithoutSSTables) {
  record();
  for (const char* table : {"t", "empty"}) {
    const auto found = rows("size_estimates", table);
    ASSERT_EQ(found.size(), 5u);
    for (const InternalRow& row : found) {
      EXPECT_EQ(number(row, "partitions_count"), 0);
      EXPECT_EQ(number(row, "mean_partition_size"), 0);
    }
  }
}

TEST_F(SizeEstimates, AreWrittenAgainOnlyWhereTheyChanged) {
  flush();
  record();
  const Uuid id = node.table("size_estimates", "system")->id;
  auto writes = [&] {
    uint64_t sum = 0;
    for (unsigned i = 0; i < node.shards(); ++i) sum += node.on(i).maintenance().table_statistics(id)->writes;
    return sum;
  };
  const uint64_t before = writes();
  record();
  EXPECT_EQ(writes(), before);
}

TEST_F(SizeEstimates, OfDroppedTablesGo) {
  flush();
  record();
  ASSERT_TRUE(node.change(0, drop_table("t")).ok());
  const int64_t now = node.runtime(0).clock.wall_micros() + 1;
  Status gone = node.run<Status>(0, [&] { return forget_size_estimates(&node.on(0), "ks", "t", now); });
  ASSERT_TRUE(gone.ok());
  EXPECT_EQ(rows("size_estimates", "t").size(), 0u);
  EXPECT_EQ(rows("table_estimates", "t").size(), 0u);
  EXPECT_EQ(rows("size_estimates", "empty").size(), 5u);
  record();
  EXPECT_EQ(rows("size_estimates", "t").size(), 0u);
}

// A table may go without its rows, when the node stops in between: the next record removes them.
TEST_F(SizeEstimates, OfTablesThatAreGoneGoWithTheNextRecord) {
  flush();
  record();
  ASSERT_TRUE(node.change(0, drop_table("t")).ok());
  node.world().run_for(std::chrono::milliseconds(1));
  record();
  EXPECT_EQ(rows("size_estimates", "t").size(), 0u);
  EXPECT_EQ(rows("table_estimates", "t").size(), 0u);
}

}  // namespace
}  // namespace cassandra_like::test
