#include "gossip/membership.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/log.h"

namespace cassandra_like {
namespace {

using state_values::StatusWord;

bool is_shown_to_drivers(ApplicationState state) {
  switch (state) {
    case ApplicationState::kReleaseVersion:
    case ApplicationState::kDc:
    case ApplicationState::kRack:
    case ApplicationState::kRpcAddress:
    case ApplicationState::kNativeAddressAndPort:
    case ApplicationState::kSchema:
    case ApplicationState::kHostId:
      return true;
    default:
      return false;
  }
}

}  // namespace

Membership::Membership(Config config)
    : config_(std::move(config)), driver_events_(config_.local, config_.local_native) {
  host_ids_[config_.local] = config_.host_id;
  endpoints_of_host_ids_[config_.host_id] = config_.local;
}

void Membership::attach(Gossiper& gossiper) {
  DCHECK(gossiper_ == nullptr);
  gossiper_ = &gossiper;
}

void Membership::add_saved(const PeerRow& row, GossipTime now) {
  saved_[row.peer] = row;
  if (is_local(row.peer)) return;
  set_normal_tokens(row.peer, row.tokens);
  set_host_id(row.peer, row.host_id);
  gossiper_->add_saved_endpoint(row.peer, now);
}

MembershipChanges Membership::take_changes() {
  changes_.events = driver_events_.take();
  return std::exchange(changes_, {});
}

// --- The ring's maps

void Membership::set_normal_tokens(const InetAddressAndPort& endpoint, const std::vector<Token>& tokens) {
  if (tokens.empty()) return;
  boot_tokens_.erase(endpoint);
  tokens_.erase(endpoint);
  members_.insert(endpoint);
  leaving_.erase(endpoint);
  replacing_.erase(endpoint);
  moving_.erase(endpoint);
  for (Token token : tokens) {
    if (auto before = tokens_.owner(token); before && *before != endpoint) {
      LOG_WARN("Token {} changing ownership from {} to {}", token, before->to_string(), endpoint.to_string());
      changes_.peers_updated.insert(*before);
    }
    tokens_.give(token, endpoint);
  }
  changes_.peers_updated.insert(endpoint);
  ring_is_stale_ = changes_.ring = true;
  DCHECK(maps_agree());
}

bool Membership::add_boot_tokens(const InetAddressAndPort& endpoint, const std::vector<Token>& tokens,
                                 const InetAddressAndPort* replaced) {
  if (tokens.empty()) {
    LOG_ERROR("Node {} bootstraps without tokens: ignored", endpoint.to_string());
    return false;
  }
  for (Token token : tokens) {
    for (const auto* owners : {&boot_tokens_, &tokens_}) {
      const auto owner = owners->owner(token);
      if (!owner || *owner == endpoint) continue;
      if (owners == &tokens_ && replaced != nullptr && *owner == *replaced) continue;
      LOG_ERROR("Bootstrap Token collision between {} and {} (token {}): ignored", owner->to_string(),
                endpoint.to_string(), token);
      return false;
    }
  }
  boot_tokens_.erase(endpoint);
  for (Token token : tokens) boot_tokens_.give(token, endpoint);
  ring_is_stale_ = changes_.ring = true;
  return true;
}

bool Membership::set_host_id(const InetAddressAndPort& endpoint, const Uuid& host_id) {
  auto owner = endpoints_of_host_ids_.find(host_id);
  if (owner != endpoints_of_host_ids_.end() && owner->second != endpoint) {
    if (gossiper_->is_alive(owner->second)) {
      LOG_ERROR("Host ID collision between active endpoint {} and {} (id={}): ignored", owner->second.to_string(),
                endpoint.to_string(), host_id.to_string());
      return false;
    }
    host_ids_.erase(owner->second);
  }
  auto [before, is_first] = host_ids_.try_emplace(endpoint, host_id);
  if (!is_first && before->second != host_id) {
    LOG_WARN("Changing {}'s host ID from {} to {}", endpoint.to_string(), before->second.to_string(),
             host_id.to_string());
    endpoints_of_host_ids_.erase(before->second);
    before->second = host_id;
  }
  endpoints_of_host_ids_[host_id] = endpoint;
  ring_is_stale_ = changes_.ring = true;
  DCHECK(maps_agree());
  return true;
}

void Membership::erase(const InetAddressAndPort& endpoint) {
  boot_tokens_.erase(endpoint);
  tokens_.erase(endpoint);
  members_.erase(endpoint);
  leaving_.erase(endpoint);
  replacing_.erase(endpoint);
  moving_.erase(endpoint);
  if (auto found = host_ids_.find(endpoint); found != host_ids_.end()) {
    auto owner = endpoints_of_host_ids_.find(found->second);
    if (owner != endpoints_of_host_ids_.end() && owner->second == endpoint) endpoints_of_host_ids_.erase(owner);
    host_ids_.erase(found);
  }
  ring_is_stale_ = changes_.ring = true;
  DCHECK(maps_agree());
}

bool Membership::maps_agree() const {
  const auto has_id = [this](const auto& entry) {
    const auto found = host_ids_.find(entry.second);
    return found != host_ids_.end() && found->second == entry.first;
  };
  const auto is_of_member = [this](const auto& entry) { return is_member(entry.first); };
  const auto is_known_member = [this](const InetAddressAndPort& endpoint) { return is_member(endpoint); };
  return host_ids_.size() == endpoints_of_host_ids_.size() && std::ranges::all_of(endpoints_of_host_ids_, has_id) &&
         std::ranges::all_of(tokens_.nodes(), is_of_member) && std::ranges::all_of(leaving_, is_known_member);
}

// --- Statuses

void Membership::handle_status(const InetAddressAndPort& endpoint, const std::string& text) {
  auto status = state_values::parse_status(text, config_.local.port);
  if (!status.ok()) {
    LOG_ERROR("Node {}: {}", endpoint.to_string(), status.error().message());
    return;
  }
  switch (status->status) {
    case StatusWord::kBoot:
      return handle_boot(endpoint);
    case StatusWord::kBootReplace:
      return handle_boot_replace(endpoint, *status->replaced);
    case StatusWord::kNormal:
      return handle_normal(endpoint, true);
    case StatusWord::kShutdown:
      return handle_normal(endpoint, false);
    case StatusWord::kRemoving:
    case StatusWord::kRemoved:
      return handle_removing(endpoint, *status);
    case StatusWord::kLeaving:
      return handle_leaving(endpoint);
    case StatusWord::kLeft:
      return handle_left(endpoint, *status->expire_time);
    case StatusWord::kMoving:
      return handle_moving(endpoint, *status->token);
    case StatusWord::kNone:
    case StatusWord::kHibernate:
    case StatusWord::kOther:
      return;
  }
}

void Membership::handle_boot(const InetAddressAndPort& endpoint) {
  auto host_id = gossiped_host_id(endpoint);
  if (!host_id) return;
  if (is_member(endpoint)) {
    if (!is_leaving(endpoint)) LOG_INFO("Node {} state jump to bootstrap", endpoint.to_string());
    erase(endpoint);
  }
  if (add_boot_tokens(endpoint, gossiped_tokens(endpoint), nullptr)) set_host_id(endpoint, *host_id);
}

void Membership::handle_boot_replace(const InetAddressAndPort& endpoint, const InetAddressAndPort& old_node) {
  if (gossiper_->is_alive(old_node)) {
    LOG_ERROR("Node {} is trying to replace alive node {}.", endpoint.to_string(), old_node.to_string());
    return;
  }
  auto replaced = replacing_.find(endpoint);
  if (replaced != replacing_.end() && replaced->second != old_node) {
    LOG_ERROR("Node {} is already replacing {} but is trying to replace {}.", endpoint.to_string(),
              replaced->second.to_string(), old_node.to_string());
    return;
  }
  auto host_id = gossiped_host_id(endpoint);
  std::vector<Token> wanted = gossiped_tokens(endpoint);
  std::sort(wanted.begin(), wanted.end());
  if (!host_id) return;
  if (wanted != tokens(old_node)) {
    LOG_ERROR("Node {} is trying to replace node {} with a different set of tokens.", endpoint.to_string(),
              old_node.to_string());
    return;
  }
  if (!add_boot_tokens(endpoint, wanted, &old_node)) return;
  replacing_[endpoint] = old_node;
  set_host_id(endpoint, *host_id);
}

void Membership::handle_normal(const InetAddressAndPort& endpoint, bool is_normal) {
  const std::vector<Token> wanted = gossiped_tokens(endpoint);
  if (is_member(endpoint)) {
    LOG_INFO("Node {} state jump to {}", endpoint.to_string(),
             is_normal ? state_values::kNormal : state_values::kShutdown);
  }
  if (wanted.empty() && is_normal) {
    LOG_ERROR("Node {} is in state normal but it has no tokens", endpoint.to_string());
  }
  std::set<InetAddressAndPort> to_remove;
  if (auto replaced = replacing_.find(endpoint); replaced != replacing_.end()) {
    LOG_INFO("Node {} will complete replacement of {}", endpoint.to_string(), replaced->second.to_string());
    if (gossiper_->is_alive(replaced->second)) {
      LOG_ERROR("Node {} cannot complete replacement of alive node {}.", endpoint.to_string(),
                replaced->second.to_string());
      return;
    }
    to_remove.insert(replaced->second);
  }
  auto host_id = gossiped_host_id(endpoint);
  if (!host_id) return;
  claim_host_id(endpoint, *host_id, to_remove);
  const bool was_member = is_member(endpoint), was_moving = moving_.contains(endpoint);
  claim_tokens(endpoint, wanted, std::move(to_remove));
  changes_.peers_updated.insert(endpoint);
  if (was_moving) {
    driver_events_.moved(endpoint, native_address(endpoint));
  } else if (!was_member && is_member(endpoint) && is_normal && !is_local(endpoint)) {
    driver_events_.joined(endpoint, native_address(endpoint), state(endpoint)->is_rpc_ready());
  }
}

void Membership::claim_host_id(const InetAddressAndPort& endpoint, const Uuid& host_id,
                               std::set<InetAddressAndPort>& to_remove) {
  const auto existing = endpoint_of(host_id);
  if (!existing || *existing == endpoint) {
    set_host_id(endpoint, host_id);
  } else if (is_local(*existing)) {
    LOG_WARN("Not updating host ID {} for {} because it's mine", host_id.to_string(), endpoint.to_string());
    erase(endpoint);
    to_remove.insert(endpoint);
  } else if (gossiper_->started_later(endpoint, *existing)) {
    LOG_WARN("Host ID collision for {} between {} and {}; {} is the new owner", host_id.to_string(),
             existing->to_string(), endpoint.to_string(), endpoint.to_string());
    const InetAddressAndPort old = *existing;
    erase(old);
    to_remove.insert(old);
    set_host_id(endpoint, host_id);
  } else {
    LOG_WARN("Host ID collision for {} between {} and {}; ignored {}", host_id.to_string(), existing->to_string(),
             endpoint.to_string(), endpoint.to_string());
    erase(endpoint);
    to_remove.insert(endpoint);
  }
}

void Membership::claim_tokens(const InetAddressAndPort& endpoint, const std::vector<Token>& wanted,
                              std::set<InetAddressAndPort> to_remove) {
  std::vector<Token> won;
  std::map<InetAddressAndPort, std::vector<Token>> contested;  // by their owner
  for (Token token : wanted) {
    const auto owner = tokens_.owner(token);
    if (!owner || *owner == endpoint) {
      won.push_back(token);
    } else {
      contested[*owner].push_back(token);
    }
  }
  for (const auto& [current, both] : contested) {
    auto replaced = replacing_.find(endpoint);
    const bool replaces = replaced != replacing_.end() && replaced->second == current;
    const bool is_new_owner = replaces || gossiper_->started_later(endpoint, current);
    LOG_INFO("Nodes {} and {} have the same token {}{}. {}", endpoint.to_string(), current.to_string(), both.front(),
             both.size() == 1 ? "" : fmt::format(" and {} more", both.size() - 1),
             is_new_owner ? fmt::format("{} is the new owner", endpoint.to_string())
                          : fmt::format(" Ignoring {}", endpoint.to_string()));
    if (!is_new_owner) continue;
    won.insert(won.end(), both.begin(), both.end());
    // A node whose one token goes is gone. One that loses the last of several stays, without tokens.
    if (tokens(current).size() == 1) to_remove.insert(current);
  }
  set_normal_tokens(endpoint, won);
  DCHECK(std::ranges::all_of(won, [&](Token token) { return tokens_.owner(token) == endpoint; }));
  for (const InetAddressAndPort& gone : to_remove) {
    if (is_local(gone)) continue;
    remove_from_cluster(gone);
    DCHECK(!is_member(gone) && !host_id(gone));
  }
}

// A node that leaves or moves had its tokens before, whether or not this node has heard of it.
void Membership::ensure_tokens(const InetAddressAndPort& endpoint, std::string_view status) {
  std::vector<Token> wanted = gossiped_tokens(endpoint);
  std::sort(wanted.begin(), wanted.end());
  if (!is_member(endpoint)) {
    LOG_INFO("Node {} state jump to {}", endpoint.to_string(), status);
    claim_tokens(endpoint, wanted, {});
  } else if (wanted != tokens(endpoint)) {
    LOG_WARN("Node {} '{}' token mismatch. Long network partition?", endpoint.to_string(), status);
    claim_tokens(endpoint, wanted, {});
  }
}

void Membership::handle_leaving(const InetAddressAndPort& endpoint) {
  ensure_tokens(endpoint, state_values::kLeaving);
  add_leaving(endpoint);
}

void Membership::handle_moving(const InetAddressAndPort& endpoint, Token token) {
  ensure_tokens(endpoint, state_values::kMoving);
  moving_[endpoint] = token;
  ring_is_stale_ = changes_.ring = true;
}

void Membership::handle_left(const InetAddressAndPort& endpoint, int64_t expire_time) {
  if (expire_time != 0) gossiper_->add_expire_time(endpoint, expire_time);
  for (Token token : gossiped_tokens(endpoint)) boot_tokens_.erase(token);
  excise(endpoint);
}

void Membership::handle_removing(const InetAddressAndPort& endpoint, const state_values::ParsedStatus& status) {
  if (is_local(endpoint)) {
    LOG_INFO("Received removenode gossip about myself. Is this node rejoining after an explicit removenode?");
    changes_.is_local_removed = true;
    return;
  }
  const bool is_removed = status.status == StatusWord::kRemoved;
  if (is_removed && *status.expire_time != 0) gossiper_->add_expire_time(endpoint, *status.expire_time);
  if (!is_member(endpoint)) {
    remove_from_cluster(endpoint);
    return;
  }
  if (is_removed) {
    excise(endpoint);
    return;
  }
  ensure_tokens(endpoint, state_values::kRemoving);
  add_leaving(endpoint);
  const EndpointState* known = state(endpoint);
  auto remover =
      state_values::parse_removal_coordinator(known ? known->text(ApplicationState::kRemovalCoordinator) : "");
  auto coordinator = remover.ok() ? endpoint_of(*remover) : std::nullopt;
  if (coordinator) changes_.replicas_to_restore.emplace_back(endpoint, *coordinator);
}

void Membership::add_leaving(const InetAddressAndPort& endpoint) {
  if (!is_member(endpoint)) return;
  leaving_.insert(endpoint);
  ring_is_stale_ = changes_.ring = true;
}

void Membership::excise(const InetAddressAndPort& endpoint) {
  LOG_INFO("Removing tokens for {}", endpoint.to_string());
  const InetAddressAndPort native = native_address(endpoint);
  if (auto id = host_id(endpoint); id && is_member(endpoint)) changes_.left_host_ids.push_back(*id);
  remove_from_cluster(endpoint);
  erase(endpoint);
  driver_events_.left(endpoint, native);
}

void Membership::remove_from_cluster(const InetAddressAndPort& endpoint) {
  gossiper_->remove_endpoint(endpoint);
  saved_.erase(endpoint);
  changes_.peers_updated.erase(endpoint);
  changes_.peers_removed.insert(endpoint);
}

// --- GossipSubscriber

void Membership::on_join(const InetAddressAndPort& endpoint, const EndpointState& state) {
  // on_change() may replace the state. The copy stays.
  const EndpointState joined = state;  // NOLINT(performance-unnecessary-copy-initialization)
  const auto status =
      joined.has(ApplicationState::kStatusWithPort) ? ApplicationState::kStatusWithPort : ApplicationState::kStatus;
  if (const VersionedValue* value = joined.find(status)) on_change(endpoint, status, *value);
  for (const auto& [key, value] : joined.states) {
    if (key != ApplicationState::kStatusWithPort && key != ApplicationState::kStatus) on_change(endpoint, key, value);
  }
}

void Membership::on_alive(const InetAddressAndPort& endpoint, const EndpointState&) {
  liveness_is_stale_ = changes_.liveness = true;
  if (is_member(endpoint)) notify_up(endpoint);
}

void Membership::on_dead(const InetAddressAndPort& endpoint, const EndpointState&) {
  liveness_is_stale_ = changes_.liveness = true;
  notify_down(endpoint);
}

void Membership::on_remove(const InetAddressAndPort& endpoint) { erase(endpoint); }

void Membership::on_restart(const InetAddressAndPort& endpoint, const EndpointState& before) {
  // Not seen down in between: everything that is open to it belongs to its life before.
  if (before.is_alive) on_dead(endpoint, before);
}

void Membership::on_change(const InetAddressAndPort& endpoint, ApplicationState key, const VersionedValue& value) {
  if (key == ApplicationState::kStatus || key == ApplicationState::kStatusWithPort) {
    handle_status(endpoint, value.value);
    return;
  }
  const EndpointState* known = state(endpoint);
  if (known == nullptr || is_dead_state(*known) || !is_member(endpoint)) return;
  handle_value(endpoint, key);
}

void Membership::handle_value(const InetAddressAndPort& endpoint, ApplicationState key) {
  if (key == ApplicationState::kRpcReady) {
    liveness_is_stale_ = changes_.liveness = true;
    if (state(endpoint)->is_rpc_ready()) {
      notify_up(endpoint);
    } else {
      notify_down(endpoint);
    }
  }
  if (key == ApplicationState::kDiskUsage) liveness_is_stale_ = changes_.liveness = true;
  if (!is_shown_to_drivers(key)) return;
  changes_.peers_updated.insert(endpoint);
  if (key != ApplicationState::kSchema && key != ApplicationState::kReleaseVersion) {
    ring_is_stale_ = changes_.ring = true;
  }
}

LocalStates Membership::saved_states(const InetAddressAndPort& endpoint) const {
  LocalStates out;
  if (auto id = host_id(endpoint)) out.emplace_back(ApplicationState::kHostId, id->to_string());
  if (auto owned = tokens(endpoint); !owned.empty()) {
    out.emplace_back(ApplicationState::kTokens, state_values::tokens(owned));
  }
  return out;
}

void Membership::notify_up(const InetAddressAndPort& endpoint) {
  const EndpointState* known = state(endpoint);
  if (known == nullptr || !known->is_rpc_ready() || !known->is_alive || is_dead_state(*known)) return;
  driver_events_.up(endpoint, native_address(endpoint), true);
}

void Membership::notify_down(const InetAddressAndPort& endpoint) {
  driver_events_.down(endpoint, native_address(endpoint));
}

}  // namespace cassandra_like
