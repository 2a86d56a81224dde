#include "base/arena.h"

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

TEST(Arena, AlignsAndKeepsWhatItCopies) {
  Arena arena(64);
  BytesView a = arena.copy("hello");
  auto* number = arena.make<uint64_t>(42u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(number) % alignof(uint64_t), 0u);
  BytesView big = arena.copy(Bytes(1000, 'x'));
  BytesView b = arena.copy("world");
  EXPECT_EQ(a, "hello");
  EXPECT_EQ(b, "world");
  EXPECT_EQ(big, Bytes(1000, 'x'));
  EXPECT_EQ(*number, 42u);
}

TEST(Arena, KeepsNullAndEmptyApart) {
  Arena arena;
  EXPECT_TRUE(is_null(arena.copy(kNull)));
  EXPECT_FALSE(is_null(arena.copy("")));
  EXPECT_EQ(arena.reserved(), 0u);
}

TEST(Arena, ALargeRequestLeavesTheCurrentChunkInUse) {
  Arena arena(4096);
  auto* first = static_cast<char*>(arena.allocate(16));
  arena.allocate(100'000);
  auto* second = static_cast<char*>(arena.allocate(16));
  EXPECT_EQ(second, first + 16);
}

TEST(Arena, AResetArenaStopsAllocating) {
  Arena arena(64);
  for (int i = 0; i < 100; ++i) arena.allocate(50);
  arena.reset();
  size_t kept = arena.reserved();
  EXPECT_GT(kept, 64u);
  for (int i = 0; i < 10; ++i) arena.allocate(50);
  EXPECT_EQ(arena.reserved(), kept);
}

TEST(Arena, AResetArenaKeepsNoChunkOfALargeRequest) {
  Arena arena;
  arena.allocate(50);
  arena.allocate(Arena::kHugeChunk + 1);
  arena.allocate(5000);
  arena.reset();
  EXPECT_GT(arena.reserved(), 5000u);
  EXPECT_LT(arena.reserved(), Arena::kHugeChunk);
}

TEST(Arena, WhatIsTakenFromAnotherInTurnsLiesTogether) {
  Arena all(Arena::kHugeChunk);
  Arena a(&all), b(&all);
  char* last = nullptr;
  size_t adjacent = 0;
  for (int i = 0; i < 1000; ++i) {
    auto* here = static_cast<char*>(a.allocate(100, 4));
    b.allocate(100, 4);
    std::memset(here, i, 100);
    adjacent += last != nullptr && here == last + 100 ? 1 : 0;
    last = here;
  }
  EXPECT_GT(adjacent, 900u);
  EXPECT_LT(a.reserved(), 125'000u);
  Arena little(&all);
  little.allocate(300, 8);
  EXPECT_EQ(little.reserved(), 300u);
  Arena large(&all);
  for (int i = 0; i < 100; ++i) large.allocate(5000, 8);
  EXPECT_EQ(large.reserved(), 500'000u);
}

}  // namespace
}  // namespace cassandra_like
