// The last step of a read.
#include "read/read_pipeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/result.h"

namespace cassandra_like {

ReadPipeline::ReadPipeline(const ReadCommand& command, const TableMetadata& table, RowSink& sink,
                           const TombstoneThresholds& thresholds, Arena& arena)
    : command_(command),
      table_(&table),
      sink_(sink),
      thresholds_(thresholds),
      arena_(arena),
      counter_(command.limits, command.counts_static_rows()) {
  for (const FilterExpression& condition : command.filter) {
    filters_rows_ |=
        condition.column->kind == ColumnKind::kRegular || condition.column->kind == ColumnKind::kClustering;
  }
  stopped_ = counter_.done();
}

ReadPipeline::ReadPipeline(ReadPipeline&& paused)
    : command_(paused.command_),
      table_(paused.table_),
      sink_(paused.sink_),
      thresholds_(paused.thresholds_),
      arena_(paused.arena_),
      filters_rows_(paused.filters_rows_),
      static_row_(copy_row(paused.static_row_, static_arena_)),
      opened_(paused.opened_),
      done_(paused.done_),
      paused_(paused.paused_),
      waits_(paused.waits_),
      looked_at_(paused.looked_at_),
      turn_end_(paused.turn_end_),
      paused_key_(std::move(paused.paused_key_)),
      paused_clustering_(std::move(paused.paused_clustering_)),
      counter_(paused.counter_),
      tombstones_(paused.tombstones_),
      tombstones_before_(paused.tombstones_before_) {
  key_ = {paused.key_.token, paused_key_};
}

// When the feed paused in this partition before, these are its own already.
void ReadPipeline::keep_partition() {
  if (key_.key.data() != paused_key_.data()) {
    paused_key_.assign(key_.key);
    static_row_ = copy_row(static_row_, static_arena_);
  }
  key_ = {key_.token, paused_key_};
}

void ReadPipeline::change_reader() {
  DCHECK(!paused_);
  keep_partition();
  if (opened_) sink_.continue_partition(key_);
}

void ReadPipeline::pause(Bytes clustering) {
  // The reader goes away.
  keep_partition();
  paused_clustering_ = std::move(clustering);
  paused_ = true;
}

void ReadPipeline::wait_in_partition(Bytes place) {
  pause(std::move(place));
  waits_ = true;
}

void ReadPipeline::wait_behind(const DecoratedKey& key) {
  paused_key_.assign(key.key);
  key_ = {key.token, paused_key_};
  paused_clustering_.clear();
  static_row_ = Row();  // its reader is gone
  paused_ = waits_ = true;
}

void ReadPipeline::next_turn(const TableMetadata& table) {
  DCHECK(paused_ && !stopped_);
  table_ = &table;
  paused_ = false;
  if (!std::exchange(waits_, false)) {
    looked_at_ = 0;
    turn_end_ = kTurn;
  }
  inside_ = !paused_clustering_.empty();
  if (inside_ && opened_) sink_.continue_partition(key_);
}

Status ReadPipeline::begin(const DecoratedKey& key, const Row& static_row) {
  DCHECK(!paused_ && !stopped_);
  if (std::exchange(inside_, false)) return {};
  turn_end_ = ++looked_at_ + kPage;
  key_ = key;
  opened_ = done_ = false;
  counter_.begin_partition(key);
  tombstones_before_ = tombstones_;
  static_row_ = Row();
  static_row_.clustering.kind = ClusteringKind::kStaticClustering;
  if (static_row.is_empty()) return {};
  static_arena_.reset();
  static_row_ = live_row(static_row, command_.now_seconds, static_arena_);
  return count_tombstones(static_row.cells.size() - static_row_.cells.size());
}

Status ReadPipeline::count_tombstones(uint64_t n) {
  if (n == 0) return {};
  tombstones_ += n;
  uint64_t of_read = tombstones_;
  if (TombstoneCount* count = command_.tombstones) {
    count->sum.fetch_add(n, std::memory_order_relaxed);
    of_read = count->sum.load(std::memory_order_relaxed);
  }
  if (of_read <= thresholds_.fail) return {};
  // db.filter.TombstoneOverwhelmingException
  return Error(ErrorCode::kReadFailure,
               fmt::format("Scanned over {} tombstones during query of {} (last scanned row token was {} and partition "
                           "key was 0x{}); query aborted",
                           of_read, command_.table->qualified_name(), key_.token, to_hex(key_.key)));
}

Result<ReadPipeline::Step> ReadPipeline::row(const Row& row) {
  if (stopped_ || done_) return stopped_ ? Step::kStop : Step::kPartitionDone;
  ASSIGN_OR_RETURN(const Step step, look_at(row));
  return looked_at(step, row.clustering);
}

// Not in what an index leads to, where the rest cannot be told from slices.
ReadPipeline::Step ReadPipeline::pause_behind(const ClusteringPrefix& clustering) {
  if (table_->clustering.empty() || command_.index != nullptr) return Step::kContinue;
  Bytes place(clustering.comparable);
  if (place.empty()) append_comparable(place, *table_, clustering.values, ClusteringKind::kClustering);
  pause(std::move(place));
  return Step::kPause;
}

Result<ReadPipeline::Step> ReadPipeline::look_at(const Row& row) {
  int64_t now = command_.now_seconds;
  uint64_t dead = 0;
  for (const Cell& cell : row.cells) dead += cell.is_live(now) ? 0 : 1;
  bool as_it_is = dead == 0 && row.deletion.is_live() && row.complex_deletions.empty() &&
                  (row.liveness.is_empty() || row.liveness.is_live(now));
  if (as_it_is) {
    if (row.liveness.is_empty() && row.cells.empty()) return Step::kContinue;
    return take(row);
  }
  bool live = dead < row.cells.size() || row.liveness.is_live(now);
  if (uint64_t n = dead != 0 ? dead : live ? 0 : 1; n != 0) TRY(count_tombstones(n));
  if (!live) return Step::kContinue;
  arena_.reset();
  return take(live_row(row, now, arena_));
}

ReadPipeline::Step ReadPipeline::take(const Row& live) {
  if (!command_.filter.empty() &&
      !satisfies(command_.filter, *command_.table, key_, static_row_, live, command_.now_seconds)) {
    return Step::kContinue;
  }
  if (!opened_ && !open_partition()) return stopped_ ? Step::kStop : Step::kPartitionDone;
  return emitted(command_.wants_rows ? sink_.row(live) : RowSink::Next::kSkipPartition, live.clustering);
}

ReadPipeline::Step ReadPipeline::uniform_row(const UniformRow& row) {
  if (stopped_ || done_) return stopped_ ? Step::kStop : Step::kPartitionDone;
  if (!opened_ && !open_partition()) return stopped_ ? Step::kStop : Step::kPartitionDone;
  return looked_at(emitted(sink_.uniform_row(row), row.clustering), row.clustering);
}

// next: what the sink said of the row.
ReadPipeline::Step ReadPipeline::emitted(RowSink::Next next, const ClusteringPrefix& clustering) {
  DCHECK(!counter_.done());
  const Enough enough = counter_.row();
  if (enough == Enough::kNo && next == RowSink::Next::kContinue) return Step::kContinue;
  if (enough != Enough::kOfRead && next != RowSink::Next::kStop) {
    done_ = true;
    return Step::kPartitionDone;
  }
  stopped_ = true;
  // A sink that stops has seen enough; one that is stopped still learns that the partition ends.
  if (next == RowSink::Next::kStop || sink_.end_partition() == RowSink::Next::kStop) return Step::kStop;
  sink_.ended_behind(command_.wants_rows ? &clustering : nullptr, counter_.left_in_partition());
  return Step::kStop;
}

bool ReadPipeline::open_partition() {
  opened_ = true;
  static const Row no_row = [] {
    Row row;
    row.clustering.kind = ClusteringKind::kStaticClustering;
    return row;
  }();
  RowSink::Next next = sink_.begin_partition(key_, command_.wants_static ? static_row_ : no_row);
  if (next == RowSink::Next::kStop) stopped_ = true;
  if (next == RowSink::Next::kSkipPartition) done_ = true;
  return next == RowSink::Next::kContinue;
}

bool ReadPipeline::is_static_result() const {
  if (!command_.wants_static || static_row_.cells.empty() || filters_rows_ || counter_.continues_partition()) {
    return false;
  }
  return command_.filter.empty() ||
         satisfies(command_.filter, *command_.table, key_, static_row_, Row(), command_.now_seconds);
}

ReadPipeline::Step ReadPipeline::end_page() {
  pause(std::exchange(page_end_, Bytes()));
  return Step::kPause;
}

ReadPipeline::Step ReadPipeline::end() {
  if (paused_) return Step::kPause;
  inside_ = false;
  if (!page_end_.empty() && !stopped_ && !done_) [[unlikely]]
    return end_page();
  if (end_partition() == Step::kStop) return Step::kStop;
  // The keys of a read through an index need not come in their order.
  if (looked_at_ < kTurn || (command_.index != nullptr && !command_.range)) return Step::kContinue;
  pause({});
  return Step::kPause;
}

ReadPipeline::Step ReadPipeline::end_partition() {
  if (stopped_) return Step::kStop;
  bool full = false;
  if (!opened_) {
    if (!is_static_result()) return Step::kContinue;
    if (!open_partition() && stopped_) return Step::kStop;
    full = counter_.only_static_row() == Enough::kOfRead;
  }
  stopped_ = sink_.end_partition() == RowSink::Next::kStop;
  if (full && !stopped_) sink_.ended_behind(nullptr, counter_.left_in_partition());
  stopped_ |= full;
  return stopped_ ? Step::kStop : Step::kContinue;
}

}  // namespace cassandra_like
