// The pool: a block that is too large to keep, or one too many, is freed. Under AddressSanitizer nothing is kept, so that
// it sees every use after free.
#include "base/shared_bytes.h"

#include <cstring>
#include <vector>

namespace cassandra_like {

namespace {
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kMostBlocksKept = 0;
#else
constexpr size_t kMostBlocksKept = 16;
#endif
constexpr size_t kLargestBlock = 256 * 1024;
}  // namespace

struct SharedBytes::Pool {
  ~Pool() {
    for (Block* block : blocks) delete block;
  }
  static Pool& of_thread() {
    static thread_local Pool pool;
    return pool;
  }
  std::vector<Block*> blocks;
};

SharedBytes SharedBytes::copy_of(BytesView bytes) {
  return make(bytes.size(), [bytes](char* p) {
    if (!bytes.empty()) std::memcpy(p, bytes.data(), bytes.size());
  });
}

SharedBytes::Block* SharedBytes::take() {
  std::vector<Block*>& blocks = Pool::of_thread().blocks;
  if (blocks.empty()) return new Block;
  Block* block = blocks.back();
  blocks.pop_back();
  block->holds.store(1, std::memory_order_relaxed);
  return block;
}

void SharedBytes::let_go() {
  if (block_->holds.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::vector<Block*>& blocks = Pool::of_thread().blocks;
  if (block_->bytes.capacity() > kLargestBlock || blocks.size() >= kMostBlocksKept) {
    delete block_;
    return;
  }
  blocks.push_back(block_);
}

}  // namespace cassandra_like
