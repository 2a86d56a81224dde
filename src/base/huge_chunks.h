// Memory in pieces of Arena::kHugeChunk bytes at multiples of it, which the kernel can back with huge pages.
//
// Freed chunks may be kept for the next allocations of any thread. The kernel has to clear new memory first, which costs
// a write more than anything else it does. All functions may be called from any thread.
#pragma once

#include "base/arena.h"

namespace cassandra_like {

char* allocate_huge_chunk();
void free_huge_chunk(char* chunk);

// While it lives, the process keeps up to so many bytes more of what is freed.
class HugeChunkReserve {
 public:
  explicit HugeChunkReserve(size_t bytes);
  ~HugeChunkReserve();
  HugeChunkReserve(const HugeChunkReserve&) = delete;
  HugeChunkReserve& operator=(const HugeChunkReserve&) = delete;

 private:
  const size_t chunks_;
};

}  // namespace cassandra_like
