// One partition of the answers of several replicas, and what each of them lacks of it (service.reads.DataResolver,
// repair.RowIteratorMergeListener).
//
// The merged partition is reconciled as that of read/merge.h. A replica lacks
// - the partition's deletion when that is newer than its own,
// - of a row: liveness, deletions and cells of the merged row that are not its own; nothing of a row that is covered,
// - a range deletion where it is open in the merged partition and not, in the same way, in its own.
// No replica gets a thing that the merged partition does not have because something newer covers it. A tombstone that any
// node may purge never travels: a replica that has purged it would get it back for ever.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "model/mutation.h"
#include "read/partition_reader.h"

namespace cassandra_like {

// Owns what it holds.
class PartitionRepair {
 public:
  bool empty() const { return deletion_.is_live() && static_row_.is_empty() && rows_.empty() && ranges_.empty(); }
  // Refers to this.
  PartitionUpdate update(const TableMetadata& table, const DecoratedKey& key) const;

 private:
  friend class ResolvedPartition;
  ClusteringPrefix copy(const ClusteringPrefix& place);

  Arena arena_{256};
  DeletionTime deletion_;
  Row static_row_;
  std::vector<Row> rows_;
  std::vector<RangeTombstone> ranges_;
};

struct ResolveOptions {
  bool reversed = false;
  // Seconds: a tombstone of before may be purged.
  int64_t gc_before = 0;
};

class ResolvedPartition final : public PartitionReader {
 public:
  // A source for each replica, all of the same key and direction; null for one that has nothing of the partition, or that
  // was not read and has to get everything. At least one is not null. They outlive this. A source whose rows come in several
  // answers may have a newer deletion of the partition behind its next(): it holds from there on.
  ResolvedPartition(std::span<PartitionReader* const> sources, ResolveOptions options);

  Result<const Unfiltered*> next() override;
  // The parts that each source lacks of all that was read, up to the row that was read last. Ends the reading.
  std::deque<PartitionRepair>& end();

 private:
  struct Source {
    PartitionReader* reader = nullptr;  // null at its end
    DeletionTime deletion;              // of the partition
    const Unfiltered* at = nullptr;
    bool in_group = true;                        // at the place that is merged now
    DeletionTime open;                           // the range tombstone that it is in
    std::optional<ClusteringPrefix> lacks_from;  // its repair's memory
    DeletionTime lacks;                          // the range tombstone that it lacks from there on
  };

  void begin_static(std::span<PartitionReader* const> sources);
  Status fill();
  void take_newer_deletion(const DeletionTime& deletion);
  bool precedes(const Unfiltered& a, const Unfiltered& b) const;
  bool merge_rows_of_group();
  bool merge_markers_of_group(const ClusteringPrefix& place);
  void repair_range(size_t i, const ClusteringPrefix& place);
  // version: null when the replica does not have the row.
  Row difference(const Row& merged, const Row* version);
  bool travels(const DeletionTime& deletion) const {
    return !deletion.is_live() && deletion.local_deletion_time >= options_.gc_before;
  }
  bool travels(const Cell& cell) const {
    return !cell.is_tombstone() || cell.local_deletion_time >= options_.gc_before;
  }

  ResolveOptions options_;
  std::vector<Source> sources_;
  std::deque<PartitionRepair> repairs_;  // one for each source
  std::vector<const Row*> rows_;
  std::vector<Cell> cells_;
  std::vector<ComplexDeletion> complex_deletions_;
  DeletionTime open_;      // the merged range tombstone; live when the partition's deletion covers it
  DeletionTime covering_;  // what covers the next row
  Arena static_arena_{64};
  Arena arena_{1024};
  Unfiltered result_;
  bool is_at_row_ = false;  // the result that next() has returned
};

}  // namespace cassandra_like
