// sstablemetadata -s: numbers of an SSTable that only its data tells (SSTableMetadataViewer.printScannedOverview).
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "sstable_file.h"

namespace cassandra_like::sstable_tools {

struct LeadingPartition {
  Bytes key;
  int64_t value = 0;
};

// The five partitions with the largest values, as Cassandra gets them from a MinMaxPriorityQueue of at most five: a min-max heap
// (Atkinson and others, 1986), whose head is the largest value. Where values are equal, the heap's shape decides.
class LeadingPartitions {
 public:
  void add(BytesView key, int64_t value);
  // The largest first, equal ones in the order of the heap.
  std::vector<LeadingPartition> sorted() const;

 private:
  static constexpr size_t kMost = 5;

  // Whether a comes before b: its value is larger.
  static bool leads(const LeadingPartition& a, const LeadingPartition& b) { return a.value > b.value; }
  void insert(LeadingPartition added);
  void remove_last();

  // Level 0: the head; level 1, at 1 and 2: the last of all and another; level 2, at 3, 4 and 5: below 1, 1 and 2.
  std::array<LeadingPartition, kMost + 1> heap_;
  size_t size_ = 0;
};

struct SSTableScan {
  int64_t partitions = 0, rows = 0, tombstones = 0, cells = 0;
  LeadingPartitions widest, largest, most_tombstones;

  // on_cell is told of each cell of a row.
  static Result<SSTableScan> of(SSTableData& data, const std::function<void(int64_t cells)>& on_cell);
};

}  // namespace cassandra_like::sstable_tools
