// Memory for uncompressed chunks, cut from huge pages, since a read that meets a chunk by chance would else miss the
// TLB again and again. A piece goes back when its last owner lets go of it, on the thread that took it.
//
//   piece := the counters of its owners (64 bytes), the chunk
//
// So who is about to read a chunk knows which other line its processor will write.
//
// A thread keeps a few free pieces. It shares the others with those of the other threads: what one cache gives up,
// another one takes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/huge_chunks.h"
#include "base/prefetch.h"

namespace cassandra_like {

// Free pieces of all threads.
class ChunkPool {
 public:
  // The chunk length of tables that do not say otherwise.
  static constexpr size_t kChunk = 16 * 1024;
  static constexpr size_t kCounters = kCacheLine;
  static constexpr size_t kPiece = kCounters + kChunk;
  static constexpr size_t kBatch = 32;

  ChunkPool() = default;
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;
  // All pieces have come back.
  ~ChunkPool() {
    for (char* chunk : huge_chunks_) free_huge_chunk(chunk);
  }

  // Moves a batch to the end of `to`.
  void take(std::vector<char*>& to) {
    std::lock_guard lock(mutex_);
    while (free_.size() < kBatch) add_pieces();
    to.insert(to.end(), free_.end() - kBatch, free_.end());
    free_.resize(free_.size() - kBatch);
  }
  // Moves so many from the end of `from`.
  void give_back(std::vector<char*>& from, size_t pieces) {
    std::lock_guard lock(mutex_);
    free_.insert(free_.end(), from.end() - static_cast<ptrdiff_t>(pieces), from.end());
    from.resize(from.size() - pieces);
  }
  size_t bytes() const {
    std::lock_guard lock(mutex_);
    return huge_chunks_.size() * Arena::kHugeChunk;
  }

 private:
  void add_pieces() {
    char* chunk = allocate_huge_chunk();
    huge_chunks_.push_back(chunk);
    for (size_t at = Arena::kHugeChunk; at >= kPiece; at -= kPiece) free_.push_back(chunk + at - kPiece);
  }

  mutable std::mutex mutex_;
  std::vector<char*> free_, huge_chunks_;
};

// One thread's.
class ChunkMemory {
 public:
  explicit ChunkMemory(std::shared_ptr<ChunkPool> pool) : pieces_(std::make_shared<Pieces>(std::move(pool))) {}

  // Chunks of other lengths come from the heap.
  std::shared_ptr<char[]> allocate(size_t size) {
    if (size > ChunkPool::kChunk || size <= ChunkPool::kChunk / 2) return std::make_shared_for_overwrite<char[]>(size);
    char* piece = pieces_->take();
    return {piece + ChunkPool::kCounters, [](char*) {}, CounterAllocator<char>{pieces_, piece}};
  }
  // A hint: a chunk that it allocated is about to get another owner.
  static void prefetch_counters(const char* chunk) { __builtin_prefetch(chunk - ChunkPool::kCounters, 1); }

 private:
  // Lives as long as any of them is in use.
  struct Pieces {
    explicit Pieces(std::shared_ptr<ChunkPool> shared) : pool(std::move(shared)) {}
    Pieces(const Pieces&) = delete;
    Pieces& operator=(const Pieces&) = delete;
    ~Pieces() { pool->give_back(free, free.size()); }

    char* take() {
      if (free.empty()) pool->take(free);
      char* piece = free.back();
      free.pop_back();
      return piece;
    }
    void release(char* piece) {
      free.push_back(piece);
      if (free.size() > 2 * ChunkPool::kBatch) pool->give_back(free, ChunkPool::kBatch);
    }

    const std::shared_ptr<ChunkPool> pool;
    std::vector<char*> free;
  };

  // Has the counters of a piece put at its begin. They are the last that goes, so the piece goes with them.
  template <class T>
  struct CounterAllocator {
    using value_type = T;

    CounterAllocator(std::shared_ptr<Pieces> all, char* own) : pieces(std::move(all)), piece(own) {}
    template <class U>
    CounterAllocator(const CounterAllocator<U>& o) : pieces(o.pieces), piece(o.piece) {}  // NOLINT: implicit

    T* allocate(size_t) {
      static_assert(sizeof(T) <= ChunkPool::kCounters && alignof(T) <= ChunkPool::kCounters);
      return reinterpret_cast<T*>(piece);
    }
    void deallocate(T*, size_t) { pieces->release(piece); }
    template <class U>
    bool operator==(const CounterAllocator<U>& o) const {
      return piece == o.piece;
    }

    std::shared_ptr<Pieces> pieces;
    char* piece;
  };

  std::shared_ptr<Pieces> pieces_;
};

}  // namespace cassandra_like
