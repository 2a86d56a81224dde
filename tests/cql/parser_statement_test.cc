// The parser's trees for texts that are right.
#include <gtest/gtest.h>

#include "cql/syntax/keywords.h"
#include "cql/syntax/parser.h"
#include "tests/cql/ast_printer.h"
#include "tests/cql/parser_data.h"

namespace cassandra_like {
namespace {

std::string parse(std::string_view text) {
  auto statement = parse_statement(text);
  return statement ? print(*statement) : statement.error().message();
}

TEST(ParserStatementTest, EveryFormOfStatement) {
  auto statements = parsed_statements();
  ASSERT_GT(statements.size(), 200u);
  for (const auto& [text, tree] : statements) EXPECT_EQ(parse(text), tree) << text;
}

// A text that ends too early, wherever it does, is either a statement or an error.
TEST(ParserStatementTest, EveryPrefixIsParsedOrRefused) {
  for (const auto& [text, tree] : parsed_statements()) {
    for (size_t size = 0; size < text.size(); ++size) {
      auto statement = parse_statement(std::string_view(text).substr(0, size));
      if (statement) continue;
      // A type cut short may be a column that is there twice.
      bool refused = statement.error().code() == ErrorCode::kSyntaxError ||
                     statement.error().message().rfind("Duplicate column", 0) == 0;
      EXPECT_TRUE(refused) << text.substr(0, size);
      EXPECT_FALSE(statement.error().message().empty()) << text.substr(0, size);
    }
  }
}

TEST(ParserStatementTest, TimeoutsOfScyllaAreTakenWhereTheyAreWanted) {
  auto timeout = [](std::string_view text) -> std::string {
    auto statement = parse_statement(text, {.using_timeout = true});
    if (!statement) return statement.error().message();
    return std::get<ast::Select>(statement->body).timeout.value_or("none");
  };
  EXPECT_EQ(timeout("SELECT a FROM t"), "none");
  EXPECT_EQ(timeout("SELECT a FROM t USING TIMEOUT 2000ms"), "2000ms");
  EXPECT_EQ(timeout("SELECT a FROM t WHERE b = 1 LIMIT 3 ALLOW FILTERING using timeout 1m;"), "1m");
  EXPECT_EQ(timeout("SELECT a FROM t WHERE b = 'x' USING TIMEOUT 2s;;"), "2s");
  auto refused = [](std::string_view what) {
    return "line 1:16 mismatched input 'USING' expecting EOF (SELECT a FROM t [USING] " + std::string(what) + "...)";
  };
  EXPECT_EQ(timeout("SELECT a FROM t USING TIMEOUT 2"), refused("TIMEOUT"));
  EXPECT_EQ(timeout("SELECT a FROM t USING TTL 2s"), refused("TTL"));
  EXPECT_EQ(parse("SELECT a FROM t USING TIMEOUT 2s"), refused("TIMEOUT"));
}

TEST(ParserStatementTest, EveryUnreservedKeywordNamesAnything) {
#define X(name, text)                                                                                    \
  EXPECT_TRUE(parse_statement("CREATE TABLE " #text "." #text " (" #text " int PRIMARY KEY)")) << #text; \
  EXPECT_TRUE(parse_statement("INSERT INTO " #text " (" #text ") VALUES (:" #text ")")) << #text;        \
  EXPECT_TRUE(parse_statement("UPDATE " #text " SET " #text " = " #text " + 1 WHERE " #text " = 1")) << #text;
  CQL_UNRESERVED_KEYWORDS(X)
  CQL_NATIVE_KEYWORDS(X)
  CQL_COLUMN_KEYWORDS(X)
#undef X
#define X(name, text) EXPECT_FALSE(parse_statement("INSERT INTO t (" #text ") VALUES (1)")) << #text;
  CQL_RESERVED_KEYWORDS(X)
#undef X
}

TEST(ParserStatementTest, TermsAndSelectablesKnowTheirPlace) {
  std::string text = "SELECT a.b[1] , f( x ) FROM t WHERE k = { 'a' : ? } AND c = 1 + 2 * - 3";
  auto statement = parse_statement(text);
  ASSERT_TRUE(statement);
  const auto& select = std::get<ast::Select>(statement->body);
  auto source = [&](const auto& node) { return text.substr(node.offset, node.length); };
  EXPECT_EQ(source(select.selectors[0].selectable), "a.b[1]");
  EXPECT_EQ(source(select.selectors[1].selectable), "f( x )");
  EXPECT_EQ(source(select.where.relations[0].value), "{ 'a' : ? }");
  EXPECT_EQ(source(select.where.relations[1].value), "1 + 2 * - 3");
}

TEST(ParserStatementTest, WhatIsWrittenTwiceCountsOnceWhereThatIsAllowed) {
  EXPECT_EQ(parse("INSERT INTO t (a) VALUES ({x: 1, y: 2, x: 3})"),
            "Insert table=t columns=[a] values=[udt[x:int'3' y:int'2']]");
  EXPECT_EQ(parse("ALTER TABLE t RENAME a TO b AND a TO c"), "AlterTable table=t rename names=[a:c]");
  EXPECT_EQ(parse("INSERT INTO t (a) VALUES (1) USING TTL 1 AND TTL ?"),
            "Insert table=t columns=[a] values=[int'1'] ttl=?0 markers=[\"\"]");
}

// Markers of an attempt that failed are not counted twice.
TEST(ParserStatementTest, MarkersAreNumberedAfterAnAttempt) {
  EXPECT_EQ(parse("SELECT json - :a, (b)[:c], d[:e] FROM t WHERE x = :f"),
            "Select json selectors=[(neg ?0) (hint udt b array[?1]) (element d ?2)] table=t where=[(= x ?3)] "
            "markers=[a c e f]");
  EXPECT_EQ(parse("SELECT json, (b), :a FROM t WHERE x = :b"),
            "Select selectors=[json tuple[b] ?0] table=t where=[(= x ?1)] markers=[a b]");
}

TEST(ParserStatementTest, TreesCopyDeeply) {
  auto statement = parse_statement("SELECT a.b + f(c) FROM t WHERE k = (int) 1 + 2");
  ASSERT_TRUE(statement);
  ast::Statement copy = *statement;
  std::get<ast::Select>(statement->body).selectors.clear();
  EXPECT_EQ(print(copy),
            "Select selectors=[(+ (field a b) (call f c))] table=t where=[(= k (+ (hint int int'1') int'2'))]");
}

TEST(ParserPiecesTest, Types) {
  auto type = [](std::string_view text) {
    auto parsed = parse_type(text);
    return parsed ? ast::print(*parsed) : parsed.error().message();
  };
  EXPECT_EQ(type("int"), "int");
  EXPECT_EQ(type("frozen<map<text, list<ks.u>>>"), "frozen<map<text frozen<list<frozen<udt ks.u>>>>>");
  EXPECT_EQ(type("tuple<int, set<text>>"), "frozen<tuple<int frozen<set<text>>>>");
  EXPECT_EQ(type("vector<float, 1536>"), "frozen<vector<float 1536>>");
  EXPECT_EQ(type("\"My\".\"Type\""), "udt My.Type");
  EXPECT_EQ(type("'org.apache.cassandra.db.marshal.EmptyType'"), "'org.apache.cassandra.db.marshal.EmptyType'");
  EXPECT_EQ(type("int int"), "line 1:4 no viable alternative at input 'int' ([int] int)");
  EXPECT_EQ(type("vector<float, 99999999999>"), "Invalid vector dimension: 99999999999");
}

TEST(ParserPiecesTest, TermsAndWhereClauses) {
  auto term = parse_term("{'class': 'X', 'n': 1}");
  ASSERT_TRUE(term);
  EXPECT_EQ(ast::print(*term), "map[string'class':string'X' string'n':int'1']");
  auto where = parse_where_clause("a IS NOT NULL AND \"B\" > 1");
  ASSERT_TRUE(where);
  EXPECT_EQ(ast::print(*where), "[(IS_NOT a null) (> B int'1')]");
  EXPECT_FALSE(parse_where_clause(""));
  EXPECT_FALSE(parse_term("1 2"));
}

}  // namespace
}  // namespace cassandra_like
