// The way to the partitions of an SSTable: from a key to a place, from a place of the ring to all that follow, and
// within a partition from a clustering to a block. There are two: the tries of BTI (trie_lookup.h), and Index.db with
// Summary.db of BIG (big_lookup.h). All else of a reader does not know which it has.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/key.h"
#include "storage/sstable/component_set.h"
#include "storage/sstable/row_blocks.h"

namespace cassandra_like {

// Partitions in ring order.
class PartitionWalk {
 public:
  virtual ~PartitionWalk() = default;
  // False at the end. A partition or two that come before the start may come first.
  virtual Result<bool> next(PartitionPlace* place) = 0;
};

class PartitionLookup {
 public:
  virtual ~PartitionLookup() = default;

  // The version's. kCorruption naming the component that is damaged. The keys of Statistics.db are compared when it has
  // some.
  static Result<std::unique_ptr<PartitionLookup>> open(const ComponentSet& components, const TableMetadata& table,
                                                       const SSTableVersion& version);

  virtual BytesView first_key() const = 0;
  virtual BytesView last_key() const = 0;
  virtual uint64_t count() const = 0;
  // The component that has the keys, whose damage corrupt() speaks of.
  virtual std::string_view component() const = 0;
  virtual Error corrupt() const = 0;
  virtual size_t memory_used() const = 0;

  // False: the key is not here. True: it is, or another one is at the place; who reads there finds out.
  virtual Result<bool> find(const HashedKey& key, PartitionPlace* place) const = 0;
  // A hint before find(), see PartitionIndex::prefetch(). An index that cannot do it does nothing.
  virtual void prefetch(std::span<const KeyHash> /*keys*/, std::vector<uint64_t>* /*data_positions*/) const {}
  virtual std::unique_ptr<PartitionWalk> walk(const RingPosition& start) const = 0;
  // The row index of a partition that has one, in memory of the caller's.
  virtual RowBlocks* open_blocks(const PartitionPlace& place, const SerializationHeader& header,
                                 RowBlocksSpace* space) const = 0;
  // Checks what no walk sees, from `at` on, which begins with 0: a number of samples. False: that was all.
  virtual Result<bool> verify(size_t* /*at*/, size_t /*number*/) const { return false; }
};

}  // namespace cassandra_like
