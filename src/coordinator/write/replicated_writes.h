// Writes to several replicas (service.StorageProxy.mutate, mutateCounter, mutateAtomically, truncateBlocking).
//
// A mutation is serialized once; the commit log, each MUTATION_REQ, each hint and the batchlog hold those bytes. A write goes
// on when its client was answered: what it needs lives in its operation, which is its own owner. Datacenters other than this
// one get one message each, which a node there passes on (FORWARD_TO).
#pragma once

#include <memory>
#include <span>

#include "coordinator/context/request_context.h"
#include "model/mutation.h"

namespace cassandra_like {

class ReplicatedWrites {
 public:
  // The context outlives it.
  static std::unique_ptr<ReplicatedWrites> create(RequestContext& context);
  virtual ~ReplicatedWrites() = default;

  // Mutations are borrowed until the Task completes. kUnavailable before anything is sent.
  virtual Task<Status> write(std::span<const Mutation> mutations, Consistency consistency, WriteType type) = 0;
  // A logged batch: to the batchlog of two nodes first.
  virtual Task<Status> write_logged_batch(std::span<const Mutation> mutations, Consistency consistency) = 0;
  virtual Task<Status> write_counters(std::span<const Mutation> deltas, Consistency consistency) = 0;
  virtual Task<Status> truncate(TablePtr table) = 0;

  // --- For other nodes' requests
  // COUNTER_MUTATION_REQ: applies the deltas here and brings the sums to the other replicas.
  virtual Task<Status> lead_counter(SerializedMutation deltas, std::string keyspace, Consistency consistency) = 0;
  // The batchlog's replay: to all replicas of each mutation, live ones by message, others by hint. Completes when all
  // of them have it.
  virtual Task<Status> replay(std::vector<SerializedMutation> mutations, int64_t written_millis) = 0;
};

}  // namespace cassandra_like
