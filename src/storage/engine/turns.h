// The turns of a shard's scans and long reads: one after the other, at most one in a pass of the shard's loop. So a
// request that comes waits for one turn, however many scans there are.
//
// Whoever waits keeps this alive.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "runtime/executor.h"

namespace cassandra_like {

class Turns {
 public:
  explicit Turns(Executor& executor) : executor_(executor) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // True when the caller has a turn at once. False when it has to wait for next(): another one had its turn in this pass of
  // the loop, or waits.
  bool take() {
    if (taken_) return false;
    begin_pass();
    return true;
  }
  // Completes in a later callback of the shard, when all who waited before have had their turn.
  Task<void> next() { return wait(this); }

 private:
  static Task<void> wait(Turns* turns) {
    Promise<bool> turn;
    turns->waiting_.push_back(&turn);
    if (!turns->taken_) turns->begin_pass();
    co_await turn;
  }
  void begin_pass() {
    taken_ = true;
    executor_.post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) give();
    });
  }
  void give() {
    taken_ = false;
    if (waiting_.empty()) return;
    Promise<bool>* turn = waiting_.front();
    waiting_.pop_front();
    begin_pass();
    turn->set(true);  // may be the last thing that keeps this
  }

  Executor& executor_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool taken_ = false;  // until the next pass of the loop
  std::deque<Promise<bool>*> waiting_;
};

}  // namespace cassandra_like
