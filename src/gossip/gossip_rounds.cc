// Gossiper: the rounds, the shadow round, and what time does to those who are silent.
#include <algorithm>

#include "base/log.h"
#include "gossip/gossiper.h"
#include "gossip/state_values.h"

namespace cassandra_like {
namespace {

constexpr int64_t kShadowRetryMillis = 5000;
constexpr int64_t kMessageIsOldMillis = 1000;
constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int kMostOfSpread = 3;
constexpr int64_t kFailedBootstrapFactor = 10;  // of what other nodes that are no members get

// 0 <= result < 1.
double unit_interval(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1.0p-53; }

template <class Keys>
std::vector<InetAddressAndPort> to_vector(const Keys& keys) {
  return {keys.begin(), keys.end()};
}

}  // namespace

void Gossiper::tick(GossipTime now, Random& random, size_t backlog) {
  if (!is_enabled_) return;
  now_ = now;
  count_bytes();
  shadow_answers_.clear();
  find(config_.local)->heart_beat.version = next_version();
  const GossipDigestSyn syn{config_.cluster, config_.partitioner, make_digests()};
  const bool reached_seed = send_syn(syn, to_vector(live_), random);
  maybe_gossip_to_unreachable(syn, random);
  // Groups that know only some of the seeds each would stay apart without this.
  if (!reached_seed || live_.size() < seeds_.size()) maybe_gossip_to_seed(syn, random);
  asks_for_shadow_states_ = false;
  check_status(backlog);
}

void Gossiper::spread(GossipTime now, Random& random) {
  if (!is_enabled_) return;
  now_ = now;
  const GossipDigestSyn syn{config_.cluster, config_.partitioner, make_digests()};
  std::vector<InetAddressAndPort> to = to_vector(live_);
  for (int sent = 0; sent < kMostOfSpread && !to.empty(); ++sent) {
    std::swap(to[random.below(to.size())], to.back());
    send(to.back(), syn);
    to.pop_back();
  }
}

// Others learn of this node at once, not when a round brings them the news.
void Gossiper::greet(const InetAddressAndPort& endpoint) {
  if (!is_enabled_ || greetings_left_ == 0 || seeds_.contains(endpoint)) return;
  if (now_.nanos - started_nanos_ >= kIntervalMillis * kNanosPerMilli) return;
  --greetings_left_;
  send(endpoint, GossipDigestSyn{config_.cluster, config_.partitioner, make_digests()});
}

GossipDigests Gossiper::make_digests() const {
  GossipDigests out;
  for (const auto& [endpoint, known] : states_) {
    out.push_back({endpoint, known->heart_beat.generation, known->max_version()});
  }
  if (!asks_for_shadow_states_) return out;
  for (const auto& [endpoint, told] : shadow_states_) {
    if (!states_.contains(endpoint)) out.push_back({endpoint, 0, 0});
  }
  return out;
}

// To a random one of them. Returns whether it is a seed.
bool Gossiper::send_syn(const GossipDigestSyn& syn, const std::vector<InetAddressAndPort>& to, Random& random) {
  if (to.empty()) return false;
  const InetAddressAndPort& chosen = to[to.size() == 1 ? 0 : random.below(to.size())];
  has_sent_syn_ = true;
  send(chosen, syn);
  return seeds_.contains(chosen);
}

void Gossiper::maybe_gossip_to_unreachable(const GossipDigestSyn& syn, Random& random) {
  if (unreachable_.empty()) return;
  const double probability = static_cast<double>(unreachable_.size()) / static_cast<double>(live_.size() + 1);
  if (unit_interval(random) >= probability) return;
  std::vector<InetAddressAndPort> to;
  for (const auto& [endpoint, since] : unreachable_) {
    const EndpointState* known = state(endpoint);
    if (known == nullptr || !is_dead_state(*known)) to.push_back(endpoint);
  }
  send_syn(syn, to, random);
}

void Gossiper::maybe_gossip_to_seed(const GossipDigestSyn& syn, Random& random) {
  if (seeds_.empty()) return;
  if (!live_.empty()) {
    const double probability =
        static_cast<double>(seeds_.size()) / static_cast<double>(live_.size() + unreachable_.size());
    if (unit_interval(random) > probability) return;
  }
  send_syn(syn, to_vector(seeds_), random);
}

// --- Silence

void Gossiper::check_status(size_t backlog) {
  if (backlog > 0 && last_message_millis_ < now_.millis - kMessageIsOldMillis) {
    LOG_WARN("Gossip stage has {} pending tasks; skipping status check (no nodes will be marked down)", backlog);
    return;
  }
  std::vector<InetAddressAndPort> endpoints;
  for (const auto& [endpoint, known] : states_) endpoints.push_back(endpoint);
  for (const InetAddressAndPort& endpoint : endpoints) {
    if (!is_local(endpoint)) check_status_of(endpoint);
  }
  std::erase_if(just_removed_,
                [&](const auto& entry) { return now_.millis - entry.second > config_.quarantine_delay_ms; });
}

void Gossiper::check_status_of(const InetAddressAndPort& endpoint) {
  if (auto phi = detector_.interpret(endpoint, now_.nanos)) convict(endpoint, *phi);
  const StatePtr known = find(endpoint);
  if (!known) return;
  const bool is_member = subscriber_.is_member(endpoint);
  const int64_t patience =
      fat_client_timeout_ms() * (is_bootstrapping_state(*known) ? kFailedBootstrapFactor : int64_t{1});
  const int64_t silence = (now_.nanos - known->updated_at) / kNanosPerMilli;
  if (!is_dead_state(*known) && !is_member && !just_removed_.contains(endpoint) && silence > patience) {
    LOG_INFO("FatClient {} has been silent for {}ms, removing from gossip", endpoint.to_string(), patience);
    remove_endpoint(endpoint);
    evict(endpoint);
  }
  auto expires = expire_times_.find(endpoint);
  const bool is_expired = expires != expire_times_.end() && now_.millis > expires->second;
  if (!known->is_alive && is_expired && !subscriber_.is_member(endpoint)) evict(endpoint);
}

void Gossiper::evict(const InetAddressAndPort& endpoint) {
  echoes_.erase(endpoint);
  unreachable_.erase(endpoint);
  states_.erase(endpoint);
  expire_times_.erase(endpoint);
  detector_.remove(endpoint);
  just_removed_[endpoint] = now_.millis;
}

void Gossiper::remove_endpoint(const InetAddressAndPort& endpoint) {
  // The subscriber first: it may still ask about the endpoint.
  subscriber_.on_remove(endpoint);
  if (seeds_.erase(endpoint) > 0) {
    build_seeds_list();
    seeds_.erase(endpoint);
    LOG_INFO("removed {} from seeds, {} are left", endpoint.to_string(), seeds_.size());
  }
  echoes_.erase(endpoint);
  live_.erase(endpoint);
  unreachable_.erase(endpoint);
  just_removed_[endpoint] = now_.millis;
  output_.disconnects.push_back(endpoint);
}

void Gossiper::replacement_quarantine(const InetAddressAndPort& endpoint) {
  just_removed_[endpoint] = now_.millis + config_.quarantine_delay_ms;
}

// --- The shadow round

Gossiper::ShadowRound Gossiper::begin_shadow_round(std::span<const InetAddressAndPort> peers, GossipTime now) {
  now_ = now;
  build_seeds_list();
  seeds_in_shadow_round_.clear();
  shadow_states_.clear();
  if (seeds_.empty() && peers.empty()) return ShadowRound::kDone;
  shadow_peers_.assign(peers.begin(), peers.end());
  shadow_waited_ms_ = 0;
  asks_peers_ = false;
  is_in_shadow_round_ = true;
  send_shadow_syns();
  return ShadowRound::kRunning;
}

void Gossiper::send_shadow_syns() {
  const GossipDigestSyn syn{config_.cluster, config_.partitioner, {}};
  for (const InetAddressAndPort& seed : seeds_) send(seed, syn);
  // Others are asked when no seed has answered.
  if (asks_peers_) {
    for (const InetAddressAndPort& peer : shadow_peers_) send(peer, syn);
  }
  asks_peers_ = true;
}

Gossiper::ShadowRound Gossiper::shadow_tick(GossipTime now) {
  now_ = now;
  if (!is_in_shadow_round_) return ShadowRound::kDone;
  const bool is_seed = std::find(config_.seeds.begin(), config_.seeds.end(), config_.local) != config_.seeds.end();
  shadow_waited_ms_ += kIntervalMillis;
  // One that is no seed waits longer: after a stop of the whole cluster the seeds may still be starting.
  if (shadow_waited_ms_ > config_.ring_delay_ms * (is_seed ? 1 : 2)) {
    is_in_shadow_round_ = false;
    return is_seed ? ShadowRound::kDone : ShadowRound::kFailed;
  }
  if (shadow_waited_ms_ % kShadowRetryMillis == 0) send_shadow_syns();
  return ShadowRound::kRunning;
}

// Late answers to a life before may come now, without what the check needs.
bool Gossiper::are_sufficient_for_startup(const EndpointStates& states) const {
  auto local = states.find(config_.local);
  return local == states.end() || is_whole(local->second);
}

void Gossiper::maybe_finish_shadow_round(const InetAddressAndPort& from, bool is_in_shadow_round,
                                         EndpointStates states) {
  if (!is_in_shadow_round) {
    if (!are_sufficient_for_startup(states)) return;
    if (!seeds_.contains(from)) {
      LOG_WARN(
          "Received an ack from {}, who isn't a seed. Ensure your seed list includes a live node. Exiting shadow round",
          from.to_string());
    }
    shadow_states_ = std::move(states);
    is_in_shadow_round_ = false;
    seeds_in_shadow_round_.clear();
    return;
  }
  // The whole cluster starts: when all seeds say so, nobody knows more than this node.
  seeds_in_shadow_round_.insert(from);
  if (!std::includes(seeds_in_shadow_round_.begin(), seeds_in_shadow_round_.end(), seeds_.begin(), seeds_.end()))
    return;
  is_in_shadow_round_ = false;
  seeds_in_shadow_round_.clear();
}

Status Gossiper::check_for_endpoint_collision(const StartupCheck& check) const {
  auto config_error = [](std::string text) { return Error(ErrorCode::kConfigError, std::move(text)); };
  if (auto found = shadow_states_.find(config_.local); found != shadow_states_.end()) {
    const EndpointState& known = found->second;
    const std::string_view status = known.status();
    const bool is_taken = status == state_values::kHibernate && !check.bootstrap_complete ? true
                          : is_dead_state(known)                                          ? false
                          : check.is_bootstrapping
                              ? status.empty() || status == state_values::kNormal || status == state_values::kShutdown
                              : known.text(ApplicationState::kHostId) != check.host_id.to_string();
    if (is_taken) {
      return config_error(fmt::format(
          "A node with address {} already exists, cancelling join. Use cassandra.replace_address if you want "
          "to replace this node.",
          config_.local.to_string()));
    }
  }
  if (!check.is_bootstrapping || !check.consistent_range_movement) return {};
  for (const auto& [endpoint, other] : shadow_states_) {
    if (is_local(endpoint)) continue;
    const std::string_view status = other.status();
    if (status == state_values::kBoot || status == state_values::kLeaving || status == state_values::kMoving) {
      return config_error(
          "Other bootstrapping/leaving/moving nodes detected, cannot bootstrap while "
          "cassandra.consistent.rangemovement is true");
    }
  }
  return {};
}

}  // namespace cassandra_like
