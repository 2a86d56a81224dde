// The meaning of the texts of speculative_retry.
#include "coordinator/quorum/speculative_retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/quorum/recent_latencies.h"

namespace cassandra_like::test {
namespace {

using testing::ElementsAre;

constexpr int64_t kCurrent = 2'500'000;

int64_t threshold(const char* policy, const Histogram& latencies) {
  auto parsed = SpeculativeRetry::parse(policy);
  EXPECT_TRUE(parsed.ok()) << policy;
  return parsed.ok() ? parsed->threshold_micros(latencies, kCurrent) : -1;
}

// 98 of a hundred are of one millisecond, two of twenty.
Histogram mostly_fast() {
  Histogram latencies;
  latencies.record(1000, 98);
  latencies.record(20'000, 2);
  return latencies;
}

TEST(SpeculativeRetryTest, TakesItsThresholdFromTheLatencies) {
  const Histogram latencies = mostly_fast();
  const auto fast = static_cast<int64_t>(latencies.quantile(0.5)),
             slow = static_cast<int64_t>(latencies.quantile(0.99));
  ASSERT_GE(fast, 1000);
  ASSERT_LT(fast, 1300);
  ASSERT_GE(slow, 20'000);
  std::vector<int64_t> got;
  for (const char* policy : {"50p", "99p", "99.9p", "5ms", "MIN(99p,5ms)", "MAX(99p,5ms)", "MIN(50p,5ms)",
                             "MAX(50p,5ms)", "ALWAYS", "NEVER"}) {
    got.push_back(threshold(policy, latencies));
  }
  EXPECT_THAT(got, ElementsAre(fast, slow, slow, 5000, 5000, slow, fast, 5000, 0, SpeculativeRetry::kNeverMicros));
}

TEST(SpeculativeRetryTest, KeepsItsThresholdWhileThereAreNoLatencies) {
  std::vector<int64_t> got;
  for (const char* policy : {"99p", "MIN(99p,5ms)", "MAX(99p,5ms)", "5ms", "0ms", "ALWAYS", "NEVER"}) {
    got.push_back(threshold(policy, Histogram()));
  }
  EXPECT_THAT(got, ElementsAre(kCurrent, kCurrent, kCurrent, 5000, 0, 0, SpeculativeRetry::kNeverMicros));
}

TEST(RecentLatenciesTest, WeighHalfAMinuteLater) {
  constexpr int64_t kMinute = 60'000'000'000;
  Histogram all;
  RecentLatencies recent;
  all.record(1000, 100);
  EXPECT_EQ(recent.update(all, kMinute).count(), 100U);
  EXPECT_EQ(recent.update(all, 2 * kMinute).count(), 50U);
  all.record(20'000, 50);
  const Histogram both = recent.update(all, 3 * kMinute);
  EXPECT_EQ(both.count(), 60U);  // 25, and 50 that are half a minute old
  EXPECT_LT(both.quantile(0.3), 2000U);
  EXPECT_GE(both.quantile(0.5), 20'000U);
  EXPECT_EQ(recent.update(all, 20 * kMinute).count(), 0U);
}

TEST(SpeculativeRetryTest, RefusesATextThatNoSchemaHolds) {
  for (const char* text :
       {"", "p", "ms", "99", "0p", "100p", "-1p", "nanp", "99pp", "1.5ms", "-5ms", "99999999999ms", "MIN()", "MIN(99p)",
        "MIN(99p,99p)", "MIN(5ms,99p)", "MIN(99p,5ms", "AVG(99p,5ms)", "always"}) {
    auto parsed = SpeculativeRetry::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalid);
    EXPECT_EQ(parsed.error().message(), "The schema holds '" + std::string(text) +
                                            "' as a retry policy, which is none of ALWAYS, NEVER, 99p, 5ms, "
                                            "MIN(99p,5ms) and MAX(99p,5ms)");
  }
}

}  // namespace
}  // namespace cassandra_like::test
