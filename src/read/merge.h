// Merging of what memtables and SSTables hold of the same partitions (db.rows.UnfilteredRowIterators.merge).
//
// The result is reconciled: rows and cells that any deletion covers are gone, range tombstones that the partition's
// deletion or a newer range covers are gone, and markers pair up, also when reading from the end. So it makes sense for
// a single source, too, whose rows may be covered by its own deletions.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "read/order_check.h"
#include "read/partition_reader.h"

namespace cassandra_like {

// At least one source; all of the same key and direction.
class MergedPartition final : public PartitionReader {
 public:
  MergedPartition(std::vector<std::unique_ptr<PartitionReader>> sources, bool reversed);
  // The sources are somebody else's and outlive this.
  MergedPartition(std::span<PartitionReader* const> sources, bool reversed);
  // Goes on with the next partition, whose sources are somebody else's.
  void restart(std::span<PartitionReader* const> sources);

  Result<const Unfiltered*> next() override;
  // From now on next() may return paused() after so many things that deletions cover or that say nothing, and goes on when
  // it is called again. So a long merge does not keep its shard from other work.
  void pause_after(uint32_t covered) { pause_after_ = covered; }
  static const Unfiltered* paused();
  const UniformRow* next_uniform(int64_t now_seconds) override {
    return is_alone() ? heads_[0].source->next_uniform(now_seconds) : nullptr;
  }

 private:
  struct Head {
    PartitionReader* source;
    const Unfiltered* at = nullptr;
    DeletionTime open;  // the range tombstone that this source is in
    bool consumed = true;
    [[no_unique_address]] UnfilteredOrderCheck order{};
  };

  // heads_ are those of the sources that have not ended.
  void begin(std::span<PartitionReader* const> sources);
  // One source is left, and nothing is to be done to its rows.
  bool is_alone() const { return heads_.size() == 1 && heads_[0].consumed && covering_.is_live(); }
  Status fill_heads();
  bool precedes(const Unfiltered& a, const Unfiltered& b) const;
  bool merge_group_of_rows();
  bool merge_group_of_markers();

  std::vector<std::unique_ptr<PartitionReader>> owned_;
  bool reversed_;
  std::vector<Head> heads_;
  std::vector<Head*> group_;  // those at the place that is merged now
  std::vector<const Row*> rows_;
  DeletionTime open_;      // the merged range tombstone; live when the partition's deletion covers it
  DeletionTime covering_;  // what covers the next row
  uint32_t pause_after_ = std::numeric_limits<uint32_t>::max();
  Arena static_arena_{64};
  Arena arena_{1024};
  Unfiltered result_;
};

class MergedScanner final : public PartitionScanner {
 public:
  MergedScanner(std::vector<std::unique_ptr<PartitionScanner>> sources, bool reversed);
  Result<PartitionReader*> next() override;
  MergedPartition& partition() { return *partition_; }           // that next() returned last
  size_t sources_of_partition() const { return group_.size(); }  // that have what next() returned last

 private:
  struct Head {
    std::unique_ptr<PartitionScanner> source;
    PartitionReader* at = nullptr;
    bool consumed = true;
    [[no_unique_address]] KeyOrderCheck order{};
  };
  bool reversed_;
  std::vector<Head> heads_;
  std::vector<PartitionReader*> group_;
  std::optional<MergedPartition> partition_;
};

}  // namespace cassandra_like
