// The rates that Dropwizard's Meter of Cassandra 5.0.9 tells at these times.
#include "base/meter.h"

#include <cmath>

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(Meter, TheFirstFiveSecondsAreTheFirstRate) {
  Meter meter(7 * kSecond);
  for (int i = 0; i < 10; ++i) meter.mark(8 * kSecond);
  EXPECT_EQ(meter.count(), 10u);
  EXPECT_EQ(meter.fifteen_minute_rate(11 * kSecond), 0);
  EXPECT_DOUBLE_EQ(meter.fifteen_minute_rate(12 * kSecond), 2);
}

TEST(Meter, WithoutMarksTheRateDecays) {
  Meter meter(0);
  for (int i = 0; i < 5; ++i) meter.mark(0);
  EXPECT_NEAR(meter.fifteen_minute_rate((5 + 15 * 60) * kSecond), std::exp(-1), 1e-9);
  EXPECT_NEAR(meter.fifteen_minute_rate((5 + 150 * 60) * kSecond), std::exp(-10), 1e-9);
}

TEST(Meter, MarksMoveTheRate) {
  Meter meter(0);
  double before = meter.fifteen_minute_rate(3600 * kSecond);
  EXPECT_EQ(before, 0);
  for (int64_t second = 3600; second < 3600 + 15 * 60; ++second) {
    meter.mark(second * kSecond);
    const double now = meter.fifteen_minute_rate(second * kSecond);
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_NEAR(before, 1 - std::exp(-1), 0.01);
}

}  // namespace
}  // namespace cassandra_like
