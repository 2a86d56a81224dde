// A shard's prepared statements while clients prepare more of them than fit.
#include <string>
#include <vector>

#include "cql/query_processor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

class PreparedStatementsTest : public testing::Test {
 protected:
  PreparedStatementsTest() {
    processor->set_peers({processor.get()});
    query("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
    query("CREATE TABLE ks.t (k int PRIMARY KEY, v int)");
  }
  ~PreparedStatementsTest() override { node.kill(); }

  static CqlOptions room_for_two_hundred() {
    CqlOptions options;
    options.prepared_statements_cache_bytes = 200 * 2200;
    return options;
  }
  void query(const std::string& text) {
    auto answer = node.run<Result<QueryResult>>(0, [&] { return processor->query(text, {}, QueryState{client}); });
    ASSERT_TRUE(answer.ok()) << answer.error().message();
  }
  Bytes prepare(const std::string& text) {
    auto answer = node.run<Result<QueryResult>>(0, [&] { return processor->prepare(text, "", QueryState{client}); });
    return answer.ok() ? std::get<PreparedResult>(answer->value).id : answer.error().message();
  }
  // The texts in system.prepared_statements.
  std::vector<std::string> saved() {
    const std::string text = "SELECT query_string FROM system.prepared_statements";
    auto answer = node.run<Result<QueryResult>>(0, [&] { return processor->query(text, {}, QueryState{client}); });
    const RowsResult rows = std::get<RowsResult>(std::move(answer->value));
    std::vector<std::string> found;
    for (BytesView rest = rows.rows; !rest.empty();) {
      found.emplace_back(rest.substr(4, load_be<uint32_t>(rest.data())));
      rest.remove_prefix(4 + found.back().size());
    }
    return found;
  }
  // "" or the error.
  std::string execute(const Bytes& id) {
    auto answer = node.run<Result<QueryResult>>(0, [&] { return processor->execute(id, {}, QueryState{client}); });
    return answer.ok() ? "" : answer.error().message();
  }

  ReplicaNode node{1};
  std::unique_ptr<Coordinator> coordinator = Coordinator::create(node.runtime(0), node.on(0), {});
  std::unique_ptr<QueryProcessor> processor =
      QueryProcessor::create(node.runtime(0), *coordinator, room_for_two_hundred());
  ClientState client;
};

TEST_F(PreparedStatementsTest, StatementsInUseOutliveThoseThatAreOnlyPrepared) {
  std::vector<Bytes> used;
  for (int i = 0; i < 50; ++i) used.push_back(prepare("SELECT v FROM ks.t WHERE k = " + std::to_string(i)));
  const Bytes unused = prepare("SELECT v FROM ks.t WHERE k = 50");
  for (int i = 0; i < 1500; ++i) {
    prepare("SELECT k FROM ks.t WHERE k = " + std::to_string(i));
    if (i % 50 != 0) continue;
    for (const Bytes& id : used) ASSERT_EQ(execute(id), "") << "after " << i;
  }
  EXPECT_NE(execute(unused), "");
}

TEST_F(PreparedStatementsTest, StatementsAreSavedUnlessTheyHaveLiteralsOfCollectionsTuplesOrUserTypes) {
  query(
      "CREATE TABLE ks.m (k int, c frozen<map<int, int>>, l list<int>, t tuple<int>, PRIMARY KEY (k, c)) "
      "WITH CLUSTERING ORDER BY (c DESC)");
  for (const char* text :
       {"SELECT l FROM ks.m WHERE k = ? AND c = {}", "SELECT l, [k] FROM ks.m WHERE k = ?",
        "UPDATE ks.m SET l = l + [1] WHERE k = ? AND c = ?", "INSERT INTO ks.m (k, c, t) VALUES (?, ?, (1))",
        "SELECT l FROM ks.m WHERE k = ? AND (c) > (?)", "DELETE l[?] FROM ks.m WHERE k = ? AND c = ?"}) {
    prepare(text);
  }
  EXPECT_THAT(saved(), testing::UnorderedElementsAre("SELECT l FROM ks.m WHERE k = ? AND (c) > (?)",
                                                     "DELETE l[?] FROM ks.m WHERE k = ? AND c = ?"));
}

}  // namespace
}  // namespace cassandra_like::test
