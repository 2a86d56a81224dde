#include "hints/hints_dispatcher.h"

#include <algorithm>
#include <cstring>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/vint.h"

namespace cassandra_like {

namespace {

// From the first that has not been answered: so many, at most, are sent again after a failure.
constexpr size_t kMostHintsInFlight = 128;
constexpr size_t kMostHintBytesInFlight = 512 * 1024;
// An abort is noticed after this long.
constexpr int64_t kLongestThrottleSleep = 500'000'000;
constexpr size_t kHostIdSize = 16;

// The body of a HINT_REQ: the hint is the file's bytes.
SharedBytes hint_request(const Uuid& host_id, BytesView encoded) {
  const size_t size = kHostIdSize + unsigned_vint_size(encoded.size()) + encoded.size();
  return SharedBytes::make(size, [&](char* p) {
    std::memcpy(p, host_id.bytes.data(), kHostIdSize);
    char size_bytes[kMaxVintSize];
    const auto length = static_cast<size_t>(write_unsigned_vint(size_bytes, encoded.size()) - size_bytes);
    std::memcpy(p + kHostIdSize, size_bytes, length);
    std::memcpy(p + kHostIdSize + length, encoded.data(), encoded.size());
  });
}

}  // namespace

Task<HintsDispatcher::Outcome> HintsDispatcher::send(std::unique_ptr<HintsFileReader> reader, HintsTarget* node,
                                                     InetAddressAndPort to, size_t nodes, const MayGoOn* may_go_on) {
  next_ = reader->position();
  Outcome outcome = Outcome::kStopped;
  HintsFileReader::Hint hint;
  while (!failed_ && (*may_go_on)()) {
    if (sent_.size() >= kMostHintsInFlight || in_flight_bytes_ >= kMostHintBytesInFlight) {
      co_await wait_for_answer();
      continue;
    }
    auto more = reader->next(hint);
    if (!more.ok()) {
      LOG_ERROR("Failed to dispatch hints: {}", more.error().message());
      if (more.error().code() == ErrorCode::kCorruption) outcome = Outcome::kUnreadable;
      break;
    }
    if (!*more) {
      outcome = Outcome::kFinished;
      break;
    }
    if (!hint_is_live(hint.created_millis, hint.gc_grace_seconds, runtime_.clock.wall_millis())) {
      ++statistics_.expired;
      next_ = reader->position();
      continue;
    }
    const bool go_on = co_await take_turn(node, hint.encoded.size(), nodes, may_go_on);
    if (!go_on) break;
    send_one(*reader, hint, to);
    next_ = reader->position();
  }
  while (in_flight_ > 0) co_await wait_for_answer();
  if (failed_) outcome = Outcome::kStopped;
  statistics_.damaged += reader->damaged();
  if (outcome == Outcome::kFinished && reader->is_torn()) {
    LOG_WARN("Unexpected end of the hints in {}: their writer was stopped; what is there has been sent",
             reader->descriptor().file_name());
  }
  co_return outcome;
}

Task<bool> HintsDispatcher::take_turn(HintsTarget* node, size_t size, size_t nodes, const MayGoOn* may_go_on) {
  const uint64_t throttle = control_.throttle.load(std::memory_order_relaxed);
  const uint64_t share = throttle == 0 ? 0 : std::max<uint64_t>(1, throttle / std::max<size_t>(1, nodes));
  int64_t wait = node->take_turn(size, share, runtime_.clock.monotonic_nanos());
  while (wait > 0) {
    const int64_t slice = std::min(wait, kLongestThrottleSleep);
    co_await runtime_.executor.sleep(Duration(slice));
    wait -= slice;
    if (failed_ || !(*may_go_on)()) co_return false;
  }
  co_return true;
}

void HintsDispatcher::send_one(const HintsFileReader& reader, const HintsFileReader::Hint& hint,
                               const InetAddressAndPort& to) {
  DCHECK(sent_.empty() || sent_.back()->position < hint.position);
  sent_.push_back(std::make_unique<Sent>(*this, hint.position, hint.encoded.size()));
  Sent& sent = *sent_.back();
  ++in_flight_;
  in_flight_bytes_ += sent.size;
  SharedBytes body = hint_request(reader.descriptor().host_id, hint.encoded);
  const uint32_t id = messenger_.send_request(to, Verb::kHintReq, std::move(body), sent, {.flags = kCallBackOnFailure});
  // 0: the failure has been told already.
  if (id != 0) sent.id = id;
}

void HintsDispatcher::on_answer(Sent& sent, std::optional<RequestFailureReason> failure) {
  sent.id = 0;
  DCHECK(in_flight_ > 0 && in_flight_bytes_ >= sent.size);
  --in_flight_;
  in_flight_bytes_ -= sent.size;
  if (!failure) {
    sent.arrived = true;  // it may be gone behind the next line
    while (!sent_.empty() && sent_.front()->arrived) sent_.pop_front();
    ++statistics_.succeeded;
  } else {
    failed_ = true;
    ++(*failure == RequestFailureReason::kTimeout ? statistics_.timed_out : statistics_.failed);
  }
  wake();
}

void HintsDispatcher::abort() {
  failed_ = true;
  for (const auto& sent : sent_) {
    if (sent->id != 0) messenger_.cancel(std::exchange(sent->id, 0));
  }
  in_flight_ = 0;
  in_flight_bytes_ = 0;
  wake();
}

void HintsDispatcher::wake() {
  if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->set(true);
}

Task<void> HintsDispatcher::wait_for_answer() {
  Promise<bool> told;
  waiter_ = &told;
  co_await told;
}

}  // namespace cassandra_like
