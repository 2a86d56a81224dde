#include "base/huge_chunks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

namespace cassandra_like {
namespace {

TEST(HugeChunks, LieAtMultiplesOfTheirSizeAndAreKeptUpToALimit) {
  std::optional<HugeChunkReserve> reserve(Arena::kHugeChunk);
  char* a = allocate_huge_chunk();
  char* b = allocate_huge_chunk();
  for (char* chunk : {a, b}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(chunk) % Arena::kHugeChunk, 0u);
    std::memset(chunk, 'x', Arena::kHugeChunk);
  }
  free_huge_chunk(a);
  free_huge_chunk(b);  // one is enough
  char* again = allocate_huge_chunk();
  EXPECT_EQ(again, a);
  EXPECT_EQ(again[Arena::kHugeChunk - 1], 'x');
  free_huge_chunk(again);
  reserve.reset();
  char* cleared = allocate_huge_chunk();
  EXPECT_EQ(cleared[Arena::kHugeChunk - 1], 0);
  free_huge_chunk(cleared);
}

TEST(HugeChunks, ServeArenasThatGrowLarge) {
  Arena arena(4096);
  for (int i = 0; i < 5000; ++i) std::memset(arena.allocate(1000), i, 1000);
  EXPECT_GT(arena.reserved(), 5'000'000u);
  EXPECT_LT(arena.reserved(), 5'000'000u + 2 * Arena::kHugeChunk);
}

}  // namespace
}  // namespace cassandra_like
