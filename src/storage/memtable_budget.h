// The memory of all shards' memtables (memtable_heap_space and memtable_offheap_space). Each shard takes of it as it
// needs: a shard that gets all writes has all of the memory.
//
// A shard counts its bytes itself, and tells them when they have grown by a step. So a write hardly ever touches memory
// that shards share, and the sums are right up to a step of each shard: a 64th of the budget in all.
//
// When half of the budget is in memtables that take writes, the shard that has most of them is asked to flush. When those
// memtables and the ones that are being flushed have the whole budget, it is full: writes wait. A shard that frees memory
// wakes the shards whose writes wait.
//
// All functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/executor.h"

namespace cassandra_like {

class MemtableBudget {
 public:
  // Bytes of one shard's memtables: those that take writes, and those that are being flushed.
  struct Use {
    uint64_t active = 0, flushing = 0;
  };
  // Both are called on the shard.
  struct Member {
    Executor* executor = nullptr;
    std::function<void()> flush;  // settle() or decline() follows
    std::function<void()> wake;   // the writes that wait
  };

  MemtableBudget(uint64_t bytes, unsigned shards);

  uint64_t bytes() const { return bytes_; }
  // An equal part for each shard.
  uint64_t share() const { return bytes_ / shards_.size(); }
  // How much a shard's memtables may grow until it calls grow().
  uint64_t step() const { return step_; }
  bool wants_flush() const { return active_.load() > bytes_ / 2; }
  bool is_full() const { return active_.load() + flushing_.load() >= bytes_; }

  // From join() to leave() the member is called; calls that were posted before leave() may still reach it. Nobody else is
  // called by leave(): the others may be gone.
  void join(unsigned shard, Member member);
  void leave(unsigned shard);

  // The shard's memtables have grown by a step.
  void grow(unsigned shard, Use use);
  // A flush of the shard has begun, or ended in any way, or memtables were dropped.
  void settle(unsigned shard, Use use);
  // The shard has nothing to flush until it calls settle().
  void decline(unsigned shard);
  // A write of the shard is about to wait: it looks at is_full() once more before it does.
  void wait(unsigned shard) { shards_[shard].waits.store(true); }

 private:
  enum class State : uint8_t { kIdle, kAsked, kDeclined };
  struct alignas(64) Shard {
    std::atomic<uint64_t> active = 0;
    uint64_t flushing = 0;  // the shard's own
    std::atomic<State> state = State::kIdle;
    std::atomic<bool> waits = false;
    std::mutex mutex;
    Member member;  // under the mutex
  };

  void count(Shard& shard, Use use);
  void ask_for_flush();
  static bool post(Shard& shard, std::function<void()> Member::*call);

  const uint64_t bytes_;
  std::vector<Shard> shards_;
  const uint64_t step_;
  alignas(64) std::atomic<uint64_t> active_ = 0;
  std::atomic<uint64_t> flushing_ = 0;
};

}  // namespace cassandra_like
