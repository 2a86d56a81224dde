// Memory for uncompressed chunks, cut from huge pages, since a read that meets a chunk by chance would else miss the
// TLB again and again. A piece goes back when its last owner lets go of it; all on one thread.
#pragma once

#include <memory>
#include <vector>

#include "base/huge_chunks.h"

namespace cassandra_like {

class ChunkMemory {
 public:
  // The chunk length of tables that do not say otherwise; chunks of other lengths come from the heap.
  static constexpr size_t kPiece = 16 * 1024;

  std::shared_ptr<char[]> allocate(size_t size) {
    if (size > kPiece || size <= kPiece / 2) return std::make_shared_for_overwrite<char[]>(size);
    if (pieces_->free.empty()) add_pieces();
    char* piece = pieces_->free.back();
    pieces_->free.pop_back();
    return {piece, [pieces = pieces_](char* p) { pieces->free.push_back(p); }};
  }

 private:
  // Lives as long as any of them is in use.
  struct Pieces {
    std::vector<char*> free;
    std::vector<char*> huge_chunks;

    Pieces() = default;
    Pieces(const Pieces&) = delete;
    Pieces& operator=(const Pieces&) = delete;
    ~Pieces() {
      for (char* chunk : huge_chunks) free_huge_chunk(chunk);
    }
  };

  void add_pieces() {
    char* chunk = allocate_huge_chunk();
    pieces_->huge_chunks.push_back(chunk);
    for (size_t at = Arena::kHugeChunk; at > 0; at -= kPiece) pieces_->free.push_back(chunk + at - kPiece);
  }

  std::shared_ptr<Pieces> pieces_ = std::make_shared<Pieces>();
};

}  // namespace cassandra_like
