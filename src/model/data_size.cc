#include "model/data_size.h"

#include <algorithm>
#include <utility>

namespace cassandra_like {

namespace {

uint64_t data_size(const ClusteringPrefix& clustering) {
  uint64_t size = 0;
  for (BytesView value : clustering.values) size += value.size();
  return size;
}

// Row.dataSize(): what there may be counts also where it is not there.
uint64_t data_size(const Row& row) {
  constexpr uint64_t kTimestamp = 8, kExpiration = 12, kDeletionTime = 12;
  uint64_t size = data_size(row.clustering) + kTimestamp + (row.liveness.is_expiring() ? kExpiration : 0);
  size += kDeletionTime + 1;
  const Column* complex = nullptr;
  for (const Cell& cell : row.cells) {
    if (cell.column->is_complex() && std::exchange(complex, cell.column) != cell.column) size += kDeletionTime;
    size += kTimestamp + kExpiration + cell.value.size() + cell.path.size();
  }
  for (const ComplexDeletion& deletion : row.complex_deletions) {
    auto is_of_column = [&](const Cell& cell) { return cell.column == deletion.column; };
    if (std::none_of(row.cells.begin(), row.cells.end(), is_of_column)) size += kDeletionTime;
  }
  return size;
}

}  // namespace

uint64_t data_size(const PartitionUpdate& update) {
  constexpr uint64_t kTimestamp = 8, kRange = 12, kCount = 4;
  uint64_t size = kTimestamp + data_size(update.static_row);
  for (const Row& row : update.rows) size += data_size(row);
  if (!update.range_tombstones.empty()) size += kCount;
  for (const RangeTombstone& range : update.range_tombstones) {
    size += kRange + data_size(range.start) + data_size(range.end);
  }
  return size;
}

}  // namespace cassandra_like
