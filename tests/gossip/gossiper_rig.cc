#include "tests/gossip/gossiper_rig.h"

#include <algorithm>

#include "base/log.h"

namespace cassandra_like::gossip_testing {
namespace {

Gossiper::Config fill(Gossiper::Config config, const std::vector<int>& seeds) {
  config.local = node(1);
  config.cluster = "Test Cluster";
  for (int seed : seeds) config.seeds.push_back(node(seed));
  return config;
}

}  // namespace

Rig::Rig(std::vector<int> seeds, Gossiper::Config config)
    : gossiper(fill(std::move(config), seeds), subscriber, at(0)) {}

std::vector<std::string> Rig::sends() {
  static constexpr const char* kNames[] = {"SYN", "ACK", "ACK2", "SHUTDOWN", "ECHO"};
  std::vector<std::string> out;
  for (const GossipSend& send : gossiper.take_output().sends) {
    out.push_back(std::to_string(send.to.bytes[3]) + " " + kNames[send.message.index()]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

EndpointState whole(int n, EndpointState state) {
  state.states.try_emplace(ApplicationState::kHostId, VersionedValue{host_id_of(n).to_string(), 0});
  return state;
}

void Rig::hear(int n, EndpointState state, GossipTime now) { hear_part(n, whole(n, std::move(state)), now); }

void Rig::hear_part(int n, EndpointState state, GossipTime now) {
  gossiper.on_ack2(node(9), {{{node(n), std::move(state)}}}, now.millis, now);
}

void Rig::meet(int n, GossipTime now, int32_t generation) {
  hear(n, state_of(generation, 1, normal_states(n, {n * 100})), now);
  gossiper.on_echo_answered(node(n), now);
  subscriber.members.insert(node(n));
  gossiper.take_output();
  subscriber.take();
}

void Rig::beat(int n, int32_t heart_beat, GossipTime now, int32_t generation) {
  hear(n, state_of(generation, heart_beat, {}), now);
}

void Rig::run(int64_t from_second, int64_t to_second, const std::vector<int>& beating) {
  for (int64_t second = from_second; second <= to_second; ++second) {
    for (int n : beating) beat(n, static_cast<int32_t>(1000 + second), at(second));
    gossiper.tick(at(second), random);
  }
}

KeptLog::KeptLog() {
  set_log_level(LogLevel::kWarn);
  set_log_sink([this](const LogRecord& record) { lines.push_back(record.text); });
}

KeptLog::~KeptLog() {
  set_log_sink({});
  set_log_level(LogLevel::kOff);
}

}  // namespace cassandra_like::gossip_testing
