// Write times of what the node keeps of itself: system_schema, system.local, system."IndexInfo".
//
// Each is later than all before it, over restarts too: at the start, those that the tables hold are noted. So a clock
// that was set back cannot make a change lose against an older one.
#pragma once

#include <atomic>
#include <cstdint>

namespace cassandra_like {

class SystemTimestamps {
 public:
  // Microseconds. Two apart, so that a deletion just before a write has a time of its own. Any shard may ask.
  int64_t next(int64_t wall_micros) {
    int64_t last = last_.load(std::memory_order_relaxed), now;
    do {
      now = last + 2 > wall_micros ? last + 2 : wall_micros;
    } while (!last_.compare_exchange_weak(last, now, std::memory_order_relaxed));
    return now;
  }
  // A time that is in the tables.
  void note(int64_t timestamp) {
    int64_t last = last_.load(std::memory_order_relaxed);
    while (timestamp > last && !last_.compare_exchange_weak(last, timestamp, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<int64_t> last_{0};
};

}  // namespace cassandra_like
