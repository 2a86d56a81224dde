// Uncompressed chunks of the Data.db files of one shard (cache.ChunkCache). Its memory is a part of the budget of all shards.
// A reader keeps the chunk that it is in alive, whether or not the cache goes on to have it.
//
// A file is gone when nobody has its id any more. Each chunk that is put looks at a few others, and those of files that are
// gone make room for the next ones: what compactions replaced does not grow the memory of the process.
#pragma once

#include <memory>
#include <optional>

#include "base/clock_cache.h"
#include "storage/cache/chunk_budget.h"
#include "storage/cache/chunk_memory.h"

namespace cassandra_like {

class ChunkCache {
 public:
  using Bytes = std::shared_ptr<const char[]>;
  struct Statistics {
    // The capacity is an equal part of the memory of all shards.
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

  ChunkCache(std::shared_ptr<ChunkBudget> budget, unsigned shard, Executor& executor)
      : budget_(std::move(budget)), shard_(shard), memory_(budget_->pool()), chunks_(0) {
    budget_->join(shard_, executor, [this, alive = std::weak_ptr<const bool>(alive_)] {
      if (!alive.expired()) give_back();
    });
  }
  ~ChunkCache() { budget_->leave(shard_); }
  ChunkCache(const ChunkCache&) = delete;
  ChunkCache& operator=(const ChunkCache&) = delete;

  bool is_enabled() const { return budget_->bytes() > 0; }
  using FileId = std::shared_ptr<const uint64_t>;
  // For a file that is opened.
  FileId new_file() {
    constexpr size_t kFewFiles = 64;
    if (files_.size() >= files_kept_ * 2) {
      absl::erase_if(files_, [](const auto& file) { return file.second.expired(); });
      files_kept_ = std::max(files_.size(), kFewFiles);
    }
    FileId id = std::make_shared<const uint64_t>(++last_file_);
    files_[*id] = id;
    return id;
  }
  // For a chunk that is to be put.
  std::shared_ptr<char[]> allocate(size_t size) { return memory_.allocate(size); }
  // Null when it is not there.
  Bytes find(uint64_t file, uint64_t index) {
    ++requests_;
    if (const Bytes* chunk = chunks_.find(Key{file, index})) return *chunk;
    ++misses_;
    return nullptr;
  }
  // For who only prepares a find(): null when it is not there. Valid until the next put().
  const Bytes* peek(uint64_t file, uint64_t index) { return chunks_.peek(Key{file, index}); }
  // peek() follows: has what it looks at brought into the processor's caches.
  void prefetch(uint64_t file, uint64_t index) { chunks_.prefetch(Key{file, index}); }
  void put(uint64_t file, uint64_t index, Bytes chunk, uint64_t size) {
    constexpr size_t kLookedAt = 4;
    chunks_.sweep(kLookedAt, [this](const Key& key) { return is_gone(key.first); });
    make_room(size);
    chunks_.put(Key{file, index}, std::move(chunk), size);
  }
  Statistics statistics() const { return {chunks_.size(), chunks_.weight(), budget_->share(), requests_, misses_}; }

 private:
  using Key = std::pair<uint64_t, uint64_t>;

  void make_room(uint64_t size) {
    while (chunks_.weight() + size > chunks_.capacity()) {
      if (!budget_->take(shard_)) break;
      chunks_.set_capacity(chunks_.capacity() + budget_->step());
    }
    if (chunks_.weight() + size <= chunks_.capacity()) return;
    replaced_ += size;
    if (replaced_ < budget_->step()) return;
    replaced_ = 0;
    budget_->replaced(shard_);
  }
  void give_back() {
    const uint64_t step = budget_->step();
    const bool has_more = chunks_.capacity() > step;
    if (has_more) chunks_.set_capacity(chunks_.capacity() - step);
    budget_->give_back(shard_, has_more ? 1 : 0);
  }
  bool is_gone(uint64_t file) const {
    const auto found = files_.find(file);
    return found == files_.end() || found->second.expired();
  }

  const std::shared_ptr<ChunkBudget> budget_;
  const unsigned shard_;
  ChunkMemory memory_;
  ClockCache<Key, Bytes> chunks_;
  absl::flat_hash_map<uint64_t, std::weak_ptr<const uint64_t>> files_;
  size_t files_kept_ = 0;  // when those that are gone were last removed
  uint64_t last_file_ = 0;
  uint64_t requests_ = 0, misses_ = 0;
  uint64_t replaced_ = 0;  // bytes that came when there was no room, since the budget was told
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  // posted calls may outlive this
};

}  // namespace cassandra_like
