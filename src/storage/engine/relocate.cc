// Splitting SSTables that several shards read: those of Cassandra, and of this node with another number of shards.
//
// One shard splits a file, for all: which one, the file's id says. It writes an SSTable for each shard that has keys in it, without
// purging anything, and all shards read from their parts from then on (relocation.h). In Cassandra's words this is
// relocatesstables: data goes where it belongs.
//
// Invariants:
// - One transaction for one file, or for all files of an import: at a commit all parts appear and the file goes. So the disk
//   needs room for a file more, and a failure leaves the file as it was.
// - A file is split only when no segment of another owner's log is there: what they hold must not come back, and the parts
//   cannot say what is in them. Until then, and while any file is shared, nobody purges what it may hide.
// - TRUNCATE and DROP wait for a commit, or end the split before it.
#include <algorithm>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/log.h"
#include "base/memory_text.h"
#include "storage/compaction/split_sstable.h"
#include "storage/engine/engine.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {

constexpr Duration kRetryAfter = std::chrono::minutes(1);

Error not_now(std::string why) { return Error(ErrorCode::kClosed, std::move(why)); }

}  // namespace

TableStorePtr Engine::find(const SharedSSTable& shared) const {
  TableStorePtr store = find(shared.table);
  if (store == nullptr || shared.index.empty()) return store;
  for (const auto& index : store->indexes) {
    if (index->metadata.name == shared.index) return index->store;
  }
  return nullptr;
}

SSTablePtr Engine::find_live(const TableStore& store, const SSTableDescriptor& descriptor) {
  for (const LiveSSTable& live : store.sstables) {
    if (live.sstable->info().descriptor == descriptor) return live.sstable;
  }
  return nullptr;
}

bool Engine::has_to_split(const LiveSSTable& live) const {
  return live.shared && !live.suspect && crc32(live.sstable->info().descriptor.id) % shard_count_ == shard_;
}

bool Engine::has_to_split(const Stores& tables) const {
  const Stores stores = with_indexes(tables);
  return std::any_of(stores.begin(), stores.end(), [this](const TableStorePtr& store) {
    return std::any_of(store->sstables.begin(), store->sstables.end(),
                       [this](const LiveSSTable& live) { return has_to_split(live); });
  });
}

void Engine::relocate_in_background() {
  if (!relocating_ && !refusing_ && has_to_split(select(TableSelection()))) spawn(run_relocations());
}

Task<void> Engine::run_relocations() {
  if (!gate_.enter()) co_return;
  relocating_ = true;
  // The caller may be in the middle of a change.
  co_await runtime_.executor.yield();
  Task<Status> all = relocate(TableSelection());
  Status ignored = co_await all;  // what failed was logged
  relocating_ = false;
  if (has_to_split(select(TableSelection())) && !refusing_ && !std::exchange(relocation_waits_, true)) {
    runtime_.executor.schedule(kRetryAfter, [this, alive = alive_] {
      if (!*alive) return;
      relocation_waits_ = false;
      relocate_in_background();
    });
  }
  gate_.leave();
}

Task<Status> Engine::relocate(TableSelection selection) {
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  Status first;
  for (const TableStorePtr& store : with_indexes(select(selection))) {
    Status relocated = co_await relocate_all(store);
    if (!relocated.ok() && first.ok()) first = std::move(relocated);
  }
  gate_.leave();
  co_return first;
}

Task<Status> Engine::relocate_all(TableStorePtr store) {
  std::vector<SSTablePtr> shared;
  for (const LiveSSTable& live : store->sstables) {
    if (has_to_split(live)) shared.push_back(live.sstable);
  }
  Status first;
  for (const SSTablePtr& sstable : shared) {
    Status relocated = co_await relocate_one(store, sstable);
    if (!relocated.ok() && first.ok()) first = std::move(relocated);
  }
  co_return first;
}

Task<Status> Engine::relocate_one(TableStorePtr store, SSTablePtr sstable) {
  co_await compactor_slots_.enter();
  CompactorSlots::Guard slot(compactor_slots_);
  co_await store->compaction_mutex.lock();
  AsyncMutex::Guard guard(store->compaction_mutex);
  const SSTableInfo& info = sstable->info();
  if (find_live(*store, info.descriptor) != sstable) co_return Status();  // the table was truncated
  if (has_foreign_segments()) co_return not_now("Segments of another commit log are there");
  CompactionRun run;
  run.store = store;
  run.path = info.descriptor.directory;
  run.inputs = {sstable};
  run.operation = CompactionOperation::kRelocate;
  run.is_split = true;
  CO_TRY(may_go_on(run));
  co_return co_await split_one(&run);
}

Task<Status> Engine::split_one(CompactionRun* run) {
  uint64_t needed = 0;
  for (const SSTablePtr& input : run->inputs) needed += input->info().total_bytes;
  const std::optional<uint64_t> room = room_for_compaction(run->path);
  if (room && *room < needed) {
    ++compactions_aborted_;
    LOG_WARN(
        "Not enough space to split {} among the shards: {} needed, {} available; until there is, it is not compacted",
        run->inputs[0]->info().descriptor.file(components::kData), memory_text(needed), memory_text(*room));
    co_return not_now("The disk is full");
  }
  ++compactions_pending_;
  Status status = co_await run_compaction(run);
  --compactions_pending_;
  compactions_completed_.mark(runtime_.clock.monotonic_nanos());
  if (is_of_input(*run, status)) {
    run->store->suspect(run->inputs, status.error().message());
  }
  co_return status;
}

Task<Status> Engine::on_every_engine(std::function<Status(unsigned, Engine&)> work) {
  if (options_.on_every_engine) return options_.on_every_engine(std::move(work));
  if (shard_count_ == 1) return work(0, *this);
  return Status(invalid("No way to the engines of the other shards"));
}

Task<Result<std::vector<std::string>>> Engine::ask_for_ids(SharedSSTable shared) {
  std::vector<std::string> ids(shard_count_);
  auto* out = &ids;
  std::function<Status(unsigned, Engine&)> ask = [shared, out](unsigned shard, Engine& engine) -> Status {
    ASSIGN_OR_RETURN((*out)[shard], engine.relocation_id(shared));
    return {};
  };
  Status asked = co_await on_every_engine(std::move(ask));
  if (!asked.ok()) co_return std::move(asked.error());
  co_return ids;
}

Task<Status> Engine::split_and_commit(CompactionRun* run) {
  // Files of an attempt that failed hold the same: without a log that voids them, they must not outlive their source.
  if (!run->store->unfinished.empty()) co_return not_now("Files of an earlier compaction are there");
  // The commit log segments of the file's intervals may not come back, either.
  Status synced = co_await runtime_.disk.sync_directory(options_.commitlog_directory);
  if (!synced.ok()) co_return synced;
  std::vector<SplitSSTable> split;
  for (const SSTablePtr& input : run->inputs) {
    Result<SplitSSTable> parts = co_await split_input(run, input);
    if (!parts.ok()) co_return std::move(parts.error());
    split.push_back(std::move(*parts));
  }
  run->record.merged_partitions = {{1, static_cast<int64_t>(run->progress.partitions_read)}};
  Status handed_over = co_await hand_over(run, std::move(split));
  if (!handed_over.ok()) co_return handed_over;
  for (const SSTablePtr& input : run->inputs) bytes_compacted_ += input->info().uncompressed_bytes;
  compressed_bytes_compacted_ += run->record.bytes_in;
  LOG_INFO("Split {} of {} among the shards: {} to {} in {} ms",
           run->inputs.size() == 1 ? run->inputs[0]->info().descriptor.file(components::kData)
                                   : fmt::format("{} sstables", run->inputs.size()),
           run->store->table->qualified_name(), memory_text(run->record.bytes_in), memory_text(run->record.bytes_out),
           (runtime_.clock.monotonic_nanos() - run->begun) / 1'000'000);
  co_return Status();
}

Task<Result<Engine::SplitSSTable>> Engine::split_input(CompactionRun* run, SSTablePtr input) {
  SplitSSTable out;
  const SSTableInfo& info = input->info();
  const bool comes_from_elsewhere = run->is_import && !run->is_placed;
  const std::string directory =
      comes_from_elsewhere ? run->placement->directory_of(murmur3_token(info.first_key)) : info.descriptor.directory;
  out.shared = {run->store->table->id, "", info.descriptor, directory, run->is_import, run->is_placed};
  if (const TableStorePtr base = find(out.shared.table); base != nullptr && base != run->store) {
    for (const auto& index : base->indexes) {
      if (index->store == run->store) out.shared.index = index->metadata.name;
    }
  }
  Result<std::vector<std::string>> ids = co_await ask_for_ids(out.shared);
  if (!ids.ok()) co_return std::move(ids.error());
  out.ids = std::move(*ids);

  SSTableSplit split;
  split.table = run->store->table;
  split.input = input;
  split.transaction = run->transaction.get();
  for (const std::string& id : out.ids) {
    split.outputs.push_back(SSTableDescriptor::of(options_.sstable_version, directory, id));
  }
  split.owner_of = [shards = shard_count_, is_index = split.table->is_index](const DecoratedKey& key, const Row* row) {
    if (!is_index) return shard_of(key.token, shards);
    // An entry is where the row is that it points to.
    return row == nullptr ? SSTableSplit::kNobody : shard_of(murmur3_token(row->clustering.values[0]), shards);
  };
  split.pause = [this, run] { return pause_compaction(run); };
  split.host_id = options_.host_id;
  split.memory = run->rows.get();
  split.row_index_granularity = column_index_bytes();
  split.guardrails = sstable_guardrails();
  split.resets_level = run->resets_level;
  split.clears_repaired = run->clears_repaired;
  Result<SSTableSplitResult> parts = co_await split_sstable(&runtime_, &split, &run->progress);
  if (!parts.ok()) co_return std::move(parts.error());
  for (size_t shard = 0; shard < parts->size(); ++shard) {
    const std::optional<SSTableInfo>& part = (*parts)[shard];
    if (!part) out.ids[shard].clear();
    run->record.bytes_out += part ? part->data_bytes : 0;
  }
  co_return out;
}

std::vector<SSTableDescriptor> Engine::parts_of(const std::vector<SplitSSTable>& split) const {
  std::vector<SSTableDescriptor> parts;
  for (const SplitSSTable& each : split) {
    for (const std::string& id : each.ids) {
      if (!id.empty()) parts.push_back(SSTableDescriptor::of(options_.sstable_version, each.shared.directory, id));
    }
  }
  return parts;
}

Task<Status> Engine::hand_over(CompactionRun* run, std::vector<SplitSSTable> split) {
  const auto all = std::make_shared<const std::vector<SplitSSTable>>(std::move(split));
  std::function<Status(unsigned, Engine&)> prepare = [all](unsigned shard, Engine& engine) -> Status {
    for (const SplitSSTable& each : *all) TRY(engine.prepare_relocation(each.shared, each.ids[shard]));
    return {};
  };
  Status status = co_await on_every_engine(std::move(prepare));
  if (status.ok()) status = co_await sync_unbuilt_indexes();  // those of all shards are in the same directories
  // A compaction may take the parts as soon as they are the table's.
  std::vector<SSTableDescriptor> backed_up;
  if (status.ok() && run->is_import && wants_backups(*run->store)) {
    backed_up = parts_of(*all);
    status = co_await back_up_all(backed_up);
  }
  if (status.ok()) {
    std::vector<SSTableDescriptor> obsolete;
    for (const SplitSSTable& each : *all) {
      if (!each.shared.is_imported || each.shared.is_placed) obsolete.push_back(each.shared.descriptor);
    }
    status = co_await run->transaction->commit(std::move(obsolete));
  }
  if (!status.ok() && !run->transaction->is_in_doubt()) forget_backups(backed_up);
  std::function<Status(unsigned, Engine&)> end = [all, committed = status.ok()](unsigned, Engine& engine) {
    for (const SplitSSTable& each : *all) engine.end_relocation(each.shared, committed);
    return Status();
  };
  // An engine that has stopped reads nothing any more.
  Status ignored = co_await on_every_engine(std::move(end));
  co_return status;
}

bool Engine::has_to_change(const TableStore& store, const SharedSSTable& shared) {
  return shared.is_imported || find_live(store, shared.descriptor) != nullptr;
}

Result<std::string> Engine::relocation_id(const SharedSSTable& shared) {
  const TableStorePtr store = find(shared);
  if (refusing_ || store == nullptr || !has_to_change(*store, shared)) {
    return not_now(fmt::format("{} is not used any more, or not yet", shared.descriptor.file(components::kData)));
  }
  return next_id(*store);
}

Status Engine::prepare_relocation(const SharedSSTable& shared, const std::string& id) {
  const TableStorePtr store = find(shared);
  if (refusing_ || store == nullptr || store->dropped || !has_to_change(*store, shared)) {
    return not_now(fmt::format("{} is not used any more", shared.descriptor.file(components::kData)));
  }
  Relocation relocation{shared, store, nullptr};
  if (!id.empty()) {
    const auto part = SSTableDescriptor::of(options_.sstable_version, shared.directory, id);
    ASSIGN_OR_RETURN(relocation.part, SSTable::open_written(runtime_.disk, part, store->table, &chunk_cache_));
  }
  if (!store->relocations->enter()) return not_now("The table is truncated or dropped");
  if (shared.is_imported) {
    for (const auto& index : store->indexes) TRY(set_unbuilt(*index->store));
  }
  relocations_.push_back(std::move(relocation));
  return {};
}

bool Engine::knows(const Uuid& table, const SSTableDescriptor& descriptor) const {
  const TableStorePtr store = find(table);
  if (store == nullptr || find_live(*store, descriptor) != nullptr) return true;
  for (const auto* known : {&store->leftovers, &store->unread, &store->shared_unread, &store->being_flushed}) {
    if (std::find(known->begin(), known->end(), descriptor) != known->end()) return true;
  }
  return std::any_of(relocations_.begin(), relocations_.end(), [&](const Relocation& relocation) {
    return relocation.shared.descriptor == descriptor ||
           (relocation.part != nullptr && relocation.part->info().descriptor == descriptor);
  });
}

void Engine::end_relocation(const SharedSSTable& shared, bool committed) {
  auto found = std::find_if(relocations_.begin(), relocations_.end(),
                            [&](const Relocation& r) { return r.shared.descriptor == shared.descriptor; });
  if (found == relocations_.end()) return;
  const Relocation relocation = std::move(*found);
  relocations_.erase(found);
  TableStore& store = *relocation.store;
  const SSTablePtr input = find_live(store, shared.descriptor);
  if (committed && has_to_change(store, shared)) {
    if (input != nullptr) store.remove_sstables({input});
    if (relocation.part != nullptr) store.add_sstable(relocation.part, self_, runtime_.clock.wall_millis());
    ask_for_compaction(relocation.store);
  } else if (committed && relocation.part != nullptr) {
    // An index does not wait for this when it goes.
    store.leftovers.push_back(relocation.part->info().descriptor);
    Status removed = store.remove_leftovers(runtime_.disk);
    if (!removed.ok()) LOG_WARN("{}", removed.error().message());
  }
  store.relocations->leave();
}

}  // namespace cassandra_like
