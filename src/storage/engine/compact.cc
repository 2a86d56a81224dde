// Running a compaction: SSTables of one directory become others, or none, in one transaction.
//
// Shadowed data goes, and tombstones that nothing needs any more. Files that all shards share are left alone: no shard may
// remove them. They count as holders of older data, as does all else that the compaction does not read: other SSTables,
// memtables, memtables that are being flushed. Nothing is purged
// - while an SSTable of the table is not used because it is damaged, or one that is void could not be removed;
// - while segments of another owner's log are there: what they hold may come back, and no interval of ours says that it must not;
// - of tables whose log is replayed whole, whatever their SSTables say, until the log is behind the inputs.
// An output says which parts of the commit log its inputs hold. So there is one, with a tombstone in it, as long as segments of
// these parts are there.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/memory_text.h"
#include "storage/compaction/merge_sstables.h"
#include "storage/engine/engine_impl.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

Task<Status> EngineImpl::compact(TableSelection selection) {
  for (TableStorePtr& store : select(selection)) {
    Stores all;
    all.push_back(store);
    for (const auto& index : store->indexes) all.push_back(index->store);
    for (TableStorePtr& one : all) {
      Status compacted = co_await compact_store(one);
      if (!compacted.ok()) co_return compacted;
    }
  }
  co_return Status();
}

Task<Status> EngineImpl::compact_store(TableStorePtr store) {
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  ++compactions_pending_;
  Status status;
  {
    co_await store->compaction_mutex.lock();
    AsyncMutex::Guard guard(store->compaction_mutex);
    for (size_t i = 0; i < store->paths.size() && status.ok() && !store->dropped; ++i) {
      std::vector<SSTablePtr> inputs;
      for (const LiveSSTable& live : store->sstables) {
        if (!live.foreign && live.sstable->info().descriptor.directory == store->paths[i]) {
          inputs.push_back(live.sstable);
        }
      }
      if (inputs.empty()) continue;
      CompactionRun run;
      run.store = store;
      run.path = store->paths[i];
      run.inputs = std::move(inputs);
      run.operation = "majorcompaction";
      status = co_await run_compaction(&run);
    }
  }
  --compactions_pending_;
  ++compactions_completed_;
  gate_.leave();
  co_return status;
}

CompactionRecord EngineImpl::begin_record(const TablePtr& table, const std::vector<SSTablePtr>& inputs) {
  CompactionRecord record;
  record.table = table;
  for (const SSTablePtr& input : inputs) record.bytes_in += input->info().data_bytes;
  const uint64_t now = static_cast<uint64_t>(runtime_.clock.wall_micros()) * 10 + kUuidEpochOffset;
  constexpr uint64_t kVariant = uint64_t{1} << 63, kVariantBits = uint64_t{3} << 62, kMulticast = uint64_t{1} << 40;
  do {
    record.id = Uuid::time_based(now, (runtime_.random.next() & ~kVariantBits) | kVariant | kMulticast);
  } while (!is_mine(DecoratedKey::of(record.id.view()).token));
  return record;
}

Task<void> EngineImpl::keep_record(CompactionRecord record) {
  if (!options_.record_compaction) co_return;
  record.ended_millis = runtime_.clock.wall_millis();
  const std::string name = record.table->qualified_name();
  Task<Status> task = options_.record_compaction(std::move(record));
  Status kept = co_await task;
  if (!kept.ok()) LOG_WARN("A compaction of {} is not in the history: {}", name, kept.error().message());
}

// A full disk or a damaged input ends this compaction, not the node.
Error EngineImpl::compaction_failure(const TableStore& store, const Error& cause) {
  const std::string what = fmt::format("Failed to compact {}", store.table->qualified_name());
  if (cause.code() == ErrorCode::kIo) return disk_failure(cause, what);
  Error error(cause.code(), fmt::format("{}: {}", what, cause.message()));
  if (cause.code() == ErrorCode::kClosed) {
    LOG_INFO("{}", error.message());
  } else {
    LOG_ERROR("{}", error.message());
  }
  return error;
}

// Removes the files that failed flushes and compactions have left.
Task<Status> EngineImpl::settle(TableStorePtr store) {
  if (!store->leftovers.empty()) {
    Status removed = store->remove_leftovers(runtime_.disk);
    if (!removed.ok()) LOG_WARN("{}", removed.error().message());
    for (const std::string& path : store->paths) {
      Status synced = co_await runtime_.disk.sync_directory(path);
      if (!synced.ok()) co_return synced;
    }
  }
  for (auto& transaction : store->unfinished) {
    Status ended = co_await end_transaction(transaction.get());
    if (!ended.ok() && transaction->is_in_doubt()) co_return ended;
    if (!ended.ok()) LOG_WARN("{}", ended.error().message());
  }
  std::erase_if(store->unfinished, [](const auto& transaction) { return transaction->is_ended(); });
  co_return Status();
}

Task<Status> EngineImpl::end_transaction(SSTableTransaction* transaction) {
  return transaction->is_committed() ? transaction->finish() : transaction->abort();
}

// Whether segments are there that hold what these SSTables hold.
bool EngineImpl::log_may_hold(const std::vector<SSTablePtr>& sstables) const {
  const int64_t oldest = log_.oldest_id();
  for (const SSTablePtr& sstable : sstables) {
    for (const auto& [from, to] : sstable->info().commit_log_intervals) {
      if (to.segment >= oldest) return true;
    }
  }
  return false;
}

namespace {

bool purges_only_repaired(const TableMetadata& table) {
  auto option = table.params.compaction.find("only_purge_repaired_tombstones");
  return option != table.params.compaction.end() && option->second == "true";
}

}  // namespace

bool EngineImpl::may_purge(const CompactionRun& run) const {
  const TableStore& store = *run.store;
  if (store.has_unread || !store.leftovers.empty()) return false;
  for (const auto& transaction : store.unfinished) {
    if (transaction->may_bring_back()) return false;
  }
  for (const std::string& segment : foreign_segments_) {
    if (runtime_.disk.exists(segment)) return false;
  }
  if (store.is_replayed_whole && run.log_may_hold_inputs) return false;
  if (!purges_only_repaired(*store.table)) return true;
  auto is_repaired = [](const SSTablePtr& input) { return input->info().repaired_at != 0; };
  return std::all_of(run.inputs.begin(), run.inputs.end(), is_repaired);
}

// CompactionController.getPurgeEvaluator
int64_t EngineImpl::oldest_outside(const TableStore& store, const DecoratedKey& key) {
  int64_t oldest = PurgeRules::kNothingOutside;
  const HashedKey hashed = key;
  for (const LiveSSTable& live : store.sstables) {
    if (!live.compacting && live.sstable->may_contain(hashed)) {
      oldest = std::min(oldest, live.sstable->info().min_timestamp);
    }
  }
  auto look_at = [&](const Memtable& memtable) {
    if (memtable.find(key) != nullptr) oldest = std::min(oldest, memtable.stats().min_timestamp);
  };
  look_at(*store.memtable);
  for (const auto& flushing : store.flushing) look_at(*flushing);
  return oldest;
}

Task<Status> EngineImpl::pause_compaction(CompactionRun* run) {
  co_await runtime_.executor.yield();
  if (gate_.closed()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  if (run->stopped || run->store->dropped || run->store->compaction_interrupts != 0) {
    co_return Error(ErrorCode::kClosed, "Compaction interrupted");
  }
  co_return Status();
}

SSTableMerge EngineImpl::make_merge(CompactionRun* run) {
  SSTableMerge merge;
  merge.table = run->store->table;
  merge.inputs = run->inputs;
  merge.transaction = run->transaction.get();
  merge.host_id = options_.host_id;
  merge.row_index_granularity = options_.column_index_bytes;
  merge.must_write = run->log_may_hold_inputs;
  merge.purge.now_seconds = runtime_.clock.wall_seconds();
  if (may_purge(*run)) merge.purge.gc_before = merge.purge.now_seconds - merge.table->params.gc_grace_seconds;
  merge.purge.oldest_outside = [run](const DecoratedKey& key) { return oldest_outside(*run->store, key); };
  merge.next_output = [this, run] {
    SSTableDescriptor output;
    output.directory = run->path;
    output.id = ids_.next();
    return output;
  };
  merge.pause = [this, run] { return pause_compaction(run); };
  return merge;
}

Task<Status> EngineImpl::run_compaction(CompactionRun* run) {
  Status settled = co_await settle(run->store);
  if (!settled.ok()) co_return compaction_failure(*run->store, settled.error());
  run->begun = runtime_.clock.monotonic_nanos();
  run->record = begin_record(run->store->table, run->inputs);
  run->transaction = std::make_unique<SSTableTransaction>(runtime_.disk, run->path, run->operation, run->record.id);
  run->store->set_compacting(run->inputs, true);
  Status status = co_await merge_and_commit(run);
  run->store->set_compacting(run->inputs, false);
  if (!status.ok()) status = compaction_failure(*run->store, status.error());
  Status ended = co_await end_transaction(run->transaction.get());
  if (!ended.ok()) {
    LOG_WARN("The files of a compaction of {} are removed later: {}", run->store->table->qualified_name(),
             ended.error().message());
    run->store->unfinished.push_back(std::move(run->transaction));
  }
  if (status.ok()) co_await keep_record(std::move(run->record));
  co_return status;
}

// Reads and the disk change over together: nothing waits between the end of the commit and the swap.
Task<Status> EngineImpl::merge_and_commit(CompactionRun* run) {
  // Segments that were removed must not come back after what their records were purged for.
  run->log_may_hold_inputs = log_may_hold(run->inputs);
  Status synced = co_await runtime_.disk.sync_directory(options_.commitlog_directory);
  if (!synced.ok()) co_return synced;
  const SSTableMerge merge = make_merge(run);
  Result<SSTableMergeResult> merged = co_await merge_sstables(&runtime_, &merge, &run->progress);
  if (!merged.ok()) co_return std::move(merged.error());
  std::vector<SSTablePtr> outputs;
  for (const SSTableInfo& info : merged->outputs) {
    CO_ASSIGN_OR_RETURN(auto sstable,
                        open_written_sstable(runtime_.disk, info.descriptor, run->store->table, &chunk_cache_));
    run->record.bytes_out += sstable->info().data_bytes;
    outputs.push_back(std::move(sstable));
  }
  std::vector<SSTableDescriptor> obsolete;
  for (const SSTablePtr& input : run->inputs) obsolete.push_back(input->info().descriptor);
  if (run->store->dropped) co_return Error(ErrorCode::kClosed, "The table was dropped");
  Status committed = co_await run->transaction->commit(std::move(obsolete));
  if (!committed.ok()) co_return committed;
  if (run->store->dropped && run->store->table->is_index) {
    // An index does not wait for this when it goes.
    for (const SSTablePtr& output : outputs) CO_TRY(remove_sstable(runtime_.disk, output->info().descriptor));
    outputs.clear();
  }
  run->store->remove_sstables(run->inputs);
  for (SSTablePtr& output : outputs) run->store->add_sstable(std::move(output), self_);
  run->record.merged_partitions = std::move(merged->merged_partitions);
  for (const SSTablePtr& input : run->inputs) bytes_compacted_ += input->info().uncompressed_bytes;
  compressed_bytes_compacted_ += run->record.bytes_in;
  std::string names;
  for (const SSTableInfo& info : merged->outputs)
    names += (names.empty() ? "" : ", ") + info.descriptor.file("Data.db");
  LOG_INFO("Compacted {} sstables of {} to [{}]: {} to {} in {} ms", run->inputs.size(), merge.table->qualified_name(),
           names, memory_text(run->record.bytes_in), memory_text(run->record.bytes_out),
           (runtime_.clock.monotonic_nanos() - run->begun) / 1'000'000);
  co_return Status();
}

}  // namespace cassandra_like
