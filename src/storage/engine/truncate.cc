// TRUNCATE: all that a table holds goes.
//
// The SSTables of all shards go in one transaction, and those of each index in another: a crash must not take a deletion and leave what it
// hides, and one of the two may be in an SSTable that several shards read. SSTables that are set aside because they are
// damaged go, too: a scrub, or a start that finds them whole, would bring their data back. The base table goes before its
// indexes: an entry without a row does no harm. When an index cannot follow, the log may bring back rows whose entries it has
// deleted: so nothing says then that it is built, and the next start builds it.
#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "runtime/gather.h"
#include "storage/engine/engine.h"

namespace cassandra_like {

namespace {

// ColumnFamilyStore.discardSSTables: OperationType.UNKNOWN
constexpr std::string_view kOperation = "unknowncompactiontype";

bool contains(const std::vector<SSTableDescriptor>& some, const SSTableDescriptor& one) {
  return std::find(some.begin(), some.end(), one) != some.end();
}

}  // namespace

TruncatedSSTables Engine::sstables_of(const TableStorePtr& store, bool with_shared) {
  TruncatedSSTables out;
  for (const TableStorePtr& one : with_indexes({store})) {
    auto add = [&out, &one](const SSTableDescriptor& descriptor) {
      out[{one->table->is_index, one->directory}].push_back(descriptor);
    };
    for (const LiveSSTable& live : one->sstables) {
      if (with_shared || !live.shared) add(live.sstable->info().descriptor);
    }
    for (const SSTableDescriptor& descriptor : one->unread) add(descriptor);
    if (!with_shared) continue;
    for (const SSTableDescriptor& descriptor : one->shared_unread) add(descriptor);
  }
  return out;
}

Task<TruncationCommit> Engine::commit_removal(TableStorePtr store, TruncatedSSTables gone) {
  TruncationCommit out;
  for (auto& [where, sstables] : gone) {
    const Uuid id = begin_record(store->table, {}).id;
    auto transaction = std::make_unique<SSTableTransaction>(runtime_.disk, kOperation, id);
    out.status = co_await transaction->commit(sstables);
    // Nothing may be done to SSTables of a commit in doubt, and other shards do not know of it.
    if (!out.status.ok()) {
      Status aborted = co_await transaction->abort();
      if (!aborted.ok()) LOG_WARN("{}", aborted.error().message());
    }
    // The files of one that is committed go at the end, when no read finds them.
    TableStorePtr owner = store;
    for (const TableStorePtr& one : with_indexes({store})) {
      if (one->directory == where.second) owner = one;
    }
    if (!transaction->is_ended()) owner->unfinished.push_back(std::move(transaction));
    if (!out.status.ok()) co_return out;
    out.gone.insert(out.gone.end(), sstables.begin(), sstables.end());
  }
  co_return out;
}

// The table's flushes and compactions wait.
Task<Result<CommitLogPosition>> Engine::discard_all(TableStorePtr store, TruncationCommit commit) {
  // Reads see all of it go at once.
  const CommitLogPosition position = log_position();
  const Stores stores = with_indexes({store});
  for (const TableStorePtr& one : stores) {
    auto is_gone = [&commit](const SSTableDescriptor& descriptor) { return contains(commit.gone, descriptor); };
    std::erase_if(one->sstables, [&](const LiveSSTable& live) { return is_gone(live.sstable->info().descriptor); });
    std::erase_if(one->unread, is_gone);
    std::erase_if(one->shared_unread, is_gone);
  }
  Status discarded = std::move(commit.status);
  if (discarded.ok()) discarded = store->discard(runtime_.disk, position);
  recount_memory();
  for (const TableStorePtr& one : stores) {
    Status settled = co_await settle(one);
    if (!settled.ok()) LOG_WARN("{}", settled.error().message());
  }
  if (!discarded.ok()) co_return std::move(discarded.error());
  for (const std::string& path : store->paths) {
    Status synced = co_await runtime_.disk.sync_directory(path);
    if (!synced.ok()) co_return std::move(synced.error());
  }
  log_.mark_clean(store->log, position);
  co_return position;
}

Task<Result<TruncatedSSTables>> Engine::begin_truncation(TablePtr table, std::string snapshot_tag) {
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  Result<TruncatedSSTables> held = co_await hold(std::move(table), std::move(snapshot_tag));
  if (!held.ok()) gate_.leave();
  co_return held;
}

Task<Result<TruncatedSSTables>> Engine::hold(TablePtr table, std::string snapshot_tag) {
  TableStorePtr store = find(table->id);
  if (!store) co_return invalid(fmt::format("Unknown table {}", table->qualified_name()));
  if (!snapshot_tag.empty()) {
    SnapshotRequest request = automatic_snapshot(snapshot_tag, *schema_, *store->table);
    Status kept = co_await snapshot_store(store, request);
    if (!kept.ok()) co_return std::move(kept.error());
  }
  co_await store->flush_mutex.lock();
  auto held = std::make_unique<HeldTable>(store);
  held->compactions = co_await end_compactions(store);
  CO_TRY(co_await settle(store));
  CO_TRY(co_await withdraw_marks(store));
  held_.push_back(held.get());
  spawn(keep(std::move(held)));
  co_return sstables_of(store, true);
}

Task<void> Engine::keep(std::unique_ptr<HeldTable> held) { co_await held->ended; }

Engine::HeldTable& Engine::held(const TableMetadata& table) {
  auto found = std::find_if(held_.begin(), held_.end(),
                            [&](const HeldTable* held) { return held->store->table->id == table.id; });
  CHECK(found != held_.end());
  return **found;
}

Task<TruncationCommit> Engine::commit_truncation(TablePtr table, TruncatedSSTables gone) {
  return commit_removal(held(*table).store, std::move(gone));
}

Task<Result<CommitLogPosition>> Engine::end_truncation(TablePtr table, TruncationCommit commit) {
  HeldTable& truncated = held(*table);
  const TableStorePtr store = truncated.store;
  const bool is_untouched = commit.gone.empty();
  Result<CommitLogPosition> position = co_await discard_all(store, std::move(commit));
  Status marked;
  for (const auto& index : store->indexes) {
    const bool is_whole = position.ok() || is_untouched;
    if (is_whole && marked.ok()) marked = index->store->restore_built(runtime_.disk, self_);
    index->store->is_mark_withdrawn = false;
  }
  std::erase(held_, &truncated);
  truncated.ended.set(true);
  gate_.leave();  // who waits for it may destroy the engine
  if (!marked.ok()) co_return std::move(marked.error());
  co_return position;
}

Task<Result<std::vector<CommitLogPosition>>> truncate_on_all_shards(Runtime* runtime, Executor* home,
                                                                    std::function<Maintenance*(unsigned)> engine_of,
                                                                    TablePtr table, std::string snapshot_tag) {
  using Begun = Result<TruncatedSSTables>;
  using Ended = Result<CommitLogPosition>;
  std::function<Task<Begun>(unsigned)> begin = [engine_of, table, snapshot_tag](unsigned shard) -> Task<Begun> {
    Maintenance* engine = engine_of(shard);
    if (engine == nullptr) return Begun(Error(ErrorCode::kClosed, "The node is stopping"));
    return engine->begin_truncation(table, snapshot_tag);
  };
  std::vector<unsigned> first{0}, others, held;
  for (unsigned shard = 1; shard < runtime->shard_count(); ++shard) others.push_back(shard);
  std::vector<Begun> begun = co_await gather<Begun>(*runtime, *home, first, begin);
  if (begun[0].ok() && !others.empty()) {
    std::vector<Begun> more = co_await gather<Begun>(*runtime, *home, others, begin);
    std::move(more.begin(), more.end(), std::back_inserter(begun));
  }
  TruncationCommit commit;
  TruncatedSSTables gone;
  for (unsigned shard = 0; shard < begun.size(); ++shard) {
    if (!begun[shard].ok()) {
      if (commit.status.ok()) commit.status = begun[shard].error();
      continue;
    }
    held.push_back(shard);
    for (const auto& [where, sstables] : *begun[shard]) {
      auto& all = gone[where];
      for (const SSTableDescriptor& sstable : sstables) {
        if (!contains(all, sstable)) all.push_back(sstable);
      }
    }
  }
  if (held.empty()) co_return std::move(commit.status.error());
  if (commit.status.ok()) {
    std::function<Task<TruncationCommit>(unsigned)> commit_on = [engine_of, table, gone](unsigned shard) {
      return engine_of(shard)->commit_truncation(table, gone);
    };
    auto committed = co_await gather<TruncationCommit>(*runtime, *home, first, commit_on);
    commit = std::move(committed[0]);
  }
  std::function<Task<Ended>(unsigned)> end = [engine_of, table, commit](unsigned shard) {
    return engine_of(shard)->end_truncation(table, commit);
  };
  std::vector<Ended> ended = co_await gather<Ended>(*runtime, *home, held, end);
  std::vector<CommitLogPosition> positions;
  for (Ended& position : ended) {
    if (!position.ok()) co_return std::move(position.error());
    positions.push_back(*position);
  }
  co_return positions;
}

}  // namespace cassandra_like
