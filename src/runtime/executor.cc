// Suspending a coroutine on its shard.
#include "runtime/executor.h"

namespace cassandra_like {

namespace {

struct Yield {
  Executor* executor;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const {
    executor->post([h] { h.resume(); });
  }
  void await_resume() const noexcept {}
};

struct Sleep {
  Executor* executor;
  Duration delay;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const {
    executor->schedule(delay, [h] { h.resume(); });
  }
  void await_resume() const noexcept {}
};

Task<void> yield_on(Executor* executor) { co_await Yield{executor}; }
Task<void> sleep_on(Executor* executor, Duration delay) { co_await Sleep{executor, delay}; }

}  // namespace

Task<void> Executor::yield() { return yield_on(this); }
Task<void> Executor::sleep(Duration delay) { return sleep_on(this, delay); }

}  // namespace cassandra_like
