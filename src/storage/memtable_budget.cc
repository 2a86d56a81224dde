#include "storage/memtable_budget.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"

namespace cassandra_like {

MemtableBudget::MemtableBudget(uint64_t bytes, unsigned shards)
    : bytes_(bytes), shards_(shards), step_(std::max<uint64_t>(1, bytes / 64 / shards)) {}

void MemtableBudget::join(unsigned shard, Member member) {
  std::lock_guard lock(shards_[shard].mutex);
  shards_[shard].member = std::move(member);
}

void MemtableBudget::leave(unsigned shard) {
  std::lock_guard lock(shards_[shard].mutex);
  shards_[shard].member = {};
  shards_[shard].state = State::kIdle;
  count(shards_[shard], {});
}

void MemtableBudget::grow(unsigned shard, Use use) {
  count(shards_[shard], use);
  if (wants_flush()) ask_for_flush();
}

void MemtableBudget::settle(unsigned shard, Use use) {
  count(shards_[shard], use);
  shards_[shard].state = State::kIdle;
  if (wants_flush()) ask_for_flush();
  if (is_full()) return;
  for (Shard& waiting : shards_) {
    if (waiting.waits.exchange(false)) post(waiting, &Member::wake);
  }
}

void MemtableBudget::decline(unsigned shard) {
  shards_[shard].state = State::kDeclined;
  if (wants_flush()) ask_for_flush();
}

void MemtableBudget::count(Shard& shard, Use use) {
  // A difference below zero wraps around, and so does the sum.
  active_ += use.active - shard.active.exchange(use.active);
  flushing_ += use.flushing - std::exchange(shard.flushing, use.flushing);
}

// One flush at a time is asked for: until it has begun, nobody knows how much it takes away.
void MemtableBudget::ask_for_flush() {
  Shard* largest = nullptr;
  uint64_t most = 0;
  for (Shard& shard : shards_) {
    const State state = shard.state;
    if (state == State::kAsked) return;
    if (const uint64_t bytes = shard.active; state == State::kIdle && bytes > most) {
      most = bytes;
      largest = &shard;
    }
  }
  if (largest == nullptr) return;
  State idle = State::kIdle;
  if (!largest->state.compare_exchange_strong(idle, State::kAsked)) return;
  if (!post(*largest, &Member::flush)) largest->state = State::kDeclined;
}

// False: the shard has no member.
bool MemtableBudget::post(Shard& shard, std::function<void()> Member::*call) {
  std::lock_guard lock(shard.mutex);
  if (shard.member.executor == nullptr) return false;
  shard.member.executor->post(shard.member.*call);
  return true;
}

}  // namespace cassandra_like
