// Memory for uncompressed chunks, cut from huge pages, since a read that meets a chunk by chance would else miss the
// TLB again and again. A piece goes back when its last owner lets go of it, on the thread that took it.
//
// A thread keeps a few free pieces. It shares the others with those of the other threads: what one cache gives up,
// another one takes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/huge_chunks.h"

namespace cassandra_like {

// Free pieces of all threads.
class ChunkPool {
 public:
  // The chunk length of tables that do not say otherwise.
  static constexpr size_t kPiece = 16 * 1024;
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
    for (size_t at = Arena::kHugeChunk; at > 0; at -= kPiece) free_.push_back(chunk + at - kPiece);
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
    if (size > ChunkPool::kPiece || size <= ChunkPool::kPiece / 2) return std::make_shared_for_overwrite<char[]>(size);
    if (pieces_->free.empty()) pieces_->pool->take(pieces_->free);
    char* piece = pieces_->free.back();
    pieces_->free.pop_back();
    return {piece, [pieces = pieces_](char* p) { pieces->release(p); }};
  }

 private:
  // Lives as long as any of them is in use.
  struct Pieces {
    explicit Pieces(std::shared_ptr<ChunkPool> shared) : pool(std::move(shared)) {}
    Pieces(const Pieces&) = delete;
    Pieces& operator=(const Pieces&) = delete;
    ~Pieces() { pool->give_back(free, free.size()); }

    void release(char* piece) {
      free.push_back(piece);
      if (free.size() > 2 * ChunkPool::kBatch) pool->give_back(free, ChunkPool::kBatch);
    }

    const std::shared_ptr<ChunkPool> pool;
    std::vector<char*> free;
  };

  std::shared_ptr<Pieces> pieces_;
};

}  // namespace cassandra_like
