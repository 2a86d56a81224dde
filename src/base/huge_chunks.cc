#include "base/huge_chunks.h"

#include <sys/mman.h>

#include <mutex>
#include <new>
#include <vector>

namespace cassandra_like {

namespace {

constexpr size_t kSize = Arena::kHugeChunk;

// Twice as much is asked for, so that the part that begins at a multiple of its size can be kept.
char* map_chunk() {
  void* mapped = ::mmap(nullptr, 2 * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t at = (begin + kSize - 1) & ~(kSize - 1);
  if (at > begin) ::munmap(mapped, at - begin);
  if (size_t after = begin + kSize - at; after > 0) ::munmap(reinterpret_cast<void*>(at + kSize), after);
  ::madvise(reinterpret_cast<void*>(at), kSize, MADV_HUGEPAGE);  // where there are none, it does without
  return reinterpret_cast<char*>(at);
}

// The lock is taken once for two megabytes of writes.
class FreeChunks {
 public:
  char* take() {
    {
      std::lock_guard lock(mutex_);
      if (!chunks_.empty()) return pop();
    }
    return map_chunk();
  }
  void give_back(char* chunk) {
    {
      std::lock_guard lock(mutex_);
      if (chunks_.size() < most_) return chunks_.push_back(chunk);
    }
    ::munmap(chunk, kSize);
  }
  void keep_more(size_t chunks) {
    std::lock_guard lock(mutex_);
    most_ += chunks;
  }
  void keep_less(size_t chunks) {
    std::lock_guard lock(mutex_);
    most_ -= chunks;
    while (chunks_.size() > most_) ::munmap(pop(), kSize);
  }

 private:
  char* pop() {
    char* chunk = chunks_.back();
    chunks_.pop_back();
    return chunk;
  }

  std::mutex mutex_;
  std::vector<char*> chunks_;
  size_t most_ = 0;
};

// Never destroyed: what other static objects hold may be freed after it.
FreeChunks& free_chunks() {
  static auto* const chunks = new FreeChunks;
  return *chunks;
}

}  // namespace

char* allocate_huge_chunk() { return free_chunks().take(); }
void free_huge_chunk(char* chunk) { free_chunks().give_back(chunk); }

HugeChunkReserve::HugeChunkReserve(size_t bytes) : chunks_(bytes / kSize) { free_chunks().keep_more(chunks_); }
HugeChunkReserve::~HugeChunkReserve() { free_chunks().keep_less(chunks_); }

}  // namespace cassandra_like
