// When a compaction lets requests go first: after half a millisecond, or after so many bytes that it wrote. And which part of
// the core it takes when they want all of it.
#pragma once

#include <algorithm>

#include "runtime/executor.h"

namespace cassandra_like {

class CompactionSlice {
 public:
  void begin(Clock& clock, uint64_t bytes_written) {
    end_ = clock.monotonic_nanos() + kNanos;
    end_bytes_ = bytes_written + kBytes;
  }
  bool is_over(Clock& clock, uint64_t bytes_written) const {
    return bytes_written >= end_bytes_ || clock.monotonic_nanos() >= end_;
  }
  // The same, asked after each of many steps that take a few microseconds: it looks at the clock after every eighth.
  bool is_over_after_step(Clock& clock, uint64_t bytes_written) {
    return bytes_written >= end_bytes_ || (++steps_ % kStepsOfALook == 0 && clock.monotonic_nanos() >= end_);
  }

 private:
  static constexpr int64_t kNanos = 500'000;
  static constexpr uint64_t kBytes = 32 << 10;
  static constexpr uint32_t kStepsOfALook = 8;

  uint32_t steps_ = 0;
  int64_t end_ = 0;
  uint64_t end_bytes_ = 0;
};

// The share of an automatic compaction grows with the compactions that its strategy would have now: from a third of the core to
// four fifths for ten of them. So a table that is written to faster than it is compacted slows its writers down.
inline double compaction_core_share(uint32_t waiting) { return std::min(0.3 + 0.05 * waiting, 0.8); }

}  // namespace cassandra_like
