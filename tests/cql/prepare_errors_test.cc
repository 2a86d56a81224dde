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

}  // namespace
}  // namespace cassandra_like
