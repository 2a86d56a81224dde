// The rules of a node's own life: whom it talks to, the shadow round, what an operator may order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gossip/gossiper_rig.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ShadowRound = Gossiper::ShadowRound;

// How often each peer got a SYN in so many rounds.
std::map<std::string, int> targets(Rig& rig, int rounds) {
  std::map<std::string, int> out;
  for (int i = 0; i < rounds; ++i) {
    rig.gossiper.tick(at(1), rig.random);
    for (const std::string& send : rig.sends()) ++out[send];
  }
  return out;
}

// --- Targets

TEST(GossipTargets, WithoutLiveNodesASeedIsAsked) {
  Rig rig({2});
  rig.start();
  EXPECT_EQ(targets(rig, 10), (std::map<std::string, int>{{"2 SYN", 10}}));
}

TEST(GossipTargets, TheOnlySeedDoesNotTalkToItself) {
  Rig rig({1});
  rig.start();
  EXPECT_THAT(targets(rig, 10), IsEmpty());
}

TEST(GossipTargets, EachRoundReachesOneLiveNodeAndSeedsNowAndThen) {
  Rig rig({2});
  rig.start();
  for (int n : {2, 3, 4, 5}) rig.meet(n, at(1));
  auto counts = targets(rig, 4000);
  // A quarter of the rounds each; the seed gets one more in a quarter of the rounds that did not reach it.
  for (const char* to : {"3 SYN", "4 SYN", "5 SYN"}) EXPECT_NEAR(counts[to], 1000, 120) << to;
  EXPECT_NEAR(counts["2 SYN"], 1000 + 3000 / 4, 150);
}

TEST(GossipTargets, UnreachableNodesAreTriedByTheirShareButNotThoseThatLeft) {
  Rig rig({2});
  rig.start();
  for (int n : {2, 3, 4}) rig.meet(n, at(1));
  rig.gossiper.add_saved_endpoint(node(6), at(1));
  auto counts = targets(rig, 4000);
  EXPECT_NEAR(counts["6 SYN"], 1000, 120);  // one unreachable of three live and this one
  rig.hear(7, state_of(generation_at(0), 1, {{ApplicationState::kStatusWithPort, "LEFT,1,1"}}), at(1));
  EXPECT_EQ(targets(rig, 1000).count("7 SYN"), 0u);
}

TEST(GossipTargets, NewsOutOfTurnGoesToThreeOfTheLiveNodes) {
  Rig rig({2});
  rig.start();
  rig.gossiper.spread(at(1), rig.random);
  EXPECT_THAT(rig.sends(), IsEmpty());
  rig.meet(2, at(1));
  rig.meet(3, at(1));
  rig.sends();
  rig.gossiper.spread(at(2), rig.random);
  EXPECT_THAT(rig.sends(), ElementsAre("2 SYN", "3 SYN"));
  for (int n : {4, 5, 6}) rig.meet(n, at(2));
  rig.sends();
  std::set<std::string> reached;
  for (int i = 0; i < 50; ++i) {
    rig.gossiper.spread(at(3), rig.random);
    const std::vector<std::string> sends = rig.sends();
    EXPECT_EQ(std::set<std::string>(sends.begin(), sends.end()).size(), 3u);
    reached.insert(sends.begin(), sends.end());
  }
  EXPECT_EQ(reached.size(), 5u);
}

TEST(GossipTargets, EachRoundRaisesTheHeartbeat) {
  Rig rig({2});
  rig.start();
  const int32_t before = rig.known(1).heart_beat.version;
  targets(rig, 3);
  EXPECT_EQ(rig.known(1).heart_beat.version, std::max(before, 9) + 3);  // nine values took versions at the start
}

// --- Generations

TEST(Generation, IsTheTimeOfTheStartOrOneMoreThanTheSavedOne) {
  EXPECT_EQ(next_generation(std::nullopt, at(0).millis), generation_at(0));
  EXPECT_EQ(next_generation(generation_at(-100), at(0).millis), generation_at(0));
  EXPECT_EQ(next_generation(generation_at(0), at(0).millis), generation_at(1));
  EXPECT_EQ(next_generation(generation_at(5000), at(0).millis), generation_at(5001));  // the clock was set back
}

TEST(Generation, GossipThatIsTurnedOnAgainHasALaterOne) {
  Rig rig({2});
  rig.start();
  rig.gossiper.stop(true, at(5));
  rig.gossiper.force_newer_generation();
  ASSERT_TRUE(rig.gossiper.start(generation_at(6), {}, at(6)).ok());
  EXPECT_EQ(rig.known(1).heart_beat.generation, generation_at(1));
  EXPECT_TRUE(rig.gossiper.is_enabled());
}

TEST(LocalStates, AValueThatIsTooLongForAMessageIsRefused) {
  Rig rig({2});
  rig.start();
  Status set = rig.gossiper.set_local_states({{ApplicationState::kIndexStatus, std::string(65536, 'x')}}, at(1));
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().message(), "The value of INDEX_STATUS is too long for gossip: 65536 bytes, 65535 at most");
  EXPECT_TRUE(rig.gossiper.set_local_states({{ApplicationState::kIndexStatus, std::string(65535, 'x')}}, at(1)).ok());
}

// --- The shadow round

GossipDigestAck knows(int n, EndpointState state) {
  GossipDigestAck ack;
  ack.states[node(n)] = std::move(state);
  return ack;
}

TEST(ShadowRound, AsksTheSeedsWithoutDigestsAndEndsWithTheFirstWholeAnswer) {
  Rig rig({1, 2, 3});
  EXPECT_EQ(rig.gossiper.begin_shadow_round({}, at(0)), ShadowRound::kRunning);
  EXPECT_THAT(rig.sends(), ElementsAre("2 SYN", "3 SYN"));
  rig.gossiper.on_ack(node(3), knows(5, state_of(1, 1, normal_states(5, {500}))), 0, at(0));
  EXPECT_EQ(rig.gossiper.shadow_tick(at(1)), ShadowRound::kDone);
  EXPECT_EQ(rig.gossiper.shadow_states().size(), 1u);
  EXPECT_THAT(rig.sends(), IsEmpty());
  EXPECT_THAT(rig.told(), IsEmpty());
}

TEST(ShadowRound, WithNobodyToAskIsDoneAtOnce) {
  Rig rig({1});
  EXPECT_EQ(rig.gossiper.begin_shadow_round({}, at(0)), ShadowRound::kDone);
  EXPECT_THAT(rig.sends(), IsEmpty());
}

TEST(ShadowRound, AnAnswerThatKnowsThisAddressWithoutAHostIdIsNotEnough) {
  Rig rig({2});
  rig.gossiper.begin_shadow_round({}, at(0));
  rig.gossiper.on_ack(node(2), knows(1, state_of(1, 1, {})), 0, at(0));
  EXPECT_EQ(rig.gossiper.shadow_tick(at(1)), ShadowRound::kRunning);
  rig.gossiper.on_ack(node(2), knows(1, state_of(1, 1, {{ApplicationState::kStatusWithPort, "LEFT,1,1"}})), 0, at(1));
  EXPECT_EQ(rig.gossiper.shadow_tick(at(2)), ShadowRound::kDone);
}

TEST(ShadowRound, WhenAllSeedsAreInTheirsNobodyKnowsMore) {
  Rig rig({2, 3});
  rig.gossiper.begin_shadow_round({}, at(0));
  rig.gossiper.on_ack(node(2), {}, 0, at(0));
  EXPECT_EQ(rig.gossiper.shadow_tick(at(1)), ShadowRound::kRunning);
  rig.gossiper.on_ack(node(3), {}, 0, at(1));
  EXPECT_EQ(rig.gossiper.shadow_tick(at(2)), ShadowRound::kDone);
  EXPECT_THAT(rig.gossiper.shadow_states(), IsEmpty());
}

TEST(ShadowRound, ANodeInItsOwnAnswersOnlyOthersInTheirs) {
  Rig rig({2});
  rig.gossiper.begin_shadow_round({}, at(0));
  rig.sends();
  const std::string partitioner = rig.gossiper.config().partitioner;
  rig.gossiper.on_syn(node(2), {"Test Cluster", partitioner, {{node(2), 1, 1}}}, 0, at(0));
  EXPECT_THAT(rig.sends(), IsEmpty());
  rig.gossiper.on_syn(node(5), {"Test Cluster", partitioner, {}}, 0, at(0));
  EXPECT_THAT(rig.sends(), ElementsAre("5 ACK"));
  EXPECT_TRUE(rig.gossiper.is_in_shadow_round());
}

TEST(ShadowRound, ASeedThatAsksIsInItsOwn) {
  Rig rig({2, 3});
  rig.gossiper.begin_shadow_round({}, at(0));
  const std::string partitioner = rig.gossiper.config().partitioner;
  rig.gossiper.on_ack(node(2), {}, 0, at(0));
  rig.gossiper.on_syn(node(3), {"Test Cluster", partitioner, {}}, 0, at(0));
  EXPECT_FALSE(rig.gossiper.is_in_shadow_round());
  EXPECT_EQ(rig.gossiper.shadow_tick(at(1)), ShadowRound::kDone);
}

// The second in which it ends, and what it sent at which second.
std::pair<int, std::string> lonely_round(Rig& rig, std::vector<InetAddressAndPort> peers, ShadowRound end) {
  std::string said;
  ShadowRound state = rig.gossiper.begin_shadow_round(peers, at(0));
  for (int second = 1;; ++second) {
    for (const std::string& send : rig.sends()) said += std::to_string(second - 1) + ":" + send + " ";
    state = rig.gossiper.shadow_tick(at(second));
    if (state == ShadowRound::kRunning) continue;
    EXPECT_EQ(state, end);
    return {second, said};
  }
}

TEST(ShadowRound, ANodeThatIsNoSeedFailsAfterTwiceTheRingDelay) {
  Gossiper::Config config;
  config.ring_delay_ms = 6000;
  Rig rig({2}, config);
  auto [second, said] = lonely_round(rig, {node(4)}, ShadowRound::kFailed);
  EXPECT_EQ(second, 13);
  EXPECT_EQ(said, "0:2 SYN 5:2 SYN 5:4 SYN 10:2 SYN 10:4 SYN ");  // peers are asked when no seed answers
}

TEST(ShadowRound, ASeedGoesOnAloneAfterTheRingDelay) {
  Gossiper::Config config;
  config.ring_delay_ms = 6000;
  Rig rig({1, 2}, config);
  EXPECT_EQ(lonely_round(rig, {}, ShadowRound::kDone).first, 7);
}

TEST(ShadowRound, TheAnswerHasWhatTheSystemTablesRememberOfSilentNodes) {
  Rig rig({2});
  rig.gossiper.add_saved_endpoint(node(6), at(0));
  rig.subscriber.saved[node(6)] = {{ApplicationState::kHostId, host_id_of(6).to_string()}};
  rig.start();
  rig.gossiper.on_syn(node(2), {"Test Cluster", rig.gossiper.config().partitioner, {}}, 0, at(1));
  auto ack = rig.sent<GossipDigestAck>();
  EXPECT_EQ(ack.states.size(), 2u);
  EXPECT_EQ(ack.states.at(node(6)).text(ApplicationState::kHostId), host_id_of(6).to_string());
  EXPECT_FALSE(rig.known(6).has(ApplicationState::kHostId));  // it is told to the one who asked, not to gossip
}

// --- The first second

TEST(FirstRound, AsksForTheStatesOfTheShadowRound) {
  Rig rig({2});
  rig.gossiper.begin_shadow_round({}, at(0));
  GossipDigestAck answer;
  for (int n : {2, 3}) answer.states[node(n)] = state_of(generation_at(0), 1, normal_states(n, {n * 100}));
  rig.gossiper.on_ack(node(2), std::move(answer), 0, at(0));
  rig.start();
  rig.gossiper.take_output();
  rig.gossiper.tick(at(0), rig.random);
  GossipDigests others = rig.sent<GossipDigestSyn>().digests;
  std::erase_if(others, [](const GossipDigest& digest) { return digest.endpoint == node(1); });
  EXPECT_EQ(others, (GossipDigests{{node(2), 0, 0}, {node(3), 0, 0}}));
  rig.gossiper.tick(at(1), rig.random);
  EXPECT_EQ(rig.sent<GossipDigestSyn>().digests.size(), 1u);
}

TEST(FirstRound, NodesThatAreFoundAliveAreGreetedAtOnce) {
  Rig rig({2});
  rig.start();
  auto meet = [&](int n, GossipTime now) {
    rig.hear(n, state_of(generation_at(0), 1, normal_states(n, {n * 100})), now);
    rig.gossiper.take_output();
    rig.gossiper.on_echo_answered(node(n), now);
    return rig.sends();
  };
  EXPECT_THAT(meet(2, at(0)), IsEmpty());  // the seed, which the first round has asked
  EXPECT_THAT(meet(3, at(0)), ElementsAre("3 SYN"));
  EXPECT_THAT(meet(4, at(1)), IsEmpty());
}

// --- Whether a node may start

std::string start_after(const EndpointState& known_of_this, Gossiper::StartupCheck check) {
  Rig rig({2});
  rig.gossiper.begin_shadow_round({}, at(0));
  rig.gossiper.on_ack(node(2), knows(1, known_of_this), 0, at(0));
  Status status = rig.gossiper.check_for_endpoint_collision(check);
  return status.ok() ? "may" : status.error().message();
}

const std::string kTaken =
    "A node with address /10.0.0.1:7000 already exists, cancelling join. Use cassandra.replace_address if you want to "
    "replace this node.";

EndpointState with_status(const char* status) {
  return state_of(
      1, 1, {{ApplicationState::kHostId, host_id_of(1).to_string()}, {ApplicationState::kStatusWithPort, status}});
}

TEST(Startup, ANodeWithTheHostIdThatIsKnownReturns) {
  Gossiper::StartupCheck mine{host_id_of(1)}, other{host_id_of(2)};
  EXPECT_EQ(start_after(with_status("NORMAL,1"), mine), "may");
  EXPECT_EQ(start_after(with_status("NORMAL,1"), other), kTaken);
  EXPECT_EQ(start_after(with_status("LEFT,1,1"), other), "may");
}

TEST(Startup, ABootstrappingNodeMustNotTakeTheAddressOfAMember) {
  Gossiper::StartupCheck check{host_id_of(2), true};
  for (const char* status : {"NORMAL,1", "shutdown,true", ""}) {
    EXPECT_EQ(start_after(with_status(status), check), kTaken) << status;
  }
  for (const char* status : {"BOOT,1", "LEAVING,1", "removed,x,1"}) {
    EXPECT_EQ(start_after(with_status(status), check), "may") << status;
  }
}

TEST(Startup, AHibernatingPredecessorMeansAReplacementThatFailed) {
  Gossiper::StartupCheck check{host_id_of(1)};
  EXPECT_EQ(start_after(with_status("hibernate,true"), check), kTaken);
  check.bootstrap_complete = true;
  EXPECT_EQ(start_after(with_status("hibernate,true"), check), "may");
}

TEST(Startup, NobodyBootstrapsBesideOneThatMoves) {
  Rig rig({2});
  rig.gossiper.begin_shadow_round({}, at(0));
  rig.gossiper.on_ack(node(2), knows(5, state_of(1, 1, {{ApplicationState::kStatusWithPort, "MOVING,1"}})), 0, at(0));
  Gossiper::StartupCheck check{host_id_of(1), true};
  EXPECT_EQ(rig.gossiper.check_for_endpoint_collision(check).error().message(),
            "Other bootstrapping/leaving/moving nodes detected, cannot bootstrap while "
            "cassandra.consistent.rangemovement is true");
  check.consistent_range_movement = false;
  EXPECT_TRUE(rig.gossiper.check_for_endpoint_collision(check).ok());
}

// --- Orders of an operator

TEST(Assassination, TellsThatTheNodeLeftInALaterGeneration) {
  Rig rig({2});
  rig.start();
  rig.meet(3, at(1));
  auto ticket = rig.gossiper.begin_assassination(node(3));
  EXPECT_EQ(ticket.wait_ms, 30'000);
  const std::vector<Token> tokens = {300};
  ASSERT_TRUE(rig.gossiper.finish_assassination(ticket, tokens, at(31), rig.random).ok());
  EXPECT_EQ(rig.known(3).heart_beat.generation, generation_at(1));
  EXPECT_EQ(rig.known(3).status_text(), state_values::left(tokens, at(31).millis + 259'200'000));
  EXPECT_FALSE(rig.gossiper.is_alive(node(3)));
  EXPECT_THAT(rig.told(), ElementsAre("restart 3", "dead 3", "join 3"));
}

TEST(Assassination, OfANodeThatGivesASignOfLifeIsRefused) {
  Rig rig({2});
  rig.start();
  rig.meet(3, at(1));
  auto ticket = rig.gossiper.begin_assassination(node(3));
  rig.beat(3, 50, at(5));
  EXPECT_EQ(rig.gossiper.finish_assassination(ticket, {}, at(31), rig.random).error().message(),
            "Endpoint still alive: /10.0.0.3:7000 heartbeat changed while trying to assassinate it");
  ticket = rig.gossiper.begin_assassination(node(3));
  rig.hear(3, state_of(generation_at(6), 50, {}), at(6));
  EXPECT_EQ(rig.gossiper.finish_assassination(ticket, {}, at(31), rig.random).error().message(),
            "Endpoint still alive: /10.0.0.3:7000 generation changed while trying to assassinate it");
}

TEST(Assassination, OfANodeThatNobodyKnowsNeedsNoWait) {
  Rig rig({2});
  rig.start();
  auto ticket = rig.gossiper.begin_assassination(node(3));
  EXPECT_EQ(ticket.wait_ms, 0);
  ASSERT_TRUE(rig.gossiper.finish_assassination(ticket, {}, at(1), rig.random).ok());
  EXPECT_EQ(rig.known(3).heart_beat, (HeartBeatState{generation_at(61), 9999}));
  EXPECT_EQ(rig.known(3).status(), "LEFT");
}

TEST(Removal, IsToldInTheNameOfTheRemovedNodeInTwoSteps) {
  Rig rig({2});
  rig.start();
  rig.meet(3, at(1));
  auto ticket = rig.gossiper.begin_removal(node(3));
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(rig.gossiper.advertise_removing(*ticket, host_id_of(3), host_id_of(1), at(31)).ok());
  EXPECT_EQ(rig.known(3).status_text(), state_values::removing(host_id_of(3)));
  EXPECT_EQ(rig.known(3).text(ApplicationState::kRemovalCoordinator), "REMOVER," + host_id_of(1).to_string());
  EXPECT_EQ(rig.known(3).heart_beat.generation, generation_at(1));
  ASSERT_TRUE(rig.gossiper.advertise_token_removed(node(3), host_id_of(3), at(32)).ok());
  EXPECT_EQ(rig.known(3).status_text(), state_values::removed(host_id_of(3), at(32).millis + 259'200'000));
  EXPECT_EQ(rig.known(3).heart_beat.generation, generation_at(2));
}

TEST(Removal, OfANodeThatRestartedMeanwhileIsRefused) {
  Rig rig({2});
  rig.start();
  rig.meet(3, at(1));
  auto ticket = rig.gossiper.begin_removal(node(3));
  rig.hear(3, state_of(generation_at(6), 50, {}), at(6));
  EXPECT_FALSE(rig.gossiper.advertise_removing(*ticket, host_id_of(3), host_id_of(1), at(31)).ok());
  EXPECT_FALSE(rig.gossiper.begin_removal(node(77)).ok());
}

TEST(Seeds, AReloadReplacesThemUnlessNoneIsLeft) {
  Rig rig({2, 3});
  const std::vector<InetAddressAndPort> others = {node(1), node(4)}, none = {node(1)};
  EXPECT_THAT(rig.gossiper.reload_seeds(others), ElementsAre(node(4)));
  EXPECT_THAT(rig.gossiper.reload_seeds(none), ElementsAre(node(4)));
}

TEST(Seeds, ARemovedNodeIsNoSeedAnyMore) {
  Rig rig({2, 3});
  rig.gossiper.remove_endpoint(node(2));
  EXPECT_THAT(rig.gossiper.seeds(), ElementsAre(node(3)));
}

TEST(Seeds, OneThatGossipsFromAnotherAddressIsSeenByItsInternalOne) {
  Rig rig({2});
  rig.start();
  EXPECT_FALSE(rig.gossiper.seen_any_seed());
  rig.hear(5, state_of(1, 1, {{ApplicationState::kInternalAddressAndPort, "10.0.0.2:7000"}}), at(1));
  EXPECT_TRUE(rig.gossiper.seen_any_seed());
}

TEST(GossipInfo, PrintsAsNodetoolDoes) {
  Rig rig({2});
  ASSERT_TRUE(rig.gossiper.start(1'700'000'000, {{ApplicationState::kDc, "dc1"}}, at(0)).ok());
  EXPECT_EQ(rig.gossiper.info(true),
            "/10.0.0.1:7000\n  generation:1700000000\n  heartbeat:0\n  DC:1:dc1\n  TOKENS: not present\n");
  ASSERT_TRUE(rig.gossiper.set_local_states({{ApplicationState::kTokens, state_values::tokens({})}}, at(0)).ok());
  EXPECT_EQ(rig.gossiper.info(false),
            "/10.0.0.1\n  generation:1700000000\n  heartbeat:0\n  DC:1:dc1\n  TOKENS:2:<hidden>\n");
}

}  // namespace
}  // namespace cassandra_like
