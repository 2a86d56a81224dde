// Merging SSTables of one table: the part of a compaction that reads and writes.
//
// Shadowed data goes, and so do tombstones that a Purger lets go. The new SSTables are whole on the disk when the merge ends;
// they and the inputs are in a transaction that the caller ends.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "runtime/runtime.h"
#include "storage/compaction/purge.h"
#include "storage/sstable/sstable.h"
#include "storage/sstable/sstable_transaction.h"

namespace cassandra_like {

struct SSTableMerge {
  TablePtr table;
  std::vector<SSTablePtr> inputs;
  SSTableTransaction* transaction = nullptr;
  PurgeRules purge;
  // Gives the data of other SSTables for a partition: the merge leaves out what it deletes (garbage.h) and, with shadows_cells,
  // what it overwrites. Unset: there is none.
  std::function<Result<std::vector<std::unique_ptr<PartitionReader>>>(const DecoratedKey&)> shadows;
  bool shadows_cells = false;
  // Whether a partition (then there is no row), or a row of it, stays at all. Unset: they do.
  std::function<bool(const DecoratedKey& key, const Row* row)> keeps;
  // The name of one more output, which begins with this token.
  std::function<SSTableDescriptor(Token first)> next_output;
  // Whether the output that has so many bytes on the disk (0: nothing yet) ends before this token. Unset: there is one output.
  std::function<bool(Token token, uint64_t bytes)> ends_before;
  // Estimates which share of the partitions that are not yet read goes to the output that begins with this token. `last` is
  // the last token of the inputs, `bytes` is the part of the inputs that is not yet read (on the disk). Unset: all.
  std::function<double(Token token, Token last, uint64_t bytes)> share_of_output;
  std::function<int()> level;                               // of the output that begins; unset: 0
  std::function<double(Token first, Token last)> coverage;  // SSTableWriterOptions
  // Asked at the end of each slice, which may be half a millisecond long: an error ends the merge; the Task may wait.
  std::function<Task<Status>()> pause;
  Uuid host_id;
  SSTableOwner owner;
  std::vector<std::pair<CommitLogPosition, CommitLogPosition>>
      commit_log_intervals;            // of this node's log, in the inputs
  uint32_t row_index_granularity = 0;  // column_index_size, bytes
  SSTableGuardrails guardrails;
  // If nothing were left, the last partition is kept with its tombstones: an output that says which of the commit log is in it.
  bool must_write = false;
  RowShare* memory = nullptr;  // of the rows that it holds; null: they are not bounded
};

// Told while the merge goes on.
struct SSTableMergeProgress {
  uint64_t partitions_read = 0;  // of all inputs
  uint64_t bytes_written = 0;    // of Data.db on the disk
};

struct SSTableMergeResult {
  std::vector<SSTableInfo> outputs;              // none: nothing was left
  std::map<int32_t, int64_t> merged_partitions;  // how many of them were in so many of the inputs
};

// kCorruption naming the input that is damaged, kOverloaded naming one with a row that is too large. After an error the
// transaction is to be aborted. All pointers outlive the Task.
Task<Result<SSTableMergeResult>> merge_sstables(ShardRuntime* runtime, const SSTableMerge* merge,
                                                SSTableMergeProgress* progress);

}  // namespace cassandra_like
