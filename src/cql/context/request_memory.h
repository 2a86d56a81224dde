// The memory of requests beyond their bytes on the wire: what their statements become while they run, and answers from their first
// row until the client's system has taken them. One answer is bounded, and all requests together. A request that needs more is
// refused, with the name of the setting that forbids it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace cassandra_like {

// One a node; its shards share it.
class RequestMemory {
 public:
  // In bytes: native_transport_max_frame_size and native_transport_max_request_data_in_flight. 0: unlimited.
  RequestMemory(uint64_t max_answer, uint64_t max_total)
      : max_answer_(max_answer),
        max_total_(max_total),
        max_values_(max_total == 0 ? kMaxValues : std::min(kMaxValues, max_total / kBytesOfValue)) {}

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  bool is_full() const { return max_total_ != 0 && used() > max_total_; }
  // How many terms, combinations of the values of its INs and JSON values one statement may have.
  uint64_t max_values() const { return max_values_; }

  static constexpr uint64_t kMaxValues = 1'000'000;
  // One of them takes so much, in the syntax tree and in all that is made of it until the answer is there. Measured.
  static constexpr uint64_t kBytesOfValue = 600;

 private:
  friend class RequestShare;
  const uint64_t max_answer_;
  const uint64_t max_total_;
  const uint64_t max_values_;
  std::atomic<uint64_t> used_{0};
};

// The part that one answer has of it, those that wait on one connection, or the statements of one request; until it is destroyed.
class RequestShare {
 public:
  // Without memory nothing is bounded.
  explicit RequestShare(RequestMemory* memory) : memory_(memory) {}
  RequestShare(const RequestShare&) = delete;
  RequestShare& operator=(const RequestShare&) = delete;
  ~RequestShare() { release(); }

  // Room for an answer of so many bytes. An answer that is small is not counted.
  Status reserve(uint64_t bytes);
  // Room for so many values more. The values of small statements are not counted.
  Status add_values(uint64_t count);
  // Counts the bytes of answers that are there already: nothing is refused.
  void hold(uint64_t bytes);
  void release() {
    values_ = 0;
    if (held_ > 0) memory_->used_.fetch_sub(std::exchange(held_, 0), std::memory_order_relaxed);
  }
  uint64_t held() const { return held_; }
  // How large a buffer may grow that needs `least` bytes and would take `wanted`.
  uint64_t bounded(uint64_t least, uint64_t wanted) const;

  static constexpr uint64_t kSmall = 64 * 1024;

 private:
  RequestMemory* memory_;
  uint64_t held_ = 0;
  uint64_t values_ = 0;
};

}  // namespace cassandra_like
