// One table on one shard: its memtables, its SSTables, its directories, its indexes. The hidden table of an index has a
// store, too, which belongs to the base table's.
//
// A store outlives its table's removal from the schema as long as an operation under way holds it; dropped is then set.
// Memtables that are being flushed stay readable until their SSTable is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "runtime/async_mutex.h"
#include "storage/commitlog/commit_log.h"
#include "storage/memtable/memtable.h"
#include "storage/options.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_ids.h"
#include "storage/sstable/sstable_transaction.h"
#include "storage/table/table_compaction.h"
#include "storage/table/table_samplers.h"

namespace cassandra_like {

struct IndexStore;

struct LiveSSTable {
  SSTablePtr sstable;
  std::optional<SSTableOwner> writer;  // whose commit log its intervals are of; nullopt: Cassandra's
  bool shared = false;                 // with other shards; only this shard's keys count
  int64_t created_millis = 0;          // when Data.db was written
  bool compacting = false;             // an input of a compaction under way
  bool suspect = false;                // a compaction found it damaged: it is not read by another
};

// Counters of the reads of one table.
struct TableCounters {
  uint64_t reads = 0, writes = 0, memtable_switches = 0;
  Histogram read_micros, range_micros, write_micros, sstables_per_read, tombstones_per_read, live_rows_per_read;
  std::unique_ptr<TableSamplers> samplers;  // null unless somebody samples
};

class TableStore {
 public:
  // directory: below each data directory, ks/table-id or ks/table-id/.index.
  TableStore(TablePtr table, std::string directory, CommitLogPosition lower);

  // Makes directories, loads the SSTables of this shard and those that every shard shares. One that is damaged or not
  // whole is an error; with the policies ignore and best_effort, the log says that it is not used. One of a format that
  // cannot be read is an error with every policy.
  Status open(Disk& disk, const std::vector<std::string>& data_directories, const SSTableOwner& self,
              FailurePolicy policy, ChunkCache* cache);
  // The index has all rows that its table has on this shard. A file in its directory says so, one for each shard. A
  // start builds an index anew that lacks it.
  Status set_built(Disk& disk, const SSTableOwner& self);
  // It is about to be filled anew, or to go. The caller syncs the directory before anybody relies on that.
  Status set_unbuilt(Disk& disk, const SSTableOwner& self);
  // Until restore_built() no file says so, if one did: a crash would leave an index that nobody can vouch for. The caller
  // syncs the directory.
  Status withdraw_built(Disk& disk, const SSTableOwner& self);
  Status restore_built(Disk& disk, const SSTableOwner& self);
  // set_unbuilt() for the directory of an index that is not open.
  static Status forget_built(Disk& disk, const std::string& path, const SSTableOwner& self);
  void use_table(TablePtr table);

  // The full memtable goes to flushing; a fresh one takes its place. nullptr when there was nothing in it.
  std::shared_ptr<Memtable> switch_memtable(const CommitLogPosition& at);
  // One that this shard wrote.
  void add_sstable(SSTablePtr sstable, const SSTableOwner& self, int64_t created_millis);
  void remove_sstables(const std::vector<SSTablePtr>& gone);
  // Automatic compaction leaves out the SSTables that `message` names from now on: inputs, or newer ones that a compaction
  // looked at. When it names none, these are all inputs.
  void suspect(const std::vector<SSTablePtr>& inputs, const std::string& message);
  void set_compacting(const std::vector<SSTablePtr>& inputs, bool compacting);
  void forget_flushed(const std::shared_ptr<Memtable>& memtable);
  // The first error; what could not be removed is tried again next time.
  Status remove_leftovers(Disk& disk);
  // Everything written is void: memtables and SSTables, also on disk.
  Status discard(Disk& disk, const CommitLogPosition& at);

  size_t memtable_bytes() const;  // also of those being flushed; 0 when nothing is in them
  bool is_dirty() const { return !memtable->empty() || !flushing.empty(); }
  bool has_unread() const { return !unread.empty() || !shared_unread.empty(); }

  TablePtr table;
  std::string directory;
  std::vector<std::string> paths;  // one per data directory
  bool paths_synced = false;       // the directories' own entries are on the disk
  bool dropped = false;
  bool flush_requested = false;    // a flush is on its way to the memtable
  bool flush_retry_waits = false;  // a timer runs for the memtables that a flush failed to write
  Duration flush_retry_pause{};    // before the last retry; 0 after a flush that succeeded
  // An index that lacks rows of its table: it was not built to the end, Cassandra wrote it, or an SSTable is not used.
  bool needs_rebuild = false;
  bool is_marked_built = false, is_mark_withdrawn = false;  // see set_built(), withdraw_built()
  bool durable = true;                                      // its keyspace wants the commit log
  // Records of the log that are in no SSTable yet have writes of other tables, too.
  bool shares_records = false;
  bool logs_alone = false;  // its writes share no records: it may be dropped now
  // SSTables that are set aside since they are damaged: nobody knows what they hold. The first are this shard's alone.
  std::vector<SSTableDescriptor> unread, shared_unread;
  // A start replays all that the log has of it, since it cannot know yet whose intervals its SSTables have.
  bool is_replayed_whole = false;
  unsigned compaction_interrupts = 0;  // how many operations want compactions of the table to end
  LogTable log;
  SSTableSequence sequence;  // of ids that are numbers
  std::shared_ptr<Memtable> memtable;
  size_t kept_bytes = 0;                            // of it, which the last flush did not free (system.batches)
  std::vector<std::shared_ptr<Memtable>> flushing;  // oldest first
  std::vector<LiveSSTable> sstables;                // newest max_timestamp first
  // On the disk, but not read from: of a flush that failed at its end, or of a removal that failed. The next start would
  // find them, so what voids the table voids them.
  std::vector<SSTableDescriptor> leftovers;
  std::vector<SSTableDescriptor> being_flushed;
  // Compactions whose files could not all be removed.
  std::vector<std::unique_ptr<SSTableTransaction>> unfinished;
  std::vector<std::unique_ptr<IndexStore>> indexes;
  TableCounters counters;
  TableCompaction compaction;
  AsyncMutex flush_mutex, compaction_mutex, build_mutex;
  // Entered while this shard's part of a split SSTable waits for the commit of all. Closed while the table is truncated or
  // dropped.
  std::unique_ptr<Gate> relocations = std::make_unique<Gate>();

 private:
  void insert(LiveSSTable live);
  bool has_one_key(const SSTable& sstable) const;
  bool may_have_keys_of(const SSTable& sstable, const SSTableOwner& self) const;
  Status find_built(Disk& disk, const SSTableOwner& self);
  Status load(Disk& disk, const SSTableOnDisk& files, const SSTableOwner& self, FailurePolicy policy,
              ChunkCache* cache);
};
using TableStorePtr = std::shared_ptr<TableStore>;

}  // namespace cassandra_like
