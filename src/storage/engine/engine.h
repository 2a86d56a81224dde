// One shard's storage: commit log, memtables, SSTables, and reads that merge them. An Engine starts, serves requests and
// stops; maintenance() gives what else is done to its tables. By their jobs: engine.cc (schema, start, stop, numbers),
// replay.cc, write.cc, read.cc, read_index.cc, read_unfiltered.cc, disk_waits.cc, flush.cc, truncate.cc, snapshot.cc,
// compact.cc, auto_compact.cc, rewrite.cc, verify.cc, scrub.cc, relocate.cc, import.cc, build_index.cc.
//
// Invariants: a mutation is in the commit log before it is in a memtable, and in the log's durable part before it is
// acknowledged in batch and group mode; a commit log segment is removed only when every table that it holds writes of
// has flushed beyond it; an SSTable becomes visible only when all its files are synced. An Engine sees only the keys of
// its shard.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/huge_chunks.h"
#include "base/log_quota.h"
#include "base/meter.h"
#include "model/serialized_mutation.h"
#include "read/merge.h"
#include "read/read_command.h"
#include "read/read_pipeline.h"
#include "read/read_request.h"
#include "read/unfiltered_pipeline.h"
#include "read/unfiltered_sink.h"
#include "runtime/runtime.h"
#include "storage/commitlog/segment_reader.h"
#include "storage/compaction/merge_sstables.h"
#include "storage/engine/compaction_limits.h"
#include "storage/engine/flush_outputs.h"
#include "storage/engine/maintenance.h"
#include "storage/engine/prefetch_key.h"
#include "storage/engine/relocation.h"
#include "storage/engine/truncation.h"
#include "storage/engine/turns.h"
#include "storage/index/secondary_index.h"
#include "storage/options.h"
#include "storage/sstable/cold_reads.h"
#include "storage/table/disk_boundaries.h"
#include "storage/table/table_store.h"

namespace cassandra_like {

class SSTableVerifier;

struct SegmentOnDisk {
  std::string path;
  SegmentDescriptor descriptor;
};

// Read from a segment, to be applied.
struct LoggedMutation {
  Mutation mutation;
  CommitLogPosition end;  // of its record
};

// Records of a table that the schema does not have, met by a replay.
struct UnknownTable {
  void add(const std::string& segment) {
    ++records;
    if (segments.empty() || *segments.rbegin() != segment) segments.insert(segment);
  }

  uint64_t records = 0;
  std::set<std::string> segments;
};

// The writer has its part of the total. The callbacks are the caller's to set.
CommitLogOptions commit_log_options(const EngineOptions& options, const SegmentWriter& writer);

class Engine final : private Maintenance {
 public:
  // Nothing is read yet. shard and shard count are the runtime's.
  Engine(ShardRuntime& runtime, unsigned shard_count, EngineOptions options);
  ~Engine() override;

  // Start, in this order: set_schema(system tables), replay() of those, set_schema(all), replay() of the rest,
  // start(). Tables that the schema has and had not before are opened (directories made, SSTables loaded); those that it
  // no longer has are dropped: memtable discarded, SSTables removed from disk after a snapshot if auto_snapshot.
  // `at_millis` names the snapshots of dropped tables, for all shards alike.
  Task<Status> set_schema(SchemaPtr schema, int64_t at_millis = 0);
  // Applies what old commit log segments hold of the tables that `wanted` accepts and of this shard's keys. Records
  // with unknown tables are skipped. Damage in the synced part obeys commit_failure_policy. Segments of this shard stay
  // until their tables flush; nothing is flushed or rewritten for them. knows_all_tables: a table that is unknown now was
  // dropped, or the schema is damaged.
  Task<Status> replay(std::function<bool(const TableMetadata&)> wanted, TruncationRecords truncated,
                      bool knows_all_tables = true);
  Task<Status> start();
  // The node's id, once system.local told it: of SSTables, and of this node's shard in counters. Before start().
  void set_host_id(const Uuid& id) { options_.host_id = id; }
  // Segments that Cassandra or a node with another number of shards wrote. Every shard replays its part of them; when all
  // have flushed everything, one removes them.
  std::vector<std::string> foreign_segments() const;
  Status remove_foreign_segments();
  // Refuses writes from now on, flushes everything, syncs the commit log. Then the Engine may be destroyed.
  Task<Status> drain();
  // Stops background work without flushing (a stop that relies on replay).
  Task<void> stop();

  // A hint: these partitions are about to be read or written. Their memory is on its way while other work is done; of
  // many the processor waits for all at once.
  void prefetch(std::span<const PrefetchKey> partitions);
  // Ready at once in periodic mode while there is memory. The mutation is borrowed until the call returns: a Task that is
  // not ready owns what it needs. Fails with kInvalid when the mutation is too large for a segment or its table is
  // unknown, kOverloaded when memory is exhausted, kIo after a commit failure.
  Task<Status> apply(const MutationPayload& mutation);
  // Reads the cells that the counter updates of `deltas` add to and applies the sums, in one step. Cells hold the delta
  // as a bigint value. Returns what was applied: this is what other replicas have to get.
  Task<Result<SerializedMutation>> apply_counter(const MutationPayload& deltas);
  // Feeds live rows to the sink. Ready at once unless it is long (ReadPipeline::kTurn) or waits for the disk: then it takes
  // turns with the shard's other work, and what it is given must last as long as the Task. kReadFailure when tombstone_failure_threshold is
  // passed, kReadTimeout when the deadline is, kInvalid when the table is unknown, kClosed when the engine is closed.
  Task<Result<ReadStatistics>> read(const ReadCommand& command, RowSink& sink, int64_t deadline = kNoDeadline,
                                    int64_t begun = kBeginsNow);
  // The answer to another node: this shard's part of the request's partitions, with their tombstones. Else as
  // read().
  Task<Result<ReadStatistics>> read_unfiltered(const ReadRequest& request, UnfilteredSink& sink,
                                               int64_t deadline = kNoDeadline);
  // Ready when all writes until now are on disk.
  Task<Status> sync_commitlog() { return log_.sync_records(); }
  // Before a change of the schema that may drop these tables comes to the log: a replay cannot read a record that has writes of
  // a table that is gone. So all such records are flushed, and until cancel_drop() writes of these tables get records of their
  // own. An error: a flush failed, and the change must not be made.
  Task<Status> prepare_drop(std::vector<Uuid> tables);
  // The tables are not dropped after all, and system_schema has them.
  void cancel_drop(std::span<const Uuid> tables);

  // The same tables, for all that is not a request.
  Maintenance& maintenance() { return *this; }

  // For the engine of another shard, which splits an SSTable that both read: the steps of relocation.h.
  // A name for this shard's part. kClosed: the shard does not read the SSTable, or not any more.
  Result<std::string> relocation_id(const SharedSSTable& shared);
  // Opens this shard's part; empty: it has no keys. After an error there is no end_relocation().
  Status prepare_relocation(const SharedSSTable& shared, const std::string& id);
  // Committed: reads go to the part from now on.
  void end_relocation(const SharedSSTable& shared, bool committed);
  // Whether the files are the table's on this shard, or are about to be.
  bool knows(const Uuid& table, const SSTableDescriptor& descriptor) const;

 private:
  // Maintenance.
  Task<Status> flush(TableSelection selection) override;
  Task<Status> compact(TableSelection selection, CompactionScope scope) override;
  Task<Status> rewrite(TableSelection selection, SSTableRewrite rewrite) override;
  Task<Status> verify(TableSelection selection, SSTableVerification order) override;
  Task<Status> scrub(TableSelection selection, SSTableScrubOrder order) override;
  Task<Result<std::vector<std::string>>> import_sstables(TablePtr table, SSTableImport order) override;
  Task<Status> load_new_sstables(TablePtr table) override;
  Task<Status> relocate(TableSelection selection) override;
  void relocate_in_background() override;
  void set_auto_compaction(const TableSelection& selection, bool on) override;
  std::vector<AutoCompactionState> auto_compaction(const TableSelection& selection) const override;
  std::vector<RunningCompaction> running_compactions() const override;
  size_t stop_compactions(const std::function<bool(const RunningCompaction&)>& which) override;
  void set_compaction_throughput(uint64_t bytes_per_second) override;
  void set_concurrent_compactors(unsigned count) override;
  void set_compaction_thresholds(const TableSelection& table, int32_t min, int32_t max) override;
  EngineSettings settings() const override {
    return {.column_index_bytes = options_.column_index_bytes,
            .guardrails = options_.guardrails,
            .incremental_backups = options_.incremental_backups};
  }
  void use(const EngineSettings& settings) override {
    options_.column_index_bytes = settings.column_index_bytes;
    options_.guardrails = settings.guardrails;
    options_.incremental_backups = settings.incremental_backups;
  }
  std::vector<TablePaths> paths() const override;
  Status begin_sampling(const TableSelection& selection, const SamplingOrder& order) override;
  std::vector<std::pair<TablePtr, TopSamples>> finish_sampling(const TableSelection& selection) override;
  Task<Result<TruncatedSSTables>> begin_truncation(TablePtr table, std::string snapshot_tag) override;
  Task<TruncationCommit> commit_truncation(TablePtr table, TruncatedSSTables gone) override;
  Task<Result<CommitLogPosition>> end_truncation(TablePtr table, TruncationCommit commit) override;
  Task<Status> snapshot(TableSelection selection, SnapshotRequest request) override;
  Task<Status> build_index(TablePtr table, std::string index) override;

  Result<TableStatistics> table_statistics(const Uuid& table) const override;
  Result<int64_t> max_timestamp(const Uuid& table) const override;
  Result<SizeEstimate> estimate_size(const Uuid& table, const KeyRange& range) const override;
  EngineStatistics statistics() const override;
  std::vector<SSTableInfo> sstables(const Uuid& table) const override;
  Result<std::vector<SSTableInfo>> sstables_with_key(const Uuid& table, BytesView key) const override;

  struct UuidHash {
    // The map looks at the low bits. In time-based ids these are of the hour and the version, and the same for all tables
    // of a day; the product has the rest in its high bits. The second half tells ids apart that a client chose.
    size_t operator()(const Uuid& id) const {
      const char* bytes = id.view().data();
      const uint64_t product = (load_be<uint64_t>(bytes) ^ load_be<uint64_t>(bytes + 8)) * 0x9E3779B97F4A7C15ULL;
      return product ^ (product >> 32);
    }
  };
  using Stores = std::vector<TableStorePtr>;

  // Schema.
  Task<Status> make_durable_directory(std::string path);
  Status open_tables(const KeyspaceMetadata* before, const KeyspaceMetadata& keyspace);
  Stores gone_tables(const Schema* before) const;
  Status open_table(const TablePtr& table, bool durable);
  Status note_build(const TableStore& base, TableStore& index);
  Status set_unbuilt(TableStore& index);
  Status forget_dropped_indexes(const TableStore& store);
  Task<Status> sync_unbuilt_indexes();
  // When the compactions of indexes that were dropped have ended, their files go.
  Task<void> discard_gone_indexes();
  bool has_files_of_gone_index(const std::string& directory) const;
  Status update_indexes(TableStore& store);
  Status log_mutation(const Mutation& mutation, std::span<TableStore* const> stores, BytesView serialized);
  Task<Status> drop_table(TableStorePtr store, SchemaPtr before, int64_t at_millis);
  TableStorePtr find(const Uuid& id) const;
  Stores select(const TableSelection& selection) const;

  // Replay.
  Result<std::vector<SegmentOnDisk>> list_segments();
  Result<SegmentSummary> replay_segment(const SegmentOnDisk& segment,
                                        const std::function<bool(const TableMetadata&)>& wanted,
                                        const TruncationRecords& truncated, bool newest);
  Status read_logged(const SegmentOnDisk& segment, const CommitLogPosition& end, BytesView record,
                     const std::function<bool(const TableMetadata&)>& wanted, std::vector<LoggedMutation>& batch);
  Status pass_damage(const SegmentOnDisk& segment, std::string message);
  Status pass_without_header(const ReadFile& file, int64_t id);
  Status tell_unknown_tables();
  void keep(const std::string& path);
  void apply_logged(const SegmentOnDisk& segment, std::span<const LoggedMutation> batch,
                    const std::function<bool(const TableMetadata&)>& wanted, const TruncationRecords& truncated);
  bool is_void(const SegmentOnDisk& segment, const CommitLogPosition& end, const TableStore& store,
               const TruncationRecords& truncated) const;
  bool is_own(const SegmentDescriptor& segment) const { return segment.writer == self_writer_; }
  CommitLogPosition log_position() const { return replaying_ ? replayed_ : log_.position(); }

  // Writing.
  void join_memtable_budget();
  void tell_memory();
  Task<Status> wait_for_memory();
  Task<Status> apply_later(SerializedMutation mutation);
  Status apply_serialized(const SerializedMutation& mutation);
  Result<Mutation> read_serialized(const SerializedMutation& mutation, Arena& arena);
  Status apply_now(const Mutation& mutation, BytesView serialized);
  Status check_indexed_values(const TableStore& store, const PartitionUpdate& update);
  void apply_to(TableStore& store, const PartitionUpdate& update);
  Task<Result<SerializedMutation>> apply_counter_later(SerializedMutation deltas, ColdReads cold);
  Task<Result<SerializedMutation>> apply_counter_when_there(const MutationPayload* deltas, ColdReads* cold);
  Task<Result<SerializedMutation>> durable_counter(SerializedMutation applied);
  // Whether all that a read has shown may be seen.
  bool is_durable(const ReadCommand& command) const {
    const uint64_t records_of_counts = command.table->is_counter() ? records_of_counts_ : 0;
    return log_.has_acknowledged(command.only_durable ? log_.completed() : records_of_counts);
  }
  Task<Result<ReadStatistics>> when_durable(Result<ReadStatistics> read);
  Result<SerializedMutation> apply_counter_now(const MutationPayload& deltas);
  Result<Mutation> resolve_counters(const Mutation& mutation, Arena& arena);
  Result<Row> resolve_counter_row(const TableStore& store, const DecoratedKey& key, const Row& row, bool is_static,
                                  Arena& arena);
  void recount_memory();
  void relieve_memory();
  void wake_writers();

  // Reading. How reads wait for the disk: disk_waits.cc.
  struct Sources;
  struct LongRead;
  struct PageRest;
  // Sets cold_ and page_ for a read's turn.
  class Turn {
   public:
    Turn(Engine& engine, ColdReads* cold, const PageRest* page = nullptr) : engine_(engine) {
      engine.cold_ = cold;
      engine.page_ = page;
    }
    ~Turn() {
      engine_.cold_ = nullptr;
      engine_.page_ = nullptr;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Engine& engine_;
  };
  struct DiskWait;
  Task<Status> wait_for_disk(ColdReads* cold, int64_t deadline);
  static Task<void> bring_in(Disk* disk, Gate* gate, std::shared_ptr<DiskWait> wait, ColdReads::Missing missing);
  static std::optional<ReadCommand> rest_of_partition(ReadCommand& rest, const DecoratedKey& key, const Bytes& place);
  std::unique_ptr<PageRest> keep_page(const TableStore& store, const ReadCommand& partition, uint64_t most_rows) const;
  static void cut_at_end(const PageRest* page, ReadCommand& partition);
  // Entries of an index that a read found to point to nothing.
  struct StaleEntries {
    Arena arena;
    std::vector<Row> rows;
  };
  TombstoneThresholds tombstone_thresholds(const ReadCommand& command) const;
  // Until it is done or the feed pauses.
  Status read_turn(TableStore& store, const ReadCommand& command, ReadPipeline& feed, ReadStatistics& statistics);
  Status next_turn(LongRead& read);
  Status read_rest(TableStore& store, LongRead& read, ReadStatistics& statistics);
  Status end_turn(const TableStore& store, LongRead& read, Status status);
  Task<Result<ReadStatistics>> read_on(std::unique_ptr<LongRead> read);
  struct UnfilteredRead;
  Task<Result<ReadStatistics>> read_unfiltered_on(std::unique_ptr<UnfilteredRead> read);
  Status next_unfiltered_turn(UnfilteredRead& read);
  Status end_unfiltered_turn(const TableStore& store, UnfilteredRead& read, Status status);
  Status feed_unfiltered(PartitionReader& partition, UnfilteredPipeline& pipeline);
  // Until it is done or the pipeline pauses.
  Status read_unfiltered_turn(const TableStore& store, UnfilteredRead& read);
  Status read_unfiltered_part(const TableStore& store, const ReadCommand& command, UnfilteredRead& read);
  Result<ReadStatistics> finish_unfiltered(UnfilteredRead& read, TableCounters* counters, Status status);
  // The counters are null when the table is gone.
  Result<ReadStatistics> finish_read(TableCounters* counters, const ReadCommand& command, const ReadPipeline& feed,
                                     ReadStatistics numbers, int64_t begun, Status status);
  // `numbers` say when it ended.
  void record_read(TableCounters& counters, const ReadCommand& command, const ReadStatistics& numbers, int64_t begun);
  Status read_key(const TableStore& store, const ReadCommand& command, const DecoratedKey& key, ReadPipeline& feed,
                  ReadStatistics& statistics);
  Status read_from_memtable(const MemtablePartition& partition, const ReadCommand& command, ReadPipeline& feed);
  Status read_one_row(const TableStore& store, const DecoratedKey& key, Sources& sources, const ReadCommand& command,
                      ReadPipeline& feed, ReadStatistics& statistics);
  Status read_range(const TableStore& store, const ReadCommand& command, ReadPipeline& feed,
                    ReadStatistics& statistics);
  Status read_index(TableStore& store, const ReadCommand& command, ReadPipeline& feed, ReadStatistics& statistics);
  Status read_index_hits(TableStore& store, const IndexStore& index, const ReadCommand& command,
                         const DecoratedKey& value, std::span<const IndexEntry> hits, ReadPipeline& feed,
                         ReadStatistics& statistics, StaleEntries& stale);
  // The entries of one base partition after the other, in ring order, until `visit` says false.
  using VisitHits = absl::FunctionRef<Result<bool>(std::span<const IndexEntry> hits)>;
  Status visit_hits(const TableStore& store, const IndexStore& index, const DecoratedKey& value,
                    const ReadCommand& command, VisitHits visit);
  Status read_unfiltered_hits(const TableStore& store, const IndexStore& index, const DecoratedKey& value,
                              const ReadCommand& command, UnfilteredPipeline& pipeline, ReadStatistics& statistics);
  void remove_stale(const TableStore& store, const IndexStore& index, const DecoratedKey& value,
                    const StaleEntries& stale, int64_t now_seconds);
  Result<std::vector<std::unique_ptr<PartitionReader>>> open_key(const TableStore& store, const DecoratedKey& key,
                                                                 const SliceSelection& selection) const;
  Result<std::vector<std::unique_ptr<PartitionReader>>> open(const TableStore& store, const Sources& sources,
                                                             const SliceSelection& selection) const;
  Result<std::unique_ptr<PartitionScanner>> open_range(const TableStore& store, const KeyRange& range,
                                                       const SliceSelection& selection) const;
  bool is_mine(Token token) const { return shard_of(token, shard_count_) == shard_; }

  // Flushing.
  Task<Status> flush_store(TableStorePtr store);
  // Before the table's memtables, and those of its indexes, go to the disk.
  Task<Status> prepare_flush(TableStorePtr store, bool has_indexes, bool shares_records);
  // No file says any more that the table's indexes are built, durably.
  Task<Status> withdraw_marks(TableStorePtr store);
  Task<void> flush_in_background(TableStorePtr store);
  Task<Status> write_memtable(TableStorePtr store, std::shared_ptr<Memtable> memtable, CommitLogPosition upper);
  struct FlushRun;
  FlushOutputs::Order order_flush(FlushRun* run, const CommitLogPosition& upper);
  Task<Status> write_partitions(FlushRun* run);
  Task<Status> write_and_commit(FlushRun* run);
  Task<Status> undo_flush(FlushRun* run);
  Task<void> end_flush_transaction(FlushRun* run);
  // In place of a flush of system.batches (logged_batches.cc). False: an SSTable has to hold them.
  Task<bool> keep_open_batches(TableStorePtr store, std::shared_ptr<Memtable> memtable);
  // paths: some of the table's.
  Task<Status> sync_paths(TableStorePtr store, std::vector<std::string> paths);
  Task<Status> sync_names_of_sstables();
  DiskBoundaries boundaries_of(const TableStore& store) const;
  // For outputs that are written from now on.
  OutputPlacement place_outputs(const TableStore& store) const;
  size_t freest_directory(const TableStore& store) const;
  // A file of an SSTable could not be written in this directory of the table.
  void note_unwritable(const TableStore& store, const std::string& path, const Error& cause);
  // Data directories are named by their place.
  static size_t place_of(const TableStore& store, const std::string& path);
  bool is_unwritable(size_t directory) const;
  bool is_passed_over(size_t directory) const;
  size_t unwritable_directories() const;
  Task<Status> write_somewhere(TableStorePtr store, std::shared_ptr<Memtable> memtable, CommitLogPosition upper);
  uint32_t column_index_bytes() const { return row_index_granularity(options_); }
  SSTableGuardrails sstable_guardrails() const;
  bool wants_backups(const TableStore& store) const;
  Task<Status> back_up(SSTableDescriptor descriptor);
  Task<Status> back_up_all(std::vector<SSTableDescriptor> descriptors);
  void forget_backups(const std::vector<SSTableDescriptor>& descriptors);
  std::string next_id(TableStore& store) { return options_.sequence_ids ? store.sequence.next(self_) : ids_.next(); }
  Error disk_failure(const Error& cause, const std::string& what);
  void obey_paranoia(const Error& cause) const;
  void read_failed(const TableMetadata& table, const Error& cause);
  bool goes_on_after(const Error& cause) const;
  void retry_flush(const TableStorePtr& store);
  Task<void> pause_if_due(int64_t* slice_end);

  // Truncating.
  static TruncatedSSTables sstables_of(const TableStorePtr& store, bool with_shared);
  Task<TruncationCommit> commit_removal(TableStorePtr store, TruncatedSSTables gone);
  Task<Result<CommitLogPosition>> discard_all(TableStorePtr store, TruncationCommit commit);

  Task<Status> snapshot_store(TableStorePtr store, SnapshotRequest request);
  // Before a table goes, by DROP or TRUNCATE; `schema` has it.
  SnapshotRequest automatic_snapshot(std::string tag, const Schema& schema, const TableMetadata& table) const;
  struct IndexBuild;
  Task<Status> fill_index(TableStorePtr table, TableStorePtr index, std::string name);
  Task<Status> empty_index(TableStorePtr table, TableStorePtr index);
  Status build_index_page(TableStore& store, IndexBuild& build);
  Task<void> wait_to_build(const IndexBuild* build);
  void tell_index_builds(std::vector<RunningCompaction>* out) const;
  size_t stop_index_builds(const std::function<bool(const RunningCompaction&)>& which);

  // Compacting. The caller of run_compaction() has the store's compaction_mutex, and a compactor's slot.
  struct CompactionRun {
    TableStorePtr store;
    std::string path;                // of most inputs, or of most outputs
    std::vector<SSTablePtr> inputs;  // not empty
    CompactionOperation operation = CompactionOperation::kCompaction;
    uint32_t group = 0;                                     // of the inputs, where a strategy chose them
    bool is_automatic = false;                              // a major compaction ends it
    bool unread = false;                                    // the inputs go, and nothing is written
    bool purges = true;                                     // tombstones that nothing needs go
    bool skips_rows = true, skips_cells = false;            // as SSTableRewrite has them
    std::function<bool(const DecoratedKey&)> purges_young;  // tombstones of these partitions go before gc_grace_seconds
    OutputLimits limits;
    std::optional<SSTableVerification> verification;  // nothing is written
    std::optional<SSTableScrubOrder> scrub;
    bool goes_on = false;                                // after a failure, with the next run of the order
    std::optional<OwnedTokens> owned;                    // of a cleanup: what stays
    std::shared_ptr<bool> has_cleaned;                   // of a cleanup: set when something went
    bool is_split = false;                               // among the shards
    bool is_import = false;                              // a split of SSTables that the table does not have yet
    bool is_placed = false;                              // of such in the table's own directory
    bool resets_level = false, clears_repaired = false;  // of its parts
    bool stopped = false;                                // somebody wants it to end
    // While it runs.
    int64_t begun = 0, slice_begun = 0;
    double core_share = 0.5;  // when the shard has other work
    int64_t share_asked = 0;
    int64_t owed_nanos = 0;  // to the shard's other work; below zero: it has had more than its part
    bool log_may_hold_inputs = true;
    int64_t oldest_segment = std::numeric_limits<int64_t>::min();  // of the log; no older one comes back
    std::unique_ptr<SSTableTransaction> transaction;
    CompactionRecord record;
    SSTableMergeProgress progress;
    uint64_t bytes_done = 0;  // of record.bytes_in, estimated
    std::optional<OutputPlacement> placement;
    std::optional<OutputCutter> cutter;
    std::unique_ptr<RowShare> rows;
    std::vector<SSTablePtr> outputs;  // once it has ended
  };
  static std::string operation_name(CompactionOperation operation);
  // The runs of an order on a table, one after the other, chosen once the table is free of other compactions.
  using Plan = std::function<std::vector<CompactionRun>(const TableStorePtr& store)>;
  Task<Status> run_on_all(Stores stores, Plan plan);
  Task<Status> run_on(TableStorePtr store, Plan plan);
  // Whether an input must not be compacted again: it is damaged, or has a row that is too large. The error names it.
  static bool is_of_input(const CompactionRun& run, const Status& failure);
  static Result<std::vector<std::unique_ptr<PartitionReader>>> newer_data(const CompactionRun& run,
                                                                          const DecoratedKey& key);
  bool is_current(const SSTableDescriptor& descriptor) const;
  bool wants(const SSTableRewrite& rewrite, const TableStore& store, const LiveSSTable& live) const;
  std::vector<CompactionRun> plan_rewrite(const TableStorePtr& store, const SSTableRewrite& rewrite) const;
  Status left_as_they_are(const Stores& stores, const SSTableRewrite& rewrite) const;
  Task<Status> clean(TableStorePtr store, SSTableRewrite rewrite);
  std::vector<CompactionRun> plan_cleanup_of_index(const TableStorePtr& index, const OwnedTokens& owned) const;
  Task<Result<bool>> needs_cleanup(CompactionRun* run);
  Task<Status> clean_one(CompactionRun* run);
  std::vector<CompactionRun> plan_by_strategy(const TableStorePtr& store, const CompactionScope& scope) const;
  Task<Status> run_one(CompactionRun* run);
  Task<Status> run_compaction(CompactionRun* run);
  Task<Status> merge_and_commit(CompactionRun* run);
  bool skips_garbage(CompactionRun* run) const;
  // A fresh name for the output that begins with this token.
  SSTableDescriptor name_output(CompactionRun* run, Token first);
  SSTableMerge make_merge(CompactionRun* run);
  std::vector<std::pair<CommitLogPosition, CommitLogPosition>> own_intervals(const CompactionRun& run) const;
  Task<void> leave_core_to_requests(CompactionRun* run);
  Task<Status> pause_compaction(CompactionRun* run);
  Task<Status> read_ahead(const std::vector<SSTablePtr>* sstables);
  static RunningCompaction described(const CompactionRun& run);
  static uint64_t bytes_done(const CompactionRun& run);
  Status may_go_on(const CompactionRun& run) const;
  // Has the store's compaction_mutex.
  class CompactionGuard {
   public:
    explicit CompactionGuard(TableStorePtr store) : store_(std::move(store)), guard_(store_->compaction_mutex) {}
    ~CompactionGuard() {
      if (store_->relocations->closed()) store_->relocations = std::make_unique<Gate>();
    }
    CompactionGuard(const CompactionGuard&) = delete;
    CompactionGuard& operator=(const CompactionGuard&) = delete;
    const TableStorePtr& store() const { return store_; }

   private:
    TableStorePtr store_;
    AsyncMutex::Guard guard_;
  };
  using CompactionGuards = std::vector<std::unique_ptr<CompactionGuard>>;
  // From begin_truncation() to end_truncation(). A coroutine keeps it: an engine that goes must not hand on its mutexes.
  struct HeldTable {
    explicit HeldTable(const TableStorePtr& held) : store(held), flushes(held->flush_mutex) {}
    TableStorePtr store;
    AsyncMutex::Guard flushes;
    CompactionGuards compactions;
    Promise<bool> ended;
  };
  static Task<void> keep(std::unique_ptr<HeldTable> held);
  HeldTable& held(const TableMetadata& table);
  Task<Result<TruncatedSSTables>> hold(TablePtr table, std::string snapshot_tag);
  // Compactions of the table and of its indexes end; what is returned keeps others from beginning, and other shards from
  // giving it a part of a split SSTable.
  Task<CompactionGuards> end_compactions(TableStorePtr store);
  Task<Status> settle(TableStorePtr store);
  Task<Status> end_transaction(SSTableTransaction* transaction);
  bool log_may_hold(const std::vector<SSTablePtr>& sstables) const;
  bool may_purge(const CompactionRun& run) const;
  bool may_purge(const TableStore& store) const;
  bool has_foreign_segments() const;
  bool is_compactable(const LiveSSTable& live) const;
  static int64_t oldest_outside(const TableStore& store, const DecoratedKey& key);
  Error compaction_failure(const TableStore& store, const Error& cause);
  CompactionRecord begin_record(const TablePtr& table, const std::vector<SSTablePtr>& inputs);
  Task<void> keep_record(CompactionRecord record);

  // Verifying.
  std::vector<CompactionRun> plan_verify(const TableStorePtr& store, const SSTableVerification& order) const;
  Task<Status> verify_one(CompactionRun* run);
  Task<Status> verify_files(CompactionRun* run, std::shared_ptr<SSTableVerifier> verifier);
  Task<Status> verify_in_slices(CompactionRun* run, SSTableVerifier* verifier);
  Task<bool> make_unrepaired(SSTablePtr sstable);
  Error found_damage(const std::string& name, const Error& finding, bool is_unrepaired, bool invokes_policy);

  // Importing.
  Status check_import_directory(const std::string& directory) const;
  Task<std::vector<std::string>> import_directories(TableStorePtr store, const SSTableImport* order);
  Task<Result<std::vector<SSTablePtr>>> open_for_import(TableStorePtr store, const SSTableImport* order,
                                                        std::string directory);
  bool has_already(const TableStore& store, const SSTable& sstable) const;
  Task<Status> verify_for_import(TableStorePtr store, const SSTableImport* order, SSTablePtr sstable);
  Task<Status> import_all(TableStorePtr store, std::vector<SSTablePtr> sstables, const SSTableImport* order);
  Task<Status> run_import(CompactionRun* run);
  Task<Status> load_placed(TableStorePtr store, std::string path);
  Task<Result<std::vector<SSTablePtr>>> find_placed(TableStorePtr store, std::string path);
  Task<Status> leave_out_known(TableStorePtr store, std::vector<SSTableDescriptor>* descriptors);

  // Scrubbing.
  std::vector<CompactionRun> plan_scrub(const TableStorePtr& store, const SSTableScrubOrder& order, Status* unopened);
  Task<Result<SSTableMergeResult>> scrub_one(CompactionRun* run);
  Task<Status> rebuild_indexes(TableStorePtr store);

  // Automatic compaction.
  // The SSTables that a strategy sees. The id of a candidate is its place among them, oldest first.
  struct CompactionSight {
    std::vector<SSTablePtr> sstables;
    std::vector<CompactionCandidate> candidates;
    CompactionView view;
  };
  static Stores with_indexes(const Stores& tables);
  void ask_for_compaction(const TableStorePtr& store);
  void ask_all_for_compaction();
  void ask_every_minute();
  bool may_compact_automatically(const TableStore& store) const;
  Task<void> compact_automatically(TableStorePtr store);
  Task<bool> compact_next(TableStorePtr store);
  std::set<uint32_t> groups_of(const TableStore& store) const;
  uint32_t pending_tasks(const TableStore& store) const;
  void look_at(const TableStore& store, uint32_t group, CompactionSight* sight) const;
  // SSTables in directories that are passed over.
  void leave_out_unwritable(const TableStore& store, CompactionSight* sight) const;
  std::vector<SSTablePtr> droppable_unread(const TableStore& store, const CompactionSight& sight,
                                           const std::vector<uint64_t>& inputs) const;
  bool are_still_droppable(const CompactionRun& run) const;
  bool prepare(const TableStorePtr& store, const CompactionSight& sight, CompactionTask& task, CompactionRun* run);
  std::optional<uint64_t> room_for_compaction(const std::string& path) const;
  bool fit_to_space(const CompactionSight& sight, const CompactionRun& run, CompactionTask& task);

  // Relocating.
  struct Relocation {
    SharedSSTable shared;
    TableStorePtr store;
    SSTablePtr part;  // null: no keys
  };
  TableStorePtr find(const SharedSSTable& shared) const;
  static SSTablePtr find_live(const TableStore& store, const SSTableDescriptor& descriptor);
  bool has_to_split(const LiveSSTable& live) const;
  bool has_to_split(const Stores& tables) const;
  Task<Status> relocate_all(TableStorePtr store);
  Task<Status> relocate_one(TableStorePtr store, SSTablePtr sstable);
  Task<void> run_relocations();
  static bool has_to_change(const TableStore& store, const SharedSSTable& shared);
  Task<Status> split_one(CompactionRun* run);
  // An SSTable and its parts' ids by shard; empty: the shard has no keys in it.
  struct SplitSSTable {
    SharedSSTable shared;
    std::vector<std::string> ids;
  };
  Task<Status> split_and_commit(CompactionRun* run);
  Task<Result<SplitSSTable>> split_input(CompactionRun* run, SSTablePtr input);
  std::vector<SSTableDescriptor> parts_of(const std::vector<SplitSSTable>& split) const;
  Task<Status> hand_over(CompactionRun* run, std::vector<SplitSSTable> split);
  Task<Result<std::vector<std::string>>> ask_for_ids(SharedSSTable shared);
  Task<Status> on_every_engine(std::function<Status(unsigned, Engine&)> work);

  ShardRuntime& runtime_;
  unsigned shard_;
  unsigned shard_count_;
  EngineOptions options_;
  SSTableOwner self_;
  SegmentWriter self_writer_;
  SSTableIds ids_;
  CommitLog log_;
  uint64_t records_of_counts_ = 0;  // of the log, up to the last sum of a counter that this node made
  ChunkCache chunk_cache_;
  mutable RowShare row_share_;  // of all reads: each lets go of its rows at the end of its turn
  SchemaPtr schema_;
  Stores gone_indexes_;
  std::vector<std::string> unbuilt_;  // directories of indexes whose marks are removed, but not yet durably
  bool has_all_tables_ = false;       // of schema_; an open that failed is tried again with the next schema
  absl::flat_hash_map<Uuid, TableStorePtr, UuidHash> stores_;
  std::vector<std::string> foreign_segments_;
  std::set<std::string> damaged_segments_;         // replayed in part
  std::map<std::string, bool> headless_segments_;  // this shard's; whether there is something in it
  std::map<Uuid, UnknownTable> unknown_tables_;    // those that the replay meets
  LogQuota tombstone_lines_, damage_lines_;
  uint64_t replayed_mutations_ = 0, replayed_bytes_ = 0;  // by one replay()
  int64_t highest_flushed_segment_ = 0;                   // as the SSTables that were loaded say

  std::map<size_t, int64_t> unwritable_until_;  // data directories, and when they are tried again

  bool started_ = false;
  bool replaying_ = true;
  bool refusing_ = false;
  CommitLogPosition replayed_;  // of our own segments

  std::optional<HugeChunkReserve> reserve_;  // for memtables, once started
  uint64_t active_bytes_ = 0, flushing_bytes_ = 0;
  uint64_t tell_at_ = 0;  // the active bytes of which the budget has to know
  std::deque<Promise<bool>*> memory_waiters_;
  Arena write_arena_{4096};
  Arena index_arena_{4096};
  ColdReads* cold_ = nullptr;       // of the read whose turn it is; null: what is read now may wait for the disk
  const PageRest* page_ = nullptr;  // likewise; null: partitions are read as they are now
  Histogram disk_wait_micros_;
  Arena read_arena_{4096};
  Arena row_arena_{4096};                  // of the row that goes from memtables and SSTables to the sink
  std::vector<BytesView> memtable_views_;  // of such a row that is plain
  uint64_t flushes_completed_ = 0, flushes_pending_ = 0, compactions_pending_ = 0;
  Meter compactions_completed_{runtime_.clock.monotonic_nanos()};
  const OwnedRanges ranges_;
  CompactorSlots compactor_slots_;
  CompactionThroughput compaction_throughput_;
  int64_t compacted_nanos_ = 0;  // that slices of compactions took
  std::vector<CompactionRun*> running_;
  std::vector<IndexBuild*> index_builds_;  // under way
  bool asks_every_minute_ = false;
  std::vector<Relocation> relocations_;  // that wait for the commit of another shard
  std::vector<HeldTable*> held_;
  bool relocating_ = false, relocation_waits_ = false;
  uint64_t compactions_aborted_ = 0, compactions_reduced_ = 0, sstables_left_out_ = 0;
  uint64_t bytes_compacted_ = 0, compressed_bytes_compacted_ = 0;
  Gate gate_;
  Turns turns_{runtime_.executor};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cassandra_like
