// Reads all partitions once.
#include "sstable_scan.h"

#include <algorithm>

namespace cassandra_like::sstable_tools {

namespace {

// The sizes that Cassandra's objects of these kinds say they have (dataSize).
constexpr int64_t kTimestamp = 8, kTtl = 4, kDeletionSeconds = 8, kDeletionTime = 12, kRowDeletion = kDeletionTime + 1;

int64_t size_of(const Row& row) {
  int64_t size = kTimestamp + (row.liveness.is_expiring() ? kTtl + kDeletionSeconds : 0) + kRowDeletion;
  for (const BytesView& value : row.clustering.values) size += static_cast<int64_t>(value.size());
  std::vector<const Column*> complex;
  for (const ComplexDeletion& deletion : row.complex_deletions) complex.push_back(deletion.column);
  for (const Cell& cell : row.cells) {
    size += kTimestamp + kTtl + kDeletionSeconds + static_cast<int64_t>(cell.value.size() + cell.path.size());
    if (cell.column->is_complex()) complex.push_back(cell.column);
  }
  std::sort(complex.begin(), complex.end());
  complex.erase(std::unique(complex.begin(), complex.end()), complex.end());
  return size + static_cast<int64_t>(complex.size()) * kDeletionTime;
}

struct PartitionCounts {
  int64_t size = 0, rows = 0, tombstones = 0;
};

}  // namespace

void LeadingPartitions::add(BytesView key, int64_t value) {
  insert({Bytes(key), value});
  if (size_ > kMost) remove_last();
}

void LeadingPartitions::insert(LeadingPartition added) {
  const size_t at = size_++;
  heap_[at] = std::move(added);
  if (at == 0) return;
  if (at <= 2) {
    if (leads(heap_[at], heap_[0])) std::swap(heap_[at], heap_[0]);
    return;
  }
  // A place of level 1 that has no children yet is as good a parent as its neighbour.
  size_t parent = at == 5 ? 2 : 1;
  if (parent == 1 && leads(heap_[2], heap_[1])) parent = 2;
  if (leads(heap_[parent], heap_[at])) {
    std::swap(heap_[parent], heap_[at]);
  } else if (leads(heap_[at], heap_[0])) {
    std::swap(heap_[at], heap_[0]);
  }
}

// One of six goes, and the one at the end fills its place.
void LeadingPartitions::remove_last() {
  const size_t hole = leads(heap_[1], heap_[2]) ? 2 : 1;
  LeadingPartition moved = std::move(heap_[--size_]);
  if (hole == 1) {
    const size_t child = leads(heap_[3], heap_[4]) ? 4 : 3;
    if (leads(moved, heap_[child])) {
      heap_[1] = std::move(heap_[child]);
      heap_[child] = std::move(moved);
      if (leads(heap_[child], heap_[0])) std::swap(heap_[child], heap_[0]);
      return;
    }
  }
  heap_[hole] = std::move(moved);
  if (leads(heap_[hole], heap_[0])) std::swap(heap_[hole], heap_[0]);
}

std::vector<LeadingPartition> LeadingPartitions::sorted() const {
  std::vector<LeadingPartition> all(heap_.begin(), heap_.begin() + static_cast<std::ptrdiff_t>(size_));
  std::stable_sort(all.begin(), all.end(), leads);
  return all;
}

Result<SSTableScan> SSTableScan::of(SSTableData& data, const std::function<void(int64_t cells)>& on_cell) {
  SSTableScan scan;
  for (;;) {
    ASSIGN_OR_RETURN(const bool found, data.next());
    if (!found) return scan;
    SSTablePartitionReader& partition = data.partition();
    PartitionCounts counts;
    ++scan.partitions;
    if (!partition.static_row().is_empty()) {
      ++counts.rows;
      counts.size += size_of(partition.static_row());
    }
    if (!partition.partition_deletion().is_live()) ++counts.tombstones;
    for (;;) {
      ASSIGN_OR_RETURN(const Unfiltered* at, partition.next());
      if (at == nullptr) break;
      if (!at->is_row) {
        ++counts.tombstones;
        continue;
      }
      ++counts.rows;
      counts.size += size_of(at->row);
      for (const Cell& cell : at->row.cells) {
        on_cell(++scan.cells);
        counts.tombstones += cell.is_tombstone() ? 1 : 0;
      }
    }
    scan.rows += counts.rows;
    scan.tombstones += counts.tombstones;
    const BytesView key = partition.key().key;
    scan.widest.add(key, counts.rows);
    scan.largest.add(key, counts.size);
    scan.most_tombstones.add(key, counts.tombstones);
  }
}

}  // namespace cassandra_like::sstable_tools
