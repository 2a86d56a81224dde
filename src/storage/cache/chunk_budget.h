// The memory of the chunk caches of all shards (file_cache_size), given out in steps. A shard that does all reads has all
// of the memory.
//
// While there are free steps, a cache that is full takes one. Later, a cache looks around whenever it has replaced a step
// of its chunks. When chunks stay much longer in another cache, the one where they stay longest gives it a step. So a chunk
// that nobody asks for again stays for about the same time on each shard, as in one cache of all shards.
//
// A cache of C bytes that replaces R bytes a second keeps each chunk for C / R. R is counted in steps, and halved now and
// then, for all caches at once.
//
// All functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/executor.h"
#include "storage/cache/chunk_memory.h"

namespace cassandra_like {

class ChunkBudget {
 public:
  ChunkBudget(uint64_t bytes, unsigned shards);

  uint64_t bytes() const { return bytes_; }
  uint64_t share() const { return bytes_ / shards_.size(); }
  uint64_t step() const { return step_; }
  const std::shared_ptr<ChunkPool>& pool() const { return pool_; }

  // From join() to leave() `asked` is called on the shard, which then calls give_back(). A call that was posted before
  // leave() may still come.
  void join(unsigned shard, Executor& executor, std::function<void()> asked);
  // With all its steps.
  void leave(unsigned shard);

  // False: all steps are taken.
  bool take(unsigned shard);
  // 0: the cache keeps its only step.
  void give_back(unsigned shard, uint64_t steps);
  // The shard has replaced a step of its chunks, as there was no room.
  void replaced(unsigned shard);

 private:
  struct alignas(64) Shard {
    std::atomic<uint64_t> steps = 0;
    std::atomic<uint64_t> granted = 0;   // steps that another cache gave up for this one, not taken yet
    std::atomic<uint64_t> replaced = 0;  // steps, of late
    std::atomic<Shard*> asked_by = nullptr;
    std::mutex mutex;
    Executor* executor = nullptr;  // under the mutex
    std::function<void()> call;
  };

  void grant(Shard& shard, uint64_t steps);
  Shard* longest_stay(const Shard& than);
  void age();

  const uint64_t bytes_;
  const uint64_t step_;
  std::vector<Shard> shards_;
  alignas(64) std::atomic<uint64_t> free_;  // steps
  std::atomic<uint64_t> replaced_ = 0;      // steps since the last halving
  const std::shared_ptr<ChunkPool> pool_ = std::make_shared<ChunkPool>();
};

}  // namespace cassandra_like
