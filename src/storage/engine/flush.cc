// From memtables to SSTables, in slices of a millisecond.
//
// One flush of a table runs at a time. The memtables of its indexes go first: the log is clean of the table's writes
// only when both are on the disk, and an SSTable of the base table says that they need no replay.
//
// An index's memtable lacks the entries of values that a write has replaced. When the power fails behind its flush, and takes
// that write, the table has the old value again, and the index must have its entry. So the log is synced first. A table
// without a log takes back its indexes' marks until its own memtable is on the disk: a start builds such indexes anew.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/memory_text.h"
#include "read/merge.h"
#include "storage/engine/engine.h"
#include "storage/engine/logged_batches.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {
constexpr int64_t kSliceNanos = 1'000'000;
constexpr int64_t kFullPause = 60'000'000'000;  // before a full directory is tried again
constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr Duration kShortestRetry = std::chrono::seconds(1), kLongestRetry = std::chrono::seconds(8);
}  // namespace

Task<void> Engine::pause_if_due(int64_t* slice_end) {
  if (runtime_.clock.monotonic_nanos() < *slice_end) return {};
  *slice_end = runtime_.clock.monotonic_nanos() + kSliceNanos;
  return runtime_.executor.yield();
}

Error Engine::disk_failure(const Error& cause, const std::string& what) {
  Error error(cause.code(), fmt::format("{}: {}", what, cause.message()));
  LOG_ERROR("{}", error.message());
  if (!goes_on_after(cause) && options_.on_failure) options_.on_failure(options_.disk_failure_policy, error);
  return error;
}

namespace {
bool is_damage(const Error& cause) { return cause.code() == ErrorCode::kCorruption || cause.code() == ErrorCode::kIo; }
}  // namespace

// A read, a compaction or a verification met damage (DefaultFSErrorHandler.handleCorruptSSTable).
void Engine::obey_paranoia(const Error& cause) const {
  const FailurePolicy policy = options_.disk_failure_policy;
  const bool is_paranoid = policy == FailurePolicy::kDie || policy == FailurePolicy::kStopParanoid;
  if (is_paranoid && is_damage(cause) && options_.on_failure) options_.on_failure(policy, cause);
}

// The client is told, too. It may ask again at once.
void Engine::read_failed(const TableMetadata& table, const Error& cause) {
  if (!is_damage(cause)) return;
  if (const auto more = damage_lines_.take(runtime_.clock.monotonic_nanos())) {
    LOG_ERROR("Failed to read {}: {}{}", table.qualified_name(), cause.message(), *more);
  }
  obey_paranoia(cause);
}

// A shortage of descriptors is no failure of the disk.
bool Engine::goes_on_after(const Error& cause) const {
  return options_.disk_failure_policy == FailurePolicy::kIgnore ||
         options_.disk_failure_policy == FailurePolicy::kBestEffort || cause.code() == ErrorCode::kOverloaded;
}

// There may be room on the disk later: what a flush failed to write is tried again, since nothing else asks for it.
void Engine::retry_flush(const TableStorePtr& store) {
  if (store->flush_retry_waits || store->dropped || gate_.closed()) return;
  store->flush_retry_waits = true;
  store->flush_retry_pause = std::clamp(2 * store->flush_retry_pause, kShortestRetry, kLongestRetry);
  runtime_.executor.schedule(store->flush_retry_pause, [this, store, alive = alive_] {
    if (!*alive) return;
    store->flush_retry_waits = false;
    if (!gate_.closed() && !store->dropped) spawn(flush_in_background(store));
  });
}

Task<Status> Engine::flush(TableSelection selection) {
  for (TableStorePtr& store : select(selection)) {
    Status flushed = co_await flush_store(store);
    if (!flushed.ok()) co_return flushed;
  }
  co_return Status();
}

Task<void> Engine::flush_in_background(TableStorePtr store) {
  if (store->flush_requested || !gate_.enter()) co_return;
  store->flush_requested = true;
  // The caller may be in the middle of a write.
  co_await runtime_.executor.yield();
  Status ignored = co_await flush_store(store);  // what failed was logged, and will be tried again
  store->flush_requested = false;
  gate_.leave();
}

Task<Status> Engine::flush_store(TableStorePtr store) {
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  ++flushes_pending_;
  Status status;
  {
    co_await store->flush_mutex.lock();
    AsyncMutex::Guard guard(store->flush_mutex);
    store->flush_requested = false;
    // A second replay begins with the oldest segment again, when memtables of the first one may have been flushed.
    CommitLogPosition upper = std::max(log_position(), store->memtable->lower());
    for (const auto& index : store->indexes) upper = std::max(upper, index->store->memtable->lower());
    struct Work {
      TableStorePtr store;
      std::shared_ptr<Memtable> memtable;
      CommitLogPosition upper;
    };
    std::vector<Work> work;
    // Files of an earlier flush that failed are still there.
    auto collect = [&](const TableStorePtr& s) {
      s->switch_memtable(upper);
      // An SSTable must not say that it has what the next memtable holds: that one may not come to the disk.
      for (size_t i = 0; i < s->flushing.size(); ++i) {
        const bool is_last = i + 1 == s->flushing.size();
        work.push_back({s, s->flushing[i], is_last ? upper : s->flushing[i + 1]->lower()});
      }
    };
    const bool shared_records = std::exchange(store->shares_records, false);
    if (!store->dropped) {
      for (const auto& index : store->indexes) collect(index->store);
      collect(store);
      recount_memory();
    }
    if (!work.empty()) status = co_await prepare_flush(store, work.front().store != store, shared_records);
    for (const Work& each : work) {
      if (status.ok()) status = co_await write_somewhere(each.store, each.memtable, each.upper);
    }
    if (status.ok() && !store->dropped) {
      log_.mark_clean(store->log, upper);
      for (const auto& index : store->indexes) {
        if (status.ok()) status = index->store->restore_built(runtime_.disk, self_);
      }
    }
    store->shares_records |= shared_records && !status.ok();
  }
  if (status.ok()) {
    store->flush_retry_pause = {};
  } else if (goes_on_after(status.error())) {
    retry_flush(store);
  }
  recount_memory();
  --flushes_pending_;
  ++flushes_completed_;
  gate_.leave();
  co_return status;
}

// Entries of an index are in no record, so the record of their row comes to the disk before them. A record of several
// tables comes before any of them: else a power failure would leave one table's part of it alone.
Task<Status> Engine::prepare_flush(TableStorePtr store, bool has_indexes, bool shares_records) {
  if (store->durable && (has_indexes || shares_records)) {
    Status synced = co_await log_.sync_records();
    if (synced.ok()) co_return Status();
  }
  // When the log has failed, a flush still saves what is in memory.
  if (!has_indexes) co_return Status();
  Status withdrawn = co_await withdraw_marks(store);
  co_return withdrawn;
}

Task<Status> Engine::withdraw_marks(TableStorePtr store) {
  std::vector<std::string> paths;
  for (const auto& index : store->indexes) {
    Status withdrawn = index->store->withdraw_built(runtime_.disk, self_);
    if (!withdrawn.ok()) co_return withdrawn;
    paths.push_back(index->store->paths[0]);
  }
  for (std::string& path : paths) {
    Status synced = co_await runtime_.disk.sync_directory(std::move(path));
    if (!synced.ok()) co_return synced;
  }
  co_return Status();
}

namespace {

// Directories.isStoredInLocalSystemKeyspacesDataLocation: so the schema does not go with the loss of another disk.
bool belongs_to_first_directory(const TableMetadata& table) {
  constexpr std::array<std::string_view, 5> kSpread{"batches", "paxos", "compaction_history", "prepared_statements",
                                                    "repairs"};
  if (table.keyspace == "system_schema") return true;
  return table.keyspace == "system" && std::find(kSpread.begin(), kSpread.end(), table.name) == kSpread.end();
}

}  // namespace

// The keys of an index are values of rows, which have nothing to do with the ring.
DiskBoundaries Engine::boundaries_of(const TableStore& store) const {
  const size_t directories = store.paths.size();
  if (directories == 1 || belongs_to_first_directory(*store.table)) return DiskBoundaries();
  if (store.table->is_index || !options_.disk_boundaries) return DiskBoundaries::divide({}, directories, false);
  return options_.disk_boundaries(*store.table, directories);
}

OutputPlacement Engine::place_outputs(const TableStore& store) const {
  std::vector<std::string> directories = store.paths;
  for (size_t i = 0; i < directories.size(); ++i) {
    if (is_passed_over(i)) directories[i] = store.paths[freest_directory(store)];
  }
  return OutputPlacement(boundaries_of(store), std::move(directories));
}

// A directory that is passed over is none.
size_t Engine::freest_directory(const TableStore& store) const {
  std::optional<size_t> best;
  uint64_t most = 0;
  for (size_t i = 0; i < store.paths.size(); ++i) {
    if (is_passed_over(i)) continue;
    const auto space = runtime_.disk.space(store.paths[i]);
    const uint64_t available = space.ok() ? space->available : 0;
    if (best && available <= most) continue;
    most = available;
    best = i;
  }
  return *best;
}

// DisallowedDirectories.maybeMarkUnwritable. A disk that is full may have room later, and may say that it has: inodes and quotas
// are no bytes.
void Engine::note_unwritable(const TableStore& store, const std::string& path, const Error& cause) {
  const bool is_full = cause.code() == ErrorCode::kDiskFull;
  if (store.paths.size() == 1 || (!is_full && cause.code() != ErrorCode::kIo)) return;
  const size_t place = place_of(store, path);
  if (place == store.paths.size()) return;
  const int64_t until = is_full ? runtime_.clock.monotonic_nanos() + kFullPause : kForever;
  if (!is_unwritable(place)) {
    LOG_WARN("No SSTables are written to {} {}", options_.data_directories[place],
             is_full ? "for a minute" : "until the next start");
  }
  unwritable_until_[place] = until;
}

size_t Engine::place_of(const TableStore& store, const std::string& path) {
  return static_cast<size_t>(std::find(store.paths.begin(), store.paths.end(), path) - store.paths.begin());
}

bool Engine::is_unwritable(size_t directory) const {
  const auto found = unwritable_until_.find(directory);
  return found != unwritable_until_.end() && found->second > runtime_.clock.monotonic_nanos();
}

size_t Engine::unwritable_directories() const {
  size_t count = 0;
  for (const auto& [directory, until] : unwritable_until_) count += is_unwritable(directory) ? 1 : 0;
  return count;
}

// When none can be written to, each is as good as another.
bool Engine::is_passed_over(size_t directory) const {
  return is_unwritable(directory) && unwritable_directories() < options_.data_directories.size();
}

// A directory that was just made must not be lost with the first SSTable in it.
Task<Status> Engine::sync_paths(TableStorePtr store, std::vector<std::string> paths) {
  if (store->paths_synced) co_return Status();
  for (const std::string& path : paths) {
    std::string parent = path;
    // For a table: its keyspace's directory and the data directory; for an index: the table's, too.
    for (int levels = store->table->is_index ? 3 : 2; levels > 0; --levels) {
      parent = parent.substr(0, parent.rfind('/'));
      Status synced = co_await runtime_.disk.sync_directory(parent);
      if (synced.ok()) continue;
      note_unwritable(*store, path, synced.error());
      co_return synced;
    }
  }
  store->paths_synced = paths == store->paths;
  co_return Status();
}

// Writes in SSTables are not replayed, and their segments may go: so the names that a killed process gave must last.
Task<Status> Engine::sync_names_of_sstables() {
  std::vector<TableStorePtr> stores;
  for (const TableStorePtr& store : select(TableSelection())) {
    stores.push_back(store);
    for (const auto& index : store->indexes) stores.push_back(index->store);
  }
  for (const TableStorePtr& store : stores) {
    if (store->sstables.empty()) continue;
    Status synced = co_await sync_paths(store, place_outputs(*store).directories());
    if (!synced.ok()) co_return synced;
    for (const std::string& path : store->paths) {
      synced = co_await runtime_.disk.sync_directory(path);
      if (!synced.ok()) co_return synced;
    }
  }
  co_return Status();
}

// The flush of one memtable.
struct Engine::FlushRun {
  FlushRun(TableStorePtr flushed_store, std::shared_ptr<Memtable> flushed, OutputPlacement outputs_placement)
      : store(std::move(flushed_store)), memtable(std::move(flushed)), placement(std::move(outputs_placement)) {}
  ~FlushRun() {
    for (const SSTableDescriptor& output : named) std::erase(store->being_flushed, output);
  }
  FlushRun(const FlushRun&) = delete;
  FlushRun& operator=(const FlushRun&) = delete;

  // An index does not wait for its flush when it goes. One of the same name may be there then, in the same directory.
  bool is_void() const {
    const bool is_waited_for =
        std::find(store->flushing.begin(), store->flushing.end(), memtable) != store->flushing.end();
    return store->dropped || !is_waited_for;
  }
  // Until the run ends, its files are this node's work.
  void name(const SSTableDescriptor& output) {
    named.push_back(output);
    store->being_flushed.push_back(output);
  }

  const TableStorePtr store;
  const std::shared_ptr<Memtable> memtable;
  const OutputPlacement placement;
  std::vector<SSTableDescriptor> named, backed_up;
  std::unique_ptr<FlushOutputs> outputs;
  std::vector<SSTablePtr> sstables;
  bool is_in_doubt = false;  // a start may find the outputs, or not
};

// Another directory may take what one could not.
Task<Status> Engine::write_somewhere(TableStorePtr store, std::shared_ptr<Memtable> memtable, CommitLogPosition upper) {
  while (true) {
    const size_t unwritable = unwritable_directories();
    Status written = co_await write_memtable(store, memtable, upper);
    const bool has_another =
        unwritable_directories() > unwritable && unwritable_directories() < options_.data_directories.size();
    if (written.ok() || !has_another || !goes_on_after(written.error())) co_return written;
  }
}

namespace {

// For the log.
struct FlushedFiles {
  void add(const SSTableInfo& info) {
    partitions += info.partitions;
    data_bytes += info.data_bytes;
    names += (names.empty() ? "" : ", ") + info.descriptor.file(components::kData);
  }

  uint64_t partitions = 0, data_bytes = 0;
  std::string names;
};

}  // namespace

FlushOutputs::Order Engine::order_flush(FlushRun* run, const CommitLogPosition& upper) {
  const Memtable& memtable = *run->memtable;
  const TableCompaction& compaction = run->store->compaction;
  FlushOutputs::Order order;
  order.table = memtable.table();
  order.writer.stats = memtable.stats();
  order.writer.static_columns = memtable.columns(true);
  order.writer.regular_columns = memtable.columns(false);
  order.writer.estimated_partitions = memtable.partitions().size();
  order.writer.host_id = options_.host_id;
  order.writer.owner = self_;
  DCHECK(memtable.lower() <= upper);
  order.writer.commit_log_intervals = log_.intervals(memtable.lower(), upper);
  order.writer.row_index_granularity = column_index_bytes();
  order.writer.guardrails = sstable_guardrails();
  order.limits = compaction.strategy->flush_limits(ranges_, compaction.flush_bytes);
  run->placement.cut(&order.limits);
  if (order.limits.tells_coverage) {
    order.writer.coverage = [this](Token first, Token last) { return ranges_.spanned(first, last); };
  }
  if (!order.limits.boundaries.empty()) {
    constexpr std::string_view kOperation = "flush";
    const Uuid id = begin_record(run->store->table, {}).id;
    order.transaction = std::make_unique<SSTableTransaction>(runtime_.disk, kOperation, id);
  }
  order.next_output = [this, run](Token first) {
    auto output =
        SSTableDescriptor::of(options_.sstable_version, run->placement.directory_of(first), next_id(*run->store));
    run->name(output);
    return output;
  };
  return order;
}

Task<Status> Engine::write_memtable(TableStorePtr store, std::shared_ptr<Memtable> memtable, CommitLogPosition upper) {
  FlushRun run(store, memtable, place_outputs(*store));
  if (run.is_void()) co_return Status();
  if (is_batchlog(*store->table) && co_await keep_open_batches(store, memtable)) co_return Status();
  const int64_t begun = runtime_.clock.monotonic_nanos();
  const std::string name = memtable->table()->qualified_name(), what = fmt::format("Failed to flush {}", name);
  Status written = co_await sync_paths(store, run.placement.directories());
  if (!written.ok()) co_return run.is_void() ? Status() : Status(disk_failure(written.error(), what));
  run.outputs = std::make_unique<FlushOutputs>(runtime_.disk, order_flush(&run, upper));
  written = co_await write_and_commit(&run);
  if (!written.ok() || run.is_void()) {
    Status undone = co_await undo_flush(&run);
    if (run.is_void()) co_return undone;
    note_unwritable(*store, run.outputs->failed_directory(), written.error());
    co_return disk_failure(written.error(), what);
  }
  // Reads change over with the disk: nothing has waited since the commit.
  FlushedFiles flushed;
  for (const SSTablePtr& sstable : run.sstables) {
    flushed.add(sstable->info());
    store->add_sstable(sstable, self_, runtime_.clock.wall_millis());
  }
  store->forget_flushed(memtable);
  if (!run.sstables.empty()) {
    LOG_INFO("Completed flushing {}: {} partitions, {} of memory to {} ({}) in {} ms", name, flushed.partitions,
             memory_text(memtable->memory_used()), flushed.names, memory_text(flushed.data_bytes),
             (runtime_.clock.monotonic_nanos() - begun) / 1'000'000);
    store->compaction.note_flush(flushed.data_bytes);
    ask_for_compaction(store);
  }
  co_await end_flush_transaction(&run);
  co_return Status();
}

Task<Status> Engine::write_and_commit(FlushRun* run) {
  FlushOutputs& outputs = *run->outputs;
  CO_TRY(co_await write_partitions(run));
  CO_TRY(co_await outputs.end());
  if (run->is_void()) co_return Status();
  if (wants_backups(*run->store)) {
    run->backed_up = outputs.ended();
    CO_TRY(co_await back_up_all(run->backed_up));
  }
  for (const SSTableInfo& info : outputs.infos()) {
    CO_ASSIGN_OR_RETURN(auto sstable,
                        SSTable::open_written(runtime_.disk, info.descriptor, run->store->table, &chunk_cache_));
    run->sstables.push_back(std::move(sstable));
  }
  if (run->is_void()) co_return Status();
  co_return co_await outputs.commit();
}

// Outputs may stay, when the disk fails or a commit is in doubt. They do no harm after a crash: the log and other SSTables have the
// same rows.
Task<Status> Engine::undo_flush(FlushRun* run) {
  TableStore& store = *run->store;
  FlushOutputs& outputs = *run->outputs;
  outputs.abandon();
  const bool is_of_transaction = outputs.transaction() != nullptr && !outputs.transaction()->is_committed();
  if (!is_of_transaction) {
    store.leftovers.insert(store.leftovers.end(), outputs.ended().begin(), outputs.ended().end());
  }
  co_await end_flush_transaction(run);
  if (!run->is_in_doubt) forget_backups(run->backed_up);
  co_return run->is_void() ? store.remove_leftovers(runtime_.disk) : Status();
}

Task<void> Engine::end_flush_transaction(FlushRun* run) {
  SSTableTransaction* const transaction = run->outputs->transaction();
  if (transaction == nullptr) co_return;
  Status ended = co_await end_transaction(transaction);
  if (ended.ok()) co_return;
  run->is_in_doubt = transaction->is_in_doubt();
  LOG_WARN("The files of a flush of {} are removed later: {}", run->store->table->qualified_name(),
           ended.error().message());
  run->store->unfinished.push_back(run->outputs->take_transaction());
}

namespace {

bool needs_merge(const Memtable& memtable, const MemtablePartition& partition) {
  return memtable.has_old_columns() || !partition.deletion.is_live() || partition.ranges != nullptr;
}

}  // namespace

Task<Status> Engine::write_partitions(FlushRun* run) {
  const Memtable* memtable = run->memtable.get();
  FlushOutputs* outputs = run->outputs.get();
  int64_t slice_end = runtime_.clock.monotonic_nanos() + kSliceNanos;
  Unfiltered unfiltered;
  Arena arena(1024);  // of one row
  std::vector<BytesView> values;
  const TableMetadata* table = memtable->table().get();
  auto append = [&](const MemtableRow& row) {
    SSTableWriter& writer = outputs->writer();
    const bool is_uniform = row.is_packed() && row.table() == table && writer.takes_uniform_rows();
    if (is_uniform) return writer.append(row.uniform_with_age(values));
    arena.reset();
    unfiltered.row = row.row(arena);
    return writer.append(unfiltered);
  };
  for (const MemtablePartition& partition : memtable->partitions()) {
    if (needs_merge(*memtable, partition)) {
      std::vector<std::unique_ptr<PartitionReader>> source;
      source.push_back(memtable->read(partition, {}));
      MergedPartition merged(std::move(source), false);
      auto first = merged.next();
      if (!first.ok()) co_return std::move(first.error());
      const bool has_rows = *first != nullptr || !merged.static_row().is_empty();
      if (!has_rows && merged.partition_deletion().is_live()) continue;
      CO_TRY(co_await outputs->begin_partition(partition.key, merged.partition_deletion(), merged.static_row()));
      for (const Unfiltered* at = *first; at != nullptr;) {
        CO_TRY(outputs->writer().append(*at));
        co_await pause_if_due(&slice_end);
        CO_ASSIGN_OR_RETURN(at, merged.next());
      }
    } else {
      CO_TRY(co_await outputs->begin_partition(partition.key, partition.deletion, partition.static_part()));
      if (partition.only_row != nullptr) {
        CO_TRY(append(*partition.only_row));
      } else if (partition.rows != nullptr) {
        for (const RowEntry& row : partition.rows->tree) {
          CO_TRY(append(*row.row));
          co_await pause_if_due(&slice_end);
        }
      }
    }
    CO_TRY(outputs->writer().end_partition());
    co_await pause_if_due(&slice_end);
  }
  co_return Status();
}

}  // namespace cassandra_like
