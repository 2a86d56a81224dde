// When a compaction lets requests go first: after half a millisecond, or after so many bytes that it wrote.
#pragma once

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

 private:
  static constexpr int64_t kNanos = 500'000;
  static constexpr uint64_t kBytes = 32 << 10;

  int64_t end_ = 0;
  uint64_t end_bytes_ = 0;
};

}  // namespace cassandra_like
