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

// mv has all columns of t, and narrow has some.
SchemaPtr with_views(const SchemaPtr& schema) {
  auto keyspace = std::make_shared<KeyspaceMetadata>(*schema->keyspace("kv"));
  for (const char* name : {"mv", "narrow"}) {
    const TablePtr base = keyspace->table(std::string(name) == "mv" ? "t" : "u");
    auto view = std::make_shared<ViewMetadata>();
    auto table = std::make_shared<TableMetadata>(*base);
    table->name = name;
    view->table = std::move(table);
    view->base_table_id = base->id;
    view->includes_all_columns = std::string(name) == "mv";
    keyspace->views[name] = std::move(view);
  }
  return schema->with_keyspace(std::move(keyspace));
}

// The answers are those of a Cassandra that has the views, but where this node refuses what would change a view.
TEST(SchemaStatements, ABaseTableKeepsWhatItsViewsNeed) {
  SchemaSession session;
  for (const char* text : {"CREATE KEYSPACE kv WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
                           "USE kv", "CREATE TABLE t (p int, c int, v int, PRIMARY KEY (p, c))",
                           "CREATE TABLE u (p int, c int, v int, PRIMARY KEY (p, c))"}) {
    session.answer(text);
  }
  session.use(with_views(session.schema()));
  const std::string no_alter =
      "ERROR 2200 Cannot use ALTER TABLE on a materialized view; use ALTER MATERIALIZED VIEW instead";
  const std::string no_drop =
      "ERROR 2200 Cannot use DROP TABLE on a materialized view. Please use DROP MATERIALIZED VIEW instead.";
  const std::string depended_on = "ERROR 2200 Cannot drop a table when materialized views still depend on it (kv)";
  const std::string no_gc_grace =
      "ERROR 2200 Cannot alter gc_grace_seconds of the base table of a materialized view to 0, since this value is "
      "used to TTL "
      "undelivered updates. Setting gc_grace_seconds too low might cause undelivered updates to expire before being "
      "replayed.";
  const std::pair<const char*, std::string> kAnswers[] = {
      {"DROP TABLE t", depended_on},
      {"DROP TABLE IF EXISTS u", depended_on},
      {"DROP TABLE mv", no_drop},
      {"DROP TABLE IF EXISTS narrow", no_drop},
      {"ALTER TABLE t DROP v", "ERROR 2200 Cannot drop column v on base table t with materialized views"},
      {"ALTER TABLE t DROP (p, v)", "ERROR 2200 Cannot drop PRIMARY KEY column p"},
      {"ALTER TABLE t DROP nosuch", "ERROR 2200 Column nosuch was not found in table 'kv.t'"},
      {"ALTER TABLE mv DROP v", no_alter},
      {"ALTER TABLE mv WITH nonsense = 1", no_alter},
      {"ALTER TABLE mv WITH gc_grace_seconds = 'x'", "ERROR 2000 Invalid integer value x for 'gc_grace_seconds'"},
      {"ALTER TABLE t WITH gc_grace_seconds = 0", no_gc_grace},
      {"ALTER TABLE t WITH gc_grace_seconds = 5", "CHANGED UPDATED TABLE kv t"},
      {"ALTER TABLE t ADD w int", "ERROR 2200 Adding columns to a materialized view is not supported yet"},
      {"ALTER TABLE t ADD s int static", "CHANGED UPDATED TABLE kv t"},
      {"ALTER TABLE u ADD w int", "CHANGED UPDATED TABLE kv u"},
      {"ALTER TABLE u RENAME p TO q", "ERROR 2200 Renaming columns of a materialized view is not supported yet"},
      {"CREATE TABLE mv (k int PRIMARY KEY)",
       "ERROR 2400 {kv, mv} Cannot add already existing table \"mv\" to keyspace \"kv\""},
      {"CREATE TABLE IF NOT EXISTS mv (k int PRIMARY KEY)", "VOID"},
      {"DROP MATERIALIZED VIEW t", "ERROR 2200 Materialized view 'kv.t' doesn't exist"},
      {"DROP MATERIALIZED VIEW mv", "CHANGED DROPPED TABLE kv mv"},
      {"DROP MATERIALIZED VIEW IF EXISTS mv", "VOID"},
      {"DROP TABLE t", "CHANGED DROPPED TABLE kv t"},
      {"DROP KEYSPACE kv", "CHANGED DROPPED KEYSPACE kv"}};
  for (const auto& [text, answer] : kAnswers) EXPECT_EQ(session.answer(text), Lines{answer}) << text;
  EXPECT_EQ(session.events(), (std::vector<SchemaEvent>{{"DROPPED", "KEYSPACE", "kv", "", {}},
                                                        {"DROPPED", "TABLE", "kv", "narrow", {}},
                                                        {"DROPPED", "TABLE", "kv", "u", {}}}));
}

// Things that Cassandra can do and this node cannot are refused by name.
TEST(SchemaStatements, RefuseByName) {
  SchemaSession session;
  session.answer("CREATE KEYSPACE r WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  session.answer("USE r");
  session.answer("CREATE TABLE t (k int PRIMARY KEY, v int)");
  const std::pair<const char*, const char*> kRefused[] = {
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
