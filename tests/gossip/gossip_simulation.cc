#include "tests/gossip/gossip_simulation.h"

#include <algorithm>

#include "base/result.h"
#include "gossip/local_states.h"

namespace cassandra_like::gossip_testing {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kMessageExpires = 10 * kSecond;  // rpc timeout
constexpr const char* kPartitioner = "org.apache.cassandra.dht.Murmur3Partitioner";

}  // namespace

GossipSimulation::GossipSimulation(Config config) : config_(config), random_(config.seed) {
  for (int i = 0; i < config_.nodes; ++i) {
    auto node = std::make_unique<Node>();
    node->endpoint.bytes = {10, 0, static_cast<uint8_t>(i / 250), static_cast<uint8_t>(i % 250 + 1)};
    node->host_id = host_id_of(i + 1);
    for (size_t t = 0; t < config_.tokens; ++t) node->tokens.push_back(static_cast<Token>(random_.next()));
    std::sort(node->tokens.begin(), node->tokens.end());
    indexes_[node->endpoint] = i;
    nodes_.push_back(std::move(node));
  }
  now_ = kSecond;
  at_time(now_ + kSecond, [this] { check(); });
}

GossipTime GossipSimulation::time_of(const Node& n) const {
  const GossipTime base = gossip_testing::at(0);
  return {base.nanos + now_, base.millis + now_ / kMilli + n.clock_offset_ms};
}

void GossipSimulation::at_time(int64_t when, std::function<void()> what) {
  events_.emplace(std::pair(when, next_event_++), std::move(what));
}

void GossipSimulation::later(int n, int64_t nanos, std::function<void()> what) {
  at_time(now_ + nanos, [this, n, life = at(n).number_of_life, what = std::move(what)] {
    if (at(n).number_of_life == life) what();
  });
}

int GossipSimulation::index_of(const InetAddressAndPort& endpoint) const { return indexes_.at(endpoint); }

// --- Lives

void GossipSimulation::begin_life(int n) {
  Node& node = at(n);
  ++node.number_of_life;
  InetAddressAndPort native = node.endpoint;
  native.port = 9042;
  node.membership =
      std::make_unique<Membership>(Membership::Config{node.endpoint, native, node.host_id, 9042, nullptr});
  Gossiper::Config config;
  config.local = node.endpoint;
  config.cluster = "simulated";
  config.partitioner = kPartitioner;
  for (int seed = 0; seed < config_.seeds; ++seed) config.seeds.push_back(at(seed).endpoint);
  if (config_.bug == Bug::kForgetsAtOnce) {
    config.very_long_time_ms = 1000;
    config.quarantine_delay_ms = 2000;
  }
  node.gossiper = std::make_unique<Gossiper>(config, *node.membership, time_of(node));
  node.membership->attach(*node.gossiper);
  node.waiting.clear();
  node.generations.clear();
  node.accepted_removals.clear();
}

void GossipSimulation::start(int n) {
  CHECK(at(n).life == Life::kDown);
  begin_life(n);
  Node& node = at(n);
  node.life = Life::kShadow;
  std::vector<InetAddressAndPort> peers;
  for (const PeerRow& row : node.saved_peers) peers.push_back(row.peer);
  const auto state = node.gossiper->begin_shadow_round(peers, time_of(node));
  flush(n);
  shadow_round(n, state);
}

void GossipSimulation::start_all() {
  for (int n = 0; n < config_.nodes; ++n) start(n);
}

void GossipSimulation::shadow_round(int n, Gossiper::ShadowRound state) {
  Node& node = at(n);
  if (state == Gossiper::ShadowRound::kRunning) {
    later(n, kSecond, [this, n] {
      if (at(n).life != Life::kShadow) return;
      const auto next = at(n).gossiper->shadow_tick(time_of(at(n)));
      flush(n);
      shadow_round(n, next);
    });
    return;
  }
  Gossiper::StartupCheck check{node.host_id};
  if (state == Gossiper::ShadowRound::kFailed || !node.gossiper->check_for_endpoint_collision(check).ok()) {
    ++failed_starts_;
    node.life = Life::kDown;
    ++node.number_of_life;
    return;
  }
  join(n);
}

void GossipSimulation::join(int n) {
  Node& node = at(n);
  const GossipTime now = time_of(node);
  for (const PeerRow& row : node.saved_peers) node.membership->add_saved(row, now);
  const int32_t from_clock = static_cast<int32_t>(now.millis / 1000);
  const int32_t generation =
      config_.bug == Bug::kGenerationFromClock ? from_clock : next_generation(node.saved_generation, now.millis);
  node.saved_generation = generation;
  InetAddressAndPort native = node.endpoint;
  native.port = 9042;
  const AdvertisedNode local{
      node.host_id, node.endpoint, native, {"datacenter1", "rack1"}, "5.0.9", config_.messaging_version,
      {"big-nb"},   host_id_of(0), 123456};
  CHECK(node.gossiper->start(generation, starting_states(local), now).ok());
  CHECK(node.gossiper->set_local_states(cassandra_like::normal_states(node.tokens), now).ok());
  CHECK(node.gossiper->set_local_states({{ApplicationState::kRpcReady, state_values::boolean(true)}}, now).ok());
  node.life = Life::kUp;
  tick(n);
}

void GossipSimulation::tick(int n) {
  Node& node = at(n);
  later(n, kSecond, [this, n] { tick(n); });
  if (node.life != Life::kUp) return;
  node.gossiper->tick(time_of(node), random_);
  flush(n);
}

void GossipSimulation::kill(int n) {
  Node& node = at(n);
  if (node.life == Life::kUp || node.life == Life::kPaused) {
    node.saved_peers.clear();
    for (const auto& other : nodes_) {
      if (auto row = node.membership->peer_row(other->endpoint)) node.saved_peers.push_back(*row);
    }
  }
  node.life = Life::kDown;
  ++node.number_of_life;
}

void GossipSimulation::shut_down(int n) {
  at(n).gossiper->stop(true, time_of(at(n)));
  flush(n);
  kill(n);
}

void GossipSimulation::pause(int n) { at(n).life = Life::kPaused; }

void GossipSimulation::resume(int n) {
  Node& node = at(n);
  node.life = Life::kUp;
  for (std::deque<Packet> waiting = std::exchange(node.waiting, {}); !waiting.empty(); waiting.pop_front()) {
    if (now_ - waiting.front().sent_at < kMessageExpires) receive(n, waiting.front());
  }
}

void GossipSimulation::assassinate(int n, int victim) {
  Node& node = at(n);
  const auto ticket = node.gossiper->begin_assassination(at(victim).endpoint);
  later(n, ticket.wait_ms * kMilli, [this, n, victim, ticket] {
    const std::vector<Token> tokens = at(n).membership->tokens(at(victim).endpoint);
    if (!at(n).gossiper->finish_assassination(ticket, tokens, time_of(at(n)), random_).ok()) return;
    at(victim).is_removed = true;
    flush(n);
  });
}

// --- The network

bool GossipSimulation::is_cut(int a, int b) const {
  return !groups_.empty() && std::none_of(groups_.begin(), groups_.end(),
                                          [&](const auto& group) { return group.contains(a) && group.contains(b); });
}

void GossipSimulation::flush(int n) {
  for (const GossipSend& one : at(n).gossiper->take_output().sends) send(n, one);
}

void GossipSimulation::send(int from, const GossipSend& send) {
  const int to = index_of(send.to);
  Packet packet{from, static_cast<Kind>(send.message.index()), {}, time_of(at(from)).millis, now_};
  if (auto* syn = std::get_if<GossipDigestSyn>(&send.message)) packet.payload = encode_syn(*syn);
  if (auto* ack = std::get_if<GossipDigestAck>(&send.message)) packet.payload = encode_ack(*ack);
  if (auto* ack2 = std::get_if<GossipDigestAck2>(&send.message)) packet.payload = encode_ack2(*ack2);
  if (auto* shutdown = std::get_if<GossipShutdown>(&send.message)) {
    packet.payload = encode_shutdown(*shutdown, config_.messaging_version);
  }
  if (packet.kind == Kind::kEcho) {
    // The callback of the request expires.
    later(from, kMessageExpires, [this, from, endpoint = send.to] { at(from).gossiper->on_echo_failed(endpoint); });
    if (config_.bug == Bug::kNoEcho) {
      at(from).gossiper->on_echo_answered(send.to, time_of(at(from)));
      return;
    }
  }
  ++cost_.messages;
  cost_.bytes += packet.payload.size();
  deliver(to, std::move(packet));
}

void GossipSimulation::deliver(int to, Packet packet) {
  if (is_cut(packet.from, to)) return;
  if (static_cast<double>(random_.below(1'000'000)) < config_.loss * 1e6) return;
  const int64_t delay =
      kMilli + static_cast<int64_t>(random_.below(static_cast<uint64_t>(config_.max_delay_ms * kMilli)));
  at_time(now_ + delay, [this, to, packet = std::move(packet)]() mutable {
    Node& node = at(to);
    if (is_cut(packet.from, to) || node.life == Life::kDown) return;
    if (node.life == Life::kPaused) {
      node.waiting.push_back(std::move(packet));
    } else {
      receive(to, packet);
    }
  });
}

void GossipSimulation::receive(int to, const Packet& packet) {
  Gossiper& gossiper = *at(to).gossiper;
  const GossipTime now = time_of(at(to));
  const InetAddressAndPort& from = at(packet.from).endpoint;
  switch (packet.kind) {
    case Kind::kSyn:
      gossiper.on_syn(from, *decode_syn(packet.payload), packet.created_ms, now);
      break;
    case Kind::kAck:
      gossiper.on_ack(from, *decode_ack(packet.payload), packet.created_ms, now);
      break;
    case Kind::kAck2:
      gossiper.on_ack2(from, *decode_ack2(packet.payload), packet.created_ms, now);
      break;
    case Kind::kShutdown:
      gossiper.on_shutdown(from, *decode_shutdown(packet.payload, config_.messaging_version), packet.created_ms, now);
      break;
    case Kind::kEcho:
      ++cost_.messages;
      deliver(packet.from, {to, Kind::kEchoAnswer, {}, now.millis, now_});
      break;
    case Kind::kEchoAnswer:
      gossiper.on_echo_answered(from, now);
      break;
  }
  flush(to);
  if (at(to).life == Life::kShadow && !gossiper.is_in_shadow_round()) {
    shadow_round(to, Gossiper::ShadowRound::kDone);
  }
}

// --- Time and truth

void GossipSimulation::run(int64_t seconds) {
  const int64_t end = now_ + seconds * kSecond;
  while (!events_.empty() && events_.begin()->first.first <= end) {
    auto event = events_.extract(events_.begin());
    now_ = event.key().first;
    event.mapped()();
  }
  now_ = end;
}

std::optional<int64_t> GossipSimulation::run_until_agreed(int64_t most_seconds) {
  for (int64_t second = 0; second <= most_seconds; ++second) {
    if (difference().empty()) return second;
    run(1);
  }
  return std::nullopt;
}

std::string GossipSimulation::difference() {
  for (int a = 0; a < config_.nodes; ++a) {
    if (at(a).life == Life::kShadow) return "node " + std::to_string(a) + ": is still starting";
    if (at(a).life != Life::kUp || at(a).is_removed) continue;
    for (int b = 0; b < config_.nodes; ++b) {
      std::string found = a == b ? "" : difference_of(a, b);
      if (!found.empty()) return "node " + std::to_string(a) + ": " + found + " " + std::to_string(b);
    }
  }
  return "";
}

std::string GossipSimulation::difference_of(int a, int b) {
  Node &observer = at(a), &other = at(b);
  const bool is_member = observer.membership->is_member(other.endpoint);
  const bool is_alive = observer.gossiper->is_alive(other.endpoint);
  if (other.is_removed) return is_alive ? "still sees alive" : is_member ? "still has in its ring" : "";
  if (other.life != Life::kUp) return is_alive ? "does not miss" : "";
  if (!is_alive) return "does not see alive";
  if (!is_member) return "does not have in its ring";
  if (observer.membership->tokens(other.endpoint) != other.tokens) return "does not have the tokens of";
  const EndpointState &seen = *observer.gossiper->state(other.endpoint),
                      &truth = *other.gossiper->state(other.endpoint);
  if (seen.heart_beat.generation != truth.heart_beat.generation) return "has another generation of";
  if (seen.status_text() != truth.status_text()) return "has another status of";
  return "";
}

void GossipSimulation::check() {
  at_time(now_ + kSecond, [this] { check(); });
  for (int a = 0; a < config_.nodes; ++a) {
    Node& node = at(a);
    if (node.life != Life::kUp) continue;
    auto fault = [&](const std::string& what, const InetAddressAndPort& about) {
      faults_.push_back("second " + std::to_string(now_ / kSecond) + ", node " + std::to_string(a) + ": " + what + " " +
                        about.to_string());
    };
    if (node.gossiper->live().contains(node.endpoint)) fault("is in its own list of live nodes:", node.endpoint);
    for (const auto& [endpoint, state] : node.gossiper->states()) {
      int32_t& seen = node.generations[endpoint];
      if (state->heart_beat.generation < seen && !state->heart_beat.is_empty()) fault("has an older life of", endpoint);
      seen = std::max(seen, state->heart_beat.generation);
      const Node& other = at(index_of(endpoint));
      if (a == index_of(endpoint)) continue;
      // A node that restarted stays in the list while its echo is on the way.
      if (state->is_alive && !node.gossiper->live().contains(endpoint)) fault("does not list the live", endpoint);
      if (node.gossiper->is_alive(endpoint) && node.gossiper->unreachable().contains(endpoint)) {
        fault("tries to reach the live", endpoint);
      }
      if (other.is_removed && is_dead_state(*state)) node.accepted_removals.insert(endpoint);
      if (!node.accepted_removals.contains(endpoint)) continue;
      if (node.membership->is_member(endpoint) || node.gossiper->is_alive(endpoint)) fault("takes back", endpoint);
    }
  }
}

}  // namespace cassandra_like::gossip_testing
