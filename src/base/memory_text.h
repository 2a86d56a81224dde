// Sizes as Cassandra's log has them (FBUtilities.prettyPrintMemory): 855B, 5.120KiB, 1.000MiB, 2.500GiB.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace cassandra_like {

inline std::string memory_text(uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes >= uint64_t{1} << 30) return fmt::format("{:.3f}GiB", size / (1 << 30));
  if (bytes >= uint64_t{1} << 20) return fmt::format("{:.3f}MiB", size / (1 << 20));
  if (bytes >= uint64_t{1} << 10) return fmt::format("{:.3f}KiB", size / (1 << 10));
  return fmt::format("{}B", bytes);
}

}  // namespace cassandra_like
