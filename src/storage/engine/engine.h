// One shard's storage: commit log, memtables, SSTables, and reads that merge them.
//
// Invariants: a mutation is in the commit log before it is in a memtable, and in the log's durable part before it is
// acknowledged in batch and group mode; a commit log segment is removed only when every table that it holds writes of
// has flushed beyond it; an SSTable becomes visible only when all its files are synced. An Engine sees only the keys of
// its shard.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "model/serialized_mutation.h"
#include "read/read_command.h"
#include "read/read_request.h"
#include "read/unfiltered_sink.h"
#include "runtime/runtime.h"
#include "storage/options.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

// Numbers of one table on one shard, for tablestats, tablehistograms and metrics.
struct TableStatistics {
  uint64_t sstables = 0;
  uint64_t live_disk_bytes = 0;
  uint64_t total_disk_bytes = 0;
  uint64_t snapshot_bytes = 0;
  double compression_ratio = -1;
  uint64_t estimated_partitions = 0;
  uint64_t memtable_rows = 0;
  uint64_t memtable_bytes = 0;
  uint64_t memtable_switches = 0;
  uint64_t reads = 0;  // of keys, as read_micros
  uint64_t writes = 0;
  uint64_t pending_flushes = 0;
  uint64_t bloom_false_positives = 0;
  uint64_t bloom_bytes = 0;
  uint64_t index_summary_bytes = 0;
  uint64_t compression_metadata_bytes = 0;
  Histogram read_micros, range_micros, write_micros, sstables_per_read, partition_bytes, cells_per_partition,
      tombstones_per_read, live_rows_per_read;
};

// The estimate of one shard's SSTables for a range of the ring. The mean partition is partition_bytes / counted.
struct SizeEstimate {
  uint64_t partitions = 0;       // in the range
  uint64_t partition_bytes = 0;  // of all partitions of the SSTables that reach into the range
  uint64_t counted = 0;          // those partitions
};

struct EngineStatistics {
  uint64_t commitlog_bytes = 0;
  uint64_t commitlog_segments = 0;
  uint64_t commitlog_pending = 0;  // writes waiting for a sync
  uint64_t commitlog_completed = 0;
  uint64_t memtable_bytes = 0;
  uint64_t flushes_completed = 0;
  uint64_t flushes_pending = 0;
  uint64_t compactions_completed = 0;
  uint64_t compactions_pending = 0;
  uint64_t bytes_compacted = 0;  // read, uncompressed
  uint64_t compressed_bytes_compacted = 0;
  ChunkCache::Statistics chunk_cache;
};

struct SnapshotInfo {
  std::string tag, keyspace, table;
  uint64_t true_bytes = 0;  // what only the snapshot holds
  uint64_t total_bytes = 0;
  int64_t created_millis = 0;
  int64_t expires_millis = 0;  // 0: never
};

// The properties of a snapshot to take.
struct SnapshotRequest {
  // Not an aggregate: GCC 12 destroys an aggregate temporary twice when it is the argument of an awaited call.
  SnapshotRequest() = default;
  explicit SnapshotRequest(std::string t, std::string cql = "") : tag(std::move(t)), schema_cql(std::move(cql)) {}
  std::string tag;
  std::string schema_cql;
  bool skip_flush = false;
  int64_t ttl_millis = 0;  // 0: it stays
};

// Writes logged before these positions are void (TRUNCATE). Every shard has a log of its own, so each has its own
// position, which truncate() returned there; position alone is Cassandra's record, and stands in for shards whose own is
// not known. (Ids of segments grow over starts, but the shards' segments of one start interleave.)
struct TruncationRecord {
  int64_t truncated_at_millis = 0;
  CommitLogPosition position;
  std::vector<CommitLogPosition> of_shards;  // as many as there were shards
};
using TruncationRecords = std::map<Uuid, TruncationRecord>;

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

  // Empty table id: all tables of the keyspace; empty keyspace: all.
  struct Selection {
    // Not an aggregate: GCC 12 destroys an aggregate temporary twice when it is the argument of an awaited call.
    Selection() = default;
    Selection(std::string k, std::string t = "") : keyspace(std::move(k)), table(std::move(t)) {}
    std::string keyspace;
    std::string table;
  };
  virtual Task<Status> flush(Selection selection) = 0;
  // Merges all SSTables of a table into one per data directory. Shadowed data goes; tombstones stay.
  virtual Task<Status> compact(Selection selection) = 0;
  // Removes everything written until now; the returned position is for TruncationRecords.
  virtual Task<Result<CommitLogPosition>> truncate(TablePtr table, std::string snapshot_tag) = 0;
  virtual Task<Status> sync_commitlog() = 0;
  // Flushes, then hard-links into <table>/snapshots/<tag>/ with manifest.json and schema.cql.
  virtual Task<Status> snapshot(Selection selection, SnapshotRequest request) = 0;
  // Rebuilds the hidden table of an index from the base table.
  virtual Task<Status> build_index(TablePtr table, std::string index) = 0;

  virtual Result<TableStatistics> table_statistics(const Uuid& table) const = 0;
  // The latest write or deletion that a table holds, in microseconds; kNoTimestamp when it holds nothing. Looks at all
  // that is in memtables: for small tables.
  virtual Result<int64_t> max_timestamp(const Uuid& table) const = 0;
  // Memtables do not count, as in Cassandra. Zeros for an unknown table.
  virtual Result<SizeEstimate> estimate_size(const Uuid& table, const KeyRange& range) const = 0;
  virtual EngineStatistics statistics() const = 0;
  virtual std::vector<SSTableInfo> sstables(const Uuid& table) const = 0;
};

// Node-wide, by any shard: they only look at directories.
Result<std::vector<SnapshotInfo>> list_snapshots(Disk& disk, const EngineOptions& options);
// Removes the snapshots whose time has come.
Status clear_expired_snapshots(Disk& disk, const EngineOptions& options, int64_t now_millis);
Status clear_snapshot(Disk& disk, const EngineOptions& options, const std::string& keyspace, const std::string& tag);

}  // namespace cassandra_like
