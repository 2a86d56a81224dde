// The rules by which states are exchanged and nodes live, die, return and are forgotten.
#include "gossip/gossiper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gossip/gossiper_rig.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Strings = std::vector<std::string>;

const std::string kMurmur3 = "org.apache.cassandra.dht.Murmur3Partitioner";

GossipDigestAck answer_to(Rig& rig, GossipDigests digests) {
  rig.gossiper.on_syn(node(2), {"Test Cluster", kMurmur3, std::move(digests)}, at(1).millis, at(1));
  return rig.sent<GossipDigestAck>();
}

// --- Examination of digests

struct Examination : ::testing::Test {
  Examination() {
    rig.start();
    rig.hear(3, state_of(generation_at(0), 20, {{ApplicationState::kLoad, "1.0"}, {ApplicationState::kDc, "dc1"}}),
             at(0));
  }
  Rig rig;
};

TEST_F(Examination, OfANodeThatIsNotKnownEverythingIsAskedFor) {
  GossipDigestAck ack = answer_to(rig, {{node(5), 77, 42}});
  EXPECT_THAT(ack.digests, ElementsAre(GossipDigest{node(5), 77, 0}));
  EXPECT_THAT(ack.states, IsEmpty());
}

TEST_F(Examination, OfALaterLifeEverythingIsAskedFor) {
  GossipDigestAck ack = answer_to(rig, {{node(3), generation_at(9), 4}});
  EXPECT_THAT(ack.digests, ElementsAre(GossipDigest{node(3), generation_at(9), 0}));
}

TEST_F(Examination, WhoKnowsAnEarlierLifeGetsEverything) {
  GossipDigestAck ack = answer_to(rig, {{node(3), generation_at(-9), 400}});
  EXPECT_THAT(ack.digests, IsEmpty());
  EXPECT_EQ(ack.states.at(node(3)).heart_beat, (HeartBeatState{generation_at(0), 20}));
  EXPECT_EQ(ack.states.at(node(3)).states.size(), 3u);  // with the host ID
}

TEST_F(Examination, WhoKnowsLessGetsTheNewerValues) {
  GossipDigestAck ack = answer_to(rig, {{node(3), generation_at(0), 1}});
  ASSERT_EQ(ack.states.at(node(3)).states.size(), 1u);
  EXPECT_EQ(ack.states.at(node(3)).text(ApplicationState::kDc), "dc1");
}

TEST_F(Examination, WhoKnowsMoreIsAskedForTheRest) {
  GossipDigestAck ack = answer_to(rig, {{node(3), generation_at(0), 25}});
  EXPECT_THAT(ack.digests, ElementsAre(GossipDigest{node(3), generation_at(0), 20}));
  EXPECT_THAT(ack.states, IsEmpty());
}

TEST_F(Examination, WhoKnowsTheSameGetsAnEmptyAnswer) {
  GossipDigestAck ack = answer_to(rig, {{node(3), generation_at(0), 20}});
  EXPECT_THAT(ack.digests, IsEmpty());
  EXPECT_THAT(ack.states, IsEmpty());
}

TEST_F(Examination, WhoAsksAboutThisNodeGetsAllOfItEvenWhenItClaimsToKnowMore) {
  GossipDigestAck ack = answer_to(rig, {{node(1), generation_at(0), 1'000'000}});
  EXPECT_EQ(ack.states.at(node(1)).states.size(), normal_states(1, {100}).size());
  GossipDigestAck to_ack;
  to_ack.digests = {{node(1), generation_at(0), 1'000'000}};
  rig.gossiper.on_ack(node(2), to_ack, at(1).millis, at(1));
  EXPECT_EQ(rig.sent<GossipDigestAck2>().states.at(node(1)).states.size(), normal_states(1, {100}).size());
}

TEST_F(Examination, AnotherClusterOrPartitionerIsRefusedWithALineThatNamesThePeer) {
  KeptLog log;
  rig.gossiper.take_output();
  rig.gossiper.on_syn(node(2), {"Other", kMurmur3, {{node(5), 1, 1}}}, 0, at(1));
  rig.gossiper.on_syn(node(2), {"Test Cluster", "RandomPartitioner", {}}, 0, at(1));
  EXPECT_THAT(rig.sends(), IsEmpty());
  EXPECT_THAT(log.lines, ElementsAre("ClusterName mismatch from /10.0.0.2:7000 Other!=Test Cluster",
                                     "Partitioner mismatch from /10.0.0.2:7000 RandomPartitioner!=" + kMurmur3));
}

TEST_F(Examination, AFloodOfRefusedPeersDoesNotFloodTheLog) {
  KeptLog log;
  for (int i = 0; i < 1000; ++i) rig.gossiper.on_syn(node(2), {"Other", kMurmur3, {}}, 0, at(1));
  EXPECT_EQ(log.lines.size(), 10u);
}

// --- States that arrive

TEST(Gossiper, ANodeIsAliveWhenItHasAnsweredTheEcho) {
  Rig rig;
  rig.start();
  rig.hear(3, state_of(generation_at(0), 5, {}), at(1));
  EXPECT_THAT(rig.told(), ElementsAre("join 3"));
  EXPECT_THAT(rig.sends(), ElementsAre("3 ECHO"));
  EXPECT_FALSE(rig.gossiper.is_alive(node(3)));
  rig.gossiper.on_echo_answered(node(3), at(1));
  EXPECT_THAT(rig.told(), ElementsAre("alive 3"));
  EXPECT_TRUE(rig.gossiper.is_alive(node(3)));
  EXPECT_THAT(rig.gossiper.live(), ElementsAre(node(3)));
}

TEST(Gossiper, AnEchoIsNotSentTwiceWhileOneIsOnItsWayAndAgainWhenItFailed) {
  Rig rig;
  rig.start();
  rig.hear(3, state_of(generation_at(0), 5, {}), at(1));
  rig.beat(3, 6, at(2));
  EXPECT_THAT(rig.sends(), ElementsAre("3 ECHO"));
  rig.gossiper.on_echo_failed(node(3));
  rig.beat(3, 7, at(3));
  EXPECT_THAT(rig.sends(), ElementsAre("3 ECHO"));
}

TEST(Gossiper, AnAnswerToAnEchoThatNobodyWaitsForChangesNothing) {
  Rig rig;
  rig.start();
  rig.gossiper.on_echo_answered(node(3), at(1));
  EXPECT_THAT(rig.told(), IsEmpty());
  EXPECT_THAT(rig.gossiper.live(), IsEmpty());
}

TEST(Gossiper, ALaterGenerationReplacesTheStateAsAWhole) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.hear(3, state_of(generation_at(5), 1, {{ApplicationState::kLoad, "2.0"}}), at(5));
  EXPECT_THAT(rig.told(), ElementsAre("restart 3", "join 3"));
  EXPECT_EQ(rig.known(3).states.size(), 2u);  // with the host ID
  EXPECT_EQ(rig.known(3).heart_beat, (HeartBeatState{generation_at(5), 1}));
}

// An answer to a life of this node that knew the rest may come late, and would stand for all of the other one's life.
TEST(Gossiper, APartOfAStateIsNotTakenForANewLife) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  const EndpointState part = state_of(generation_at(5), 90, {{ApplicationState::kStatusWithPort, "shutdown,true"}});
  rig.hear_part(3, part, at(6));
  rig.hear_part(4, part, at(6));
  EXPECT_THAT(rig.told(), IsEmpty());
  EXPECT_EQ(rig.known(3).heart_beat.generation, generation_at(0));
  EXPECT_EQ(rig.gossiper.state(node(4)), nullptr);

  rig.hear(3, part, at(7));
  EXPECT_EQ(rig.known(3).heart_beat.generation, generation_at(5));
  EXPECT_EQ(rig.known(3).status(), "shutdown");
}

TEST(Gossiper, AnEarlierGenerationIsIgnored) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.hear(3, state_of(generation_at(-1), 900, {{ApplicationState::kLoad, "2.0"}}), at(5));
  EXPECT_THAT(rig.told(), IsEmpty());
  EXPECT_EQ(rig.known(3).heart_beat.generation, generation_at(0));
}

TEST(Gossiper, AGenerationMoreThanAYearAheadIsNotBelieved) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  KeptLog log;
  const auto ahead = static_cast<int32_t>(generation_at(5) + Gossiper::kMaxGenerationDifference);
  rig.hear(3, state_of(ahead + 1, 1, {}), at(5));
  EXPECT_EQ(rig.known(3).heart_beat.generation, generation_at(0));
  EXPECT_EQ(log.lines.size(), 1u);
  rig.hear(3, state_of(ahead, 1, {}), at(5));
  EXPECT_EQ(rig.known(3).heart_beat.generation, ahead);
}

TEST(Gossiper, OfAStateOnlyNewerValuesAreTakenAndTheStatusIsToldFirst) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  EndpointState news = state_of(generation_at(0), 60, {});
  news.states = {{ApplicationState::kDc, {"elsewhere", 1}},
                 {ApplicationState::kLoad, {"3.0", 50}},
                 {ApplicationState::kStatusWithPort, {"LEAVING,300", 51}}};
  rig.hear(3, news, at(2));
  EXPECT_THAT(rig.told(), ElementsAre("change 3 STATUS_WITH_PORT=LEAVING,300", "change 3 LOAD=3.0"));
  EXPECT_EQ(rig.known(3).text(ApplicationState::kDc), "dc1");
  EXPECT_EQ(rig.known(3).heart_beat.version, 60);
}

TEST(Gossiper, StatesOf3xGoWhenAllNodesAreKnownToBeNewer) {
  const LocalStates both = {{ApplicationState::kReleaseVersion, "5.0.9"},
                            {ApplicationState::kStatus, "NORMAL,1"},
                            {ApplicationState::kStatusWithPort, "NORMAL,1"}};
  Rig rig;
  rig.start();
  rig.hear(3, state_of(generation_at(0), 9, {{ApplicationState::kReleaseVersion, "3.11.16"}}), at(1));
  rig.hear(4, state_of(generation_at(0), 9, both), at(1));
  EXPECT_TRUE(rig.known(4).has(ApplicationState::kStatus));
  rig.hear(3, state_of(generation_at(1), 9, both), at(2));  // node 3 is upgraded
  rig.hear(4, state_of(generation_at(1), 9, both), at(2));
  EXPECT_FALSE(rig.known(4).has(ApplicationState::kStatus));
}

TEST(Gossiper, NodesThatJoinAreAppliedLastThenByGenerationThenByAddress) {
  Rig rig;
  rig.start();
  GossipDigestAck2 ack2;
  const LocalStates replacing{{ApplicationState::kStatusWithPort, "BOOT_REPLACE,10.0.0.5"}};
  ack2.states[node(2)] = whole(2, state_of(generation_at(1), 1, replacing));
  ack2.states[node(3)] = whole(3, state_of(generation_at(9), 1, {}));
  ack2.states[node(4)] = whole(4, state_of(generation_at(5), 1, {}));
  ack2.states[node(5)] = whole(5, state_of(generation_at(5), 1, {}));
  rig.gossiper.on_ack2(node(9), ack2, 0, at(10));
  EXPECT_THAT(rig.told(), ElementsAre("join 4", "join 5", "join 3", "join 2"));
}

TEST(Gossiper, WhatOthersSayOfThisNodeIsIgnored) {
  Rig rig;
  rig.start();
  rig.hear(1, state_of(generation_at(99), 9999, {{ApplicationState::kStatusWithPort, "LEFT,1,1"}}), at(1));
  EXPECT_THAT(rig.told(), IsEmpty());
  EXPECT_EQ(rig.known(1).status(), "NORMAL");
}

TEST(Gossiper, AnAckThatComesBeforeTheFirstSynIsLeftFromTheShadowRound) {
  Rig rig;
  rig.start();
  GossipDigestAck late;
  late.states[node(3)] = whole(3, state_of(generation_at(0), 1, {}));
  rig.gossiper.on_ack(node(2), late, 0, at(1));
  EXPECT_EQ(rig.gossiper.state(node(3)), nullptr);
  rig.gossiper.tick(at(1), rig.random);
  rig.gossiper.on_ack(node(2), late, 0, at(1));
  EXPECT_NE(rig.gossiper.state(node(3)), nullptr);
}

TEST(Gossiper, MoreEndpointsThanTheMostAreNotBelieved) {
  Gossiper::Config config;
  config.max_endpoints = 5;
  Rig rig({2}, config);
  rig.start();
  for (int n = 10; n < 50; ++n) rig.hear(n, state_of(generation_at(0), 1, {}), at(1));
  EXPECT_EQ(rig.gossiper.states().size(), 5u);
}

TEST(Gossiper, WhileGossipIsOffNothingIsHeardOrSaid) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.gossiper.stop(true, at(2));
  EXPECT_THAT(rig.sends(), ElementsAre("3 SHUTDOWN"));
  rig.hear(4, state_of(generation_at(0), 1, {}), at(3));
  rig.gossiper.on_syn(node(2), {"Test Cluster", kMurmur3, {{node(4), 1, 1}}}, 0, at(3));
  rig.gossiper.tick(at(3), rig.random);
  EXPECT_THAT(rig.sends(), IsEmpty());
  EXPECT_EQ(rig.gossiper.state(node(4)), nullptr);
}

// --- Death

TEST(Gossiper, ASilentNodeIsConvictedAndReturnsWithItsNextHeartbeat) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.run(2, 60, {3});
  rig.told();
  rig.run(61, 90, {});
  EXPECT_THAT(rig.told(), ElementsAre("dead 3"));
  EXPECT_EQ(rig.gossiper.unreachable().count(node(3)), 1u);
  EXPECT_THAT(rig.gossiper.take_output().interrupts, ElementsAre(node(3)));
  rig.beat(3, 5000, at(91));
  EXPECT_THAT(rig.sends(), ElementsAre("3 ECHO"));
  rig.gossiper.on_echo_answered(node(3), at(91));
  EXPECT_THAT(rig.told(), ElementsAre("alive 3"));
  EXPECT_TRUE(rig.gossiper.unreachable().empty());
}

TEST(Gossiper, NobodyIsJudgedWhileOlderMessagesWait) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.run(2, 60, {3});
  rig.told();
  for (int second = 61; second < 100; ++second) rig.gossiper.tick(at(second), rig.random, 5);
  EXPECT_THAT(rig.told(), IsEmpty());
}

TEST(Gossiper, ANodeInADeadStateIsNotAliveWhateverItsHeartbeat) {
  Rig rig;
  rig.start();
  rig.hear(3, state_of(generation_at(0), 5, {{ApplicationState::kStatusWithPort, "hibernate,true"}}), at(1));
  EXPECT_THAT(rig.told(), ElementsAre("dead 3", "join 3"));
  rig.beat(3, 50, at(2));
  EXPECT_THAT(rig.sends(), IsEmpty());
}

TEST(Gossiper, AShutdownOfVersion12IsToldInTheNameOfTheNode) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.gossiper.on_shutdown(node(3), {}, at(-5).millis, at(2));
  EXPECT_TRUE(rig.gossiper.is_alive(node(3)));  // it is of an earlier life
  rig.gossiper.on_shutdown(node(3), {}, at(2).millis, at(2));
  EXPECT_THAT(rig.told(), ElementsAre("dead 3", "change 3 STATUS_WITH_PORT=shutdown,true"));
  EXPECT_EQ(rig.known(3).status(), "shutdown");
  EXPECT_FALSE(rig.known(3).is_rpc_ready());
  EXPECT_EQ(rig.known(3).heart_beat.version, std::numeric_limits<int32_t>::max());
}

TEST(Gossiper, AShutdownOfVersion13BringsTheWholeState) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  const LocalStates stopped = {{ApplicationState::kRpcReady, "false"},
                               {ApplicationState::kStatusWithPort, "shutdown,true"}};
  rig.gossiper.on_shutdown(node(3), {state_of(generation_at(-5), 80, stopped)}, at(2).millis, at(2));
  EXPECT_TRUE(rig.gossiper.is_alive(node(3)));  // it is of an earlier life
  rig.gossiper.on_shutdown(node(3), {state_of(generation_at(0), 80, {})}, at(2).millis, at(2));
  EXPECT_TRUE(rig.gossiper.is_alive(node(3)));  // it does not say that it stops
  rig.gossiper.on_shutdown(node(3), {state_of(generation_at(0), 80, stopped)}, at(2).millis, at(2));
  EXPECT_THAT(rig.told(), ElementsAre("dead 3", "change 3 STATUS_WITH_PORT=shutdown,true"));
  EXPECT_EQ(rig.known(3).states.size(), 2u);
}

TEST(Gossiper, AShutdownOfANodeThatIsNotKnownIsIgnored) {
  Rig rig;
  rig.start();
  rig.gossiper.on_shutdown(node(3), {}, at(2).millis, at(2));
  EXPECT_THAT(rig.told(), IsEmpty());
}

TEST(Gossiper, ANodeThatIsFirstHeardOfWhenItIsDownIsDown) {
  Rig rig;
  rig.start();
  rig.hear(3, state_of(generation_at(0), 5, {{ApplicationState::kStatusWithPort, "shutdown,true"}}), at(1));
  EXPECT_THAT(rig.told(), ElementsAre("join 3", "dead 3", "change 3 STATUS_WITH_PORT=shutdown,true"));
  rig.gossiper.on_echo_answered(node(3), at(1));
  EXPECT_FALSE(rig.gossiper.is_alive(node(3)));
}

TEST(Gossiper, OnlyANodeThatHasJoinedAnnouncesItsShutdown) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.gossiper.stop(false, at(2));
  EXPECT_THAT(rig.sends(), IsEmpty());

  Rig left;
  left.start();
  left.meet(3, at(1));
  ASSERT_TRUE(left.gossiper.set_local_states({{ApplicationState::kStatusWithPort, "LEFT,1,1"}}, at(2)).ok());
  left.gossiper.stop(true, at(2));
  EXPECT_THAT(left.sends(), IsEmpty());
}

// --- Being forgotten

TEST(Gossiper, ARemovedNodeIsInQuarantine) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.subscriber.members.clear();
  rig.gossiper.tick(at(1), rig.random);
  rig.gossiper.remove_endpoint(node(3));
  EXPECT_THAT(rig.gossiper.take_output().disconnects, ElementsAre(node(3)));
  rig.run(2, 61, {});
  rig.told();
  rig.hear(3, state_of(generation_at(50), 5, {}), at(61));
  EXPECT_THAT(rig.told(), IsEmpty());
  rig.run(62, 62, {});
  rig.hear(3, state_of(generation_at(50), 5, {}), at(62));
  EXPECT_THAT(rig.told(), ElementsAre("restart 3", "join 3"));
}

TEST(Gossiper, ASilentNodeThatIsNoMemberIsForgottenAfterHalfAMinute) {
  Rig rig;
  rig.start();
  rig.hear(3, state_of(generation_at(0), 5, {}), at(1));
  rig.run(2, 31, {});
  EXPECT_NE(rig.gossiper.state(node(3)), nullptr);
  rig.run(32, 32, {});
  EXPECT_EQ(rig.gossiper.state(node(3)), nullptr);
  EXPECT_TRUE(rig.gossiper.is_quarantined(node(3)));
}

TEST(Gossiper, AJoiningNodeIsForgottenAfterFiveMinutes) {
  Rig rig;
  rig.start();
  rig.hear(3, state_of(generation_at(0), 5, {{ApplicationState::kStatusWithPort, "BOOT,7"}}), at(1));
  rig.run(2, 301, {});
  EXPECT_NE(rig.gossiper.state(node(3)), nullptr);
  rig.run(302, 302, {});
  EXPECT_EQ(rig.gossiper.state(node(3)), nullptr);
}

TEST(Gossiper, ANodeThatLeftIsForgottenAtItsExpireTime) {
  Rig rig;
  rig.start();
  rig.hear(3, state_of(generation_at(0), 5, {{ApplicationState::kStatusWithPort, "LEFT,7,1"}}), at(1));
  rig.gossiper.add_expire_time(node(3), at(100).millis);
  rig.run(2, 100, {});
  EXPECT_NE(rig.gossiper.state(node(3)), nullptr);
  rig.run(101, 101, {});
  EXPECT_EQ(rig.gossiper.state(node(3)), nullptr);
}

TEST(Gossiper, AMemberThatIsDownIsNeverForgotten) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.run(2, 4000, {});
  EXPECT_NE(rig.gossiper.state(node(3)), nullptr);
}

TEST(Gossiper, AReplacedNodeIsInQuarantineForTwiceAsLong) {
  Rig rig;
  rig.start();
  rig.meet(3, at(1));
  rig.gossiper.tick(at(1), rig.random);
  rig.gossiper.remove_endpoint(node(3));
  rig.gossiper.replacement_quarantine(node(3));
  rig.run(2, 121, {});
  EXPECT_TRUE(rig.gossiper.is_quarantined(node(3)));
  rig.run(122, 122, {});
  EXPECT_FALSE(rig.gossiper.is_quarantined(node(3)));
}

}  // namespace
}  // namespace cassandra_like
