// Scrubbing an SSTable that may be damaged: what can be read of it is written anew (io.sstable.format.SortedTableScrubber,
// BtiTableScrubber, BigTableScrubber).
//
// Partitions are read as they lie in Data.db, one behind the other; the partition index tells where to go on behind one that
// cannot be read, and the key of one whose own is not readable. Each partition is read twice: to its end, and then
// to be written, so that nothing of one that cannot be read is in the output. Without an index, the first partition
// that cannot be read ends it.
//
// Partitions that are not in ring order, and those whose rows are not in order, are put in order in memory and written to SSTables
// of their own, of which there are several when they are large. CRC.db is not looked at, as in Cassandra: rows of a plain Data.db are
// taken when they can be read, whatever the checksums of its chunks say.
#pragma once

#include "storage/compaction/merge_sstables.h"

namespace cassandra_like {

// The listener to a scrub that runs (utils.OutputHandler).
class ScrubOutput {
 public:
  virtual ~ScrubOutput() = default;
  virtual bool wants_debug() const = 0;
  virtual void debug(const std::string& text) = 0;
  virtual void output(const std::string& text) = 0;
  // cause: null when there is none.
  virtual void warn(const std::string& text, const Error* cause) = 0;
};

struct SSTableScrub {
  TablePtr table;
  SSTablePtr input;  // SSTable::open_damaged()
  SSTableTransaction* transaction = nullptr;
  bool skips_corrupted = false;  // also in tables of counters, where what is left out makes counts wrong
  bool validates = true;         // values that are none of their types are damage
  // Rows and cells of Cassandra 3 and 4 whose time of expiry was too large for 31 bits live until 2038, the latest time that these
  // versions have, from a microsecond later on.
  bool reinserts_overflowed_ttl = false;
  ScrubOutput* output = nullptr;  // null: the log
  // The same as a merge's.
  std::function<SSTableDescriptor(Token first)> next_output;
  std::function<Task<Status>()> pause;
  Uuid host_id;
  SSTableOwner owner;
  std::vector<std::pair<CommitLogPosition, CommitLogPosition>> commit_log_intervals;
  uint32_t row_index_granularity = 0;
  SSTableGuardrails guardrails;
  size_t memory_bytes = 16 << 20;  // of what is put in order at once
};

struct SSTableScrubResult {
  std::vector<SSTableInfo> outputs;  // none: nothing could be read
  uint64_t good_partitions = 0, bad_partitions = 0, empty_partitions = 0;
  uint64_t disordered_partitions = 0;  // of the good ones
  uint64_t fixed_rows = 0;             // whose overflowed ttl was reinserted
};

// kCorruption only where it has to stop: a counter's partition, or what nothing can be read without.
// After an error the transaction is to be aborted. All pointers outlive the Task.
Task<Result<SSTableScrubResult>> scrub_sstable(ShardRuntime* runtime, const SSTableScrub* scrub,
                                               SSTableMergeProgress* progress);

}  // namespace cassandra_like
