// This node among the others: runs the gossip of gossip/gossiper.h over messages and timers, and tells its node what follows:
// the topology to all shards, rows of system.peers, events for drivers, who came and went for hints.
//
// Start: messages flow already; a shadow round asks the seeds whether this node may start; then gossip begins, and the node
// joins the ring with its tokens, or stays without (join_ring = false). Lives on shard 0.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gossip/gossiper.h"
#include "gossip/local_states.h"
#include "gossip/membership.h"
#include "messaging/link/messenger.h"
#include "replica/replica.h"

namespace cassandra_like {

struct MembershipOptions {
  Gossiper::Config gossip;
  Membership::Config membership;
  AdvertisedNode advertised;
  std::vector<Token> tokens;  // none: the node has never joined a ring
  // Tokens for the first joining, given the ring of the others in which this node has none; they are saved when it completes.
  std::function<Task<Result<std::vector<Token>>>(std::shared_ptr<const TokenRing> ring)> take_tokens;
  int32_t generation = 0;  // of this life
  int messaging_version = 12;
  bool join_ring = true;
  // The node has been a member before, or may become one without the data of its tokens (auto_bootstrap: false, a seed).
  bool may_join_without_data = true;
};

// A node and what became of it. It is told again when the node has another host id than before.
struct NodeChange {
  enum class Kind { kUp, kDown, kLeft };
  Kind kind = Kind::kUp;
  Uuid host_id;  // nil: it is down and has none any more
  InetAddressAndPort address;
};

// Called on shard 0.
struct MembershipListener {
  std::function<void(const NodeChange&)> on_node;
  std::function<void(const DriverEvent&)> on_driver_event;
  // A peer that lives has told its schema version, or lives again.
  std::function<void(const InetAddressAndPort&, const Uuid&)> on_schema_version;
  // Somebody removed this node from the ring.
  std::function<void()> on_removed;
};

class MembershipService {
 public:
  static std::unique_ptr<MembershipService> create(Runtime& runtime, std::vector<Replica*> replicas,
                                                   Messenger& messenger, MembershipOptions options,
                                                   MembershipListener listener);
  virtual ~MembershipService() = default;

  // Takes the gossip verbs of a shard's messenger, on that shard, before it listens.
  virtual void handle_verbs(Messenger& messenger) = 0;
  // Shadow round, then gossip and the ring. kConfigError, in Cassandra's words, when other nodes forbid the start.
  virtual Task<Status> start() = 0;
  // For drain and stop: announces the shutdown and ends the rounds.
  virtual Task<void> stop() = 0;
  // Ends the rounds without a word.
  virtual Task<void> halt() = 0;

  // --- Orders (nodetool)
  virtual Status enable_gossip() = 0;
  virtual Status disable_gossip() = 0;
  virtual Task<Status> assassinate(InetAddressAndPort endpoint) = 0;
  virtual Status join_ring() = 0;
  virtual std::vector<InetAddressAndPort> reload_seeds(std::vector<InetAddressAndPort> seeds) = 0;
  virtual void set_rpc_ready(bool ready) = 0;
  virtual void set_schema_version(const Uuid& version) = 0;
  // Bytes of this node's data on its disks.
  virtual void set_load(uint64_t bytes) = 0;
  virtual void set_disk_usage(DiskUsage usage) = 0;

  // --- Questions
  virtual bool is_gossip_running() const = 0;
  virtual bool has_joined() const = 0;
  // Other nodes that live.
  virtual std::vector<InetAddressAndPort> live_peers() const = 0;
  virtual const Gossiper& gossiper() const = 0;
  virtual const Membership& membership() const = 0;
};

}  // namespace cassandra_like
