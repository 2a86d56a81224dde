// Memory that is about to be read comes into the processor's caches meanwhile.
#pragma once

#include <cstddef>

namespace cassandra_like {

inline constexpr size_t kCacheLine = 64;

// A hint: an address that has no memory is let be. Where `at` is in its line does not matter.
inline void prefetch_lines(const void* at, size_t lines) {
  for (size_t i = 0; i < lines; ++i) __builtin_prefetch(static_cast<const char*>(at) + i * kCacheLine);
}

}  // namespace cassandra_like
