// Work that is done at the same time: the same on several shards of a node, or several tasks on one.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/runtime.h"

namespace cassandra_like {

namespace gather_internal {
template <class T>
struct State {
  std::function<Task<T>(unsigned)> work;
  std::vector<std::optional<T>> results;
  size_t missing = 0;
  Promise<bool> done;
};
template <class T>
Task<void> run(State<T>* state, Executor* home, unsigned shard, size_t place) {
  T value = co_await state->work(shard);
  home->post([state, place, value = std::move(value)]() mutable {
    state->results[place].emplace(std::move(value));
    if (--state->missing == 0) state->done.set(true);
  });
}
}  // namespace gather_internal

// `work` is called on each of the shards with its number; the caller runs on `home`. Give a lambda that captures more than
// pointers a name first: GCC 12 destroys such a temporary twice when it stands inside of a co_await.
template <class T>
Task<std::vector<T>> gather(Runtime& runtime, Executor& home, std::vector<unsigned> shards,
                            std::function<Task<T>(unsigned)> work) {
  gather_internal::State<T> state;
  state.work = std::move(work);
  state.results.resize(shards.size());
  state.missing = shards.size();
  for (size_t i = 0; i < shards.size(); ++i) {
    auto* s = &state;
    auto* h = &home;
    const unsigned shard = shards[i];
    runtime.shard(shard).executor.post([s, h, shard, i] { spawn(gather_internal::run<T>(s, h, shard, i)); });
  }
  co_await state.done;
  std::vector<T> values;
  for (auto& result : state.results) values.push_back(std::move(*result));
  co_return values;
}

// On all shards.
template <class T>
Task<std::vector<T>> gather(Runtime& runtime, Executor& home, std::function<Task<T>(unsigned)> work) {
  std::vector<unsigned> shards(runtime.shard_count());
  for (unsigned i = 0; i < shards.size(); ++i) shards[i] = i;
  return gather<T>(runtime, home, std::move(shards), std::move(work));
}

// The first error of several, or success.
inline Status first_error(std::vector<Status> statuses) {
  for (Status& status : statuses) {
    if (!status.ok()) return std::move(status);
  }
  return {};
}

namespace gather_internal {
struct Together {
  std::vector<Status> results;
  size_t missing = 0;
  Promise<bool> done;
};
inline Task<void> run_one(Task<Status> task, Together* state, size_t place) {
  Status status = co_await task;
  state->results[place] = std::move(status);
  if (--state->missing == 0) state->done.set(true);
}
}  // namespace gather_internal

// Starts every task on the caller's shard before it waits for one. Ends when all have ended, with the first error of them.
inline Task<Status> run_together(std::vector<Task<Status>> tasks) {
  gather_internal::Together state;
  state.results.resize(tasks.size());
  state.missing = tasks.size();
  for (size_t i = 0; i < tasks.size(); ++i) spawn(gather_internal::run_one(std::move(tasks[i]), &state, i));
  if (!tasks.empty()) co_await state.done;
  co_return first_error(std::move(state.results));
}

}  // namespace cassandra_like
