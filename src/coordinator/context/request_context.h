// The cluster as the requests of one shard's coordinator use it: which replicas a key has, how near they are, and how a
// message gets to them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/log_quota.h"
#include "coordinator/context/options.h"
#include "coordinator/context/proximity.h"
#include "coordinator/quorum/replica_plan.h"
#include "hints/hints.h"
#include "messaging/link/messenger.h"
#include "replica/replica.h"

namespace cassandra_like {

// A topology with the addresses of its endpoints. A request keeps the one that it began with: indexes are of that one.
struct ClusterSnapshot {
  explicit ClusterSnapshot(TopologyPtr t);

  TopologyPtr topology;
  std::vector<InetAddressAndPort> addresses;  // by EndpointIndex

  EndpointIndex local() const { return topology->ring()->local(); }
  bool is_local(EndpointIndex endpoint) const { return endpoint == local(); }
  const InetAddressAndPort& address(EndpointIndex endpoint) const { return addresses[endpoint]; }
  const Endpoint& endpoint(EndpointIndex endpoint) const { return topology->ring()->endpoint(endpoint); }
};
using ClusterSnapshotPtr = std::shared_ptr<const ClusterSnapshot>;

// One a shard, made by its Coordinator. Outlives all requests.
struct RequestContext {
  RequestContext(ShardRuntime& runtime, Replica& replica, Messenger* messenger, Hints* hints,
                 const CoordinatorOptions& options, CoordinatorStatistics& statistics);

  ShardRuntime& runtime;
  Replica& replica;      // this node
  Messenger* messenger;  // null: a node that is alone for ever (tests, an embedded one)
  Hints* hints;          // null together with it
  const CoordinatorOptions& options;
  CoordinatorStatistics& statistics;
  Proximity proximity;
  ClusterSnapshotPtr cluster;  // current
  ReplicaMaps replica_maps;    // of it
  // One for each table that was asked for and is there.
  std::map<Uuid, std::shared_ptr<TableRequests>> tables;
  Gate running;  // requests that go on when their client was answered
  // For lines that clients can cause without end.
  LogQuota failed_reads, failed_repairs, failed_truncations, kept_records, left_out_mutations;

  void use(const TopologyPtr& topology);
  // nullptr: the keyspace is gone or its options make no sense.
  std::shared_ptr<const KeyspaceReplicas> replicas_of(const std::string& keyspace);
  const std::shared_ptr<TableRequests>& requests_of(const Uuid& table) {
    std::shared_ptr<TableRequests>& requests = tables[table];
    if (requests == nullptr) requests = std::make_shared<TableRequests>();
    return requests;
  }
  int64_t now() const { return runtime.clock.monotonic_nanos(); }
  // Tells in the log that a logged batch is whole and its record could not be removed.
  void record_stays(const Error& why);
};

}  // namespace cassandra_like
