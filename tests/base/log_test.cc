#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace cassandra_like {
namespace {

TEST(Log, TheSinkGetsWhatIsAtOrAboveTheLevel) {
  std::vector<LogRecord> records;
  set_log_sink([&](const LogRecord& r) { records.push_back(r); });
  LogLevel before = log_level();
  set_log_level(LogLevel::kWarn);
  LOG_INFO("not {}", "this");
  LOG_WARN("Flushed {} rows", 3);
  set_log_level(before);
  set_log_sink({});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].level, LogLevel::kWarn);
  EXPECT_STREQ(records[0].file, "log_test.cc");
  EXPECT_EQ(records[0].text, "Flushed 3 rows");
}

// The name of a role may hold a line break.
TEST(Log, ARecordIsOneLine) {
  std::vector<std::string> texts;
  set_log_sink([&](const LogRecord& r) { texts.push_back(r.text); });
  LOG_WARN("CREATE ROLE {}: done", "a\nERROR [main] node.cc:1 - fake\x1b[2J\tü");
  set_log_sink({});
  EXPECT_EQ(texts, std::vector<std::string>{"CREATE ROLE a\\nERROR [main] node.cc:1 - fake\\x1b[2J\tü: done"});
}

Result<int> half(int n) {
  if (n % 2 != 0) return invalid("odd");
  return n / 2;
}
Result<int> quarter(int n) {
  ASSIGN_OR_RETURN(int h, half(n));
  return half(h);
}
Status check_quarter(int n) {
  TRY(quarter(n));
  return {};
}

TEST(Result, ErrorsTravelAsValues) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().message(), "odd");
  EXPECT_EQ(quarter(3).error().code(), ErrorCode::kInvalid);
  EXPECT_TRUE(check_quarter(4).ok());
  EXPECT_FALSE(check_quarter(2).ok());
}

TEST(ResultDeathTest, ABrokenInvariantNamesItself) {
  EXPECT_DEATH(CHECK(1 + 1 == 3), "invariant broken: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace cassandra_like
