#include "storage/engine/cassandra_batches.h"

#include <fmt/format.h>

#include "base/log.h"
#include "storage/compaction/scrub_sstable.h"
#include "storage/engine/engine.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_transaction.h"

namespace cassandra_like {

namespace {

// A node with one shard: all shards that there are now read the SSTable, and split it.
constexpr SSTableOwner kOnlyShard{0, 1};

class Rewriting {
 public:
  Rewriting(ShardRuntime& runtime, const EngineOptions& options, TablePtr table, std::string directory)
      : runtime_(runtime),
        options_(options),
        table_(std::move(table)),
        directory_(std::move(directory)),
        ids_(runtime.clock, runtime.random, kOnlyShard) {}

  Task<Status> run() {
    CO_TRY(note_sequence_numbers(runtime_.disk, directory_, &sequence_));
    CO_ASSIGN_OR_RETURN(const auto found, find_sstables(runtime_.disk, directory_));
    for (const SSTableOnDisk& files : found) {
      if (!is_supported_format(files.descriptor) || files.is_unfinished() || !files.has(components::kData)) continue;
      // One that is damaged is the matter of the engines.
      auto input = SSTable::open_damaged(runtime_.disk, files.descriptor, table_);
      if (!input.ok() || (*input)->is_in_token_order()) continue;
      Status rewritten = co_await rewrite(std::move(*input));
      if (!rewritten.ok()) {
        co_return Error(rewritten.error().code(),
                        fmt::format("Cannot take over the logged batches in {}: {}",
                                    files.descriptor.file(components::kData), rewritten.error().message()));
      }
    }
    co_return Status();
  }

 private:
  std::string next_id() { return options_.sequence_ids ? sequence_.next(kOnlyShard) : ids_.next(); }

  Task<Status> rewrite(SSTablePtr input) {
    const SSTableInfo& info = input->info();
    LOG_INFO("Putting the logged batches of {} in the order of tokens", info.descriptor.file(components::kData));
    const Uuid id = Uuid::time_based(kUuidEpochOffset + static_cast<uint64_t>(runtime_.clock.wall_micros()) * 10,
                                     runtime_.random.next());
    SSTableTransaction transaction(runtime_.disk, directory_, "scrub", id);
    SSTableScrub scrub;
    scrub.table = table_;
    scrub.input = input;
    scrub.transaction = &transaction;
    scrub.next_output = [this] { return SSTableDescriptor::of(options_.sstable_version, directory_, next_id()); };
    scrub.pause = [] { return Task<Status>(Status()); };
    scrub.host_id = info.originating_host;
    scrub.owner = kOnlyShard;
    scrub.commit_log_intervals = info.commit_log_intervals;
    scrub.row_index_granularity = row_index_granularity(options_);
    SSTableMergeProgress progress;
    auto scrubbed = co_await scrub_sstable(&runtime_, &scrub, &progress);
    Status status = scrubbed.ok() ? Status() : Status(std::move(scrubbed.error()));
    if (status.ok() && scrubbed->bad_partitions > 0) {
      status = Error(ErrorCode::kCorruption,
                     fmt::format("{} of them cannot be read. Bring back the file, or move all files {}* away and do "
                                 "without these batches",
                                 scrubbed->bad_partitions, info.descriptor.file("")));
    }
    std::vector<SSTableDescriptor> obsolete{info.descriptor};
    if (status.ok()) status = co_await transaction.commit(std::move(obsolete));
    if (!status.ok()) {
      Status ignored = co_await transaction.abort();  // if that fails, the next start does it
      co_return status;
    }
    co_return co_await transaction.finish();
  }

  ShardRuntime& runtime_;
  const EngineOptions& options_;
  const TablePtr table_;
  const std::string directory_;
  SSTableIds ids_;
  SSTableSequence sequence_;
};

}  // namespace

Task<Status> put_batches_in_order(ShardRuntime* runtime, EngineOptions options, TablePtr table) {
  for (const std::string& data : options.data_directories) {
    const std::string directory = fmt::format("{}/{}/{}", data, table->keyspace, table->directory_name());
    if (!runtime->disk.exists(directory)) continue;
    Rewriting rewriting(*runtime, options, table, directory);
    Status status = co_await rewriting.run();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace cassandra_like
