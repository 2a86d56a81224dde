// The one scheduler of a simulated world: events in the order of their virtual time. Where the times are equal, timers
// come first, then the order of their making counts. So a timer does not wait behind a held-up executor's queue, and a
// real shard does the same. All randomness of the world is drawn here, from one seed.
//
// An event belongs to the executor that runs it; when the life (boot) of a machine ends, its events are destroyed
// without being run. Nothing here depends on addresses or on a hash's order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/sim/sim_runtime.h"
#include "runtime/xoshiro.h"

namespace cassandra_like {

enum class SimEvent : uint8_t {
  kPost,
  kTimer,
  kConnect,
  kAccept,
  kConnected,
  kRefused,
  kReceive,
  kWritable,
  kResume,
  kEndOfStream,
  kReset,
  kClosed,
  kSyncDone,
  kBlockingDone,
  // Not events of their own; folded into the trace when they happen.
  kDiskRead,
  kDiskAppend,
  kDiskNames,
  kCrash,
  kKill,
  kPause,
  kContinue,
  kLink,
  kConnectTimeout,
  kReadDone,
  kDiskTruncate,
};

// One life of a machine, from boot() to crash() or shut_down().
struct SimLife {
  uint32_t machine = 0;
  uint32_t number = 0;  // counts the lives of all machines
  bool alive = true;
  bool paused = false;
};

class SimExecutor;

class SimScheduler {
 public:
  explicit SimScheduler(uint64_t seed) : random_(seed), trace_hash_(seed) {}

  int64_t now() const { return now_; }
  uint64_t draw() { return random_.next(); }
  // 0 <= result <= limit.
  int64_t draw_up_to(int64_t limit) {
    return limit <= 0 ? 0 : static_cast<int64_t>(draw() % (static_cast<uint64_t>(limit) + 1));
  }
  bool chance(uint32_t ppm) { return ppm != 0 && draw() % 1'000'000 < ppm; }

  // Drops fn at once if the owner's life has ended.
  void at(int64_t time, SimExecutor* owner, SimEvent kind, uint64_t payload, Callback fn);
  void drop_events_of(const SimLife& life);
  // Events of a paused life wait, and are due when it goes on: timers first, else in the order in which they would have run.
  void resume(SimLife& life);
  // False when nothing is left that is due by limit; the clock moves only with an event.
  bool step(int64_t limit);
  void advance_to(int64_t time) { now_ = std::max(now_, time); }
  uint64_t steps() const { return steps_; }

  void fold(SimEvent kind, uint32_t machine, uint64_t payload);
  uint64_t trace_hash() const { return trace_hash_; }

  // The executor whose callback is running; nullptr outside of all.
  const SimExecutor* current() const { return current_; }
  // Work that is due on the current executor within so many nanoseconds is run after them.
  void hold_up_current(int64_t nanos);
  // Runs work as a callback of another executor than the current one.
  void run_as(SimExecutor& other, absl::FunctionRef<void()> work);
  // True while an event runs: what it may still refer to is given to bury() instead of being destroyed.
  bool running() const { return running_; }
  template <class T>
  void bury(std::unique_ptr<T> dead) {
    if (running_) graveyard_.push_back(std::shared_ptr<T>(std::move(dead)));
  }

 private:
  struct Event {
    int64_t time;
    uint64_t order;
    SimExecutor* owner;
    SimEvent kind;
    uint64_t payload;
    Callback fn;
  };
  static bool later(const Event& a, const Event& b) {
    const auto rank = [](const Event& e) { return std::tuple(e.time, e.kind != SimEvent::kTimer, e.order); };
    return rank(a) > rank(b);
  }

  Xoshiro random_;
  uint64_t trace_hash_;
  int64_t now_ = 0;
  uint64_t next_order_ = 0;
  uint64_t steps_ = 0;
  std::vector<Event> events_;  // a heap by later()
  std::vector<Event> parked_;  // of paused lives, in the order of their times
  SimExecutor* current_ = nullptr;
  bool running_ = false;
  std::vector<std::shared_ptr<void>> graveyard_;
};

class SimExecutor final : public Executor {
 public:
  SimExecutor(SimScheduler& scheduler, SimLife& life, unsigned shard)
      : scheduler_(scheduler), life_(life), shard_(shard) {}

  unsigned shard() const override { return shard_; }
  bool is_current() const override { return scheduler_.current() == this; }
  using Executor::post;
  void post(Callback fn) override;
  bool run_if_asleep(absl::FunctionRef<void()> work) override;
  TimerId schedule(Duration delay, Callback fn) override;
  bool cancel(TimerId id) override;

  SimLife& life() const { return life_; }
  int64_t held_up_until() const { return held_up_until_; }
  void hold_up_until(int64_t time) { held_up_until_ = std::max(held_up_until_, time); }
  // The callback of a timer that is due; empty when it was cancelled.
  std::optional<Callback> take_timer(TimerId id);
  void drop_timers();

 private:
  SimScheduler& scheduler_;
  SimLife& life_;
  const unsigned shard_;
  // Posts from one source arrive in order, those of several sources interleave as the seed says.
  std::map<std::pair<uint32_t, unsigned>, int64_t> last_post_;  // by life and shard of the source
  std::map<TimerId, Callback> timers_;
  TimerId next_timer_ = 1;
  int64_t held_up_until_ = 0;
};

class SimClock final : public Clock {
 public:
  // `offset`: how far the wall clock is ahead, in microseconds; it may change at any time.
  explicit SimClock(const SimScheduler& scheduler, const int64_t* offset = nullptr)
      : scheduler_(scheduler), offset_(offset) {}
  int64_t wall_micros() const override {
    return kStart + scheduler_.now() / 1000 + (offset_ == nullptr ? 0 : *offset_);
  }
  int64_t monotonic_nanos() const override { return scheduler_.now(); }

 private:
  static constexpr int64_t kStart = 1'767'225'600'000'000;  // 2026-01-01
  const SimScheduler& scheduler_;
  const int64_t* offset_;
};

// Work runs at once, and its result comes later, in the order of the calls.
class SimBlocking final : public Blocking {
 public:
  SimBlocking(SimScheduler& scheduler, SimExecutor& executor, const SimFaults& faults)
      : scheduler_(scheduler), executor_(executor), faults_(faults) {}
  Task<void> run(absl::AnyInvocable<void()> work) override;

 private:
  SimScheduler& scheduler_;
  SimExecutor& executor_;
  const SimFaults& faults_;
  int64_t last_done_ = 0;
};

class SimRandom final : public Random {
 public:
  explicit SimRandom(uint64_t seed) : generator_(seed) {}
  uint64_t next() override { return generator_.next(); }
  void fill(char* out, size_t size) override;

 private:
  Xoshiro generator_;
};

}  // namespace cassandra_like
