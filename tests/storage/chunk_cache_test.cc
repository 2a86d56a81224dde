#include "storage/cache/chunk_cache.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

ChunkCache::Bytes chunk(std::string_view text) {
  auto bytes = std::make_shared<char[]>(text.size());
  std::memcpy(bytes.get(), text.data(), text.size());
  return bytes;
}

TEST(ChunkCache, ChunksOfFilesAreToldApart) {
  ChunkCache cache(100);
  const ChunkCache::FileId first = cache.new_file(), second = cache.new_file();
  const uint64_t one = *first, other = *second;
  cache.put(one, 7, chunk("a"), 1);
  cache.put(other, 7, chunk("b"), 1);

  EXPECT_EQ(cache.find(one, 7)[0], 'a');
  EXPECT_EQ(cache.find(other, 7)[0], 'b');
  EXPECT_EQ(cache.find(one, 8), nullptr);
}

TEST(ChunkCache, AChunkThatIsReadOutlivesItsPlaceInTheCache) {
  ChunkCache cache(10);
  const ChunkCache::FileId id = cache.new_file();
  const uint64_t file = *id;
  cache.put(file, 0, chunk("0123456789"), 10);
  const ChunkCache::Bytes reading = cache.find(file, 0);
  cache.put(file, 1, chunk("abcdefghij"), 10);

  EXPECT_EQ(cache.find(file, 0), nullptr);
  EXPECT_EQ(std::string_view(reading.get(), 10), "0123456789");
}

TEST(ChunkCache, MemoryOfChunksThatAreGoneIsUsedAgain) {
  std::shared_ptr<char[]> outlives;
  {
    ChunkCache cache(3 * ChunkMemory::kPiece);
    const ChunkCache::FileId id = cache.new_file();
    const uint64_t file = *id;
    std::vector<const char*> seen;
    for (uint64_t i = 0; i < 1000; ++i) {
      std::shared_ptr<char[]> bytes = cache.allocate(ChunkMemory::kPiece - i % 100);
      std::memset(bytes.get(), static_cast<char>(i), ChunkMemory::kPiece - i % 100);
      if (std::find(seen.begin(), seen.end(), bytes.get()) == seen.end()) seen.push_back(bytes.get());
      cache.put(file, i, std::move(bytes), ChunkMemory::kPiece);
      ASSERT_EQ(cache.find(file, i)[100], static_cast<char>(i));
    }
    EXPECT_LE(seen.size(), 4u);
    outlives = cache.allocate(ChunkMemory::kPiece);
  }
  std::memset(outlives.get(), 'x', ChunkMemory::kPiece);
  EXPECT_EQ(outlives[ChunkMemory::kPiece - 1], 'x');
}

// A compaction replaced it. The cache is far from full.
TEST(ChunkCache, ChunksOfAFileThatIsGoneMakeRoom) {
  ChunkCache cache(1000);
  const ChunkCache::FileId kept = cache.new_file();
  ChunkCache::FileId replaced = cache.new_file();
  for (uint64_t i = 0; i < 10; ++i) cache.put(*kept, i, chunk("kept"), 4);
  for (uint64_t i = 0; i < 10; ++i) cache.put(*replaced, i, chunk("gone"), 4);
  replaced.reset();
  const ChunkCache::FileId output = cache.new_file();
  for (uint64_t i = 0; i < 10; ++i) cache.put(*output, i, chunk("new"), 3);

  EXPECT_EQ(cache.statistics().entries, 20u);
  EXPECT_EQ(cache.statistics().bytes, 70u);
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_NE(cache.find(*kept, i), nullptr);
    EXPECT_NE(cache.find(*output, i), nullptr);
  }
}

TEST(ChunkCache, CountsWhatItHoldsAndWhatItMissed) {
  ChunkCache cache(25);
  const ChunkCache::FileId id = cache.new_file();
  const uint64_t file = *id;
  EXPECT_EQ(cache.statistics().hit_rate(), std::nullopt);
  for (uint64_t i = 0; i < 3; ++i) cache.put(file, i, chunk("0123456789"), 10);
  cache.find(file, 0);
  cache.find(file, 1);
  cache.find(file, 2);
  cache.find(file, 2);

  const ChunkCache::Statistics found = cache.statistics();
  EXPECT_EQ(found.entries, 2u);
  EXPECT_EQ(found.bytes, 20u);
  EXPECT_EQ(found.capacity_bytes, 25u);
  EXPECT_EQ(found.requests, 4u);
  EXPECT_EQ(found.misses, 1u);
  EXPECT_EQ(found.hit_rate(), 0.75);
}

}  // namespace
}  // namespace cassandra_like
