// One shard's event loop, and the means to reach the others. Everything that a shard owns is touched only by
// callbacks that its Executor runs.
//
// In the real world an Executor is a thread with its loop, whose place another one may take while it sleeps; in the
// simulator all of them share one thread, and the order of ready callbacks is drawn from the seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
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

// Work that its owner keeps alive until it has run, so that posting it allocates nothing.
class PostedWork {
 public:
  virtual void run() = 0;

 protected:
  ~PostedWork() = default;

 private:
  friend class EpollShard;
  // Releases work that is its own owner and will not run.
  virtual void drop() {}
  PostedWork* next_ = nullptr;  // of the executor's queue
};

class Executor {
 public:
  virtual ~Executor() = default;

  virtual unsigned shard() const = 0;
  // True when called from a callback of this executor.
  virtual bool is_current() const = 0;
  // Runs fn on this shard after the current callback returns. May be called from any shard of the node, and in the
  // real world from any thread. Callbacks posted by one shard run in the order in which it posted them.
  virtual void post(Callback fn) = 0;
  // The same for work that is not posted anywhere else until it runs.
  virtual void post(PostedWork& work) {
    post([&work] { work.run(); });
  }
  // Runs the work at once, on the caller's thread but as this shard's callback, if the shard sleeps and nothing waits for it;
  // otherwise returns false. From another shard's callback, whose state the work must not need.
  virtual bool run_if_asleep(absl::FunctionRef<void()>) { return false; }
  // Runs fn on this shard after delay; only from this shard. cancel() is false when it ran or was cancelled.
  virtual TimerId schedule(Duration delay, Callback fn) = 0;
  virtual bool cancel(TimerId id) = 0;

  // Suspends the calling coroutine, which must run on this shard.
  Task<void> yield();
  Task<void> sleep(Duration delay);
};

namespace executor_internal {

// The way there and back; lives in the frame of the coroutine that waits for it.
template <class T, class Make>
class Hop final : public PostedWork {
 public:
  Hop(Executor& here, Make make) : here_(here), make_(std::move(make)) {}

  void run() override {
    if (value_) return returned_.set(std::move(*value_));
    Task<T> task = make_();
    if (task.ready()) return go_back(task.take());
    spawn(wait(this, std::move(task)));
  }
  Promise<T>& returned() { return returned_; }

 private:
  static Task<void> wait(Hop* self, Task<T> task) {
    T value = co_await task;
    self->go_back(std::move(value));
  }
  // Afterwards this may be gone.
  void go_back(T value) {
    value_.emplace(std::move(value));
    here_.post(*this);
  }

  Executor& here_;
  Make make_;
  std::optional<T> value_;
  Promise<T> returned_;
};

}  // namespace executor_internal

// Runs make() on the executor `there` and brings its result back to `here`, where the caller runs. make() returns a
// Task<T>; it and T must not refer to anything that the calling shard may change meanwhile.
template <class T, class Make>
Task<T> run_on(Executor& here, Executor& there, Make make) {
  if (&here == &there) {
    Task<T> task = make();
    co_return co_await task;
  }
  executor_internal::Hop<T, Make> hop(here, std::move(make));
  there.post(hop);
  Promise<T>& returned = hop.returned();  // GCC 12 would await a copy of what a call returns by reference
  co_return co_await returned;
}

// The same for work of a few microseconds, which is less than it takes to wake a thread: if the shard sleeps, this one
// does it.
template <class T, class Make>
Task<T> run_briefly_on(Executor& here, Executor& there, Make make) {
  std::optional<Task<T>> begun;
  if (!there.run_if_asleep([&] { begun.emplace(make()); })) return run_on<T>(here, there, std::move(make));
  if (begun->ready()) return std::move(*begun);
  // A task that has to wait for something waits there.
  auto rest = [task = std::move(*begun)]() mutable { return std::move(task); };
  return run_on<T>(here, there, std::move(rest));
}

}  // namespace cassandra_like
