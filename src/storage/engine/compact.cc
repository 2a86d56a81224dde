// Major compaction: all SSTables of a table on this shard become one in each data directory.
//
// Shadowed data goes; tombstones stay. Files that all shards share are left alone: no shard may remove them. The new
// file is complete on the disk before the old ones are removed, and holding both is harmless.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/memory_text.h"
#include "read/merge.h"
#include "storage/engine/engine_impl.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

Task<Status> EngineImpl::compact(Selection selection) {
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

namespace {

SSTableWriterOptions options_for(const std::vector<SSTablePtr>& inputs, const TableMetadata& table) {
  SSTableWriterOptions options;
  options.stats.min_timestamp = std::numeric_limits<int64_t>::max();
  options.stats.min_local_deletion_time = std::numeric_limits<int64_t>::max();
  options.stats.min_ttl = std::numeric_limits<int32_t>::max();
  options.estimated_partitions = 0;
  for (const SSTablePtr& input : inputs) {
    const SSTableInfo& info = input->info();
    options.stats.min_timestamp = std::min(options.stats.min_timestamp, info.min_timestamp);
    options.stats.min_local_deletion_time =
        std::min(options.stats.min_local_deletion_time, info.min_local_deletion_time);
    options.stats.min_ttl = std::min(options.stats.min_ttl, info.min_ttl);
    options.estimated_partitions += info.partitions;
    for (const auto& interval : info.commit_log_intervals) options.commit_log_intervals.push_back(interval);
  }
  // EncodingStats.merge does the same: the epochs stand for values that do not occur.
  if (options.stats.min_local_deletion_time == kNoDeletionTime) {
    options.stats.min_local_deletion_time = EncodingStats::kDeletionTimeEpoch;
  }
  options.static_columns = table.static_columns;
  options.regular_columns = table.regular_columns;
  return options;
}

}  // namespace

Task<Result<bool>> EngineImpl::write_merged(MergedScanner* merged, SSTableWriter* writer, CompactionRecord* record) {
  int64_t slice_end = runtime_.clock.monotonic_nanos();
  bool wrote = false;
  while (true) {
    CO_ASSIGN_OR_RETURN(PartitionReader * partition, merged->next());
    if (partition == nullptr) co_return wrote;
    ++record->merged_partitions[static_cast<int32_t>(merged->sources_of_partition())];
    CO_ASSIGN_OR_RETURN(const Unfiltered* at, partition->next());
    if (at == nullptr && partition->static_row().is_empty() && partition->partition_deletion().is_live()) continue;
    CO_TRY(writer->begin_partition(partition->key(), partition->partition_deletion(), partition->static_row()));
    while (at != nullptr) {
      CO_TRY(writer->append(*at));
      co_await pause_if_due(&slice_end);
      CO_ASSIGN_OR_RETURN(at, partition->next());
    }
    CO_TRY(writer->end_partition());
    wrote = true;
    if (gate_.closed()) co_return Error(ErrorCode::kClosed, "The node is stopping");
    co_await pause_if_due(&slice_end);
  }
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

Task<Status> EngineImpl::compact_sstables(TableStorePtr store, std::string path, std::vector<SSTablePtr> inputs) {
  TablePtr table = store->table;
  const int64_t begun = runtime_.clock.monotonic_nanos();
  CompactionRecord record = begin_record(table, inputs);
  SSTableWriterOptions options = options_for(inputs, *table);
  options.host_id = options_.host_id;
  options.row_index_granularity = options_.column_index_bytes;
  SSTableDescriptor descriptor;
  descriptor.directory = path;
  descriptor.id = ids_.next();
  std::string what = fmt::format("Failed to compact {}", table->qualified_name());
  std::vector<std::unique_ptr<PartitionScanner>> scanners;
  for (const SSTablePtr& input : inputs) {
    auto scanner = input->scan(table, {}, {});
    if (!scanner.ok()) co_return disk_failure(scanner.error(), what);
    scanners.push_back(std::move(scanner).value());
  }
  MergedScanner merged(std::move(scanners), false);
  auto writer = SSTableWriter::create(runtime_.disk, descriptor, table, options);
  if (!writer.ok()) co_return disk_failure(writer.error(), what);
  CO_ASSIGN_OR_RETURN(bool wrote, co_await write_merged(&merged, writer->get(), &record));
  if (wrote) {
    auto info = co_await (*writer)->finish();
    if (!info.ok()) {
      store->leftovers.push_back(descriptor);
      co_return disk_failure(info.error(), what);
    }
    auto sstable = open_written_sstable(runtime_.disk, descriptor, store->table, &chunk_cache_);
    if (!sstable.ok()) {
      store->leftovers.push_back(descriptor);
      co_return disk_failure(sstable.error(), what);
    }
    record.bytes_out = (*sstable)->info().data_bytes;
    store->add_sstable(std::move(sstable).value(), self_);
  }
  for (const SSTablePtr& input : inputs) bytes_compacted_ += input->info().uncompressed_bytes;
  compressed_bytes_compacted_ += record.bytes_in;
  store->remove_sstables(inputs);
  for (const SSTablePtr& input : inputs) store->leftovers.push_back(input->info().descriptor);
  CO_TRY(store->remove_leftovers(runtime_.disk));
  LOG_INFO("Compacted {} sstables of {} to [{}]: {} to {} in {} ms", inputs.size(), table->qualified_name(),
           wrote ? descriptor.file("Data.db") : "", memory_text(record.bytes_in), memory_text(record.bytes_out),
           (runtime_.clock.monotonic_nanos() - begun) / 1'000'000);
  co_await keep_record(std::move(record));
  co_return Status();
}

}  // namespace cassandra_like
