// Verifying SSTables by order, while they are read (CompactionManager.performVerify, SortedTableVerifier).
//
// All of a table are verified, whatever is found; then the order fails with the first finding, and tables that come later are not
// looked at. An SSTable that shards share is verified by the one that splits it. No compaction of the table runs
// meanwhile. Indexes are not verified: they can be built anew.
#include <fmt/format.h>

#include "base/checksum.h"
#include "base/log.h"
#include "base/memory_text.h"
#include "storage/compaction/slice.h"
#include "storage/engine/engine.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_verifier.h"

namespace cassandra_like {

Task<Status> Engine::verify(TableSelection selection, SSTableVerification order) {
  Plan plan = [this, order = std::move(order)](const TableStorePtr& store) { return plan_verify(store, order); };
  return run_on_all(select(selection), std::move(plan));
}

std::vector<Engine::CompactionRun> Engine::plan_verify(const TableStorePtr& store,
                                                       const SSTableVerification& order) const {
  std::vector<CompactionRun> runs;
  for (const LiveSSTable& live : store->sstables) {
    const SSTableInfo& info = live.sstable->info();
    if (live.shared && crc32(info.descriptor.id) % shard_count_ != shard_) continue;
    CompactionRun run;
    run.store = store;
    run.path = info.descriptor.directory;
    run.operation = CompactionOperation::kVerify;
    run.verification = order;
    run.goes_on = true;
    run.inputs.push_back(live.sstable);
    runs.push_back(std::move(run));
  }
  if (runs.empty()) LOG_INFO("No sstables to VERIFY for {}", store->table->qualified_name());
  return runs;
}

Task<Status> Engine::verify_one(CompactionRun* run) {
  const SSTablePtr sstable = run->inputs[0];
  const SSTableVerification& order = *run->verification;
  const std::string name = sstable->info().descriptor.file(components::kData);
  LOG_INFO("Verifying {} ({})", name, memory_text(sstable->info().uncompressed_bytes));
  if (order.check_version && !is_current(sstable->info().descriptor)) {
    Error error = invalid(fmt::format("{} is not the latest version, run upgradesstables", name));
    LOG_INFO("{}", error.message());
    co_return error;
  }
  SSTableVerifyOptions options;
  options.quick = order.quick;
  options.extended = order.extended;
  if (order.owned) {
    const OwnedTokens owned = order.owned(*run->store->table);
    if (!owned.are_all()) options.owns = [owned](Token token) { return owned.contains(token); };
  }
  run->record = begin_record(run->store->table, run->inputs);
  running_.push_back(run);
  // The files may have changed since the node read parts of them.
  auto opened = SSTable::open(runtime_.disk, sstable->info().descriptor, run->store->table);
  Status status = opened.ok() ? Status() : Status(opened.error());
  if (status.ok()) {
    auto verifier = std::make_shared<SSTableVerifier>(&runtime_.disk, *opened, run->store->table, std::move(options));
    status = co_await verify_files(run, std::move(verifier));
  }
  std::erase(running_, run);
  if (status.ok()) co_return status;
  if (status.error().code() != ErrorCode::kCorruption) co_return status;
  bool is_unrepaired = false;
  if (order.mutates_repair_status) is_unrepaired = co_await make_unrepaired(sstable);
  co_return found_damage(name, status.error(), is_unrepaired, order.invokes_failure_policy);
}

Task<Status> Engine::verify_files(CompactionRun* run, std::shared_ptr<SSTableVerifier> verifier) {
  CO_TRY(co_await verify_in_slices(run, verifier.get()));
  const std::string name = run->inputs[0]->info().descriptor.file(components::kData);
  if (verifier->misses_digest()) LOG_INFO("{}: Data digest missing, all rows were read", name);
  LOG_INFO("Verify of {} succeeded. All {} rows read successfully", name, verifier->partitions());
  co_return Status();
}

Task<Status> Engine::verify_in_slices(CompactionRun* run, SSTableVerifier* verifier) {
  CompactionSlice slice;
  slice.begin(runtime_.clock, 0);
  while (true) {
    CO_ASSIGN_OR_RETURN(const bool more, verifier->step());
    run->progress.bytes_written = static_cast<uint64_t>(verifier->done() * static_cast<double>(run->record.bytes_in));
    if (!more) co_return Status();
    if (!slice.is_over(runtime_.clock, run->progress.bytes_written)) continue;
    Status may_go_on = co_await pause_compaction(run);
    if (!may_go_on.ok()) co_return may_go_on;
    slice.begin(runtime_.clock, run->progress.bytes_written);
  }
}

// So that an incremental repair brings what is damaged.
Task<bool> Engine::make_unrepaired(SSTablePtr sstable) {
  Status done = co_await mutate_repaired_at(&runtime_.disk, sstable->info().descriptor, 0);
  if (done.ok()) {
    sstable->set_repaired_at(0);
  } else {
    LOG_WARN("The state of repair of {} stays: {}", sstable->info().descriptor.file(components::kData),
             done.error().message());
  }
  co_return done.ok();
}

// SortedTableVerifier.markAndThrow
Error Engine::found_damage(const std::string& name, const Error& finding, bool is_unrepaired, bool invokes_policy) {
  Error error(finding.code(), fmt::format("Invalid SSTable {}, please force {}repair: {}", name,
                                          is_unrepaired ? "" : "a full ", finding.message()));
  LOG_ERROR("{}", error.message());
  if (invokes_policy) obey_paranoia(error);
  return error;
}

}  // namespace cassandra_like
