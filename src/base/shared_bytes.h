// A byte string that several may hold, on any shard: it is written once, by the one who makes it, and never changes.
//
// The memory comes from a small pool of the thread that makes it and goes to the pool of the thread that lets the last
// hold go, so a shard that makes and drops them in turn allocates nothing. Holds are counted atomically.
#pragma once

#include <atomic>
#include <utility>

#include "base/bytes.h"

namespace cassandra_like {

class SharedBytes {
 public:
  SharedBytes() = default;  // holds nothing
  // `size` bytes for write(char*) to fill.
  template <class Write>
  static SharedBytes make(size_t size, Write&& write) {
    SharedBytes made(take());
    made.block_->bytes.resize(size);
    write(made.block_->bytes.data());
    return made;
  }
  static SharedBytes copy_of(BytesView bytes);

  SharedBytes(const SharedBytes& o) : block_(o.block_) {
    if (block_ != nullptr) block_->holds.fetch_add(1, std::memory_order_relaxed);
  }
  SharedBytes(SharedBytes&& o) noexcept : block_(std::exchange(o.block_, nullptr)) {}
  SharedBytes& operator=(SharedBytes o) noexcept {
    std::swap(block_, o.block_);
    return *this;
  }
  ~SharedBytes() {
    if (block_ != nullptr) let_go();
  }

  explicit operator bool() const { return block_ != nullptr; }
  // Valid while somebody holds the bytes; empty when this holds nothing.
  BytesView view() const { return block_ == nullptr ? BytesView() : BytesView(block_->bytes); }

 private:
  struct Block {
    std::atomic<uint32_t> holds{1};
    Bytes bytes;
  };
  struct Pool;
  explicit SharedBytes(Block* block) : block_(block) {}
  static Block* take();
  void let_go();

  Block* block_ = nullptr;
};

}  // namespace cassandra_like
