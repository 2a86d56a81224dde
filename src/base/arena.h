// A bump allocator: memory is handed out in order and freed all at once. Not thread-safe.
//
// Used for what lives and dies together: the rows of one request, the contents of one memtable.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace cassandra_like {

class Arena {
 public:
  // A huge page of the processor. Data in huge pages is found with few misses of the TLB.
  static constexpr size_t kHugeChunk = size_t{2} << 20;

  // Chunks start at first_chunk bytes and double up to kHugeChunk; larger requests get a chunk of their own.
  explicit Arena(size_t first_chunk = 4096) : next_chunk_(first_chunk) {}
  // An arena inside another one, for data that is used together. It takes memory from the other arena, which frees it,
  // in pieces that grow with their sum. A small arena takes no more than it needs; a large one may leave a third
  // unused. It need not be destroyed.
  explicit Arena(Arena* from) : from_(from), next_chunk_(0) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t size, size_t align = alignof(std::max_align_t)) {
    auto at = (reinterpret_cast<uintptr_t>(p_) + align - 1) & ~(align - 1);
    if (at + size > reinterpret_cast<uintptr_t>(end_) || p_ == nullptr) return allocate_slow(size, align);
    p_ = reinterpret_cast<char*>(at + size);
    return reinterpret_cast<void*>(at);
  }
  // T must not need a destructor.
  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }
  template <class T>
  std::span<T> make_span(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* p = static_cast<T*>(allocate(n * sizeof(T), alignof(T)));
    for (size_t i = 0; i < n; ++i) new (p + i) T();
    return {p, n};
  }
  // Null stays null; empty stays empty and not null.
  BytesView copy(BytesView v) {
    if (is_null(v)) return v;
    if (v.empty()) return BytesView("", 0);
    char* p = static_cast<char*>(allocate(v.size(), 1));
    std::memcpy(p, v.data(), v.size());
    return BytesView(p, v.size());
  }
  // Forgets everything but keeps the largest chunk of at most 2 MiB, so that a reused arena stops allocating.
  void reset() {
    if (chunks_.size() > 1) keep_largest();
    if (!chunks_.empty()) p_ = chunks_.front().data.get();
  }
  // Bytes obtained from the heap, or from another arena.
  size_t reserved() const { return reserved_; }
  // The part that was handed out or cannot be any more.
  size_t used() const { return reserved_ - static_cast<size_t>(end_ - p_); }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kLargestPiece = 8192;

  void* allocate_slow(size_t size, size_t align);
  void* allocate_from_other(size_t size, size_t align);
  void keep_largest();

  struct FreeChunk {
    bool huge;
    void operator()(char* p) const;
  };
  struct Chunk {
    std::unique_ptr<char[], FreeChunk> data;
    size_t size;
  };
  static Chunk allocate_chunk(size_t size);

  Arena* from_ = nullptr;
  std::vector<Chunk> chunks_;  // none when there is another arena
  char* p_ = nullptr;
  char* end_ = nullptr;
  size_t next_chunk_;
  size_t reserved_ = 0;
};

}  // namespace cassandra_like
