// Aggregates give what Cassandra gave for the same values.
#include "cql/expressions/aggregates.h"

#include <fstream>
#include <limits>

#include "gtest/gtest.h"
#include "model/values.h"
#include "tests/cql/function_fixture.h"

namespace cassandra_like {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

std::string hex_or_null(const AggregateFunction::State& state) {
  bool none = false;
  auto result = state.result(&none);
  if (!result.ok()) return result.error().message();
  return none ? "null" : to_hex(*result);
}

std::string aggregate(const FunctionPtr& function, const std::vector<std::string>& values) {
  auto state = std::static_pointer_cast<const AggregateFunction>(function)->start();
  for (const std::string& text : values) {
    Bytes bytes;
    bool has_bytes = text != "-" && text != "empty";
    EXPECT_TRUE(!has_bytes || from_hex(text, &bytes)) << text;
    BytesView value = text == "-" ? kNull : BytesView(bytes);
    Status status = state->add({&value, 1});
    if (!status.ok()) return status.error().message();
  }
  return hex_or_null(*state);
}

TEST(Aggregates, AnswerAsCassandraDoes) {
  std::ifstream file(SOURCE_DIR "/tests/cql/data/aggregates.txt");
  const CqlOptions config;
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    auto fields = split(line, '\t');
    auto type = types::parse_cql(fields[0], "", nullptr);
    ASSERT_TRUE(type.ok()) << fields[0];
    PrepareContext context(std::make_shared<Schema>(), "", "", {}, config);
    CallArgument argument;
    argument.type = *type;
    auto function = resolve_function({"", fields[2]}, {&argument, 1}, nullptr, nullptr, context);
    ASSERT_TRUE(function.ok() && *function != nullptr) << line;
    auto values = fields[1] == "none" ? std::vector<std::string>() : split(fields[1], ' ');
    EXPECT_EQ(aggregate(*function, values), fields[3]) << line;
    ++compared;
  }
  EXPECT_GT(compared, 130);
}

TEST(Aggregates, StateIsOfOneStart) {
  auto count = std::static_pointer_cast<const AggregateFunction>(functions::count_rows_aggregate("count", {}));
  auto first = count->start();
  EXPECT_TRUE(first->add({}).ok());
  EXPECT_TRUE(first->add({}).ok());
  auto second = count->start();
  EXPECT_EQ(hex_or_null(*first), "0000000000000002");
  EXPECT_EQ(hex_or_null(*second), "0000000000000000");
}

// Behind a sum that overflows, Cassandra goes on with decimals, which are no NaN and no infinity.
TEST(Aggregates, AveragesThatOverflowAndMeetWhatIsNoNumber) {
  auto answer = [](double last) {
    const double kMost = std::numeric_limits<double>::max();
    return aggregate(functions::avg_aggregate(types::double_()),
                     {to_hex(encode_double(kMost)), to_hex(encode_double(kMost)), to_hex(encode_double(last))});
  };
  auto refusal = [](char first) {
    return std::string("java.lang.NumberFormatException: Character ") + first +
           " is neither a decimal digit number, decimal point, nor \"e\" notation exponential mark.";
  };
  EXPECT_EQ(answer(std::numeric_limits<double>::quiet_NaN()), refusal('N'));
  EXPECT_EQ(answer(std::numeric_limits<double>::infinity()), refusal('I'));
  EXPECT_EQ(answer(-std::numeric_limits<double>::infinity()), refusal('I'));
  EXPECT_EQ(answer(std::numeric_limits<double>::max()), to_hex(encode_double(std::numeric_limits<double>::max())));
}

}  // namespace
}  // namespace cassandra_like
