// The times at which reads of a shard have something to do, with one timer of the executor for all of them. A read that is
// over leaves its alarms behind; nobody listens to them.
#pragma once

#include <queue>
#include <vector>

#include "runtime/runtime.h"

namespace cassandra_like {

class Alarms {
 public:
  class Listener {
   public:
    // Alarms of another generation are not for it any more.
    virtual void ring(uint64_t generation) = 0;

   protected:
    ~Listener() = default;
  };

  explicit Alarms(ShardRuntime& runtime) : runtime_(runtime) {}
  ~Alarms() {
    if (timer_ != 0) runtime_.executor.cancel(timer_);
  }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  // Nanoseconds of the monotonic clock. The listener outlives this.
  void set(int64_t at, Listener& listener, uint64_t generation) {
    waiting_.push({at, &listener, generation});
    schedule();
  }

 private:
  struct Alarm {
    int64_t at;
    Listener* listener;
    uint64_t generation;
    bool operator>(const Alarm& o) const { return at > o.at; }
  };

  void schedule() {
    if (waiting_.empty()) return;
    const int64_t first = waiting_.top().at;
    if (timer_ != 0) {
      if (timer_at_ <= first) return;
      runtime_.executor.cancel(timer_);
    }
    timer_at_ = first;
    const Duration until(std::max<int64_t>(first - runtime_.clock.monotonic_nanos(), 0));
    timer_ = runtime_.executor.schedule(until, [this] {
      timer_ = 0;
      ring();
    });
  }

  void ring() {
    const int64_t now = runtime_.clock.monotonic_nanos();
    while (!waiting_.empty() && waiting_.top().at <= now) {
      const Alarm due = waiting_.top();
      waiting_.pop();
      due.listener->ring(due.generation);
    }
    schedule();
  }

  ShardRuntime& runtime_;
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> waiting_;
  TimerId timer_ = 0;
  int64_t timer_at_ = 0;
};

}  // namespace cassandra_like
