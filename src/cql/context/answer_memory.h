// The memory of answers, from their first row until the client's system has taken them: one answer is bounded, and all of them
// together. An answer that needs more is refused, with the name of the setting that forbids it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace cassandra_like {

// One a node; its shards share it.
class AnswerMemory {
 public:
  // In bytes: native_transport_max_frame_size and native_transport_max_request_data_in_flight. 0: unlimited.
  AnswerMemory(uint64_t max_answer, uint64_t max_total) : max_answer_(max_answer), max_total_(max_total) {}

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  bool is_full() const { return max_total_ != 0 && used() > max_total_; }

 private:
  friend class AnswerShare;
  const uint64_t max_answer_;
  const uint64_t max_total_;
  std::atomic<uint64_t> used_{0};
};

// The part that one answer has of it, or those that wait on one connection; until it is destroyed.
class AnswerShare {
 public:
  // Without memory nothing is bounded.
  explicit AnswerShare(AnswerMemory* memory) : memory_(memory) {}
  AnswerShare(const AnswerShare&) = delete;
  AnswerShare& operator=(const AnswerShare&) = delete;
  ~AnswerShare() { release(); }

  // Room for an answer of so many bytes. An answer that is small is not counted.
  Status reserve(uint64_t bytes);
  // Counts the bytes of answers that are there already: nothing is refused.
  void hold(uint64_t bytes);
  void release() {
    if (held_ > 0) memory_->used_.fetch_sub(std::exchange(held_, 0), std::memory_order_relaxed);
  }
  uint64_t held() const { return held_; }
  // How large a buffer may grow that needs `least` bytes and would take `wanted`.
  uint64_t bounded(uint64_t least, uint64_t wanted) const;

  static constexpr uint64_t kSmall = 64 * 1024;

 private:
  AnswerMemory* memory_;
  uint64_t held_ = 0;
};

}  // namespace cassandra_like
