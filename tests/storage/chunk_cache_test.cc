#include "storage/cache/chunk_cache.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <vector>

#include "gtest/gtest.h"
#include "posts.h"
#include "runtime/linux/linux_runtime.h"

namespace cassandra_like {
namespace {

ChunkCache::Bytes chunk(std::string_view text) {
  auto bytes = std::make_shared<char[]>(text.size());
  std::memcpy(bytes.get(), text.data(), text.size());
  return bytes;
}

// The caches of a node's shards, which all run here.
struct Caches {
  explicit Caches(uint64_t bytes, unsigned shards = 1) : budget(std::make_shared<ChunkBudget>(bytes, shards)) {
    for (unsigned shard = 0; shard < shards; ++shard) {
      caches.push_back(std::make_unique<ChunkCache>(budget, shard, posts));
      files.push_back(caches.back()->new_file());
    }
  }
  // Reads chunks of 10 bytes from `first` on, and returns how many were there.
  int read(unsigned shard, uint64_t first, uint64_t n) {
    int found = 0;
    for (uint64_t i = first; i < first + n; ++i) {
      if (caches[shard]->find(*files[shard], i) != nullptr) {
        ++found;
      } else {
        caches[shard]->put(*files[shard], i, chunk("0123456789"), 10);
      }
      posts.run();
    }
    return found;
  }
  uint64_t bytes(unsigned shard) const { return caches[shard]->statistics().bytes; }

  storage_test::Posts posts;
  std::shared_ptr<ChunkBudget> budget;
  std::vector<std::unique_ptr<ChunkCache>> caches;
  std::vector<ChunkCache::FileId> files;
};

TEST(ChunkCache, ChunksOfFilesAreToldApart) {
  Caches caches(100);
  ChunkCache& cache = *caches.caches[0];
  const ChunkCache::FileId first = cache.new_file(), second = cache.new_file();
  const uint64_t one = *first, other = *second;
  cache.put(one, 7, chunk("a"), 1);
  cache.put(other, 7, chunk("b"), 1);

  EXPECT_EQ(cache.find(one, 7)[0], 'a');
  EXPECT_EQ(cache.find(other, 7)[0], 'b');
  EXPECT_EQ(cache.find(one, 8), nullptr);
}

TEST(ChunkCache, WhoOnlyPreparesARequestIsNotCounted) {
  Caches caches(100);
  ChunkCache& cache = *caches.caches[0];
  const ChunkCache::FileId id = cache.new_file();
  cache.prefetch(*id, 7);
  EXPECT_EQ(cache.peek(*id, 7), nullptr);
  cache.put(*id, 7, chunk("a"), 1);
  cache.prefetch(*id, 7);
  EXPECT_EQ((*cache.peek(*id, 7))[0], 'a');
  EXPECT_EQ(cache.statistics().requests, 0u);

  EXPECT_NE(cache.find(*id, 7), nullptr);
  EXPECT_EQ(cache.statistics().requests, 1u);
}

TEST(ChunkCache, AChunkThatIsReadOutlivesItsPlaceInTheCache) {
  Caches caches(10);
  ChunkCache& cache = *caches.caches[0];
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
    Caches caches(3 * ChunkPool::kChunk);
    ChunkCache& cache = *caches.caches[0];
    const ChunkCache::FileId id = cache.new_file();
    const uint64_t file = *id;
    std::vector<const char*> seen;
    for (uint64_t i = 0; i < 1000; ++i) {
      std::shared_ptr<char[]> bytes = cache.allocate(ChunkPool::kChunk - i % 100);
      std::memset(bytes.get(), static_cast<char>(i), ChunkPool::kChunk - i % 100);
      if (std::find(seen.begin(), seen.end(), bytes.get()) == seen.end()) seen.push_back(bytes.get());
      cache.put(file, i, std::move(bytes), ChunkPool::kChunk);
      ASSERT_EQ(cache.find(file, i)[100], static_cast<char>(i));
    }
    EXPECT_LE(seen.size(), 4u);
    outlives = cache.allocate(ChunkPool::kChunk);
  }
  std::memset(outlives.get(), 'x', ChunkPool::kChunk);
  EXPECT_EQ(outlives[ChunkPool::kChunk - 1], 'x');
}

// A compaction replaced it. The cache is far from full.
TEST(ChunkCache, ChunksOfAFileThatIsGoneMakeRoom) {
  Caches caches(1000);
  ChunkCache& cache = *caches.caches[0];
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
  Caches caches(25);
  ChunkCache& cache = *caches.caches[0];
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

TEST(ChunkCache, OneShardMayHaveAllOfTheMemory) {
  Caches all(10'000, 4);
  all.read(2, 0, 990);
  EXPECT_EQ(all.bytes(2), 9'900u);
  EXPECT_EQ(all.read(2, 0, 990), 990);
}

TEST(ChunkCache, MemoryGoesToTheShardThatIsRead) {
  Caches all(10'000, 2);
  all.read(0, 0, 1000);
  all.read(1, 0, 500);
  for (int i = 0; i < 50; ++i) all.read(1, 0, 900);
  EXPECT_GE(all.bytes(1), 8'900u);
  EXPECT_EQ(all.read(1, 0, 900), 900);
  EXPECT_LE(all.bytes(0) + all.bytes(1), 10'000u);
  // And back again.
  for (int i = 0; i < 50; ++i) all.read(0, 0, 900);
  EXPECT_EQ(all.read(0, 0, 900), 900);
}

TEST(ChunkCache, ShardsUnderTheSameLoadHaveTheSame) {
  Caches all(64'000, 4);
  uint64_t next = 0;
  for (int i = 0; i < 10'000; ++i, ++next) {
    for (unsigned shard = 0; shard < 4; ++shard) all.read(shard, next, 1);
  }
  for (unsigned shard = 0; shard < 4; ++shard) {
    EXPECT_GE(all.bytes(shard), 12'000u) << shard;
    EXPECT_LE(all.bytes(shard), 20'000u) << shard;
  }
}

TEST(ChunkCache, MemoryOfAShardThatStopsIsFree) {
  Caches all(10'000, 2);
  all.read(0, 0, 1000);
  all.caches[0].reset();
  all.read(1, 0, 1000);
  EXPECT_EQ(all.read(1, 10, 900), 900);
}

// A shard's reads, turn by turn. Now and then it wants far more chunks than before.
class Reads {
 public:
  Reads(std::shared_ptr<ChunkBudget> budget, ShardRuntime& runtime)
      : executor_(runtime.executor),
        cache_(std::move(budget), executor_.shard(), executor_),
        file_(cache_.new_file()) {}

  void run(int turns, std::promise<void>* done) {
    const uint64_t wanted = (turns / 16 + executor_.shard()) % 3 == 0 ? 300 : 20;
    for (int i = 0; i < 200; ++i) read(++next_ % wanted);
    if (turns == 0) return done->set_value();
    executor_.post([this, turns, done] { run(turns - 1, done); });
  }
  uint64_t bytes() const { return cache_.statistics().bytes; }
  bool is_wrong() const { return wrong_; }

 private:
  void read(uint64_t index) {
    const char content = static_cast<char>(index * 7 + executor_.shard());
    if (const ChunkCache::Bytes there = cache_.find(*file_, index)) {
      wrong_ |= there[0] != content || there[ChunkPool::kChunk - 1] != content;
      return;
    }
    std::shared_ptr<char[]> bytes = cache_.allocate(ChunkPool::kChunk);
    std::memset(bytes.get(), content, ChunkPool::kChunk);
    cache_.put(*file_, index, std::move(bytes), ChunkPool::kChunk);
  }

  Executor& executor_;
  ChunkCache cache_;
  const ChunkCache::FileId file_;
  uint64_t next_ = 0;
  bool wrong_ = false;
};

TEST(ChunkCache, MemoryGoesFromThreadToThread) {
  constexpr unsigned kShards = 4;
  constexpr uint64_t kBytes = 400 * ChunkPool::kChunk;
  const auto budget = std::make_shared<ChunkBudget>(kBytes, kShards);
  LinuxRuntime runtime(kShards);
  CHECK(runtime.start().ok());
  std::vector<std::unique_ptr<Reads>> reads(kShards);
  std::vector<std::promise<void>> done(kShards), gone(kShards);
  for (unsigned shard = 0; shard < kShards; ++shard) {
    runtime.shard(shard).executor.post([&, shard] {
      reads[shard] = std::make_unique<Reads>(budget, runtime.shard(shard));
      reads[shard]->run(200, &done[shard]);
    });
  }
  for (std::promise<void>& each : done) each.get_future().wait();
  for (unsigned shard = 0; shard < kShards; ++shard) {
    runtime.shard(shard).executor.post([&, shard] {
      EXPECT_GT(reads[shard]->bytes(), 0u);
      EXPECT_FALSE(reads[shard]->is_wrong());
      reads[shard].reset();
      gone[shard].set_value();
    });
  }
  for (std::promise<void>& each : gone) each.get_future().wait();
  runtime.stop();
  // Each thread keeps a few free pieces.
  EXPECT_LE(budget->pool()->bytes(), 2 * kBytes);
}

TEST(ChunkMemory, PiecesGoFromOneThreadToAnother) {
  auto pool = std::make_shared<ChunkPool>();
  ChunkMemory first(pool), second(pool);
  std::vector<std::shared_ptr<char[]>> pieces;
  for (int i = 0; i < 1000; ++i) pieces.push_back(first.allocate(ChunkPool::kChunk));
  const size_t bytes = pool->bytes();
  pieces.clear();
  for (int i = 0; i < 900; ++i) pieces.push_back(second.allocate(ChunkPool::kChunk));
  EXPECT_EQ(pool->bytes(), bytes);
}

}  // namespace
}  // namespace cassandra_like
