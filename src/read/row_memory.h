// The memory of large rows. A row that is read from an SSTable is whole in memory until the next one is asked for: its bytes,
// where the file is compressed, and its cells. The rows of all reads and compactions of a node have a bound together. Rows
// that lie in one chunk of their file are small, and are not counted.
#pragma once

#include <atomic>
#include <cstdint>

namespace cassandra_like {

// One a node; its shards share it.
class RowMemory {
 public:
  explicit RowMemory(uint64_t bytes) : bytes_(bytes) {}

  uint64_t bytes() const { return bytes_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t room() const {
    const uint64_t used = this->used();
    return used < bytes_ ? bytes_ - used : 0;
  }

 private:
  friend class RowShare;
  const uint64_t bytes_;
  std::atomic<uint64_t> used_{0};
};

// The part that the rows have of it which one read, or one compaction, holds at the same time.
class RowShare {
 public:
  // Without memory nothing is bounded.
  explicit RowShare(RowMemory* memory) : memory_(memory) {}
  RowShare(const RowShare&) = delete;
  RowShare& operator=(const RowShare&) = delete;
  // All has been given back.
  ~RowShare() = default;

  // False, and nothing is taken: there is no room for so many bytes more.
  bool take(uint64_t bytes) {
    if (memory_ == nullptr) return true;
    memory_->used_.fetch_add(bytes, std::memory_order_relaxed);
    if (memory_->used() <= memory_->bytes_) {
      held_ += bytes;
      return true;
    }
    memory_->used_.fetch_sub(bytes, std::memory_order_relaxed);
    note_refused(bytes);
    return false;
  }
  void give_back(uint64_t bytes) {
    if (memory_ == nullptr) return;
    memory_->used_.fetch_sub(bytes, std::memory_order_relaxed);
    held_ -= bytes;
  }
  // Bytes that there is room for.
  uint64_t room() const { return memory_ == nullptr ? ~uint64_t{0} : memory_->room(); }
  // So many bytes more, of a row that was not read then, were too many.
  void note_refused(uint64_t bytes) { is_too_large_ |= held_ + bytes > memory_->bytes_; }
  // The bytes that all rows may have, and those that they have now. There is a memory.
  uint64_t bytes() const { return memory_->bytes(); }
  uint64_t used() const { return memory_->used(); }
  // Something was refused that would not fit either if nobody else had any of the memory.
  bool is_too_large() const { return is_too_large_; }

 private:
  RowMemory* memory_;
  uint64_t held_ = 0;
  bool is_too_large_ = false;
};

}  // namespace cassandra_like
