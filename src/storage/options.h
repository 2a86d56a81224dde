// The options of one shard's engine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "model/schema.h"
#include "runtime/runtime.h"
#include "storage/sstable_guardrails.h"

namespace cassandra_like {

// The kinds of Cassandra's OperationType that this engine has.
enum class CompactionOperation : uint8_t {
  kCompaction,
  kMajor,
  kTombstones,
  kRelocate,
  kUpgrade,
  kGarbageCollect,
  kVerify,
  kCleanup,
  kScrub,
  kIndexBuild,
};
std::string operation_text(CompactionOperation operation);      // OperationType.toString
std::string operation_constant(CompactionOperation operation);  // OperationType.name

struct EngineOptions;
// column_index_bytes, or what the format has.
uint32_t row_index_granularity(const EngineOptions& options);

// A compaction that has ended, as system.compaction_history keeps it.
struct CompactionRecord {
  Uuid id;         // of the time when it began; a key of this shard, so that keeping the record needs no other
  TablePtr table;  // may be the hidden one of an index
  CompactionOperation operation = CompactionOperation::kCompaction;
  int64_t ended_millis = 0;
  uint64_t bytes_in = 0, bytes_out = 0;          // of Data.db
  std::map<int32_t, int64_t> merged_partitions;  // how many of them were in so many of the SSTables
};

class Engine;
class ChunkBudget;
class MemtableBudget;
class RowMemory;

enum class CommitLogSync { kPeriodic, kBatch, kGroup };
enum class FailurePolicy { kDie, kStop, kStopCommit, kStopParanoid, kBestEffort, kIgnore };

class DiskBoundaries;
struct SSTableVersion;

struct EngineOptions {
  std::vector<std::string> data_directories;
  std::string commitlog_directory;
  CommitLogSync commitlog_sync = CommitLogSync::kPeriodic;
  Duration commitlog_sync_period = std::chrono::seconds(10);
  Duration commitlog_group_window = std::chrono::milliseconds(1000);
  uint64_t commitlog_segment_bytes = 32u << 20;
  uint64_t commitlog_total_bytes = 8192ull << 20;  // of all shards
  FailurePolicy commit_failure_policy = FailurePolicy::kStop;
  FailurePolicy disk_failure_policy = FailurePolicy::kStop;
  uint64_t memtable_bytes = 1024ull << 20;    // of all shards
  std::shared_ptr<MemtableBudget> memtables;  // these bytes, for the engines of one node
  uint64_t chunk_cache_bytes = 512ull << 20;  // of all shards
  std::shared_ptr<ChunkBudget> chunks;        // these bytes, for the engines of one node
  std::shared_ptr<RowMemory> row_memory;      // of the engines of one node; null: large rows are not bounded
  // New SSTables are of this version; null: BTI da.
  const SSTableVersion* sstable_version = nullptr;
  // On average half of this is passed over before a slice begins. Unset: as the format has it, 4 KiB for BTI (Cassandra's 16
  // make a smaller row index), 64 for BIG.
  std::optional<uint32_t> column_index_bytes;
  SSTableGuardrails guardrails;
  bool incremental_backups = false;  // what is flushed gets a second name, in the table's backups/
  bool sequence_ids = false;         // of new SSTables: numbers in place of uuids
  bool auto_snapshot = true;
  int64_t auto_snapshot_ttl_millis = 0;  // 0: they stay
  // Tables whose parameter does not say otherwise are compacted by themselves, without Maintenance::set_auto_compaction().
  bool auto_compaction = false;
  unsigned concurrent_compactors = 2;            // of all shards; each has at least one
  uint64_t compaction_throughput = 64ull << 20;  // of all shards, bytes a second; 0: no limit
  uint64_t tombstone_warn_threshold = 1000;
  uint64_t tombstone_failure_threshold = 100000;
  Uuid host_id;
  // Called once when a failure policy decides that the node must stop serving (stop) or end (die).
  std::function<void(FailurePolicy, const Error&)> on_failure;
  // Keeps what compactions were, on their shard. One that cannot be kept does not undo the compaction.
  std::function<Task<Status>(CompactionRecord)> record_compaction;
  // The boundaries between several data directories for a table. Unset: each has the same part of the ring.
  std::function<DiskBoundaries(const TableMetadata& table, size_t directories)> disk_boundaries;
  // Calls `work` with each shard's number and engine, there, and waits for all; the first error, which is kClosed when an
  // engine has stopped. Unset: there is no other shard.
  std::function<Task<Status>(std::function<Status(unsigned shard, Engine&)> work)> on_every_engine;
};

}  // namespace cassandra_like
