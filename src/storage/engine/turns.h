// The turns of a shard's long reads: one after the other, each in a callback of its own. So a request that comes waits
// for one turn, however many long reads there are.
//
// Whoever waits keeps this alive.
#pragma once

#include <deque>
#include <utility>

#include "runtime/executor.h"

namespace cassandra_like {

class Turns {
 public:
  explicit Turns(Executor& executor) : executor_(executor) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Completes in a later callback of the shard, when all who waited before have had their turn.
  Task<void> next() { return wait(this); }

 private:
  static Task<void> wait(Turns* turns) {
    Promise<bool> turn;
    turns->waiting_.push_back(&turn);
    if (turns->waiting_.size() == 1) turns->post();
    co_await turn;
  }
  void post() {
    executor_.post([this] { give(); });
  }
  void give() {
    Promise<bool>* turn = waiting_.front();
    waiting_.pop_front();
    if (!waiting_.empty()) post();
    turn->set(true);  // may be the last thing that keeps this
  }

  Executor& executor_;
  std::deque<Promise<bool>*> waiting_;
};

}  // namespace cassandra_like
