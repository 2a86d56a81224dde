// Merging SSTables of one table into one: the part of a compaction that reads and writes.
//
// Shadowed data goes; tombstones stay. The new SSTable is whole on the disk when the merge ends; its inputs are left
// as they are.
#pragma once

#include <map>
#include <vector>

#include "runtime/runtime.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

struct SSTableMerge {
  TablePtr table;
  std::vector<SSTablePtr> inputs;
  SSTableDescriptor output;
  Uuid host_id;
  uint32_t row_index_granularity = 0;  // column_index_size, bytes
};

struct SSTableMergeResult {
  bool wrote = false;                            // false: nothing was left, and there is no output
  std::map<int32_t, int64_t> merged_partitions;  // how many of them were in so many of the inputs
};

// In slices of a millisecond. kClosed when the gate closes meanwhile; kCorruption naming the input that is damaged. After
// an error, files of the output that could not be removed may be left. All pointers outlive the Task.
Task<Result<SSTableMergeResult>> merge_sstables(ShardRuntime* runtime, const Gate* gate, const SSTableMerge* merge);

}  // namespace cassandra_like
