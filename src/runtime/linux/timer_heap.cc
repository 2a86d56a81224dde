#include "runtime/linux/timer_heap.h"

#include <utility>

namespace cassandra_like {

TimerId TimerHeap::add(int64_t deadline, Callback fn) {
  uint32_t index;
  if (free_slots_.empty()) {
    index = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_slots_.back();
    free_slots_.pop_back();
  }
  Slot& slot = slots_[index];
  slot.fn = std::move(fn);
  slot.used = true;
  heap_.emplace_back();
  sift_up(heap_.size() - 1, Entry{deadline, next_order_++, index});
  return static_cast<TimerId>(slot.generation) << 32 | index;
}

bool TimerHeap::cancel(TimerId id) {
  auto index = static_cast<uint32_t>(id);
  if (index >= slots_.size()) return false;
  const Slot& slot = slots_[index];
  if (!slot.used || slot.generation != static_cast<uint32_t>(id >> 32)) return false;
  // The callback's captures are destroyed after the heap is whole again: they may cancel other timers.
  Callback dropped = remove_at(slot.position);
  return true;
}

std::optional<Callback> TimerHeap::pop_due(int64_t now) {
  if (heap_.empty() || heap_.front().deadline > now) return std::nullopt;
  return remove_at(0);
}

void TimerHeap::clear() {
  while (!heap_.empty()) Callback dropped = remove_at(heap_.size() - 1);
}

void TimerHeap::place(size_t position, const Entry& entry) {
  heap_[position] = entry;
  slots_[entry.slot].position = static_cast<uint32_t>(position);
}

void TimerHeap::sift_up(size_t position, const Entry& entry) {
  while (position > 0) {
    size_t parent = (position - 1) / 2;
    if (!entry.before(heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, entry);
}

void TimerHeap::sift_down(size_t position, const Entry& entry) {
  for (;;) {
    size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
    if (!heap_[child].before(entry)) break;
    place(position, heap_[child]);
    position = child;
  }
  place(position, entry);
}

Callback TimerHeap::remove_at(size_t position) {
  uint32_t index = heap_[position].slot;
  Entry last = heap_.back();
  heap_.pop_back();
  if (position < heap_.size()) {
    if (position > 0 && last.before(heap_[(position - 1) / 2])) {
      sift_up(position, last);
    } else {
      sift_down(position, last);
    }
  }
  Slot& slot = slots_[index];
  slot.used = false;
  ++slot.generation;
  free_slots_.push_back(index);
  return std::move(slot.fn);
}

}  // namespace cassandra_like
