// One shard's storage: commit log, memtables, SSTables, and reads that merge them. An Engine starts, serves requests and
// stops; what else is done to its tables is in maintenance.h.
//
// Invariants: a mutation is in the commit log before it is in a memtable, and in the log's durable part before it is
// acknowledged in batch and group mode; a commit log segment is removed only when every table that it holds writes of
// has flushed beyond it; an SSTable becomes visible only when all its files are synced. An Engine sees only the keys of
// its shard.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/serialized_mutation.h"
#include "read/read_command.h"
#include "read/read_request.h"
#include "read/unfiltered_sink.h"
#include "runtime/runtime.h"
#include "storage/engine/maintenance.h"
#include "storage/engine/relocation.h"
#include "storage/engine/truncation.h"
#include "storage/options.h"

namespace cassandra_like {

struct PrefetchKey {
  Uuid table;
  Token token = kMinimumToken;
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Nothing is read yet. shard and shard count are the runtime's.
  static std::unique_ptr<Engine> create(ShardRuntime& runtime, unsigned shard_count, EngineOptions options);

  // Start, in this order: set_schema(system tables), replay() of those, set_schema(all), replay() of the rest,
  // start(). Tables that the schema has and had not before are opened (directories made, SSTables loaded); those that it
  // no longer has are dropped: memtable discarded, SSTables removed from disk after a snapshot if auto_snapshot.
  // `at_millis` names the snapshots of dropped tables, for all shards alike.
  virtual Task<Status> set_schema(SchemaPtr schema, int64_t at_millis = 0) = 0;
  // Applies what old commit log segments hold of the tables that `wanted` accepts and of this shard's keys. Records
  // with unknown tables are skipped. Damage in the synced part obeys commit_failure_policy. Segments of this shard stay
  // until their tables flush; nothing is flushed or rewritten for them.
  virtual Task<Status> replay(std::function<bool(const TableMetadata&)> wanted, TruncationRecords truncated) = 0;
  virtual Task<Status> start() = 0;
  // The node's id, once system.local told it: of SSTables, and of this node's shard in counters. Before start().
  virtual void set_host_id(const Uuid& id) = 0;
  // Segments that Cassandra or a node with another number of shards wrote. Every shard replays its part of them; when all
  // have flushed everything, one removes them.
  virtual std::vector<std::string> foreign_segments() const = 0;
  virtual Status remove_foreign_segments() = 0;
  // Refuses writes from now on, flushes everything, syncs the commit log. Then the Engine may be destroyed.
  virtual Task<Status> drain() = 0;
  // Stops background work without flushing (a stop that relies on replay).
  virtual Task<void> stop() = 0;

  // A hint: these partitions are about to be read or written. Their memory is on its way while other work is done; of
  // many the processor waits for all at once.
  virtual void prefetch(std::span<const PrefetchKey> partitions) = 0;
  // Ready at once in periodic mode while there is memory. The mutation is borrowed until the call returns: a Task that is
  // not ready owns what it needs. Fails with kInvalid when the mutation is too large for a segment or its table is
  // unknown, kOverloaded when memory is exhausted, kIo after a commit failure.
  virtual Task<Status> apply(const MutationPayload& mutation) = 0;
  // Reads the cells that the counter updates of `deltas` add to and applies the sums, in one step. Cells hold the delta
  // as a bigint value. Returns what was applied: this is what other replicas have to get.
  virtual Task<Result<SerializedMutation>> apply_counter(const MutationPayload& deltas) = 0;
  // Feeds live rows to the sink. Ready at once unless it is long (ReadPipeline::kTurn): then it takes turns with the shard's
  // other work, and what it is given must last as long as the Task. kReadFailure when tombstone_failure_threshold is
  // passed, kReadTimeout when the deadline is, kInvalid when the table is unknown, kClosed when the engine is closed.
  virtual Task<Result<ReadStatistics>> read(const ReadCommand& command, RowSink& sink,
                                            int64_t deadline = kNoDeadline) = 0;
  // The answer to another node: this shard's part of the request's partitions, with their tombstones. Else as
  // read().
  virtual Task<Result<ReadStatistics>> read_unfiltered(const ReadRequest& request, UnfilteredSink& sink,
                                                       int64_t deadline = kNoDeadline) = 0;
  // Ready when all writes until now are on disk.
  virtual Task<Status> sync_commitlog() = 0;

  // The same tables, for all that is not a request.
  virtual Maintenance& maintenance() = 0;
  // For the engine of another shard, which splits what all have.
  virtual Relocations& relocations() = 0;
};

}  // namespace cassandra_like
