// Timers of one shard: a binary heap of (deadline, order of scheduling) over reusable slots, so that scheduling and
// cancelling a timeout for every request allocates nothing in the steady state.
//
// A TimerId is the slot and the slot's generation, which changes when the timer runs or is cancelled.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/executor.h"

namespace cassandra_like {

class TimerHeap {
 public:
  TimerId add(int64_t deadline, Callback fn);
  bool cancel(TimerId id);
  bool empty() const { return heap_.empty(); }
  // The deadline of the earliest timer; only when not empty.
  int64_t next_deadline() const { return heap_.front().deadline; }
  // Removes and returns the earliest timer if it is due.
  std::optional<Callback> pop_due(int64_t now);
  void clear();

 private:
  struct Entry {
    int64_t deadline;
    uint64_t order;
    uint32_t slot;
    bool before(const Entry& o) const { return deadline != o.deadline ? deadline < o.deadline : order < o.order; }
  };
  struct Slot {
    Callback fn;
    uint32_t generation = 1;  // so that no TimerId is 0
    uint32_t position = 0;    // in heap_
    bool used = false;
  };

  void place(size_t position, const Entry& entry);
  void sift_up(size_t position, const Entry& entry);
  void sift_down(size_t position, const Entry& entry);
  Callback remove_at(size_t position);

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  uint64_t next_order_ = 0;
};

}  // namespace cassandra_like
