// When a write is done, failed or too late (service.AbstractWriteResponseHandler, WriteResponseHandler,
// DatacenterWriteResponseHandler, DatacenterSyncWriteResponseHandler): a state machine of the answers of its replicas.
//
// kWaiting becomes one of the others, once. Events that come later change nothing, nor does a second answer of an
// endpoint or the answer of one that is not in the plan. No event allocates.
//
// A level is reached by as many acknowledgements as the plan says, at EACH_QUORUM by so many of each datacenter. A write
// has failed when failures leave too few replicas, live or down, in all: so one that a dead replica and a failed one
// keep from its level times out, as in Cassandra. When all failures are timeouts the client is told of a timeout.
//
// The caller writes a hint for each endpoint that is down and for each that fails, before the decision or after it.
#pragma once

#include <span>

#include "coordinator/quorum/replica_plan.h"
#include "coordinator/quorum/request_errors.h"

namespace cassandra_like {

enum class QuorumState : uint8_t { kWaiting, kDone, kFailed, kTimedOut };

class WriteQuorum {
 public:
  // The plan outlives it.
  WriteQuorum(const WritePlan& plan, WriteType type);

  // Each returns the state after the event.
  QuorumState acknowledged(EndpointIndex endpoint);
  QuorumState failed(EndpointIndex endpoint, RequestFailureReason reason);
  // Hints for the replicas that are down were written, all of them: level ANY has an answer.
  QuorumState hinted();
  // The request's time is over.
  QuorumState timed_out();

  QuorumState state() const { return state_; }
  // kWriteFailure when it has failed, kWriteTimeout when it was too late.
  Error error(const TokenRing& ring) const;

 private:
  enum class Answer : uint8_t { kNone, kAcknowledged, kFailed };
  struct Replica {
    Answer answer = Answer::kNone;
    RequestFailureReason reason = RequestFailureReason::kUnknown;
  };

  // SIZE_MAX when nothing is to be done.
  size_t unanswered(EndpointIndex endpoint) const;
  bool is_reached() const;
  bool all_failures_are_timeouts() const;

  const WritePlan& plan_;
  WriteType type_;
  QuorumState state_ = QuorumState::kWaiting;
  int candidates_;
  int acknowledgements_ = 0;                                 // that count
  int failures_ = 0;                                         // that count
  absl::InlinedVector<Replica, kInlinedReplicas> replicas_;  // as those of the plan
  absl::InlinedVector<int, 2> missing_;                      // of each datacenter, at EACH_QUORUM
};

// When a logged batch may leave its batchlog (service.BatchlogResponseHandler.BatchlogCleanup): as soon as each mutation
// was acknowledged by enough replicas, whatever its client was told meanwhile.
class BatchCleanup {
 public:
  // The acknowledgements that each mutation needs; all are positive.
  explicit BatchCleanup(std::span<const int> required);
  // A mutation was acknowledged by one replica more. True once: the batch may go.
  bool acknowledged(size_t mutation);

 private:
  absl::InlinedVector<int, 8> missing_;
  size_t unfinished_;
};

}  // namespace cassandra_like
