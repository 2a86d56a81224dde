#include "storage/engine/logged_batches.h"

#include <fmt/format.h>

#include "base/log.h"
#include "storage/commitlog/commit_log.h"
#include "storage/compaction/scrub_sstable.h"
#include "storage/engine/engine.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_transaction.h"

namespace cassandra_like {

namespace {

// A node with one shard: the shards that there are now read each the keys of its own, in the log and in SSTables.
constexpr SSTableOwner kOnlyShard{0, 1};
constexpr SegmentWriter kOnlyWriter{0, 1};

class Moving {
 public:
  Moving(ShardRuntime& runtime, const EngineOptions& options, TablePtr table)
      : runtime_(runtime),
        options_(options),
        table_(std::move(table)),
        ids_(runtime.clock, runtime.random, kOnlyShard) {}

  Task<Status> run() {
    for (const std::string& data : options_.data_directories) {
      const std::string directory = fmt::format("{}/{}/{}", data, table_->keyspace, table_->directory_name());
      if (!runtime_.disk.exists(directory)) continue;
      Status moved = co_await move_all(directory);
      if (!moved.ok()) co_return moved;
    }
    co_return Status();
  }

 private:
  std::string next_id() { return options_.sequence_ids ? sequence_.next(kOnlyShard) : ids_.next(); }

  Uuid transaction_id() {
    return Uuid::time_based(kUuidEpochOffset + static_cast<uint64_t>(runtime_.clock.wall_micros()) * 10,
                            runtime_.random.next());
  }

  Task<Status> move_all(std::string directory) {
    CO_TRY(note_sequence_numbers(runtime_.disk, directory, &sequence_));
    CO_ASSIGN_OR_RETURN(const auto found, find_sstables(runtime_.disk, directory));
    std::vector<SSTablePtr> inputs;
    for (const SSTableOnDisk& files : found) {
      if (!is_supported_format(files.descriptor) || files.is_unfinished() || !files.has(components::kData)) continue;
      // One that is damaged is the matter of the engines.
      auto input = SSTable::open_damaged(runtime_.disk, files.descriptor, table_);
      if (input.ok()) inputs.push_back(std::move(*input));
    }
    if (inputs.empty()) co_return Status();
    CommitLog log(runtime_, commit_log_options(options_, kOnlyWriter));
    CO_TRY(note_segments(log));
    Status logged;
    for (const SSTablePtr& input : inputs) {
      if (logged.ok()) logged = co_await move_one(&log, directory, input);
    }
    if (logged.ok()) logged = co_await log.sync();
    co_await log.stop();
    if (!logged.ok()) co_return logged;
    SSTableTransaction removal(runtime_.disk, "scrub", transaction_id());
    std::vector<SSTableDescriptor> obsolete;
    for (const SSTablePtr& input : inputs) obsolete.push_back(input->info().descriptor);
    CO_TRY(co_await removal.commit(std::move(obsolete)));
    co_return co_await removal.finish();
  }

  Status note_segments(CommitLog& log) {
    ASSIGN_OR_RETURN(auto entries, runtime_.disk.list(options_.commitlog_directory));
    for (const DirectoryEntry& entry : entries) {
      if (auto id = segment_id_of(entry.name)) log.set_newest_id(*id);
    }
    return {};
  }

  Task<Status> move_one(CommitLog* log, std::string directory, SSTablePtr input) {
    const std::string file = input->info().descriptor.file(components::kData);
    LOG_INFO("Moving the logged batches of {} to the commit log", file);
    Status moved;
    if (input->is_in_token_order()) {
      moved = log_as_it_lies(*log, input->info().descriptor);
    } else {
      moved = co_await log_in_order(log, directory, input);
    }
    if (moved.ok()) co_return moved;
    co_return Error(moved.error().code(),
                    fmt::format("Cannot take over the logged batches in {}: {}", file, moved.error().message()));
  }

  Status log_as_it_lies(CommitLog& log, const SSTableDescriptor& descriptor) {
    ASSIGN_OR_RETURN(auto sstable, SSTable::open(runtime_.disk, descriptor, table_));
    ASSIGN_OR_RETURN(auto scanner, sstable->scan(table_, KeyRange{}, SliceSelection{}));
    while (true) {
      ASSIGN_OR_RETURN(PartitionReader * partition, scanner->next());
      if (partition == nullptr) return {};
      MergedPartition merged(std::span(&partition, 1), false);
      LoggedBatch batch;
      TRY(batch.read(*table_, merged));
      LogTable* const table = &logged_;
      const PartitionUpdate& update = batch.update();
      TRY(log.append(Mutation{table_->keyspace, update.key, {&update, 1}}, {&table, 1}));
    }
  }

  // A scrub puts the partitions in the order of tokens. Its SSTables are void once the log has them.
  Task<Status> log_in_order(CommitLog* log, std::string directory, SSTablePtr input) {
    SSTableTransaction transaction(runtime_.disk, "scrub", transaction_id());
    SSTableScrub scrub;
    scrub.table = table_;
    scrub.input = input;
    scrub.transaction = &transaction;
    scrub.next_output = [&](Token) { return SSTableDescriptor::of(options_.sstable_version, directory, next_id()); };
    scrub.pause = [] { return Task<Status>(Status()); };
    scrub.host_id = input->info().originating_host;
    scrub.owner = kOnlyShard;
    scrub.row_index_granularity = row_index_granularity(options_);
    SSTableMergeProgress progress;
    auto scrubbed = co_await scrub_sstable(&runtime_, &scrub, &progress);
    Status status = scrubbed.ok() ? Status() : Status(std::move(scrubbed.error()));
    if (status.ok() && scrubbed->bad_partitions > 0) {
      status = Error(ErrorCode::kCorruption,
                     fmt::format("{} of them cannot be read. Bring back the file, or move all files {}* away and do "
                                 "without these batches",
                                 scrubbed->bad_partitions, input->info().descriptor.file("")));
    }
    for (size_t i = 0; status.ok() && i < scrubbed->outputs.size(); ++i) {
      status = log_as_it_lies(*log, scrubbed->outputs[i].descriptor);
    }
    Status ignored = co_await transaction.abort();  // if that fails, the next start does it
    co_return status;
  }

  ShardRuntime& runtime_;
  const EngineOptions& options_;
  const TablePtr table_;
  SSTableIds ids_;
  SSTableSequence sequence_;
  LogTable logged_{table_->id};
};

}  // namespace

bool is_batchlog(const TableMetadata& table) { return table.keyspace == "system" && table.name == "batches"; }

Status LoggedBatch::read(const TableMetadata& table, MergedPartition& partition) {
  while (true) {
    ASSIGN_OR_RETURN(const Unfiltered* at, partition.next());
    if (at == nullptr) break;
    if (at->is_row) rows_.push_back(copy_row(at->row, arena_));
  }
  update_ = {&table, partition.key(), partition.partition_deletion(), {}, rows_, {}};
  return {};
}

// The open batches come to the log behind the others, and to the memtable that takes writes now; that may have their deletion by
// then. The log must have them before the segments go that had them until now.
Task<bool> Engine::keep_open_batches(TableStorePtr store, std::shared_ptr<Memtable> memtable) {
  // The log must have room for more than them, and so must the memory.
  const uint64_t most = std::min<uint64_t>(options_.memtables->share() / 8, options_.commitlog_segment_bytes);
  // The deletion of a batch that has ended hides nothing, unless SSTables or an older memtable have the batch.
  const bool keeps_deletions = !store->sstables.empty() || store->has_unread() || store->flushing.front() != memtable;
  uint64_t kept = 0;  // of memory: clients write to the same memtable meanwhile
  store->kept_bytes = 0;
  int64_t slice_end = runtime_.clock.monotonic_nanos() + kSliceNanos;
  for (const MemtablePartition& partition : memtable->partitions()) {
    std::vector<std::unique_ptr<PartitionReader>> source;
    source.push_back(memtable->read(partition, {}));
    MergedPartition merged(std::move(source), false);
    LoggedBatch batch;
    if (!batch.read(*memtable->table(), merged).ok()) co_return false;
    if (!batch.is_open() && !keeps_deletions) continue;
    const PartitionUpdate& update = batch.update();
    TableStore* const batches = store.get();
    if (!log_mutation(Mutation{store->table->keyspace, update.key, {&update, 1}}, {&batches, 1}, {}).ok())
      co_return false;
    const uint64_t before = store->memtable->memory_used();
    apply_to(*store, update);
    kept += store->memtable->memory_used() - before;
    if (kept > most) co_return false;
    co_await pause_if_due(&slice_end);
  }
  const Status synced = co_await log_.sync_records();
  if (!synced.ok()) co_return false;
  store->kept_bytes = kept;
  store->forget_flushed(memtable);
  co_return true;
}

Task<Status> log_batches_of_sstables(ShardRuntime* runtime, EngineOptions options, TablePtr table) {
  Moving moving(*runtime, options, std::move(table));
  co_return co_await moving.run();
}

}  // namespace cassandra_like
