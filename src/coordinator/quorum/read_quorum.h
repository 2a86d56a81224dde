// When a read has enough answers, has failed or is too late, and whom it asks in addition (service.reads.ReadCallback,
// AbstractReadExecutor, DigestResolver): a state machine of the answers of its replicas.
//
// kWaiting becomes one of the others, once. Events that come later change nothing, nor does a second answer of an
// endpoint or the answer of one that was not asked. No event allocates.
//
// A read is done when as many replicas as its level needs have answered, one of them at least with data. It has failed
// when failures leave too few of those that were asked; when all failures are timeouts, or there is none, the client is
// told of a timeout. A failure does not make the read ask another replica: only slowness does.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "coordinator/quorum/replica_plan.h"
#include "coordinator/quorum/request_errors.h"
#include "coordinator/quorum/speculative_retry.h"
#include "coordinator/quorum/write_quorum.h"

namespace cassandra_like {

// Whether and when a read of one partition asks a replica more than its level needs.
enum class Speculation : uint8_t {
  kNever,      // not wanted; or at EACH_QUORUM, whose answers count by datacenter
  kNoReplica,  // wanted, but all candidates are asked: counted when it would be time (speculativeInsufficientReplicas)
  kAtOnce,     // the plan asks one more from the beginning
  kLater,      // when the threshold is over
};
Speculation speculation_of(const ReadPlan& plan, const SpeculativeRetry& policy);
// Microseconds after the read began. Nothing: never, because the speculation is of another kind, or the threshold lies
// behind the read's timeout.
std::optional<int64_t> speculate_after_micros(Speculation speculation, int64_t threshold_micros,
                                              int64_t timeout_micros);

struct ReadTarget {
  EndpointIndex endpoint = 0;
  bool wants_data = true;  // false: a digest of it
  bool operator==(const ReadTarget&) const = default;
};

class ReadQuorum {
 public:
  using Digest = std::array<char, 16>;

  // One partition: who is asked for more than a digest depends on the speculation. The plan outlives it.
  ReadQuorum(const ReadPlan& plan, Speculation speculation);
  // A range, or the repair of a partition: everybody is asked for data.
  static ReadQuorum of_data(const ReadPlan& plan, Speculation speculation = Speculation::kNever);

  // The replicas to ask at first.
  absl::InlinedVector<ReadTarget, kInlinedReplicas> targets() const;

  // Each returns the state after the event.
  QuorumState answered_with_data(EndpointIndex endpoint);
  QuorumState answered_with_digest(EndpointIndex endpoint, const Digest& digest);
  QuorumState failed(EndpointIndex endpoint, RequestFailureReason reason);
  // The request's time is over.
  QuorumState timed_out();
  // It is time for kLater. Nothing: the read is decided, has asked one more before, or there is nobody left.
  std::optional<ReadTarget> speculate();

  QuorumState state() const { return state_; }
  // The replicas that were asked, also later.
  std::span<const EndpointIndex> contacted() const { return {plan_.candidates.data(), contacts_}; }
  bool is_data_present() const { return data_from_.has_value(); }
  // The first that answered with data.
  std::optional<EndpointIndex> data_from() const { return data_from_; }
  // When it is done: whether the answers are the same. A single one is; with more, the digest of each answer with data
  // is asked for.
  bool answers_match(absl::FunctionRef<Digest(EndpointIndex)> digest_of_data) const;
  // kReadFailure when it has failed, kReadTimeout when it was too late.
  // why: see read_failure_error().
  Error error(const TokenRing& ring, const std::string& why = "") const;

 private:
  enum class Answer : uint8_t { kNone, kData, kDigest, kFailed };
  struct Replica {
    Answer answer = Answer::kNone;
    RequestFailureReason reason = RequestFailureReason::kUnknown;
    Digest digest{};
  };

  // SIZE_MAX when nothing is to be done.
  size_t unanswered(EndpointIndex endpoint) const;
  QuorumState count_answer();
  bool all_failures_are_timeouts() const;

  const ReadPlan& plan_;
  Speculation speculation_;
  size_t data_requests_;  // of the first contacts
  size_t contacts_;
  QuorumState state_ = QuorumState::kWaiting;
  int received_ = 0;
  int failures_ = 0;
  std::optional<EndpointIndex> data_from_;
  absl::InlinedVector<Replica, kInlinedReplicas> replicas_;  // as the candidates of the plan
};

}  // namespace cassandra_like
