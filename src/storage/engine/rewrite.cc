// Writing SSTables anew by order, each by itself: for another version (CompactionManager.performSSTableRewrite), or without
// what newer data of the other SSTables deletes (performGarbageCollection).
//
// An SSTable and what replaces it are a transaction, as in any compaction; its level and its state of repair stay. Files that
// several shards share are split before (relocate.cc), which writes them anew, too. One that cannot be written now is
// left as it is, and the order says so once the others are done.
#include <algorithm>

#include <fmt/format.h>

#include "storage/engine/engine_impl.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_version.h"

namespace cassandra_like {

// SSTableFormat.getLatestVersion: each format has one, whichever the node writes.
bool EngineImpl::is_current(const SSTableDescriptor& descriptor) const {
  const SSTableVersion* written = options_.sstable_version;
  const bool writes_big = written != nullptr && written->format == SSTableFormat::kBig;
  const SSTableVersion& big = writes_big ? *written : SSTableVersion::oa();
  const SSTableVersion* version = descriptor.known_version();
  return version == &SSTableVersion::da() || version == &big;
}

bool EngineImpl::wants(const SSTableRewrite& rewrite, const TableStore& store, const LiveSSTable& live) const {
  const SSTableInfo& info = live.sstable->info();
  if (rewrite.operation == CompactionOperation::kGarbageCollect) {
    return !purges_only_repaired(*store.table) || info.repaired_at != 0;
  }
  return live.created_millis <= rewrite.created_until_millis && (rewrite.include_all || !is_current(info.descriptor));
}

Task<Status> EngineImpl::rewrite(TableSelection selection, SSTableRewrite rewrite) {
  Stores stores = select(selection);
  if (rewrite.operation == CompactionOperation::kUpgrade) stores = with_indexes(stores);
  Plan plan = [this, rewrite](const TableStorePtr& store) { return plan_rewrite(store, rewrite); };
  Task<Status> task = run_on_all(stores, std::move(plan));
  Status done = co_await task;
  if (!done.ok()) co_return done;
  for (const TableStorePtr& store : stores) {
    for (const LiveSSTable& live : store->sstables) {
      if (is_compactable(live) || !wants(rewrite, *store, live)) continue;
      co_return Error(
          ErrorCode::kClosed,
          fmt::format("{} of {} is left as it is: it is not this shard's alone, or segments of another "
                      "commit log are there",
                      live.sstable->info().descriptor.file(components::kData), store->table->qualified_name()));
    }
  }
  co_return Status();
}

// The largest first; where garbage is collected, the oldest, since what it leaves may let a later one purge its tombstones.
std::vector<EngineImpl::CompactionRun> EngineImpl::plan_rewrite(const TableStorePtr& store,
                                                                const SSTableRewrite& rewrite) const {
  const bool collects = rewrite.operation == CompactionOperation::kGarbageCollect;
  std::vector<SSTablePtr> wanted;
  for (const LiveSSTable& live : store->sstables) {
    if (is_compactable(live) && wants(rewrite, *store, live)) wanted.push_back(live.sstable);
  }
  std::stable_sort(wanted.begin(), wanted.end(), [collects](const SSTablePtr& a, const SSTablePtr& b) {
    return collects ? a->info().max_timestamp < b->info().max_timestamp : a->info().data_bytes > b->info().data_bytes;
  });
  std::vector<CompactionRun> runs;
  for (SSTablePtr& sstable : wanted) {
    CompactionRun run;
    run.store = store;
    run.path = sstable->info().descriptor.directory;
    run.operation = rewrite.operation;
    run.purges = collects;
    run.skips_cells = rewrite.skips_cells;
    run.limits.level = sstable->info().level;
    run.inputs.push_back(std::move(sstable));
    runs.push_back(std::move(run));
  }
  return runs;
}

// CompactionController.shadowSources
Result<std::vector<std::unique_ptr<PartitionReader>>> EngineImpl::newer_data(const CompactionRun& run,
                                                                             const DecoratedKey& key) {
  std::vector<std::unique_ptr<PartitionReader>> sources;
  const HashedKey hashed = key;
  for (const LiveSSTable& live : run.store->sstables) {
    const SSTableInfo& info = live.sstable->info();
    const bool has_deletions = info.min_local_deletion_time != kNoDeletionTime;
    if (live.compacting || live.suspect || info.max_timestamp <= run.inputs[0]->info().min_timestamp) continue;
    if (!run.skips_cells && !has_deletions) continue;
    if (!live.sstable->may_contain(hashed)) continue;
    ASSIGN_OR_RETURN(auto source, live.sstable->read(run.store->table, hashed, SliceSelection()));
    if (source != nullptr) sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace cassandra_like
