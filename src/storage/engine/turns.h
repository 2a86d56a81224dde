// The turns of a shard's scans and long reads. A pass of the shard's loop has room for one long turn, or for some short
// ones; the others wait, first come, first served. So a request that comes waits for one pass, however many scans there
// are.
//
// Work is counted in rows and partitions that were looked at.
//
// Whoever waits keeps this alive.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "read/read_pipeline.h"
#include "runtime/executor.h"

namespace cassandra_like {

class Turns {
 public:
  explicit Turns(Executor& executor) : executor_(executor) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // True when the caller has a turn at once. False when it has to wait for next(): the pass has no room, or others wait.
  bool take() {
    if (!waiting_.empty() || !has_room()) return false;
    if (!in_pass_) begin_pass();
    return true;
  }
  // Completes in a later callback of the shard, when all who waited before have had their turn.
  Task<void> next() { return wait(this); }
  // To be called at the end of each turn, with the SSTables that it opened.
  void spend(uint64_t work, size_t sstables) { spent_ += kBegin + work + kSSTable * sstables; }

 private:
  static constexpr uint64_t kPass = ReadPipeline::kTurn;
  // In rows: to begin a turn and to open an SSTable cost about as much.
  static constexpr uint64_t kBegin = 8;
  static constexpr uint64_t kSSTable = 64;

  static Task<void> wait(Turns* turns) {
    Promise<bool> turn;
    turns->waiting_.push_back(&turn);
    if (!turns->in_pass_) turns->begin_pass();
    co_await turn;
  }
  bool has_room() const { return spent_ < kPass; }
  void begin_pass() {
    in_pass_ = true;
    executor_.post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) end_pass();
    });
  }
  void end_pass() {
    in_pass_ = false;
    spent_ = 0;
    if (waiting_.empty()) return;
    begin_pass();
    const std::weak_ptr<bool> alive = alive_;
    // Who pauses in its turn waits for the next pass.
    for (size_t left = waiting_.size(); left > 0 && has_room(); --left) {
      Promise<bool>* turn = waiting_.front();
      waiting_.pop_front();
      turn->set(true);
      if (alive.expired()) return;
    }
  }

  Executor& executor_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool in_pass_ = false;  // and the callback that ends it is posted
  uint64_t spent_ = 0;    // in this pass
  std::deque<Promise<bool>*> waiting_;
};

}  // namespace cassandra_like
