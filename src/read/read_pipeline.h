// Between reconciled rows and a RowSink: drops what is not live, filters, counts limits and tombstones.
//
// It also sees to it that a long read takes turns with the other work of its shard: when it has looked at so many rows,
// whether they were of interest or not, it pauses, behind a row or behind a partition. Then readers go away, for nothing
// that they refer to may be kept, and those of the next turn begin behind that place.
//
// A partition is begun and read up to a page in one turn: so a page of a partition shows what was there at one time, and
// no write by half. The shard's other work waits for such a turn for some milliseconds.
#pragma once

#include "read/read_command.h"

namespace cassandra_like {

struct TombstoneThresholds {
  uint64_t warn = std::numeric_limits<uint64_t>::max();
  uint64_t fail = std::numeric_limits<uint64_t>::max();
};

class ReadPipeline {
 public:
  static constexpr uint64_t kTurn = 1024;  // rows and partitions
  // Rows of one partition that are looked at in one turn: a page of a driver.
  static constexpr uint64_t kPage = 5000;
  enum class Step { kContinue, kPartitionDone, kStop, kPause };

  // Rows are of this table; the command may have another version of it. Everything outlives this; the arena is reset for
  // each row that needs it.
  ReadPipeline(const ReadCommand& command, const TableMetadata& table, RowSink& sink,
               const TombstoneThresholds& thresholds, Arena& arena);
  // Takes over one that paused: for the turns that follow.
  explicit ReadPipeline(ReadPipeline&& paused);

  // static_row is reconciled, not yet reduced to what is live. Goes on with the partition when the feed paused in it.
  Status begin(const DecoratedKey& key, const Row& static_row);
  Result<Step> row(const Row& row);
  // Whether rows that are plain may come as such. Their values have no names: in another version of the table they may be
  // of other columns.
  bool takes_uniform_rows() const {
    return table_ == command_.table.get() && command_.filter.empty() && command_.wants_rows &&
           sink_.takes_uniform_rows();
  }
  Step uniform_row(const UniformRow& row);
  Status marker() { return count_tombstones(1); }
  // After the partition's last row, or after another step than kContinue.
  Step end();

  bool stopped() const { return stopped_; }
  bool paused() const { return paused_; }
  // Where it paused: behind the row with this comparable clustering, or behind the partition when that is empty.
  const DecoratedKey& paused_key() const { return key_; }
  const Bytes& paused_clustering() const { return paused_clustering_; }
  // Rows are of this table now.
  void next_turn(const TableMetadata& table);
  // Pauses, too, since the rest is not in memory: in the partition that was begun, behind `place`, or behind another
  // one. That is no turn's end: the page goes on.
  void wait_in_partition(Bytes place);
  void wait_behind(const DecoratedKey& key);
  // The turn found nothing in memory, and is tried again: with rows of this table.
  void repeat_turn(const TableMetadata& table) { table_ = &table; }
  // The reader of the next partition ends before the partition does, there: the feed pauses then.
  void set_page_end(Bytes place) { page_end_ = std::move(place); }
  // The reader of a partition goes away before its end, and another one brings the rest: it keeps what it has of it.
  void change_reader();
  // It paused in a partition and that was not begun again: nothing may be left of it.
  bool has_unfinished_partition() const { return inside_; }

  // The sink knows the partition that was begun last.
  bool is_open() const { return opened_; }

  uint64_t rows() const { return counter_.rows(); }
  // The rest of PER PARTITION LIMIT, in the partition that is read.
  uint64_t left_in_partition() const { return counter_.left_in_partition(); }
  uint64_t tombstones() const { return tombstones_; }
  uint64_t tombstones_of_partition() const { return tombstones_ - tombstones_before_; }

 private:
  Status count_tombstones(uint64_t n);
  Result<Step> look_at(const Row& row);
  Step looked_at(Step step, const ClusteringPrefix& clustering) {
    if (++looked_at_ < turn_end_ || step != Step::kContinue) return step;
    return pause_behind(clustering);
  }
  Step pause_behind(const ClusteringPrefix& clustering);
  Step end_partition();
  [[gnu::noinline]] Step end_page();
  void keep_partition();
  void pause(Bytes clustering);
  Step take(const Row& live);
  Step emitted(RowSink::Next next, const ClusteringPrefix& clustering);
  bool open_partition();
  bool is_static_result() const;

  const ReadCommand& command_;
  const TableMetadata* table_;
  RowSink& sink_;
  TombstoneThresholds thresholds_;
  Arena& arena_;
  Arena static_arena_{64};
  bool filters_rows_ = false;  // the filter has a condition that needs a row
  DecoratedKey key_;
  Row static_row_;       // live
  bool opened_ = false;  // the sink knows the partition
  bool done_ = false;    // wants no more of it
  bool stopped_ = false;
  bool paused_ = false;
  bool inside_ = false;
  bool waits_ = false;      // it paused for the disk
  uint64_t looked_at_ = 0;  // in this turn
  uint64_t turn_end_ = kTurn;
  Bytes paused_key_, paused_clustering_;
  Bytes page_end_;
  RowCounter counter_;
  uint64_t tombstones_ = 0;
  uint64_t tombstones_before_ = 0;  // the partition
};

}  // namespace cassandra_like
