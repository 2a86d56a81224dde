#include "coordinator/quorum/read_quorum.h"

#include <algorithm>
#include <limits>

#include "base/dcheck.h"

namespace cassandra_like {
namespace {
constexpr size_t kNobody = std::numeric_limits<size_t>::max();
}

Speculation speculation_of(const ReadPlan& plan, const SpeculativeRetry& policy) {
  if (policy.kind() == SpeculativeRetry::Kind::kNever || plan.consistency == Consistency::kEachQuorum) {
    return Speculation::kNever;
  }
  if (plan.contacts == plan.candidates.size()) {
    return plan.consistency == Consistency::kAll ? Speculation::kNever : Speculation::kNoReplica;
  }
  return policy.kind() == SpeculativeRetry::Kind::kAlways ? Speculation::kAtOnce : Speculation::kLater;
}

std::optional<int64_t> speculate_after_micros(Speculation speculation, int64_t threshold_micros,
                                              int64_t timeout_micros) {
  const bool waits = speculation == Speculation::kLater || speculation == Speculation::kNoReplica;
  if (!waits || threshold_micros > timeout_micros) return std::nullopt;
  return threshold_micros;
}

// With one more than needed, a second one is asked for data: the first may be the one that does not answer.
ReadQuorum::ReadQuorum(const ReadPlan& plan, Speculation speculation)
    : plan_(plan),
      speculation_(speculation),
      data_requests_(speculation == Speculation::kAtOnce ? std::min<size_t>(2, plan.contacts) : 1),
      contacts_(plan.contacts),
      replicas_(plan.candidates.size()) {}

ReadQuorum ReadQuorum::of_data(const ReadPlan& plan, Speculation speculation) {
  ReadQuorum out(plan, speculation);
  out.data_requests_ = plan.candidates.size();
  return out;
}

absl::InlinedVector<ReadTarget, kInlinedReplicas> ReadQuorum::targets() const {
  absl::InlinedVector<ReadTarget, kInlinedReplicas> out;
  for (size_t i = 0; i < plan_.contacts; ++i) out.push_back({plan_.candidates[i], i < data_requests_});
  return out;
}

size_t ReadQuorum::unanswered(EndpointIndex endpoint) const {
  if (state_ != QuorumState::kWaiting) return kNobody;
  for (size_t i = 0; i < contacts_; ++i) {
    if (plan_.candidates[i] != endpoint) continue;
    return replicas_[i].answer == Answer::kNone ? i : kNobody;
  }
  return kNobody;
}

QuorumState ReadQuorum::count_answer() {
  ++received_;
  if (is_data_present() && received_ >= plan_.block_for) state_ = QuorumState::kDone;
  return state_;
}

QuorumState ReadQuorum::answered_with_data(EndpointIndex endpoint) {
  const size_t i = unanswered(endpoint);
  if (i == kNobody) return state_;
  replicas_[i].answer = Answer::kData;
  if (!data_from_) data_from_ = endpoint;
  return count_answer();
}

QuorumState ReadQuorum::answered_with_digest(EndpointIndex endpoint, const Digest& digest) {
  const size_t i = unanswered(endpoint);
  if (i == kNobody) return state_;
  replicas_[i].answer = Answer::kDigest;
  replicas_[i].digest = digest;
  return count_answer();
}

bool ReadQuorum::all_failures_are_timeouts() const {
  return std::all_of(replicas_.begin(), replicas_.end(), [](const Replica& replica) {
    return replica.answer != Answer::kFailed || replica.reason == RequestFailureReason::kTimeout;
  });
}

QuorumState ReadQuorum::failed(EndpointIndex endpoint, RequestFailureReason reason) {
  const size_t i = unanswered(endpoint);
  if (i == kNobody) return state_;
  replicas_[i].answer = Answer::kFailed;
  replicas_[i].reason = reason;
  ++failures_;
  if (plan_.block_for + failures_ > static_cast<int>(contacts_)) return timed_out();
  return state_;
}

QuorumState ReadQuorum::timed_out() {
  if (state_ != QuorumState::kWaiting) return state_;
  return state_ = all_failures_are_timeouts() ? QuorumState::kTimedOut : QuorumState::kFailed;
}

std::optional<ReadTarget> ReadQuorum::speculate() {
  const bool may = state_ == QuorumState::kWaiting && speculation_ == Speculation::kLater;
  if (!may || contacts_ != plan_.contacts || contacts_ == plan_.candidates.size()) return std::nullopt;
  const bool wants_data = data_requests_ == plan_.candidates.size() || !is_data_present();
  return ReadTarget{plan_.candidates[contacts_++], wants_data};
}

bool ReadQuorum::answers_match(absl::FunctionRef<Digest(EndpointIndex)> digest_of_data) const {
  DCHECK(state_ == QuorumState::kDone);
  if (received_ == 1) return true;
  std::optional<Digest> first;
  for (size_t i = 0; i < contacts_; ++i) {
    const Replica& replica = replicas_[i];
    if (replica.answer != Answer::kData && replica.answer != Answer::kDigest) continue;
    const Digest digest = replica.answer == Answer::kData ? digest_of_data(plan_.candidates[i]) : replica.digest;
    if (!first) first = digest;
    if (*first != digest) return false;
  }
  return true;
}

Error ReadQuorum::error(const TokenRing& ring, const std::string& why) const {
  DCHECK(state_ == QuorumState::kFailed || state_ == QuorumState::kTimedOut);
  const Received received{plan_.consistency, received_, plan_.block_for};
  if (state_ == QuorumState::kTimedOut) return read_timeout_error(received, is_data_present());
  EndpointFailures failures;
  for (size_t i = 0; i < contacts_; ++i) {
    if (replicas_[i].answer == Answer::kFailed) failures.push_back({plan_.candidates[i], replicas_[i].reason});
  }
  return read_failure_error(received, is_data_present(), failures, ring, why);
}

}  // namespace cassandra_like
