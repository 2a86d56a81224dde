// What was written to one table since its last flush: partitions ordered by key, their rows by clustering, all in one
// arena that is freed whole.
//
// Rows are kept as model's Row, so that a read passes them on as they are. A value that replaces one of the same or a
// larger size is written over it; what is replaced otherwise stays unused in the arena. Readers therefore must not keep
// views across a return to the event loop, except of a memtable that is being flushed and takes no more writes.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "absl/container/btree_set.h"
#include "base/arena.h"
#include "model/mutation.h"
#include "model/row_codec.h"
#include "storage/memtable/range_tombstones.h"
#include "storage/partition_reader.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

// Nodes of the trees live in the arena, too, and are never freed one by one.
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

struct MemtableRow {
  Row row;
  Cell* cells = nullptr;  // row.cells, with room for more behind
  uint32_t capacity = 0;
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
  MemtableRow* row;
};
struct RowOrder {
  using is_transparent = void;
  bool operator()(const RowEntry& a, const RowEntry& b) const {
    return a.prefix != b.prefix ? a.prefix < b.prefix
                                : a.row->row.clustering.comparable < b.row->row.clustering.comparable;
  }
  bool operator()(const RowEntry& a, const RowKey& b) const {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.row->row.clustering.comparable < b.comparable;
  }
  bool operator()(const RowKey& a, const RowEntry& b) const {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.comparable < b.row->row.clustering.comparable;
  }
};
using RowTree = absl::btree_set<RowEntry, RowOrder, ArenaAllocator<RowEntry>>;

struct MemtablePartition {
  DecoratedKey key;
  DeletionTime deletion;
  MemtableRow* static_row = nullptr;
  MemtableRow* only_row = nullptr;  // of a table without clustering columns
  RowTree* rows = nullptr;          // of all others
  RangeTombstones* ranges = nullptr;

  const MemtableRow* row(BytesView comparable) const;
};

struct PartitionEntry {
  Token token;
  MemtablePartition* partition;
};
struct PartitionOrder {
  using is_transparent = void;
  static const DecoratedKey& key(const PartitionEntry& e) { return e.partition->key; }
  bool operator()(const PartitionEntry& a, const PartitionEntry& b) const {
    return a.token != b.token ? a.token < b.token : key(a).key < key(b).key;
  }
  bool operator()(const PartitionEntry& a, const DecoratedKey& b) const {
    return a.token != b.token ? a.token < b.token : key(a).key < b.key;
  }
  bool operator()(const DecoratedKey& a, const PartitionEntry& b) const {
    return a.token != b.token ? a.token < b.token : a.key < key(b).key;
  }
  bool operator()(const PartitionEntry& a, const RingPosition& b) const { return b.compare(key(a)) > 0; }
  bool operator()(const RingPosition& a, const PartitionEntry& b) const { return a.compare(key(b)) < 0; }
};
using PartitionTree = absl::btree_set<PartitionEntry, PartitionOrder, ArenaAllocator<PartitionEntry>>;

class Memtable {
 public:
  // lower: what was logged before is elsewhere.
  Memtable(TablePtr table, CommitLogPosition lower);
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // The update's columns must be those of a table that was passed to the constructor or to use_table().
  void apply(const PartitionUpdate& update);
  // The schema changed: keeps the columns of both versions alive.
  void use_table(TablePtr table);
  const TablePtr& table() const { return tables_.back(); }
  // Some cells may have columns that the current table does not have, or has as another object.
  bool has_old_columns() const { return has_old_columns_; }

  const MemtablePartition* find(const DecoratedKey& key) const;
  const PartitionTree& partitions() const { return partitions_; }
  bool empty() const { return partitions_.empty(); }

  std::unique_ptr<PartitionReader> read(const MemtablePartition& partition, const SliceSelection& selection) const;
  std::unique_ptr<PartitionScanner> scan(const KeyRange& range, const SliceSelection& selection) const;

  // Bytes taken from the heap.
  size_t memory_used() const { return arena_.reserved(); }
  uint64_t row_count() const { return row_count_; }
  const CommitLogPosition& lower() const { return lower_; }
  EncodingStats stats() const { return stats_.get(); }
  // Those that occur, in cell order.
  std::vector<ColumnPtr> columns(bool is_static) const;

 private:
  void merge_into(MemtableRow& into, const Row& row);
  bool merge_simple(MemtableRow& into, const Row& row);
  void merge_general(MemtableRow& into, const Row& row);
  void write_cell(Cell& into, const Cell& from);
  void insert_cell(MemtableRow& into, size_t at, const Cell& cell);
  MemtableRow* make_row(const Row& row);
  ClusteringPrefix copy_prefix(const ClusteringPrefix& prefix);
  Cell copy_cell(const Cell& cell);
  MemtableRow* find_or_make(MemtablePartition& partition, const Row& row, bool* made);
  void note(const Row& row);

  std::vector<TablePtr> tables_;
  bool has_old_columns_ = false;
  CommitLogPosition lower_;
  Arena arena_;
  Arena scratch_;
  PartitionTree partitions_;
  std::deque<RangeTombstones> ranges_;
  EncodingStatsCollector stats_;
  std::vector<const Column*> seen_;  // columns, in the order in which they came
  uint64_t row_count_ = 0;
};

}  // namespace cassandra_like
