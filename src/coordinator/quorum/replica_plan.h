// Who is asked for a request to one token, and how many of them have to answer (locator.ReplicaPlans): pure functions of
// a snapshot of the cluster.
//
// A plan that cannot reach its level is not made: kUnavailable, with the counts that Cassandra tells. A plan is made
// once for a request and does not change: a topology that changes meanwhile concerns the next request. A plan borrows
// nothing. It allocates only when there are more replicas than kInlinedReplicas.
//
// Names: natural replicas own the token; pending ones will own it when those that join, leave or move have done so. A
// level that is local to a datacenter counts the replicas of this node's datacenter only.
#pragma once

#include <span>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "base/result.h"
#include "coordinator/quorum/consistency.h"
#include "ring/topology.h"

namespace cassandra_like {

// Two datacenters of three replicas.
inline constexpr size_t kInlinedReplicas = 6;
using EndpointList = absl::InlinedVector<EndpointIndex, kInlinedReplicas>;

// How the keyspace is replicated at the moment. Borrowed during the call.
struct Placement {
  const Topology& topology;
  const KeyspaceReplicas& replicas;

  const TokenRing& ring() const { return *topology.ring(); }
  bool is_local_datacenter(EndpointIndex endpoint) const {
    return ring().endpoint(endpoint).datacenter == topology.local().datacenter;
  }
};

// Sorts endpoints, the nearest to this node first (IEndpointSnitch.sortedByProximity).
using ProximityOrder = absl::FunctionRef<void(std::span<EndpointIndex>)>;
// A random number below the bound, which is positive.
using RandomBelow = absl::FunctionRef<size_t(size_t)>;

// ---- Writes

struct WriteReplica {
  EndpointIndex endpoint = 0;
  bool is_pending = false;
  bool is_alive = true;    // false: nothing is sent; it gets a hint if hints are for it
  bool counts = true;      // in the datacenter that the level is local to, if it is
  uint8_t datacenter = 0;  // into WritePlan::quorums, if there are any
};

struct WritePlan {
  Consistency consistency = Consistency::kOne;
  int block_for = 0;  // answers that the level waits for: of pending replicas, too (ConsistencyLevel.blockForWrite)
  // Natural replicas in ring order, then pending ones. All of them get the write.
  absl::InlinedVector<WriteReplica, kInlinedReplicas> replicas;
  // EACH_QUORUM of NetworkTopologyStrategy: the answers that each datacenter has to give, in the order of their names.
  absl::InlinedVector<int, 2> quorums;

  // Live or not, that count (AbstractWriteResponseHandler.candidateReplicaCount).
  int candidates() const;
};

Result<WritePlan> plan_write(const Placement& placement, Token token, Consistency consistency);

// The replica that leads the write of a counter (StorageProxy.findSuitableReplica): a random one of this datacenter's
// live natural replicas that serve clients, else the nearest of the others. kUnavailable when there is none. A write
// whose leader is another node needs plan_write() here, too, for Unavailable alone.
Result<EndpointIndex> counter_leader(const Placement& placement, Token token, Consistency consistency,
                                     ProximityOrder nearest_first, RandomBelow random);

// ---- Reads

struct ReadPlan {
  Consistency consistency = Consistency::kOne;
  int block_for = 0;
  // Live natural replicas that the level may ask. The first `contacts` are asked at once, the rest when one of these is
  // slow. The nearest come first; at EACH_QUORUM the contacts are the nearest of each datacenter.
  EndpointList candidates;
  size_t contacts = 0;

  std::span<const EndpointIndex> contacted() const { return {candidates.data(), contacts}; }
};

// always_speculates: one replica more than needed is asked at once, if there is one (speculative_retry ALWAYS).
Result<ReadPlan> plan_read(const Placement& placement, Token token, Consistency consistency,
                           ProximityOrder nearest_first, bool always_speculates);
// The plan for candidates that are known, the nearest first.
Result<ReadPlan> plan_read_of(const Placement& placement, Consistency consistency, EndpointList candidates,
                              bool always_speculates);
// kUnavailable when the live replicas do not reach the level (ReplicaPlans.assureSufficientLiveReplicasForRead).
Status check_readable(const Placement& placement, Consistency consistency, std::span<const EndpointIndex> live);

// ---- Read repair

// Who is written to when the answers of a read differ (ReplicaPlans.forReadRepair): those that the read has asked and
// that live, and as many more as the level needs, pending replicas included.
struct ReadRepairPlan {
  Consistency consistency = Consistency::kOne;
  int block_for = 0;
  EndpointList contacts;
  // Live replicas that the level may write to in addition, when contacts are slow to answer.
  EndpointList others;

  // Contacts that the read did not ask need the whole difference: nobody knows what they lack.
  bool needs_full_difference(std::span<const EndpointIndex> read_from) const;
  // How many of the `repaired` contacts have to answer before the client may: those that lack nothing have answered
  // already (BlockingPartitionRepair).
  int answers_to_wait_for(size_t repaired) const;
};
// read_from: whom the read asked, also those that were asked later.
Result<ReadRepairPlan> plan_read_repair(const Placement& placement, Token token, Consistency consistency,
                                        std::span<const EndpointIndex> read_from);

}  // namespace cassandra_like
