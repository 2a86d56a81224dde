// The parser's errors for texts that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "cql/syntax/parser.h"
#include "tests/cql/parser_data.h"

namespace cassandra_like {
namespace {

std::string parse_error(std::string_view text, ErrorCode code = ErrorCode::kSyntaxError) {
  auto statement = parse_statement(text);
  if (statement) return "";
  EXPECT_EQ(statement.error().code(), code) << text;
  return statement.error().message();
}

TEST(ParserErrorTest, MessagesAreCassandras) {
  std::vector<std::string> lines = data_lines("syntax_errors.txt");
  ASSERT_GT(lines.size(), 300u);
  for (const std::string& line : lines) {
    size_t tab = line.find('\t');
    std::string text = unescape(line.substr(0, tab));
    EXPECT_EQ(parse_error(text), unescape(line.substr(tab + 1))) << text;
  }
}

TEST(ParserErrorTest, SomeErrorsAreInvalidRequests) {
  auto invalid = [](std::string_view text) { return parse_error(text, ErrorCode::kInvalid); };
  EXPECT_EQ(invalid("CREATE TABLE t (a int PRIMARY KEY, a text)"), "Duplicate column 'a' declaration for table 't'");
  EXPECT_EQ(invalid("CREATE TABLE ks.t (a int, b, a int"), "Duplicate column 'a' declaration for table 'ks.t'");
  EXPECT_EQ(invalid("CREATE TABLE ks.t (a int PRIMARY KEY, PRIMARY KEY (a))"),
            "Multiple PRIMARY KEY specified for table 'ks.t' (exactly one required)");
  EXPECT_EQ(invalid("CREATE TABLE t (a int PRIMARY KEY) WITH CLUSTERING ORDER BY (b ASC, b DESC)"),
            "Duplicate column 'b' in CLUSTERING ORDER BY clause for table 't'");
}

TEST(ParserErrorTest, ColumnsCountUtf16Units) {
  EXPECT_EQ(parse_error("SELECT '\U0001F600é' FROM t WHERE"), "line 0:-1 no viable alternative at input '<EOF>'");
  EXPECT_EQ(parse_error("SELECT '\U0001F600é' x FROM t"),
            "line 1:13 mismatched input 'x' expecting K_FROM (SELECT '\U0001F600é' [x] FROM...)");
}

TEST(ParserErrorTest, BytesThatAreNoText) {
  EXPECT_EQ(parse_error("SELECT '\xFF' FROM t"), "line 1:8 invalid UTF-8");
  EXPECT_EQ(parse_error("SELECT * FROM t -- \xC3"), "line 1:19 invalid UTF-8");
  EXPECT_EQ(parse_error("\xED\xA0\x80"), "line 1:0 invalid UTF-8");
  EXPECT_EQ(parse_error("\xF4\x90\x80\x80"), "line 1:0 invalid UTF-8");
  EXPECT_EQ(parse_error("\xC0\x80"), "line 1:0 invalid UTF-8");
  EXPECT_EQ(parse_error(std::string_view("SELECT \0 FROM t", 15)),
            std::string("line 1:7 no viable alternative at character '\0'", 47));
}

std::string repeat(std::string_view s, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += s;
  return out;
}

TEST(ParserErrorTest, NestingHasALimit) {
  for (const auto& [open, inner, close] : {std::tuple{"[", "1", "]"},
                                           {"(", "1", ")"},
                                           {"{", "1", "}"},
                                           {"f(", "1", ")"},
                                           {"{a:", "1", "}"},
                                           {"(int)", "1", ""},
                                           {"cast(", "1", " AS int)"}}) {
    for (const char* before : {"SELECT * FROM t WHERE a = ", "SELECT "}) {
      auto nested = [&](int depth) {
        std::string after = std::string_view(before) == "SELECT " ? " FROM t" : "";
        return before + repeat(open, depth) + inner + repeat(close, depth) + after;
      };
      EXPECT_EQ(parse_error(nested(250)), "") << open;
      EXPECT_THAT(parse_error(nested(1000)), testing::HasSubstr("nested too deeply")) << open;
      EXPECT_THAT(parse_error(nested(100000)), testing::HasSubstr("nested too deeply")) << open;
    }
  }
  EXPECT_THAT(parse_error("CREATE TABLE t (a " + repeat("list<", 1000) + "int" + repeat(">", 1000) + ")"),
              testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error("SELECT * FROM t WHERE " + repeat("(", 1000) + "a = 1" + repeat(")", 1000)),
              testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error("SELECT " + repeat("- ", 1000) + "a FROM t"), testing::HasSubstr("nested too deeply"));
}

TEST(ParserErrorTest, ChainsOfOperatorsHaveALimit) {
  EXPECT_THAT(parse_error("SELECT a" + repeat(" + a", 100000) + " FROM t"), testing::HasSubstr("too many operators"));
  EXPECT_THAT(parse_error("SELECT a" + repeat(".a", 100000) + " FROM t"), testing::HasSubstr("too many operators"));
  EXPECT_THAT(parse_error("SELECT * FROM t WHERE a = 1" + repeat(" * 1", 100000)),
              testing::HasSubstr("too many operators"));
  EXPECT_EQ(parse_error("SELECT a" + repeat(" + a", 1000) + " FROM t"), "");
  EXPECT_EQ(parse_error("INSERT INTO t (a) VALUES (1" + repeat(", 1 + 1", 1000) + ")"), "");
  EXPECT_EQ(parse_error("BEGIN BATCH " + repeat("UPDATE t SET a = 1 + 1 WHERE k = 1 + 1; ", 1000) + "APPLY BATCH"), "");
}

// The first thing that is wrong is reported, also when parsing went on after it.
TEST(ParserErrorTest, TheFirstErrorCounts) {
  EXPECT_EQ(parse_error("UPDATE ? SET a = 1, a = 2 WHERE"), "Bind variables cannot be used for table names");
  EXPECT_EQ(parse_error("ADD IDENTITY \"R\" \"open"), "line 1:22 mismatched character '<EOF>' expecting '\"'");
}

TEST(ParserErrorTest, AStatementHasALimitOfTerms) {
  for (const char* item : {", 1", ", ?"}) {
    EXPECT_THAT(parse_error("SELECT * FROM t WHERE a IN (1" + repeat(item, 1'000'001) + ")"),
                testing::HasSubstr("too many terms"));
  }
  EXPECT_THAT(parse_error("SELECT a" + repeat(", a", 1'000'001) + " FROM t"), testing::HasSubstr("too many terms"));
}

// A client chooses how many: twice as many take twice as long.
TEST(ParserErrorTest, ManyAssignmentsAreReadInTime) {
  std::string assignments, fields;
  for (int i = 0; i < 100'000; ++i) {
    assignments += "l[" + std::to_string(i) + "] = 1, u.f" + std::to_string(i) + " = 2, ";
    fields += "f" + std::to_string(i) + ": 1, ";
  }
  EXPECT_EQ(parse_error("UPDATE t SET " + assignments + "a = 3 WHERE k = 1"), "");
  EXPECT_EQ(parse_error("UPDATE t SET " + assignments + "u.f7 = 3 WHERE k = 1"),
            "Multiple incompatible setting of column u");
  EXPECT_EQ(parse_error("UPDATE t SET " + assignments + "l = 3 WHERE k = 1"),
            "Multiple incompatible setting of column l");
  EXPECT_EQ(parse_error("UPDATE t SET u = {" + fields + "f7: 2} WHERE k = 1"), "");
}

}  // namespace
}  // namespace cassandra_like
