// What is told of statements that cannot be prepared: messages are those of Cassandra 5.0.9.
#include <gtest/gtest.h>

#include "cql/parser.h"
#include "tests/cql/schema_session.h"

namespace cassandra_like {
namespace {

class PrepareErrors : public testing::Test {
 protected:
  PrepareErrors() {
    session_.answer("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    session_.answer("CREATE TABLE ks.t (k int PRIMARY KEY, l list<int>, n list<frozen<list<int>>>)");
    session_.answer(
        "CREATE TABLE ks.s (k int, c int, l frozen<list<int>>, s int static, PRIMARY KEY (k, c, l))"
        " WITH CLUSTERING ORDER BY (c ASC, l DESC)");
  }

  std::string refusal(const std::string& text) {
    auto tree = parse_statement(text);
    if (!tree.ok()) return tree.error().message();
    PrepareContext context(session_.schema(), "", text, tree->bind_variables, options_);
    auto statement = prepare_statement(*tree, context);
    return statement.ok() ? "" : statement.error().message();
  }

 private:
  SchemaSession session_;
  CqlOptions options_;
};

// It fails already where it is asked whether the array fits.
TEST_F(PrepareErrors, ArraysWhereNoneCanBe) {
  const std::string kNoInt = "Unexpected receiver type 'int'; only list and vector are expected";
  EXPECT_EQ(refusal("INSERT INTO ks.t (k) VALUES ([1])"), kNoInt);
  EXPECT_EQ(refusal("INSERT INTO ks.t (k, l) VALUES (1, [[1]])"), kNoInt);
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE n CONTAINS [[1]] ALLOW FILTERING"), kNoInt);
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE k = (int)[1]"), kNoInt);
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE k = token([1])"), kNoInt);
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE k = blob_as_int([1])"),
            "Unexpected receiver type 'blob'; only list and vector are expected");
}

TEST_F(PrepareErrors, ArraysOfWhatDoesNotFit) {
  EXPECT_EQ(refusal("INSERT INTO ks.t (k, l) VALUES (1, ['a', [1]])"),
            "Invalid list literal for l: value 'a' is not of type int");
  EXPECT_EQ(refusal("INSERT INTO ks.t (k, n) VALUES (1, [[1], []])"), "");
}

// Names and functions of all that is selected, then WHERE, then what else is wrong with the selection.
TEST_F(PrepareErrors, SelectionsOfTablesWithStaticColumns) {
  const std::string kNope = "Undefined column name nope in table ks.s";
  EXPECT_EQ(refusal("SELECT cast(s as blob), nope FROM ks.s WHERE k = 1 AND c = 1"), kNope);
  EXPECT_EQ(refusal("SELECT s[1], abs(nope) FROM ks.s"), kNope);
  EXPECT_EQ(refusal("SELECT (nope) FROM ks.s"), kNope);
  EXPECT_EQ(refusal("SELECT s[1] FROM ks.s WHERE nope = 1"), kNope);
  EXPECT_EQ(refusal("SELECT cast(s as blob) FROM ks.s WHERE k = 1 AND c = 1"),
            "Cannot restrict clustering columns when selecting only static columns");
  EXPECT_EQ(refusal("SELECT cast(s as blob) FROM ks.s"), "s cannot be cast to blob");
}

// Of other tables: WHERE, then what is selected from left to right.
TEST_F(PrepareErrors, SelectionsOfOtherTables) {
  const std::string kNope = "Undefined column name nope in table ks.t";
  EXPECT_EQ(refusal("SELECT k[1] FROM ks.t WHERE nope = 1"), kNope);
  EXPECT_EQ(refusal("SELECT k[1], abs(nope) FROM ks.t"),
            "Invalid element selection: k is of type int is not a collection");
  EXPECT_EQ(refusal("SELECT abs(nope), k[1] FROM ks.t"), kNope);
  EXPECT_EQ(refusal("SELECT cast(k as blob), sum(l) FROM ks.t"), "k cannot be cast to blob");
}

TEST_F(PrepareErrors, EntriesOfADescendingList) {
  EXPECT_EQ(refusal("SELECT * FROM ks.s WHERE k = 1 AND l[1] = 1"), "Column l cannot be used as a map");
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE l[1] = 1"),
            "Indexes on list entries (l[index] = value) are not currently supported.");
}

}  // namespace
}  // namespace cassandra_like
