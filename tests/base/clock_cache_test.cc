#include "base/clock_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace cassandra_like {
namespace {

using Cache = ClockCache<int, std::string>;

std::vector<int> put(Cache& cache, int key, uint64_t weight = 1) {
  std::vector<int> gone;
  cache.put(key, std::to_string(key), weight, [&](int k) { gone.push_back(k); });
  return gone;
}

TEST(ClockCache, WhatIsUsedAgainAndAgainSurvivesWhatIsUsedOnce) {
  Cache cache(10);
  for (int i = 0; i < 5; ++i) put(cache, i);
  for (int scanned = 100; scanned < 1000; ++scanned) {
    put(cache, scanned);
    for (int i = 0; i < 5; ++i) ASSERT_NE(cache.find(i), nullptr) << scanned;
  }
  EXPECT_EQ(cache.size(), 10u);
  EXPECT_EQ(*cache.find(3), "3");
}

TEST(ClockCache, GoesRoundInTheOrderOfComingWhenNothingIsUsed) {
  Cache cache(3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(put(cache, i), std::vector<int>{});
  EXPECT_EQ(put(cache, 3), std::vector<int>{0});
  EXPECT_EQ(put(cache, 4), std::vector<int>{1});
}

TEST(ClockCache, WeighsAndMakesRoomForWhatIsHeavyButKeepsIt) {
  Cache cache(10);
  for (int i = 0; i < 10; ++i) put(cache, i);
  EXPECT_EQ(put(cache, 50, 7).size(), 7u);
  EXPECT_EQ(cache.weight(), 10u);
  EXPECT_EQ(put(cache, 51, 99).size(), 4u);
  EXPECT_EQ(cache.weight(), 99u);
  EXPECT_EQ(*cache.find(51), "51");
}

TEST(ClockCache, WhatIsErasedOrReplacedLeavesNothingBehind) {
  Cache cache(3);
  for (int round = 0; round < 100; ++round) {
    put(cache, round % 2);
    cache.erase(round % 3);
  }
  EXPECT_LE(cache.size(), 2u);
  EXPECT_EQ(cache.weight(), cache.size());
}

}  // namespace
}  // namespace cassandra_like
