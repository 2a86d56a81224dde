#include "ring/topology.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Endpoint endpoint(std::vector<Token> tokens, EndpointStatus state = EndpointStatus::kNormal) {
  Endpoint out;
  out.datacenter = "dc1";
  out.rack = "r1";
  out.tokens = std::move(tokens);
  out.state = state;
  return out;
}

ReplicationParams simple(const std::string& factor) {
  ReplicationParams params;
  params.options = {{"class", "SimpleStrategy"}, {"replication_factor", factor}};
  return params;
}

ReplicationStrategy strategy(const std::string& factor) { return *ReplicationStrategy::make(simple(factor)); }

std::vector<EndpointIndex> list(std::span<const EndpointIndex> of) { return {of.begin(), of.end()}; }

TEST(PendingReplicasTest, NobodyArrivesAndNobodyLeaves) {
  TokenRing ring({endpoint({0}), endpoint({100}), endpoint({7}, EndpointStatus::kLeft)}, 0);
  PendingReplicas pending(ring, strategy("1"));
  EXPECT_TRUE(pending.empty());
  EXPECT_THAT(list(pending.of(5)), IsEmpty());
}

TEST(PendingReplicasTest, OneThatJoinsWillOwnTheRangesThatEndAtItsTokens) {
  TokenRing ring({endpoint({0}), endpoint({100}), endpoint({50}, EndpointStatus::kJoining)}, 0);
  PendingReplicas pending(ring, strategy("1"));
  EXPECT_THAT(list(pending.of(0)), IsEmpty());
  EXPECT_THAT(list(pending.of(1)), ElementsAre(2));
  EXPECT_THAT(list(pending.of(50)), ElementsAre(2));
  EXPECT_THAT(list(pending.of(51)), IsEmpty());
  EXPECT_THAT(list(pending.of(101)), IsEmpty());
}

// Each as if the other failed: so both are pending for the range that either of them may get.
TEST(PendingReplicasTest, TwoThatJoinAreEachPlacedAlone) {
  TokenRing ring({endpoint({0}), endpoint({40}, EndpointStatus::kJoining), endpoint({50}, EndpointStatus::kJoining)},
                 0);
  PendingReplicas pending(ring, strategy("1"));
  EXPECT_THAT(list(pending.of(20)), UnorderedElementsAre(1, 2));
  EXPECT_THAT(list(pending.of(45)), ElementsAre(2));
}

TEST(PendingReplicasTest, TheRangesOfOneThatLeavesGoToTheNext) {
  TokenRing ring({endpoint({0}), endpoint({100}, EndpointStatus::kLeaving), endpoint({200})}, 0);
  PendingReplicas one(ring, strategy("1")), two(ring, strategy("2"));
  EXPECT_THAT(list(one.of(50)), ElementsAre(2));
  EXPECT_THAT(list(one.of(150)), IsEmpty());
  EXPECT_THAT(list(two.of(50)), ElementsAre(0));
  EXPECT_THAT(list(two.of(-5)), ElementsAre(2));
}

TEST(PendingReplicasTest, OneThatMovesWillOwnWhatEndsAtItsTokensToBe) {
  Endpoint moving = endpoint({100}, EndpointStatus::kMoving);
  moving.moving_to = {60};
  TokenRing ring({endpoint({0}), moving, endpoint({50})}, 0);
  PendingReplicas pending(ring, strategy("1"));
  EXPECT_THAT(list(pending.of(55)), IsEmpty());  // it has that range already, which ends at 100 now
  moving.moving_to = {30};
  PendingReplicas back(TokenRing({endpoint({0}), moving, endpoint({50})}, 0), strategy("1"));
  EXPECT_THAT(list(back.of(20)), ElementsAre(1));
  EXPECT_THAT(list(back.of(40)), IsEmpty());
}

TEST(OwnershipTest, IsTheReplicasShareOfTheRing) {
  constexpr Token kQuarter = Token{1} << 62;
  auto ring = std::make_shared<TokenRing>(std::vector<Endpoint>{endpoint({0}), endpoint({kQuarter})}, 0);
  ReplicaMap one(ring, strategy("1")), two(ring, strategy("2")), none(ring, strategy("0"));
  EXPECT_EQ(ownership(one, 0), 0.75);
  EXPECT_EQ(ownership(one, 1), 0.25);
  EXPECT_EQ(ownership(two, 0), 1);
  EXPECT_EQ(ownership(none, 0), 0);
  auto single = std::make_shared<TokenRing>(std::vector<Endpoint>{endpoint({-5, 3, 8})}, 0);
  EXPECT_EQ(ownership(ReplicaMap(single, strategy("3")), 0), 1);
}

TEST(ReplicaMapTest, TokensWithTheSameReplicasAreOneGroup) {
  auto one = std::make_shared<TokenRing>(std::vector<Endpoint>{endpoint({0, 5, 9})}, 0);
  auto two = std::make_shared<TokenRing>(std::vector<Endpoint>{endpoint({0}), endpoint({5})}, 0);
  EXPECT_THAT(ReplicaMap(one, strategy("3")).groups(), ElementsAre(ElementsAre(0)));
  EXPECT_THAT(list(ReplicaMap(one, strategy("3")).replicas(7)), ElementsAre(0));
  EXPECT_THAT(ReplicaMap(two, strategy("1")).groups(), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(ReplicaMapsTest, KeyspacesThatAreReplicatedAlikeShareOne) {
  TopologyPtr topology = Topology::of_one(endpoint({1, 2}));
  ReplicaMaps maps;
  auto first = maps.of(*topology, simple("1"));
  EXPECT_EQ(maps.of(*topology, simple("1")), first);
  EXPECT_NE(maps.of(*topology, simple("2")), first);
  EXPECT_EQ(maps.of(*topology, simple("many")), nullptr);
  maps.clear();
  EXPECT_NE(maps.of(*topology, simple("1")), first);
}

TEST(TopologyStoreTest, TellsItsListenersOfEachSnapshot) {
  TopologyStore store;
  std::vector<bool> alive;
  store.add_listener([&](const TopologyPtr& topology) { alive.push_back(topology->is_alive(1)); });
  auto ring = std::make_shared<TokenRing>(std::vector<Endpoint>{endpoint({0}), endpoint({5})}, 0);
  store.set(std::make_shared<Topology>(ring, std::vector<bool>{true, true}));
  store.set(store.current()->with_liveness({true, false}));
  EXPECT_THAT(alive, ElementsAre(true, false));
  EXPECT_EQ(store.current()->ring(), ring);
}

}  // namespace
}  // namespace cassandra_like
