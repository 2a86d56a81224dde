// Refusals for what stands beside a request's text: keyspace and consistency level. Texts are Cassandra's.
#include "cql/prepared_cache.h"
#include "cql/query_processor.h"
#include "gtest/gtest.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

class RequestOptionsTest : public testing::Test {
 protected:
  RequestOptionsTest() {
    processor->set_peers({processor.get()});
    query("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}", {});
    query("CREATE TABLE ks.t (k int PRIMARY KEY, v int)", {});
    query("CREATE TABLE ks.counters (k int PRIMARY KEY, n counter)", {});
  }
  ~RequestOptionsTest() override { node.kill(); }

  static std::string text_of(const Result<QueryResult>& answer) { return answer.ok() ? "" : answer.error().message(); }
  // "" or the error, as of the next two.
  std::string query(const std::string& text, const QueryOptions& options) {
    return text_of(
        node.run<Result<QueryResult>>(0, [&] { return processor->query(text, options, QueryState{client}); }));
  }
  std::string prepare(const std::string& text, const std::string& keyspace) {
    return text_of(
        node.run<Result<QueryResult>>(0, [&] { return processor->prepare(text, keyspace, QueryState{client}); }));
  }
  std::string batch(const std::string& text, const QueryOptions& options) {
    const std::vector<BatchEntry> entries{{false, text, {}}};
    return text_of(
        node.run<Result<QueryResult>>(0, [&] { return processor->batch(0, entries, options, QueryState{client}); }));
  }
  std::string query_at(Consistency level, const std::string& text) {
    QueryOptions options;
    options.consistency = level;
    return query(text, options);
  }

  ReplicaNode node{1};
  std::unique_ptr<Coordinator> coordinator = Coordinator::create(node.runtime(0), node.on(0), {});
  std::unique_ptr<QueryProcessor> processor = QueryProcessor::create(node.runtime(0), *coordinator, {});
  ClientState client;
};

TEST_F(RequestOptionsTest, TheKeyspaceOfARequestHasToExist) {
  const std::string kMissing = "Keyspace 'nope' does not exist";
  QueryOptions options;
  options.keyspace = "nope";
  EXPECT_EQ(query("SELECT v FROM t WHERE k = 1", options), kMissing);
  EXPECT_EQ(query("SELECT v FROM ks.t WHERE k = 1", options), kMissing);
  EXPECT_EQ(prepare("SELECT v FROM t WHERE k = ?", "nope"), kMissing);
  EXPECT_EQ(batch("INSERT INTO t (k, v) VALUES (1, 1)", options), kMissing);

  options.keyspace = "ks";
  EXPECT_EQ(query("SELECT v FROM t WHERE k = 1", options), "");
  EXPECT_EQ(prepare("SELECT v FROM t WHERE k = ?", "ks"), "");
  EXPECT_EQ(batch("INSERT INTO t (k, v) VALUES (1, 1)", options), "");
}

// Once a connection. The ids are those of Cassandra.
TEST_F(RequestOptionsTest, PreparedStatementsThatDependOnTheKeyspaceInUseAreWarnedOf) {
  auto warned = [&](const std::string& text, const std::string& keyspace) -> std::string {
    client = ClientState();
    auto prepared =
        node.run<Result<QueryResult>>(0, [&] { return processor->prepare(text, keyspace, QueryState{client}); });
    EXPECT_TRUE(prepared.ok());
    if (prepared->warnings.empty()) return "";
    const std::string& warning = prepared->warnings.at(0);
    return warning.substr(warning.find("Keyspace used"));
  };
  EXPECT_EQ(warned("USE w", ""),
            "Keyspace used: null, statement keyspace: null, statement id: 83b685eb4fcdefc3871f79171afa2426");
  EXPECT_EQ(warned("SELECT k,v FROM t WHERE k=?", "ks"), "Keyspace used: ks, statement keyspace: ks, statement id: " +
                                                             to_hex(prepared_id("ks", "SELECT k,v FROM t WHERE k=?")));
  EXPECT_EQ(warned("SELECT k,v FROM ks.t WHERE k=?", "ks"), "");
}

TEST_F(RequestOptionsTest, AKeyspaceThatComesWithARequestIsWarnedOfEachTime) {
  auto warnings = [&](const std::string& text, const std::string& keyspace) {
    auto prepared =
        node.run<Result<QueryResult>>(0, [&] { return processor->prepare(text, keyspace, QueryState{client}); });
    return prepared.ok() ? prepared->warnings.size() : 99;
  };
  EXPECT_EQ(warnings("SELECT k FROM t WHERE k = 1", "ks"), 1u);
  EXPECT_EQ(warnings("SELECT k FROM t WHERE k = 2", "ks"), 1u);
  EXPECT_EQ(warnings("SELECT k FROM t WHERE k = 2", "ks"), 0u);  // is known
  client.keyspace = "ks";
  EXPECT_EQ(warnings("SELECT k FROM t WHERE k = 3", ""), 1u);
  EXPECT_EQ(warnings("SELECT k FROM t WHERE k = 4", ""), 0u);
  EXPECT_EQ(warnings("SELECT k FROM t WHERE k = 5", "ks"), 1u);
}

TEST_F(RequestOptionsTest, NodeLocalIsForDebugging) {
  const std::string kRefused =
      "NODE_LOCAL consistency level is highly dangerous and should be used only for debugging purposes";
  for (const char* text : {"SELECT v FROM ks.t WHERE k = 1", "INSERT INTO ks.t (k, v) VALUES (1, 1)", "USE ks"}) {
    EXPECT_EQ(query_at(Consistency::kNodeLocal, text), kRefused) << text;
  }
}

TEST_F(RequestOptionsTest, CountersAreWrittenAtFewerLevels) {
  const std::string counter = "UPDATE ks.counters SET n = n + 1 WHERE k = 1";
  const std::string row = "INSERT INTO ks.t (k, v) VALUES (1, 1)";
  EXPECT_EQ(query_at(Consistency::kAny, counter),
            "Consistency level ANY is not yet supported for counter table counters");
  EXPECT_EQ(query_at(Consistency::kAny, row), "");
  for (Consistency level : {Consistency::kSerial, Consistency::kLocalSerial}) {
    EXPECT_EQ(query_at(level, counter), "Counter operations are inherently non-serializable");
    EXPECT_EQ(query_at(level, row), "You must use conditional updates for serializable writes");
  }
}

// A request can have so many of both: each is looked up.
TEST_F(RequestOptionsTest, ManyValuesWithNames) {
  constexpr size_t kCount = 65'535;
  std::string text = "SELECT v FROM ks.t WHERE k IN (";
  std::vector<std::string> names;
  for (size_t i = 0; i < kCount; ++i) {
    names.push_back("marker" + std::to_string(i));
    text += (i > 0 ? ", :" : ":") + names.back();
  }
  text += ")";
  const std::vector<std::string_view> views(names.rbegin(), names.rend());
  const std::vector<BytesView> values(kCount, BytesView("\0\0\0\1", 4));
  QueryOptions options;
  options.values = values;
  options.value_names = views;
  EXPECT_EQ(query(text, options), "");
  options.value_names = std::span(views).first(kCount - 1);
  EXPECT_EQ(query(text, options), "Invalid amount of bind variables");
}

}  // namespace
}  // namespace cassandra_like::test
