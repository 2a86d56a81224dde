#include "storage/cache/chunk_budget.h"

#include <algorithm>

#include "base/dcheck.h"

namespace cassandra_like {
namespace {

constexpr uint64_t kStepsOfAShare = 64;
// A step moves when chunks stay longer by more than this part: two caches under the same load change nothing.
constexpr uint64_t kMuchLongerPercent = 125;

}  // namespace

ChunkBudget::ChunkBudget(uint64_t bytes, unsigned shards)
    : bytes_(bytes),
      step_(std::max<uint64_t>(1, bytes / kStepsOfAShare / shards)),
      shards_(shards),
      free_(bytes / step_) {}

void ChunkBudget::join(unsigned shard, Executor& executor, std::function<void()> asked) {
  std::lock_guard lock(shards_[shard].mutex);
  shards_[shard].executor = &executor;
  shards_[shard].call = std::move(asked);
}

void ChunkBudget::leave(unsigned shard) {
  Shard& leaving = shards_[shard];
  std::lock_guard lock(leaving.mutex);
  leaving.executor = nullptr;
  leaving.call = nullptr;
  leaving.replaced = 0;
  free_ += leaving.steps.exchange(0) + leaving.granted.exchange(0);
  leaving.asked_by = nullptr;
}

bool ChunkBudget::take(unsigned shard) {
  Shard& taking = shards_[shard];
  if (taking.granted > 0) {
    --taking.granted;
    ++taking.steps;
    return true;
  }
  for (uint64_t free = free_; free > 0;) {
    if (!free_.compare_exchange_weak(free, free - 1)) continue;
    ++taking.steps;
    return true;
  }
  return false;
}

void ChunkBudget::give_back(unsigned shard, uint64_t steps) {
  Shard& giving = shards_[shard];
  DCHECK(steps < giving.steps || giving.steps == 0);
  giving.steps -= steps;
  Shard* const asker = giving.asked_by.exchange(nullptr);
  if (asker == nullptr) {
    free_ += steps;
  } else {
    grant(*asker, steps);
  }
}

void ChunkBudget::grant(Shard& shard, uint64_t steps) {
  std::lock_guard lock(shard.mutex);
  (shard.executor != nullptr ? shard.granted : free_) += steps;
}

void ChunkBudget::replaced(unsigned shard) {
  Shard& asking = shards_[shard];
  ++asking.replaced;
  if (++replaced_ > bytes_ / step_) age();
  Shard* const giving = longest_stay(asking);
  Shard* nobody = nullptr;
  if (giving == nullptr || !giving->asked_by.compare_exchange_strong(nobody, &asking)) return;
  std::lock_guard lock(giving->mutex);
  if (giving->executor != nullptr) return giving->executor->post(giving->call);
  giving->asked_by = nullptr;
}

// Null: in no other cache do chunks stay much longer.
ChunkBudget::Shard* ChunkBudget::longest_stay(const Shard& than) {
  // Compares fractions: steps / (replaced + 1).
  Shard* found = nullptr;
  uint64_t steps = than.steps * kMuchLongerPercent, replaced = (than.replaced + 1) * 100;
  for (Shard& shard : shards_) {
    const uint64_t its_steps = shard.steps, its_replaced = shard.replaced + 1;
    if (&shard == &than || its_steps <= 1 || its_steps * replaced <= steps * its_replaced) continue;
    found = &shard;
    steps = its_steps, replaced = its_replaced;
  }
  return found;
}

// When as much was replaced as all caches hold, the load of before counts half.
void ChunkBudget::age() {
  replaced_ = 0;
  for (Shard& shard : shards_) shard.replaced = shard.replaced / 2;
}

}  // namespace cassandra_like
