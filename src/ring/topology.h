// The cluster as a node knows it at one moment: the ring, which endpoints live and which of them serve clients, and which
// will own tokens soon. All code that places replicas, counts them or asks whether they live, asks this.
//
// Immutable: a change makes a new one. A change of liveness alone shares the ring. Every shard has a TopologyStore
// with the current one, as it has a SchemaStore.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "ring/replication.h"
#include "ring/token_ring.h"

namespace cassandra_like {

// How full an endpoint's disks are, as it tells (service.disk.usage.DiskUsageState): spacious, or beyond the threshold of
// a warning, or of failure.
enum class DiskUsage : uint8_t { kNotAvailable, kSpacious, kStuffed, kFull };

class Topology;
using TopologyPtr = std::shared_ptr<const Topology>;

class Topology {
 public:
  // `alive` has one entry for each of the ring's endpoints, and so has `serving` (RPC_READY) unless it is empty: all serve.
  // This node lives. `usage` is empty, too, where no endpoint tells any.
  Topology(std::shared_ptr<const TokenRing> ring, std::vector<bool> alive, std::vector<bool> serving = {},
           std::vector<DiskUsage> usage = {});
  // A ring of one node.
  static TopologyPtr of_one(Endpoint local);
  TopologyPtr with_liveness(std::vector<bool> alive, std::vector<bool> serving = {},
                            std::vector<DiskUsage> usage = {}) const;

  const std::shared_ptr<const TokenRing>& ring() const { return ring_; }
  const Endpoint& local() const { return ring_->endpoint(ring_->local()); }
  bool is_alive(EndpointIndex endpoint) const { return alive_[endpoint]; }
  // Its native transport has started, as far as it has told.
  bool serves_clients(EndpointIndex endpoint) const { return serving_.empty() || serving_[endpoint]; }
  DiskUsage disk_usage(EndpointIndex endpoint) const {
    return usage_.empty() ? DiskUsage::kNotAvailable : usage_[endpoint];
  }
  // Some endpoint is stuffed or full.
  bool has_stuffed_disks() const { return has_stuffed_disks_; }

 private:
  std::shared_ptr<const TokenRing> ring_;
  std::vector<bool> alive_, serving_;
  std::vector<DiskUsage> usage_;
  bool has_stuffed_disks_ = false;
};

// The endpoints that will be replicas of a token when those that join, leave or move have done so, and are not yet
// (TokenMetadata.calculatePendingRanges): writes go to them, too, and wait for as many more answers. Each joining or
// moving endpoint is placed as if it were the only one, because the others may fail; all that leave are taken as gone.
class PendingReplicas {
 public:
  PendingReplicas(const TokenRing& ring, const ReplicationStrategy& strategy);
  bool empty() const { return boundaries_.empty(); }
  std::span<const EndpointIndex> of(Token token) const;
  // The ranges that an endpoint will be a replica of.
  std::vector<TokenRange> ranges_of(EndpointIndex endpoint) const;

 private:
  std::vector<Token> boundaries_;  // sorted; each ends a range
  std::vector<std::vector<EndpointIndex>> pending_;
};

// How a keyspace is replicated in one topology.
struct KeyspaceReplicas {
  KeyspaceReplicas(const Topology& topology, ReplicationStrategy s)
      : strategy(std::move(s)), natural(topology.ring(), strategy), pending(*topology.ring(), strategy) {}
  ReplicationStrategy strategy;
  ReplicaMap natural;
  PendingReplicas pending;
};

// One shard's KeyspaceReplicas of the current topology, each made when it is first asked for. Keyspaces that are
// replicated alike share one.
class ReplicaMaps {
 public:
  // nullptr when the options make no sense: such a keyspace has no replicas.
  std::shared_ptr<const KeyspaceReplicas> of(const Topology& topology, const ReplicationParams& replication);
  // The topology has changed.
  void clear() { by_options_.clear(); }

 private:
  std::map<StringPairs, std::shared_ptr<const KeyspaceReplicas>> by_options_;
};

// One shard's view of the cluster.
class TopologyStore {
 public:
  const TopologyPtr& current() const { return current_; }
  // Called on this shard after the snapshot changed here. Listeners live as long as the store.
  using Listener = std::function<void(const TopologyPtr&)>;
  void add_listener(Listener listener) { listeners_.push_back(std::move(listener)); }
  void set(TopologyPtr topology);

 private:
  TopologyPtr current_;
  std::vector<Listener> listeners_;
};

// The ranges that have the endpoint as a replica, in ring order.
std::vector<TokenRange> replicated_ranges(const ReplicaMap& replicas, EndpointIndex endpoint);
// The share of the ring that has the endpoint as a replica: 0 to 1.
double ownership(const ReplicaMap& replicas, EndpointIndex endpoint);

}  // namespace cassandra_like
