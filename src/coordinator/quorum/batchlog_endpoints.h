// The nodes on which a logged batch is kept until all its mutations are written (ReplicaPlans.forBatchlogWrite,
// filterBatchlogEndpoints): two live nodes of this datacenter, of two racks if that can be, and not this node, which may
// die with the batch half written. A datacenter of one or two nodes takes all it has, live or not.
#pragma once

#include "coordinator/quorum/replica_plan.h"

namespace cassandra_like {

// cassandra.yaml's batchlog_endpoint_strategy: random_remote, prefer_local, dynamic_remote, dynamic.
struct BatchlogStrategy {
  bool prefers_local_rack = false;  // one of the two is of this node's rack
  bool takes_nearest = false;       // the nearest nodes instead of random ones
};

// Endpoints of the plan count as live. For a batch of level ANY this node is enough where there is no other; for the
// rest kUnavailable then.
Result<WritePlan> plan_batchlog(const Topology& topology, const BatchlogStrategy& strategy, bool is_any,
                                ProximityOrder nearest_first, RandomBelow random);

}  // namespace cassandra_like
