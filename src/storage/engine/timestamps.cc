// The latest write time that a table holds.
#include <algorithm>

#include "storage/engine/engine.h"

namespace cassandra_like {
namespace {

int64_t max_timestamp(const Row& row) {
  int64_t latest = std::max(row.liveness.timestamp, row.deletion.marked_for_delete_at);
  for (const Cell& cell : row.cells) latest = std::max(latest, cell.timestamp);
  for (const ComplexDeletion& complex : row.complex_deletions) {
    latest = std::max(latest, complex.deletion.marked_for_delete_at);
  }
  return latest;
}

Result<int64_t> max_timestamp(const Memtable& memtable) {
  int64_t latest = kNoTimestamp;
  auto scanner = memtable.scan({}, {});
  while (true) {
    ASSIGN_OR_RETURN(PartitionReader * partition, scanner->next());
    if (partition == nullptr) return latest;
    latest = std::max(
        {latest, partition->partition_deletion().marked_for_delete_at, max_timestamp(partition->static_row())});
    while (true) {
      ASSIGN_OR_RETURN(const Unfiltered* at, partition->next());
      if (at == nullptr) break;
      latest = std::max(
          latest, at->is_row ? max_timestamp(at->row)
                             : std::max(at->marker.open.marked_for_delete_at, at->marker.close.marked_for_delete_at));
    }
  }
}

}  // namespace

Result<int64_t> Engine::max_timestamp(const Uuid& table) const {
  TableStorePtr store = find(table);
  if (!store) return invalid("Unknown table " + table.to_string());
  ASSIGN_OR_RETURN(int64_t latest, cassandra_like::max_timestamp(*store->memtable));
  for (const auto& old : store->flushing) {
    ASSIGN_OR_RETURN(int64_t of_old, cassandra_like::max_timestamp(*old));
    latest = std::max(latest, of_old);
  }
  for (const LiveSSTable& live : store->sstables) {
    // The maximum stands for one that is not known.
    const int64_t of_sstable = live.sstable->info().max_timestamp;
    if (of_sstable != std::numeric_limits<int64_t>::max()) latest = std::max(latest, of_sstable);
  }
  return latest;
}

}  // namespace cassandra_like
