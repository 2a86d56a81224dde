#include "base/huge_chunks.h"

#include <sys/mman.h>

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

class FreeChunks {
 public:
  ~FreeChunks() { keep(0); }
  void keep(size_t bytes) {
    most_ = bytes / kSize;
    while (chunks_.size() > most_) ::munmap(take(), kSize);
  }
  char* take() {
    if (chunks_.empty()) return map_chunk();
    char* chunk = chunks_.back();
    chunks_.pop_back();
    return chunk;
  }
  void give_back(char* chunk) {
    if (chunks_.size() < most_) {
      chunks_.push_back(chunk);
    } else {
      ::munmap(chunk, kSize);
    }
  }

 private:
  std::vector<char*> chunks_;
  size_t most_ = 0;
};

thread_local FreeChunks free_chunks;

}  // namespace

char* allocate_huge_chunk() { return free_chunks.take(); }
void free_huge_chunk(char* chunk) { free_chunks.give_back(chunk); }
void keep_free_huge_chunks(size_t bytes) { free_chunks.keep(bytes); }

}  // namespace cassandra_like
