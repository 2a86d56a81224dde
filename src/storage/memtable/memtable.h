// The writes to one table since its last flush: partitions ordered by key, their rows by clustering, all in one
// arena that is freed whole.
//
// A value that is not larger than the one it replaces is written over it. Otherwise the replaced one stays unused in the
// arena. Readers therefore must not keep views across a return to the event loop, except of a memtable that is being
// flushed and takes no more writes.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "base/arena.h"
#include "model/mutation.h"
#include "model/row_codec.h"
#include "read/partition_reader.h"
#include "read/range_tombstones.h"
#include "storage/memtable/memtable_partition.h"
#include "storage/memtable/partition_map.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

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

  const MemtablePartition* find(const DecoratedKey& key) const { return partitions_.find(key); }
  const PartitionMap& partitions() const { return partitions_; }
  bool empty() const { return partitions_.empty(); }

  std::unique_ptr<PartitionReader> read(const MemtablePartition& partition, const SliceSelection& selection) const;
  std::unique_ptr<PartitionScanner> scan(const KeyRange& range, const SliceSelection& selection) const;

  // Bytes taken from the heap.
  size_t memory_used() const { return arena_.reserved(); }
  uint64_t row_count() const { return row_count_; }
  const CommitLogPosition& lower() const { return lower_; }
  EncodingStats stats() const { return stats_.get(); }
  // The columns that occur, in cell order.
  std::vector<ColumnPtr> columns(bool is_static) const;

 private:
  // The arena is the one that the row is in.
  void merge_into(MemtableRow*& into, const Row& row, Arena& arena);
  void merge_into(GeneralRow& into, const Row& row, Arena& arena);
  bool merge_simple(GeneralRow& into, const Row& row, Arena& arena);
  ClusteringPrefix copy_prefix(const ClusteringPrefix& prefix);
  MemtablePartition* make_partition(const DecoratedKey& key);
  void put_row(MemtablePartition& partition, const Row& row);
  void note(const Row& row);

  std::vector<TablePtr> tables_;
  bool has_old_columns_ = false;
  CommitLogPosition lower_;
  Arena arena_;
  Arena scratch_;
  PartitionMap partitions_;
  std::list<RangeTombstones> ranges_;  // partitions point to them
  EncodingStatsCollector stats_;
  std::vector<const Column*> seen_;  // columns, in the order in which they came
  uint64_t row_count_ = 0;
};

}  // namespace cassandra_like
