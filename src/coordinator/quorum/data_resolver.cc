#include "coordinator/quorum/data_resolver.h"

#include <algorithm>

#include "base/dcheck.h"
#include "read/range_tombstones.h"

namespace cassandra_like {
namespace {

bool is_same_cell(const Cell& a, const Cell& b) {
  return a.timestamp == b.timestamp && a.ttl == b.ttl && a.local_deletion_time == b.local_deletion_time &&
         a.value == b.value && a.path == b.path;
}

}  // namespace

// ---- Repairs

PartitionUpdate PartitionRepair::update(const TableMetadata& table, const DecoratedKey& key) const {
  PartitionUpdate out;
  out.table = &table;
  out.key = key;
  out.partition_deletion = deletion_;
  out.static_row = static_row_;
  out.rows = rows_;
  out.range_tombstones = ranges_;
  return out;
}

ClusteringPrefix PartitionRepair::copy(const ClusteringPrefix& place) {
  auto values = arena_.make_span<BytesView>(place.values.size());
  std::transform(place.values.begin(), place.values.end(), values.begin(),
                 [this](BytesView value) { return arena_.copy(value); });
  return {place.kind, values, arena_.copy(place.comparable)};
}

Row ResolvedPartition::difference(const Row& merged, const Row* version) {
  static const Row kNothing;
  const Row& own = version == nullptr ? kNothing : *version;
  cells_.clear();
  complex_deletions_.clear();
  Row out;
  out.clustering = merged.clustering;
  if (!(merged.liveness == own.liveness)) out.liveness = merged.liveness;
  if (!(merged.deletion == own.deletion) && travels(merged.deletion)) out.deletion = merged.deletion;
  for (const ComplexDeletion& deletion : merged.complex_deletions) {
    auto same = [&](const ComplexDeletion& o) {
      return compare_columns(o.column, deletion.column) == 0 && o.deletion == deletion.deletion;
    };
    const bool has = std::any_of(own.complex_deletions.begin(), own.complex_deletions.end(), same);
    if (!has && travels(deletion.deletion)) complex_deletions_.push_back(deletion);
  }
  size_t next = 0;
  for (const Cell& cell : merged.cells) {
    while (next < own.cells.size() && compare_cells(own.cells[next], cell) < 0) ++next;
    const bool has = next < own.cells.size() && compare_cells(own.cells[next], cell) == 0;
    if ((!has || !is_same_cell(own.cells[next], cell)) && travels(cell)) cells_.push_back(cell);
  }
  out.cells = cells_;
  out.complex_deletions = complex_deletions_;
  return out;
}

// The part that ends at the place and the part that begins there.
void ResolvedPartition::repair_range(size_t i, const ClusteringPrefix& place) {
  Source& source = sources_[i];
  const bool lacks = !open_.is_live() && !(source.open == open_);
  if (source.lacks_from && !(lacks && source.lacks == open_)) {
    const ClusteringPrefix end = repairs_[i].copy(place);
    const ClusteringPrefix &low = options_.reversed ? end : *source.lacks_from,
                           &high = options_.reversed ? *source.lacks_from : end;
    if (travels(source.lacks)) repairs_[i].ranges_.push_back({at_start(low), at_end(high), source.lacks});
    source.lacks_from.reset();
  }
  if (!lacks || source.lacks_from) return;
  source.lacks_from = repairs_[i].copy(place);
  source.lacks = open_;
}

// Who stops at a row has seen that the rows before it are deleted, also by a range deletion that ends behind it.
std::deque<PartitionRepair>& ResolvedPartition::end() {
  if (is_at_row_ && !open_.is_live()) {
    Bytes behind(result_.row.clustering.comparable);
    behind.back() = options_.reversed ? kBeforeTerminator : kAfterTerminator;
    open_ = {};
    const ClusteringPrefix place{ClusteringKind{}, result_.row.clustering.values, behind};
    for (size_t i = 0; i < sources_.size(); ++i) repair_range(i, place);
  }
  if (options_.reversed) {
    for (PartitionRepair& repair : repairs_) {
      std::reverse(repair.rows_.begin(), repair.rows_.end());
      std::reverse(repair.ranges_.begin(), repair.ranges_.end());
    }
  }
  sources_.clear();
  return repairs_;
}

// ---- The merge

ResolvedPartition::ResolvedPartition(std::span<PartitionReader* const> sources, ResolveOptions options)
    : options_(options), repairs_(sources.size()) {
  for (PartitionReader* source : sources) {
    sources_.emplace_back().reader = source;
    if (source == nullptr) continue;
    key_ = source->key();
    sources_.back().deletion = source->partition_deletion();
    if (source->partition_deletion().supersedes(partition_deletion_)) {
      partition_deletion_ = source->partition_deletion();
    }
  }
  covering_ = partition_deletion_;
  static_row_.clustering = static_clustering();
  begin_static(sources);
}

void ResolvedPartition::begin_static(std::span<PartitionReader* const> sources) {
  for (PartitionReader* source : sources) {
    if (source != nullptr && !source->static_row().is_empty()) rows_.push_back(&source->static_row());
  }
  if (!rows_.empty()) static_row_ = merge_rows(rows_, partition_deletion_, static_arena_);
  for (size_t i = 0; i < sources.size(); ++i) {
    const DeletionTime own = sources[i] == nullptr ? DeletionTime() : sources[i]->partition_deletion();
    if (partition_deletion_.supersedes(own) && travels(partition_deletion_)) {
      repairs_[i].deletion_ = partition_deletion_;
    }
    if (static_row_.is_empty()) continue;
    const Row lacking = difference(static_row_, sources[i] == nullptr ? nullptr : &sources[i]->static_row());
    if (!lacking.is_empty()) repairs_[i].static_row_ = copy_row(lacking, repairs_[i].arena_);
  }
}

bool ResolvedPartition::precedes(const Unfiltered& a, const Unfiltered& b) const {
  const BytesView x = a.position().comparable, y = b.position().comparable;
  return options_.reversed ? y < x : x < y;
}

Status ResolvedPartition::fill() {
  for (Source& source : sources_) {
    if (!source.in_group || source.reader == nullptr) continue;
    ASSIGN_OR_RETURN(source.at, source.reader->next());
    source.in_group = false;
    source.deletion = source.reader->partition_deletion();
    if (source.deletion.supersedes(partition_deletion_)) take_newer_deletion(source.deletion);
    if (source.at == nullptr) source.reader = nullptr;
  }
  return {};
}

// It covers the range tombstones that are older, wherever they end.
void ResolvedPartition::take_newer_deletion(const DeletionTime& deletion) {
  partition_deletion_ = deletion;
  if (!open_.supersedes(deletion)) covering_ = deletion;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (deletion.supersedes(sources_[i].deletion) && travels(deletion)) repairs_[i].deletion_ = deletion;
    if (!sources_[i].lacks.supersedes(deletion)) sources_[i].lacks_from.reset();
  }
}

Result<const Unfiltered*> ResolvedPartition::next() {
  is_at_row_ = false;
  while (true) {
    TRY(fill());
    const Unfiltered* first = nullptr;
    for (const Source& source : sources_) {
      if (source.at != nullptr && (first == nullptr || precedes(*source.at, *first))) first = source.at;
    }
    if (first == nullptr) return nullptr;
    for (Source& source : sources_) {
      source.in_group = source.at != nullptr && source.at->position().comparable == first->position().comparable;
    }
    if (!(first->is_row ? merge_rows_of_group() : merge_markers_of_group(first->position()))) continue;
    is_at_row_ = result_.is_row;
    return &result_;
  }
}

bool ResolvedPartition::merge_rows_of_group() {
  rows_.clear();
  for (const Source& source : sources_) {
    if (source.in_group) rows_.push_back(&source.at->row);
  }
  arena_.reset();
  result_.is_row = true;
  result_.row = merge_rows(rows_, covering_, arena_);
  // A deletion that covers the whole row is repaired as such.
  if (result_.row.is_empty()) return false;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Row lacking = difference(result_.row, sources_[i].in_group ? &sources_[i].at->row : nullptr);
    if (!lacking.is_empty()) repairs_[i].rows_.push_back(copy_row(lacking, repairs_[i].arena_));
  }
  return true;
}

bool ResolvedPartition::merge_markers_of_group(const ClusteringPrefix& place) {
  for (Source& source : sources_) {
    if (source.in_group) source.open = source.at->marker.open;
  }
  const DeletionTime before = open_;
  open_ = {};
  for (const Source& source : sources_) {
    if (source.open.supersedes(open_)) open_ = source.open;
  }
  if (!open_.supersedes(partition_deletion_)) open_ = {};
  covering_ = open_.is_live() ? partition_deletion_ : open_;
  for (size_t i = 0; i < sources_.size(); ++i) repair_range(i, place);
  if (open_ == before) return false;
  result_.is_row = false;
  result_.marker = make_marker(place, open_, before, options_.reversed);
  return true;
}

}  // namespace cassandra_like
