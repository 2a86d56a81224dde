// Scrubbing SSTables by order (CompactionManager.performScrub): what can be read of each is written anew, also of those that were
// set aside at the start because they are damaged. scrub_sstable.h says what that means.
//
// An SSTable and what replaces it are a transaction, as in any compaction. Indexes are not scrubbed: they can be built anew. They are
// when a scrub has brought back what was set aside.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "storage/compaction/scrub_sstable.h"
#include "storage/engine/engine.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

Task<Status> Engine::scrub(TableSelection selection, SSTableScrubOrder order) {
  const Stores stores = select(selection);
  for (const TableStorePtr& store : stores) {
    auto unopened = std::make_shared<Status>();
    Plan plan = [this, order, unopened](const TableStorePtr& of) { return plan_scrub(of, order, unopened.get()); };
    const size_t unread = store->unread.size();
    Status done = co_await run_on(store, std::move(plan));
    if (!done.ok()) co_return done;
    if (store->unread.size() < unread) {
      done = co_await rebuild_indexes(store);
      if (!done.ok()) co_return done;
    }
    if (!unopened->ok()) co_return *unopened;
  }
  SSTableRewrite all;
  all.operation = CompactionOperation::kScrub;
  all.include_all = true;
  co_return left_as_they_are(stores, all);
}

// One that was built while SSTables were set aside lacks their rows.
Task<Status> Engine::rebuild_indexes(TableStorePtr store) {
  std::vector<std::string> names;
  for (const auto& index : store->indexes) {
    names.push_back(index->metadata.name);
    CO_TRY(set_unbuilt(*index->store));
  }
  CO_TRY(co_await sync_unbuilt_indexes());
  for (const std::string& name : names) {
    const TablePtr table = store->table;
    Status built = co_await build_index(table, name);
    if (!built.ok()) co_return built;
  }
  co_return Status();
}

std::vector<Engine::CompactionRun> Engine::plan_scrub(const TableStorePtr& store, const SSTableScrubOrder& order,
                                                      Status* unopened) {
  std::vector<SSTablePtr> inputs;
  for (const LiveSSTable& live : store->sstables) {
    if (is_compactable(live)) inputs.push_back(live.sstable);
  }
  for (const SSTableDescriptor& descriptor : store->unread) {
    auto opened = has_foreign_segments() ? Error(ErrorCode::kClosed, "Segments of another commit log are there")
                                         : SSTable::open_damaged(runtime_.disk, descriptor, store->table);
    if (opened.ok()) {
      inputs.push_back(std::move(*opened));
    } else if (unopened->ok()) {
      *unopened =
          Error(opened.error().code(),
                fmt::format("{} cannot be scrubbed: {}", descriptor.file(components::kData), opened.error().message()));
      LOG_ERROR("{}", unopened->error().message());
    }
  }
  std::vector<CompactionRun> runs;
  for (SSTablePtr& input : inputs) {
    CompactionRun run;
    run.store = store;
    run.path = input->info().descriptor.directory;
    run.operation = CompactionOperation::kScrub;
    run.purges = false;
    run.goes_on = true;
    run.scrub = order;
    run.inputs.push_back(std::move(input));
    runs.push_back(std::move(run));
  }
  if (runs.empty()) LOG_INFO("No sstables to SCRUB for {}", store->table->qualified_name());
  return runs;
}

Task<Result<SSTableMergeResult>> Engine::scrub_one(CompactionRun* run) {
  SSTableScrub scrub;
  scrub.table = run->store->table;
  CO_ASSIGN_OR_RETURN(scrub.input,
                      SSTable::open_damaged(runtime_.disk, run->inputs[0]->info().descriptor, run->store->table));
  scrub.transaction = run->transaction.get();
  scrub.skips_corrupted = run->scrub->skips_corrupted;
  scrub.validates = run->scrub->validates;
  scrub.reinserts_overflowed_ttl = run->scrub->reinserts_overflowed_ttl;
  scrub.next_output = [this, run](Token first) { return name_output(run, first); };
  scrub.pause = [this, run] { return pause_compaction(run); };
  scrub.host_id = options_.host_id;
  scrub.owner = self_;
  scrub.commit_log_intervals = own_intervals(*run);
  scrub.row_index_granularity = column_index_bytes();
  scrub.guardrails = sstable_guardrails();
  Result<SSTableScrubResult> scrubbed = co_await scrub_sstable(&runtime_, &scrub, &run->progress);
  if (!scrubbed.ok()) co_return std::move(scrubbed.error());
  SSTableMergeResult result;
  result.outputs = std::move(scrubbed->outputs);
  result.merged_partitions = {{1, static_cast<int64_t>(scrubbed->good_partitions)}};
  co_return result;
}

}  // namespace cassandra_like
