// Who is in the ring, out of what gossip tells (service.StorageService's handleState…, locator.TokenMetadata). It becomes
// the snapshot of ring/topology.h, rows of system.peers, and events for drivers.
//
//   BOOT                joining: its tokens are pending
//   BOOT_REPLACE        joining, with the tokens of a dead node that has them still
//   NORMAL, shutdown    a member with its TOKENS
//   LEAVING, removing   a member that will go
//   MOVING              a member that will have another token
//   LEFT, removed       gone, in quarantine; forgotten at the expire time
//   hibernate           nothing: it takes part in nothing
//
// Two nodes may claim one host id or one token, because one changed its address, was copied or lies. The one that started
// later has it (the greater generation); a node that claims the local node's host id is removed.
//
// Malformed states of a node are refused with a line that names the node, and change nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gossip/driver_events.h"
#include "gossip/gossiper.h"
#include "gossip/snitch.h"
#include "gossip/state_values.h"
#include "gossip/token_owners.h"
#include "ring/topology.h"

namespace cassandra_like {

// A whole row of system.peers_v2; drivers refuse half ones.
struct PeerRow {
  InetAddressAndPort peer;
  InetAddressAndPort native;
  Uuid host_id;
  NodeLocation location;
  std::string release_version;
  Uuid schema_version;
  std::vector<Token> tokens;  // sorted
  bool operator==(const PeerRow&) const = default;
};

struct MembershipChanges {
  bool ring = false;                           // topology() has another ring
  bool liveness = false;                       // or others live or serve clients
  std::set<InetAddressAndPort> peers_updated;  // ask peer_row() again
  std::set<InetAddressAndPort> peers_removed;  // from the system tables
  std::vector<DriverEvent> events;
  std::vector<Uuid> left_host_ids;  // nobody needs hints for them
  // Nodes that are being removed, each with who does it and waits for REPLICATION_DONE_REQ.
  std::vector<std::pair<InetAddressAndPort, InetAddressAndPort>> replicas_to_restore;
  bool is_local_removed = false;  // somebody removed this node from the ring: it has to drain
};

class Membership : public GossipSubscriber {
 public:
  struct Config {
    InetAddressAndPort local;
    InetAddressAndPort local_native;
    Uuid host_id;                 // of this node
    uint16_t native_port = 9042;  // of nodes that tell none
    Snitch snitch;                // none: what gossip says
  };
  explicit Membership(Config config);
  // Before anything else; the Gossiper was made with this object as its subscriber.
  void attach(Gossiper& gossiper);

  // A node that system.peers remembers, before gossip starts.
  void add_saved(const PeerRow& row, GossipTime now);

  MembershipChanges take_changes();
  // The ring as it is now. The local node is always in it; as kLeft when it has no tokens and gets none.
  const TopologyPtr& topology();
  // Nothing while a part of the row is neither gossiped nor saved, or the node is no member.
  std::optional<PeerRow> peer_row(const InetAddressAndPort& endpoint) const;

  // Questions. Tokens are sorted.
  std::vector<Token> tokens(const InetAddressAndPort& endpoint) const { return tokens_.tokens(endpoint); }
  // The ones of its state TOKENS; none where that is malformed or missing.
  std::vector<Token> gossiped_tokens(const InetAddressAndPort& endpoint) const;
  std::optional<InetAddressAndPort> endpoint_of(const Uuid& host_id) const;
  std::optional<Uuid> host_id(const InetAddressAndPort& endpoint) const;
  bool is_leaving(const InetAddressAndPort& endpoint) const { return leaving_.contains(endpoint); }
  NodeLocation location(const InetAddressAndPort& endpoint) const;

  // `removenode`: kInvalid, in Cassandra's words, when the node may not be removed.
  Result<InetAddressAndPort> removable(const Uuid& host_id) const;
  void add_leaving(const InetAddressAndPort& endpoint);
  // Its tokens go to others.
  void excise(const InetAddressAndPort& endpoint);

  // --- GossipSubscriber
  void on_join(const InetAddressAndPort& endpoint, const EndpointState& state) override;
  void on_alive(const InetAddressAndPort& endpoint, const EndpointState& state) override;
  void on_dead(const InetAddressAndPort& endpoint, const EndpointState& state) override;
  void on_remove(const InetAddressAndPort& endpoint) override;
  void on_restart(const InetAddressAndPort& endpoint, const EndpointState& before) override;
  void on_change(const InetAddressAndPort& endpoint, ApplicationState state, const VersionedValue& value) override;
  bool is_member(const InetAddressAndPort& endpoint) const override { return members_.contains(endpoint); }
  LocalStates saved_states(const InetAddressAndPort& endpoint) const override;

 private:
  bool is_local(const InetAddressAndPort& endpoint) const { return endpoint == config_.local; }
  const EndpointState* state(const InetAddressAndPort& endpoint) const { return gossiper_->state(endpoint); }
  InetAddressAndPort native_address(const InetAddressAndPort& endpoint) const;
  std::optional<Uuid> gossiped_host_id(const InetAddressAndPort& endpoint) const;

  void handle_status(const InetAddressAndPort& endpoint, const std::string& text);
  void handle_boot(const InetAddressAndPort& endpoint);
  void handle_boot_replace(const InetAddressAndPort& endpoint, const InetAddressAndPort& old_node);
  void handle_normal(const InetAddressAndPort& endpoint, bool is_normal);
  void handle_leaving(const InetAddressAndPort& endpoint);
  void handle_left(const InetAddressAndPort& endpoint, int64_t expire_time);
  void handle_moving(const InetAddressAndPort& endpoint, Token token);
  void handle_removing(const InetAddressAndPort& endpoint, const state_values::ParsedStatus& status);
  void handle_value(const InetAddressAndPort& endpoint, ApplicationState state);

  void claim_host_id(const InetAddressAndPort& endpoint, const Uuid& host_id, std::set<InetAddressAndPort>& to_remove);
  // Claims tokens: those that nobody has, or that one has who started earlier.
  void claim_tokens(const InetAddressAndPort& endpoint, const std::vector<Token>& tokens,
                    std::set<InetAddressAndPort> to_remove);
  void ensure_tokens(const InetAddressAndPort& endpoint, std::string_view status);
  void remove_from_cluster(const InetAddressAndPort& endpoint);

  // locator.TokenMetadata.
  void set_normal_tokens(const InetAddressAndPort& endpoint, const std::vector<Token>& tokens);
  bool add_boot_tokens(const InetAddressAndPort& endpoint, const std::vector<Token>& tokens,
                       const InetAddressAndPort* replaced);
  bool set_host_id(const InetAddressAndPort& endpoint, const Uuid& host_id);
  void erase(const InetAddressAndPort& endpoint);
  // For DCHECK: each host id has one endpoint and the other way round; who has tokens or leaves is a member.
  bool maps_agree() const;

  void notify_up(const InetAddressAndPort& endpoint);
  void notify_down(const InetAddressAndPort& endpoint);
  Endpoint make_endpoint(const InetAddressAndPort& endpoint) const;
  std::vector<bool> liveness() const;
  std::vector<bool> readiness() const;  // for clients
  std::vector<DiskUsage> disk_usages() const;

  Config config_;
  Gossiper* gossiper_ = nullptr;
  DriverEvents driver_events_;
  MembershipChanges changes_;

  std::set<InetAddressAndPort> members_;
  TokenOwners tokens_;
  TokenOwners boot_tokens_;
  std::map<InetAddressAndPort, Uuid> host_ids_;
  std::map<Uuid, InetAddressAndPort> endpoints_of_host_ids_;
  std::set<InetAddressAndPort> leaving_;
  std::map<InetAddressAndPort, Token> moving_;
  std::map<InetAddressAndPort, InetAddressAndPort> replacing_;  // who replaces whom
  std::map<InetAddressAndPort, PeerRow> saved_;

  bool ring_is_stale_ = true;
  bool liveness_is_stale_ = true;
  std::vector<InetAddressAndPort> snapshot_endpoints_;  // by the snapshot's indexes
  TopologyPtr topology_;
};

}  // namespace cassandra_like
