// How much a level of LeveledCompactionStrategy may hold (LeveledManifest.maxBytesForLevel).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace cassandra_like {

inline uint64_t max_bytes_of_level(int32_t level, int32_t fanout, uint64_t sstable_bytes) {
  if (level == 0) return 4 * sstable_bytes;
  const double bytes = std::pow(fanout, level) * static_cast<double>(sstable_bytes);
  return bytes >= 0x1p63 ? uint64_t{1} << 63 : static_cast<uint64_t>(bytes);
}

}  // namespace cassandra_like
