// Functions, casts and arithmetic give what Cassandra gave for the same expressions.
#include <fstream>

#include "cql/expressions/term.h"
#include "cql/syntax/parser.h"
#include "gtest/gtest.h"
#include "tests/cql/function_fixture.h"

namespace cassandra_like {
namespace {

// The text behind the expression on a line of data/functions.txt.
std::string describe(const Result<Answer>& answer) {
  if (answer.ok()) {
    std::string value = is_null(answer->value) ? "null" : to_hex(answer->value);
    return answer->name + "\t" + answer->type->cql_name(false) + "\t" + value;
  }
  std::string message = answer.error().message();
  for (const char* list : {" (known type signatures", " (can be matched by"})
    message = message.substr(0, message.find(list));
  char code[8];
  std::snprintf(code, sizeof code, "%04x", static_cast<unsigned>(answer.error().code()));
  return std::string("error\t") + code + "\t" + message;
}

TEST(Functions, AnswerAsCassandraDoes) {
  std::ifstream file(SOURCE_DIR "/tests/cql/data/functions.txt");
  FunctionFixture fixture;
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t tab = line.find('\t');
    EXPECT_EQ(line.substr(0, tab) + "\t" + describe(fixture.select(line.substr(0, tab))), line);
    ++compared;
  }
  EXPECT_GT(compared, 500);
}

TEST(Functions, OfNoArgumentsDifferFromCallToCall) {
  FunctionFixture fixture;
  for (const char* call : {"now()", "current_timeuuid()", "currentTimeuuid()", "uuid()"}) {
    auto first = fixture.select(call), second = fixture.select(call);
    ASSERT_TRUE(first.ok() && second.ok()) << call;
    EXPECT_EQ(first->value.size(), 16u) << call;
    EXPECT_NE(first->value, second->value) << call;
  }
}

TEST(Functions, TellTheTimeOfTheClock) {
  FunctionFixture fixture;
  int64_t millis = fixture.context().runtime.clock.wall_millis();
  auto value = [&](const char* call) {
    auto answer = fixture.select(call);
    return answer.ok() ? Bytes(answer->value) : answer.error().message();
  };
  Bytes timestamp, date, time;
  append_be<int64_t>(timestamp, millis);
  append_be<uint32_t>(date, 0x80000000u + static_cast<uint32_t>(millis / 86400000));
  append_be<int64_t>(time, fixture.context().runtime.clock.wall_micros() % 86400000000 * 1000);
  EXPECT_EQ(value("current_timestamp()"), timestamp);
  EXPECT_EQ(value("current_date()"), date);
  EXPECT_EQ(value("current_time()"), time);
}

// Each overload of an operator asks what its operands are, and these ask theirs.
TEST(Functions, LongSumsAreResolvedInTime) {
  std::string sum = "1";
  for (int i = 0; i < 500; ++i) sum += i % 2 == 0 ? " + 1" : " + -1";
  const std::string text = "INSERT INTO t (k) VALUES (" + sum + ")";
  auto statement = parse_statement(text);
  ASSERT_TRUE(statement.ok());
  CqlOptions options;
  PrepareContext context(std::make_shared<Schema>(), "", text, statement->bind_variables, options);
  const ast::Term& term = std::get<ast::Insert>(statement->body).values[0];
  for (const TypePtr& type : {types::int_(), types::varint(), types::double_()}) {
    EXPECT_TRUE(prepare_term(term, {"", "t", "k", type}, context).ok());
  }
  EXPECT_FALSE(prepare_term(term, {"", "t", "k", types::uuid()}, context).ok());
}

TEST(Functions, DecimalsOfHugeScalesAreNotWrittenOut) {
  FunctionFixture fixture;
  auto cast = fixture.select("CAST((decimal)1E1000000000 AS bigint)");
  ASSERT_TRUE(cast.ok()) << cast.error().message();
  EXPECT_EQ(to_hex(cast->value), "0000000000000000");
  auto rounded = fixture.select("round((decimal)1E1000000000)");
  ASSERT_TRUE(rounded.ok()) << rounded.error().message();
  EXPECT_EQ(rounded->type->to_text(rounded->value), "1E+1000000000");
}

// OpenSSL has names for algorithms that it does not compute.
TEST(Functions, HashesThatJavaLacksAreRefused) {
  FunctionFixture fixture;
  for (const char* name :
       {"MD4", "md4", "whirlpool", "RIPEMD160", "mdc2", "shake128", "blake2b512", "sm3", "", "nope"}) {
    auto hash = fixture.select("mask_hash(k, '" + std::string(name) + "')");
    ASSERT_FALSE(hash.ok()) << name;
    EXPECT_EQ(hash.error().message(), "Hash algorithm not found: " + std::string(name));
  }
  for (const auto& [name, size] : {std::pair{"md5", 16u},
                                   {"SHA", 20u},
                                   {"sha-1", 20u},
                                   {"Sha-224", 28u},
                                   {"SHA-384", 48u},
                                   {"sha-512", 64u},
                                   {"SHA-512/224", 28u},
                                   {"sha-512/256", 32u},
                                   {"SHA3-256", 32u}}) {
    auto hash = fixture.select("mask_hash(k, '" + std::string(name) + "')");
    ASSERT_TRUE(hash.ok()) << name;
    EXPECT_EQ(hash->value.size(), size) << name;
  }
}

// Each to_json() doubles the backslashes; each sum is a copy.
TEST(Functions, ResultsThatGrowWithoutEndAreRefused) {
  FunctionFixture fixture;
  std::string nested = "(text)'\"'";
  for (int i = 0; i < 60; ++i) nested = "to_json(" + nested + ")";
  auto doubled = fixture.select(nested);
  ASSERT_FALSE(doubled.ok());
  EXPECT_EQ(doubled.error().message(), "The result of function system.to_json is too large");

  std::string sum = "(text)'" + std::string(1 << 20, 'x') + "'";
  for (int i = 0; i < 400; ++i) sum += " + (text)'x'";
  auto copied = fixture.select(sum);
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().message(), "The result of function system._add is too large");
}

TEST(Functions, MasksOfVastVectorsAreRefused) {
  FunctionFixture fixture;
  for (const char* type : {"int", "text"}) {
    auto mask = fixture.select("mask_default((vector<" + std::string(type) + ", 2000000000>)?)");
    ASSERT_FALSE(mask.ok()) << type;
    EXPECT_EQ(mask.error().message(), "The result of function system.mask_default is too large");
  }
  auto mask = fixture.select("mask_default((vector<int, 3>)[1, 2, 3])");
  ASSERT_TRUE(mask.ok()) << mask.error().message();
  EXPECT_EQ(to_hex(mask->value), "000000000000000000000000");
}

}  // namespace
}  // namespace cassandra_like
