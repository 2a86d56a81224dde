// One decision, for all that can be deleted.
#include "storage/compaction/purge.h"

#include <algorithm>

#include "read/range_tombstones.h"

namespace cassandra_like {

void Purger::begin_partition(const DecoratedKey& key) {
  key_ = &key;
  asked_ = false;
  const bool purges_young = rules_.gc_before != PurgeRules::kNever && rules_.purges_young && rules_.purges_young(key);
  gc_before_ = purges_young ? std::numeric_limits<int64_t>::max() : rules_.gc_before;
}

// To ask is dear: bloom filters of all other SSTables.
bool Purger::may_go(int64_t timestamp, int64_t local_deletion_time) {
  if (local_deletion_time >= gc_before_) return false;
  if (!asked_) {
    asked_ = true;
    oldest_outside_ = rules_.oldest_outside(*key_);
  }
  return oldest_outside_ == PurgeRules::kNothingOutside || timestamp < oldest_outside_;
}

bool Purger::may_go(const DeletionTime& deletion) {
  return !deletion.is_live() && may_go(deletion.marked_for_delete_at, deletion.local_deletion_time);
}

DeletionTime Purger::purge(const DeletionTime& deletion) { return may_go(deletion) ? DeletionTime() : deletion; }

bool Purger::has_deletion(const Row& row) const {
  if (!row.deletion.is_live() || !row.complex_deletions.empty()) return true;
  if (!row.liveness.is_empty() && !row.liveness.is_live(rules_.now_seconds)) return true;
  return std::any_of(row.cells.begin(), row.cells.end(), [&](const Cell& c) { return !c.is_live(rules_.now_seconds); });
}

bool Purger::purge(Row& row, Arena& arena) {
  if (!has_deletion(row)) return !row.is_empty();
  if (!row.liveness.is_empty() && !row.liveness.is_live(rules_.now_seconds) &&
      may_go(row.liveness.timestamp, row.liveness.local_expiration_time)) {
    row.liveness = {};
  }
  row.deletion = purge(row.deletion);

  std::span<ComplexDeletion> complex = arena.make_span<ComplexDeletion>(row.complex_deletions.size());
  size_t deletions = 0;
  for (const ComplexDeletion& c : row.complex_deletions) {
    if (!may_go(c.deletion)) complex[deletions++] = c;
  }
  row.complex_deletions = complex.first(deletions);

  std::span<Cell> cells = arena.make_span<Cell>(row.cells.size());
  size_t kept = 0;
  for (Cell cell : row.cells) {
    if (!cell.is_live(rules_.now_seconds)) {
      if (may_go(cell.timestamp, cell.local_deletion_time)) continue;
      if (cell.is_expiring()) {
        cell.local_deletion_time -= cell.ttl;
        cell.ttl = kNoTtl;
        cell.value = BytesView("", 0);
        if (may_go(cell.timestamp, cell.local_deletion_time)) continue;
      }
    }
    cells[kept++] = cell;
  }
  row.cells = cells.first(kept);
  return !row.is_empty();
}

bool Purger::purge(RangeTombstoneMarker& marker) {
  const bool open_goes = may_go(marker.open), close_goes = may_go(marker.close);
  const bool open_stays = !marker.open.is_live() && !open_goes;
  const bool close_stays = !marker.close.is_live() && !close_goes;
  if (!open_stays && !close_stays) return false;
  const bool was_boundary = !marker.open.is_live() && !marker.close.is_live();
  if (!was_boundary || (open_stays && close_stays)) return true;
  // One half of a boundary is a bound of its own.
  marker = make_marker(marker.bound, open_stays ? marker.open : DeletionTime(),
                       close_stays ? marker.close : DeletionTime(), false);
  return true;
}

}  // namespace cassandra_like
