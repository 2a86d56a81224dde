// TRUNCATE: all that a table holds goes.
//
// Its SSTables go in a transaction, one for each directory: a crash must not take a deletion and leave what it hides. SSTables
// that several shards read are no part of it, since each shard removes them. SSTables that are set aside because they are
// damaged go, too: a scrub, or a start that finds them whole, would bring their data back. The base table goes before its
// indexes: an entry without a row does no harm. When an index cannot follow, the log may bring back rows whose entries it has
// deleted: so nothing says then that it is built, and the next start builds it.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "storage/engine/engine.h"

namespace cassandra_like {

namespace {

// ColumnFamilyStore.discardSSTables: OperationType.UNKNOWN
constexpr std::string_view kOperation = "unknowncompactiontype";

}  // namespace

struct Engine::Removal {
  TableStorePtr store;
  std::string path;
  std::vector<SSTablePtr> sstables;
  std::unique_ptr<SSTableTransaction> transaction;
};

Task<Status> Engine::commit_removal(TableStorePtr store, std::string path, std::vector<Removal>* removals) {
  Removal removal;
  removal.store = store;
  removal.path = path;
  std::vector<SSTableDescriptor> gone;
  for (const LiveSSTable& live : store->sstables) {
    const SSTableDescriptor& descriptor = live.sstable->info().descriptor;
    if (live.shared || descriptor.directory != path) continue;
    removal.sstables.push_back(live.sstable);
    gone.push_back(descriptor);
  }
  for (const SSTableDescriptor& descriptor : store->unread) {
    if (descriptor.directory == path) gone.push_back(descriptor);
  }
  if (gone.empty()) co_return Status();
  const Uuid id = begin_record(store->table, {}).id;
  removal.transaction = std::make_unique<SSTableTransaction>(runtime_.disk, path, kOperation, id);
  SSTableTransaction* transaction = removal.transaction.get();
  removals->push_back(std::move(removal));
  Status committed = co_await transaction->commit(std::move(gone));
  co_return committed;
}

Task<Status> Engine::commit_removals(TableStorePtr table, std::vector<Removal>* removals) {
  const Stores stores = with_indexes({table});
  for (const TableStorePtr& store : stores) {
    for (const std::string& path : store->paths) {
      Status committed = co_await commit_removal(store, path, removals);
      if (!committed.ok()) co_return committed;
    }
  }
  co_return Status();
}

// The table's flushes and compactions wait.
Task<Result<CommitLogPosition>> Engine::discard_all(TableStorePtr store) {
  std::vector<Removal> removals;
  Status discarded = co_await commit_removals(store, &removals);
  // Reads see all of it go at once.
  const CommitLogPosition position = log_position();
  for (const Removal& removal : removals) {
    if (!removal.transaction->is_committed()) continue;
    removal.store->remove_sstables(removal.sstables);
    std::erase_if(removal.store->unread, [&](const SSTableDescriptor& d) { return d.directory == removal.path; });
  }
  if (discarded.ok()) discarded = store->discard(runtime_.disk, position);
  recount_memory();
  for (Removal& removal : removals) {
    Status ended = co_await end_transaction(removal.transaction.get());
    if (ended.ok()) continue;
    LOG_WARN("Files of {} are removed later: {}", removal.store->table->qualified_name(), ended.error().message());
    removal.store->unfinished.push_back(std::move(removal.transaction));
  }
  if (!discarded.ok()) co_return std::move(discarded.error());
  for (const std::string& path : store->paths) {
    Status synced = co_await runtime_.disk.sync_directory(path);
    if (!synced.ok()) co_return std::move(synced.error());
  }
  log_.mark_clean(store->log, position);
  co_return position;
}

Task<Result<CommitLogPosition>> Engine::truncate(TablePtr table, std::string snapshot_tag) {
  TableStorePtr store = find(table->id);
  if (!store) co_return invalid(fmt::format("Unknown table {}", table->qualified_name()));
  if (!snapshot_tag.empty()) {
    SnapshotRequest request = automatic_snapshot(snapshot_tag, *schema_, *store->table);
    Status kept = co_await snapshot_store(store, request);
    if (!kept.ok()) co_return std::move(kept.error());
  }
  co_await store->flush_mutex.lock();
  AsyncMutex::Guard flush_guard(store->flush_mutex);
  const CompactionGuards ended = co_await end_compactions(store);
  Status settled = co_await settle(store);
  if (!settled.ok()) co_return std::move(settled.error());
  CO_TRY(co_await withdraw_marks(store));
  Result<CommitLogPosition> position = co_await discard_all(store);
  for (const auto& index : store->indexes) {
    if (position.ok()) CO_TRY(index->store->restore_built(runtime_.disk, self_));
    index->store->is_mark_withdrawn = false;
  }
  co_return position;
}

}  // namespace cassandra_like
