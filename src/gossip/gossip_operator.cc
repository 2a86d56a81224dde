// Gossiper: what an operator may order, and ask.
#include <algorithm>
#include <array>

#include "base/log.h"
#include "gossip/gossiper.h"
#include "gossip/state_values.h"

namespace cassandra_like {
namespace {

// A made-up heartbeat of a node that nobody here knows.
constexpr int32_t kUnknownHeartBeat = 9999;
constexpr int64_t kUnknownGenerationAheadMillis = 60'000;

// The greatest generation is followed by the smallest, Java lets it overflow.
int32_t plus_one(int32_t generation) { return static_cast<int32_t>(static_cast<uint32_t>(generation) + 1); }

Error still_alive(const InetAddressAndPort& endpoint, const char* what) {
  return Error(
      ErrorCode::kServerError,
      fmt::format("Endpoint still alive: {} {} changed while trying to assassinate it", endpoint.to_string(), what));
}

}  // namespace

bool Gossiper::started_later(const InetAddressAndPort& endpoint, const InetAddressAndPort& than) const {
  const EndpointState *a = state(endpoint), *b = state(than);
  if (a == nullptr || b == nullptr) return a != nullptr;
  return a->heart_beat.generation > b->heart_beat.generation;
}

Gossiper::Ticket Gossiper::begin_assassination(const InetAddressAndPort& endpoint) const {
  LOG_WARN("Assassinating {} via gossip", endpoint.to_string());
  const EndpointState* known = state(endpoint);
  if (known == nullptr) return {endpoint, {}, false, 0};
  LOG_INFO("Sleeping for {}ms to ensure {} does not change", config_.ring_delay_ms, endpoint.to_string());
  return {endpoint, known->heart_beat, true, config_.ring_delay_ms};
}

Status Gossiper::finish_assassination(const Ticket& ticket, std::span<const Token> tokens, GossipTime now,
                                      Random& random) {
  now_ = now;
  StatePtr known = find(ticket.endpoint);
  if (ticket.is_known && known) {
    if (known->heart_beat.generation != ticket.seen.generation) return still_alive(ticket.endpoint, "generation");
    if (known->heart_beat.version != ticket.seen.version) return still_alive(ticket.endpoint, "heartbeat");
  }
  auto state = known ? known : std::make_shared<EndpointState>();
  if (ticket.is_known) {
    if (!known) state->heart_beat = ticket.seen;
    state->heart_beat.generation = plus_one(state->heart_beat.generation);
  } else if (!known) {
    state->heart_beat = {static_cast<int32_t>((now.millis + kUnknownGenerationAheadMillis) / 1000), kUnknownHeartBeat};
  } else {
    state->heart_beat.generation = plus_one(state->heart_beat.generation);
  }
  state->updated_at = now.nanos;
  const std::array<Token, 1> any = {static_cast<Token>(random.next())};
  const std::string left =
      state_values::left(tokens.empty() ? std::span<const Token>(any) : tokens, now.millis + config_.very_long_time_ms);
  state->states[ApplicationState::kStatusWithPort] = {left, next_version()};
  state->states[ApplicationState::kStatus] = {left, next_version()};
  handle_major_state_change(ticket.endpoint, state);
  LOG_WARN("Finished assassinating {}", ticket.endpoint.to_string());
  return {};
}

Result<Gossiper::Ticket> Gossiper::begin_removal(const InetAddressAndPort& endpoint) const {
  const EndpointState* known = state(endpoint);
  if (known == nullptr) return Error(ErrorCode::kServerError, endpoint.to_string() + " is not known to gossip");
  LOG_INFO("Sleeping for {}ms to ensure {} does not change", config_.ring_delay_ms, endpoint.to_string());
  return Ticket{endpoint, known->heart_beat, true, config_.ring_delay_ms};
}

Status Gossiper::advertise_removing(const Ticket& ticket, const Uuid& host_id, const Uuid& local_host_id,
                                    GossipTime now) {
  now_ = now;
  StatePtr known = find(ticket.endpoint);
  if (!known || known->heart_beat.generation != ticket.seen.generation) {
    return Error(ErrorCode::kServerError,
                 fmt::format("Endpoint {} generation changed while trying to remove it", ticket.endpoint.to_string()));
  }
  LOG_INFO("Advertising removal for {}", ticket.endpoint.to_string());
  known->updated_at = now.nanos;
  known->heart_beat.generation = plus_one(known->heart_beat.generation);
  const std::string removing = state_values::removing(host_id);
  known->states[ApplicationState::kStatusWithPort] = {removing, next_version()};
  known->states[ApplicationState::kStatus] = {removing, next_version()};
  known->states[ApplicationState::kRemovalCoordinator] = {state_values::removal_coordinator(local_host_id),
                                                          next_version()};
  return {};
}

Status Gossiper::advertise_token_removed(const InetAddressAndPort& endpoint, const Uuid& host_id, GossipTime now) {
  now_ = now;
  StatePtr known = find(endpoint);
  if (!known) return Error(ErrorCode::kServerError, endpoint.to_string() + " is not known to gossip");
  known->updated_at = now.nanos;
  known->heart_beat.generation = plus_one(known->heart_beat.generation);
  const int64_t expires = now.millis + config_.very_long_time_ms;
  const std::string removed = state_values::removed(host_id, expires);
  known->states[ApplicationState::kStatusWithPort] = {removed, next_version()};
  known->states[ApplicationState::kStatus] = {removed, next_version()};
  LOG_INFO("Completing removal of {}", endpoint.to_string());
  add_expire_time(endpoint, expires);
  return {};
}

std::vector<InetAddressAndPort> Gossiper::reload_seeds(std::span<const InetAddressAndPort> seeds) {
  std::set<InetAddressAndPort> others;
  for (const InetAddressAndPort& seed : seeds) {
    if (!is_local(seed)) others.insert(seed);
  }
  if (!others.empty()) {
    config_.seeds.assign(seeds.begin(), seeds.end());
    seeds_ = std::move(others);
  }
  return {seeds_.begin(), seeds_.end()};
}

bool Gossiper::seen_any_seed() const {
  return std::any_of(states_.begin(), states_.end(), [&](const auto& entry) {
    if (seeds_.contains(entry.first)) return true;
    const EndpointState& known = *entry.second;
    const auto internal = known.has(ApplicationState::kInternalAddressAndPort)
                              ? ApplicationState::kInternalAddressAndPort
                              : ApplicationState::kInternalIp;
    auto address = InetAddressAndPort::parse(known.text(internal), config_.local.port);
    return address && seeds_.contains(*address);
  });
}

std::string Gossiper::info(bool with_port) const {
  std::string out;
  for (const auto& [endpoint, known] : states_) {
    out += "/" + (with_port ? endpoint.host_and_port() : endpoint.host()) + "\n";
    out += fmt::format("  generation:{}\n  heartbeat:{}\n", known->heart_beat.generation, known->heart_beat.version);
    for (const auto& [state, value] : known->states) {
      if (state == ApplicationState::kTokens) continue;
      out += fmt::format("  {}:{}:{}\n", application_state_name(state), value.version, value.value);
    }
    const VersionedValue* tokens = known->find(ApplicationState::kTokens);
    out += tokens != nullptr ? fmt::format("  TOKENS:{}:<hidden>\n", tokens->version) : "  TOKENS: not present\n";
  }
  return out;
}

}  // namespace cassandra_like
