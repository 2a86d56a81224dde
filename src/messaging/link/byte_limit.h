// How many bytes of messages may wait (net.ResourceLimits): a queue's own share, and beyond it what the queues of one peer and
// those of all peers have in common.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cassandra_like {

// Shared by shards.
class ByteLimit {
 public:
  explicit ByteLimit(size_t capacity) : capacity_(capacity) {}

  bool try_take(size_t bytes) {
    size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > capacity_ || used > capacity_ - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const size_t capacity_;
  std::atomic<size_t> used_{0};
};

// One queue's bytes. Belongs to one shard.
class QueueBudget {
 public:
  enum class Outcome : uint8_t { kTaken, kEndpointFull, kGlobalFull };

  QueueBudget(size_t own, ByteLimit& endpoint, ByteLimit& global) : own_(own), endpoint_(endpoint), global_(global) {}
  ~QueueBudget() { give_back(used_); }
  QueueBudget(const QueueBudget&) = delete;
  QueueBudget& operator=(const QueueBudget&) = delete;

  // may_borrow: beyond the queue's own share, too.
  Outcome take(size_t bytes, bool may_borrow = true) {
    const size_t borrow = beyond_own(used_ + bytes) - beyond_own(used_);
    if (borrow > 0) {
      if (!may_borrow || !endpoint_.try_take(borrow)) return Outcome::kEndpointFull;
      if (!global_.try_take(borrow)) {
        endpoint_.give_back(borrow);
        return Outcome::kGlobalFull;
      }
    }
    used_ += bytes;
    return Outcome::kTaken;
  }
  void give_back(size_t bytes) {
    const size_t borrowed = beyond_own(used_) - beyond_own(used_ - bytes);
    used_ -= bytes;
    if (borrowed == 0) return;
    endpoint_.give_back(borrowed);
    global_.give_back(borrowed);
  }
  size_t used() const { return used_; }

 private:
  size_t beyond_own(size_t used) const { return used - std::min(used, own_); }

  const size_t own_;
  ByteLimit& endpoint_;
  ByteLimit& global_;
  size_t used_ = 0;
};

}  // namespace cassandra_like
