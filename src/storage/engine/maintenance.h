// The work on one shard's tables beside requests: flushes, compactions, TRUNCATE, snapshots, builds of indexes, and the
// numbers of it all. Engine::maintenance() gives it.
//
// It stays an interface, which Engine alone implements: commands (admin/) get this part of an Engine and no other, without the
// headers of commit log, memtables and SSTables that Engine's own header needs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/key.h"
#include "model/schema.h"
#include "runtime/task.h"
#include "storage/engine/snapshots.h"
#include "storage/engine/statistics.h"
#include "storage/engine/truncation.h"
#include "storage/owned_tokens.h"
#include "storage/sstable/sstable.h"
#include "storage/table/table_samplers.h"

namespace cassandra_like {

// The tables of an operation. Without a table: all tables of the keyspace; without a keyspace: all.
struct TableSelection {
  // Not an aggregate: GCC 12 destroys an aggregate temporary twice when it is the argument of an awaited call.
  TableSelection() = default;
  TableSelection(std::string k, std::string t = "") : keyspace(std::move(k)), table(std::move(t)) {}
  std::string keyspace;
  std::string table;
};

// The SSTables that a compaction by command takes, and how it cuts its outputs. A default scope is a major compaction of the
// table's strategy. Repaired SSTables are never merged with others.
struct CompactionScope {
  CompactionScope() = default;  // see above
  // The SSTables to take. Their outputs are cut as the table's strategy says. The table may be the hidden one of an index.
  std::function<bool(const TableMetadata& table, const SSTable& sstable)> wants;
  // The partitions whose tombstones may go although gc_grace_seconds are not over. Unset: none.
  std::function<bool(const DecoratedKey& key)> purges_young;
  bool split_output = false;  // without wants: a major compaction as the strategy cuts it, with split output
  CompactionOperation operation = CompactionOperation::kMajor;
};

// SSTables of tables and of their indexes that are to be written anew.
struct SSTableRewrite {
  SSTableRewrite() = default;  // see above
  // kRelocate: those that lie in the wrong data directory.
  CompactionOperation operation = CompactionOperation::kUpgrade;
  bool include_all = false;   // also those of the latest version of their format
  bool recompresses = false;  // those whose compression is not the table's, whatever their version
  int64_t created_until_millis = std::numeric_limits<int64_t>::max();
  // Garbage collection takes all SSTables of a table, but not of its indexes. Whether rows that newer ones delete go, and
  // cells that they overwrite, too.
  bool skips_rows = true, skips_cells = false;
  // The tokens that a cleanup leaves. It takes SSTables with keys that do not, and those of the table's indexes when it found some.
  std::function<OwnedTokens(const TableMetadata& table)> owned;
};

// How SSTables are looked at for damage (sstable_verifier.h).
struct SSTableVerification {
  SSTableVerification() = default;  // see above
  bool quick = false;
  bool extended = false;
  bool check_version = false;           // one of another version than the latest of its format is a finding, too
  bool invokes_failure_policy = false;  // damage ends the node when disk_failure_policy is die or stop_paranoid
  bool mutates_repair_status = false;   // what is damaged counts as not repaired from then on
  std::function<OwnedTokens(const TableMetadata& table)> owned;  // unset: keys of all tokens may be there
};

// How damaged SSTables are written anew (scrub_sstable.h).
struct SSTableScrubOrder {
  SSTableScrubOrder() = default;  // see above
  bool skips_corrupted = false;   // also in tables of counters
  bool validates = true;
  bool reinserts_overflowed_ttl = false;
};

// Settings that an operator may change while the engine runs, as EngineOptions has them at the start.
struct EngineSettings {
  std::optional<uint32_t> column_index_bytes;
  SSTableGuardrails guardrails;
  bool incremental_backups = false;
};

// The directories of a table, or of the hidden one of an index.
struct TablePaths {
  std::string keyspace, table;
  std::vector<std::string> directories;
};

// How SSTables of other directories become a table's.
struct SSTableImport {
  SSTableImport() = default;  // see above
  std::vector<std::string> directories;
  bool verifies = true;
  bool extended = false;  // all rows are read; the split reads them in any case
  bool keeps_level = false, keeps_repaired = false;
  bool copies = false;                                           // the sources stay
  std::function<OwnedTokens(const TableMetadata& table)> owned;  // unset: keys of all tokens may be there
};

class Maintenance {
 public:
  virtual ~Maintenance() = default;
  // Writes the memtables to SSTables.
  virtual Task<Status> flush(TableSelection selection) = 0;
  // Merges SSTables of a table that are this shard's alone.
  virtual Task<Status> compact(TableSelection selection, CompactionScope scope = CompactionScope()) = 0;
  // Writes SSTables anew, each by itself. SSTables that several shards share are left to relocate(): kClosed when one had to
  // stay as it is.
  virtual Task<Status> rewrite(TableSelection selection, SSTableRewrite rewrite) = 0;
  // Looks for damage in the SSTables of tables, not of their indexes. The first finding, after all of its table have been tried.
  virtual Task<Status> verify(TableSelection selection, SSTableVerification order) = 0;
  // Writes what can be read of SSTables anew, of those too that are not used because they are damaged. kClosed when one that several
  // shards share had to stay as it is.
  virtual Task<Status> scrub(TableSelection selection, SSTableScrubOrder order) = 0;
  // By one shard for all of them. All SSTables of a directory become the table's in one step. Gives the directories of which
  // something could not be verified or imported; the log says why.
  // Indexes of the table are to be built afterwards. kServerError: a directory is not there; kInvalid: it is a table's own.
  virtual Task<Result<std::vector<std::string>>> import_sstables(TablePtr table, SSTableImport order) = 0;
  // The same with SSTables that somebody has put into the table's own directories: they go when their parts come.
  virtual Task<Status> load_new_sstables(TablePtr table) = 0;
  // Splits the SSTables that several shards read, as far as they are this shard's to split. Ready when that is done; the first
  // error, after all have been tried.
  virtual Task<Status> relocate(TableSelection selection = TableSelection()) = 0;
  // The same, beside requests, until nothing is left: what failed is tried again every minute. Once all shards serve.
  virtual void relocate_in_background() = 0;
  // Switches automatic compaction of tables and of their indexes on or off, until ALTER says otherwise or the node ends.
  virtual void set_auto_compaction(const TableSelection& selection, bool on) = 0;
  // In the order of the tables' directories.
  virtual std::vector<AutoCompactionState> auto_compaction(const TableSelection& selection) const = 0;
  virtual std::vector<RunningCompaction> running_compactions() const = 0;
  // They end within 100 ms; nothing of them stays. Returns how many.
  virtual size_t stop_compactions(const std::function<bool(const RunningCompaction&)>& which) = 0;
  // Both are of the whole node: bytes a second, 0 for no limit; and how many run at once. Each shard has its part, and at
  // least one.
  virtual void set_compaction_throughput(uint64_t bytes_per_second) = 0;
  virtual void set_concurrent_compactors(unsigned count) = 0;
  // For one table or hidden table of an index ("table.index"), whatever its schema says, until the node ends.
  virtual void set_compaction_thresholds(const TableSelection& table, int32_t min, int32_t max) = 0;
  virtual EngineSettings settings() const = 0;
  virtual void use(const EngineSettings& settings) = 0;
  // In the order of the tables' directories.
  virtual std::vector<TablePaths> paths() const = 0;
  // Samples what the tables are asked for, until finish_sampling() gives it. kInvalid, and nothing begins, where a table's
  // sampling is under way.
  virtual Status begin_sampling(const TableSelection& selection, const SamplingOrder& order) = 0;
  // By table.
  virtual std::vector<std::pair<TablePtr, TopSamples>> finish_sampling(const TableSelection& selection) = 0;
  // A TRUNCATE has three steps, since a crash must not take a part of what a read sees, and several shards may read one SSTable
  // (truncate_on_all_shards() takes them):
  // - begin_truncation() on each shard: makes the snapshot when there is a tag, and says what is to be removed. From then on
  //   the table is neither flushed nor compacted there;
  // - commit_truncation() on one shard, with the SSTables of all: one transaction for the table and for each index;
  // - end_truncation() on each shard that has begun, also after an error: removes everything written until now. The position
  //   is for TruncationRecords.
  virtual Task<Result<TruncatedSSTables>> begin_truncation(TablePtr table, std::string snapshot_tag) = 0;
  virtual Task<TruncationCommit> commit_truncation(TablePtr table, TruncatedSSTables gone) = 0;
  virtual Task<Result<CommitLogPosition>> end_truncation(TablePtr table, TruncationCommit commit) = 0;
  // Flushes, then hard-links into <table>/snapshots/<tag>/ with manifest.json and schema.cql.
  virtual Task<Status> snapshot(TableSelection selection, SnapshotRequest request) = 0;
  // Rebuilds the hidden table of an index from the base table.
  virtual Task<Status> build_index(TablePtr table, std::string index) = 0;

  virtual Result<TableStatistics> table_statistics(const Uuid& table) const = 0;
  // The latest write or deletion that a table holds, in microseconds; kNoTimestamp when it holds nothing. Looks at all
  // that is in memtables: for small tables.
  virtual Result<int64_t> max_timestamp(const Uuid& table) const = 0;
  // Memtables do not count, as in Cassandra. Zeros for an unknown table.
  virtual Result<SizeEstimate> estimate_size(const Uuid& table, const KeyRange& range) const = 0;
  virtual EngineStatistics statistics() const = 0;
  // Each of the shards that share one has it.
  virtual std::vector<SSTableInfo> sstables(const Uuid& table) const = 0;
  // The SSTables that have the partition, of which this shard is the owner.
  virtual Result<std::vector<SSTableInfo>> sstables_with_key(const Uuid& table, BytesView key) const = 0;
};

// Positions by shard. The first shard begins before the others: of two TRUNCATEs of one table, the second waits there.
// `engine_of` is called on its shard; null: it has stopped. An engine that has begun stops only when it has ended.
Task<Result<std::vector<CommitLogPosition>>> truncate_on_all_shards(Runtime* runtime, Executor* home,
                                                                    std::function<Maintenance*(unsigned)> engine_of,
                                                                    TablePtr table, std::string snapshot_tag);

}  // namespace cassandra_like
