// Filling an index from the rows that its table already has.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "read/merge.h"
#include "storage/engine/engine.h"
#include "storage/memtable_budget.h"

namespace cassandra_like {

struct Engine::IndexBuild {
  TableStorePtr index;  // another one may have its name when it is dropped
  KeyRange rest;        // partitions that no page has come to
  Bytes key, behind;    // the partition that the last page did not end, and where to go on in it; or empty
  uint64_t partitions = 0, total = 0;
  bool is_done = false;
  bool stopped = false;    // somebody wants it to end
  RunningCompaction told;  // without its progress
};

namespace {

Error was_dropped(const TableStore& index) {
  return invalid(fmt::format("Index {} was dropped while it was built", index.table->qualified_name()));
}

// SecondaryIndexBuilder.getCompactionInfo
RunningCompaction build_of(const TableStore& store, const Uuid& id) {
  RunningCompaction out;
  out.id = id;
  out.table = store.table;
  out.operation = CompactionOperation::kIndexBuild;
  out.sstables = store.sstables.size();
  for (const LiveSSTable& live : store.sstables) {
    out.total += live.sstable->info().uncompressed_bytes;
    out.total_compressed += live.sstable->info().data_bytes;
  }
  return out;
}

}  // namespace

void Engine::tell_index_builds(std::vector<RunningCompaction>* out) const {
  for (const IndexBuild* build : index_builds_) {
    out->push_back(build->told);
    const double all = static_cast<double>(build->total), done = static_cast<double>(build->partitions);
    const double share = build->total == 0 ? 0 : std::min(1.0, done / all);
    out->back().completed = static_cast<uint64_t>(share * static_cast<double>(build->told.total));
  }
}

size_t Engine::stop_index_builds(const std::function<bool(const RunningCompaction&)>& which) {
  size_t stopped = 0;
  for (IndexBuild* build : index_builds_) {
    if (build->stopped || !which(build->told)) continue;
    build->stopped = true;
    ++stopped;
  }
  return stopped;
}

// Deletions of entries that are there would hide the entries of older rows.
Task<Status> Engine::empty_index(TableStorePtr table, TableStorePtr index) {
  co_await table->flush_mutex.lock();
  AsyncMutex::Guard flush_guard(table->flush_mutex);
  const CompactionGuards ended = co_await end_compactions(index);
  if (index->dropped) co_return Status();
  CO_TRY(set_unbuilt(*index));
  CO_TRY(co_await sync_unbuilt_indexes());
  CO_TRY(co_await settle(index));
  TruncationCommit commit = co_await commit_removal(index, sstables_of(index, false));
  auto emptied = co_await discard_all(index, std::move(commit));
  co_return emptied.ok() ? Status() : Status(emptied.error());
}

Task<Status> Engine::build_index(TablePtr table, std::string name) {
  TableStorePtr store = find(table->id);
  if (!store) co_return invalid(fmt::format("Unknown table {}", table->qualified_name()));
  auto found = std::find_if(store->indexes.begin(), store->indexes.end(),
                            [&](const std::unique_ptr<IndexStore>& i) { return i->metadata.name == name; });
  if (found == store->indexes.end()) {
    co_return invalid(
        fmt::format("Index {} of {} is unknown or of a kind that is not supported yet", name, table->qualified_name()));
  }
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  Status built = co_await fill_index(store, (*found)->store, std::move(name));
  gate_.leave();  // who waits for it may destroy the engine
  co_return built;
}

// Pages over the base table by key, so that flushes and writes go on between pages: what is written meanwhile is indexed
// with its write.
Task<Status> Engine::fill_index(TableStorePtr store, TableStorePtr index, std::string name) {
  co_await index->build_mutex.lock();
  AsyncMutex::Guard build_guard(index->build_mutex);
  IndexBuild build;
  build.index = index;
  for (const LiveSSTable& live : store->sstables) build.total += live.sstable->info().partitions;
  build.total += store->memtable->partitions().size();
  build.told = build_of(*store, begin_record(store->table, {}).id);
  LOG_INFO("Building index {} of {} from about {} partitions", name, store->table->qualified_name(), build.total);
  // One that is built gets what it lacks, and reads go on.
  Status status;
  if (index->needs_rebuild) status = co_await empty_index(store, index);
  index_builds_.push_back(&build);
  while (!build.is_done && status.ok() && !gate_.closed() && !build.stopped) {
    const uint64_t before = build.partitions;
    co_await wait_to_build(&build);
    std::vector<SSTablePtr> sstables;
    for (const LiveSSTable& live : store->sstables) sstables.push_back(live.sstable);
    status = co_await read_ahead(&sstables);
    if (!status.ok()) break;
    status = build_index_page(*store, build);
    if (build.partitions / 100'000 > before / 100'000) {
      LOG_INFO("Building index {}: {} of {}", name, build.partitions, build.total);
    }
    co_await runtime_.executor.yield();
  }
  std::erase(index_builds_, &build);
  if (!build.is_done && status.ok()) {
    status = Error(ErrorCode::kClosed, build.stopped ? "Compaction interrupted" : "The node is stopping");
  }
  if (!status.ok()) co_return status;
  Status flushed = co_await flush_store(store);
  if (!flushed.ok()) co_return flushed;
  // A flush that began before has not seen the mark, so it could not take it back.
  co_await store->flush_mutex.lock();
  AsyncMutex::Guard flush_guard(store->flush_mutex);
  if (index->dropped) co_return was_dropped(*index);
  // Rows of SSTables that are set aside may come back: the next start builds the index again.
  if (store->has_unread()) {
    CO_TRY(set_unbuilt(*index));
    CO_TRY(co_await sync_unbuilt_indexes());
    index->needs_rebuild = false;
  } else {
    CO_TRY(index->set_built(runtime_.disk, self_));
  }
  LOG_INFO("Index build of {} complete", name);
  co_return Status();
}

// A page may end in a large partition: the next one goes on behind the last row.
Status Engine::build_index_page(TableStore& store, IndexBuild& build) {
  constexpr int64_t kPageNanos = 1'000'000;
  constexpr uint64_t kPageRows = 1024;
  const int64_t end = runtime_.clock.monotonic_nanos() + kPageNanos;
  uint64_t rows = 0;
  auto is_over = [&] { return rows >= kPageRows || runtime_.clock.monotonic_nanos() >= end; };
  auto index = std::find_if(store.indexes.begin(), store.indexes.end(),
                            [&](const std::unique_ptr<IndexStore>& i) { return i->store == build.index; });
  if (index == store.indexes.end()) {
    return was_dropped(*build.index);
  }
  Memtable& hidden = *build.index->memtable;
  const size_t before = hidden.memory_used();
  auto write = [&](const PartitionUpdate& entry) {
    if (entry.key.key.size() < kIndexedValueLimit) hidden.apply(entry);
  };
  const int64_t now = runtime_.clock.wall_seconds();
  auto index_one = [&](const PartitionReader& partition, const Row& row) {
    index_arena_.reset();
    index_row(**index, *store.table, partition.key(), row, now, index_arena_, write);
    ++rows;
  };
  // False: the page ends within the partition.
  auto index_rows = [&](PartitionReader& partition) -> Result<bool> {
    while (true) {
      ASSIGN_OR_RETURN(const Unfiltered* unfiltered, partition.next());
      if (unfiltered == nullptr) return true;
      if (!unfiltered->is_row) continue;
      index_one(partition, unfiltered->row);
      if (store.table->clustering.empty() || !is_over()) continue;
      build.key.assign(partition.key().key);
      append_comparable(build.behind, *store.table, unfiltered->row.clustering.values, ClusteringKind::kExclStartBound);
      return false;
    }
  };
  bool is_whole = true;
  if (!build.behind.empty()) {
    const Bytes key = std::move(build.key);
    const Slices slices{Slice{std::exchange(build.behind, {}), ""}};
    ASSIGN_OR_RETURN(auto readers, open_key(store, DecoratedKey::of(key), SliceSelection{slices, false, true}));
    if (!readers.empty()) {
      MergedPartition partition(std::move(readers), false);
      ASSIGN_OR_RETURN(is_whole, index_rows(partition));
    }
  }
  std::unique_ptr<PartitionScanner> scanner;
  if (is_whole) {
    ASSIGN_OR_RETURN(scanner, open_range(store, build.rest, {}));
  }
  while (is_whole && !build.is_done) {
    ASSIGN_OR_RETURN(PartitionReader * partition, scanner->next());
    build.is_done = partition == nullptr;
    if (build.is_done || !is_mine(partition->key().token)) continue;
    if (!partition->static_row().is_empty()) index_one(*partition, partition->static_row());
    ASSIGN_OR_RETURN(is_whole, index_rows(*partition));
    ++build.partitions;
    if (is_whole && !is_over()) continue;
    build.rest.start = RingPosition::at(partition->key());
    build.rest.start_inclusive = false;
    break;
  }
  active_bytes_ += hidden.memory_used() - before;
  if (active_bytes_ >= tell_at_) tell_memory();
  return {};
}

// Entries need memory as writes do. A build waits for it as long as it takes.
Task<void> Engine::wait_to_build(const IndexBuild* build) {
  constexpr Duration kPause = std::chrono::milliseconds(50);
  while (options_.memtables->is_full() && !gate_.closed() && !build->stopped) {
    const Status free = co_await wait_for_memory();
    if (!free.ok() || refusing_) co_await runtime_.executor.sleep(kPause);
  }
}

}  // namespace cassandra_like
