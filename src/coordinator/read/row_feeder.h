// Brings partitions that are reconciled through the last step of a read (read/read_pipeline.h) to the client's sink: what does
// not live goes, conditions and limits apply. A partition may come in several parts, each by another reader.
#pragma once

#include "read/partition_reader.h"
#include "read/read_pipeline.h"

namespace cassandra_like {

class RowFeeder {
 public:
  enum class Step { kContinue, kPartitionDone, kStop };

  // Both outlive it.
  RowFeeder(const ReadCommand& command, RowSink& sink)
      : command_(command), pipeline_(command, *command.table, sink, TombstoneThresholds(), arena_) {}

  // A partition, or the rest of the one that change_reader() was called in.
  Status begin(const PartitionReader& partition) {
    if (is_inside_ && partition.key() == pipeline_.paused_key()) return {};
    end();
    is_inside_ = true;
    return pipeline_.begin(partition.key(), partition.static_row());
  }
  Result<Step> take(const Unfiltered& unfiltered) {
    if (!unfiltered.is_row) return Step::kContinue;
    ASSIGN_OR_RETURN(const ReadPipeline::Step step, pipeline_.row(unfiltered.row));
    return after(step);
  }
  // The partition ends. Nothing of it follows.
  void end() {
    if (!std::exchange(is_inside_, false)) return;
    static_cast<void>(after(pipeline_.end()));
  }
  // The partition's reader goes away, and another one may bring the rest.
  void change_reader() {
    if (is_inside_ && !stopped()) pipeline_.change_reader();
  }

  bool stopped() const { return pipeline_.stopped(); }
  bool is_inside() const { return is_inside_; }
  uint64_t rows() const { return pipeline_.rows(); }
  uint64_t left_in_partition() const { return pipeline_.left_in_partition(); }
  // So much was looked at that the shard's other work should have its turn.
  bool wants_break() { return std::exchange(wants_break_, false); }

 private:
  Step after(ReadPipeline::Step step) {
    if (step == ReadPipeline::Step::kStop) return Step::kStop;
    if (step == ReadPipeline::Step::kPartitionDone) return Step::kPartitionDone;
    if (step == ReadPipeline::Step::kPause) {
      wants_break_ = true;
      pipeline_.next_turn(*command_.table);
      // It goes on with the partition that it is in.
      if (pipeline_.has_unfinished_partition()) CHECK(pipeline_.begin(pipeline_.paused_key(), Row()).ok());
    }
    return Step::kContinue;
  }

  const ReadCommand& command_;
  Arena arena_{1024};
  ReadPipeline pipeline_;
  bool is_inside_ = false;
  bool wants_break_ = false;
};

}  // namespace cassandra_like
