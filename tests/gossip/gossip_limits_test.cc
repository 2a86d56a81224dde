// Strangers may tell anything of anybody: how much of it a node keeps, passes on and answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gossip/gossiper_rig.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr ApplicationState kSpare[] = {ApplicationState::kX1, ApplicationState::kX2, ApplicationState::kX3,
                                       ApplicationState::kX4, ApplicationState::kX5, ApplicationState::kX6};
const std::string kLong(60'000, 'x');

// A value of so many bytes, of a node outside the ring.
EndpointState stranger(size_t bytes) {
  return state_of(generation_at(0), 1, {{ApplicationState::kX1, std::string(bytes, 'x')}});
}

std::vector<Token> many_tokens(int count) {
  SeededRandom random(1);
  std::vector<Token> out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<Token>(random.next()));
  return out;
}

GossipDigests digests_of(const Gossiper& gossiper) {
  GossipDigests out;
  for (const auto& [endpoint, known] : gossiper.states()) {
    out.push_back({endpoint, known->heart_beat.generation, known->max_version()});
  }
  return out;
}

TEST(GossipLimits, AsManyTokensAsCassandraAllowsAreBelieved) {
  Rig rig;
  rig.start();
  rig.hear(3, state_of(generation_at(0), 1, normal_states(3, many_tokens(1536))), at(1));
  EXPECT_EQ(state_values::parse_tokens(rig.known(3).text(ApplicationState::kTokens))->size(), 1536u);
}

TEST(GossipLimits, TheValuesOfOneNodeHaveALimitHoweverTheyCome) {
  KeptLog log;
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  LocalStates all;
  for (ApplicationState state : kSpare) all.emplace_back(state, kLong);
  rig.hear(4, state_of(generation_at(0), 1, all), at(1));
  EXPECT_EQ(rig.gossiper.state(node(4)), nullptr);
  EXPECT_THAT(log.lines,
              ElementsAre(AllOf(HasSubstr("about /10.0.0.4:7000 from /10.0.0.9:7000"), HasSubstr("262144 at most"))));
  int32_t version = 100;
  for (const auto& [state, value] : all) {
    EndpointState one = state_of(generation_at(0), ++version, {});
    one.states[state] = {value, ++version};
    rig.hear(3, one, at(1));
  }
  EXPECT_LE(rig.known(3).bytes(), rig.gossiper.config().max_bytes_of_one);
  EXPECT_TRUE(rig.known(3).has(ApplicationState::kX4) && !rig.known(3).has(ApplicationState::kX5));
  rig.hear(3, state_of(generation_at(1), 1, all), at(1));
  EXPECT_EQ(rig.known(3).heart_beat.generation, generation_at(0));
  EndpointState told = state_of(generation_at(2), 1, all);
  told.states[ApplicationState::kStatusWithPort] = {state_values::shutdown(true), 1000};
  rig.gossiper.on_shutdown(node(3), {told}, at(1).millis, at(1));
  EXPECT_EQ(rig.known(3).heart_beat.generation, generation_at(0));
  EXPECT_THAT(log.lines.size(), 5u);
}

TEST(GossipLimits, NodesOutsideTheRingShareALimitThatMembersDoNotFeel) {
  KeptLog log;
  Gossiper::Config config;
  config.max_bytes_of_strangers = 10'000;
  Rig rig({2}, config);
  rig.start();
  rig.meet(3, at(1));
  for (int n : {4, 5, 6}) rig.hear(n, stranger(4000), at(1));
  EXPECT_EQ(rig.gossiper.state(node(6)), nullptr);
  EXPECT_THAT(log.lines, ElementsAre(HasSubstr("/10.0.0.6:7000")));
  rig.hear(7, state_of(generation_at(0), 1, normal_states(7, many_tokens(1000))), at(1));
  EXPECT_NE(rig.gossiper.state(node(7)), nullptr);
  rig.subscriber.members.insert(node(7));
  EndpointState more = state_of(generation_at(0), 100, {});
  more.states[ApplicationState::kX1] = {kLong, 101};
  rig.hear(3, more, at(1));
  EXPECT_EQ(rig.known(3).text(ApplicationState::kX1), kLong);
  // They may tell what is no longer than what they told before. When one of them joins, there is room again.
  rig.beat(4, 7, at(2));
  EXPECT_EQ(rig.known(4).heart_beat.version, 7);
  rig.subscriber.members.insert(node(4));
  rig.run(2, 3, {3, 4, 5});
  rig.hear(6, stranger(4000), at(3));
  EXPECT_NE(rig.gossiper.state(node(6)), nullptr);
}

TEST(GossipLimits, NodesThatSayTheyAreInTheRingHaveALimitTogether) {
  Gossiper::Config config;
  config.max_bytes = 200'000;
  Rig rig({2}, config);
  rig.start();
  for (int n : {3, 4, 5, 6}) {
    LocalStates states = normal_states(n, {n});
    states.emplace_back(ApplicationState::kX1, kLong);
    rig.hear(n, state_of(generation_at(0), 1, states), at(1));
    rig.run(1, 2, {});
  }
  EXPECT_NE(rig.gossiper.state(node(5)), nullptr);
  EXPECT_EQ(rig.gossiper.state(node(6)), nullptr);
}

// Heartbeats come first. Some rounds later the other one has everything.
TEST(GossipLimits, AnswersAreShortAndLaterRoundsBringTheRest) {
  constexpr int kNodes = 40;
  Rig rig;
  rig.start();
  Rig other;
  other.start();
  for (int n = 10; n < 10 + kNodes; ++n) {
    LocalStates states = normal_states(n, {n});
    if (n != 49) states.emplace_back(ApplicationState::kX1, kLong);
    rig.hear(n, state_of(generation_at(0), 1, states), at(1));
    if (n == 48) other.hear(n, state_of(generation_at(0), 1, states), at(1));
  }
  rig.beat(48, 50, at(2));
  GossipDigests missing;
  for (int n = 10; n < 10 + kNodes; ++n) missing.push_back({node(n), generation_at(0), n == 48 ? 20 : 0});
  const size_t most = rig.gossiper.config().max_bytes_to_send;
  rig.gossiper.on_ack(node(3), {missing, {}}, at(3).millis, at(3));
  const auto ack2 = rig.sent<GossipDigestAck2>();
  EXPECT_LE(encode_ack2(ack2).size(), most);
  EXPECT_TRUE(ack2.states.contains(node(48)) && ack2.states.contains(node(49)));
  rig.gossiper.on_syn(node(3), {"Test Cluster", rig.gossiper.config().partitioner, missing}, at(3).millis, at(3));
  EXPECT_LE(encode_ack(rig.sent<GossipDigestAck>()).size(), most);

  other.gossiper.on_ack2(node(3), ack2, at(3).millis, at(3));
  for (int round = 0; round < 3; ++round) {
    other.gossiper.on_syn(node(3), {"Test Cluster", rig.gossiper.config().partitioner, digests_of(rig.gossiper)}, 0,
                          at(4));
    auto asked = other.sent<GossipDigestAck>();
    asked.states.clear();
    rig.gossiper.on_ack(node(3), asked, 0, at(4));
    const auto told = rig.sent<GossipDigestAck2>();
    EXPECT_LE(encode_ack2(told).size(), most);
    other.gossiper.on_ack2(node(3), told, 0, at(4));
  }
  EXPECT_EQ(other.gossiper.states().size(), size_t{kNodes} + 1);
}

TEST(GossipLimits, MoreDigestsThanANodeCanKnowAreNotLookedAt) {
  Gossiper::Config config;
  config.max_endpoints = 5;
  Rig rig({2}, config);
  rig.start();
  GossipDigests digests;
  for (int n = 10; n < 16; ++n) digests.push_back({node(n), 1, 1});
  const std::string partitioner = rig.gossiper.config().partitioner;
  rig.gossiper.on_syn(node(3), {"Test Cluster", partitioner, digests}, 0, at(1));
  rig.gossiper.on_ack(node(3), {digests, {}}, 0, at(1));
  EXPECT_THAT(rig.sends(), IsEmpty());
  digests.pop_back();
  rig.gossiper.on_syn(node(3), {"Test Cluster", partitioner, digests}, 0, at(1));
  EXPECT_EQ(rig.sent<GossipDigestAck>().digests.size(), 5u);
}

TEST(GossipLimits, WhoAsksForAllStatesOverAndOverAgainHasToWaitForTheNextRound) {
  KeptLog log;
  Rig rig;
  rig.start();
  auto ask = [&](int n) {
    rig.gossiper.on_syn(node(n), {"Test Cluster", rig.gossiper.config().partitioner, {}}, 0, at(1));
  };
  for (int i = 0; i < 100; ++i) ask(3);
  ask(4);
  EXPECT_THAT(rig.sends(), ElementsAre("3 ACK", "3 ACK", "3 ACK", "3 ACK", "4 ACK"));
  EXPECT_EQ(log.lines.size(), 10u);
  rig.gossiper.tick(at(2), rig.random);
  rig.sends();
  ask(3);
  EXPECT_THAT(rig.sends(), ElementsAre("3 ACK"));
}

}  // namespace
}  // namespace cassandra_like
