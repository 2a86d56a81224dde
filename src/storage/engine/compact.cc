// Major compaction: all SSTables of a table on this shard become one in each data directory.
//
// Shadowed data goes; tombstones stay. Files that all shards share are left alone: no shard may remove them. The new
// file is complete on the disk before the old ones are removed, and holding both is harmless.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/memory_text.h"
#include "storage/compaction/merge_sstables.h"
#include "storage/engine/engine_impl.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

Task<Status> EngineImpl::compact(TableSelection selection) {
  for (TableStorePtr& store : select(selection)) {
    Stores all;
    all.push_back(store);
    for (const auto& index : store->indexes) all.push_back(index->store);
    for (TableStorePtr& one : all) {
      Status compacted = co_await compact_store(one);
      if (!compacted.ok()) co_return compacted;
    }
  }
  co_return Status();
}

Task<Status> EngineImpl::compact_store(TableStorePtr store) {
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  ++compactions_pending_;
  Status status;
  {
    co_await store->compaction_mutex.lock();
    AsyncMutex::Guard guard(store->compaction_mutex);
    for (size_t i = 0; i < store->paths.size() && status.ok() && !store->dropped; ++i) {
      std::vector<SSTablePtr> inputs;
      for (const LiveSSTable& live : store->sstables) {
        if (!live.foreign && live.sstable->info().descriptor.directory == store->paths[i]) {
          inputs.push_back(live.sstable);
        }
      }
      if (inputs.size() > 1) status = co_await compact_sstables(store, store->paths[i], std::move(inputs));
    }
  }
  --compactions_pending_;
  ++compactions_completed_;
  gate_.leave();
  co_return status;
}

CompactionRecord EngineImpl::begin_record(const TablePtr& table, const std::vector<SSTablePtr>& inputs) {
  CompactionRecord record;
  record.table = table;
  for (const SSTablePtr& input : inputs) record.bytes_in += input->info().data_bytes;
  const uint64_t now = static_cast<uint64_t>(runtime_.clock.wall_micros()) * 10 + kUuidEpochOffset;
  constexpr uint64_t kVariant = uint64_t{1} << 63, kVariantBits = uint64_t{3} << 62, kMulticast = uint64_t{1} << 40;
  do {
    record.id = Uuid::time_based(now, (runtime_.random.next() & ~kVariantBits) | kVariant | kMulticast);
  } while (!is_mine(DecoratedKey::of(record.id.view()).token));
  return record;
}

Task<void> EngineImpl::keep_record(CompactionRecord record) {
  if (!options_.record_compaction) co_return;
  record.ended_millis = runtime_.clock.wall_millis();
  const std::string name = record.table->qualified_name();
  Task<Status> task = options_.record_compaction(std::move(record));
  Status kept = co_await task;
  if (!kept.ok()) LOG_WARN("A compaction of {} is not in the history: {}", name, kept.error().message());
}

// A full disk or a damaged input ends this compaction, not the node.
Error EngineImpl::compaction_failure(TableStore& store, const SSTableDescriptor& output, const Error& cause) {
  store.leftovers.push_back(output);
  const std::string what = fmt::format("Failed to compact {}", store.table->qualified_name());
  if (cause.code() == ErrorCode::kIo) return disk_failure(cause, what);
  Error error(cause.code(), fmt::format("{}: {}", what, cause.message()));
  if (cause.code() != ErrorCode::kClosed) LOG_ERROR("{}", error.message());
  return error;
}

Task<Status> EngineImpl::compact_sstables(TableStorePtr store, std::string path, std::vector<SSTablePtr> inputs) {
  const int64_t begun = runtime_.clock.monotonic_nanos();
  SSTableMerge merge;
  merge.table = store->table;
  merge.inputs = inputs;
  merge.output.directory = path;
  merge.output.id = ids_.next();
  merge.host_id = options_.host_id;
  merge.row_index_granularity = options_.column_index_bytes;
  CompactionRecord record = begin_record(merge.table, inputs);
  Result<SSTableMergeResult> merged = co_await merge_sstables(&runtime_, &gate_, &merge);
  if (!merged.ok()) co_return compaction_failure(*store, merge.output, merged.error());
  record.merged_partitions = std::move(merged->merged_partitions);
  if (merged->wrote) {
    auto sstable = open_written_sstable(runtime_.disk, merge.output, store->table, &chunk_cache_);
    if (!sstable.ok()) co_return compaction_failure(*store, merge.output, sstable.error());
    record.bytes_out = (*sstable)->info().data_bytes;
    store->add_sstable(std::move(sstable).value(), self_);
  }
  for (const SSTablePtr& input : inputs) bytes_compacted_ += input->info().uncompressed_bytes;
  compressed_bytes_compacted_ += record.bytes_in;
  store->remove_sstables(inputs);
  for (const SSTablePtr& input : inputs) store->leftovers.push_back(input->info().descriptor);
  CO_TRY(store->remove_leftovers(runtime_.disk));
  LOG_INFO("Compacted {} sstables of {} to [{}]: {} to {} in {} ms", inputs.size(), merge.table->qualified_name(),
           merged->wrote ? merge.output.file("Data.db") : "", memory_text(record.bytes_in),
           memory_text(record.bytes_out), (runtime_.clock.monotonic_nanos() - begun) / 1'000'000);
  co_await keep_record(std::move(record));
  co_return Status();
}

}  // namespace cassandra_like
