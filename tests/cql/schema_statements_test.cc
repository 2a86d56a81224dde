// DDL and DESCRIBE against what a real Cassandra answered: data/ddl_answers.txt, made by oracle/ddl_oracle.py.
#include <gtest/gtest.h>

#include <fstream>

#include "schema_session.h"

namespace cassandra_like {
namespace {

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(SchemaStatements, AnswerAsCassandra) {
  std::ifstream in(SOURCE_DIR "/tests/cql/data/ddl_answers.txt");
  ASSERT_TRUE(in.good());
  SchemaSession session;
  std::string statement;
  Lines expected;
  size_t count = 0;
  auto compare = [&] {
    if (statement.empty()) return;
    ++count;
    EXPECT_EQ(joined(session.answer(statement)), joined(expected)) << statement;
    expected.clear();
    statement.clear();
  };
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("> ")) {
      compare();
      statement = line.substr(2);
    } else if (line.starts_with("|")) {
      expected.push_back(line.size() > 2 ? line.substr(2) : "");
    }
  }
  compare();
  EXPECT_GT(count, 400u);
}

// Listening clients get the events in Cassandra's order, but with the statement's own event first.
TEST(SchemaStatements, TellAllThatChanged) {
  SchemaSession session;
  for (const char* text : {"CREATE KEYSPACE e WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
                           "CREATE TYPE e.a (x int)", "CREATE TYPE e.b (a frozen<a>)",
                           "CREATE TABLE e.uses (k int PRIMARY KEY, b frozen<b>)",
                           "CREATE TABLE e.other (k int PRIMARY KEY)", "ALTER TYPE e.a ADD y int"}) {
    EXPECT_EQ(session.answer(text)[0].substr(0, 7), "CHANGED") << text;
  }
  EXPECT_EQ(session.events(), (std::vector<SchemaEvent>{{"UPDATED", "TYPE", "e", "a", {}},
                                                        {"UPDATED", "TYPE", "e", "b", {}},
                                                        {"UPDATED", "TABLE", "e", "uses", {}}}));
  TablePtr table = session.schema()->table("e", "uses");
  EXPECT_EQ(table->column("b")->type->elements()[0]->elements().size(), 2u);

  session.answer("DROP KEYSPACE e");
  EXPECT_EQ(session.events(), (std::vector<SchemaEvent>{{"DROPPED", "KEYSPACE", "e", "", {}},
                                                        {"DROPPED", "TABLE", "e", "other", {}},
                                                        {"DROPPED", "TABLE", "e", "uses", {}},
                                                        {"DROPPED", "TYPE", "e", "a", {}},
                                                        {"DROPPED", "TYPE", "e", "b", {}}}));
}

// Things that Cassandra can do and this node cannot are refused by name.
TEST(SchemaStatements, RefuseByName) {
  SchemaSession session;
  session.answer("CREATE KEYSPACE r WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  session.answer("USE r");
  session.answer("CREATE TABLE t (k int PRIMARY KEY, v int)");
  const std::pair<const char*, const char*> kRefused[] = {
      {"CREATE TABLE c (k int PRIMARY KEY, v int) WITH COMPACT STORAGE", "Tables with COMPACT STORAGE"},
      {"CREATE INDEX ON t (v) USING 'sai'", "Storage-attached indexes (SAI)"},
      {"CREATE CUSTOM INDEX ON t (v) USING 'StorageAttachedIndex'", "Storage-attached indexes (SAI)"},
      {"CREATE CUSTOM INDEX ON t (v) USING 'org.apache.cassandra.index.sasi.SASIIndex'", "SASI indexes"},
      {"CREATE MATERIALIZED VIEW m AS SELECT * FROM t WHERE k IS NOT NULL AND v IS NOT NULL PRIMARY KEY (v, k)",
       "Materialized views"},
      {"CREATE TRIGGER x ON t USING 'y'", "Triggers"},
      {"CREATE FUNCTION f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'return a;'",
       "User-defined functions"},
      {"CREATE AGGREGATE a (int) SFUNC f STYPE int", "User-defined aggregates"}};
  for (const auto& [text, what] : kRefused) {
    EXPECT_EQ(session.answer(text), Lines{std::string("ERROR 2200 ") + what + " are not supported yet"}) << text;
  }
}

TEST(SchemaStatements, ACustomIndexIsOfColumnsThatCanHaveOne) {
  SchemaSession session;
  session.answer("CREATE KEYSPACE r WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  session.answer("USE r");
  session.answer("CREATE TABLE t (k int PRIMARY KEY, v int, d list<duration>)");
  EXPECT_EQ(session.answer("CREATE CUSTOM INDEX ON t (w) USING 'nope'"),
            Lines{"ERROR 2200 Undefined column name w in table r.t"});
  EXPECT_EQ(session.answer("CREATE CUSTOM INDEX ON t (d) USING 'nope'"),
            Lines{"ERROR 2200 Secondary indexes are not supported on collections containing durations"});
  EXPECT_EQ(session.answer("CREATE CUSTOM INDEX ON t (v) USING 'nope'"),
            Lines{"ERROR 2300 Unable to find custom indexer class 'nope'"});
}

TEST(SchemaStatements, AColumnCountsThatIsWrittenAsCounter) {
  SchemaSession session;
  session.answer("CREATE KEYSPACE r WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  EXPECT_EQ(session.answer("CREATE TABLE r.c (k int PRIMARY KEY, v 'CounterColumnType')"),
            Lines{"ERROR 2300 r.c: Cannot have a counter column (\"v\") in a non counter table"});
  session.answer("CREATE TABLE r.c (k int PRIMARY KEY, v counter)");
  EXPECT_TRUE(session.schema()->table("r", "c")->is_counter());
}

// A client chooses how deep.
TEST(SchemaStatements, RefuseRetriesInsideOfRetries) {
  SchemaSession session;
  session.answer("CREATE KEYSPACE r WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  std::string nested;
  for (int i = 0; i < 20'000; ++i) nested += "MIN(1,";
  nested += "1" + std::string(20'000, ')');
  Lines answer = session.answer("CREATE TABLE r.t (k int PRIMARY KEY) WITH speculative_retry = '" + nested + "'");
  EXPECT_EQ(answer[0], "ERROR 2300 Invalid value " + nested + " for option 'speculative_retry'");
  answer = session.answer("CREATE TABLE r.t (k int PRIMARY KEY) WITH speculative_retry = 'MIN(99p,5ms)'");
  EXPECT_EQ(answer[0].substr(0, 7), "CHANGED");
}

}  // namespace
}  // namespace cassandra_like
