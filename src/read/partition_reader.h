// How the contents of memtables and SSTables are read: partition by partition, in ring order, each partition's
// unfiltereds in clustering order (descending when reversed).
//
// A reader that was given slices returns only what lies in them; a range tombstone that begins before a slice is
// reported as one that opens at the slice's start (and symmetrically at its end), so that the markers of one reader
// always pair up. When reversed, the marker at a tombstone's end comes first and is the one that `open`s.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "model/row.h"
#include "read/row_memory.h"

namespace cassandra_like {

struct SliceSelection {
  std::span<const Slice> slices;  // sorted, disjoint; empty: the whole partition
  bool reversed = false;
  bool wants_rows = true;    // false: only the static row and the partition's deletion
  bool copies_rows = false;  // uniform rows have their comparable form, their age and their cells
  // Large rows count here, and a reader that has no room for one fails with kOverloaded. It outlives the readers. Null: they
  // are not bounded.
  RowShare* memory = nullptr;
};

class PartitionReader {
 public:
  virtual ~PartitionReader() = default;

  const DecoratedKey& key() const { return key_; }
  const DeletionTime& partition_deletion() const { return partition_deletion_; }
  const Row& static_row() const { return static_row_; }  // is_empty() when there is none
  // nullptr at the end. The result and all it points to are valid until the next call.
  virtual Result<const Unfiltered*> next() = 0;
  // In place of next(), which is to be asked when there is none: a uniform row that lives then, if that is what comes next
  // and it is at hand.
  virtual const UniformRow* next_uniform(int64_t /*now_seconds*/) { return nullptr; }

 protected:
  DecoratedKey key_;
  DeletionTime partition_deletion_;
  Row static_row_;
};

class PartitionScanner {
 public:
  virtual ~PartitionScanner() = default;
  // nullptr at the end; valid until the next call. A partition need not be read to its end.
  virtual Result<PartitionReader*> next() = 0;
};

}  // namespace cassandra_like
