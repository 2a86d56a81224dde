// Refusals of a SELECT whose values are known: texts are those of Cassandra 5.0.9.
#include "cql/query_processor.h"
#include "gtest/gtest.h"
#include "model/values.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

class SelectTest : public testing::Test {
 protected:
  SelectTest() {
    processor->set_peers({processor.get()});
    run("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
    run("CREATE TABLE ks.s (p text, c int, d int, s int static, v int, m map<int, int>, PRIMARY KEY (p, c, d))");
    run("CREATE TABLE ks.t (p text, c int, d int, v int, PRIMARY KEY (p, c, d))");
  }
  ~SelectTest() override { node.kill(); }

  Result<QueryResult> query(const std::string& text, const std::vector<BytesView>& values = {}) {
    QueryOptions options;
    options.values = values;
    ClientState client;
    return node.run<Result<QueryResult>>(0, [&] { return processor->query(text, options, QueryState{client}); });
  }
  // "" or the error.
  std::string run(const std::string& text, const std::vector<BytesView>& values = {}) {
    auto done = query(text, values);
    return done.ok() ? "" : done.error().message();
  }
  int32_t count(const std::string& table) {
    return std::get<RowsResult>(query("SELECT * FROM " + table)->value).row_count;
  }
  std::string select(const std::string& what, const std::string& where) {
    return run("SELECT " + what + " WHERE " + where + " ALLOW FILTERING");
  }

  ReplicaNode node{1};
  std::unique_ptr<Coordinator> coordinator = Coordinator::create(node.runtime(0), node.on(0), {});
  std::unique_ptr<QueryProcessor> processor = QueryProcessor::create(node.runtime(0), *coordinator, {});
};

// No row can match, but static columns are read, if any column that is named is static or none is outside of the key.
TEST_F(SelectTest, KeysAreLookedAtBehindAnEmptyIn) {
  const std::string kEmpty = "Key may not be empty";
  for (const char* where : {"p = '' AND c = 1 AND d IN ()", "p IN ('a', '') AND (c, d) IN ()"}) {
    for (const char* columns : {"*", "c", "count(*)", "c, s", "v, s"}) {
      EXPECT_EQ(select(columns + std::string(" FROM ks.s"), where), kEmpty) << columns;
    }
    for (const char* columns : {"v", "c, m", "writetime(v)"}) {
      EXPECT_EQ(select(columns + std::string(" FROM ks.s"), where), "") << columns;
    }
    EXPECT_EQ(select("* FROM ks.t", where), "");
    EXPECT_EQ(select("c FROM ks.t", where), "");
    EXPECT_EQ(select("c FROM ks.s", where + std::string(" AND v = 1")), "");
    EXPECT_EQ(select("v FROM ks.s", where + std::string(" AND s = 1")), kEmpty);
  }
}

TEST_F(SelectTest, ValuesAreNotLookedAtWithoutAKey) {
  const BytesView no_int("\0", 1);
  for (const char* condition : {"c = ?", "v = ?", "c IN (1) AND d > ?"}) {
    EXPECT_EQ(run("SELECT * FROM ks.t WHERE p IN () AND " + std::string(condition) + " ALLOW FILTERING", {no_int}), "")
        << condition;
    EXPECT_EQ(run("SELECT * FROM ks.t WHERE p = 'a' AND " + std::string(condition) + " ALLOW FILTERING", {no_int}),
              "Expected 4 or 0 byte int (1)");
  }
}

TEST_F(SelectTest, KeysAreNotLookedAtBehindSlicesThatAreNone) {
  EXPECT_EQ(select("* FROM ks.s", "p = '' AND c > 2 AND c < 1"), "");
  EXPECT_EQ(select("c, s FROM ks.s", "p = '' AND c IN ()"), "");
  EXPECT_EQ(select("c, s FROM ks.s", "p = '' AND c > 2"), "Key may not be empty");
  const std::string ring = " FROM ks.s WHERE token(p) > ? AND c > 2 AND c < 1 ALLOW FILTERING";
  EXPECT_EQ(run("SELECT c, s" + ring, {kNull}), "Invalid null token value");
  EXPECT_EQ(run("SELECT c" + ring, {kNull}), "");
}

TEST_F(SelectTest, LiteralsHaveNoNullKeys) {
  EXPECT_EQ(run("INSERT INTO ks.t (p, c, d) VALUES ('a', 1, 2)"), "");
  EXPECT_EQ(run("SELECT {c, v} FROM ks.t"), "null is not supported inside collections");
  EXPECT_EQ(run("SELECT (map<int, int>){v: c} FROM ks.t"), "null is not supported inside collections");
  EXPECT_EQ(run("SELECT (map<int, int>){c: v} FROM ks.t"), "");
}

// Bound values are looked at before rows are.
TEST_F(SelectTest, NullsBeforeRows) {
  EXPECT_EQ(run("SELECT m[?] FROM ks.s", {kNull}), "Invalid null value for element selection on m");
  EXPECT_EQ(run("SELECT m[1..?] FROM ks.s", {kNull}), "Invalid null value for slice selection on m");
  EXPECT_EQ(run("SELECT m[1..?] FROM ks.s", {kUnset}), "");
  EXPECT_EQ(run("SELECT v FROM ks.t WHERE p = 'a' AND (c, d) > ?", {kUnset}), "Invalid unset value for tuple (c,d)");
  EXPECT_EQ(run("SELECT v FROM ks.t WHERE p = 'a' AND (c, d) IN ?", {kUnset}), "Invalid unset value for in(c,d)");
  EXPECT_EQ(run("SELECT v FROM ks.t WHERE p = 'a' AND (c, d) IN ?", {kNull}), "Invalid null value for IN restriction");
}

// Fields that a tuple lacks at its end do not bound the slice.
TEST_F(SelectTest, BoundTuplesMayHaveDifferentLengths) {
  run("CREATE TABLE ks.down (p text, c int, d int, PRIMARY KEY (p, c, d)) WITH CLUSTERING ORDER BY (c ASC, d DESC)");
  for (const char* table : {"ks.t", "ks.down"}) {
    for (const char* row : {"0, 0", "0, 1", "1, 0", "1, 1", "2, 0", "2, 1"}) {
      EXPECT_EQ(run("INSERT INTO " + std::string(table) + " (p, c, d) VALUES ('a', " + row + ")"), "");
    }
  }
  const auto tuple = [](std::vector<int> fields) {
    Bytes out;
    for (int field : fields) append_element(out, encode_int(field));
    return out;
  };
  const auto keys = [this](const std::string& table, const std::string& where, std::vector<Bytes> values) {
    auto found = query("SELECT c, d FROM " + table + " WHERE p = 'a' AND " + where, {values.begin(), values.end()});
    if (!found.ok()) return found.error().message();
    std::string text;
    Reader in(std::get<RowsResult>(found->value).rows);
    while (!in.at_end()) {
      for (int i = 0; i < 2; ++i) text += std::to_string(decode_int(in.take(static_cast<size_t>(in.i32()))));
      text += " ";
    }
    return text;
  };
  EXPECT_EQ(keys("ks.t", "(c) > ? AND (c, d) <= ?", {tuple({0}), tuple({2, 0})}), "10 11 20 ");
  EXPECT_EQ(keys("ks.down", "(c) > ? AND (c, d) <= ?", {tuple({0}), tuple({2, 0})}), "11 10 20 ");
  EXPECT_EQ(keys("ks.t", "(c, d) > ? AND (c) < ?", {tuple({0, 0}), tuple({2})}), "01 10 11 ");
  EXPECT_EQ(keys("ks.down", "(c, d) > ? AND (c) < ?", {tuple({0, 0}), tuple({2})}), "01 11 10 ");
  EXPECT_EQ(keys("ks.t", "(c, d) > ?", {tuple({1})}), "20 21 ");
  EXPECT_EQ(keys("ks.t", "(c, d) <= ?", {tuple({0})}), "00 01 ");
  EXPECT_EQ(keys("ks.t", "(c, d) > ?", {Bytes()}), "00 01 10 11 20 21 ");
  EXPECT_EQ(run("SELECT v FROM ks.t WHERE p = 'a' AND (c) > ? AND (c, d) < ?", {tuple({0}), kUnset}),
            "Invalid unset value for tuple (c,d)");
}

TEST_F(SelectTest, AKeyIsOfTheValuesThatItsColumnsEqual) {
  EXPECT_EQ(run("SELECT v FROM ks.t WHERE p = ?", {kNull}), "Invalid null value in condition for column p");
  EXPECT_EQ(run("SELECT v FROM ks.t WHERE p = ?", {kUnset}), "Invalid unset value for column p");
  run("CREATE TABLE ks.two (a int, b text, PRIMARY KEY ((a, b)))");
  for (const char* key : {"1, 'x'", "1, 'y'", "2, 'x'"}) {
    EXPECT_EQ(run("INSERT INTO ks.two (a, b) VALUES (" + std::string(key) + ")"), "");
  }
  const std::string one = encode_int(1);
  auto rows = [&](const std::string& where, const std::vector<BytesView>& values) {
    auto result = query("SELECT * FROM ks.two WHERE " + where, values);
    return result.ok() ? std::get<RowsResult>(result->value).row_count : -1;
  };
  EXPECT_EQ(rows("b = ? AND a = ?", {"y", one}), 1);
  EXPECT_EQ(rows("a = ? AND b = ?", {one, "z"}), 0);
  EXPECT_EQ(rows("a = ? AND b IN ('x', 'y', 'z')", {one}), 2);
  EXPECT_EQ(rows("a = ? AND b = 'x' AND token(a, b) >= token(1, 'x')", {one}), 1);
  EXPECT_EQ(rows("a = ? AND b = 'x' AND token(a, b) > token(1, 'x')", {one}), 0);
  EXPECT_EQ(run("SELECT a FROM ks.two WHERE a = ? AND b = ?", {one, kNull}),
            "Invalid null value in condition for column b");
}

// The decimals 1.0 and 1 are one key: the one that is named first.
TEST_F(SelectTest, EqualKeysOfAnInAreOne) {
  run("CREATE TABLE ks.n (p decimal PRIMARY KEY, v int)");
  EXPECT_EQ(run("UPDATE ks.n SET v = 1 WHERE p IN (1.0, 1, 2)"), "");
  EXPECT_EQ(count("ks.n"), 2);
  EXPECT_EQ(run("DELETE FROM ks.n WHERE p IN (1, 1.0)"), "");  // finds no row: 1 is another spelling
  EXPECT_EQ(count("ks.n"), 2);
  EXPECT_EQ(run("DELETE FROM ks.n WHERE p IN (1.0, 1)"), "");
  EXPECT_EQ(count("ks.n"), 1);
}

// All parts of a batch are prepared before any of them is refused for what it is.
TEST_F(SelectTest, PartsOfABatchArePreparedFirst) {
  run("CREATE TABLE ks.n (k int PRIMARY KEY, n counter)");
  const std::string begin = "BEGIN COUNTER BATCH UPDATE ks.n USING TIMESTAMP 1 SET n = n + 1 WHERE k = 1; ";
  EXPECT_EQ(run(begin + "UPDATE ks.n SET x = x + 1 WHERE k = 1; APPLY BATCH"), "Undefined column name x in table ks.n");
  EXPECT_EQ(run(begin + "UPDATE ks.n SET n = n + 1 WHERE k = 1; APPLY BATCH"),
            "Cannot provide custom timestamp for counter updates");
}

// Sizes are those that Cassandra 5.0.9 tells.
TEST_F(SelectTest, BatchesAreMeasuredAsCassandraMeasuresThem) {
  run("CREATE TABLE ks.n (k int PRIMARY KEY, n counter)");
  auto size = [&](const std::string& kind, const std::string& statements) -> std::string {
    auto done = query("BEGIN " + kind + " BATCH " + statements + " APPLY BATCH");
    if (!done.ok()) return done.error().message();
    if (done->warnings.empty()) return "";
    const std::string& warning = done->warnings[0];
    return warning.substr(0, warning.find(','));
  };
  const std::string large = "INSERT INTO ks.s (p, c, d) VALUES ('" + std::string(5, 'y') + "', 1, 2); ";
  std::string many, increments;
  for (int i = 100; i < 200; ++i) {
    many += "INSERT INTO ks.s (p, c, d, v, m) VALUES ('" + std::to_string(i) + "', 1, 2, 3, {1: 2}) USING TTL 9; ";
    increments += "UPDATE ks.n SET n = n + 1 WHERE k = " + std::to_string(i) + "; ";
  }
  EXPECT_EQ(size("", many), "Batch for [ks.s] is of size 13400");
  EXPECT_EQ(size("COUNTER", increments), "Batch for [ks.n] is of size 10600");
  EXPECT_EQ(size("", large + "DELETE FROM ks.s WHERE p = 'z'"), "");
}

TEST_F(SelectTest, ABatchIsWarnedOfTablesWhoseBatchlogExpiresAtOnce) {
  for (const char* name : {"a", "b", "c"}) {
    run(std::string("CREATE TABLE ks.") + name +
        " (k int PRIMARY KEY) WITH gc_grace_seconds = " + (*name == 'c' ? "1" : "0"));
  }
  auto warnings = [&](const std::string& kind, const std::string& tables) {
    std::string statements;
    for (char name : tables) statements += std::string("INSERT INTO ks.") + name + " (k) VALUES (1); ";
    auto done = query("BEGIN " + kind + " BATCH " + statements + "APPLY BATCH");
    return done.ok() ? done->warnings : std::vector<std::string>{done.error().message()};
  };
  auto warning = [](const std::string& tables) {
    return std::vector<std::string>{
        "Executing a LOGGED BATCH on " + tables +
        ", configured with a gc_grace_seconds of 0. The gc_grace_seconds is used to TTL batchlog entries, so "
        "setting gc_grace_seconds too low on tables involved in an atomic batch might cause batchlog entries to "
        "expire before being replayed."};
  };
  EXPECT_EQ(warnings("", "ac"), warning("table [ks.a]"));
  EXPECT_EQ(warnings("", "aab"), warning("tables [ks.a, ks.b]"));
  EXPECT_EQ(warnings("", "c"), std::vector<std::string>{});
  EXPECT_EQ(warnings("UNLOGGED", "ab"), std::vector<std::string>{});
}

TEST_F(SelectTest, KeysAreMeasured) {
  auto refusal = [](size_t size) {
    return "Key length of " + std::to_string(size) + " is longer than maximum of 65535";
  };
  run("CREATE TABLE ks.w (a text, b text, c text, v int, PRIMARY KEY ((a, b), c))");
  const std::string a(32764, 'a'), b(32766, 'b'), c(65536, 'c');
  EXPECT_EQ(run("INSERT INTO ks.w (a, b, c) VALUES ('" + a + "', '" + b + "', 'c')"), refusal(65536));
  EXPECT_EQ(run("INSERT INTO ks.w (a, b, c) VALUES ('" + a + "', '" + b + b + "', 'c')"), refusal(98296));
  for (const char* statement : {"DELETE FROM ks.w", "DELETE v FROM ks.w", "UPDATE ks.w SET v = 1"}) {
    EXPECT_EQ(run(std::string(statement) + " WHERE a = 'a' AND b = 'b' AND c = '" + c + "'"), refusal(65536));
    EXPECT_EQ(run(std::string(statement) + " WHERE a = 'a' AND b = 'b' AND c IN ('" + c + "')"), refusal(65536));
  }
  EXPECT_EQ(run("DELETE FROM ks.w WHERE a = 'a' AND b = 'b' AND c > '" + c + "'"), "");
}

TEST_F(SelectTest, TuplesThatFilter) { EXPECT_EQ(select("v FROM ks.t", "(d) IN ((1), (2))"), ""); }

TEST_F(SelectTest, GroupsByWhatKeepsTheirOrder) {
  EXPECT_EQ(run("SELECT p FROM ks.t GROUP BY p, abs(c)"),
            "Only monotonic functions are supported in the GROUP BY clause. Got: system.abs : (int) -> int ");
  run("CREATE TABLE ks.tuples (p int, c tuple<float>, PRIMARY KEY (p, c))");
  EXPECT_EQ(
      run("SELECT p FROM ks.tuples GROUP BY p, mask_default(c)"),
      "Only monotonic functions are supported in the GROUP BY clause. Got: system.mask_default : (tuple<float>) -> "
      "frozen<tuple<float>> ");
  run("CREATE TABLE ks.descending (p int, c tuple<float>, PRIMARY KEY (p, c)) WITH CLUSTERING ORDER BY (c DESC)");
  EXPECT_EQ(run("SELECT p FROM ks.descending GROUP BY p, mask_default(c)"),
            "Only monotonic functions are supported in the GROUP BY clause. Got: system.mask_default : "
            "(frozen<tuple<float>>) -> frozen<tuple<float>> ");
}

TEST_F(SelectTest, GroupsByNoArithmetic) {
  run("CREATE TABLE ks.g (p int, a int, b text, c int, v int, PRIMARY KEY (p, a, b, c))");
  auto group_by = [&](const std::string& what) { return run("SELECT p FROM ks.g WHERE p = 1 GROUP BY p, " + what); };
  const std::string kMonotonic = "Only monotonic functions are supported in the GROUP BY clause. Got: system.";
  EXPECT_EQ(group_by("a + 1"), kMonotonic + R"("_add" : (int, int(constant)) -> int )");
  EXPECT_EQ(group_by("2 * a"), kMonotonic + R"("_multiply" : (int(constant), int) -> int )");
  EXPECT_EQ(group_by("-a"), kMonotonic + R"("_negate" : (int) -> int )");
  EXPECT_EQ(group_by("a + b"), "the '+' operation is not supported between a and b");
  EXPECT_EQ(group_by("a + c"), "GROUP BY functions accept only one clustering column as parameter, got: a,c");
  EXPECT_EQ(group_by("v + 1"), "Group by functions are only supported on clustering columns, got v");
  EXPECT_EQ(group_by("(int) 1 + 1"), "GROUP BY functions must have one clustering column name as parameter");
  EXPECT_EQ(group_by("a + 1, b"), "Functions are only supported on the last element of the GROUP BY clause");
  const std::string kAggregate = "Aggregate functions are not supported within the GROUP BY clause, got: system.";
  EXPECT_EQ(group_by("count(*)"), kAggregate + "count_rows");
  EXPECT_EQ(group_by("max(a)"), kAggregate + "max");
}

TEST_F(SelectTest, WhatIsNullOfAMapEntryIsNamed) {
  const Bytes one = encode_int(1);
  const std::string entry = "SELECT v FROM ks.s WHERE m[?] = ? ALLOW FILTERING";
  EXPECT_EQ(run(entry, {kNull, one}), "Unsupported null map key for column m");
  EXPECT_EQ(run(entry, {one, kNull}), "Unsupported null map value for column m");
  EXPECT_EQ(run(entry, {kNull, kNull}), "Unsupported null map key for column m");
  EXPECT_EQ(run(entry, {one, one}), "");
  EXPECT_EQ(select("v FROM ks.s", "m[null] = 1"), "Unsupported null map key for column m");
  EXPECT_EQ(select("v FROM ks.s", "m CONTAINS null"), "Unsupported null value for column m");
}

TEST_F(SelectTest, AFieldOfALiteralThatIsThereTwiceIsNamedOnce) {
  run("CREATE TYPE ks.u (a int, b text)");
  auto name = [&](const std::string& what) {
    auto rows = query("SELECT " + what + " FROM ks.t");
    return rows.ok() ? std::get<RowsResult>(rows->value).metadata->columns[0].name : rows.error().message();
  };
  EXPECT_EQ(name("(u){a: 2, b: 'x', a: 3}"), "(ks.u){a: 3, b: 'x'}");
  EXPECT_EQ(name("[(ks.u){a: 2, a: 3}]"), "[(ks.u){a: 3}]");
  EXPECT_EQ(name("(map<int, int>){1: 2, 1: 3}"), "(map<int, int>){1: 2, 1: 3}");
}

TEST_F(SelectTest, ABoundDocumentThatIsNoTextIsShown) {
  EXPECT_EQ(run("INSERT INTO ks.t JSON ?", {BytesView("{\xff}")}), "Invalid UTF-8 bytes 7bff7d");
  EXPECT_EQ(run("INSERT INTO ks.t JSON ?", {BytesView(R"({"p": "p", "c": 1, "d": 2})")}), "");
  EXPECT_EQ(run("INSERT INTO ks.t JSON ?", {kNull}), "Got null for INSERT JSON values");
}

TEST_F(SelectTest, TheTextOfADurationInJsonIsToldOfWithoutItsColumn) {
  run("CREATE TABLE ks.d (k int PRIMARY KEY, d duration, l list<duration>, i inet)");
  EXPECT_EQ(run(R"(INSERT INTO ks.d JSON '{"k": 1, "d": "x"}')"), "Unable to convert 'x' to a duration");
  EXPECT_EQ(run(R"(INSERT INTO ks.d JSON '{"k": 1, "l": ["1h1d"]}')"),
            "Invalid duration. The hours should be after days");
  EXPECT_EQ(run(R"(INSERT INTO ks.d (k, d) VALUES (1, from_json('"x"')))"), "Unable to convert 'x' to a duration");
  EXPECT_EQ(run(R"(INSERT INTO ks.d JSON '{"k": 1, "d": 5}')"),
            "Error decoding JSON value for d: Expected a string representation of a duration, but got a Integer: 5");
  EXPECT_EQ(run(R"(INSERT INTO ks.d JSON '{"k": 1, "i": "x"}')"),
            "Error decoding JSON value for i: Unable to make inet address from 'x'");
}

TEST_F(SelectTest, TheValuesOfAPartitionKeyInJsonAreValidated) {
  run("CREATE TYPE ks.f (a smallint)");
  run("CREATE TABLE ks.u (k frozen<ks.f>, c smallint, PRIMARY KEY (k, c))");
  run("CREATE TABLE ks.one (k smallint PRIMARY KEY)");
  run("CREATE TABLE ks.two (k smallint, l int, PRIMARY KEY ((k, l)))");
  EXPECT_EQ(run(R"(INSERT INTO ks.u JSON '{"k": {"a": ""}, "c": 1}')"),
            "Failure validating the 0th field a; Expected 2 bytes for a smallint (0)");
  EXPECT_EQ(run(R"(INSERT INTO ks.u JSON '{"k": {"a": 1}, "c": ""}')"), "");
  EXPECT_EQ(run(R"(INSERT INTO ks.one JSON '{"k": ""}')"), "Key may not be empty");
  EXPECT_EQ(run(R"(INSERT INTO ks.two JSON '{"k": "", "l": 1}')"), "Expected 2 bytes for a smallint (0)");
  EXPECT_EQ(run(R"(INSERT INTO ks.two JSON '{"k": 1, "l": ""}')"), "");
}

// Three lists of a few hundred values each are more tuples than there is memory for.
TEST_F(SelectTest, InRestrictionsThatMultiplyAreLimited) {
  const std::string kRefused = "The IN restrictions of a statement may name 1000000 combinations of values at most";
  std::string many, texts;
  for (int i = 0; i < 1001; ++i) {
    many += (i > 0 ? ", " : "") + std::to_string(i);
    texts += (i > 0 ? ", '" : "'") + std::to_string(i) + "'";
  }
  EXPECT_EQ(run("SELECT * FROM ks.t WHERE p = 'a' AND c IN (" + many + ") AND d IN (" + many + ")"), kRefused);
  EXPECT_EQ(run("UPDATE ks.t SET v = 1 WHERE p = 'a' AND c IN (" + many + ") AND d IN (" + many + ")"), kRefused);
  EXPECT_EQ(run("DELETE FROM ks.t WHERE p = 'a' AND c IN (" + many + ") AND d IN (" + many + ")"), kRefused);
  ASSERT_EQ(run("CREATE TABLE ks.w (a text, b int, e int, PRIMARY KEY ((a, b, e)))"), "");
  EXPECT_EQ(run("SELECT * FROM ks.w WHERE a IN (" + texts + ") AND b IN (" + many + ") AND e IN (" + many + ")"),
            kRefused);
  EXPECT_EQ(run("SELECT * FROM ks.t WHERE p = 'a' AND c IN (" + many + ") AND d IN (1, 2)"), "");
}

TEST_F(SelectTest, TokensOfNoBytesAreRefused) {
  for (const char* op : {"=", "<", ">="}) {
    const std::string where = " FROM ks.t WHERE token(p) " + std::string(op) + " ?";
    EXPECT_EQ(run("SELECT *" + where, {BytesView("", 0)}), "Invalid empty token value") << op;
  }
}

}  // namespace
}  // namespace cassandra_like::test
