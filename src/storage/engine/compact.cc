// Running a compaction: SSTables become others, or none, in one transaction. The outputs lie where their tokens belong.
//
// Shadowed data goes, and tombstones that nothing needs any more. Files that several shards share are left alone: relocate.cc splits
// them. They count as holders of older data, as does all else that the compaction does not read: other SSTables,
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
#include "storage/compaction/slice.h"
#include "storage/engine/engine.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {

struct OperationType {
  std::string_view constant, text;
};

constexpr OperationType type_of(CompactionOperation operation) {
  switch (operation) {
    case CompactionOperation::kMajor:
      return {"MAJOR_COMPACTION", "Major compaction"};
    case CompactionOperation::kTombstones:
      return {"TOMBSTONE_COMPACTION", "Tombstone Compaction"};
    case CompactionOperation::kRelocate:
      return {"RELOCATE", "Relocate sstables to correct disk"};
    case CompactionOperation::kUpgrade:
      return {"UPGRADE_SSTABLES", "Upgrade sstables"};
    case CompactionOperation::kGarbageCollect:
      return {"GARBAGE_COLLECT", "Remove deleted data"};
    case CompactionOperation::kVerify:
      return {"VERIFY", "Verify"};
    case CompactionOperation::kCleanup:
      return {"CLEANUP", "Cleanup"};
    case CompactionOperation::kScrub:
      return {"SCRUB", "Scrub"};
    case CompactionOperation::kIndexBuild:
      return {"INDEX_BUILD", "Secondary index build"};
    case CompactionOperation::kCompaction:
      break;
  }
  return {"COMPACTION", "Compaction"};
}

}  // namespace

std::string operation_text(CompactionOperation operation) { return std::string(type_of(operation).text); }
std::string operation_constant(CompactionOperation operation) { return std::string(type_of(operation).constant); }

Task<Status> Engine::compact(TableSelection selection, CompactionScope scope) {
  Plan plan = [this, scope = std::move(scope)](const TableStorePtr& store) { return plan_by_strategy(store, scope); };
  return run_on_all(with_indexes(select(selection)), std::move(plan));
}

// CompactionStrategyManager.getUserDefinedTasks and getMaximalTasks: each group of SSTables by itself.
std::vector<Engine::CompactionRun> Engine::plan_by_strategy(const TableStorePtr& store,
                                                            const CompactionScope& scope) const {
  std::vector<CompactionRun> runs;
  for (uint32_t group : groups_of(*store)) {
    CompactionSight sight;
    look_at(*store, group, &sight);
    std::vector<CompactionTask> tasks;
    if (scope.wants) {
      std::vector<uint64_t> wanted;
      for (const CompactionCandidate& candidate : sight.candidates) {
        if (candidate.group != group || candidate.shared) continue;
        if (scope.wants(*store->table, *sight.sstables[candidate.id])) wanted.push_back(candidate.id);
      }
      if (!wanted.empty()) tasks.push_back(store->compaction.strategy->user_defined(sight.view, std::move(wanted)));
    } else {
      tasks = store->compaction.strategy->major(sight.view, scope.split_output);
    }
    for (CompactionTask& task : tasks) {
      CompactionRun run;
      run.store = store;
      run.group = group;
      run.path = place_outputs(*store).directory(group / 2);
      run.operation = scope.operation;
      run.purges_young = scope.purges_young;
      run.limits = std::move(task.limits);
      for (uint64_t id : task.inputs) run.inputs.push_back(sight.sstables[id]);
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

Task<Status> Engine::run_on_all(Stores stores, Plan plan) {
  for (const TableStorePtr& store : stores) {
    Task<Status> task = run_on(store, plan);
    Status done = co_await task;
    if (!done.ok()) co_return done;
  }
  co_return Status();
}

Task<Status> Engine::run_on(TableStorePtr store, Plan plan) {
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  ++compactions_pending_;
  Status status;
  {
    // An automatic compaction of the table ends, and none begins.
    ++store->compaction.interrupts;
    co_await compactor_slots_.enter();
    CompactorSlots::Guard slot(compactor_slots_);
    co_await store->compaction_mutex.lock();
    AsyncMutex::Guard guard(store->compaction_mutex);
    --store->compaction.interrupts;
    std::vector<CompactionRun> runs = plan(store);
    for (CompactionRun& run : runs) {
      if (store->dropped) break;
      Status done = co_await run_one(&run);
      if (done.ok()) continue;
      const bool goes_on = run.goes_on && done.error().code() != ErrorCode::kClosed;
      if (status.ok()) status = std::move(done);
      if (!goes_on) break;
    }
  }
  --compactions_pending_;
  compactions_completed_.mark(runtime_.clock.monotonic_nanos());
  ask_for_compaction(store);
  gate_.leave();
  co_return status;
}

Task<Status> Engine::run_one(CompactionRun* run) {
  Status may = may_go_on(*run);
  if (!may.ok()) return may;
  if (run->verification) return verify_one(run);
  return run->owned ? clean_one(run) : run_compaction(run);
}

CompactionRecord Engine::begin_record(const TablePtr& table, const std::vector<SSTablePtr>& inputs) {
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

Task<void> Engine::keep_record(CompactionRecord record) {
  if (!options_.record_compaction) co_return;
  record.ended_millis = runtime_.clock.wall_millis();
  const std::string name = record.table->qualified_name();
  Task<Status> task = options_.record_compaction(std::move(record));
  Status kept = co_await task;
  if (!kept.ok()) LOG_WARN("A compaction of {} is not in the history: {}", name, kept.error().message());
}

// A full disk or a damaged input ends this compaction, not the node.
Error Engine::compaction_failure(const TableStore& store, const Error& cause) {
  const std::string what = fmt::format("Failed to compact {}", store.table->qualified_name());
  // An index does not wait for its compaction when it goes: files of its successor may lie in the same directory.
  if (cause.code() == ErrorCode::kIo && !store.dropped) return disk_failure(cause, what);
  Error error(cause.code(), fmt::format("{}: {}", what, cause.message()));
  if (cause.code() == ErrorCode::kClosed) {
    LOG_INFO("{}", error.message());
  } else {
    LOG_ERROR("{}", error.message());
    obey_paranoia(error);
  }
  return error;
}

bool Engine::is_of_input(const CompactionRun& run, const Status& failure) {
  if (failure.ok()) return false;
  const ErrorCode code = failure.error().code();
  return code == ErrorCode::kCorruption || (code == ErrorCode::kOverloaded && run.rows->is_too_large());
}

// Removes the files that failed flushes and compactions have left.
Task<Status> Engine::settle(TableStorePtr store) {
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

Task<Status> Engine::end_transaction(SSTableTransaction* transaction) {
  return transaction->is_committed() ? transaction->finish() : transaction->abort();
}

// Whether segments are there that hold what these SSTables hold.
bool Engine::log_may_hold(const std::vector<SSTablePtr>& sstables) const {
  const int64_t oldest = log_.oldest_id();
  for (const SSTablePtr& sstable : sstables) {
    for (const auto& [from, to] : sstable->info().commit_log_intervals) {
      if (to.segment >= oldest) return true;
    }
  }
  return false;
}

bool Engine::may_purge(const TableStore& store) const {
  if (store.has_unread() || !store.leftovers.empty()) return false;
  for (const auto& transaction : store.unfinished) {
    if (transaction->is_in_doubt()) return false;
  }
  return !has_foreign_segments();
}

bool Engine::has_foreign_segments() const {
  return std::any_of(foreign_segments_.begin(), foreign_segments_.end(),
                     [this](const std::string& segment) { return runtime_.disk.exists(segment); });
}

// An output cannot say which parts of another owner's log its inputs hold.
bool Engine::is_compactable(const LiveSSTable& live) const {
  return !live.shared && (live.writer == self_ || !has_foreign_segments());
}

bool Engine::may_purge(const CompactionRun& run) const {
  const TableStore& store = *run.store;
  if (!may_purge(store)) return false;
  if (store.is_replayed_whole && run.log_may_hold_inputs) return false;
  if (!store.compaction.options.only_purge_repaired_tombstones) return true;
  auto is_repaired = [](const SSTablePtr& input) { return input->info().repaired_at != 0; };
  return std::all_of(run.inputs.begin(), run.inputs.end(), is_repaired);
}

// CompactionController.getPurgeEvaluator
int64_t Engine::oldest_outside(const TableStore& store, const DecoratedKey& key) {
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

Status Engine::may_go_on(const CompactionRun& run) const {
  const TableStore& store = *run.store;
  if (gate_.closed()) return Error(ErrorCode::kClosed, "The node is stopping");
  const bool must_give_way = run.is_automatic && store.compaction.interrupts != 0;
  if (run.stopped || store.dropped || store.compaction_interrupts != 0 || must_give_way) {
    return Error(ErrorCode::kClosed, "Compaction interrupted");
  }
  return {};
}

// The share of partitions, or the bytes that are written: the larger, since one partition may be most of the data.
uint64_t Engine::bytes_done(const CompactionRun& run) {
  uint64_t partitions = 0;
  for (const SSTablePtr& input : run.inputs) partitions += input->info().partitions;
  const double all = static_cast<double>(run.record.bytes_in), read = static_cast<double>(run.progress.partitions_read);
  const double done = std::max(partitions == 0 ? 0 : all * read / static_cast<double>(partitions),
                               static_cast<double>(run.progress.bytes_written));
  return static_cast<uint64_t>(std::min(done, all));
}

// So that the slice that comes does not wait for the disk.
Task<Status> Engine::read_ahead(const std::vector<SSTablePtr>* sstables) {
  for (size_t i = 0; i < sstables->size(); ++i) CO_TRY(co_await (*sstables)[i]->read_ahead(runtime_.disk));
  co_return Status();
}

// After a slice the shard's other work goes first, until it has had its part of the core or wants no more. An order may have half
// of the core; an automatic compaction more, the more of them wait: reads and writes are slowed before SSTables become too many.
Task<void> Engine::leave_core_to_requests(CompactionRun* run) {
  constexpr int64_t kAskEveryNanos = 1'000'000'000;
  constexpr int64_t kIdleNanos = 5'000;         // between two turns of a shard that has nothing else to do
  constexpr int64_t kLongestSlice = 2'000'000;  // the rest was spent waiting for the disk
  int64_t now = runtime_.clock.monotonic_nanos();
  if (run->is_automatic && now >= run->share_asked + kAskEveryNanos) {
    run->core_share = compaction_core_share(pending_tasks(*run->store));
    run->share_asked = now;
  }
  const int64_t slice = std::min(now - run->slice_begun, kLongestSlice);
  compacted_nanos_ += slice;
  run->owed_nanos += static_cast<int64_t>(static_cast<double>(slice) * (1 / run->core_share - 1));
  do {
    const int64_t left = now, compacted = compacted_nanos_;
    co_await runtime_.executor.yield();
    now = runtime_.clock.monotonic_nanos();
    const int64_t others = now - left - (compacted_nanos_ - compacted);
    run->owed_nanos = others < kIdleNanos ? 0 : std::max(run->owed_nanos - others, -kLongestSlice);
  } while (run->owed_nanos > 0);
}

// The bytes since the last pause are paid for with time.
Task<Status> Engine::pause_compaction(CompactionRun* run) {
  constexpr Duration kLongestSleep = std::chrono::milliseconds(50);
  co_await leave_core_to_requests(run);
  if (!run->unread) CO_TRY(co_await read_ahead(&run->inputs));
  const uint64_t done = std::max(run->bytes_done, bytes_done(*run));
  compaction_throughput_.spend(done - std::exchange(run->bytes_done, done), runtime_.clock.monotonic_nanos());
  while (true) {
    CO_TRY(may_go_on(*run));
    const Duration pause = compaction_throughput_.pause(runtime_.clock.monotonic_nanos());
    if (pause == Duration::zero()) break;
    co_await runtime_.executor.sleep(std::min(pause, kLongestSleep));
  }
  run->slice_begun = runtime_.clock.monotonic_nanos();
  co_return Status();
}

// OperationType.fileName
std::string Engine::operation_name(CompactionOperation operation) {
  std::string name;
  for (char c : type_of(operation).text) {
    if (c != ' ') name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return name;
}

Task<Engine::CompactionGuards> Engine::end_compactions(TableStorePtr store) {
  CompactionGuards guards;
  auto is_held = [&guards](const TableStorePtr& one) {
    return std::any_of(guards.begin(), guards.end(), [&one](const auto& held) { return held->store() == one; });
  };
  // Indexes may come while it waits.
  while (true) {
    Stores left = with_indexes({store});
    std::erase_if(left, is_held);
    if (left.empty()) co_return guards;
    for (const TableStorePtr& one : left) ++one->compaction_interrupts;
    for (const TableStorePtr& one : left) {
      co_await one->compaction_mutex.lock();
      guards.push_back(std::make_unique<CompactionGuard>(one));
      co_await one->relocations->close();
    }
    for (const TableStorePtr& one : left) --one->compaction_interrupts;
  }
}

using Interval = std::pair<CommitLogPosition, CommitLogPosition>;

namespace {

// Intervals that touch become one, and those of segments before `oldest` go but for the last, or their number would grow
// with every compaction.
std::vector<Interval> joined(std::vector<Interval> intervals, int64_t oldest) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return std::tie(a.first, a.second) < std::tie(b.first, b.second);
  });
  std::vector<Interval> joined;
  for (const Interval& interval : intervals) {
    if (!joined.empty() && interval.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, interval.second);
    } else {
      joined.push_back(interval);
    }
  }
  const auto end = std::find_if(joined.begin(), joined.end(), [&](const Interval& interval) {
    return interval.second.segment >= oldest || interval == joined.back();
  });
  joined.erase(joined.begin(), end);
  return joined;
}

}  // namespace

// Intervals of this shard's own log: in an output of its own, others would be taken for such.
std::vector<Interval> Engine::own_intervals(const CompactionRun& run) const {
  std::vector<Interval> intervals;
  for (const LiveSSTable& live : run.store->sstables) {
    const bool is_input = std::find(run.inputs.begin(), run.inputs.end(), live.sstable) != run.inputs.end();
    const SSTableInfo& info = live.sstable->info();
    if (!is_input || live.writer != self_ || info.originating_host != options_.host_id) continue;
    intervals.insert(intervals.end(), info.commit_log_intervals.begin(), info.commit_log_intervals.end());
  }
  return joined(std::move(intervals), run.oldest_segment);
}

namespace {

// An entry of an index is where the row is that it points to.
std::function<bool(const DecoratedKey&, const Row*)> kept_by_cleanup(const TableMetadata& table,
                                                                     const OwnedTokens& owned) {
  if (!table.is_index) {
    return [&owned](const DecoratedKey& key, const Row* row) { return row != nullptr || owned.contains(key.token); };
  }
  return [&owned](const DecoratedKey&, const Row* row) {
    return row == nullptr || owned.contains(murmur3_token(row->clustering.values[0]));
  };
}

}  // namespace

// Data that newer SSTables hide goes by order, or where the table wants it of all compactions
// (CompactionController.provideTombstoneSources).
bool Engine::skips_garbage(CompactionRun* run) const {
  using Overlapping = CompactionOptions::OverlappingTombstones;
  if (run->operation == CompactionOperation::kGarbageCollect) return run->skips_rows;
  const Overlapping wanted = run->store->compaction.options.provide_overlapping_tombstones;
  if (wanted == Overlapping::kNone || !run->purges || !may_purge(*run)) return false;
  run->skips_cells = wanted == Overlapping::kCell;
  return true;
}

SSTableDescriptor Engine::name_output(CompactionRun* run, Token first) {
  return SSTableDescriptor::of(options_.sstable_version, run->placement->directory_of(first), next_id(*run->store));
}

SSTableMerge Engine::make_merge(CompactionRun* run) {
  SSTableMerge merge;
  merge.table = run->store->table;
  merge.inputs = run->inputs;
  merge.transaction = run->transaction.get();
  merge.host_id = options_.host_id;
  merge.owner = self_;
  merge.commit_log_intervals = own_intervals(*run);
  merge.row_index_granularity = column_index_bytes();
  merge.guardrails = sstable_guardrails();
  merge.must_write = run->log_may_hold_inputs;
  merge.memory = run->rows.get();
  const int64_t now_seconds = runtime_.clock.wall_seconds();
  merge.purge.now_seconds = now_seconds - PurgeRules::kLongestRead;
  if (run->purges && may_purge(*run)) merge.purge.gc_before = now_seconds - merge.table->params.gc_grace_seconds;
  merge.purge.purges_young = run->purges_young;
  merge.purge.oldest_outside = [run](const DecoratedKey& key) { return oldest_outside(*run->store, key); };
  if (skips_garbage(run)) {
    merge.shadows_cells = run->skips_cells;
    merge.shadows = [run](const DecoratedKey& key) { return newer_data(*run, key); };
  }
  if (run->owned) merge.keeps = kept_by_cleanup(*merge.table, *run->owned);
  merge.next_output = [this, run](Token first) { return name_output(run, first); };
  if (run->limits.tells_coverage) {
    merge.coverage = [this](Token first, Token last) { return ranges_.spanned(first, last); };
  }
  run->placement->cut(&run->limits);
  run->cutter.emplace(run->limits);
  merge.ends_before = [run](Token token, uint64_t bytes) { return run->cutter->ends_before(token, bytes); };
  merge.share_of_output = [run](Token token, Token last, uint64_t bytes) {
    return run->cutter->share_of_output(token, last, bytes);
  };
  merge.level = [run] { return run->cutter->level(); };
  merge.pause = [this, run] { return pause_compaction(run); };
  return merge;
}

Task<Status> Engine::run_compaction(CompactionRun* run) {
  run->rows = std::make_unique<RowShare>(options_.row_memory.get());
  Status settled = co_await settle(run->store);
  run->placement = place_outputs(*run->store);
  if (settled.ok()) settled = co_await sync_paths(run->store, run->placement->directories());
  if (!settled.ok()) co_return compaction_failure(*run->store, settled.error());
  run->begun = run->slice_begun = runtime_.clock.monotonic_nanos();
  run->record = begin_record(run->store->table, run->inputs);
  run->record.operation = run->operation;
  run->transaction =
      std::make_unique<SSTableTransaction>(runtime_.disk, operation_name(run->operation), run->record.id);
  run->store->set_compacting(run->inputs, true);
  running_.push_back(run);
  Status status;
  if (!run->unread) status = co_await read_ahead(&run->inputs);
  if (!status.ok()) {
    // The inputs cannot be read.
  } else if (run->is_split) {
    status = co_await split_and_commit(run);
  } else {
    status = co_await merge_and_commit(run);
  }
  std::erase(running_, run);
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
Task<Status> Engine::merge_and_commit(CompactionRun* run) {
  // Segments that were removed must not come back after what their records were purged for.
  run->log_may_hold_inputs = log_may_hold(run->inputs);
  run->oldest_segment = log_.oldest_id();
  Status synced = co_await runtime_.disk.sync_directory(options_.commitlog_directory);
  if (!synced.ok()) co_return synced;
  Result<SSTableMergeResult> merged = SSTableMergeResult();
  if (run->unread) {
    CO_TRY(may_go_on(*run));
    if (!run->owned && !are_still_droppable(*run))
      co_return Error(ErrorCode::kClosed, "SSTables that had expired are needed");
  } else if (run->scrub) {
    merged = co_await scrub_one(run);
    if (!merged.ok()) co_return std::move(merged.error());
  } else {
    const SSTableMerge merge = make_merge(run);
    merged = co_await merge_sstables(&runtime_, &merge, &run->progress);
    if (!merged.ok()) co_return std::move(merged.error());
  }
  std::vector<SSTablePtr>& outputs = run->outputs;
  for (const SSTableInfo& info : merged->outputs) {
    CO_ASSIGN_OR_RETURN(auto sstable,
                        SSTable::open_written(runtime_.disk, info.descriptor, run->store->table, &chunk_cache_));
    run->record.bytes_out += sstable->info().data_bytes;
    outputs.push_back(std::move(sstable));
  }
  std::vector<SSTableDescriptor> obsolete;
  for (const SSTablePtr& input : run->inputs) obsolete.push_back(input->info().descriptor);
  if (run->store->dropped) co_return Error(ErrorCode::kClosed, "The table was dropped");
  Status committed = co_await run->transaction->commit(std::move(obsolete));
  if (!committed.ok()) co_return committed;
  run->store->remove_sstables(run->inputs);
  for (const SSTablePtr& input : run->inputs) std::erase(run->store->unread, input->info().descriptor);
  for (const SSTablePtr& output : outputs) run->store->add_sstable(output, self_, runtime_.clock.wall_millis());
  run->record.merged_partitions = std::move(merged->merged_partitions);
  for (const SSTablePtr& input : run->inputs) bytes_compacted_ += input->info().uncompressed_bytes;
  compressed_bytes_compacted_ += run->record.bytes_in;
  std::string names;
  for (const SSTableInfo& info : merged->outputs)
    names += (names.empty() ? "" : ", ") + info.descriptor.file("Data.db");
  LOG_INFO("Compacted {} sstables of {} to [{}]: {} to {} in {} ms", run->inputs.size(),
           run->store->table->qualified_name(), names, memory_text(run->record.bytes_in),
           memory_text(run->record.bytes_out), (runtime_.clock.monotonic_nanos() - run->begun) / 1'000'000);
  co_return Status();
}

}  // namespace cassandra_like
