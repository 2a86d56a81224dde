// The partition keys that an SSTable may hold: Filter.db (utils.BloomFilter, utils.BloomFilterSerializer of 5.0).
//
//   file := hash count:i32, number of 8-byte words:i32, the words' bytes; bit i is bit i%8 of byte i/8.
//
// In SSTables of Cassandra 3 each word is big-endian: bit i is bit i%64 of word i/64.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/divisor.h"
#include "base/huge_page_allocator.h"
#include "base/result.h"

namespace cassandra_like {

class BloomFilter {
 public:
  // For a number of keys and a chance of false positives. A chance of 1: a filter that lets everything through and
  // has no file.
  BloomFilter(uint64_t keys, double false_positive_chance);
  // is_old: of Cassandra 3. nullopt when malformed.
  static std::optional<BloomFilter> parse(BytesView file, bool is_old);

  // Whether a file of so many bytes that begins so can be parsed.
  static constexpr size_t kHeaderBytes = 8;
  static bool is_header_of(BytesView head, uint64_t file_bytes);

  bool always_present() const { return hash_count_ == 0; }
  // The hash is murmur3_128 of the key. Many keys at once are cheaper: the processor waits for the memory of several at a time.
  void add(std::span<const std::array<uint64_t, 2>> hashes);
  bool may_contain(const std::array<uint64_t, 2>& hash) const;
  // may_contain() follows, after other work: has what it looks at first brought into the processor's caches, or all of it.
  static constexpr int kFirst = 2;  // most answers are no, and known then
  void prefetch(const std::array<uint64_t, 2>& hash, int most = kFirst) const {
    for (int i = 0; i < std::min(hash_count_, most); ++i) __builtin_prefetch(bits_.data() + index(hash, i) / 8);
  }
  void prefetch_all(const std::array<uint64_t, 2>& hash) const { prefetch(hash, hash_count_); }
  Bytes serialize() const;
  size_t memory_used() const { return bits_.capacity(); }

 private:
  BloomFilter() = default;
  // Signed arithmetic that wraps, a remainder that keeps its sign, and then its absolute value, as in Java.
  uint64_t index(const std::array<uint64_t, 2>& hash, int i) const {
    const uint64_t sum = hash[1] + static_cast<uint64_t>(i) * hash[0];
    return bit_count_.remainder(static_cast<int64_t>(sum) < 0 ? -sum : sum);
  }

  int hash_count_ = 0;
  std::vector<char, HugePageAllocator<char>> bits_;
  Divisor bit_count_;
};

}  // namespace cassandra_like
