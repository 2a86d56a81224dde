// The partitions of a memtable, ordered by token and then by key.
//
// Tokens are spread evenly, so the first bits of one lead straight to where it must be: through a radix tree, whose nodes
// take kNodeBits of the token each, to a bucket of at most kCapacity partitions in order. That is two misses of the
// processor's caches among millions of partitions, one for the bucket and one for the partition, where a tree that compares
// keys has six.
//
//   node    64 slots, each a node or a bucket. Slots beside each other share a bucket until it overflows.
//   bucket  partitions whose tokens have their first `bits` bits in common. A bucket that overflows gives the half of its
//           slots whose next bit is set to another one. All buckets are linked in order; some may be empty.
//
// When all bits of a token are used up, what does not fit continues in the next bucket, which no slot leads to. Everything
// lives in the arena; nothing is removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/arena.h"
#include "model/key.h"
#include "storage/memtable/memtable_partition.h"

namespace cassandra_like {

class PartitionMap {
 private:
  static constexpr unsigned kNodeBits = 6;
  static constexpr unsigned kTokenBits = 64;
  static constexpr unsigned kCapacity = 15;  // a bucket takes four cache lines

  struct Bucket {
    Bucket* next = nullptr;
    uint32_t size = 0;
    uint16_t bits = 0;
    bool continues = false;      // the bucket before it, which has the same token
    uint64_t tokens[kCapacity];  // unsigned: see ordered()
    MemtablePartition* partitions[kCapacity];
  };
  struct Node;
  // A bucket, or a node when the lowest bit is set.
  struct Slot {
    Slot() = default;
    explicit Slot(Bucket* bucket) : bits(reinterpret_cast<uintptr_t>(bucket)) {}
    explicit Slot(Node* node) : bits(reinterpret_cast<uintptr_t>(node) | 1) {}
    bool is_node() const { return (bits & 1) != 0; }
    Node* node() const { return reinterpret_cast<Node*>(bits - 1); }
    Bucket* bucket() const { return reinterpret_cast<Bucket*>(bits); }
    uintptr_t bits = 0;
  };
  struct Node {
    Slot slots[size_t{1} << kNodeBits];
  };
  struct Place {
    Bucket* bucket;
    unsigned at;
    bool found;
  };

 public:
  class Iterator {
   public:
    Iterator() = default;
    Iterator(const Bucket* bucket, unsigned at) : bucket_(bucket), at_(at) { skip_ends(); }
    MemtablePartition& operator*() const { return *bucket_->partitions[at_]; }
    MemtablePartition* operator->() const { return bucket_->partitions[at_]; }
    Iterator& operator++() {
      ++at_;
      skip_ends();
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    void skip_ends() {
      for (; bucket_ != nullptr && at_ == bucket_->size; at_ = 0) bucket_ = bucket_->next;
    }
    const Bucket* bucket_ = nullptr;
    unsigned at_ = 0;
  };

  explicit PartitionMap(Arena* arena);
  PartitionMap(const PartitionMap&) = delete;
  PartitionMap& operator=(const PartitionMap&) = delete;

  // Null if there is none.
  MemtablePartition* find(const DecoratedKey& key) const;
  // If there is none, make() returns the one to insert, whose key is equal to this one.
  template <class F>
  MemtablePartition& find_or_insert(const DecoratedKey& key, F make) {
    Place place = place_of(key);
    if (place.found) return *place.bucket->partitions[place.at];
    return insert(key, place, make());
  }

  Iterator begin() const { return {first_, 0}; }
  Iterator end() const { return {}; }
  // The partitions of these tokens are about to be looked for: has what that needs brought into the processor's caches.
  // All of them wait for memory at the same time, so it is worth the more the more there are.
  void prefetch(std::span<const Token> tokens) const;
  // Whether there is a partition of this token. Costs little after prefetch().
  bool has(Token token) const;
  // The first that is not before the position.
  Iterator lower_bound(const RingPosition& position) const;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  // Tokens in ring order as unsigned numbers.
  static uint64_t ordered(Token token) { return static_cast<uint64_t>(token) ^ (uint64_t{1} << (kTokenBits - 1)); }
  static size_t slot_of(uint64_t token, unsigned used_bits) { return token << used_bits >> (kTokenBits - kNodeBits); }

  void prefetch_few(std::span<const Token> tokens) const;
  Bucket* make_bucket(Bucket& after);
  Bucket* bucket_of(uint64_t token) const;
  // Where the key is, or where it has to be inserted.
  Place place_of(const DecoratedKey& key) const;
  MemtablePartition& insert(const DecoratedKey& key, Place place, MemtablePartition* partition);
  void make_room(uint64_t token, Bucket& full);
  void split(uint64_t token, Bucket& full);
  static void move_tail(Bucket& from, unsigned first, Bucket& to);

  Arena* arena_;
  Slot root_;
  Bucket* first_;
  size_t size_ = 0;
};

}  // namespace cassandra_like
