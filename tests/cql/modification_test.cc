// Writes that read the row first. Errors and lists are those of Cassandra 5.0.9.
#include "cql/query_processor.h"
#include "gtest/gtest.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

class ListUpdateTest : public testing::Test {
 protected:
  ListUpdateTest() {
    processor->set_peers({processor.get()});
    run("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    run("CREATE TABLE ks.l (k int, c int, v list<int>, s list<int> static, PRIMARY KEY (k, c))");
  }
  ~ListUpdateTest() override { node.kill(); }

  Result<QueryResult> query(const std::string& text) {
    ClientState client;
    return node.run<Result<QueryResult>>(0, [&] { return processor->query(text, {}, QueryState{client}); });
  }
  // "" or the error.
  std::string run(const std::string& text) {
    auto done = query(text);
    return done.ok() ? "" : done.error().message();
  }
  std::string update(const std::string& assignments) {
    return run("UPDATE ks.l SET " + assignments + " WHERE k = 1 AND c = 1");
  }
  // The list of the only row, as JSON; "" when there is no row.
  std::string list(const std::string& column = "v") {
    auto rows = std::get<RowsResult>(query("SELECT to_json(" + column + ") FROM ks.l")->value);
    return rows.row_count == 0 ? "" : std::string(BytesView(rows.rows).substr(4));
  }

  ReplicaNode node{1};
  std::unique_ptr<Coordinator> coordinator = Coordinator::create(node.runtime(0), node.on(0), {});
  std::unique_ptr<QueryProcessor> processor = QueryProcessor::create(node.runtime(0), *coordinator, {});
};

TEST_F(ListUpdateTest, AnOperationSeesTheOnesBeforeIt) {
  EXPECT_EQ(update("v = v + [1, 2], v[1] = 5"), "");
  EXPECT_EQ(list(), "[1, 5]");
  EXPECT_EQ(update("v[0] = 7, v = v - [7]"), "");
  EXPECT_EQ(list(), "[5]");
  EXPECT_EQ(update("v = v - [7], v[0] = 3"), "");
  EXPECT_EQ(list(), "[3]");
}

TEST_F(ListUpdateTest, AnOperationOnAStaticListSeesTheOnesBeforeIt) {
  EXPECT_EQ(run("UPDATE ks.l SET s = s + [1, 2], s[1] = 5 WHERE k = 1"), "");
  EXPECT_EQ(list("s"), "[1, 5]");
}

TEST_F(ListUpdateTest, ErrorsCountTheElementsOfTheStatement) {
  EXPECT_EQ(update("v[0] = 1"), "Attempted to set an element on a list which is null");
  EXPECT_EQ(update("v = [1, 2]"), "");
  EXPECT_EQ(update("v = v + [6], v[7] = 5"), "List index 7 out of bound, list has size 3");
  EXPECT_EQ(update("v = v - [2], v[0] = null, v[0] = 4"), "Attempted to set an element on a list which is null");
  EXPECT_EQ(list(), "[1, 2]");
}

// Each statement of a batch reads what was there before the batch.
TEST_F(ListUpdateTest, AStatementOfABatchDoesNotSeeTheOthers) {
  EXPECT_EQ(update("v = [3]"), "");
  EXPECT_EQ(run("BEGIN BATCH UPDATE ks.l SET v = v + [30] WHERE k = 1 AND c = 1; "
                "UPDATE ks.l SET v[2] = 31 WHERE k = 1 AND c = 1; APPLY BATCH"),
            "List index 2 out of bound, list has size 1");
  EXPECT_EQ(list(), "[3]");
}

}  // namespace
}  // namespace cassandra_like::test
