// Uncompressed chunks of the Data.db files of one shard (cache.ChunkCache; file_cache_size is the memory of all shards).
// A reader keeps the chunk that it is in alive, whether or not the cache goes on to have it.
#pragma once

#include <memory>
#include <optional>

#include "base/clock_cache.h"
#include "storage/cache/chunk_memory.h"

namespace cassandra_like {

class ChunkCache {
 public:
  using Bytes = std::shared_ptr<const char[]>;
  struct Statistics {
    uint64_t entries = 0, bytes = 0, capacity_bytes = 0;
    uint64_t requests = 0, misses = 0;

    Statistics& operator+=(const Statistics& o) {
      entries += o.entries, bytes += o.bytes, capacity_bytes += o.capacity_bytes;
      requests += o.requests, misses += o.misses;
      return *this;
    }
    // The part of all requests that found their chunk; nothing before the first.
    std::optional<double> hit_rate() const {
      if (requests == 0) return std::nullopt;
      return static_cast<double>(requests - misses) / static_cast<double>(requests);
    }
  };

  explicit ChunkCache(uint64_t capacity_bytes) : chunks_(capacity_bytes) {}

  bool is_enabled() const { return chunks_.capacity() > 0; }
  // An id for a file that is opened. Chunks of files that are gone are never asked for again, and so go first.
  uint64_t new_file() { return ++last_file_; }
  // For a chunk that is to be put.
  std::shared_ptr<char[]> allocate(size_t size) { return memory_.allocate(size); }
  // Null when it is not there.
  Bytes find(uint64_t file, uint64_t index) {
    ++requests_;
    if (const Bytes* chunk = chunks_.find(Key{file, index})) return *chunk;
    ++misses_;
    return nullptr;
  }
  void put(uint64_t file, uint64_t index, Bytes chunk, uint64_t size) {
    chunks_.put(Key{file, index}, std::move(chunk), size);
  }
  Statistics statistics() const { return {chunks_.size(), chunks_.weight(), chunks_.capacity(), requests_, misses_}; }

 private:
  using Key = std::pair<uint64_t, uint64_t>;

  ChunkMemory memory_;
  ClockCache<Key, Bytes> chunks_;
  uint64_t last_file_ = 0;
  uint64_t requests_ = 0, misses_ = 0;
};

}  // namespace cassandra_like
