#include "coordinator/quorum/write_quorum.h"

#include <algorithm>
#include <limits>

#include "base/dcheck.h"

namespace cassandra_like {
namespace {
constexpr size_t kNothingToDo = std::numeric_limits<size_t>::max();
}

WriteQuorum::WriteQuorum(const WritePlan& plan, WriteType type)
    : plan_(plan),
      type_(type),
      candidates_(plan.candidates()),
      replicas_(plan.replicas.size()),
      missing_(plan.quorums.begin(), plan.quorums.end()) {}

size_t WriteQuorum::unanswered(EndpointIndex endpoint) const {
  if (state_ != QuorumState::kWaiting) return kNothingToDo;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (plan_.replicas[i].endpoint != endpoint) continue;
    return replicas_[i].answer == Answer::kNone ? i : kNothingToDo;
  }
  return kNothingToDo;
}

bool WriteQuorum::is_reached() const {
  if (missing_.empty()) return acknowledgements_ >= plan_.block_for;
  return std::all_of(missing_.begin(), missing_.end(), [](int missing) { return missing <= 0; });
}

bool WriteQuorum::all_failures_are_timeouts() const {
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i].answer != Answer::kFailed || !plan_.replicas[i].counts) continue;
    if (replicas_[i].reason != RequestFailureReason::kTimeout) return false;
  }
  return true;
}

QuorumState WriteQuorum::acknowledged(EndpointIndex endpoint) {
  const size_t i = unanswered(endpoint);
  if (i == kNothingToDo) return state_;
  replicas_[i].answer = Answer::kAcknowledged;
  if (!plan_.replicas[i].counts) return state_;
  ++acknowledgements_;
  if (!missing_.empty()) --missing_[plan_.replicas[i].datacenter];
  if (is_reached()) state_ = QuorumState::kDone;
  return state_;
}

QuorumState WriteQuorum::failed(EndpointIndex endpoint, RequestFailureReason reason) {
  const size_t i = unanswered(endpoint);
  if (i == kNothingToDo) return state_;
  replicas_[i] = {Answer::kFailed, reason};
  if (!plan_.replicas[i].counts) return state_;
  ++failures_;
  if (plan_.block_for + failures_ > candidates_) {
    state_ = all_failures_are_timeouts() ? QuorumState::kTimedOut : QuorumState::kFailed;
  }
  return state_;
}

QuorumState WriteQuorum::hinted() {
  if (state_ != QuorumState::kWaiting || plan_.consistency != Consistency::kAny) return state_;
  ++acknowledgements_;
  return state_ = QuorumState::kDone;
}

QuorumState WriteQuorum::timed_out() {
  if (state_ == QuorumState::kWaiting) state_ = QuorumState::kTimedOut;
  return state_;
}

Error WriteQuorum::error(const TokenRing& ring) const {
  DCHECK(state_ == QuorumState::kFailed || state_ == QuorumState::kTimedOut);
  if (state_ == QuorumState::kTimedOut) {
    // At EACH_QUORUM one datacenter may have given more than it had to.
    const int received = std::min(acknowledgements_, plan_.block_for - 1);
    return write_timeout_error({plan_.consistency, received, plan_.block_for}, type_);
  }
  EndpointFailures failures;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i].answer != Answer::kFailed) continue;
    failures.push_back({plan_.replicas[i].endpoint, replicas_[i].reason});
  }
  return write_failure_error({plan_.consistency, acknowledgements_, plan_.block_for}, type_, failures, ring);
}

BatchCleanup::BatchCleanup(std::span<const int> required)
    : missing_(required.begin(), required.end()), unfinished_(required.size()) {}

bool BatchCleanup::acknowledged(size_t mutation) { return --missing_[mutation] == 0 && --unfinished_ == 0; }

}  // namespace cassandra_like
