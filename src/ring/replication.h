// The endpoints that hold a token, as Cassandra's replication strategies place it: pure functions of a ring.
//
// SimpleStrategy takes the next endpoints along the ring. NetworkTopologyStrategy does so for each datacenter, each time
// in a rack that has no replica yet while there is one. LocalStrategy is this node alone. Transient replicas ("3/1")
// are not supported yet and refused.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/schema.h"
#include "ring/token_ring.h"

namespace cassandra_like {

class ReplicationStrategy {
 public:
  // From a keyspace's options as they are stored: kConfigError, in Cassandra's words, when they make no sense.
  static Result<ReplicationStrategy> make(const ReplicationParams& params);

  bool is_local() const { return kind_ == Kind::kLocal; }
  bool is_network_topology() const { return kind_ == Kind::kNetworkTopology; }
  // Replicas in all, and in one datacenter (only NetworkTopologyStrategy tells them apart).
  int replication_factor() const;
  int replication_factor(const std::string& datacenter) const;
  const std::map<std::string, int>& datacenters() const { return datacenters_; }

  // In ring order, the primary replica first; fewer than the replication factor when there are not so many endpoints.
  std::vector<EndpointIndex> replicas(const TokenRing& ring, Token token) const;

 private:
  enum class Kind { kLocal, kSimple, kNetworkTopology };
  std::vector<EndpointIndex> simple_replicas(const TokenRing& ring, size_t entry) const;
  std::vector<EndpointIndex> network_topology_replicas(const TokenRing& ring, size_t entry) const;

  Kind kind_ = Kind::kLocal;
  int replication_factor_ = 1;
  std::map<std::string, int> datacenters_;
};

// The replicas of every range of a ring, computed once, so that a request only looks them up.
//
// Tokens with the same replicas in the same order are a group. A ring of one node has one group, a ring without tokens
// has one without replicas.
class ReplicaMap {
 public:
  ReplicaMap(std::shared_ptr<const TokenRing> ring, const ReplicationStrategy& strategy);
  const TokenRing& ring() const { return *ring_; }
  std::span<const EndpointIndex> replicas(Token token) const { return groups_[group_of(token)]; }
  // Each group's replicas; never empty.
  std::span<const std::vector<EndpointIndex>> groups() const { return groups_; }
  // Into groups().
  size_t group_of(Token token) const { return groups_.size() == 1 ? 0 : group_of_entry_[ring_->entry_of(token)]; }

 private:
  std::shared_ptr<const TokenRing> ring_;
  std::vector<std::vector<EndpointIndex>> groups_;
  std::vector<uint32_t> group_of_entry_;  // by the ring's entries
};

// The stored form of a statement's replication options: the class gets its full name, replication_factor of
// NetworkTopologyStrategy becomes one for each datacenter, what is left out is filled in.
struct ReplicationRequest {
  std::string keyspace;
  StringPairs options;                   // with "class"
  StringPairs previous;                  // of the keyspace that is altered
  std::vector<std::string> datacenters;  // of all known endpoints
  int default_replication_factor = 1;    // cassandra.yaml's default_keyspace_rf
};
// kConfigError or kInvalid, in Cassandra's words.
Result<StringPairs> prepare_replication(const ReplicationRequest& request);
// "Your replication factor 3 for keyspace k is higher than the number of nodes 1", for the client's warnings.
std::vector<std::string> replication_warnings(const std::string& keyspace, const ReplicationStrategy& strategy,
                                              const TokenRing& ring);

}  // namespace cassandra_like
