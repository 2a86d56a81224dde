// Rows, cells, deletions: borrowed views over memory that somebody else (an Arena, a memtable, a read buffer) owns.
//
// The rules of reconciliation are Cassandra's (db.rows.Cells, db.rows.Row.Merger): the higher timestamp wins; on a tie
// a tombstone wins, then an expiring cell over one that is not and the later expiry, then the greater value.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "base/arena.h"
#include "model/clustering.h"
#include "model/key.h"
#include "model/schema.h"

namespace cassandra_like {

inline constexpr int64_t kNoTimestamp = std::numeric_limits<int64_t>::min();
inline constexpr int32_t kNoTtl = 0;
inline constexpr int32_t kMaxTtl = 20 * 365 * 24 * 60 * 60;  // seconds: Cassandra's Attributes.MAX_TTL
inline constexpr int64_t kNoDeletionTime = std::numeric_limits<int64_t>::max();
// Largest local deletion or expiration time, seconds: 2106-02-07.
inline constexpr int64_t kMaxDeletionTime = 4294967293LL;
// The largest before Cassandra 5.0: 2038-01-19.
inline constexpr int64_t kMaxDeletionTime2038 = 2147483646LL;
// Cassandra's reading of an impossible one.
inline constexpr int64_t kInvalidDeletionTime = kMaxDeletionTime + 1;
// The ttl of a row that a materialized view has removed: never live.
inline constexpr int32_t kExpiredLivenessTtl = std::numeric_limits<int32_t>::max();

struct DeletionTime {
  int64_t marked_for_delete_at = kNoTimestamp;    // microseconds
  int64_t local_deletion_time = kNoDeletionTime;  // seconds

  bool is_live() const { return marked_for_delete_at == kNoTimestamp; }
  // SSTables of Cassandra 5.0 cannot hold it before a partition or in an index: there the sign says "live"
  // (DeletionTime.Serializer).
  bool is_before_1970() const { return marked_for_delete_at < 0 && !is_live(); }
  bool deletes(int64_t timestamp) const { return timestamp <= marked_for_delete_at; }
  bool supersedes(const DeletionTime& o) const {
    return marked_for_delete_at > o.marked_for_delete_at ||
           (marked_for_delete_at == o.marked_for_delete_at && local_deletion_time > o.local_deletion_time);
  }
  bool operator==(const DeletionTime&) const = default;
};

// Primary key liveness: set by INSERT, not by UPDATE.
struct Liveness {
  int64_t timestamp = kNoTimestamp;
  int32_t ttl = kNoTtl;
  int64_t local_expiration_time = kNoDeletionTime;

  bool is_empty() const { return timestamp == kNoTimestamp; }
  bool is_expiring() const { return ttl != kNoTtl; }
  bool is_live(int64_t now_seconds) const {
    return !is_empty() && (!is_expiring() || (ttl != kExpiredLivenessTtl && now_seconds < local_expiration_time));
  }
  bool supersedes(const Liveness& o) const;
  bool operator==(const Liveness&) const = default;
};

struct Cell {
  const Column* column = nullptr;
  int64_t timestamp = kNoTimestamp;
  int64_t local_deletion_time = kNoDeletionTime;  // expiry of an expiring cell, deletion of a tombstone
  int32_t ttl = kNoTtl;
  BytesView value;  // empty for a tombstone; a counter's context for counters
  BytesView path;   // element key of a complex column; null otherwise

  bool is_tombstone() const { return ttl == kNoTtl && local_deletion_time != kNoDeletionTime; }
  bool is_expiring() const { return ttl != kNoTtl; }
  bool is_live(int64_t now_seconds) const {
    return local_deletion_time == kNoDeletionTime || (ttl != kNoTtl && now_seconds < local_deletion_time);
  }
};

struct ComplexDeletion {
  const Column* column = nullptr;
  DeletionTime deletion;
};

// Cells are sorted by column (compare_columns), those of a complex column by path (the order of its key type).
struct Row {
  ClusteringPrefix clustering;  // of the static row: kStaticClustering
  Liveness liveness;
  DeletionTime deletion;
  std::span<const Cell> cells;
  std::span<const ComplexDeletion> complex_deletions;  // sorted by column

  bool is_empty() const {
    return liveness.is_empty() && deletion.is_live() && cells.empty() && complex_deletions.empty();
  }
  bool has_live_data(int64_t now_seconds) const;
};

// A row as most are: all of its values are of one age and live until the same time, if not for ever, nothing is deleted, and
// multi-cell columns have none. A table of counters has no such rows.
struct UniformRow {
  ClusteringPrefix clustering;        // its comparable form may be missing, see SliceSelection
  std::span<const BytesView> values;  // one for each of the table's regular columns; null: it has none
  // For those who copy the row (SliceSelection).
  Liveness age;
  bool has_liveness = true;  // the row's own is its age; false: only values have it
  BytesView cells;           // the values as an SSTable has them, where they come from one and none is null

  size_t count() const {
    if (!cells.empty()) return values.size();
    return values.size() - static_cast<size_t>(std::count_if(values.begin(), values.end(), is_null));
  }
};

// An open range tombstone, a close, or both (a boundary). The unused side is live.
struct RangeTombstoneMarker {
  ClusteringPrefix bound;
  DeletionTime open;   // what starts here
  DeletionTime close;  // what ends here
};

// One of the two.
struct Unfiltered {
  bool is_row = true;
  Row row;
  RangeTombstoneMarker marker;
  const ClusteringPrefix& position() const { return is_row ? row.clustering : marker.bound; }
};

// The order of cells in a row: by column, then by path.
int compare_cells(const Cell& a, const Cell& b);

// -1, 0 or 1: whether a loses to b, is the same, or wins. Counter cells are merged, not chosen: see counter.h.
int reconcile(const Cell& a, const Cell& b);

// The union of rows with the same clustering, reconciled; then everything that `deletion` (a partition's or a range's)
// or the row's own deletion covers is dropped. Spans of the result are in the arena, values are borrowed.
Row merge_rows(std::span<const Row* const> rows, const DeletionTime& deletion, Arena& arena);

// The row that a reader at now_seconds sees: no tombstones, no expired cells. Cells are compacted in the arena only when
// something has to go.
Row live_row(const Row& row, int64_t now_seconds, Arena& arena);

Row copy_row(const Row& row, Arena& arena);  // everything it points to, too

}  // namespace cassandra_like
