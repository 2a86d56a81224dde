// system.batches: it lives in the commit log and in memtables, and has no SSTables as a rule.
//
// A Cassandra keeps its partitions in the order of their ids (LocalPartitioner), and refuses SSTables of it in the order of
// tokens. Batches are few and end soon. So a flush of the table logs the open ones once more, and forgets the others
// (Engine::keep_open_batches). When the open ones are too many for that, or the log has failed, it makes an SSTable as any flush.
// At the start, SSTables move to the commit log, whoever wrote them.
#pragma once

#include "model/mutation.h"
#include "read/merge.h"
#include "runtime/executor.h"
#include "storage/options.h"
#include "storage/table/table_store.h"

namespace cassandra_like {

// Whether the table is system.batches.
bool is_batchlog(const TableMetadata& table);

// A partition of system.batches as an update: its deletion, and the rows that live; none when the batch has ended. The update
// points into the object.
class LoggedBatch {
 public:
  Status read(const TableMetadata& table, MergedPartition& partition);
  bool is_open() const { return !rows_.empty(); }
  const PartitionUpdate& update() const { return update_; }

 private:
  Arena arena_{1024};
  std::vector<Row> rows_;
  PartitionUpdate update_;
};

// Before an engine opens. table: system.batches. An error names the SSTable that cannot be read, and leaves it as it is.
Task<Status> log_batches_of_sstables(ShardRuntime* runtime, EngineOptions options, TablePtr table);

}  // namespace cassandra_like
