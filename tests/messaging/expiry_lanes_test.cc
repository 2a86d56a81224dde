// The order in which requests expire.
#include "messaging/link/expiry_lanes.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace cassandra_like::test {
namespace {

TEST(ExpiryLanesTest, EndsRequestsOfSeveralTimeoutsInTheOrderOfTheirDeadlines) {
  ExpiryLanes lanes;
  for (uint32_t i = 0; i < 100; ++i) {
    lanes.push(1000 + i, 3 * i);
    lanes.push(200 + i, 3 * i + 1);
    lanes.push(5000 + i, 3 * i + 2);
  }
  EXPECT_EQ(lanes.size(), 300u);
  for (uint32_t kind : {1u, 0u, 2u}) {
    for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(lanes.pop().id, 3 * i + kind);
  }
  EXPECT_TRUE(lanes.empty());
}

// Whatever the deadlines are, and while others leave.
TEST(ExpiryLanesTest, IsAQueueByDeadline) {
  std::mt19937_64 random(1);
  ExpiryLanes lanes;
  std::multimap<int64_t, uint32_t> expected;
  for (uint32_t i = 0; i < 20'000; ++i) {
    const int64_t deadline = i / 4 + static_cast<int64_t>(random() % 500);
    lanes.push(deadline, i);
    expected.emplace(deadline, i);
    while (!expected.empty() && random() % 2 == 0) {
      ASSERT_EQ(lanes.first(), expected.begin()->first);
      const ExpiryLanes::Expiry due = lanes.pop();
      const auto [from, to] = expected.equal_range(due.deadline);
      const auto found = std::find_if(from, to, [&](const auto& e) { return e.second == due.id; });
      ASSERT_NE(found, to);
      expected.erase(found);
    }
  }
  EXPECT_EQ(lanes.size(), expected.size());
}

}  // namespace
}  // namespace cassandra_like::test
