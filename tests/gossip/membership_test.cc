// Who is in the ring after which states, what system.peers and drivers learn of it.
#include "gossip/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "tests/gossip/gossiper_rig.h"
#include "tests/support/sanitized.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

InetAddressAndPort native(int n) {
  InetAddressAndPort out = node(n);
  out.port = 9042;
  return out;
}

const char* kind_name(DriverEvent::Kind kind) {
  static constexpr const char* kNames[] = {"NEW_NODE", "REMOVED_NODE", "MOVED_NODE", "UP", "DOWN"};
  return kNames[static_cast<int>(kind)];
}

LocalStates with(LocalStates states, ApplicationState key, std::string value) {
  std::erase_if(states, [&](const auto& entry) { return entry.first == key; });
  states.emplace_back(key, std::move(value));
  return states;
}
LocalStates with_status(LocalStates states, std::string status) {
  return with(std::move(states), ApplicationState::kStatusWithPort, std::move(status));
}
LocalStates with_host_id(LocalStates states, int host) {
  return with(std::move(states), ApplicationState::kHostId, host_id_of(host).to_string());
}

// Node 1, in the ring with the token 100, among others that it hears of.
struct MembershipTest : ::testing::Test {
  MembershipTest()
      : membership({node(1), native(1), host_id_of(1), 9042, nullptr}),
        gossiper({node(1), "c", "p", {node(2)}}, membership, at(0)) {
    membership.attach(gossiper);
  }
  void start() {
    CHECK(gossiper.start(generation_at(0), {}, at(0)).ok());
    CHECK(gossiper.set_local_states(normal_states(1, {100}), at(0)).ok());
    events();
  }
  // A state of node n in a life that began at that second.
  void hear(int n, const LocalStates& states, int64_t life = 0) {
    EndpointState state = state_of(generation_at(life), 1, {});
    for (const auto& [key, value] : states) state.states[key] = {value, ++version};
    state.heart_beat.version = ++version;
    gossiper.on_ack2(node(9), {{{node(n), state}}}, at(1).millis, at(1));
  }
  void meet(int n, const LocalStates& states, int64_t life = 0) {
    hear(n, states, life);
    gossiper.on_echo_answered(node(n), at(1));
  }
  void meet(int n) { meet(n, normal_states(n, {n * 100})); }
  void die(int n) { gossiper.on_shutdown(node(n), {}, at(2).millis, at(2)); }

  std::vector<std::string> events() {
    std::vector<std::string> out;
    changes = membership.take_changes();
    for (const DriverEvent& event : changes.events) {
      out.push_back(std::string(kind_name(event.kind)) + " " + event.node.host_and_port());
    }
    return out;
  }
  // "3 normal 300 alive", in the snapshot's order.
  std::vector<std::string> ring() {
    static constexpr const char* kNames[] = {"normal", "leaving", "moving", "joining", "left"};
    std::vector<std::string> out;
    const TopologyPtr topology = membership.topology();
    EndpointIndex index = 0;
    for (const Endpoint& e : topology->ring()->endpoints()) {
      std::string line = e.address.substr(e.address.rfind('.') + 1);
      line += std::string(" ") + kNames[static_cast<int>(e.state)];
      for (Token token : e.tokens) line += " " + std::to_string(token);
      for (Token token : e.moving_to) line += " to " + std::to_string(token);
      out.push_back(line + (topology->is_alive(index++) ? " alive" : " dead"));
    }
    return out;
  }

  Membership membership;
  Gossiper gossiper;
  MembershipChanges changes;
  SeededRandom random{3};
  int32_t version = 0;
};

TEST_F(MembershipTest, ANormalNodeIsAMemberWithItsTokens) {
  start();
  meet(3, normal_states(3, {-5, 300}));
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal -5 300 alive"));
  EXPECT_EQ(membership.topology()->local().host_id, host_id_of(1));
  const PeerRow whole{node(3), native(3), host_id_of(3), {"dc1", "r1"}, "5.0.9", host_id_of(0), {-5, 300}};
  EXPECT_EQ(membership.peer_row(node(3)), whole);
  EXPECT_EQ(membership.peer_row(node(1)), std::nullopt);
}

TEST_F(MembershipTest, ANodeWithoutTokensIsInItsOwnRingButOwnsNothing) {
  CHECK(gossiper.start(generation_at(0), {{ApplicationState::kHostId, host_id_of(1).to_string()}}, at(0)).ok());
  meet(3);
  EXPECT_THAT(ring(), ElementsAre("1 left alive", "3 normal 300 alive"));
}

TEST_F(MembershipTest, ANodeWithoutTokensKeepsItsHostId) {
  CHECK(gossiper.start(generation_at(0), {}, at(0)).ok());
  meet(4, with_host_id(normal_states(4, {400}), 1), 50);
  EXPECT_THAT(ring(), ElementsAre("1 left alive"));
  EXPECT_EQ(membership.topology()->local().host_id, host_id_of(1));
}

TEST_F(MembershipTest, RowsOfPeersAreWhole) {
  start();
  for (ApplicationState missing : {ApplicationState::kDc, ApplicationState::kRack, ApplicationState::kReleaseVersion,
                                   ApplicationState::kSchema, ApplicationState::kNativeAddressAndPort}) {
    static int n = 10;
    ++n;
    LocalStates states = normal_states(n, {n * 100});
    std::erase_if(states, [&](const auto& entry) { return entry.first == missing; });
    meet(n, states);
    EXPECT_EQ(membership.peer_row(node(n)), std::nullopt) << application_state_name(missing);
    for (const auto& [key, value] : normal_states(n, {n * 100})) {
      if (key == missing) hear(n, {{key, value}});
    }
    EXPECT_TRUE(membership.peer_row(node(n)).has_value()) << application_state_name(missing);
    events();
    EXPECT_THAT(changes.peers_updated, ElementsAre(node(n))) << application_state_name(missing);
  }
}

TEST_F(MembershipTest, AChangeOfLivenessAloneSharesTheRing) {
  start();
  meet(3);
  const auto ring_before = membership.topology()->ring();
  events();
  gossiper.on_shutdown(node(3), {state_of(generation_at(0), 5, {{ApplicationState::kStatusWithPort, "shutdown,true"}})},
                       at(2).millis, at(2));
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal 300 dead"));
  events();
  EXPECT_TRUE(changes.liveness);
  EXPECT_EQ(membership.topology(), membership.topology());
  EXPECT_EQ(ring_before->entries().size(), 2u);
}

// Leaders of counters must.
TEST_F(MembershipTest, TheTopologyTellsWhoServesClients) {
  start();
  meet(2);
  meet(3, with(normal_states(3, {300}), ApplicationState::kRpcReady, "false"));
  auto serving = [&] {
    std::vector<bool> out;
    for (EndpointIndex i = 0; i < 3; ++i) out.push_back(membership.topology()->serves_clients(i));
    return out;
  };
  events();
  EXPECT_THAT(serving(), ElementsAre(testing::_, true, false));
  hear(3, {{ApplicationState::kRpcReady, "true"}});
  events();
  EXPECT_TRUE(changes.liveness);
  EXPECT_THAT(serving(), ElementsAre(testing::_, true, true));
  hear(2, {{ApplicationState::kRpcReady, "false"}});
  EXPECT_THAT(serving(), ElementsAre(testing::_, false, true));
}

// Coordinators refuse writes of replicas that are full.
TEST_F(MembershipTest, TheTopologyTellsHowFullDisksAre) {
  start();
  meet(2);
  meet(3, with(normal_states(3, {300}), ApplicationState::kDiskUsage, "FULL"));
  auto usage = [&] {
    std::vector<DiskUsage> out;
    for (EndpointIndex i = 0; i < 3; ++i) out.push_back(membership.topology()->disk_usage(i));
    return out;
  };
  using enum DiskUsage;
  EXPECT_THAT(usage(), ElementsAre(kNotAvailable, kNotAvailable, kFull));
  EXPECT_TRUE(membership.topology()->has_stuffed_disks());
  events();
  hear(3, {{ApplicationState::kDiskUsage, "SPACIOUS"}});
  events();
  EXPECT_TRUE(changes.liveness);
  EXPECT_FALSE(membership.topology()->has_stuffed_disks());
  hear(2, {{ApplicationState::kDiskUsage, "STUFFED"}});
  hear(3, {{ApplicationState::kDiskUsage, "nonsense"}});
  EXPECT_THAT(usage(), ElementsAre(kNotAvailable, kStuffed, kNotAvailable));
  EXPECT_TRUE(membership.topology()->has_stuffed_disks());
}

// --- Joining and replacing

TEST_F(MembershipTest, ABootstrappingNodeHasPendingTokens) {
  start();
  meet(3, with_status(normal_states(3, {300}), "BOOT,300"));
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 joining 300 alive"));
  auto strategy = *ReplicationStrategy::make({{{"class", "SimpleStrategy"}, {"replication_factor", "1"}}});
  EXPECT_THAT(PendingReplicas(*membership.topology()->ring(), strategy).of(200), ElementsAre(1));
  EXPECT_EQ(membership.peer_row(node(3)), std::nullopt);
  hear(3, {{ApplicationState::kStatusWithPort, "NORMAL,300"}});
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal 300 alive"));
}

TEST_F(MembershipTest, ABootstrappingNodeMustNotHaveATokenOfAnother) {
  start();
  meet(2);
  KeptLog log;
  meet(3, with_status(normal_states(3, {200}), "BOOT,200"));
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "2 normal 200 alive"));
  EXPECT_THAT(log.lines,
              ElementsAre("Bootstrap Token collision between /10.0.0.2:7000 and /10.0.0.3:7000 (token 200): ignored"));
}

TEST_F(MembershipTest, AReplacementGetsTheWritesOfTheDeadNodeAndThenItsPlace) {
  start();
  meet(2);
  die(2);
  events();
  meet(3, with_status(normal_states(3, {200}), "BOOT_REPLACE,10.0.0.2:7000"));
  EXPECT_THAT(ring(), ElementsAre("3 joining 200 alive", "1 normal 100 alive", "2 normal 200 dead"));
  auto strategy = *ReplicationStrategy::make({{{"class", "SimpleStrategy"}, {"replication_factor", "1"}}});
  const auto& ring_now = *membership.topology()->ring();
  EXPECT_THAT(strategy.replicas(ring_now, 150), ElementsAre(2));
  EXPECT_THAT(PendingReplicas(ring_now, strategy).of(150), ElementsAre(0));
  hear(3, {{ApplicationState::kStatusWithPort, "NORMAL,200"}});
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal 200 alive"));
  EXPECT_THAT(events(), ElementsAre("NEW_NODE 10.0.0.3:9042"));
  EXPECT_THAT(changes.peers_removed, ElementsAre(node(2)));
}

TEST_F(MembershipTest, ALiveNodeIsNotReplaced) {
  start();
  meet(2);
  KeptLog log;
  meet(3, with_status(normal_states(3, {200}), "BOOT_REPLACE,10.0.0.2:7000"));
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "2 normal 200 alive"));
  EXPECT_THAT(log.lines, ElementsAre("Node /10.0.0.3:7000 is trying to replace alive node /10.0.0.2:7000."));
}

// --- Leaving

TEST_F(MembershipTest, ALeavingNodeKeepsItsTokensUntilItLeft) {
  start();
  meet(3);
  events();
  hear(3, {{ApplicationState::kStatusWithPort, "LEAVING,300"}});
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 leaving 300 alive"));
  const std::vector<Token> tokens = {300};
  hear(3, {{ApplicationState::kStatusWithPort, state_values::left(tokens, at(500).millis)}});
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive"));
  EXPECT_THAT(events(), ElementsAre("REMOVED_NODE 10.0.0.3:9042"));
  EXPECT_THAT(changes.peers_removed, ElementsAre(node(3)));
  EXPECT_THAT(changes.left_host_ids, ElementsAre(host_id_of(3)));
  EXPECT_TRUE(gossiper.is_quarantined(node(3)));
}

TEST_F(MembershipTest, AMovingNodeHasItsOldTokenAndAPendingOne) {
  start();
  meet(3);
  events();
  hear(3, {{ApplicationState::kStatusWithPort, "MOVING,50"}});
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 moving 300 to 50 alive"));
  hear(3, {{ApplicationState::kTokens, state_values::tokens(std::vector<Token>{50})},
           {ApplicationState::kStatusWithPort, "NORMAL,50"}});
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal 50 alive"));
  EXPECT_THAT(events(), ElementsAre("MOVED_NODE 10.0.0.3:9042"));
}

TEST_F(MembershipTest, ANodeThatLeavesIsAMemberThoughItWasNeverSeenBefore) {
  start();
  meet(3, with_status(normal_states(3, {300}), "LEAVING,300"));
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 leaving 300 alive"));
}

TEST_F(MembershipTest, ARemovedNodeLeavesInTwoSteps) {
  start();
  meet(2);
  meet(3);
  die(3);
  events();
  const std::string remover = state_values::removal_coordinator(host_id_of(2));
  hear(3,
       with(with_status(normal_states(3, {300}), state_values::removing(host_id_of(3))),
            ApplicationState::kRemovalCoordinator, remover),
       5);
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "2 normal 200 alive", "3 leaving 300 dead"));
  events();
  EXPECT_THAT(changes.replicas_to_restore, ElementsAre(Pair(node(3), node(2))));
  hear(3, with_status(normal_states(3, {300}), state_values::removed(host_id_of(3), at(500).millis)), 6);
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "2 normal 200 alive"));
  EXPECT_THAT(events(), ElementsAre("REMOVED_NODE 10.0.0.3:9042"));
}

TEST_F(MembershipTest, WhoMayBeRemoved) {
  start();
  meet(2);
  meet(3);
  die(3);
  auto words = [&](int n) {
    auto removable = membership.removable(host_id_of(n));
    return removable.ok() ? removable->host_and_port() : removable.error().message();
  };
  EXPECT_EQ(words(3), "10.0.0.3:7000");
  EXPECT_EQ(words(77), "Host ID not found.");
  EXPECT_EQ(words(1), "Cannot remove self");
  EXPECT_EQ(words(2),
            "Node /10.0.0.2:7000 is alive and owns this ID. Use decommission command to remove it from the ring");
  meet(4, with_status(normal_states(4, {400}), "BOOT,400"));
  EXPECT_EQ(words(4), "Node to be removed is not a member of the token ring");
}

// --- Two with one name

TEST_F(MembershipTest, AHostIdAtAnotherAddressIsANodeThatMovedThere) {
  start();
  meet(3);
  die(3);
  events();
  meet(4, with_host_id(normal_states(4, {300}), 3), 5);
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "4 normal 300 alive"));
  EXPECT_EQ(membership.endpoint_of(host_id_of(3)), node(4));
  events();
  EXPECT_THAT(changes.peers_removed, ElementsAre(node(3)));
  EXPECT_TRUE(gossiper.is_quarantined(node(3)));
}

TEST_F(MembershipTest, OfTwoNodesWithOneHostIdTheOneThatStartedEarlierIsRemoved) {
  start();
  meet(3);
  events();
  KeptLog log;
  meet(4, with_host_id(normal_states(4, {400}), 3), -5);
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal 300 alive"));
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_TRUE(gossiper.is_quarantined(node(4)));
  EXPECT_THAT(log.lines, ElementsAre("Host ID collision for " + host_id_of(3).to_string() +
                                     " between /10.0.0.3:7000 and /10.0.0.4:7000; ignored /10.0.0.4:7000"));
}

TEST_F(MembershipTest, ANodeWithTheHostIdOfThisOneIsRemoved) {
  start();
  KeptLog log;
  meet(4, with_host_id(normal_states(4, {400}), 1), 50);
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive"));
  EXPECT_TRUE(gossiper.is_quarantined(node(4)));
  EXPECT_THAT(log.lines, ElementsAre("Not updating host ID " + host_id_of(1).to_string() +
                                     " for /10.0.0.4:7000 because it's mine"));
}

TEST_F(MembershipTest, ATokenIsOfTheNodeThatStartedLater) {
  start();
  meet(3, normal_states(3, {300, 301}), 0);
  meet(4, normal_states(4, {300, 400}), -5);
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal 300 301 alive", "4 normal 400 alive"));
  meet(5, normal_states(5, {301, 500}), 5);
  EXPECT_THAT(ring(),
              ElementsAre("1 normal 100 alive", "3 normal 300 alive", "4 normal 400 alive", "5 normal 301 500 alive"));
}

TEST_F(MembershipTest, ANodeWhoseOnlyTokenWentToAnotherIsRemoved) {
  start();
  meet(3);
  meet(4, normal_states(4, {300}), 5);
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "4 normal 300 alive"));
  EXPECT_TRUE(gossiper.is_quarantined(node(3)));
}

// --- Lies and nonsense

TEST_F(MembershipTest, ANodeThatClaimsTheOnlyTokenOfThisOneDoesNotRemoveIt) {
  start();
  meet(4, normal_states(4, {100}), 5);
  EXPECT_THAT(ring(), ElementsAre("1 normal alive", "4 normal 100 alive"));
  EXPECT_FALSE(gossiper.is_quarantined(node(1)));
  EXPECT_EQ(membership.host_id(node(1)), host_id_of(1));
}

TEST_F(MembershipTest, MalformedStatesChangeNothingAndAreNamed) {
  start();
  meet(3);
  KeptLog log;
  hear(3, {{ApplicationState::kStatusWithPort, "LEFT,300"}});
  hear(4, with(normal_states(4, {400}), ApplicationState::kTokens, "\x01"));
  hear(5, with(normal_states(5, {500}), ApplicationState::kHostId, "nobody"));
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal 300 alive"));
  EXPECT_THAT(log.lines, ElementsAre("Node /10.0.0.3:7000: Malformed status in gossip: 'LEFT,300'",
                                     "Node /10.0.0.4:7000: Malformed tokens in gossip: they end too early",
                                     "Node /10.0.0.4:7000 is in state normal but it has no tokens",
                                     "Node /10.0.0.5:7000 tells no host ID: its status is ignored"));
}

TEST_F(MembershipTest, ThisNodeHasToDrainWhenItFindsItselfRemoved) {
  start();
  ASSERT_TRUE(
      gossiper.set_local_states({{ApplicationState::kStatusWithPort, state_values::removing(host_id_of(1))}}, at(1))
          .ok());
  events();
  EXPECT_TRUE(changes.is_local_removed);
}

// --- Events

TEST_F(MembershipTest, DriversHearOfANodeWhenItIsReadyForThem) {
  start();
  meet(3, with(normal_states(3, {300}), ApplicationState::kRpcReady, "false"));
  EXPECT_THAT(events(), ElementsAre("DOWN 10.0.0.3:9042"));  // Cassandra tells so of a node that nobody was told of
  hear(3, {{ApplicationState::kRpcReady, "true"}});
  EXPECT_THAT(events(), ElementsAre("NEW_NODE 10.0.0.3:9042", "UP 10.0.0.3:9042"));
  hear(3, {{ApplicationState::kRpcReady, "true"}});
  EXPECT_THAT(events(), IsEmpty());
  hear(3, {{ApplicationState::kRpcReady, "false"}});
  EXPECT_THAT(events(), ElementsAre("DOWN 10.0.0.3:9042"));
  die(3);
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(MembershipTest, ANodeThatRestartsBeforeItIsMissedIsDownInBetween) {
  start();
  meet(3);
  EXPECT_THAT(events(), ElementsAre("NEW_NODE 10.0.0.3:9042", "UP 10.0.0.3:9042"));
  meet(3, normal_states(3, {300}), 5);
  EXPECT_THAT(events(), ElementsAre("DOWN 10.0.0.3:9042", "UP 10.0.0.3:9042"));
}

TEST_F(MembershipTest, ANodeWithThisNodesAddressForClientsIsNotToldOf) {
  start();
  meet(3, with(normal_states(3, {300}), ApplicationState::kNativeAddressAndPort, "10.0.0.1:9042"));
  EXPECT_THAT(events(), IsEmpty());
}

// --- Saved peers and snitches

TEST_F(MembershipTest, SavedPeersAreInTheRingBeforeGossipStarts) {
  const PeerRow saved{node(3), native(3), host_id_of(3), {"dc2", "r2"}, "5.0.8", host_id_of(0), {300}};
  membership.add_saved(saved, at(0));
  start();
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal 300 dead"));
  EXPECT_EQ(membership.topology()->ring()->endpoint(1).datacenter, "dc2");
  EXPECT_EQ(membership.peer_row(node(3)), saved);
  EXPECT_EQ(membership.saved_states(node(3)).size(), 2u);
  meet(3);
  EXPECT_THAT(ring(), ElementsAre("1 normal 100 alive", "3 normal 300 alive"));
  EXPECT_EQ(membership.peer_row(node(3))->release_version, "5.0.9");
  EXPECT_EQ(membership.topology()->ring()->endpoint(1).datacenter, "dc1");
}

TEST(MembershipSnitch, DecidesWhereANodeIs) {
  Membership membership(
      {node(1), native(1), host_id_of(1), 9042, [](const InetAddressAndPort& e, const NodeLocation& gossiped) {
         return NodeLocation{std::to_string(e.bytes[3]), gossiped.rack};
       }});
  Gossiper gossiper({node(1), "c", "p", {}}, membership, at(0));
  membership.attach(gossiper);
  EXPECT_EQ(membership.location(node(7)), (NodeLocation{"7", "UNKNOWN_RACK"}));
}

// --- Large rings

TEST(TokenOwners, ATokenHasOneNode) {
  TokenOwners owners;
  for (Token token : {5, -5, 7}) owners.give(token, node(1));
  owners.give(5, node(2));
  owners.give(7, node(1));
  EXPECT_EQ(owners.owner(5), node(2));
  EXPECT_EQ(owners.owner(6), std::nullopt);
  EXPECT_THAT(owners.tokens(node(1)), ElementsAre(-5, 7));
  owners.give(-5, node(2));
  owners.erase(7);
  EXPECT_THAT(owners.tokens(node(1)), IsEmpty());
  EXPECT_THAT(owners.nodes(), ElementsAre(Pair(node(2), ElementsAre(-5, 5))));
  owners.erase(node(2));
  EXPECT_EQ(owners.owner(5), std::nullopt);
  EXPECT_THAT(owners.nodes(), IsEmpty());
}

// A change takes milliseconds, with the snapshot that comes of it. It would take hundreds if each node looked for its tokens
// among those of all.
TEST_F(MembershipTest, AChangeOfALargeRingIsQuick) {
  constexpr int kNodes = 1000, kChanges = 20;
  start();
  auto tell = [&](int n, int64_t life) {
    std::vector<Token> tokens;
    for (int i = 0; i < 16; ++i) tokens.push_back(static_cast<Token>(random.next()));
    EndpointState told = state_of(generation_at(life), 1, with_host_id(normal_states(2, tokens), 1000 + n));
    const auto who = InetAddressAndPort::parse(fmt::format("10.1.{}.{}", n / 250, n % 250));
    gossiper.on_ack2(node(9), {{{*who, told}}}, at(1).millis, at(1));
  };
  for (int n = 0; n < kNodes; ++n) tell(n, 0);
  const std::clock_t began = std::clock();
  for (int n = 0; n < kChanges; ++n) {
    tell(n, 1);
    EXPECT_EQ(membership.topology()->ring()->entries().size(), size_t{kNodes} * 16 + 1);
  }
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, kChanges * (test::kIsSanitized ? 5 : 0.1));
}

}  // namespace
}  // namespace cassandra_like
