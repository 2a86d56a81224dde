// A partition of an SSTable without what newer data of other SSTables deletes or overwrites
// (db.compaction.CompactionIterator.GarbageSkippingUnfilteredRowIterator, AbstractCompactionController.shadowSources).
//
// The newer data is only looked at: no deletion of it is copied, so it has to stay where it is for as long as anything is there
// that it hides. Deletions go, too, where newer ones cover them. With rows as the grain, what counts are deletions of
// partitions, ranges and rows. With cells, each cell and each deletion of a collection counts as well. Counters are added
// up, not overwritten: their cells only go with what is deleted.
#pragma once

#include "read/merge.h"

namespace cassandra_like {

class GarbageSkipper final : public PartitionReader {
 public:
  // Both are of one key, and outlive this. `data` is paused_after(); so is what this returns.
  GarbageSkipper(PartitionReader& data, MergedPartition& newer, bool is_counter, bool skips_cells);

  Result<const Unfiltered*> next() override;

 private:
  // Empty when nothing stays. The result may borrow from the row, or be in the arena.
  Row without_garbage(const Row& row, const Row* newer, Arena& arena);
  Row without_overwritten(const Row& row, const Row& newer, Arena& arena) const;
  const Unfiltered* filter(const RangeTombstoneMarker& marker);
  const Unfiltered* issue(const RangeTombstoneMarker& marker);
  void enter(const RangeTombstoneMarker& newer);

  PartitionReader& data_;
  MergedPartition& newer_;
  const bool is_counter_, skips_cells_;
  const Unfiltered *data_at_ = nullptr, *newer_at_ = nullptr;
  bool data_consumed_ = true, newer_consumed_ = true;
  DeletionTime newer_partition_;  // the deletion of the partition in the newer data
  DeletionTime covering_;         // the newest deletion of the newer data here
  DeletionTime data_open_;        // the range of the data here
  DeletionTime issued_;           // the range of what was returned
  Arena static_arena_{64}, arena_{1024};
  Unfiltered result_;
};

}  // namespace cassandra_like
