// The request of another node to a replica (db.ReadCommand): a read whose answer keeps tombstones and timestamps.
#pragma once

#include "read/column_filter.h"
#include "read/read_command.h"
#include "read/wire_limits.h"

namespace cassandra_like {

struct ReadRequest {
  // Table, time, key or range, slices, order and filter. Its own limits and index are not looked at: `limits` and the
  // index of this request count. A single key; or a range, which does not wrap around the ring.
  ReadCommand command;
  ColumnFilter columns;
  WireLimits limits;

  bool is_digest = false;  // the answer is a digest of the data
  uint32_t digest_version = 0;
  bool accepts_transient = false;
  // Rows that do not satisfy the filter because a part of them is deleted here are part of the answer: other replicas
  // may know better (db.filter.RowFilter.needsReconciliation).
  bool needs_reconciliation = false;
  bool is_names = false;  // the slices are single rows (ClusteringIndexNamesFilter)
  // Rows are looked for in this one, when it can answer one of the conditions, and else by the filter alone. nil: none.
  Uuid index;
  // For a range that begins at the key where the page before ended: its last row (DataRange.Paging).
  struct Page {
    OwnedClustering last;
    bool inclusive = false;
  };
  std::optional<Page> page;

  // After so many rows, markers and partitions the read lets its shard do other work.
  uint64_t turn = 1024;
  // So many bytes of a range are read before they are asked for, on all shards of a node.
  size_t read_ahead = size_t{1} << 20;

  // A partition that has nothing but a static row counts as a row (ReadCommand.selectsFullPartition).
  bool counts_static_rows() const;
};

}  // namespace cassandra_like
