// Filling an index from the rows that its table already has.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "storage/engine/engine_impl.h"

namespace cassandra_like {

// Pages over the base table by key, so that flushes and writes go on between pages: what is written meanwhile is indexed
// with its write.
Task<Status> EngineImpl::build_index(TablePtr table, std::string name) {
  TableStorePtr store = find(table->id);
  if (!store) co_return invalid(fmt::format("Unknown table {}", table->qualified_name()));
  auto found = std::find_if(store->indexes.begin(), store->indexes.end(),
                            [&](const std::unique_ptr<IndexStore>& i) { return i->metadata.name == name; });
  if (found == store->indexes.end()) {
    co_return invalid(
        fmt::format("Index {} of {} is unknown or of a kind that is not supported yet", name, table->qualified_name()));
  }
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  uint64_t partitions = 0, total = 0;
  for (const LiveSSTable& live : store->sstables) total += live.sstable->info().partitions;
  total += store->memtable->partitions().size();
  LOG_INFO("Building index {} of {} from about {} partitions", name, table->qualified_name(), total);
  KeyRange range;
  Status status;
  bool more = true;
  while (more && status.ok() && !gate_.closed()) {
    status = build_index_page(*store, name, &range, &partitions, &more);
    if (partitions % 100'000 == 0 && partitions > 0) LOG_INFO("Building index {}: {} of {}", name, partitions, total);
    co_await runtime_.executor.yield();
  }
  if (more && status.ok()) status = Error(ErrorCode::kClosed, "The node is stopping");
  gate_.leave();
  if (!status.ok()) co_return status;
  Status flushed = co_await flush_store(store);
  if (!flushed.ok()) co_return flushed;
  for (const auto& index : store->indexes) {
    if (index->metadata.name == name) CO_TRY(index->store->set_built(runtime_.disk, self_));
  }
  LOG_INFO("Index build of {} complete", name);
  co_return Status();
}

Status EngineImpl::build_index_page(TableStore& store, const std::string& name, KeyRange* range, uint64_t* partitions,
                                    bool* more) {
  constexpr int64_t kPageNanos = 1'000'000;
  int64_t end = runtime_.clock.monotonic_nanos() + kPageNanos;
  auto index = std::find_if(store.indexes.begin(), store.indexes.end(),
                            [&](const std::unique_ptr<IndexStore>& i) { return i->metadata.name == name; });
  if (index == store.indexes.end()) return invalid(fmt::format("Index {} was dropped while it was built", name));
  Memtable& hidden = *(*index)->store->memtable;
  size_t before = hidden.memory_used();
  auto write = [&](const PartitionUpdate& entry) {
    if (entry.key.key.size() < kIndexedValueLimit) hidden.apply(entry);
  };
  int64_t now = runtime_.clock.wall_seconds();
  ASSIGN_OR_RETURN(auto scanner, open_range(store, *range, {}));
  *more = false;
  while (true) {
    ASSIGN_OR_RETURN(PartitionReader * partition, scanner->next());
    if (partition == nullptr) break;
    if (!is_mine(partition->key().token)) continue;
    index_arena_.reset();
    if (!partition->static_row().is_empty()) {
      index_row(**index, *store.table, partition->key(), partition->static_row(), now, index_arena_, write);
    }
    while (true) {
      ASSIGN_OR_RETURN(const Unfiltered* unfiltered, partition->next());
      if (unfiltered == nullptr) break;
      if (!unfiltered->is_row) continue;
      index_arena_.reset();
      index_row(**index, *store.table, partition->key(), unfiltered->row, now, index_arena_, write);
    }
    ++*partitions;
    if (runtime_.clock.monotonic_nanos() < end) continue;
    range->start = RingPosition::at(partition->key());
    range->start_inclusive = false;
    *more = true;
    break;
  }
  active_bytes_ += hidden.memory_used() - before;
  relieve_memory();
  return {};
}

}  // namespace cassandra_like
