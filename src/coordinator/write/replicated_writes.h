// Writes to several replicas (service.StorageProxy.mutate, mutateCounter, mutateAtomically, truncateBlocking).
//
// A mutation is serialized once; the commit log, each MUTATION_REQ, each hint and the batchlog hold those bytes. A write goes
// on when its client was answered: what it needs lives in its operation (write_operation.h). Datacenters other than this
// one get one message each, which a node there passes on (FORWARD_TO).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coordinator/context/request_context.h"
#include "model/mutation.h"

namespace cassandra_like {

// Logged batches that this node keeps: its rows of system.batches.
class BatchRecords {
 public:
  virtual Uuid next_id() = 0;
  // The mutations are borrowed until the call returns.
  virtual Task<Status> store(const Uuid& id, std::span<const SerializedMutation> mutations) = 0;
  virtual Task<Status> remove(Uuid id) = 0;

 protected:
  ~BatchRecords() = default;
};

struct ReplayedMutation {
  std::string keyspace;
  SerializedMutation mutation;
  int32_t gc_grace_seconds = 0;  // the smallest of its tables
};

class ReplicatedWrites {
 public:
  // Both outlive it.
  static std::unique_ptr<ReplicatedWrites> create(RequestContext& context, BatchRecords& records);
  virtual ~ReplicatedWrites() = default;

  // Mutations are borrowed until the Task completes. kUnavailable before anything is sent; kInvalid when this node refuses
  // the mutation; kOverloaded when too many hints wait to be kept; kClosed after Coordinator::stop().
  virtual Task<Status> write(std::span<const Mutation> mutations, Consistency consistency, WriteType type,
                             const TracePtr& trace = kUntraced) = 0;
  // A logged batch: to the batchlog of two nodes first.
  virtual Task<Status> write_logged_batch(std::span<const Mutation> mutations, Consistency consistency,
                                          const TracePtr& trace = kUntraced) = 0;
  virtual Task<Status> write_counters(std::span<const Mutation> deltas, Consistency consistency,
                                      const TracePtr& trace = kUntraced) = 0;
  virtual Task<Status> truncate(TablePtr table) = 0;

  // --- For other nodes' requests
  // COUNTER_MUTATION_REQ: applies the deltas here and brings the sums to the other replicas.
  virtual Task<Status> lead_counter(SerializedMutation deltas, std::string keyspace, Consistency consistency,
                                    const TracePtr& trace = kUntraced) = 0;

  // --- For the batchlog's replay
  // Nodes of the cluster, this one included; 1 when this one is alone for ever.
  virtual size_t nodes() const = 0;
  // To all replicas of each mutation: live ones get a message, others a hint, and so does one that fails. Completes when
  // all of them have it, or the first error of this node when they do not.
  virtual Task<Status> replay(std::vector<ReplayedMutation> mutations, int64_t written_millis) = 0;
};

}  // namespace cassandra_like
