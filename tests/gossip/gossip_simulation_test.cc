// Whole clusters of gossip's state machines: they agree in the end, whatever happened before; and what agreeing costs.
#include "tests/gossip/gossip_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "tests/support/sanitized.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Bug = GossipSimulation::Bug;

GossipSimulation::Config of(int nodes, uint64_t seed = 1) {
  GossipSimulation::Config config;
  config.nodes = nodes;
  config.seed = seed;
  return config;
}

std::set<int> range(int from, int to) {
  std::set<int> out;
  for (int i = from; i < to; ++i) out.insert(i);
  return out;
}

// All are up and agree.
void bring_up(GossipSimulation& cluster) {
  cluster.start_all();
  ASSERT_TRUE(cluster.run_until_agreed(120)) << cluster.difference();
}

class ClusterSizes : public ::testing::TestWithParam<int> {};

TEST_P(ClusterSizes, ConvergeAfterTheStartAndAfterAFullPartition) {
  const int nodes = GetParam();
  GossipSimulation cluster(of(nodes));
  cluster.start_all();
  auto to_start = cluster.run_until_agreed(120);
  ASSERT_TRUE(to_start) << cluster.difference();

  cluster.run(30);
  cluster.take_cost();
  constexpr int kRounds = 30;
  cluster.run(kRounds);
  const auto cost = cluster.take_cost();
  const double node_rounds = static_cast<double>(nodes) * kRounds;
  const double messages = static_cast<double>(cost.messages) / node_rounds;
  const double bytes = static_cast<double>(cost.bytes) / node_rounds;

  // One seed in each half. Both halves take the other for dead before the network heals.
  std::set<int> left = range(1, nodes / 2 + 1), right = range(nodes / 2 + 1, nodes);
  right.insert(0);
  cluster.part({left, right});
  cluster.run(80);
  for (int a : left) {
    for (int b : right) ASSERT_FALSE(cluster.lives_for(a, b) || cluster.lives_for(b, a)) << a << " " << b;
  }
  cluster.part({});
  auto to_heal = cluster.run_until_agreed(120);
  ASSERT_TRUE(to_heal) << cluster.difference();
  EXPECT_THAT(cluster.faults(), IsEmpty());

  std::printf("%d nodes: up in %d s; healed in %d s; a node sends %.2f messages, %.0f bytes in a round\n", nodes,
              static_cast<int>(*to_start), static_cast<int>(*to_heal), messages, bytes);
  EXPECT_LE(messages, 5);
  EXPECT_LE(bytes, 40.0 * nodes + 1500);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ClusterSizes,
                         ::testing::ValuesIn(test::kIsSanitized ? std::vector{3, 7} : std::vector{3, 7, 30, 100}));

TEST(GossipSimulation, ANodeThatJoinsIsUpForAllWithinSeconds) {
  GossipSimulation cluster(of(4));
  for (int n : {0, 1, 2}) cluster.start(n);
  ASSERT_TRUE(cluster.run_until_agreed(30)) << cluster.difference();
  cluster.run(30);
  cluster.start(3);
  auto seconds = cluster.run_until_agreed(10);
  ASSERT_TRUE(seconds) << cluster.difference();
  EXPECT_LE(*seconds, 3);
  EXPECT_TRUE(cluster.is_up(3));
}

TEST(GossipSimulation, NobodyIsConvictedOverANetworkThatLosesEachTenthMessage) {
  auto config = of(6);
  config.loss = 0.1;
  GossipSimulation cluster(config);
  bring_up(cluster);
  for (int second = 0; second < 600; ++second) {
    cluster.run(1);
    ASSERT_EQ(cluster.difference(), "") << "after " << second << " s";
  }
}

TEST(GossipSimulation, APausedNodeIsConvictedAndComesBack) {
  GossipSimulation cluster(of(5));
  bring_up(cluster);
  cluster.run(60);
  cluster.pause(3);
  cluster.run(12);
  EXPECT_TRUE(cluster.lives_for(0, 3));  // patience
  cluster.run(28);
  for (int n : {0, 1, 2, 4}) EXPECT_FALSE(cluster.lives_for(n, 3)) << n;
  cluster.resume(3);
  EXPECT_TRUE(cluster.lives_for(3, 0));  // it slept itself: it takes nobody for dead
  ASSERT_TRUE(cluster.run_until_agreed(30)) << cluster.difference();
  EXPECT_THAT(cluster.faults(), IsEmpty());
}

TEST(GossipSimulation, AShutdownIsKnownAtOnce) {
  for (int version : {kGossipVersion40, kGossipVersion50}) {
    auto config = of(5);
    config.messaging_version = version;
    GossipSimulation cluster(config);
    bring_up(cluster);
    cluster.shut_down(3);
    cluster.run(1);
    for (int n : {0, 1, 2, 4}) {
      EXPECT_FALSE(cluster.lives_for(n, 3)) << n;
      EXPECT_EQ(cluster.seen_by(n, 3)->status(), "shutdown") << n;
    }
    cluster.start(3);
    ASSERT_TRUE(cluster.run_until_agreed(30)) << cluster.difference();
    EXPECT_THAT(cluster.faults(), IsEmpty());
  }
}

TEST(GossipSimulation, AKilledNodeIsMissedWithinHalfAMinute) {
  GossipSimulation cluster(of(5));
  bring_up(cluster);
  cluster.run(60);
  cluster.kill(3);
  auto missed = cluster.run_until_agreed(60);
  ASSERT_TRUE(missed);
  EXPECT_GE(*missed, 10);
  EXPECT_LE(*missed, 30);
}

// --- A restart with an older clock

std::string restart_with_an_older_clock(Bug bug) {
  auto config = of(4);
  config.bug = bug;
  GossipSimulation cluster(config);
  cluster.start_all();
  if (!cluster.run_until_agreed(60)) return "never agreed";
  cluster.kill(3);
  cluster.set_clock(3, -86'400);
  cluster.run(40);
  cluster.start(3);
  cluster.run_until_agreed(120);
  return cluster.difference();
}

TEST(GossipSimulation, ANodeThatRestartsWithAnOlderClockIsAccepted) {
  EXPECT_EQ(restart_with_an_older_clock(Bug::kNone), "");
}

TEST(GossipSimulation, TheCheckerFindsAGenerationThatIsTakenFromTheClockAlone) {
  EXPECT_EQ(restart_with_an_older_clock(Bug::kGenerationFromClock), "node 0: does not see alive 3");
}

// --- Assassination

std::vector<std::string> assassinate_a_paused_node(Bug bug) {
  auto config = of(5);
  config.bug = bug;
  GossipSimulation cluster(config);
  cluster.start_all();
  if (!cluster.run_until_agreed(60)) return {"never agreed"};
  cluster.run(30);
  cluster.pause(4);
  cluster.run(40);
  cluster.assassinate(1, 4);
  cluster.run(45);
  std::vector<std::string> faults;
  if (std::string different = cluster.difference(); !different.empty()) faults.push_back(different);
  cluster.resume(4);
  cluster.run(600);
  if (std::string different = cluster.difference(); !different.empty()) faults.push_back(different);
  faults.insert(faults.end(), cluster.faults().begin(), cluster.faults().end());
  return faults;
}

TEST(GossipSimulation, AnAssassinatedNodeDoesNotComeBackThoughItLives) {
  EXPECT_THAT(assassinate_a_paused_node(Bug::kNone), IsEmpty());
}

TEST(GossipSimulation, TheCheckerFindsThatRemovedNodesAreForgottenTooSoon) {
  EXPECT_THAT(assassinate_a_paused_node(Bug::kForgetsAtOnce), ::testing::Contains(HasSubstr("takes back /10.0.0.5")));
}

// --- Echo

// Nodes 0 and 1 hear of each other through 2 alone. Whether 0 takes 1 for alive.
bool takes_for_alive_whom_it_cannot_reach(Bug bug) {
  auto config = of(3);
  config.bug = bug;
  GossipSimulation cluster(config);
  cluster.part({{0, 2}, {1, 2}});
  cluster.start_all();
  cluster.run(120);
  return cluster.lives_for(0, 1);
}

TEST(GossipSimulation, ANodeThatIsOnlyHeardOfIsNotAlive) {
  EXPECT_FALSE(takes_for_alive_whom_it_cannot_reach(Bug::kNone));
  EXPECT_TRUE(takes_for_alive_whom_it_cannot_reach(Bug::kNoEcho));
}

// --- Anything at all

// Nodes are killed, stopped, paused and started, clocks jump, the network parts and loses; then all of it ends.
void live_through_faults(uint64_t seed) {
  SeededRandom random(seed * 77);
  auto config = of(4 + static_cast<int>(random.below(4)), seed);
  config.messaging_version = random.below(2) == 0 ? kGossipVersion40 : kGossipVersion50;
  GossipSimulation cluster(config);
  cluster.start_all();
  ASSERT_TRUE(cluster.run_until_agreed(120)) << "seed " << seed << ": " << cluster.difference();
  std::set<int> down, paused;
  for (int step = 0; step < 12; ++step) {
    const int n = static_cast<int>(random.below(static_cast<uint64_t>(config.nodes)));
    const bool is_running = cluster.is_up(n);
    switch (random.below(6)) {
      case 0:
        if (is_running) cluster.kill(n), down.insert(n);
        break;
      case 1:
        if (is_running) cluster.shut_down(n), down.insert(n);
        break;
      case 2:
        if (is_running) cluster.pause(n), paused.insert(n);
        break;
      case 3:
        cluster.set_clock(n, static_cast<int64_t>(random.below(7200)) - 3600);
        break;
      case 4:
        cluster.part({range(0, n), range(n, config.nodes)});
        break;
      default:
        cluster.set_loss(static_cast<double>(random.below(5)) / 10);
        if (down.erase(n) > 0) cluster.start(n);
        if (paused.erase(n) > 0) cluster.resume(n);
    }
    cluster.run(static_cast<int64_t>(random.below(60)));
  }
  cluster.part({});
  cluster.set_loss(0);
  for (int n : paused) cluster.resume(n);
  for (int n : down) cluster.start(n);
  cluster.run(130);  // starts that found nobody have failed by now
  for (int n = 0; n < config.nodes; ++n) {
    if (cluster.is_up(n)) continue;
    cluster.kill(n);
    cluster.start(n);
  }
  ASSERT_TRUE(cluster.run_until_agreed(300)) << "seed " << seed << ": " << cluster.difference();
  for (int n = 0; n < config.nodes; ++n) EXPECT_TRUE(cluster.is_up(n)) << "seed " << seed << ", node " << n;
  EXPECT_THAT(cluster.faults(), IsEmpty()) << "seed " << seed;
}

TEST(GossipSimulation, AgreesAfterAnyFaults) {
  for (uint64_t seed = 1; seed <= (test::kIsSanitized ? 3 : 60) && !::testing::Test::HasFailure(); ++seed)
    live_through_faults(seed);
}

TEST(GossipSimulation, OneSeedIsOneRun) {
  auto run = [] {
    auto config = of(8, 5);
    config.loss = 0.2;
    GossipSimulation cluster(config);
    cluster.start_all();
    cluster.run(100);
    const auto cost = cluster.take_cost();
    return std::tuple(cost.messages, cost.bytes, cluster.difference());
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace cassandra_like
