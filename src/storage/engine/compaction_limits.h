// The limits of the compactions of one shard: how many run, and how many bytes a second they read or write.
#pragma once

#include <algorithm>
#include <deque>

#include "runtime/executor.h"

namespace cassandra_like {

// Turns to run. Whoever waits longest is next.
class CompactorSlots {
 public:
  class Guard {
   public:
    explicit Guard(CompactorSlots& slots) : slots_(slots) {}
    ~Guard() { slots_.leave(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    CompactorSlots& slots_;
  };

  // At least 1. Running compactions go on.
  void set_limit(unsigned limit) {
    limit_ = std::max(limit, 1u);
    admit();
  }
  Task<void> enter() { return wait(this); }

 private:
  static Task<void> wait(CompactorSlots* slots) {
    if (slots->used_ < slots->limit_ && slots->waiting_.empty()) {
      ++slots->used_;
      co_return;
    }
    Promise<bool> turn;
    slots->waiting_.push_back(&turn);
    co_await turn;
  }
  void leave() {
    --used_;
    admit();
  }
  void admit() {
    while (used_ < limit_ && !waiting_.empty()) {
      Promise<bool>* next = waiting_.front();
      waiting_.pop_front();
      ++used_;
      next->set(true);
    }
  }

  unsigned limit_ = 1, used_ = 0;
  std::deque<Promise<bool>*> waiting_;
};

// A debt of bytes that time pays off.
class CompactionThroughput {
 public:
  void set_rate(uint64_t bytes_per_second) { rate_ = static_cast<double>(bytes_per_second); }
  void spend(uint64_t bytes, int64_t now_nanos) {
    pay(now_nanos);
    if (rate_ > 0) debt_ += static_cast<double>(bytes);
  }
  // How long to wait before more is spent.
  Duration pause(int64_t now_nanos) {
    pay(now_nanos);
    if (rate_ == 0) return Duration::zero();
    const Duration pause(static_cast<int64_t>(debt_ / rate_ * 1e9));
    return pause < kShortest ? Duration::zero() : pause;
  }

 private:
  static constexpr Duration kShortest = std::chrono::milliseconds(2);

  void pay(int64_t now_nanos) {
    const double paid = rate_ * static_cast<double>(now_nanos - last_nanos_) / 1e9;
    debt_ = rate_ == 0 ? 0 : std::max(0.0, debt_ - paid);
    last_nanos_ = now_nanos;
  }

  double rate_ = 0;  // 0: no limit
  double debt_ = 0;
  int64_t last_nanos_ = 0;
};

}  // namespace cassandra_like
