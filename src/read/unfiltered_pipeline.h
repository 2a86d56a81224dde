// Between reconciled partitions and an UnfilteredSink: what a replica does to them before it answers another node
// (db.ReadCommand.executeLocally). In this order:
//
//   columns   cells of columns that are not fetched go, values of those that nobody asked for go
//   purge     tombstones that are older than gc_grace_seconds go; expired cells become tombstones
//   filter    rows that do not satisfy the conditions go
//   limits    the answer ends behind the row that reaches a limit
//   closer    a range tombstone that is open there is closed behind that row
//
// A partition of which the purge or the filter leaves nothing is not part of the answer.
//
// It also sees to it that a long read takes turns with the other work of its shard: when it has looked at so many rows and
// markers (ReadRequest::turn), it pauses. Readers go away then, and those of the next turn begin behind that place. A range
// tombstone that was open there is open to them from the first row on, and is not told again. If the partition was deleted
// meanwhile, a range tombstone from there to its end tells so: its head may have been sent.
#pragma once

#include "read/merge.h"
#include "read/read_pipeline.h"
#include "read/read_request.h"
#include "read/unfiltered_sink.h"

namespace cassandra_like {

class UnfilteredPipeline {
 public:
  enum class Step { kContinue, kPartitionDone, kStop, kPause };

  // Everything outlives this. `table` is the one that the rows are of, of which the request may have another version.
  UnfilteredPipeline(const ReadRequest& request, const TableMetadata& table, UnfilteredSink& sink,
                     const TombstoneThresholds& thresholds);
  UnfilteredPipeline(const UnfilteredPipeline&) = delete;
  UnfilteredPipeline& operator=(const UnfilteredPipeline&) = delete;

  // A whole partition, from where the pipeline paused in it if it did. One that a purge has left in the answer before stays
  // in it even when it is empty. kDiskWait: it was fed in part, and the caller has it pause; or has_begun() is false, and it
  // was not fed at all.
  Status feed(PartitionReader& partition, bool is_purged = false);
  bool has_begun() const { return begun_; }
  // The first step of feed().
  Status begin(const PartitionReader& partition);

  bool stopped() const { return stopped_ || limits_.done(); }
  bool paused() const { return paused_; }
  // Where it paused: behind the row or marker with this comparable place, or behind the partition when that is empty.
  const DecoratedKey& paused_key() const { return key_; }
  const Bytes& paused_place() const { return paused_place_; }
  void next_turn(const TableMetadata& table);
  // Pauses, too, since the rest is not in memory: in the partition that was begun, behind `place`, or behind another
  // one. That is no turn's end.
  void wait_in_partition(Bytes place);
  void wait_behind(const DecoratedKey& key);
  // The turn found nothing in memory, and is tried again: with rows of this table.
  void repeat_turn(const TableMetadata& table) { table_ = &table; }
  // It paused in a partition of which nothing is left.
  bool has_unfinished_partition() const { return inside_; }
  void end_unfinished_partition();

  uint64_t rows() const { return limits_.rows(); }
  uint64_t tombstones() const { return tombstones_; }
  // The partition is the one that was begun last.
  uint64_t tombstones_of_partition() const { return tombstones_ - tombstones_before_; }

 private:
  friend class PipelineFeed;
  Result<Step> take(const Unfiltered& unfiltered);
  Result<Step> take_row(const Row& row);
  Result<Step> take_marker(const RangeTombstoneMarker& marker);
  // The first marker of a turn, or null, against the range tombstone that was open at its start.
  Result<Step> resume(const RangeTombstoneMarker* first);
  // The partition was deleted since its head was made.
  void take_newer_deletion(const DeletionTime& deletion);
  void close_partition_range();
  Step end();

  bool is_purgeable(const DeletionTime& deletion) const { return deletion.local_deletion_time < gc_before_; }
  Row purge(const Row& row);
  bool satisfies_conditions(const Row& row);
  Status count_tombstones(const Row& row);
  Status count_tombstone();
  // Before the first row or marker that is part of the answer, or at the end. False: nothing of the partition follows.
  bool open(const Unfiltered* first);
  Step emit(const Unfiltered& unfiltered);
  void keep_last(const ClusteringPrefix& clustering);
  void close_range(const ClusteringPrefix& last);
  void pause_behind(const ClusteringPrefix& place);
  void pause_at(Bytes place);

  const ReadRequest& request_;
  const TableMetadata* table_;
  UnfilteredSink& sink_;
  ColumnSelector columns_;
  LimitCounter limits_;
  TombstoneThresholds thresholds_;
  const int64_t now_;
  const int64_t gc_before_;
  RowFilter partition_filter_,
      row_filter_;  // conditions on the key and static columns; on clusterings and regular ones

  Arena static_arena_{64};
  Arena arena_{1024};
  DecoratedKey key_;
  DeletionTime deletion_;     // purged
  Row static_row_;            // selected and purged
  bool is_left_out_ = false;  // the partition does not satisfy the conditions
  bool has_content_ = false;  // something was left by the purge
  bool opened_ = false;       // the sink knows the partition
  DeletionTime of_rest_;      // of the partition, newer than deletion_: told as a range tombstone
  DeletionTime open_;         // the range tombstone that the reader is in
  DeletionTime sent_open_;    // the one that the sink is in
  // With limits of groups: the last row that the sink got in that one, if any. Its memory is last_arena_.
  std::optional<ClusteringPrefix> last_row_;
  Arena last_arena_{64};
  Bytes closing_place_;  // of the marker behind the last row

  bool stopped_ = false;  // by the sink
  bool paused_ = false;
  bool inside_ = false;
  bool begun_ = false;  // a partition, in the feed() under way
  bool waits_ = false;  // it paused for the disk
  bool resuming_ = false;
  uint64_t looked_at_ = 0;  // in this turn
  Bytes paused_key_, paused_place_;
  bool paused_behind_row_ = false;
  uint64_t tombstones_ = 0, tombstones_before_ = 0;  // the partition
};

// Feeds a pipeline that does not pause with one partition of another one.
class PipelineFeed final : public UnfilteredSink {
 public:
  explicit PipelineFeed(UnfilteredPipeline& pipeline) : pipeline_(pipeline) {}
  void begin_partition(const Partition& partition) override;
  void unfiltered(const Unfiltered& unfiltered) override;
  bool end_partition() override { return false; }
  // Once, at the end.
  Status finish();

 private:
  UnfilteredPipeline& pipeline_;
  Bytes key_;
  bool begun_ = false;
  Status status_;
};

}  // namespace cassandra_like
