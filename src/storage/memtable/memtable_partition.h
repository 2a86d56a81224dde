// A partition in a memtable: its rows ordered by clustering, or its only row.
#pragma once

#include "absl/container/btree_set.h"
#include "base/arena.h"
#include "model/key.h"
#include "model/row.h"
#include "read/range_tombstones.h"
#include "storage/memtable/memtable_row.h"

namespace cassandra_like {

// Nodes of the tree live in the arena, too, and are never freed one by one.
template <class T>
struct ArenaAllocator {
  using value_type = T;
  explicit ArenaAllocator(Arena* a) : arena(a) {}
  template <class U>
  ArenaAllocator(const ArenaAllocator<U>& o) : arena(o.arena) {}  // NOLINT: as allocators do
  T* allocate(size_t n) { return static_cast<T*>(arena->allocate(n * sizeof(T), alignof(T))); }
  void deallocate(T*, size_t) {}
  template <class U>
  bool operator==(const ArenaAllocator<U>& o) const {
    return arena == o.arena;
  }
  Arena* arena;
};

// Most comparisons end in the first 8 bytes, which lie in the tree's node.
struct RowKey {
  explicit RowKey(BytesView c) : comparable(c) {
    char head[8] = {};
    std::memcpy(head, c.data(), c.size() < 8 ? c.size() : 8);
    prefix = load_be<uint64_t>(head);
  }
  uint64_t prefix;
  BytesView comparable;
};
struct RowEntry {
  uint64_t prefix;
  mutable MemtableRow* row;  // another one when it grows: of the same clustering, so the order stays
};
struct RowOrder {
  using is_transparent = void;
  bool operator()(const RowEntry& a, const RowEntry& b) const {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.row->comparable() < b.row->comparable();
  }
  bool operator()(const RowEntry& a, const RowKey& b) const {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.row->comparable() < b.comparable;
  }
  bool operator()(const RowKey& a, const RowEntry& b) const {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.comparable < b.row->comparable();
  }
};
using RowTree = absl::btree_set<RowEntry, RowOrder, ArenaAllocator<RowEntry>>;

// The rows of a partition and the tree that orders them, near each other whenever they came.
struct PartitionRows {
  explicit PartitionRows(Arena& memtable) : arena(&memtable), tree(RowOrder(), ArenaAllocator<RowEntry>(&arena)) {}
  PartitionRows(const PartitionRows&) = delete;
  PartitionRows& operator=(const PartitionRows&) = delete;

  Arena arena;
  RowTree tree;
};

struct MemtablePartition {
  DecoratedKey key;
  DeletionTime deletion;
  GeneralRow* static_row = nullptr;
  MemtableRow* only_row = nullptr;  // of a table without clustering columns
  PartitionRows* rows = nullptr;    // of all others
  RangeTombstones* ranges = nullptr;

  const MemtableRow* row(BytesView comparable) const;
  const Row& static_part() const;  // empty when there is none
};

}  // namespace cassandra_like
