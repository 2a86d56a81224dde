#include "gossip/gossiper.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/dcheck.h"
#include "base/log.h"
#include "gossip/modified_utf8.h"
#include "gossip/state_values.h"

namespace cassandra_like {
namespace {

constexpr int64_t kMillisPerSecond = 1000;
// In a message: endpoint, heartbeat and count of the values; number, length and version of each.
constexpr size_t kEncodedState = kMaxEndpointSize + 12, kEncodedValue = 10;

Status check_sizes(const LocalStates& states) {
  for (const auto& [state, value] : states) {
    if (modified_utf8_size(value) > kMaxUtfBytes) {
      return invalid(fmt::format("The value of {} is too long for gossip: {} bytes, {} at most",
                                 application_state_name(state), value.size(), kMaxUtfBytes));
    }
  }
  return {};
}

void add_state(EndpointState& to, ApplicationState state, std::string value, int32_t version) {
  to.states[state] = {std::move(value), version};
}

// The values that are newer than the version take about so many bytes in a message. 0: nothing is newer.
size_t newer_bytes(const EndpointState& known, int32_t version) {
  size_t bytes = 0;
  for (const auto& [state, value] : known.states) {
    if (value.version > version) bytes += kEncodedValue + value.value.size();
  }
  return bytes > 0 || known.heart_beat.version > version ? kEncodedState + bytes : 0;
}

EndpointState newer_part(const EndpointState& known, int32_t version) {
  EndpointState out;
  out.heart_beat = known.heart_beat;
  for (const auto& [state, value] : known.states) {
    if (value.version > version) out.states.emplace(state, value);
  }
  return out;
}

// Only nodes before 4.0 need STATUS, INTERNAL_IP and RPC_ADDRESS.
bool is_modern_release(std::string_view version) {
  size_t dot = version.find('.');
  return dot != version.npos && (dot > 1 || version[0] >= '4');
}

}  // namespace

int32_t next_generation(std::optional<int32_t> saved, int64_t now_millis) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t now = now_millis / kMillisPerSecond;
  const int64_t next = saved ? *saved + int64_t{1} : 0;
  if (next >= now) LOG_WARN("Using stored Gossip Generation {}: it is not below the system time {}", next, now);
  return static_cast<int32_t>(std::min(std::max(next, now), kMost));
}

Gossiper::Gossiper(Config config, GossipSubscriber& subscriber, GossipTime now)
    : config_(std::move(config)),
      subscriber_(subscriber),
      detector_(config_.detector, now.nanos),
      now_(now),
      last_message_millis_(now.millis) {
  build_seeds_list();
}

void Gossiper::build_seeds_list() {
  for (const InetAddressAndPort& seed : config_.seeds) {
    if (!is_local(seed)) seeds_.insert(seed);
  }
}

Gossiper::StatePtr Gossiper::find(const InetAddressAndPort& endpoint) const {
  auto found = states_.find(endpoint);
  return found == states_.end() ? nullptr : found->second;
}

const EndpointState* Gossiper::state(const InetAddressAndPort& endpoint) const { return find(endpoint).get(); }

bool Gossiper::is_alive(const InetAddressAndPort& endpoint) const {
  if (is_local(endpoint)) return true;
  const EndpointState* found = state(endpoint);
  return found != nullptr && found->is_alive;
}

// --- Life of the local node

Status Gossiper::start(int32_t generation, const LocalStates& states, GossipTime now) {
  TRY(check_sizes(states));
  now_ = now;
  build_seeds_list();
  auto [local, is_first] = states_.try_emplace(config_.local);
  if (is_first) {
    local->second = std::make_shared<EndpointState>();
    local->second->heart_beat = {generation, 0};
    local->second->updated_at = now.nanos;
  }
  for (const auto& [state, value] : states) add_state(*local->second, state, value, next_version());
  is_enabled_ = true;
  started_nanos_ = now.nanos;
  asks_for_shadow_states_ = true;
  greetings_left_ = kMostGreetings;
  return {};
}

void Gossiper::stop(bool has_joined, GossipTime now) {
  now_ = now;
  StatePtr local = find(config_.local);
  if (local && has_joined && !is_silent_shutdown_state(*local)) {
    LOG_INFO("Announcing shutdown");
    const std::string value = state_values::shutdown(true);
    CHECK(set_local_states({{ApplicationState::kStatusWithPort, value}, {ApplicationState::kStatus, value}}, now).ok());
    for (const InetAddressAndPort& to : live_) send(to, GossipShutdown{*local});
  } else {
    LOG_WARN("No local state, state is in silent shutdown, or node hasn't joined, not announcing shutdown");
  }
  is_enabled_ = false;
}

void Gossiper::force_newer_generation() {
  if (StatePtr local = find(config_.local))
    local->heart_beat.generation = next_generation(local->heart_beat.generation, 0);
}

Status Gossiper::set_local_states(const LocalStates& states, GossipTime now) {
  TRY(check_sizes(states));
  now_ = now;
  StatePtr local = find(config_.local);
  CHECK(local != nullptr);
  for (const auto& [state, value] : states) {
    const VersionedValue made{value, next_version()};
    local->states[state] = made;
    subscriber_.on_change(config_.local, state, made);
  }
  return {};
}

void Gossiper::add_saved_endpoint(const InetAddressAndPort& endpoint, GossipTime now) {
  if (is_local(endpoint)) return;
  now_ = now;
  StatePtr& state = states_[endpoint];
  if (!state) state = std::make_shared<EndpointState>();
  state->heart_beat = HeartBeatState::empty();
  state->updated_at = now.nanos;
  silently_mark_dead(endpoint, state);
}

// --- Messages

// A message in this node's own name is a stranger's.
bool Gossiper::hears(const InetAddressAndPort& from) const {
  return (is_enabled_ || is_in_shadow_round_) && !is_local(from);
}

bool Gossiper::has_too_many(const InetAddressAndPort& from, const GossipDigests& digests) {
  if (digests.size() <= config_.max_endpoints) return false;
  if (auto suffix = refusals_.take(now_.nanos)) {
    LOG_WARN("Ignoring gossip from {}: {} digests, {} at most{}", from.to_string(), digests.size(),
             config_.max_endpoints, *suffix);
  }
  return true;
}

bool Gossiper::accepts(const InetAddressAndPort& from, const GossipDigestSyn& syn) {
  const bool same_cluster = syn.cluster == config_.cluster;
  if (same_cluster && syn.partitioner == config_.partitioner) return true;
  auto suffix = refusals_.take(now_.nanos);
  if (suffix && !same_cluster) {
    LOG_WARN("ClusterName mismatch from {} {}!={}{}", from.to_string(), syn.cluster, config_.cluster, *suffix);
  } else if (suffix) {
    LOG_WARN("Partitioner mismatch from {} {}!={}{}", from.to_string(), syn.partitioner, config_.partitioner, *suffix);
  }
  return false;
}

void Gossiper::on_syn(const InetAddressAndPort& from, const GossipDigestSyn& syn, int64_t created_millis,
                      GossipTime now) {
  now_ = now;
  if (!hears(from) || has_too_many(from, syn.digests)) return;
  if (!accepts(from, syn)) return;
  if (!is_enabled_) {
    // Both are in their shadow rounds: an empty answer says so. Only a node in a shadow round has no digests.
    if (!syn.digests.empty()) return;
    send(from, GossipDigestAck{});
    // The seed has said so itself: its answer to this node's SYN, lost perhaps because the seed did not listen yet, is not
    // waited for.
    if (seeds_.contains(from)) maybe_finish_shadow_round(from, true, {});
    return;
  }
  GossipDigestAck answer;
  if (syn.digests.empty()) {
    if (++shadow_answers_[from] > kMostShadowAnswers) {
      if (auto suffix = refusals_.take(now_.nanos)) {
        LOG_WARN("{} asks for all states more than {} times a second: it gets no answer{}", from.to_string(),
                 kMostShadowAnswers, *suffix);
      }
      return;
    }
    answer.states = examine_shadow_state();
  } else {
    examine(syn.digests, answer);
  }
  send(from, std::move(answer));
  last_message_millis_ = created_millis;
}

void Gossiper::on_ack(const InetAddressAndPort& from, GossipDigestAck ack, int64_t created_millis, GossipTime now) {
  now_ = now;
  if (!hears(from) || has_too_many(from, ack.digests)) return;
  if (is_in_shadow_round_) {
    const bool is_empty = ack.digests.empty() && ack.states.empty();
    maybe_finish_shadow_round(from, is_empty, std::move(ack.states));
    return;
  }
  if (!ack.states.empty()) {
    // An answer to the shadow round that comes late is none to a round of gossip.
    if (!has_sent_syn_) return;
    notify_failure_detector(ack.states);
    apply(from, std::move(ack.states));
  }
  for (GossipDigest& digest : ack.digests) {
    // Who asks about this node gets everything.
    if (is_local(digest.endpoint)) digest.max_version = HeartBeatState::kEmptyVersion;
  }
  send(from, GossipDigestAck2{newer_than(ack.digests)});
  last_message_millis_ = created_millis;
}

void Gossiper::on_ack2(const InetAddressAndPort& from, GossipDigestAck2 ack2, int64_t created_millis, GossipTime now) {
  now_ = now;
  if (!is_enabled_ || !hears(from)) return;
  notify_failure_detector(ack2.states);
  apply(from, std::move(ack2.states));
  last_message_millis_ = created_millis;
}

void Gossiper::on_shutdown(const InetAddressAndPort& from, GossipShutdown shutdown, int64_t created_millis,
                           GossipTime now) {
  now_ = now;
  StatePtr known = find(from);
  if (!is_enabled_ || !known || !hears(from)) return;
  // Version 12 does not say which life has ended. A node that has started again is told by its clock: a generation is the second
  // of its start. A shutdown that is taken for it would never end.
  if (!shutdown.state && created_millis / kMillisPerSecond < known->heart_beat.generation) {
    LOG_DEBUG("Ignoring shutdown message from {} because it is from before its start", from.to_string());
  } else if (!shutdown.state) {
    mark_as_shutdown(from);
  } else if (known->heart_beat.generation <= shutdown.state->heart_beat.generation) {
    mark_as_shutdown(from, std::move(*shutdown.state));
  } else {
    LOG_DEBUG("Ignoring shutdown message from {} because generation {} older than local {}", from.to_string(),
              shutdown.state->heart_beat.generation, known->heart_beat.generation);
  }
}

void Gossiper::on_echo_answered(const InetAddressAndPort& from, GossipTime now) {
  now_ = now;
  auto found = echoes_.find(from);
  if (found == echoes_.end()) return;
  StatePtr state = std::move(found->second);
  echoes_.erase(found);
  really_mark_alive(from, state);
  greet(from);
}

void Gossiper::on_echo_failed(const InetAddressAndPort& from) { echoes_.erase(from); }

// --- Examination and exchange of states

void Gossiper::examine(const GossipDigests& digests, GossipDigestAck& answer) {
  GossipDigests behind;
  for (const GossipDigest& digest : digests) {
    StatePtr known = find(digest.endpoint);
    if (!known || digest.generation > known->heart_beat.generation) {
      answer.digests.push_back({digest.endpoint, digest.generation, 0});
      continue;
    }
    const int32_t version = known->max_version();
    const bool same_generation = digest.generation == known->heart_beat.generation;
    if (same_generation && digest.max_version == version) continue;
    if (!same_generation || is_local(digest.endpoint)) {
      behind.push_back({digest.endpoint, digest.generation, HeartBeatState::kEmptyVersion});
    } else if (digest.max_version > version) {
      answer.digests.push_back({digest.endpoint, digest.generation, version});
    } else {
      behind.push_back(digest);
    }
  }
  answer.states = newer_than(behind);
}

// The states that are newer than these. When they are too much for one message, the small ones go first: no heartbeat waits for
// somebody else's long values.
EndpointStates Gossiper::newer_than(const GossipDigests& digests) const {
  std::vector<std::pair<size_t, const GossipDigest*>> order;
  size_t all = 0;
  for (const GossipDigest& digest : digests) {
    StatePtr known = find(digest.endpoint);
    const size_t bytes = known ? newer_bytes(*known, digest.max_version) : 0;
    if (bytes > 0) order.emplace_back(bytes, &digest);
    all += bytes;
  }
  if (all > config_.max_bytes_to_send) std::ranges::stable_sort(order, {}, [](const auto& e) { return e.first; });
  EndpointStates out;
  size_t sent = 0;
  for (const auto& [bytes, digest] : order) {
    sent += bytes;
    if (!out.empty() && sent > config_.max_bytes_to_send) break;
    out[digest->endpoint] = newer_part(*find(digest->endpoint), digest->max_version);
  }
  return out;
}

EndpointStates Gossiper::examine_shadow_state() {
  EndpointStates out;
  for (const auto& [endpoint, known] : states_) {
    EndpointState& copy = out[endpoint] = *known;
    // Gossip has nothing of a node that was down when the whole cluster started again; the system tables may.
    if (!copy.is_empty_without_status()) continue;
    for (auto& [state, value] : subscriber_.saved_states(endpoint)) add_state(copy, state, value, next_version());
  }
  return out;
}

void Gossiper::notify_failure_detector(const EndpointStates& states) {
  for (const auto& [endpoint, remote] : states) {
    StatePtr known = find(endpoint);
    if (!known) continue;
    const int32_t generation = known->heart_beat.generation;
    if (remote.heart_beat.generation > generation) {
      known->updated_at = now_.nanos;
      // It was dead and starts again, or another takes its place: the intervals are learned anew.
      if (!known->is_alive) detector_.remove(endpoint);
      detector_.report(endpoint, now_.nanos);
    } else if (remote.heart_beat.generation == generation && remote.heart_beat.version > known->max_version()) {
      known->updated_at = now_.nanos;
      detector_.report(endpoint, now_.nanos);
    }
  }
}

// A node before 4.0 may be there. Once all are known not to be, nobody asks again.
bool Gossiper::may_have_legacy_nodes() {
  const bool is_alone = states_.empty() || (states_.size() == 1 && states_.contains(config_.local));
  if (only_modern_nodes_ || !is_enabled_ || is_alone) return false;
  for (const auto& [endpoint, known] : states_) {
    if (just_removed_.contains(endpoint) || is_dead_state(*known)) continue;
    if (!is_modern_release(known->text(ApplicationState::kReleaseVersion))) return true;
  }
  only_modern_nodes_ = true;
  return false;
}

void Gossiper::count_bytes() {
  bytes_ = bytes_of_strangers_ = 0;
  for (const auto& [endpoint, known] : states_) {
    const size_t bytes = known->bytes();
    bytes_ += bytes;
    if (!subscriber_.is_member(endpoint)) bytes_of_strangers_ += bytes;
  }
}

// A node that says it is in the ring will be a member in a moment, if it tells the truth.
bool Gossiper::has_room(const InetAddressAndPort& from, const InetAddressAndPort& endpoint, const EndpointState& told,
                        size_t before, size_t after) {
  const bool is_stranger = told.status() != state_values::kNormal && !subscriber_.is_member(endpoint);
  const size_t grown = after > before ? after - before : 0;
  const size_t all = bytes_ + grown, of_strangers = bytes_of_strangers_ + (is_stranger ? grown : 0);
  const bool fits = after <= config_.max_bytes_of_one && all <= config_.max_bytes &&
                    (!is_stranger || of_strangers <= config_.max_bytes_of_strangers);
  if (grown == 0 || fits) {
    bytes_ = all;
    bytes_of_strangers_ = of_strangers;
    return true;
  }
  if (auto suffix = refusals_.take(now_.nanos)) {
    LOG_WARN(
        "Ignoring gossip about {} from {}: its values would take {} bytes, {} at most; {} would be those of all, {} at "
        "most; {} those of nodes outside the ring, {} at most{}",
        endpoint.to_string(), from.to_string(), after, config_.max_bytes_of_one, all, config_.max_bytes, of_strangers,
        config_.max_bytes_of_strangers, *suffix);
  }
  return false;
}

void Gossiper::apply(const InetAddressAndPort& from, EndpointStates states) {
  const bool keep_legacy = may_have_legacy_nodes();
  using Entry = EndpointStates::value_type;
  std::vector<Entry*> order;
  for (Entry& entry : states) order.push_back(&entry);
  // Nodes that join come last: the one that they replace has to be known. Then the older lives before the younger.
  auto key = [](const Entry* e) {
    return std::tuple(is_bootstrapping_state(e->second), e->second.heart_beat.generation, e->first);
  };
  std::sort(order.begin(), order.end(), [&](const Entry* a, const Entry* b) { return key(a) < key(b); });
  for (Entry* entry : order) {
    if (is_local(entry->first) || just_removed_.contains(entry->first)) continue;
    entry->second.updated_at = now_.nanos;
    if (!keep_legacy) entry->second.remove_legacy_states();
    apply_one(from, entry->first, std::move(entry->second), keep_legacy);
  }
}

void Gossiper::apply_one(const InetAddressAndPort& from, const InetAddressAndPort& endpoint, EndpointState remote,
                         bool keep_legacy) {
  StatePtr known = find(endpoint);
  const bool is_of_new_life = !known || remote.heart_beat.generation > known->heart_beat.generation;
  if (is_of_new_life && !is_whole(remote)) {
    LOG_DEBUG("Ignoring gossip about {}: it is a part of a state of which this node has no other part",
              endpoint.to_string());
    return;
  }
  if (!known) {
    if (states_.size() >= config_.max_endpoints) {
      if (auto suffix = refusals_.take(now_.nanos)) {
        LOG_WARN("Ignoring gossip about {}: {} endpoints are known, the most{}", endpoint.to_string(), states_.size(),
                 *suffix);
      }
      return;
    }
    if (!has_room(from, endpoint, remote, 0, remote.bytes())) return;
    detector_.report(endpoint, now_.nanos);
    handle_major_state_change(endpoint, std::make_shared<EndpointState>(std::move(remote)));
    return;
  }
  const int32_t generation = remote.heart_beat.generation;
  const int64_t now = now_.millis / kMillisPerSecond;
  if (generation > now + kMaxGenerationDifference) {
    if (auto suffix = refusals_.take(now_.nanos)) {
      LOG_WARN("received an invalid gossip generation for peer {}; local time = {}, received generation = {}{}",
               endpoint.to_string(), now, generation, *suffix);
    }
  } else if (generation > known->heart_beat.generation) {
    if (!has_room(from, endpoint, remote, known->bytes(), remote.bytes())) return;
    handle_major_state_change(endpoint, std::make_shared<EndpointState>(std::move(remote)));
  } else if (generation == known->heart_beat.generation) {
    if (remote.max_version() > known->max_version()) {
      apply_newer_values(from, endpoint, known, remote, keep_legacy);
    }
    if (!known->is_alive && !is_dead_state(*known)) mark_alive(endpoint, known);
  }
}

void Gossiper::apply_newer_values(const InetAddressAndPort& from, const InetAddressAndPort& endpoint,
                                  const StatePtr& local, const EndpointState& remote, bool keep_legacy) {
  DCHECK(local->heart_beat.generation == remote.heart_beat.generation);
  const size_t before = local->bytes();
  size_t after = before;
  std::vector<std::pair<ApplicationState, const VersionedValue*>> newer;
  for (const auto& [state, value] : remote.states) {
    const VersionedValue* known = local->find(state);
    if (known != nullptr && known->version >= value.version) continue;
    newer.emplace_back(state, &value);
    after += sizeof(value) + value.value.size();
    if (known != nullptr) after -= sizeof(value) + known->value.size();
  }
  if (!has_room(from, endpoint, remote, before, after)) return;
  for (const auto& [state, value] : newer) local->states[state] = *value;
  local->heart_beat = remote.heart_beat;
  local->updated_at = now_.nanos;
  if (!keep_legacy) local->remove_legacy_states();

  // The status first: a node has to be a member before the rest of it matters. A state is not told of
  // when its successor with a port is there.
  auto is_status = [](ApplicationState s) {
    return s == ApplicationState::kStatus || s == ApplicationState::kStatusWithPort;
  };
  auto is_superseded = [&](ApplicationState s) {
    if (s == ApplicationState::kStatus) return local->has(ApplicationState::kStatusWithPort);
    if (s == ApplicationState::kInternalIp) return local->has(ApplicationState::kInternalAddressAndPort);
    if (s == ApplicationState::kRpcAddress) return local->has(ApplicationState::kNativeAddressAndPort);
    return false;
  };
  for (bool statuses : {true, false}) {
    for (const auto& [state, value] : newer) {
      if (is_status(state) == statuses && !is_superseded(state)) subscriber_.on_change(endpoint, state, *value);
    }
  }
}

void Gossiper::handle_major_state_change(const InetAddressAndPort& endpoint, StatePtr state) {
  const StatePtr before = find(endpoint);
  DCHECK(!is_local(endpoint));
  // An assassination raises the generation of the state in its place.
  DCHECK(!before || before == state || before->heart_beat.generation < state->heart_beat.generation);
  if (!is_dead_state(*state)) {
    LOG_INFO("Node {} {}", endpoint.to_string(), before ? "has restarted, now UP" : "is now part of the cluster");
  }
  states_[endpoint] = state;
  if (before) subscriber_.on_restart(endpoint, *before);
  if (!is_dead_state(*state)) {
    mark_alive(endpoint, state);
  } else {
    mark_dead(endpoint, state);
  }
  subscriber_.on_join(endpoint, *state);
  StatePtr current = find(endpoint);
  if (current && current->status() == state_values::kShutdown) mark_as_shutdown(endpoint);
}

// --- Liveness

void Gossiper::mark_alive(const InetAddressAndPort& endpoint, const StatePtr& state) {
  state->is_alive = false;
  StatePtr& waiting = echoes_[endpoint];
  if (waiting == state) return;
  waiting = state;
  send(endpoint, GossipEcho{});
}

void Gossiper::really_mark_alive(const InetAddressAndPort& endpoint, const StatePtr& state) {
  DCHECK(!is_local(endpoint));
  DCHECK(find(endpoint) == state);
  state->is_alive = true;
  state->updated_at = now_.nanos;
  live_.insert(endpoint);
  unreachable_.erase(endpoint);
  expire_times_.erase(endpoint);
  LOG_INFO("InetAddress {} is now UP", endpoint.to_string());
  subscriber_.on_alive(endpoint, *state);
}

void Gossiper::mark_dead(const InetAddressAndPort& endpoint, const StatePtr& state) {
  silently_mark_dead(endpoint, state);
  LOG_INFO("InetAddress {} is now DOWN", endpoint.to_string());
  subscriber_.on_dead(endpoint, *state);
}

void Gossiper::silently_mark_dead(const InetAddressAndPort& endpoint, const StatePtr& state) {
  DCHECK(!is_local(endpoint));
  state->is_alive = false;
  echoes_.erase(endpoint);
  live_.erase(endpoint);
  unreachable_[endpoint] = now_.nanos;
}

void Gossiper::convict(const InetAddressAndPort& endpoint, double phi) {
  StatePtr state = find(endpoint);
  if (!state || !state->is_alive) return;
  LOG_DEBUG("Convicting {} with status {}, phi {}", endpoint.to_string(), state->status(), phi);
  output_.interrupts.push_back(endpoint);
  if (state->status() == state_values::kShutdown) {
    mark_as_shutdown(endpoint);
  } else {
    mark_dead(endpoint, state);
  }
}

// A node of version 12 said no more than that it stops: the rest is said in its name.
void Gossiper::mark_as_shutdown(const InetAddressAndPort& endpoint) {
  StatePtr state = find(endpoint);
  if (!state || state->states.empty()) return;
  add_state(*state, ApplicationState::kStatusWithPort, state_values::shutdown(true), next_version());
  const VersionedValue told = state->states[ApplicationState::kStatusWithPort];
  add_state(*state, ApplicationState::kStatus, state_values::shutdown(true), next_version());
  add_state(*state, ApplicationState::kRpcReady, state_values::boolean(false), next_version());
  state->heart_beat.version = std::numeric_limits<int32_t>::max();
  mark_dead(endpoint, state);
  subscriber_.on_change(endpoint, ApplicationState::kStatusWithPort, told);
}

void Gossiper::mark_as_shutdown(const InetAddressAndPort& endpoint, EndpointState told) {
  StatePtr known = find(endpoint);
  if (!known || known->states.empty()) return;
  const VersionedValue* status = told.find(ApplicationState::kStatusWithPort);
  if (status == nullptr || told.status() != state_values::kShutdown) {
    LOG_WARN("Ignoring a shutdown message from {} without the status of a shutdown", endpoint.to_string());
    return;
  }
  if (!has_room(endpoint, endpoint, told, known->bytes(), told.bytes())) return;
  const VersionedValue value = *status;
  auto state = std::make_shared<EndpointState>(std::move(told));
  state->heart_beat.version = std::numeric_limits<int32_t>::max();
  state->updated_at = now_.nanos;
  states_[endpoint] = state;
  mark_dead(endpoint, state);
  subscriber_.on_change(endpoint, ApplicationState::kStatusWithPort, value);
}

}  // namespace cassandra_like
