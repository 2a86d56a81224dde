// Memory in pieces of Arena::kHugeChunk bytes at multiples of it, which the kernel can back with huge pages.
//
// A thread may keep the chunks that it frees for its next allocations: what comes from the kernel has to be cleared
// first, and that costs a write more than anything else it does.
#pragma once

#include "base/arena.h"

namespace cassandra_like {

char* allocate_huge_chunk();
void free_huge_chunk(char* chunk);
// How many bytes this thread keeps; 0 unless it is set.
void keep_free_huge_chunks(size_t bytes);

}  // namespace cassandra_like
