// Shared by the tests of gossip: nodes by number, states in a line, a subscriber that writes down, Cassandra's answers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gossip/gossiper.h"
#include "gossip/state_values.h"
#include "runtime/xoshiro.h"

namespace cassandra_like::gossip_testing {

// 10.0.0.n:7000.
InetAddressAndPort node(int n);
Uuid host_id_of(int n);
// The states of a node in the ring: STATUS_WITH_PORT NORMAL, TOKENS, HOST_ID, DC dc1, RACK r1, RELEASE_VERSION 5.0.9,
// SCHEMA, NATIVE_ADDRESS_AND_PORT, RPC_READY.
LocalStates normal_states(int n, const std::vector<Token>& tokens);
// Versions of the values count up from 1.
EndpointState state_of(int32_t generation, int32_t heart_beat, const LocalStates& states);

constexpr int64_t kSecond = 1'000'000'000;
// `seconds` after a moment in 2023, on both clocks.
GossipTime at(int64_t seconds);
// The generation of a node that starts at at(seconds).
int32_t generation_at(int64_t seconds);

class SeededRandom : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : generator_(seed) {}
  uint64_t next() override { return generator_.next(); }
  void fill(char* out, size_t size) override;

 private:
  Xoshiro generator_;
};

// "join 2", "alive 2", "dead 2", "remove 2", "restart 2", "change 2 LOAD=1.0".
class WritingSubscriber : public GossipSubscriber {
 public:
  void on_join(const InetAddressAndPort& e, const EndpointState&) override { write("join", e); }
  void on_alive(const InetAddressAndPort& e, const EndpointState&) override { write("alive", e); }
  void on_dead(const InetAddressAndPort& e, const EndpointState&) override { write("dead", e); }
  void on_remove(const InetAddressAndPort& e) override { write("remove", e); }
  void on_restart(const InetAddressAndPort& e, const EndpointState&) override { write("restart", e); }
  void on_change(const InetAddressAndPort& e, ApplicationState state, const VersionedValue& value) override;
  bool is_member(const InetAddressAndPort& e) const override { return members.contains(e); }
  LocalStates saved_states(const InetAddressAndPort& e) const override;

  std::vector<std::string> take() { return std::exchange(written_, {}); }

  std::set<InetAddressAndPort> members;
  std::map<InetAddressAndPort, LocalStates> saved;

 private:
  void write(const std::string& what, const InetAddressAndPort& e);
  std::vector<std::string> written_;
};

// tests/gossip/data/gossip.txt; oracle/GossipOracle.java tells what its lines are.
struct OracleLines {
  std::map<std::string, std::string> values;                       // UTF-8 by name
  std::map<std::pair<std::string, int>, Bytes> messages;           // by name and version
  std::vector<std::pair<int64_t, std::optional<double>>> silence;  // arrivals, and phis
  std::vector<std::string> order;
};
const OracleLines& oracle();

}  // namespace cassandra_like::gossip_testing
