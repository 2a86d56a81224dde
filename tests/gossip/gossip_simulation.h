// A cluster of gossip's state machines in virtual time, from one seed: Gossiper and Membership of each node, messages as
// bytes over a network that loses, delays and parts, clocks that differ, nodes that pause, stop, are killed and return.
//
// Each virtual second a checker asks every node for what must never be (faults()). difference() says in words what still
// keeps the nodes from agreeing with each other and with the truth.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gossip/membership.h"
#include "tests/gossip/gossip_testing.h"

namespace cassandra_like::gossip_testing {

class GossipSimulation {
 public:
  // Defects that the checker has to find.
  enum class Bug { kNone, kGenerationFromClock, kForgetsAtOnce, kNoEcho };
  struct Config {
    uint64_t seed = 1;
    int nodes = 3;
    int seeds = 2;
    size_t tokens = 4;
    double loss = 0;  // of messages
    int64_t max_delay_ms = 50;
    int messaging_version = kGossipVersion50;
    Bug bug = Bug::kNone;
  };
  struct Cost {
    uint64_t messages = 0;
    uint64_t bytes = 0;  // of payloads
  };

  explicit GossipSimulation(Config config);

  // Nodes are 0 to nodes - 1; the first ones are seeds.
  void start(int n);
  void start_all();
  void kill(int n);
  void shut_down(int n);
  void pause(int n);
  void resume(int n);
  void set_clock(int n, int64_t offset_seconds) { at(n).clock_offset_ms = offset_seconds * 1000; }
  // Nodes of one group reach each other only; an empty list heals.
  void part(const std::vector<std::set<int>>& groups) { groups_ = groups; }
  void set_loss(double loss) { config_.loss = loss; }
  // Node n orders that the victim is taken out; ends after ring_delay.
  void assassinate(int n, int victim);

  void run(int64_t seconds);
  // Seconds until all agree; nothing when they do not within that time.
  std::optional<int64_t> run_until_agreed(int64_t most_seconds);
  // The first thing that keeps them from agreeing; empty when they do.
  std::string difference();
  // Everything that must never be and was seen.
  const std::vector<std::string>& faults() const { return faults_; }
  // Payloads sent by all nodes since the last call.
  Cost take_cost() { return std::exchange(cost_, {}); }

  bool is_up(int n) const { return nodes_[static_cast<size_t>(n)]->life == Life::kUp; }
  const EndpointState* seen_by(int observer, int n) { return at(observer).gossiper->state(at(n).endpoint); }
  bool lives_for(int observer, int n) { return at(observer).gossiper->is_alive(at(n).endpoint); }
  int failed_starts() const { return failed_starts_; }

 private:
  enum class Life { kDown, kShadow, kUp, kPaused };
  enum class Kind : uint8_t { kSyn, kAck, kAck2, kShutdown, kEcho, kEchoAnswer };
  struct Packet {
    int from;
    Kind kind;
    Bytes payload;
    int64_t created_ms;
    int64_t sent_at;
  };
  struct Node {
    InetAddressAndPort endpoint;
    Uuid host_id;
    std::vector<Token> tokens;
    int64_t clock_offset_ms = 0;
    std::optional<int32_t> saved_generation;
    std::vector<PeerRow> saved_peers;
    Life life = Life::kDown;
    uint64_t number_of_life = 0;
    bool is_removed = false;
    std::unique_ptr<Membership> membership;
    std::unique_ptr<Gossiper> gossiper;
    std::deque<Packet> waiting;                         // while it is paused
    std::map<InetAddressAndPort, int32_t> generations;  // that it has seen
    std::set<InetAddressAndPort> accepted_removals;
  };

  Node& at(int n) { return *nodes_[static_cast<size_t>(n)]; }
  GossipTime time_of(const Node& n) const;
  void at_time(int64_t when, std::function<void()> what);
  // In the node's present life.
  void later(int n, int64_t nanos, std::function<void()> what);
  void begin_life(int n);
  void shadow_round(int n, Gossiper::ShadowRound state);
  void join(int n);
  void tick(int n);
  void flush(int n);
  void send(int from, const GossipSend& send);
  void deliver(int to, Packet packet);
  void receive(int to, const Packet& packet);
  bool is_cut(int a, int b) const;
  int index_of(const InetAddressAndPort& endpoint) const;
  void check();
  std::string difference_of(int a, int b);

  Config config_;
  SeededRandom random_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<InetAddressAndPort, int> indexes_;
  std::vector<std::set<int>> groups_;
  int64_t now_ = 0;
  uint64_t next_event_ = 0;
  std::map<std::pair<int64_t, uint64_t>, std::function<void()>> events_;
  Cost cost_;
  std::vector<std::string> faults_;
  int failed_starts_ = 0;
};

}  // namespace cassandra_like::gossip_testing
