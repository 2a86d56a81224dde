// The slow path of the bump allocator: where memory comes from.
#include "base/arena.h"

#include <algorithm>

#include "base/huge_chunks.h"

namespace cassandra_like {

namespace {

constexpr size_t kFewestInPiece = 8;

}  // namespace

void Arena::FreeChunk::operator()(char* p) const {
  if (huge) {
    free_huge_chunk(p);
  } else {
    delete[] p;
  }
}

Arena::Chunk Arena::allocate_chunk(size_t size) {
  const bool huge = size == kHugeChunk;
  return {{huge ? allocate_huge_chunk() : new char[size], FreeChunk{huge}}, size};
}

void* Arena::allocate_from_other(size_t size, size_t align) {
  const size_t piece = std::min(reserved_ / 4, kLargestPiece) & ~(kLine - 1);
  // A large request gets a place of its own: the rest of a piece that it does not fit into would be lost.
  if (size > piece / kFewestInPiece) {
    reserved_ += size;
    return from_->allocate(size, align);
  }
  reserved_ += piece;
  // Not at the beginning of a cache line: how much that skips depends on where the heap gave a chunk, and memory that is
  // counted so would make a simulated life differ from its repetition.
  char* start = static_cast<char*>(from_->allocate(piece));
  p_ = start + size;
  end_ = start + piece;
  return start;
}

void* Arena::allocate_slow(size_t size, size_t align) {
  if (from_ != nullptr) return allocate_from_other(size, align);
  size_t needed = size + align - 1;
  bool own_chunk = needed > next_chunk_;
  size_t chunk = own_chunk ? needed : next_chunk_;
  chunks_.push_back(allocate_chunk(chunk));
  reserved_ += chunk;
  char* start = chunks_.back().data.get();
  auto at = (reinterpret_cast<uintptr_t>(start) + align - 1) & ~(align - 1);
  next_chunk_ = std::max(next_chunk_, std::min(next_chunk_ * 2, kHugeChunk));
  // The rest of the current chunk stays in use beside a chunk made for one large request.
  if (own_chunk && p_ != nullptr) return reinterpret_cast<void*>(at);
  p_ = reinterpret_cast<char*>(at + size);
  end_ = start + chunk;
  return reinterpret_cast<void*>(at);
}

// Chunks beyond kHugeChunk were made for one large request each. Who needs one again can wait for it.
void Arena::keep_largest() {
  const auto worth = [](const Chunk& chunk) { return chunk.size > kHugeChunk ? 0 : chunk.size; };
  auto largest = std::max_element(chunks_.begin(), chunks_.end(),
                                  [&](const Chunk& a, const Chunk& b) { return worth(a) < worth(b); });
  std::swap(*largest, chunks_.front());
  chunks_.resize(1);
  reserved_ = chunks_.front().size;
  end_ = chunks_.front().data.get() + reserved_;
}

}  // namespace cassandra_like
