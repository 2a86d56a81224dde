// One Gossiper with what it says, for tests: it has the number 1, starts at at(0), and hears of others by hand.
#pragma once

#include "tests/gossip/gossip_testing.h"

namespace cassandra_like::gossip_testing {

// With a host ID, as whatever is heard first of a node has: of version 0, so that it is no news to anybody.
EndpointState whole(int n, EndpointState state);

struct Rig {
  explicit Rig(std::vector<int> seeds = {2}, Gossiper::Config config = {});
  void start() { CHECK(gossiper.start(generation_at(0), normal_states(1, {100}), at(0)).ok()); }

  // Messages that came out since: "2 SYN", "2 ACK", "2 ACK2", "2 ECHO", "2 SHUTDOWN", sorted.
  std::vector<std::string> sends();
  // The last message of a kind among what came out since.
  template <class Message>
  Message sent() {
    std::optional<Message> found;
    for (GossipSend& send : gossiper.take_output().sends) {
      if (auto* message = std::get_if<Message>(&send.message)) found = std::move(*message);
    }
    CHECK(found.has_value());
    return *found;
  }

  // Somebody (node 9) tells the state of node n, whole() or as it is.
  void hear(int n, EndpointState state, GossipTime now);
  void hear_part(int n, EndpointState state, GossipTime now);
  // Node n is heard of and answers the echo.
  void meet(int n, GossipTime now, int32_t generation = generation_at(0));
  // Node n's heartbeat is heard.
  void beat(int n, int32_t heart_beat, GossipTime now, int32_t generation = generation_at(0));
  // A second passes with each of its rounds, and each of these nodes beats.
  void run(int64_t from_second, int64_t to_second, const std::vector<int>& beating);
  const EndpointState& known(int n) const { return *gossiper.state(node(n)); }
  std::vector<std::string> told() { return subscriber.take(); }

  WritingSubscriber subscriber;
  Gossiper gossiper;
  SeededRandom random{7};
};

// While it lives, lines of the log are kept instead of lost.
class KeptLog {
 public:
  KeptLog();
  ~KeptLog();
  std::vector<std::string> lines;
};

}  // namespace cassandra_like::gossip_testing
