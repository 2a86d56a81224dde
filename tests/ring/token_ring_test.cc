#include "ring/token_ring.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

constexpr Token kLowest = std::numeric_limits<int64_t>::min();
constexpr Token kHighest = std::numeric_limits<int64_t>::max();

Endpoint endpoint(std::string rack, std::vector<Token> tokens, EndpointStatus state = EndpointStatus::kNormal) {
  return {Uuid{}, "", "dc1", std::move(rack), std::move(tokens), state};
}

TEST(TokenRingTest, TokensBelongToTheNextOneOnTheRing) {
  TokenRing ring({endpoint("r1", {-100, 200}), endpoint("r2", {0, 300})}, 0);
  auto owner = [&](Token t) { return ring.entries()[ring.entry_of(t)].endpoint; };
  EXPECT_EQ(owner(kLowest), 0u);
  EXPECT_EQ(owner(-100), 0u);
  EXPECT_EQ(owner(-99), 1u);
  EXPECT_EQ(owner(200), 0u);
  EXPECT_EQ(owner(300), 1u);
  EXPECT_EQ(owner(301), 0u);
  EXPECT_EQ(owner(kHighest), 0u);
}

TEST(TokenRingTest, TheEntryOfATokenIsTheOneWhoseRangeHasIt) {
  const std::vector<Token> tokens = {kLowest, kLowest + 1, -7, -6, -5, 0, 1, int64_t{1} << 62, kHighest - 1, kHighest};
  TokenRing ring({endpoint("r1", tokens)}, 0);
  for (Token near : tokens) {
    for (int64_t away : {-2, -1, 0, 1, 2, 1000}) {
      const Token token = static_cast<Token>(static_cast<uint64_t>(near) + static_cast<uint64_t>(away));
      EXPECT_TRUE(ring.range_of(ring.entry_of(token)).contains(token)) << token;
    }
  }
}

TEST(TokenRingTest, PrimaryRangesEndAtTheTokensOfAnEndpoint) {
  TokenRing ring({endpoint("r1", {-100, 200}), endpoint("r2", {0, 300})}, 0);
  EXPECT_THAT(ring.primary_ranges(0), testing::ElementsAre(TokenRange{300, -100}, TokenRange{0, 200}));
  EXPECT_THAT(ring.primary_ranges(1), testing::ElementsAre(TokenRange{-100, 0}, TokenRange{200, 300}));
}

TEST(TokenRingTest, RangesWrapAround) {
  TokenRange inside{0, 10}, around{10, 0}, all{5, 5};
  EXPECT_FALSE(inside.contains(0));
  EXPECT_TRUE(inside.contains(10));
  EXPECT_TRUE(around.contains(0));
  EXPECT_TRUE(around.contains(kHighest));
  EXPECT_FALSE(around.contains(10));
  EXPECT_TRUE(all.contains(5));
  EXPECT_TRUE(all.contains(kLowest));
}

TEST(TokenRingTest, OnlyThoseInTheRingOwnTokens) {
  TokenRing ring({endpoint("r1", {0}), endpoint("r1", {10}, EndpointStatus::kLeaving),
                  endpoint("r2", {20}, EndpointStatus::kMoving), endpoint("r3", {30}, EndpointStatus::kJoining),
                  endpoint("r4", {40}, EndpointStatus::kLeft), endpoint("r5", {})},
                 0);
  std::vector<Token> tokens;
  for (const auto& e : ring.entries()) tokens.push_back(e.token);
  EXPECT_THAT(tokens, testing::ElementsAre(0, 10, 20));
  EXPECT_EQ(ring.endpoints().size(), 6u);
  ASSERT_EQ(ring.datacenters().size(), 1u);
  EXPECT_EQ(ring.datacenters().at("dc1").endpoints, 3u);
  EXPECT_EQ(ring.datacenters().at("dc1").racks, 2u);
}

TEST(TokenRingTest, TheFirstToClaimATokenHasIt) {
  TokenRing ring({endpoint("r1", {7}), endpoint("r1", {7})}, 1);
  ASSERT_EQ(ring.entries().size(), 1u);
  EXPECT_EQ(ring.entries()[0].endpoint, 0u);
  EXPECT_EQ(ring.local(), 1u);
}

}  // namespace
}  // namespace cassandra_like
