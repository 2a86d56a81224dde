#include "read/unfiltered_pipeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "read/range_tombstones.h"

namespace cassandra_like {

UnfilteredPipeline::UnfilteredPipeline(const ReadRequest& request, const TableMetadata& table, UnfilteredSink& sink,
                                       const TombstoneThresholds& thresholds)
    : request_(request),
      table_(&table),
      sink_(sink),
      columns_(request.columns, table),
      limits_(request.limits, *request.command.table, request.command.now_seconds, request.counts_static_rows()),
      thresholds_(thresholds),
      now_(request.command.now_seconds),
      gc_before_(now_ - table.params.gc_grace_seconds) {
  for (const FilterExpression& e : request.command.filter) {
    const bool of_row = e.column->kind == ColumnKind::kClustering || e.column->kind == ColumnKind::kRegular;
    (of_row ? row_filter_ : partition_filter_).push_back(e);
  }
}

Status UnfilteredPipeline::feed(PartitionReader& partition, bool is_purged) {
  begun_ = false;
  // Nothing follows the only row of a partition.
  for (bool more = true; more; more = !is_left_out_ && !table_->clustering.empty()) {
    ASSIGN_OR_RETURN(const Unfiltered* unfiltered, partition.next());
    if (!std::exchange(begun_, true)) {
      TRY(begin(partition));
      has_content_ |= is_purged;
      if (is_left_out_) break;
    }
    if (unfiltered == nullptr) break;
    ASSIGN_OR_RETURN(const Step step, take(*unfiltered));
    if (step == Step::kPause) return {};
    if (step != Step::kContinue) break;
  }
  end();
  return {};
}

Status UnfilteredPipeline::begin(const PartitionReader& partition) {
  if (std::exchange(inside_, false)) {
    resuming_ = true;
    take_newer_deletion(partition.partition_deletion());
    return {};
  }
  ++looked_at_;
  tombstones_before_ = tombstones_;
  key_ = partition.key();
  opened_ = has_content_ = is_left_out_ = false;
  of_rest_ = open_ = sent_open_ = {};
  last_row_.reset();
  deletion_ = is_purgeable(partition.partition_deletion()) ? DeletionTime() : partition.partition_deletion();
  static_arena_.reset();
  static_row_ = Row();
  static_row_.clustering = static_clustering();
  if (!partition.static_row().is_empty()) {
    arena_.reset();
    const Row purged = purge(columns_.select(partition.static_row(), arena_));
    TRY(count_tombstones(purged));
    static_row_ = copy_row(purged, static_arena_);
  }
  has_content_ = !deletion_.is_live() || !static_row_.is_empty();
  const Row live = partition_filter_.empty() ? Row() : live_row(static_row_, now_, static_arena_);
  is_left_out_ = !satisfies(partition_filter_, *request_.command.table, key_, live, Row(), now_);
  return {};
}

Result<UnfilteredPipeline::Step> UnfilteredPipeline::take(const Unfiltered& unfiltered) {
  if (std::exchange(resuming_, false)) {
    const bool continues = !unfiltered.is_row && unfiltered.marker.bound.comparable == paused_place_;
    ASSIGN_OR_RETURN(const Step step, resume(continues ? &unfiltered.marker : nullptr));
    if (continues || step != Step::kContinue) return step;
  }
  ++looked_at_;
  ASSIGN_OR_RETURN(const Step step, unfiltered.is_row ? take_row(unfiltered.row) : take_marker(unfiltered.marker));
  if (step != Step::kContinue || looked_at_ < request_.turn || table_->clustering.empty()) return step;
  pause_behind(unfiltered.position());
  paused_behind_row_ = unfiltered.is_row;
  return Step::kPause;
}

// Others may have written meanwhile: what is open now may be another range tombstone, or none.
Result<UnfilteredPipeline::Step> UnfilteredPipeline::resume(const RangeTombstoneMarker* first) {
  const DeletionTime now_open = first != nullptr ? first->open : DeletionTime();
  const bool reversed = request_.command.reversed;
  const Slices& slices = request_.command.slices;
  const bool begins_slice = std::any_of(slices.begin(), slices.end(), [&](const Slice& slice) {
    return (reversed ? slice.end : slice.start) == paused_place_;
  });
  // Between two slices that touch, a range tombstone ends and begins again.
  const bool ends_here = paused_behind_row_ && begins_slice && !open_.is_live();
  const bool must_tell = !of_rest_.is_live() && now_open.is_live() && !(sent_open_ == of_rest_);
  if (now_open == open_ && !ends_here && !must_tell) return Step::kContinue;
  Arena arena(128);
  ClusteringPrefix place;
  CHECK(split_comparable(*table_, paused_place_, arena, &place));
  if (ends_here) {
    ASSIGN_OR_RETURN(const Step closed, take_marker(make_marker(place, DeletionTime(), open_, reversed)));
    if (closed != Step::kContinue || now_open.is_live()) return closed;
  }
  return take_marker({place, now_open, open_});
}

Row UnfilteredPipeline::purge(const Row& row) {
  Row out = row;
  if (!row.liveness.is_empty() && !row.liveness.is_live(now_) && row.liveness.local_expiration_time < gc_before_) {
    out.liveness = {};
  }
  if (is_purgeable(row.deletion)) out.deletion = {};
  const bool any_dead =
      std::any_of(row.cells.begin(), row.cells.end(), [&](const Cell& c) { return !c.is_live(now_); });
  if (any_dead) {
    auto* cells = static_cast<Cell*>(arena_.allocate(row.cells.size() * sizeof(Cell), alignof(Cell)));
    size_t count = 0;
    for (Cell cell : row.cells) {
      if (!cell.is_live(now_)) {
        if (cell.local_deletion_time < gc_before_) continue;
        if (cell.is_expiring()) {
          // db.rows.AbstractCell.purge: as if it had been deleted when it was written.
          cell.local_deletion_time -= cell.ttl;
          cell.ttl = kNoTtl;
          cell.value = BytesView("", 0);
          if (cell.local_deletion_time < gc_before_) continue;
        }
      }
      cells[count++] = cell;
    }
    out.cells = {cells, count};
  }
  auto goes = [&](const ComplexDeletion& d) { return is_purgeable(d.deletion); };
  if (std::any_of(row.complex_deletions.begin(), row.complex_deletions.end(), goes)) {
    auto kept = arena_.make_span<ComplexDeletion>(row.complex_deletions.size());
    const auto last =
        std::remove_copy_if(row.complex_deletions.begin(), row.complex_deletions.end(), kept.begin(), goes);
    out.complex_deletions = kept.first(static_cast<size_t>(last - kept.begin()));
  }
  return out;
}

Status UnfilteredPipeline::count_tombstone() {
  ++tombstones_;
  TombstoneCount* const count = request_.command.tombstones;
  const uint64_t of_read = count == nullptr ? tombstones_ : count->sum.fetch_add(1, std::memory_order_relaxed) + 1;
  if (of_read <= thresholds_.fail) return {};
  // db.filter.TombstoneOverwhelmingException
  return Error(ErrorCode::kReadFailure,
               fmt::format("Scanned over {} tombstones during query of {} (last scanned row token was {} and partition "
                           "key was 0x{}); query aborted",
                           of_read, table_->qualified_name(), key_.token, to_hex(key_.key)));
}

Status UnfilteredPipeline::count_tombstones(const Row& row) {
  bool has_tombstones = false;
  for (const Cell& cell : row.cells) {
    if (cell.is_live(now_)) continue;
    has_tombstones = true;
    TRY(count_tombstone());
  }
  if (!has_tombstones && !row.is_empty() && !row.has_live_data(now_)) return count_tombstone();
  return {};
}

Result<UnfilteredPipeline::Step> UnfilteredPipeline::take_row(const Row& row) {
  arena_.reset();
  Unfiltered out;
  out.row = purge(columns_.select(row, arena_));
  if (out.row.is_empty()) return Step::kContinue;
  has_content_ = true;
  TRY(count_tombstones(out.row));
  if (!satisfies_conditions(out.row)) return Step::kContinue;
  if (!opened_ && !open(&out)) return Step::kPartitionDone;
  switch (limits_.row(out.row)) {
    case LimitCounter::Step::kPartitionDone:
      // The range tombstone covers the row that is left out, too; Cassandra fails when no other row tells where it ends.
      close_range(last_row_ ? *last_row_ : out.row.clustering);
      return stopped() ? Step::kStop : Step::kPartitionDone;
    case LimitCounter::Step::kLast:
      sink_.unfiltered(out);
      close_range(out.row.clustering);
      return stopped() ? Step::kStop : Step::kPartitionDone;
    case LimitCounter::Step::kContinue:
      sink_.unfiltered(out);
      if (request_.limits.is_grouped() && !sent_open_.is_live()) keep_last(out.row.clustering);
  }
  return sink_.wants_more() ? Step::kContinue : Step::kStop;
}

bool UnfilteredPipeline::satisfies_conditions(const Row& row) {
  if (request_.command.filter.empty()) return true;
  if (request_.needs_reconciliation) {
    return satisfies(row_filter_, *request_.command.table, key_, static_row_, row, now_);
  }
  const Row live = live_row(row, now_, arena_);
  if (live.is_empty()) return false;
  return satisfies(row_filter_, *request_.command.table, key_, static_row_, live, now_);
}

Result<UnfilteredPipeline::Step> UnfilteredPipeline::take_marker(const RangeTombstoneMarker& marker) {
  DCHECK(marker.close == open_);
  open_ = marker.open;
  DeletionTime opens = is_purgeable(marker.open) ? DeletionTime() : marker.open;
  if (opens.is_live()) opens = of_rest_;
  if (opens == sent_open_) return Step::kContinue;
  has_content_ = true;
  TRY(count_tombstone());
  Unfiltered out;
  out.is_row = false;
  out.marker = make_marker(marker.bound, opens, sent_open_, request_.command.reversed);
  if (!opened_ && !open(&out)) return Step::kPartitionDone;
  sent_open_ = opens;
  last_row_.reset();
  sink_.unfiltered(out);
  return sink_.wants_more() ? Step::kContinue : Step::kStop;
}

void UnfilteredPipeline::keep_last(const ClusteringPrefix& clustering) {
  last_arena_.reset();
  auto values = last_arena_.make_span<BytesView>(clustering.values.size());
  std::transform(clustering.values.begin(), clustering.values.end(), values.begin(),
                 [this](BytesView value) { return last_arena_.copy(value); });
  last_row_ = ClusteringPrefix{clustering.kind, values, last_arena_.copy(clustering.comparable)};
}

void UnfilteredPipeline::take_newer_deletion(const DeletionTime& deletion) {
  if (is_purgeable(deletion) || !deletion.supersedes(deletion_)) return;
  if (opened_) {
    of_rest_ = deletion;
  } else {
    deletion_ = deletion;
    has_content_ = true;
  }
}

void UnfilteredPipeline::close_partition_range() {
  const bool reversed = request_.command.reversed;
  const ClusteringKind kind = reversed ? ClusteringKind::kInclStartBound : ClusteringKind::kInclEndBound;
  closing_place_.clear();
  append_comparable(closing_place_, *table_, {}, kind);
  Unfiltered out;
  out.is_row = false;
  out.marker = make_marker({kind, {}, closing_place_}, DeletionTime(), sent_open_, reversed);
  sent_open_ = {};
  sink_.unfiltered(out);
}

// db.transform.RTBoundCloser
void UnfilteredPipeline::close_range(const ClusteringPrefix& last) {
  if (sent_open_.is_live()) return;
  Unfiltered out;
  out.is_row = false;
  out.marker.bound = last;
  out.marker.bound.kind = request_.command.reversed ? ClusteringKind::kInclStartBound : ClusteringKind::kInclEndBound;
  closing_place_.assign(last.comparable);
  if (closing_place_.empty()) append_comparable(closing_place_, *table_, last.values, ClusteringKind::kClustering);
  closing_place_.back() = request_.command.reversed ? kBeforeTerminator : kAfterTerminator;
  out.marker.bound.comparable = closing_place_;
  out.marker.close = std::exchange(sent_open_, DeletionTime());
  sink_.unfiltered(out);
}

bool UnfilteredPipeline::open(const Unfiltered* first) {
  opened_ = true;
  UnfilteredSink::Partition partition{key_, deletion_, static_row_, request_.command.reversed, first};
  const bool begun = limits_.begin_partition(key_, static_row_);
  if (!begun) partition.static_row = Row();
  if (!begun) partition.first = nullptr;
  sink_.begin_partition(partition);
  return begun;
}

void UnfilteredPipeline::wait_in_partition(Bytes place) {
  paused_behind_row_ = place.back() == kAtTerminator;
  pause_at(std::move(place));
  waits_ = true;
}

void UnfilteredPipeline::wait_behind(const DecoratedKey& key) {
  paused_key_.assign(key.key);
  key_ = {key.token, paused_key_};
  paused_place_.clear();
  paused_ = waits_ = true;
}

void UnfilteredPipeline::pause_behind(const ClusteringPrefix& place) {
  Bytes at(place.comparable);
  if (at.empty()) append_comparable(at, *table_, place.values, ClusteringKind::kClustering);
  pause_at(std::move(at));
}

void UnfilteredPipeline::pause_at(Bytes at) {
  if (at.back() == kAtTerminator) at.back() = request_.command.reversed ? kBeforeTerminator : kAfterTerminator;
  if (key_.key.data() != paused_key_.data()) paused_key_.assign(key_.key);
  key_ = {key_.token, paused_key_};
  paused_place_ = std::move(at);
  paused_ = true;
}

void UnfilteredPipeline::next_turn(const TableMetadata& table) {
  table_ = &table;
  paused_ = false;
  if (!std::exchange(waits_, false)) looked_at_ = 0;
  inside_ = !paused_place_.empty();
}

void UnfilteredPipeline::end_unfinished_partition() {
  inside_ = false;
  resuming_ = true;
  end();
}

UnfilteredPipeline::Step UnfilteredPipeline::end() {
  if (!sink_.wants_more()) {
    stopped_ = true;
    return Step::kStop;
  }
  if (std::exchange(resuming_, false)) {
    Result<Step> closed = resume(nullptr);
    static_cast<void>(closed);
  }
  if (!is_left_out_ && !opened_ && has_content_ && row_filter_.empty()) open(nullptr);
  if (opened_) {
    if (!of_rest_.is_live() && !sent_open_.is_live()) close_partition_range();
    DCHECK(sent_open_.is_live());
    limits_.end_partition();
    stopped_ = !sink_.end_partition();
  }
  if (stopped()) return Step::kStop;
  if (looked_at_ < request_.turn) return Step::kContinue;
  if (key_.key.data() != paused_key_.data()) paused_key_.assign(key_.key);
  key_ = {key_.token, paused_key_};
  paused_place_.clear();
  paused_ = true;
  return Step::kPause;
}

namespace {

// All that begin() looks at.
struct PartitionHead final : PartitionReader {
  PartitionHead(const DecoratedKey& key, const UnfilteredSink::Partition& partition) {
    key_ = key;
    partition_deletion_ = partition.deletion;
    static_row_ = partition.static_row;
  }
  Result<const Unfiltered*> next() override { return nullptr; }
};

}  // namespace

// The key that comes is valid during the call, and the pipeline refers to it until the partition ends.
void PipelineFeed::begin_partition(const Partition& partition) {
  key_.assign(partition.key.key);
  begun_ = true;
  status_ = pipeline_.begin(PartitionHead({partition.key.token, key_}, partition));
  pipeline_.has_content_ = true;
  want_more(status_.ok() && !pipeline_.is_left_out_);
}

void PipelineFeed::unfiltered(const Unfiltered& unfiltered) {
  if (!wants_more()) return;
  auto step = pipeline_.take(unfiltered);
  if (!step.ok()) status_ = std::move(step.error());
  want_more(status_.ok() && *step == UnfilteredPipeline::Step::kContinue);
}

Status PipelineFeed::finish() {
  if (begun_ && status_.ok()) pipeline_.end();
  return std::move(status_);
}

}  // namespace cassandra_like
