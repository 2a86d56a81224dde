// One shard's event loop, and the means to reach the others. Everything that a shard owns is touched only by
// callbacks that its Executor runs.
//
// In the real world an Executor is a thread pinned to its loop; in the simulator all of them share one thread, and
// the order of ready callbacks is drawn from the seed.
#pragma once

#include <chrono>
#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "runtime/task.h"

namespace cassandra_like {

using Callback = absl::AnyInvocable<void()>;
using Duration = std::chrono::nanoseconds;

// Microseconds since 1970; nanoseconds since an arbitrary start that never goes back.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t wall_micros() const = 0;
  virtual int64_t monotonic_nanos() const = 0;
  int64_t wall_millis() const { return wall_micros() / 1000; }
  int64_t wall_seconds() const { return wall_micros() / 1000000; }
};

// Not for secrets unless the implementation says so (the real one reads the kernel's generator once per shard
// to seed, and directly for fill()).
class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t next() = 0;
  // 0 <= result < bound; bound > 0.
  uint64_t below(uint64_t bound) { return next() % bound; }
  // Bytes fit for salts and keys.
  virtual void fill(char* out, size_t size) = 0;
};

using TimerId = uint64_t;

class Executor {
 public:
  virtual ~Executor() = default;

  virtual unsigned shard() const = 0;
  // True when called from a callback of this executor.
  virtual bool is_current() const = 0;
  // Runs fn on this shard after the current callback returns. May be called from any shard of the node, and in the
  // real world from any thread. Callbacks posted by one shard run in the order in which it posted them.
  virtual void post(Callback fn) = 0;
  // Runs fn on this shard after delay; only from this shard. cancel() is false when it ran or was cancelled.
  virtual TimerId schedule(Duration delay, Callback fn) = 0;
  virtual bool cancel(TimerId id) = 0;

  // Suspends the calling coroutine, which must run on this shard.
  Task<void> yield();
  Task<void> sleep(Duration delay);
};

// Runs make() on the executor `there` and brings its result back to `here`, where the caller runs. make() returns a
// Task<T>; it and T must not refer to anything that the calling shard may change meanwhile.
template <class T>
Task<T> run_on(Executor& here, Executor& there, absl::AnyInvocable<Task<T>()> make);

namespace executor_internal {
template <class T>
struct Hop {
  Promise<T> result;
  absl::AnyInvocable<Task<T>()> make;
};
template <class T>
Task<void> hop(Executor* here, Hop<T>* state) {
  T value = co_await state->make();
  here->post([state, value = std::move(value)]() mutable { state->result.set(std::move(value)); });
}
}  // namespace executor_internal

template <class T>
Task<T> run_on(Executor& here, Executor& there, absl::AnyInvocable<Task<T>()> make) {
  if (&here == &there) co_return co_await make();
  executor_internal::Hop<T> state{.result = {}, .make = std::move(make)};
  there.post([h = &here, s = &state] { spawn(executor_internal::hop<T>(h, s)); });
  co_return co_await state.result;
}

}  // namespace cassandra_like
