// The pool: what is too large to keep, or one too many, is freed.
#include "base/pooled_bytes.h"

#include <vector>

namespace cassandra_like {

namespace {
constexpr size_t kMostKept = 8;
constexpr size_t kLargest = 256 * 1024;

thread_local std::vector<Bytes> pool;
}  // namespace

Bytes PooledBytes::take() {
  if (pool.empty()) return {};
  Bytes bytes = std::move(pool.back());
  pool.pop_back();
  return bytes;
}

void PooledBytes::give_back(Bytes&& bytes) {
  if (bytes.capacity() > kLargest || pool.size() >= kMostKept) return;
  bytes.clear();
  pool.push_back(std::move(bytes));
}

}  // namespace cassandra_like
