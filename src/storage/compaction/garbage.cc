// Both sides are walked at once.
#include "storage/compaction/garbage.h"

#include <algorithm>

#include "read/range_tombstones.h"

namespace cassandra_like {

namespace {

// So many things of the newer data are passed before others have their turn.
constexpr uint32_t kPassedTogether = 256;

const DeletionTime& newest(const DeletionTime& a, const DeletionTime& b) { return b.supersedes(a) ? b : a; }

}  // namespace

GarbageSkipper::GarbageSkipper(PartitionReader& data, MergedPartition& newer, bool is_counter, bool skips_cells)
    : data_(data),
      newer_(newer),
      is_counter_(is_counter),
      skips_cells_(skips_cells),
      newer_partition_(newer.partition_deletion()),
      covering_(newer_partition_) {
  newer_.pause_after(kPassedTogether);
  key_ = data.key();
  if (data.partition_deletion().supersedes(newer_partition_)) partition_deletion_ = data.partition_deletion();
  static_row_ = without_garbage(data.static_row(), &newer.static_row(), static_arena_);
}

Row GarbageSkipper::without_garbage(const Row& row, const Row* newer, Arena& arena) {
  const DeletionTime& deletion = newer == nullptr ? covering_ : newest(newer->deletion, covering_);
  const Row* one = &row;
  Row left = deletion.is_live() ? row : merge_rows({&one, 1}, deletion, arena);
  if (newer != nullptr && skips_cells_) left = without_overwritten(left, *newer, arena);
  return left;
}

// Rows.removeShadowedCells
Row GarbageSkipper::without_overwritten(const Row& row, const Row& newer, Arena& arena) const {
  Row left = row;
  auto deletion_of = [&newer](const Column* column) {
    auto found = std::find_if(newer.complex_deletions.begin(), newer.complex_deletions.end(),
                              [column](const ComplexDeletion& c) { return c.column->name == column->name; });
    return found == newer.complex_deletions.end() ? DeletionTime() : found->deletion;
  };
  std::span<ComplexDeletion> deletions = arena.make_span<ComplexDeletion>(row.complex_deletions.size());
  size_t deletions_left = 0;
  for (const ComplexDeletion& c : row.complex_deletions) {
    if (c.deletion.supersedes(deletion_of(c.column))) deletions[deletions_left++] = c;
  }
  left.complex_deletions = deletions.first(deletions_left);

  std::span<Cell> cells = arena.make_span<Cell>(row.cells.size());
  size_t cells_left = 0, at = 0;
  const Column* column = nullptr;
  DeletionTime deletion;
  for (const Cell& cell : row.cells) {
    if (cell.column != std::exchange(column, cell.column)) deletion = deletion_of(cell.column);
    if (deletion.deletes(cell.timestamp)) continue;
    while (at < newer.cells.size() && compare_cells(newer.cells[at], cell) < 0) ++at;
    const bool is_overwritten = !is_counter_ && at < newer.cells.size() && compare_cells(newer.cells[at], cell) == 0 &&
                                reconcile(cell, newer.cells[at]) < 0;
    if (!is_overwritten) cells[cells_left++] = cell;
  }
  left.cells = cells.first(cells_left);
  return left;
}

void GarbageSkipper::enter(const RangeTombstoneMarker& newer) { covering_ = newest(newer_partition_, newer.open); }

const Unfiltered* GarbageSkipper::issue(const RangeTombstoneMarker& marker) {
  result_.is_row = false;
  result_.marker = marker;
  issued_ = marker.open;
  return &result_;
}

// A range that a newer one covers for a while is not closed for that: what is between says nothing.
const Unfiltered* GarbageSkipper::filter(const RangeTombstoneMarker& marker) {
  data_open_ = marker.open;
  const bool was_issued = !issued_.is_live(), opens = data_open_.supersedes(covering_);
  if (was_issued && opens) return issue(marker);
  if (was_issued) return issue(make_marker(marker.bound, DeletionTime(), marker.close, false));
  return opens ? issue(make_marker(marker.bound, marker.open, DeletionTime(), false)) : nullptr;
}

Result<const Unfiltered*> GarbageSkipper::next() {
  for (uint32_t steps = 0; steps < kPassedTogether; ++steps) {
    if (data_consumed_) {
      ASSIGN_OR_RETURN(data_at_, data_.next());
      if (data_at_ == MergedPartition::paused()) return data_at_;
      data_consumed_ = false;
    }
    if (data_at_ == nullptr) return nullptr;
    if (newer_consumed_) {
      ASSIGN_OR_RETURN(newer_at_, newer_.next());
      if (newer_at_ == MergedPartition::paused()) return newer_at_;
      newer_consumed_ = false;
    }
    const auto order = newer_at_ == nullptr ? std::strong_ordering::less
                                            : data_at_->position().comparable <=> newer_at_->position().comparable;
    data_consumed_ = order <= 0;
    newer_consumed_ = order >= 0 && newer_at_ != nullptr;
    if (newer_consumed_ && !newer_at_->is_row) enter(newer_at_->marker);
    if (order > 0) {
      // The range of the data goes on where the newer one that hid it has ended.
      const bool opens = !newer_at_->is_row && issued_.is_live() && data_open_.supersedes(covering_);
      if (opens) return issue(make_marker(newer_at_->marker.bound, data_open_, DeletionTime(), false));
    } else if (!data_at_->is_row) {
      if (const Unfiltered* left = filter(data_at_->marker)) return left;
    } else {
      arena_.reset();
      result_.is_row = true;
      result_.row = without_garbage(data_at_->row, order == 0 ? &newer_at_->row : nullptr, arena_);
      if (!result_.row.is_empty()) return &result_;
    }
  }
  return MergedPartition::paused();
}

}  // namespace cassandra_like
