#include "replica/disk_boundary_manager.h"

#include "gtest/gtest.h"

namespace cassandra_like::test::disk_boundary_manager_test {
namespace {

constexpr Token kStep = 1'000'000'000'000'000'000;

Endpoint endpoint_with(std::vector<Token> tokens, int number) {
  Endpoint endpoint;
  endpoint.host_id = Uuid::name_based(std::to_string(number));
  endpoint.address = "127.0.0." + std::to_string(number);
  endpoint.datacenter = "datacenter1";
  endpoint.rack = "rack1";
  for (Token token : tokens) endpoint.tokens.push_back(token * kStep);
  return endpoint;
}

TopologyPtr topology_of(std::vector<std::vector<Token>> tokens) {
  std::vector<Endpoint> endpoints;
  for (auto& of_one : tokens)
    endpoints.push_back(endpoint_with(std::move(of_one), static_cast<int>(endpoints.size()) + 1));
  const std::vector<bool> alive(endpoints.size(), true);
  return std::make_shared<Topology>(std::make_shared<TokenRing>(std::move(endpoints), 0), alive);
}

ReplicationParams replicated(int factor) {
  ReplicationParams params;
  params.options = {{"class", "org.apache.cassandra.locator.SimpleStrategy"},
                    {"replication_factor", std::to_string(factor)}};
  return params;
}

using Tokens = std::vector<Token>;

class DiskBoundaryManagerTest : public testing::Test {
 protected:
  Tokens of(const TopologyPtr& topology, const ReplicationParams& replication) {
    return manager.of(topology, replication, 2).ends();
  }

  DiskBoundaryManager manager;
};

// The ranges that end at -6, -2, 2 and 6: the first of them goes around the end of the ring.
TEST_F(DiskBoundaryManagerTest, ANodeWithVnodesKeepsItsRangesWhole) {
  const TopologyPtr four = topology_of({{-6, 2}, {-2, 6}});
  EXPECT_EQ(of(four, replicated(1)), Tokens{-6 * kStep});
  EXPECT_EQ(of(four, replicated(2)), Tokens{-2 * kStep});
}

TEST_F(DiskBoundaryManagerTest, ANodeWithOneTokenCutsItsRange) {
  EXPECT_EQ(of(topology_of({{4}, {0}}), replicated(1)), Tokens{2 * kStep});
  EXPECT_EQ(of(topology_of({{4}}), replicated(1)), Tokens{-1});
}

TEST_F(DiskBoundaryManagerTest, NewTokensInTheRingMoveTheBoundaries) {
  const TopologyPtr two = topology_of({{4}, {0}}), three = topology_of({{4}, {0}, {2}});
  EXPECT_EQ(of(two, replicated(1)), Tokens{2 * kStep});
  EXPECT_EQ(of(two->with_liveness({true, false}), replicated(1)), Tokens{2 * kStep});
  EXPECT_EQ(of(three, replicated(1)), Tokens{3 * kStep});
}

TEST_F(DiskBoundaryManagerTest, WithoutRangesOfItsOwnANodeDividesTheRing) {
  ReplicationParams local;
  local.options = {{"class", "org.apache.cassandra.locator.LocalStrategy"}};
  EXPECT_EQ(of(nullptr, replicated(1)), Tokens{-1});
  EXPECT_EQ(of(topology_of({{-6, 2}, {-2, 6}}), local), Tokens{-1});
  EXPECT_EQ(of(topology_of({{}, {0}}), replicated(1)), Tokens{-1});
}

}  // namespace
}  // namespace cassandra_like::test::disk_boundary_manager_test
