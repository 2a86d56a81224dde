// Writing SSTables anew by order, each by itself: for another version (CompactionManager.performSSTableRewrite), without
// what newer data of the other SSTables deletes (performGarbageCollection), without keys that the node does not own
// (performCleanup), or into the data directories where they belong (relocateSSTables).
//
// An SSTable and what replaces it are a transaction, as in any compaction; its level and its state of repair stay. Files that
// several shards share are split before (relocate.cc), which writes them anew, too. One that cannot be written now is
// left as it is, and the order says so once the others are done.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/log.h"
#include "storage/compaction/slice.h"
#include "storage/engine/engine.h"
#include "storage/sstable/data_reader.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_partition_reader.h"
#include "storage/sstable/sstable_verifier.h"

namespace cassandra_like {

bool Engine::is_current(const SSTableDescriptor& descriptor) const {
  return has_latest_version(descriptor, options_.sstable_version);
}

namespace {

// CompactionManager.performSSTableRewrite, skipIfCompressionMatches
bool has_compression_of(const TableMetadata& table, const SSTable& sstable) {
  const auto wanted = CompressionParams::of(table.params.compression);
  return !wanted.ok() || sstable.files(false).data->has_compression(*wanted);
}

}  // namespace

bool Engine::wants(const SSTableRewrite& rewrite, const TableStore& store, const LiveSSTable& live) const {
  const SSTableInfo& info = live.sstable->info();
  if (rewrite.operation == CompactionOperation::kGarbageCollect) {
    return !store.compaction.options.only_purge_repaired_tombstones || info.repaired_at != 0;
  }
  if (rewrite.operation == CompactionOperation::kCleanup) {
    return !rewrite.owned(*store.table).contains(murmur3_token(info.first_key), murmur3_token(info.last_key));
  }
  if (rewrite.operation == CompactionOperation::kRelocate) {
    const size_t place = place_of(store, info.descriptor.directory);
    return !boundaries_of(store).has(place, murmur3_token(info.first_key), murmur3_token(info.last_key));
  }
  if (rewrite.recompresses) return !has_compression_of(*store.table, *live.sstable);
  return live.created_millis <= rewrite.created_until_millis && (rewrite.include_all || !is_current(info.descriptor));
}

Task<Status> Engine::rewrite(TableSelection selection, SSTableRewrite rewrite) {
  Stores stores = select(selection);
  const bool takes_indexes =
      rewrite.operation == CompactionOperation::kUpgrade || rewrite.operation == CompactionOperation::kRelocate;
  if (takes_indexes) stores = with_indexes(stores);
  if (rewrite.operation == CompactionOperation::kCleanup) {
    for (const TableStorePtr& store : stores) {
      Status cleaned = co_await clean(store, rewrite);
      if (!cleaned.ok()) co_return cleaned;
    }
    co_return Status();
  }
  Plan plan = [this, rewrite](const TableStorePtr& store) { return plan_rewrite(store, rewrite); };
  Task<Status> task = run_on_all(stores, std::move(plan));
  Status done = co_await task;
  if (!done.ok()) co_return done;
  co_return left_as_they_are(stores, rewrite);
}

Status Engine::left_as_they_are(const Stores& stores, const SSTableRewrite& rewrite) const {
  for (const TableStorePtr& store : stores) {
    for (const LiveSSTable& live : store->sstables) {
      if (is_compactable(live) || !wants(rewrite, *store, live)) continue;
      return Error(
          ErrorCode::kClosed,
          fmt::format("{} of {} is left as it is: it is not this shard's alone, or segments of another "
                      "commit log are there",
                      live.sstable->info().descriptor.file(components::kData), store->table->qualified_name()));
    }
  }
  return {};
}

// The largest first; where garbage is collected, the oldest, since what it leaves may let a later one purge its tombstones.
std::vector<Engine::CompactionRun> Engine::plan_rewrite(const TableStorePtr& store,
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
    run.skips_rows = rewrite.skips_rows;
    run.skips_cells = rewrite.skips_cells;
    run.limits.level = sstable->info().level;
    run.inputs.push_back(std::move(sstable));
    runs.push_back(std::move(run));
  }
  return runs;
}

// The smallest first: they need the least room. The tokens are those of the moment when the SSTables are chosen: the node may have got
// some since the order came, and writes of them.
Task<Status> Engine::clean(TableStorePtr store, SSTableRewrite rewrite) {
  if (rewrite.owned(*store->table).are_all()) co_return Status();
  auto has_cleaned = std::make_shared<bool>(false);
  Plan plan = [this, rewrite, has_cleaned](const TableStorePtr& of) {
    const OwnedTokens owned = rewrite.owned(*of->table);
    SSTableRewrite now = rewrite;
    now.owned = [&owned](const TableMetadata&) { return owned; };
    std::vector<CompactionRun> runs = plan_rewrite(of, now);
    std::reverse(runs.begin(), runs.end());
    for (CompactionRun& run : runs) {
      run.owned = owned;
      run.has_cleaned = has_cleaned;
      run.purges = run.goes_on = true;
    }
    return runs;
  };
  Status done = co_await run_on(store, std::move(plan));
  // An entry of a row that is gone does no harm: a read that finds it removes it.
  if (*has_cleaned) {
    Plan of_index = [this, rewrite, store](const TableStorePtr& index) {
      return plan_cleanup_of_index(index, rewrite.owned(*store->table));
    };
    Stores indexes = with_indexes({store});
    indexes.erase(indexes.begin());
    Status cleaned = co_await run_on_all(indexes, std::move(of_index));
    if (done.ok()) done = std::move(cleaned);
  }
  if (!done.ok()) co_return done;
  co_return left_as_they_are({store}, rewrite);
}

std::vector<Engine::CompactionRun> Engine::plan_cleanup_of_index(const TableStorePtr& index,
                                                                 const OwnedTokens& owned) const {
  SSTableRewrite all;
  all.operation = CompactionOperation::kCleanup;
  all.owned = [](const TableMetadata&) { return OwnedTokens(); };
  std::vector<CompactionRun> runs = plan_rewrite(index, all);
  for (CompactionRun& run : runs) {
    run.owned = owned;
    run.purges = run.goes_on = true;
  }
  return runs;
}

// CompactionManager.doCleanupOne
Task<Status> Engine::clean_one(CompactionRun* run) {
  const SSTableInfo& info = run->inputs[0]->info();
  const std::string name = info.descriptor.file(components::kData);
  if (!run->store->table->is_index) {
    const Token first = murmur3_token(info.first_key), last = murmur3_token(info.last_key);
    run->unread = !run->owned->intersects(first, last);
    Result<bool> needs = co_await needs_cleanup(run);
    if (!needs.ok()) co_return std::move(needs.error());
    if (!*needs) {
      LOG_INFO("Skipping {} ([{}, {}]) for cleanup; all rows should be kept", name, first, last);
      co_return Status();
    }
    if (run->unread) {
      LOG_INFO("SSTable {} ([{}, {}]) does not intersect the owned ranges, dropping it", name, first, last);
    } else {
      LOG_INFO("Cleaning up {}", name);
    }
  }
  const std::shared_ptr<bool> has_cleaned = run->has_cleaned;
  Status done = co_await run_compaction(run);
  if (done.ok() && has_cleaned != nullptr) *has_cleaned = true;
  co_return done;
}

// CompactionManager.needsCleanup: whether there is a key between the ranges.
Task<Result<bool>> Engine::needs_cleanup(CompactionRun* run) {
  const SSTablePtr sstable = run->inputs[0];
  SliceSelection nothing;
  nothing.wants_rows = false;
  CompactionSlice slice;
  slice.begin(runtime_.clock, 0);
  KeyRange gap;
  for (size_t i = 0; i <= run->owned->spans().size(); ++i) {
    const bool is_last = i == run->owned->spans().size();
    gap.end = is_last ? RingPosition::maximum() : RingPosition::before(run->owned->spans()[i].first);
    CO_ASSIGN_OR_RETURN(auto scanner, sstable->scan(run->store->table, gap, nothing));
    CO_ASSIGN_OR_RETURN(const PartitionReader* found, scanner->next());
    if (found != nullptr) co_return true;
    if (!is_last) gap.start = RingPosition::after(run->owned->spans()[i].last);
    if (!slice.is_over(runtime_.clock, 0)) continue;
    co_await runtime_.executor.yield();
    CO_TRY(may_go_on(*run));
    slice.begin(runtime_.clock, 0);
  }
  co_return false;
}

// CompactionController.shadowSources
Result<std::vector<std::unique_ptr<PartitionReader>>> Engine::newer_data(const CompactionRun& run,
                                                                         const DecoratedKey& key) {
  std::vector<std::unique_ptr<PartitionReader>> sources;
  const HashedKey hashed = key;
  SliceSelection everything;
  everything.memory = run.rows.get();
  int64_t oldest = std::numeric_limits<int64_t>::max();
  for (const SSTablePtr& input : run.inputs) oldest = std::min(oldest, input->info().min_timestamp);
  for (const LiveSSTable& live : run.store->sstables) {
    const SSTableInfo& info = live.sstable->info();
    const bool has_deletions = info.min_local_deletion_time != kNoDeletionTime;
    if (live.compacting || live.suspect || info.max_timestamp <= oldest) continue;
    if (!run.skips_cells && !has_deletions) continue;
    if (!live.sstable->may_contain(hashed)) continue;
    ASSIGN_OR_RETURN(auto source, live.sstable->read(run.store->table, hashed, everything));
    if (source != nullptr) sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace cassandra_like
