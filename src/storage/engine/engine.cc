// The schema's tables, start and stop, numbers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/path_component.h"
#include "storage/engine/engine.h"
#include "storage/memtable_budget.h"
#include "storage/sstable/sstable_version.h"

namespace cassandra_like {

CommitLogOptions commit_log_options(const EngineOptions& options, const SegmentWriter& writer) {
  CommitLogOptions out;
  out.directory = options.commitlog_directory;
  out.sync = options.commitlog_sync;
  out.sync_period = options.commitlog_sync_period;
  out.group_window = options.commitlog_group_window;
  out.segment_bytes = options.commitlog_segment_bytes;
  out.total_bytes = options.commitlog_total_bytes / writer.shards;
  out.failure_policy = options.commit_failure_policy;
  out.writer = writer;
  return out;
}

Engine::Engine(ShardRuntime& runtime, unsigned shard_count, EngineOptions options)
    : runtime_(runtime),
      shard_(runtime.executor.shard()),
      shard_count_(shard_count),
      options_(std::move(options)),
      self_{shard_, shard_count},
      self_writer_{shard_, shard_count},
      ids_(runtime.clock, runtime.random, self_),
      log_(runtime,
           [this] {
             CommitLogOptions log = commit_log_options(options_, self_writer_);
             log.on_failure = options_.on_failure;
             log.on_full = [this](std::vector<LogTable*> tables) {
               for (LogTable* table : tables) {
                 if (auto store = find(table->id); store && !store->flush_requested) spawn(flush_in_background(store));
               }
             };
             return log;
           }()),
      chunk_cache_(options_.chunks, shard_, runtime.executor),
      row_share_(options_.row_memory.get()),
      ranges_(OwnedRanges::of_shard(std::vector<OwnedRange>{OwnedRange{}}, shard_, shard_count)) {
  set_concurrent_compactors(options_.concurrent_compactors);
  set_compaction_throughput(options_.compaction_throughput);
  DCHECK(options_.memtables != nullptr);
}

Engine::~Engine() {
  *alive_ = false;
  options_.memtables->leave(shard_);
}

TableStorePtr Engine::find(const Uuid& id) const {
  auto found = stores_.find(id);
  return found == stores_.end() ? nullptr : found->second;
}

Engine::Stores Engine::select(const TableSelection& selection) const {
  Stores out;
  for (const auto& [id, store] : stores_) {
    if (!selection.keyspace.empty() && store->table->keyspace != selection.keyspace) continue;
    if (!selection.table.empty() && store->table->name != selection.table) continue;
    out.push_back(store);
  }
  std::sort(out.begin(), out.end(),
            [](const TableStorePtr& a, const TableStorePtr& b) { return a->directory < b->directory; });
  return out;
}

// With all that leads to it, as far as that was not there.
Task<Status> Engine::make_durable_directory(std::string path) {
  std::vector<std::string> parents;
  for (std::string at = path; !at.empty() && !runtime_.disk.exists(at);) {
    size_t slash = at.rfind('/');
    std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : at.substr(0, slash);
    parents.push_back(parent);
    at = parent == "/" || parent == "." ? "" : parent;
  }
  if (parents.empty()) co_return Status();
  CO_TRY(runtime_.disk.make_directories(path));
  for (const std::string& parent : parents) {
    Status synced = co_await runtime_.disk.sync_directory(parent);
    if (!synced.ok()) co_return synced;
  }
  co_return Status();
}

Task<Status> Engine::set_schema(SchemaPtr schema, int64_t at_millis) {
  DCHECK(schema != nullptr);
  for (const std::string& directory : options_.data_directories) {
    Status made = co_await make_durable_directory(directory);
    if (!made.ok()) co_return made;
  }
  // An index may come of the name of one whose files could not be removed the last time.
  co_await discard_gone_indexes();
  SchemaPtr before = std::exchange(schema_, schema);
  // Only what differs is looked at, unless something is left over from the last time.
  const bool had_all_tables = std::exchange(has_all_tables_, false);
  static const Schema kNothing;
  Status opened;
  auto open = [&](const KeyspaceMetadata* old, const KeyspaceMetadata& now) {
    if (opened.ok()) opened = open_tables(old, now);
  };
  compare_maps(
      had_all_tables ? before->keyspaces() : kNothing.keyspaces(), schema->keyspaces(), [](const KeyspaceMetadata&) {},
      [&](const KeyspaceMetadata& made) { open(nullptr, made); },
      [&](const KeyspaceMetadata& old, const KeyspaceMetadata& now) { open(&old, now); });
  if (!opened.ok()) co_return opened;
  for (TableStorePtr& store : gone_tables(had_all_tables ? before.get() : nullptr)) {
    Status dropped = co_await drop_table(store, before, at_millis);
    if (!dropped.ok()) co_return dropped;
  }
  CO_TRY(co_await sync_unbuilt_indexes());
  co_await discard_gone_indexes();
  has_all_tables_ = true;
  co_return Status();
}

// Without `before`, all of the keyspace's tables are looked at.
Status Engine::open_tables(const KeyspaceMetadata* before, const KeyspaceMetadata& keyspace) {
  static const KeyspaceMetadata kNone;
  if (keyspace.is_virtual) return {};
  const bool durable = keyspace.replication.durable_writes;
  const bool all = before == nullptr || before->replication.durable_writes != durable;
  Status status;
  auto open = [&](const TableMetadata& table) {
    if (status.ok() && !table.is_virtual) status = open_table(keyspace.table(table.name), durable);
  };
  compare_maps(
      all ? kNone.tables : before->tables, keyspace.tables, [](const TableMetadata&) {}, open,
      [&](const TableMetadata&, const TableMetadata& table) { open(table); });
  return status;
}

// The tables that the schema no longer has. Without `before`, all that are open are looked at.
Engine::Stores Engine::gone_tables(const Schema* before) const {
  Stores gone;
  auto add = [&](const Uuid& id) {
    if (TableStorePtr store = find(id); store != nullptr && !schema_->table(id)) gone.push_back(std::move(store));
  };
  if (before == nullptr) {
    for (const auto& [id, store] : stores_) add(id);
  } else {
    for_changed_tables(*before, *schema_, [&](const TableMetadata* old, const TableMetadata*) {
      if (old != nullptr) add(old->id);
    });
  }
  std::sort(gone.begin(), gone.end(),
            [](const TableStorePtr& a, const TableStorePtr& b) { return a->directory < b->directory; });
  return gone;
}

Status Engine::open_table(const TablePtr& table, bool durable) {
  if (const TableStorePtr store = find(table->id)) {
    store->durable = durable;
    const bool is_same = store->table == table;
    if (!is_same) store->use_table(table);
    // An index that could not be opened is tried again.
    TRY(update_indexes(*store));
    if (is_same) return {};
    // Rows of the old version are translated in every read: let them go to disk.
    if (store->memtable->has_old_columns()) spawn(flush_in_background(store));
    for (const TableStorePtr& one : with_indexes({store})) ask_for_compaction(one);
    return {};
  }
  TRY(check_path_component(table->keyspace, "The name of a keyspace"));
  TRY(check_path_component(table->directory_name(), "The directory of a table"));
  CommitLogPosition lower = replaying_ ? CommitLogPosition{} : log_.position();
  DCHECK(replaying_ == !started_);
  auto store = std::make_shared<TableStore>(table, table->keyspace + "/" + table->directory_name(), lower);
  if (!options_.auto_compaction) store->compaction.enabled = false;
  store->durable = durable;
  TRY(store->open(runtime_.disk, options_.data_directories, self_, options_.disk_failure_policy, &chunk_cache_));
  for (const LiveSSTable& live : store->sstables) {
    for (const auto& [from, to] : live.sstable->info().commit_log_intervals) {
      highest_flushed_segment_ = std::max(highest_flushed_segment_, to.segment);
    }
  }
  TRY(update_indexes(*store));
  if (replaying_) TRY(forget_dropped_indexes(*store));
  stores_[table->id] = store;  // whole: one that could not be opened is opened anew with the next schema
  if (started_ && has_to_split({store})) relocate_in_background();
  return {};
}

// An index that is made while the node runs is built next, when its table has rows.
Status Engine::note_build(const TableStore& base, TableStore& index) {
  if (base.sstables.empty() && !base.is_dirty() && !base.has_unread()) {
    Status done = index.set_built(runtime_.disk, self_);
    if (!done.ok()) LOG_WARN("{}", done.error().message());
    return {};
  }
  return set_unbuilt(index);
}

Status Engine::set_unbuilt(TableStore& index) {
  unbuilt_.push_back(index.paths[0]);
  return index.set_unbuilt(runtime_.disk, self_);
}

// The node ended between the DROP of an index in the schema and the removal of its files. An index that comes back under this
// name is another one.
Status Engine::forget_dropped_indexes(const TableStore& store) {
  ASSIGN_OR_RETURN(const auto entries, runtime_.disk.list(store.paths[0]));
  for (const DirectoryEntry& entry : entries) {
    const std::string path = store.paths[0] + "/" + entry.name;
    const bool is_open = std::any_of(store.indexes.begin(), store.indexes.end(),
                                     [&](const std::unique_ptr<IndexStore>& i) { return i->store->paths[0] == path; });
    if (!entry.is_directory || !entry.name.starts_with('.') || is_open) continue;
    TRY(TableStore::forget_built(runtime_.disk, path, self_));
    unbuilt_.push_back(path);
  }
  return {};
}

Task<Status> Engine::sync_unbuilt_indexes() {
  for (std::string& path : std::exchange(unbuilt_, {})) CO_TRY(co_await runtime_.disk.sync_directory(std::move(path)));
  co_return Status();
}

// Files that cannot be removed stay until the next change of the schema. No file says any more that the index is built, so a
// start does not take them for it.
Task<void> Engine::discard_gone_indexes() {
  const Stores gone = gone_indexes_;
  for (const TableStorePtr& index : gone) {
    const CompactionGuards ended = co_await end_compactions(index);
    Status discarded = index->discard(runtime_.disk, {});
    if (discarded.ok()) {
      std::erase(gone_indexes_, index);
    } else {
      LOG_WARN("Files of a dropped index stay for now in {}: {}", index->paths[0], discarded.error().message());
    }
  }
  recount_memory();
}

bool Engine::has_files_of_gone_index(const std::string& directory) const {
  return std::any_of(gone_indexes_.begin(), gone_indexes_.end(), [&directory](const TableStorePtr& gone) {
    return gone->directory == directory && !gone->leftovers.empty();
  });
}

Status Engine::update_indexes(TableStore& store) {
  const TableMetadata& table = *store.table;
  auto gone = std::partition(store.indexes.begin(), store.indexes.end(), [&](const std::unique_ptr<IndexStore>& index) {
    return table.indexes.contains(index->metadata.name) && index->column(table) != nullptr;
  });
  for (auto it = gone; it != store.indexes.end(); ++it) {
    TRY(set_unbuilt(*(*it)->store));
    (*it)->store->dropped = true;  // a compaction ends at its next pause
    gone_indexes_.push_back((*it)->store);
  }
  store.indexes.erase(gone, store.indexes.end());
  for (const auto& index : store.indexes) index->store->compaction.use(table.params.compaction);
  for (const auto& [name, metadata] : table.indexes) {
    auto same = [&, n = &name](const std::unique_ptr<IndexStore>& i) { return i->metadata.name == *n; };
    if (std::any_of(store.indexes.begin(), store.indexes.end(), same)) continue;
    auto made = make_index(table, metadata, store.directory, store.memtable->lower());
    if (!made.ok()) {
      // Cassandra's other kinds of indexes do not keep their tables from being served.
      LOG_WARN("{}", made.error().message());
      continue;
    }
    if (has_files_of_gone_index((*made)->store->directory)) {
      return Error(ErrorCode::kIo,
                   fmt::format("The index {} cannot be made while the files of a dropped one are in {}: "
                               "they cannot be removed",
                               name, (*made)->store->directory));
    }
    TRY((*made)->store->open(runtime_.disk, options_.data_directories, self_, options_.disk_failure_policy,
                             &chunk_cache_));
    (*made)->store->compaction.enabled = store.compaction.enabled;
    if (started_) TRY(note_build(store, *(*made)->store));
    store.indexes.push_back(std::move(made).value());
  }
  return {};
}

Task<Status> Engine::prepare_drop(std::vector<Uuid> tables) {
  Stores going;
  for (const Uuid& id : tables) {
    if (TableStorePtr store = find(id)) going.push_back(std::move(store));
  }
  for (const TableStorePtr& store : going) store->logs_alone = true;
  for (const TableStorePtr& store : going) {
    for (const TableStorePtr& other : select(TableSelection(store->table->keyspace))) {
      // Records of a flush that is under way count, too.
      if (other->logs_alone || (!other->shares_records && other->flushing.empty())) continue;
      Status flushed = co_await flush_store(other);
      if (flushed.ok()) continue;
      co_return Error(
          flushed.error().code(),
          fmt::format("{} cannot be dropped: writes of {} that share records of the commit log with it cannot be "
                      "flushed: {}",
                      store->table->qualified_name(), other->table->qualified_name(), flushed.error().message()));
    }
  }
  co_return Status();
}

void Engine::cancel_drop(std::span<const Uuid> tables) {
  for (const Uuid& id : tables) {
    if (TableStorePtr store = find(id)) store->logs_alone = false;
  }
}

Task<Status> Engine::drop_table(TableStorePtr store, SchemaPtr before, int64_t at_millis) {
  stores_.erase(store->table->id);
  bool keeps_files = false;
  if (options_.auto_snapshot && store->table->params.allow_auto_snapshot &&
      !store->table->keyspace.starts_with("system")) {
    std::string tag = fmt::format("dropped-{}-{}", at_millis, store->table->name);
    SnapshotRequest request = automatic_snapshot(tag, *before, *store->table);
    Status kept = co_await snapshot_store(store, request);
    if (!kept.ok()) {
      // The disk may be full, or somebody cleared all snapshots at this moment. Links of the SSTables need little room.
      LOG_WARN("Snapshot {} of dropped table {}: {}", tag, store->table->qualified_name(), kept.error().message());
      request.skip_flush = true;
      kept = co_await snapshot_store(store, request);
    }
    if (!kept.ok()) {
      keeps_files = true;
      LOG_ERROR("The files of dropped table {} stay in {}, since there is no snapshot of them: {}",
                store->table->qualified_name(), store->paths[0], kept.error().message());
    }
  }
  co_await store->flush_mutex.lock();
  AsyncMutex::Guard flush_guard(store->flush_mutex);
  store->dropped = true;  // a compaction ends at its next pause
  for (const auto& index : store->indexes) index->store->dropped = true;
  const CompactionGuards ended = co_await end_compactions(store);
  log_.forget(store->log);
  Status discarded = keeps_files ? Status() : store->discard(runtime_.disk, {});
  recount_memory();
  co_return discarded;
}

Task<Status> Engine::start() {
  DCHECK(schema_ != nullptr && !started_ && !refusing_);
  Status named = co_await sync_names_of_sstables();
  if (!named.ok()) co_return named;
  for (const auto& [path, has_content] : std::exchange(headless_segments_, {})) {
    Status gone = has_content ? set_damaged_aside(runtime_.disk, path) : runtime_.disk.remove(path);
    if (!gone.ok()) LOG_WARN("{}", gone.error().message());
  }
  log_.set_newest_id(highest_flushed_segment_);
  CO_TRY(log_.open());
  replaying_ = false;
  started_ = true;
  reserve_.emplace(options_.memtables->share() / 2);  // as much as the memtables that are flushed had
  log_.remove_clean();
  join_memtable_budget();
  for (const TableStorePtr& store : select(TableSelection())) {
    for (size_t i = 0; i < store->indexes.size(); ++i) {
      if (!store->indexes[i]->store->needs_rebuild) continue;
      TablePtr table = store->table;
      std::string name = store->indexes[i]->metadata.name;
      Status built = co_await build_index(table, name);
      if (built.ok()) continue;
      if (!goes_on_after(built.error())) co_return built;
      LOG_ERROR("The index {} of {} is not built and refuses reads: {}", name, table->qualified_name(),
                built.error().message());
    }
  }
  if (options_.auto_compaction) {
    asks_every_minute_ = true;
    ask_all_for_compaction();
    ask_every_minute();
  }
  co_return Status();
}

Task<Status> Engine::drain() {
  refusing_ = true;
  TableSelection everything;
  Status flushed = co_await flush(everything);
  if (!flushed.ok()) co_return flushed;
  Status synced = co_await log_.sync();
  if (!synced.ok()) co_return synced;
  co_await stop();
  co_return Status();
}

Task<void> Engine::stop() {
  refusing_ = true;
  wake_writers();
  co_await gate_.close();
  DCHECK(flushes_pending_ == 0 && memory_waiters_.empty());
  co_await log_.stop();
}

namespace {

// One that shards share counts on the first of them, but for what each has of it in memory.
void add_sstable_numbers(TableStatistics& out, const TableStore& store, unsigned shard) {
  uint64_t compressed = 0, uncompressed = 0;
  for (const LiveSSTable& live : store.sstables) {
    const SSTableInfo& info = live.sstable->info();
    out.bloom_false_positives += live.sstable->false_positives();
    out.bloom_bytes += live.sstable->memory_used();
    if (live.shared && shard != 0) continue;
    ++out.sstables;
    out.live_disk_bytes += info.total_bytes;
    out.estimated_partitions += info.partitions;
    for (const auto& [bytes, count] : info.partition_sizes) out.partition_bytes.record(bytes, count);
    for (const auto& [cells, count] : info.cells_per_partition) out.cells_per_partition.record(cells, count);
    compressed += info.data_bytes;
    uncompressed += info.uncompressed_bytes;
  }
  if (uncompressed > 0) out.compression_ratio = static_cast<double>(compressed) / static_cast<double>(uncompressed);
}

}  // namespace

Result<TableStatistics> Engine::table_statistics(const Uuid& table) const {
  TableStorePtr store = find(table);
  if (!store) return invalid("Unknown table " + table.to_string());
  TableStatistics out;
  add_sstable_numbers(out, *store, shard_);
  out.total_disk_bytes = out.live_disk_bytes;
  out.memtable_rows = store->memtable->row_count();
  for (const auto& old : store->flushing) out.memtable_rows += old->row_count();
  out.estimated_partitions += store->memtable->partitions().size();
  out.memtable_bytes = store->memtable_bytes();
  out.pending_flushes = store->flushing.size();
  const TableCounters& counters = store->counters;
  out.memtable_switches = counters.memtable_switches;
  out.reads = counters.reads;
  out.writes = counters.writes;
  out.read_micros = counters.read_micros;
  out.range_micros = counters.range_micros;
  out.write_micros = counters.write_micros;
  out.sstables_per_read = counters.sstables_per_read;
  out.tombstones_per_read = counters.tombstones_per_read;
  out.live_rows_per_read = counters.live_rows_per_read;
  return out;
}

Result<SizeEstimate> Engine::estimate_size(const Uuid& table, const KeyRange& range) const {
  SizeEstimate out;
  TableStorePtr store = find(table);
  if (!store) return out;
  for (const LiveSSTable& live : store->sstables) {
    // Every shard has those; the first one counts them.
    if (live.shared && shard_ != 0) continue;
    const SSTableInfo& info = live.sstable->info();
    if (range.end.compare(DecoratedKey::of(info.first_key)) < 0) continue;
    if (range.start.compare(DecoratedKey::of(info.last_key)) > 0) continue;
    ASSIGN_OR_RETURN(const uint64_t partitions, live.sstable->estimated_partitions(range));
    uint64_t counted = 0;
    for (const auto& [bytes, count] : info.partition_sizes) counted += count;
    out.partitions += partitions;
    out.partition_bytes += static_cast<uint64_t>(std::ceil(info.mean_partition_bytes())) * counted;
    out.counted += counted;
  }
  return out;
}

uint32_t row_index_granularity(const EngineOptions& options) {
  // BigFormatPartitionWriter.DEFAULT_GRANULARITY: an entry of BIG's row index has two clusterings.
  constexpr uint32_t kOfBti = 4 << 10, kOfBig = 64 << 10;
  const SSTableVersion* version = options.sstable_version;
  const bool is_big = version != nullptr && version->format == SSTableFormat::kBig;
  return options.column_index_bytes.value_or(is_big ? kOfBig : kOfBti);
}

Status Engine::begin_sampling(const TableSelection& selection, const SamplingOrder& order) {
  const Stores stores = select(selection);
  for (const TableStorePtr& store : stores) {
    const auto& samplers = store->counters.samplers;
    if (samplers && samplers->is_active(runtime_.clock.monotonic_nanos()))
      return invalid("Sampling already in progress");
  }
  for (const TableStorePtr& store : stores) store->counters.samplers = std::make_unique<TableSamplers>(order);
  return {};
}

std::vector<std::pair<TablePtr, TopSamples>> Engine::finish_sampling(const TableSelection& selection) {
  std::vector<std::pair<TablePtr, TopSamples>> out;
  for (const TableStorePtr& store : select(selection)) {
    if (!store->counters.samplers) continue;
    out.emplace_back(store->table, store->counters.samplers->finish());
    store->counters.samplers.reset();
  }
  return out;
}

SSTableGuardrails Engine::sstable_guardrails() const {
  SSTableGuardrails guardrails = options_.guardrails;
  guardrails.now_seconds = runtime_.clock.wall_seconds();
  return guardrails;
}

std::vector<TablePaths> Engine::paths() const {
  std::vector<TablePaths> out;
  for (const TableStorePtr& store : with_indexes(select(TableSelection()))) {
    out.push_back({store->table->keyspace, store->table->name, store->paths});
  }
  return out;
}

EngineStatistics Engine::statistics() const {
  EngineStatistics out;
  out.commitlog_bytes = log_.total_bytes();
  out.commitlog_segments = log_.segment_count();
  out.commitlog_pending = log_.pending();
  out.commitlog_completed = log_.completed();
  out.memtable_bytes = active_bytes_ + flushing_bytes_;
  out.flushes_completed = flushes_completed_;
  out.flushes_pending = flushes_pending_;
  out.compactions_completed = compactions_completed_.count();
  out.compactions_per_second = compactions_completed_.fifteen_minute_rate(runtime_.clock.monotonic_nanos());
  out.compactions_pending = compactions_pending_;
  out.bytes_compacted = bytes_compacted_;
  out.compactions_aborted = compactions_aborted_;
  out.compactions_reduced = compactions_reduced_;
  out.sstables_left_out = sstables_left_out_;
  out.compaction_throughput = options_.compaction_throughput;
  out.concurrent_compactors = options_.concurrent_compactors;
  out.compressed_bytes_compacted = compressed_bytes_compacted_;
  out.chunk_cache = chunk_cache_.statistics();
  out.disk_wait_micros = disk_wait_micros_;
  return out;
}

Result<std::vector<SSTableInfo>> Engine::sstables_with_key(const Uuid& table, BytesView key) const {
  std::vector<SSTableInfo> out;
  const TableStorePtr store = find(table);
  if (store == nullptr) return out;
  const DecoratedKey decorated = DecoratedKey::of(key);
  const HashedKey hashed = decorated;
  SliceSelection selection;
  selection.wants_rows = false;
  for (const LiveSSTable& live : store->sstables) {
    ASSIGN_OR_RETURN(auto partition, live.sstable->read(store->table, hashed, selection));
    if (partition != nullptr) out.push_back(live.sstable->info());
  }
  return out;
}

std::vector<SSTableInfo> Engine::sstables(const Uuid& table) const {
  std::vector<SSTableInfo> out;
  if (TableStorePtr store = find(table)) {
    for (const LiveSSTable& live : store->sstables) out.push_back(live.sstable->info());
  }
  return out;
}

}  // namespace cassandra_like
