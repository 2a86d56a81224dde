// Requests and their answers: ids, deadlines, the hop to the shard that asked.
#include <utility>

#include <fmt/format.h>

#include "messaging/link/messenger.h"

namespace cassandra_like {

namespace {

constexpr uint32_t kShardBits = 6;
constexpr uint32_t kShardMask = (1u << kShardBits) - 1;
constexpr uint64_t kLastId = 0x7FFFFFFF;
constexpr uint32_t kLastSequence = kLastId >> kShardBits;
static_assert(kMaxMessengerShards == kShardMask + 1);

// A request may wait so much longer than its deadline says, so that many end with one timer.
constexpr Duration kExpiryResolution = std::chrono::milliseconds(5);

Error request_error(const InetAddressAndPort& from, Verb verb, RequestFailureReason reason) {
  ErrorInfo info;
  info.code = ErrorCode::kServerError;
  info.message = fmt::format("{} to {} failed: {}", verb_name(verb), from.to_string(), failure_reason_name(reason));
  info.failure_reasons.emplace_back(Bytes(from.address()), static_cast<uint16_t>(reason));
  return Error(std::move(info));
}

// Lives in the frame of the coroutine that waits.
class RequestWaiter final : public ResponseHandler {
 public:
  explicit RequestWaiter(Verb verb) : verb_(verb) {}
  void on_response(InboundMessage& response) override { promise_.set(std::move(response)); }
  void on_failure(const InetAddressAndPort& from, RequestFailureReason reason) override {
    promise_.set(request_error(from, verb_, reason));
  }
  Promise<Result<InboundMessage>>& promise() { return promise_; }

 private:
  const Verb verb_;
  Promise<Result<InboundMessage>> promise_;
};

}  // namespace

RequestFailureReason reason_of(const Error& error) {
  const auto& reasons = error.info().failure_reasons;
  return reasons.empty() ? RequestFailureReason::kUnknown : static_cast<RequestFailureReason>(reasons.front().second);
}

// Any one: a node that was killed and starts again within the time of a request may get answers to its former life's, and must
// not take them for its own. Cassandra counts from one, and takes longer to start than a request may last.
uint32_t Messenger::first_sequence(const ShardRuntime& runtime) {
  return static_cast<uint32_t>(runtime.random.below(kLastSequence));
}

// Without room it is as if the time were over already (RequestCallbacks.onOverloaded).
RequestFailureReason Messenger::not_accepted() const {
  return closed_ ? RequestFailureReason::kNodeDown : RequestFailureReason::kTimeout;
}

// Passes over the ids that still wait, and over 0.
uint32_t Messenger::next_id() {
  uint32_t id = 0;
  do {
    sequence_ = sequence_ == kLastSequence ? 1 : sequence_ + 1;
    id = sequence_ << kShardBits | shard_;
  } while (waiting_.contains(id) || waiting_behind_.contains(id));
  return id;
}

uint32_t Messenger::send_request(const InetAddressAndPort& to, Verb verb, SharedBytes payload, ResponseHandler& handler,
                                 const SendOptions& options) {
  const int64_t deadline = deadline_of(verb, options);
  const uint32_t id = next_id();
  if (!post(to, id, verb, std::move(payload), options, deadline, true)) {
    handler.on_failure(to, not_accepted());
    return 0;
  }
  waiting_.emplace(id, Waiting{to, deadline, &handler});
  expiries_.push(deadline, id);
  schedule_expiry();
  return id;
}

uint32_t Messenger::send_request_through(const InetAddressAndPort& to, std::span<const InetAddressAndPort> others,
                                         Verb verb, SharedBytes payload, ResponseHandler& handler,
                                         SendOptions options) {
  if (others.empty()) return send_request(to, verb, std::move(payload), handler, options);
  options.deadline = deadline_of(verb, options);
  const uint32_t id = next_id();
  absl::InlinedVector<ParamsBuilder::Forward, 4> targets;
  for (const InetAddressAndPort& other : others) targets.push_back({other, id});
  ParamsBuilder params;
  params.forward_to(targets).copy_without(options.params, ParamType::kForwardTo);
  options.params = params.get();
  if (!post(to, id, verb, std::move(payload), options, options.deadline, true)) {
    const RequestFailureReason reason = not_accepted();
    handler.on_failure(to, reason);
    for (const InetAddressAndPort& other : others) handler.on_failure(other, reason);
    return 0;
  }
  waiting_.emplace(id, Waiting{to, options.deadline, &handler});
  auto& behind = waiting_behind_[id];
  for (const InetAddressAndPort& other : others) behind.push_back({other, options.deadline, &handler});
  expiries_.push(options.deadline, id);
  schedule_expiry();
  return id;
}

Task<Result<InboundMessage>> Messenger::request(InetAddressAndPort to, Verb verb, SharedBytes payload,
                                                SendOptions options) {
  RequestWaiter waiter(verb);
  send_request(to, verb, std::move(payload), waiter, options);
  Promise<Result<InboundMessage>>& promise = waiter.promise();
  co_return co_await promise;
}

void Messenger::cancel(uint32_t id) {
  waiting_.erase(id);
  waiting_behind_.erase(id);
}

// A message that does not get to its first node does not get to the others, either.
void Messenger::fail_waiting(uint32_t id, RequestFailureReason reason) {
  const auto behind = waiting_behind_.extract(id);
  if (const auto it = waiting_.find(id); it != waiting_.end()) {
    const Waiting waiting = it->second;
    waiting_.erase(it);
    waiting.handler->on_failure(waiting.from, reason);
  }
  if (behind.empty()) return;
  for (const Waiting& waiting : behind.mapped()) waiting.handler->on_failure(waiting.from, reason);
}

std::optional<Messenger::Waiting> Messenger::take_waiting(uint64_t id, const InetAddressAndPort& from) {
  if (id > kLastId) return std::nullopt;
  const auto key = static_cast<uint32_t>(id);
  if (const auto it = waiting_.find(key); it != waiting_.end() && it->second.from == from) {
    const Waiting waiting = it->second;
    waiting_.erase(it);
    return waiting;
  }
  const auto behind = waiting_behind_.find(key);
  if (behind == waiting_behind_.end()) return std::nullopt;
  for (Waiting& waiting : behind->second) {
    if (waiting.from != from) continue;
    const Waiting taken = waiting;
    behind->second.erase(&waiting);
    if (behind->second.empty()) waiting_behind_.erase(behind);
    return taken;
  }
  return std::nullopt;
}

// ---- deadlines

void Messenger::schedule_expiry() {
  if (expiries_.empty() || closed_) return;
  const int64_t first = expiries_.first();
  if (expiry_timer_ != 0) {
    if (expiry_at_ <= first) return;
    runtime_.executor.cancel(std::exchange(expiry_timer_, 0));
  }
  expiry_at_ = first;
  const Duration until(first - runtime_.clock.monotonic_nanos());
  expiry_timer_ = runtime_.executor.schedule(std::max(until, Duration(0)) + kExpiryResolution, [this] {
    expiry_timer_ = 0;
    expire();
  });
}

void Messenger::expire() {
  const int64_t now = runtime_.clock.monotonic_nanos();
  while (!expiries_.empty() && expiries_.first() <= now) {
    const ExpiryLanes::Expiry due = expiries_.pop();
    const auto it = waiting_.find(due.id);
    const auto behind = waiting_behind_.find(due.id);
    // Its id may have been used again.
    if ((it != waiting_.end() && it->second.deadline == due.deadline) ||
        (behind != waiting_behind_.end() && behind->second.front().deadline == due.deadline)) {
      fail_waiting(due.id, RequestFailureReason::kTimeout);
    }
  }
  schedule_expiry();
}

// ---- answers

void Messenger::on_response(InboundMessage& response) {
  const uint64_t id = response.header.id;
  const auto there = static_cast<unsigned>(id & kShardMask);
  if (there == shard_ || id > kLastId || there >= group_.runtime().shard_count()) return complete(response);
  response.keep();
  auto take = [group = &group_, there, moved = std::move(response)]() mutable {
    if (Messenger* messenger = group->messenger(there)) messenger->complete(moved);
  };
  group_.runtime().shard(there).executor.post(std::move(take));
}

void Messenger::complete(InboundMessage& response) {
  const std::optional<Waiting> waiting = take_waiting(response.header.id, response.from);
  if (!waiting) {
    ++unexpected_;
    return;
  }
  if (!response.header.params.empty()) response.trace = trace_of(response);
  if (response.trace != nullptr) response.trace->event("Processing response from " + response.from.to_string());
  if (response.header.verb != Verb::kFailureRsp) return waiting->handler->on_response(response);
  auto reason = decode_failure_reason(response.payload);
  waiting->handler->on_failure(response.from, reason.ok() ? *reason : RequestFailureReason::kUnknown);
}

}  // namespace cassandra_like
