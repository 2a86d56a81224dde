// Errors of statements that cannot be prepared: messages are those of Cassandra 5.0.9.
#include <gtest/gtest.h>

#include "cql/syntax/parser.h"
#include "tests/cql/schema_session.h"

namespace cassandra_like {
namespace {

class PrepareErrors : public testing::Test {
 protected:
  PrepareErrors() {
    session_.answer("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    session_.answer("CREATE TYPE ks.u (f int)");
    session_.answer(
        "CREATE TABLE ks.t (k int PRIMARY KEY, l list<int>, n list<frozen<list<int>>>, "
        "z list<frozen<vector<int, 2>>>)");
    session_.answer(
        "CREATE TABLE ks.s (k int, c int, l frozen<list<int>>, s int static, PRIMARY KEY (k, c, l))"
        " WITH CLUSTERING ORDER BY (c ASC, l DESC)");
    session_.answer(
        "CREATE TABLE ks.m (k int, n frozen<map<text, int>>, m frozen<map<text, int>>, PRIMARY KEY (k, n, m))"
        " WITH CLUSTERING ORDER BY (n ASC, m DESC)");
    session_.answer(
        "CREATE TABLE ks.c (k int, c frozen<set<text>>, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)");
    session_.answer("CREATE TABLE ks.n (k int PRIMARY KEY, m map<text, int>)");
    session_.answer("CREATE TABLE ks.p (k int PRIMARY KEY, p frozen<tuple<int, text>>)");
    schema_ = session_.schema();
  }

  static std::string refusal_of_hint(const std::string& term, const std::string& type) {
    return "Cannot assign value " + term + " to " + term + " of type " + type;
  }

  std::string refusal(const std::string& text, const std::string& keyspace = "") {
    auto tree = parse_statement(text);
    if (!tree.ok()) return tree.error().message();
    PrepareContext context(schema_, keyspace, text, tree->bind_variables, options_);
    auto statement = prepare_statement(*tree, context);
    return statement.ok() ? "" : statement.error().message();
  }

  std::string columns(const std::string& text) {
    auto tree = parse_statement(text);
    PrepareContext context(schema_, "", text, tree->bind_variables, options_);
    const auto statement = prepare_statement(*tree, context);
    std::string names;
    for (const ColumnSpec& column : (*statement)->result_metadata()->columns) {
      names += (names.empty() ? "" : ", ") + column.name;
    }
    return names;
  }

  // The table is one of a Cassandra with COMPACT STORAGE.
  void make_compact(const std::string& name, bool dense) {
    auto table = std::make_shared<TableMetadata>(*schema_->table("ks", name));
    table->flags.compound = false;
    table->flags.dense = dense;
    schema_ = schema_->with_keyspace(with_table(*schema_->keyspace("ks"), table));
  }

 private:
  SchemaSession session_;
  SchemaPtr schema_;
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
  EXPECT_EQ(refusal("INSERT INTO ks.t (k, l) VALUES (1, [99999999999, 'a'])"),
            "Invalid list literal for l: value 'a' is not of type int");
  EXPECT_EQ(refusal("INSERT INTO ks.t (k, n) VALUES (1, [[1], []])"), "");
}

// The elements that have a field are looked at first.
TEST_F(PrepareErrors, TuplesWithTooManyElements) {
  EXPECT_EQ(refusal("INSERT INTO ks.p (k, p) VALUES (1, (1, 'a', 2))"),
            "Invalid tuple literal for p: too many elements. Type frozen<tuple<int, text>> expects 2 but got 3");
  EXPECT_EQ(refusal("INSERT INTO ks.p (k, p) VALUES (1, (1, 2, 3))"),
            "Invalid tuple literal for p: component 1 is not of type text");
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

// Other tables: WHERE is checked first, then the selections from left to right.
TEST_F(PrepareErrors, SelectionsOfOtherTables) {
  const std::string kNope = "Undefined column name nope in table ks.t";
  EXPECT_EQ(refusal("SELECT k[1] FROM ks.t WHERE nope = 1"), kNope);
  EXPECT_EQ(refusal("SELECT k[1], abs(nope) FROM ks.t"),
            "Invalid element selection: k is of type int is not a collection");
  EXPECT_EQ(refusal("SELECT abs(nope), k[1] FROM ks.t"), kNope);
  EXPECT_EQ(refusal("SELECT cast(k as blob), sum(l) FROM ks.t"), "k cannot be cast to blob");
}

// A literal in the SELECT clause has the type of the first column, call or hint in it, or that which is wanted.
TEST_F(PrepareErrors, LiteralsInSelections) {
  for (const std::string term : {"1", "[1]", "[[1]]", "(k)", "((k), k)", "(k, 1)", "(k, [1])", "[(k, 1)]", "[k.f]"}) {
    EXPECT_EQ(refusal("SELECT " + term + " FROM ks.t"),
              "Cannot infer type for term " + term + " in selection clause (try using a cast to force a type)");
  }
  for (const std::string term : {"[k, 1]", "[1, k]", "[(k), k]", "[(k, k), (k, 1)]", "[l, [1]]", "(k, l)",
                                 "to_json([1])", "to_json((k, [1]))", "abs((k))", "abs((1))", "[k, (1)]"}) {
    EXPECT_EQ(refusal("SELECT " + term + " FROM ks.t"), "") << term;
  }
  EXPECT_EQ(refusal("SELECT [k, 'a'] FROM ks.t"), "Invalid STRING constant (a) for \"[selection]\" of type int");
  EXPECT_EQ(refusal("SELECT [k, [1]] FROM ks.t"), "Unsupported target type: int");
  EXPECT_EQ(refusal("SELECT similarity_cosine([k, 1], [1, 2]) FROM ks.t"),
            "Type error: [k, 1] cannot be passed as argument 0 of function system.similarity_cosine of type "
            "vector<float, 2>");
}

// The types of {} and {k: v} are not known; the names in a user type's literal are those of its fields.
TEST_F(PrepareErrors, SetsMapsAndUserTypesInSelections) {
  for (const std::string term : {"{1}", "{}", "{1: 2}", "{k: 1}", "{nope: 1}", "[{1}]", "(k, {k: k})"}) {
    EXPECT_EQ(refusal("SELECT " + term + " FROM ks.t"),
              "Cannot infer type for term " + term + " in selection clause (try using a cast to force a type)");
  }
  for (const std::string term :
       {"{k, 1}", "[{k}, {1}]", "(set<int>){}", "(map<int, int>){}", "(map<int, int>){k: 1, 2: k}", "(u){f: 1}",
        "(set<frozen<u>>){{f: k}}", "map_keys((map<int, int>){1: 2})", "to_json({1, 2})"}) {
    EXPECT_EQ(refusal("SELECT " + term + " FROM ks.t"), "") << term;
  }
  EXPECT_EQ(refusal("SELECT {k: nope} FROM ks.t"), "Undefined column name nope in table ks.t");
  EXPECT_EQ(refusal("SELECT (map<int, int>){nope: 1} FROM ks.t"), "Undefined column name nope in table ks.t");
  EXPECT_EQ(refusal("SELECT (u){nope: 1} FROM ks.t"), "Unknown field 'nope' in value of user defined type u");
  EXPECT_EQ(refusal("SELECT (u){f: 'a'} FROM ks.t"),
            "Cannot assign value (ks.u){f: 'a'} to (ks.u){f: 'a'} of type frozen<u>");
  EXPECT_EQ(refusal("SELECT (ks.u){f: 'a', f: 'b'} FROM ks.t"),
            "Cannot assign value (ks.u){f: 'a', f: 'b'} to (ks.u){f: 'a', f: 'b'} of type frozen<u>");
  EXPECT_EQ(refusal("SELECT (map<int, int>){'a': 1} FROM ks.t"),
            "Cannot assign value (map<int, int>){'a': 1} to (map<int, int>){'a': 1} of type frozen<map<int, int>>");
  EXPECT_EQ(refusal("SELECT {(duration)1d} FROM ks.t"), "Durations are not allowed inside sets: frozen<set<duration>>");
  EXPECT_EQ(refusal("SELECT (list<int>)l FROM ks.t"), refusal_of_hint("(list<int>)l", "frozen<list<int>>"));
  EXPECT_EQ(refusal("SELECT collection_count(l) FROM ks.t"), "");
}

TEST_F(PrepareErrors, HintsInSelections) {
  const auto refused = refusal_of_hint;
  EXPECT_EQ(refusal("SELECT (bigint)k FROM ks.t"), refused("(bigint)k", "bigint"));
  EXPECT_EQ(refusal("SELECT (INT)'a' FROM ks.t"), refused("(int)'a'", "int"));
  EXPECT_EQ(refusal("SELECT (list<int>)(1, 2) FROM ks.t"), refused("(list<int>)(1, 2)", "frozen<list<int>>"));
  EXPECT_EQ(refusal("SELECT (tuple<int>)(k, k) FROM ks.t"), refused("(tuple<int>)(k, k)", "frozen<tuple<int>>"));
  EXPECT_EQ(refusal("SELECT (int)[1] FROM ks.t"), "Unsupported target type: int");
  EXPECT_EQ(refusal("SELECT (vector<float, 3>)[1, 2] FROM ks.t"),
            "Unable to create a vector selector of type vector<float, 3> from 2 elements");
  for (const std::string term : {"(blob)k", "(varint)k", "(list<int>)([1])", "(list<blob>)[k]", "(tuple<int, int>)(k)",
                                 "(vector<float, 2>)[1, 2]", "(tuple<int>)(1)"}) {
    EXPECT_EQ(refusal("SELECT " + term + " FROM ks.t"), "") << term;
  }
}

// Arguments of a call are asked for their types once, however deep they are.
TEST_F(PrepareErrors, CallsInCalls) {
  std::string call = "k";
  for (int i = 0; i < 60; ++i) call = i % 2 == 0 ? "abs(" + call + ")" : "abs((" + call + "))";
  EXPECT_EQ(refusal("SELECT " + call + " FROM ks.t"), "");
}

TEST_F(PrepareErrors, ColumnsOfTokens) {
  EXPECT_EQ(refusal("SELECT * FROM ks.s WHERE token(k, k) > 1"),
            "The token() function contains duplicate partition key components");
  EXPECT_EQ(refusal("SELECT * FROM ks.s WHERE token(k, c) > 1"),
            "The token() function must contains only partition key components");
  EXPECT_EQ(refusal("SELECT * FROM ks.s WHERE token(c) > 1"),
            "The token() function must be applied to all partition key components or none of them");
  EXPECT_EQ(refusal("SELECT * FROM ks.s WHERE token(k) != 5"), "Unsupported \"!=\" relation: token(k) != 5");
}

TEST_F(PrepareErrors, KeywordsThatAreCalledStayAsWritten) {
  EXPECT_EQ(refusal("SELECT CONTAINS(k) FROM ks.t"), "Unknown function 'CONTAINS'");
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE k = CONTAINS(1)"), "Unknown function CONTAINS called");
  EXPECT_EQ(refusal("SELECT Varchar(k), NOPE(k) FROM ks.t"), "Unknown function 'varchar'");
}

TEST_F(PrepareErrors, CastsToTheOtherNameOfText) {
  EXPECT_EQ(refusal("SELECT cast(k as varchar) FROM ks.t"), "k cannot be cast to varchar");
  EXPECT_EQ(refusal("SELECT l, cast(k as varchar) FROM ks.t"), "l cannot be cast to varchar");
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE k = cast(1 as varchar)"),
            "Unknown function system.cast_as_varchar called");
}

TEST_F(PrepareErrors, DimensionsOfVectors) {
  EXPECT_EQ(refusal("INSERT INTO ks.t (k, z) VALUES (1, [[1, 2, 3]])"),
            "Invalid list literal for z: value [1, 2, 3] is not of type vector<int, 2>");
  EXPECT_EQ(refusal("INSERT INTO ks.t (k, z) VALUES (1, [[1, 2]])"), "");
  EXPECT_EQ(refusal("SELECT (vector<int, -1>)[1] FROM ks.t"), "vectors may only have positive dimensions; given -1");
}

TEST_F(PrepareErrors, ColumnsThatAreOrderedTwice) {
  EXPECT_EQ(refusal("SELECT * FROM ks.s WHERE k = 1 ORDER BY c, c"), "");
  EXPECT_EQ(refusal("SELECT * FROM ks.s WHERE k = 1 ORDER BY c DESC, l ASC, c ASC"), "Unsupported order by relation");
}

TEST_F(PrepareErrors, TheTypesOfTermsThatAreNotPreparedHaveNoKeyspace) {
  EXPECT_EQ(refusal("SELECT * FROM t WHERE k != (u){nope: 1}", "ks"), "Unsupported \"!=\" relation: k != (u){nope: 1}");
  EXPECT_EQ(refusal("INSERT INTO t (k) VALUES ((u){f: 1})", "ks"), "Cannot assign value (ks.u){f: 1} to k of type int");
}

TEST_F(PrepareErrors, TheTimestampOfACounterBatchComesFirst) {
  const std::string insert = "INSERT INTO ks.n (k) VALUES (1) USING TIMESTAMP 2";
  EXPECT_EQ(refusal("BEGIN COUNTER BATCH USING TIMESTAMP 1 " + insert + " APPLY BATCH"),
            "Cannot provide custom timestamp for counter BATCH");
  EXPECT_EQ(refusal("BEGIN BATCH USING TIMESTAMP 1 " + insert + " APPLY BATCH"),
            "Timestamp must be set either on BATCH or individual statements");
  EXPECT_EQ(refusal("BEGIN COUNTER BATCH " + insert + " APPLY BATCH"),
            "Cannot include non-counter statement in a counter batch");
}

TEST_F(PrepareErrors, CastsAreNamedAsFunctions) {
  EXPECT_EQ(refusal("UPDATE ks.n SET m = m - [cast((int)1 as Varchar), cast(now() as double)] WHERE k = 1"),
            "Value for a map substraction has to be a set, but was: "
            "'[system.cast_as_varchar((int)1), system.cast_as_double(now())]'");
}

TEST_F(PrepareErrors, TimesOfPartsOfAKey) {
  EXPECT_EQ(refusal("SELECT ttl(k.f) FROM ks.t"), "Cannot use selection function ttl on PRIMARY KEY part k");
}

TEST_F(PrepareErrors, AllColumnsOfDistinctPartitions) {
  EXPECT_EQ(refusal("SELECT DISTINCT * FROM ks.s"),
            "SELECT DISTINCT queries must only request partition key columns and/or static columns (not c)");
  EXPECT_EQ(refusal("SELECT DISTINCT k, s FROM ks.s"), "");
}

// Static columns make Cassandra look at functions first, up to the literal of a map.
TEST_F(PrepareErrors, FunctionsBehindTheLiteralOfAMap) {
  const std::string call = "similarity_euclidean(c, [3, 3])", where = " FROM ks.s WHERE k = 1 AND c > 1 AND c IN (2)";
  const std::string of_condition = "Column \"c\" cannot be restricted by both an equality and an inequality relation";
  const std::string of_function =
      "Function system.similarity_euclidean requires a float vector argument, but found argument c of type int";
  EXPECT_EQ(refusal("SELECT " + call + where), of_function);
  EXPECT_EQ(refusal("SELECT (map<int, int>){2: 3}, " + call + where), of_condition);
  EXPECT_EQ(refusal("SELECT {2: 3}, " + call + where), of_condition);
  EXPECT_EQ(refusal("SELECT {s: s}, " + call + where), of_function);
}

// In Cassandra they are no collections: their type is ReversedType.
TEST_F(PrepareErrors, DescendingCollections) {
  EXPECT_EQ(refusal("SELECT * FROM ks.s WHERE k = 1 AND l[1] = 1"), "Column l cannot be used as a map");
  EXPECT_EQ(refusal("SELECT * FROM ks.m WHERE m['a'] = 1"), "Column m cannot be used as a map");
  EXPECT_EQ(refusal("SELECT * FROM ks.m WHERE m CONTAINS 1 ALLOW FILTERING"),
            "Cannot use CONTAINS on non-collection column m");
  EXPECT_EQ(refusal("SELECT * FROM ks.m WHERE m CONTAINS KEY 'a' ALLOW FILTERING"),
            "Cannot use CONTAINS KEY on non-map column m");
}

// The elements beside a descending column get its type, which no set literal fits.
TEST_F(PrepareErrors, SetLiteralsBesideDescendingColumns) {
  auto refusal_of_argument = [](const std::string& argument, const std::string& type) {
    return "Type error: " + argument + " cannot be passed as argument 0 of function system.collection_count of type " +
           type;
  };
  EXPECT_EQ(refusal("SELECT collection_count([m, {}]) FROM ks.m"),
            refusal_of_argument("[m, {}]", "frozen<list<frozen<map<text, int>>>>"));
  EXPECT_EQ(refusal("SELECT collection_count({c, {'a'}}) FROM ks.c"),
            refusal_of_argument("{c, {'a'}}", "frozen<set<frozen<set<text>>>>"));
  EXPECT_EQ(refusal("SELECT collection_count({{{}}, {c}}) FROM ks.c"),
            refusal_of_argument("{{{}}, {c}}", "frozen<set<frozen<set<frozen<set<text>>>>>>"));
  EXPECT_EQ(refusal("SELECT collection_count({c, c, null}) FROM ks.c"), "");
  EXPECT_EQ(refusal("SELECT collection_count([n, {}]) FROM ks.m"), "");
}

TEST_F(PrepareErrors, TablesWithCompactStorage) {
  make_compact("s", false);
  make_compact("p", true);
  EXPECT_EQ(columns("SELECT * FROM ks.s"), "k, s");
  EXPECT_EQ(columns("SELECT * FROM ks.p"), "k, p");
  EXPECT_EQ(refusal("INSERT INTO ks.s (k, s) VALUES (1, 2)"), "");
  EXPECT_EQ(refusal("DELETE FROM ks.s WHERE k = 1"), "");
}

TEST_F(PrepareErrors, EntriesOfAscendingCollections) {
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE l[1] = 1"),
            "Indexes on list entries (l[index] = value) are not currently supported.");
  EXPECT_EQ(refusal("SELECT * FROM ks.m WHERE k = 1 AND n['a'] = 1"),
            "Map-entry equality predicates on frozen map column n are not supported");
  EXPECT_EQ(refusal("SELECT * FROM ks.m WHERE n CONTAINS KEY 'a' ALLOW FILTERING"), "");
}

}  // namespace
}  // namespace cassandra_like
