// Membership: what others get of it.
#include <algorithm>

#include "base/dcheck.h"
#include "base/log.h"
#include "gossip/membership.h"

namespace cassandra_like {

std::optional<InetAddressAndPort> Membership::endpoint_of(const Uuid& host_id) const {
  auto found = endpoints_of_host_ids_.find(host_id);
  if (found == endpoints_of_host_ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<Uuid> Membership::host_id(const InetAddressAndPort& endpoint) const {
  auto found = host_ids_.find(endpoint);
  if (found == host_ids_.end()) return std::nullopt;
  return found->second;
}

std::vector<Token> Membership::gossiped_tokens(const InetAddressAndPort& endpoint) const {
  const EndpointState* known = state(endpoint);
  const VersionedValue* value = known == nullptr ? nullptr : known->find(ApplicationState::kTokens);
  if (value == nullptr) return {};
  auto tokens = state_values::parse_tokens(value->value);
  if (tokens.ok()) return std::move(*tokens);
  LOG_ERROR("Node {}: {}", endpoint.to_string(), tokens.error().message());
  return {};
}

std::optional<Uuid> Membership::gossiped_host_id(const InetAddressAndPort& endpoint) const {
  const EndpointState* known = state(endpoint);
  auto id = Uuid::parse(known == nullptr ? std::string_view() : known->text(ApplicationState::kHostId));
  if (!id) LOG_ERROR("Node {} tells no host ID: its status is ignored", endpoint.to_string());
  return id;
}

NodeLocation Membership::location(const InetAddressAndPort& endpoint) const {
  NodeLocation out;
  const EndpointState* known = state(endpoint);
  auto saved = saved_.find(endpoint);
  if (saved != saved_.end()) out = saved->second.location;
  if (known != nullptr && known->has(ApplicationState::kDc)) out.datacenter = known->text(ApplicationState::kDc);
  if (known != nullptr && known->has(ApplicationState::kRack)) out.rack = known->text(ApplicationState::kRack);
  if (out.datacenter.empty()) out.datacenter = kUnknownDatacenter;
  if (out.rack.empty()) out.rack = kUnknownRack;
  return config_.snitch ? config_.snitch(endpoint, out) : out;
}

InetAddressAndPort Membership::native_address(const InetAddressAndPort& endpoint) const {
  if (is_local(endpoint)) return config_.local_native;
  const EndpointState* known = state(endpoint);
  if (known != nullptr) {
    auto native = InetAddressAndPort::parse(known->text(ApplicationState::kNativeAddressAndPort), config_.native_port);
    if (!native) native = InetAddressAndPort::parse(known->text(ApplicationState::kRpcAddress), config_.native_port);
    if (native) return *native;
  }
  if (auto saved = saved_.find(endpoint); saved != saved_.end()) return saved->second.native;
  InetAddressAndPort out = endpoint;
  out.port = config_.native_port;
  return out;
}

std::optional<PeerRow> Membership::peer_row(const InetAddressAndPort& endpoint) const {
  const EndpointState* known = state(endpoint);
  if (is_local(endpoint) || known == nullptr || !is_member(endpoint)) return std::nullopt;
  auto saved = saved_.find(endpoint);
  const bool was_whole = saved != saved_.end();
  PeerRow row = was_whole ? saved->second : PeerRow{};
  const bool has_native =
      known->has(ApplicationState::kNativeAddressAndPort) || known->has(ApplicationState::kRpcAddress);
  const bool has_location = known->has(ApplicationState::kDc) && known->has(ApplicationState::kRack);
  const std::string_view release = known->text(ApplicationState::kReleaseVersion);
  auto schema = Uuid::parse(known->text(ApplicationState::kSchema));
  auto id = host_id(endpoint);
  row.tokens = tokens(endpoint);
  if (row.tokens.empty() || !id) return std::nullopt;
  if (!was_whole && (!has_native || !has_location || release.empty() || !schema)) return std::nullopt;
  row.peer = endpoint;
  row.native = native_address(endpoint);
  row.host_id = *id;
  row.location = location(endpoint);
  if (!release.empty()) row.release_version = release;
  if (schema) row.schema_version = *schema;
  return row;
}

Result<InetAddressAndPort> Membership::removable(const Uuid& host_id) const {
  auto endpoint = endpoint_of(host_id);
  if (!endpoint) return invalid("Host ID not found.");
  if (!is_member(*endpoint)) return invalid("Node to be removed is not a member of the token ring");
  if (is_local(*endpoint)) return invalid("Cannot remove self");
  if (gossiper_->live().contains(*endpoint)) {
    return invalid("Node " + endpoint->to_string() +
                   " is alive and owns this ID. Use decommission command to remove it from the ring");
  }
  return *endpoint;
}

// --- The snapshot

Endpoint Membership::make_endpoint(const InetAddressAndPort& endpoint) const {
  Endpoint out;
  if (auto id = host_id(endpoint)) out.host_id = *id;
  out.address = endpoint.host();
  out.storage_port = endpoint.port;
  const NodeLocation where = location(endpoint);
  out.datacenter = where.datacenter;
  out.rack = where.rack;
  const InetAddressAndPort native = native_address(endpoint);
  out.native_address = native.host();
  out.native_port = native.port;
  if (is_member(endpoint)) {
    out.tokens = tokens(endpoint);
    auto moving = moving_.find(endpoint);
    if (moving != moving_.end()) out.moving_to = {moving->second};
    out.state = is_leaving(endpoint)      ? EndpointStatus::kLeaving
                : moving != moving_.end() ? EndpointStatus::kMoving
                                          : EndpointStatus::kNormal;
    return out;
  }
  out.tokens = boot_tokens_.tokens(endpoint);
  out.state = out.tokens.empty() ? EndpointStatus::kLeft : EndpointStatus::kJoining;
  return out;
}

std::vector<bool> Membership::liveness() const {
  std::vector<bool> out;
  for (const InetAddressAndPort& endpoint : snapshot_endpoints_) out.push_back(gossiper_->is_alive(endpoint));
  return out;
}

std::vector<bool> Membership::readiness() const {
  std::vector<bool> out;
  for (const InetAddressAndPort& endpoint : snapshot_endpoints_) {
    const EndpointState* known = state(endpoint);
    out.push_back(known != nullptr && known->is_rpc_ready());
  }
  return out;
}

// DiskUsageBroadcaster
std::vector<DiskUsage> Membership::disk_usages() const {
  std::vector<DiskUsage> out;
  for (const InetAddressAndPort& endpoint : snapshot_endpoints_) {
    const EndpointState* known = state(endpoint);
    const std::string_view text = known == nullptr ? std::string_view() : known->text(ApplicationState::kDiskUsage);
    const std::optional<DiskUsage> usage = state_values::parse_disk_usage(text);
    if (!usage && !text.empty()) {
      LOG_WARN("Found unknown DiskUsageState: {}. Using default state Not Available instead.", text);
    }
    out.push_back(usage.value_or(DiskUsage::kNotAvailable));
  }
  return out;
}

const TopologyPtr& Membership::topology() {
  if (topology_ && !ring_is_stale_ && !liveness_is_stale_) return topology_;
  if (!topology_ || ring_is_stale_) {
    std::set<InetAddressAndPort> all = members_;
    all.insert(config_.local);
    for (const auto& [joining, tokens] : boot_tokens_.nodes()) all.insert(joining);
    snapshot_endpoints_.assign(all.begin(), all.end());
    // A ring gives a token that two endpoints have to the first: in the future that a replacement is placed in, it has
    // the tokens of the one that it replaces.
    std::stable_partition(snapshot_endpoints_.begin(), snapshot_endpoints_.end(),
                          [&](const InetAddressAndPort& e) { return replacing_.contains(e); });
    std::vector<Endpoint> endpoints;
    for (const InetAddressAndPort& endpoint : snapshot_endpoints_) endpoints.push_back(make_endpoint(endpoint));
    auto local = std::find(snapshot_endpoints_.begin(), snapshot_endpoints_.end(), config_.local);
    DCHECK(local != snapshot_endpoints_.end());
    auto ring = std::make_shared<TokenRing>(std::move(endpoints),
                                            static_cast<EndpointIndex>(local - snapshot_endpoints_.begin()));
    topology_ = std::make_shared<Topology>(std::move(ring), liveness(), readiness(), disk_usages());
  } else {
    topology_ = topology_->with_liveness(liveness(), readiness(), disk_usages());
  }
  ring_is_stale_ = liveness_is_stale_ = false;
  return topology_;
}

}  // namespace cassandra_like
