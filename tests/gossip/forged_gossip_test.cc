// A stranger that speaks gossip says anything at all: the node stays what it is, and its memory stays bounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gossip/local_states.h"
#include "gossip/membership.h"
#include "tests/gossip/gossip_testing.h"
#include "tests/support/sanitized.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;

constexpr int kNodes = 6;         // that are told of
constexpr size_t kMostKnown = 5;  // endpoints

class Liar {
 public:
  explicit Liar(uint64_t seed) : random_(seed) {}

  EndpointStates states() {
    EndpointStates out;
    for (uint64_t left = random_.below(3); left > 0; --left) out[endpoint()] = state();
    return out;
  }
  GossipDigests digests() {
    GossipDigests out;
    for (uint64_t left = random_.below(4); left > 0; --left) out.push_back({endpoint(), number(), number()});
    return out;
  }
  EndpointState state() {
    EndpointState out;
    out.heart_beat = {number(), number()};
    for (uint64_t left = random_.below(8); left > 0; --left) {
      const auto key =
          pick({ApplicationState::kStatus, ApplicationState::kStatusWithPort, ApplicationState::kTokens,
                ApplicationState::kHostId, ApplicationState::kDc, ApplicationState::kRpcReady,
                ApplicationState::kNativeAddressAndPort, ApplicationState::kSchema, ApplicationState::kReleaseVersion,
                ApplicationState::kRemovalCoordinator, ApplicationState::kX10});
      out.states[key] = {text(key), number()};
    }
    return out;
  }
  InetAddressAndPort endpoint() { return node(1 + static_cast<int>(random_.below(kNodes))); }
  uint64_t below(uint64_t bound) { return random_.below(bound); }

 private:
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + random_.below(of.size()));
  }
  int32_t number() {
    return pick({0, -1, 1, 7, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min(),
                 generation_at(0), generation_at(1), generation_at(100), static_cast<int32_t>(random_.next())});
  }
  std::vector<Token> tokens() {
    std::vector<Token> out = {static_cast<Token>(random_.below(5)) * 100};
    while (random_.below(2) == 0) out.push_back(static_cast<Token>(random_.below(5)) * 100);
    return out;
  }
  std::string text(ApplicationState key) {
    if (random_.below(10) == 0) return pick<std::string>({"", ",", "NORMAL", std::string(3, '\0'), "LEFT,,"});
    const Uuid host = host_id_of(static_cast<int>(random_.below(4)));
    switch (key) {
      case ApplicationState::kStatus:
      case ApplicationState::kStatusWithPort:
        return pick<std::string>(
            {state_values::normal(tokens()), state_values::normal(tokens()), state_values::bootstrapping(tokens()),
             state_values::boot_replacing_with_port(endpoint()), state_values::leaving(tokens()),
             state_values::left(tokens(), number()), state_values::moving(number()), state_values::removing(host),
             state_values::removed(host, number()), state_values::hibernate(true), state_values::shutdown(true)});
      case ApplicationState::kTokens:
        return state_values::tokens(tokens());
      case ApplicationState::kRpcReady:
        return pick<std::string>({"true", "false"});
      case ApplicationState::kNativeAddressAndPort:
        return state_values::address_and_port(endpoint());
      case ApplicationState::kReleaseVersion:
        return pick<std::string>({"5.0.9", "3.11", "x"});
      case ApplicationState::kRemovalCoordinator:
        return state_values::removal_coordinator(host);
      default:
        return host.to_string();
    }
  }

  SeededRandom random_;
};

// One node that hears a liar for a while.
void hear_lies(uint64_t seed) {
  Liar liar(seed);
  SeededRandom random(seed);
  InetAddressAndPort native = node(1);
  native.port = 9042;
  Membership membership({node(1), native, host_id_of(1), 9042, nullptr});
  Gossiper::Config config{node(1), "c", "p", {node(2)}};
  config.max_endpoints = kMostKnown;
  Gossiper gossiper(config, membership, at(0));
  membership.attach(gossiper);
  ASSERT_TRUE(gossiper.start(generation_at(0), starting_states({host_id_of(1), node(1), native}), at(0)).ok());
  const std::vector<Token> own = {100, 1000};
  ASSERT_TRUE(gossiper.set_local_states(cassandra_like::normal_states(own), at(0)).ok());
  for (int second = 1; second < 400; ++second) {
    const GossipTime now = at(second);
    const InetAddressAndPort from = liar.endpoint();
    switch (liar.below(8)) {
      case 0:
        gossiper.on_syn(from, {"c", "p", liar.digests()}, now.millis, now);
        break;
      case 1:
        gossiper.on_ack(from, {liar.digests(), liar.states()}, now.millis, now);
        break;
      case 2:
        gossiper.on_shutdown(from, {liar.below(2) == 0 ? std::nullopt : std::optional(liar.state())}, now.millis, now);
        break;
      case 3:
        gossiper.on_echo_failed(from);
        break;
      case 4:
        if (from != node(1) && gossiper.state(from) != nullptr && liar.below(20) == 0) {
          (void)gossiper.finish_assassination(gossiper.begin_assassination(from), {}, now, random).ok();
        }
        break;
      case 5:
        gossiper.on_echo_answered(from, now);
        break;
      default:
        gossiper.on_ack2(from, {liar.states()}, now.millis, now);
    }
    gossiper.tick(now, random);
    for (const GossipSend& send : gossiper.take_output().sends) ASSERT_NE(send.to, node(1)) << "seed " << seed;
    ASSERT_LE(gossiper.states().size(), kMostKnown) << "seed " << seed;

    const EndpointState& local = *gossiper.state(node(1));
    ASSERT_EQ(local.heart_beat.generation, generation_at(0)) << "seed " << seed;
    ASSERT_EQ(local.status(), "NORMAL") << "seed " << seed;
    ASSERT_EQ(membership.host_id(node(1)), host_id_of(1)) << "seed " << seed;
    const TopologyPtr topology = membership.topology();
    ASSERT_EQ(topology->local().address, "10.0.0.1") << "seed " << seed;
    ASSERT_EQ(topology->local().state, EndpointStatus::kNormal) << "seed " << seed;
    ASSERT_LE(topology->ring()->endpoints().size(), size_t{kNodes}) << "seed " << seed;
    std::vector<Token> claimed;
    for (const Endpoint& e : topology->ring()->endpoints()) {
      if (e.owns_tokens()) claimed.insert(claimed.end(), e.tokens.begin(), e.tokens.end());
    }
    std::sort(claimed.begin(), claimed.end());
    ASSERT_EQ(std::adjacent_find(claimed.begin(), claimed.end()), claimed.end()) << "seed " << seed;
    for (const InetAddressAndPort& peer : membership.take_changes().peers_updated) {
      auto row = membership.peer_row(peer);
      ASSERT_FALSE(row && (row->tokens.empty() || row->release_version.empty())) << "seed " << seed;
    }
  }
}

TEST(ForgedGossip, LeavesTheNodeWhatItIs) {
  for (uint64_t seed = 1; seed <= (test::kIsSanitized ? 20 : 500) && !::testing::Test::HasFatalFailure(); ++seed)
    hear_lies(seed);
}

}  // namespace
}  // namespace cassandra_like
