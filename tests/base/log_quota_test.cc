// Lines that clients can cause: some of an interval pass, the rest is counted.
#include "base/log_quota.h"

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

TEST(LogQuota, LetsSoManyLinesPassInAnInterval) {
  LogQuota quota(2, 100);
  EXPECT_EQ(quota.take(5), "");
  EXPECT_EQ(quota.take(6), "");
  EXPECT_EQ(quota.take(7), std::nullopt);
  EXPECT_EQ(quota.take(104), std::nullopt);
  EXPECT_EQ(quota.take(105), " (and 2 more like it before)");
  EXPECT_EQ(quota.take(106), "");
  EXPECT_EQ(quota.take(107), std::nullopt);
}

TEST(LogQuota, SaysNothingOfQuietTimes) {
  LogQuota quota(1, 100);
  EXPECT_EQ(quota.take(-1000), "");
  EXPECT_EQ(quota.take(1'000'000), "");
}

}  // namespace
}  // namespace cassandra_like
