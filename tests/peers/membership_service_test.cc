// The changes that a node tells of, when a peer that the test plays gossips.
#include "peers/membership_service.h"

#include <gmock/gmock.h>

#include "schema/internal_table.h"
#include "tests/peers/peers_fixture.h"

namespace cassandra_like::test {
namespace {

Task<Status> halted(MembershipService* service) {
  co_await service->halt();
  co_return Status();
}

class MembershipServices : public testing::Test {
 protected:
  MembershipServices() : cluster(2, 1, 1) {
    serve();
    cluster.on(1, 0, [&] {
      cluster.node(1).messengers[0]->handle(Verb::kEchoReq,
                                            [](InboundMessage) -> Task<VerbResult> { return VerbResult::answer(); });
    });
  }
  ~MembershipServices() override { halt(); }

  void serve() {
    PeerNode& node = cluster.node(0);
    MembershipOptions options;
    options.gossip.local = options.membership.local = options.advertised.internal = node.address();
    options.gossip.cluster = "Test Cluster";
    options.membership.host_id = options.advertised.host_id = node.host_id;
    options.membership.local_native = options.advertised.native = *InetAddressAndPort::parse(node.host, 9042);
    options.advertised.location = {"datacenter1", "rack1"};
    options.advertised.release_version = "5.0.9";
    options.tokens = {0};
    options.generation = 1;
    MembershipListener listener;
    listener.on_node = [this](const NodeChange& change) { told.push_back(text_of(change)); };
    listener.on_driver_event = [](const DriverEvent&) {};
    service = MembershipService::create(*node.runtime, {&node.replica()}, *node.messengers[0], std::move(options),
                                        std::move(listener));
    cluster.on(0, 0, [&] { service->handle_verbs(*node.messengers[0]); });
    EXPECT_TRUE(cluster.run<Status>(0, [&] { return service->start(); }).ok());
  }
  void halt() {
    EXPECT_TRUE(cluster.run<Status>(0, [&] { return halted(service.get()); }).ok());
  }

  std::string text_of(const NodeChange& change) {
    const char* kind = change.kind == NodeChange::Kind::kUp     ? "up "
                       : change.kind == NodeChange::Kind::kDown ? "down "
                                                                : "left ";
    const char* who = change.host_id == cluster.node(1).host_id ? "the peer"
                      : change.host_id.is_nil()                 ? "nobody"
                                                                : "a stranger";
    return kind + std::string(who) + " " + change.address.host();
  }
  // The peer tells these states of itself, in a life of its own.
  void gossip(const LocalStates& states) {
    EndpointState told_state;
    told_state.heart_beat = {life, ++version_};
    for (const auto& [state, value] : states) told_state.states[state] = {value, ++version_};
    cluster.on(1, 0, [&] {
      const Bytes body = encode_ack2({{{cluster.node(1).address(), told_state}}});
      cluster.node(1).messengers[0]->send(cluster.node(0).address(), Verb::kGossipDigestAck2,
                                          SharedBytes::copy_of(body));
    });
  }
  bool lives() { return !service->live_peers().empty(); }
  LocalStates first_states() {
    return {{ApplicationState::kHostId, cluster.node(1).host_id.to_string()},
            {ApplicationState::kReleaseVersion, "5.0.9"}};
  }
  LocalStates with_status(const std::string& status) {
    const std::vector<Token> tokens = {5};
    return {{ApplicationState::kTokens, state_values::tokens(tokens)}, {ApplicationState::kStatusWithPort, status}};
  }

  // The release of the peer in system.peers_v2; empty without a row.
  std::string saved_release() {
    ReadCommand command;
    command.table = cluster.node(0).replica().schema().current()->table("system", "peers_v2");
    command.range = KeyRange{};
    command.now_seconds = cluster.node(0).runtime->shard(0).clock.wall_seconds();
    InternalRows found(command.table);
    cluster.world().run_for(std::chrono::seconds(1));
    EXPECT_TRUE(
        cluster.run<Result<ReadStatistics>>(0, [&] { return cluster.node(0).replica().read(command, found); }).ok());
    return found.rows.empty() ? "" : found.rows[0].text("release_version");
  }

  PeersCluster cluster;
  int32_t life = 1000;
  std::vector<std::string> told;
  std::unique_ptr<MembershipService> service;

 private:
  int32_t version_ = 0;
};

// So do nodes of Cassandra when they join. Hints for it go out once it is told of.
TEST_F(MembershipServices, ANodeThatLivesBeforeItHasAStatusIsToldOfWithItsStatus) {
  gossip(first_states());
  ASSERT_TRUE(cluster.wait([&] { return lives(); }));
  EXPECT_THAT(told, testing::Not(testing::Contains("up the peer 10.0.0.2")));
  const std::vector<Token> tokens = {5};
  gossip(with_status(state_values::normal(tokens)));
  EXPECT_TRUE(cluster.wait([&] { return !told.empty() && told.back() == "up the peer 10.0.0.2"; }));
}

TEST_F(MembershipServices, ANodeThatLeavesAliveIsToldOfAsGone) {
  const std::vector<Token> tokens = {5};
  LocalStates states = first_states();
  for (auto& state : with_status(state_values::normal(tokens))) states.push_back(state);
  gossip(states);
  ASSERT_TRUE(cluster.wait([&] { return lives(); }));
  told.clear();
  gossip({{ApplicationState::kStatusWithPort, state_values::left(tokens, 2'000'000'000'000)}});
  ASSERT_TRUE(cluster.wait([&] { return !lives(); }));
  EXPECT_THAT(told, testing::UnorderedElementsAre("down nobody 10.0.0.2", testing::StartsWith("left the peer")));
}

TEST_F(MembershipServices, RowsOfPeersAreWrittenAlsoWhenTheClockWasSetBack) {
  auto whole = [&](const std::string& release) {
    const std::vector<Token> tokens = {5};
    LocalStates states = with_status(state_values::normal(tokens));
    for (auto& state : first_states()) states.push_back(state);
    states.emplace_back(ApplicationState::kDc, "datacenter1");
    states.emplace_back(ApplicationState::kRack, "rack1");
    states.emplace_back(ApplicationState::kNativeAddressAndPort, "10.0.0.2:9042");
    states.emplace_back(ApplicationState::kSchema, Uuid::random(1, 2).to_string());
    std::erase_if(states, [](const auto& state) { return state.first == ApplicationState::kReleaseVersion; });
    states.emplace_back(ApplicationState::kReleaseVersion, release);
    return states;
  };
  gossip(whole("5.0.8"));
  EXPECT_EQ(saved_release(), "5.0.8");
  halt();
  service.reset();
  cluster.node(0).machine->shift_wall_clock(-std::chrono::hours(1));
  cluster.restart(0);
  serve();
  EXPECT_EQ(saved_release(), "5.0.8");
  ++life;
  gossip(whole("5.0.9"));
  EXPECT_EQ(saved_release(), "5.0.9");
}

// A stranger that asks without end has its answers. The next second others have theirs.
TEST_F(MembershipServices, AFloodOfGossipIsAnsweredAsFarAsANodeWouldAsk) {
  int answers = 0;
  cluster.on(1, 0, [&] {
    cluster.node(1).messengers[0]->handle(Verb::kGossipDigestAck, [&](InboundMessage) -> Task<VerbResult> {
      ++answers;
      return VerbResult::nothing();
    });
  });
  auto flood = [&] {
    const GossipDigestSyn syn{
        "Test Cluster", "org.apache.cassandra.dht.Murmur3Partitioner", {{cluster.node(0).address(), 0, 0}}};
    cluster.on(1, 0, [&] {
      for (int i = 0; i < 1000; ++i) {
        cluster.node(1).messengers[0]->send(cluster.node(0).address(), Verb::kGossipDigestSyn,
                                            SharedBytes::copy_of(encode_syn(syn)));
      }
    });
    cluster.world().run_for(std::chrono::milliseconds(1500));
    return std::exchange(answers, 0);
  };
  cluster.world().run_for(std::chrono::milliseconds(1500));
  answers = 0;
  EXPECT_EQ(flood(), 256);
  EXPECT_EQ(flood(), 256);
}

}  // namespace
}  // namespace cassandra_like::test
