// Splitting an SSTable: each of its partitions goes, as it is, to the SSTable of the shard that owns it.
//
// Nothing is merged and nothing is purged; cells of columns that the table has dropped go, as in every read. The outputs have the
// level and the state of repair of the input, unless these are to go. They have no commit log intervals: those of the input are of the log of another
// owner, and would void records of this one. So an SSTable is split only when the log that they are of is gone.
#pragma once

#include <functional>
#include <vector>

#include "storage/compaction/merge_sstables.h"

namespace cassandra_like {

struct SSTableSplit {
  TablePtr table;
  SSTablePtr input;
  SSTableTransaction* transaction = nullptr;
  std::vector<SSTableDescriptor> outputs;  // of each owner
  // The owner of a row of the partition; of all of the partition when the row is null. kNobody: the row decides.
  std::function<unsigned(const DecoratedKey& key, const Row* row)> owner_of;
  static constexpr unsigned kNobody = std::numeric_limits<unsigned>::max();
  // The same as a merge's.
  std::function<Task<Status>()> pause;
  Uuid host_id;
  uint32_t row_index_granularity = 0;
  SSTableGuardrails guardrails;
  bool resets_level = false, clears_repaired = false;  // of the outputs
  RowShare* memory = nullptr;                          // the same as a merge's
};

// By owner; those without keys have none.
using SSTableSplitResult = std::vector<std::optional<SSTableInfo>>;

// kCorruption naming the input when it is damaged. After an error the transaction is to be aborted. All pointers outlive the Task.
Task<Result<SSTableSplitResult>> split_sstable(ShardRuntime* runtime, const SSTableSplit* split,
                                               SSTableMergeProgress* progress);

}  // namespace cassandra_like
