// One pass over all inputs, in slices.
#include "storage/compaction/merge_sstables.h"

#include <algorithm>

#include "base/dcheck.h"
#include "read/merge.h"
#include "storage/compaction/garbage.h"
#include "storage/compaction/rewrite_options.h"
#include "storage/compaction/slice.h"
#include "storage/sstable/sstable_writer.h"

namespace cassandra_like {

namespace {

// Rows that deletions cover are looked at in groups of so many.
constexpr uint32_t kCoveredTogether = 256;

SSTableWriterOptions writer_options_for(const SSTableMerge& merge) {
  SSTableWriterOptions options = rewrite_options(merge.table, merge.inputs);
  options.host_id = merge.host_id;
  options.owner = merge.owner;
  options.row_index_granularity = merge.row_index_granularity;
  options.guardrails = merge.guardrails;
  options.coverage = merge.coverage;
  options.commit_log_intervals = merge.commit_log_intervals;
  return options;
}

class SSTableMerger {
 public:
  SSTableMerger(ShardRuntime& runtime, const SSTableMerge& merge, SSTableMergeProgress& progress)
      : runtime_(runtime), merge_(merge), progress_(progress), options_(writer_options_for(merge)) {
    for (const SSTablePtr& input : merge.inputs) {
      input_bytes_ += input->info().data_bytes;
      last_token_ = std::max(last_token_, DecoratedKey::of(input->info().last_key).token);
    }
  }

  Task<Status> run();
  SSTableMergeResult result;

 private:
  Task<Status> merge_all(MergedScanner* merged);
  Task<Status> write_without_garbage(MergedPartition* partition, Purger* purger);
  Task<Status> write_without_shadowed(MergedPartition* partition, Purger* purger);
  Task<Status> write_partition(PartitionReader* partition, Purger* purger);
  Task<Status> begin_partition(const PartitionReader* partition, DeletionTime deletion, const Row* static_row);
  Task<Status> begin_in_next_output(const PartitionReader* partition, DeletionTime deletion, const Row* static_row);
  Task<Status> begin_output(Token first);
  // How many partitions an output may have that begins with this token: its filter has room for them.
  uint64_t partitions_from(Token first) const;
  Task<Status> end_output();
  Task<Status> keep_last();
  Task<Status> pause_if_due();
  Task<Status> pause();
  bool keeps(const DecoratedKey& key, const Unfiltered& at) const {
    return !merge_.keeps || !at.is_row || merge_.keeps(key, &at.row);
  }
  // A row that stays as it is. Null: next() has what follows.
  const UniformRow* next_uniform(PartitionReader* partition, const Purger* purger) const {
    const bool all_stay = purger != nullptr && !merge_.keeps;
    return all_stay ? partition->next_uniform(merge_.purge.now_seconds) : nullptr;
  }
  // Null: nothing of it stays.
  const Unfiltered* purged(const DecoratedKey& key, const Unfiltered* at, Purger* purger);
  uint64_t bytes_written() const { return finished_bytes_ + (writer_ == nullptr ? 0 : writer_->bytes_written()); }

  ShardRuntime& runtime_;
  const SSTableMerge& merge_;
  SSTableMergeProgress& progress_;
  const SSTableWriterOptions options_;  // of an output with all partitions
  uint64_t input_bytes_ = 0;
  Token last_token_ = kMinimumToken;
  std::unique_ptr<SSTableWriter> writer_;
  uint64_t finished_bytes_ = 0;  // of outputs before
  Bytes last_key_;
  Arena row_arena_{1024}, static_arena_{64};
  Unfiltered purged_;
  CompactionSlice slice_;
};

Task<Status> SSTableMerger::pause_if_due() {
  if (!slice_.is_over_after_step(runtime_.clock, bytes_written())) return Status();
  return pause();
}

Task<Status> SSTableMerger::pause() {
  progress_.bytes_written = bytes_written();
  Status may_go_on = co_await merge_.pause();
  slice_.begin(runtime_.clock, progress_.bytes_written);
  co_return may_go_on;
}

uint64_t SSTableMerger::partitions_from(Token first) const {
  const uint64_t all = options_.estimated_partitions, read = progress_.partitions_read;
  if (!merge_.share_of_output || read >= all) return all;
  const auto left = static_cast<double>(all - read) + 1;  // the one that begins the output was read
  const auto bytes = static_cast<uint64_t>(static_cast<double>(input_bytes_) * left / static_cast<double>(all));
  return static_cast<uint64_t>(left * merge_.share_of_output(first, last_token_, bytes)) + 1;
}

Task<Status> SSTableMerger::begin_output(Token first) {
  const SSTableDescriptor descriptor = merge_.next_output(first);
  Status added = co_await merge_.transaction->add(descriptor);
  if (!added.ok()) co_return added;
  SSTableWriterOptions options = options_;
  options.estimated_partitions = partitions_from(first);
  if (merge_.level) options.level = merge_.level();
  CO_ASSIGN_OR_RETURN(writer_, SSTableWriter::create(runtime_.disk, descriptor, merge_.table, std::move(options)));
  co_return Status();
}

Task<Status> SSTableMerger::end_output() {
  Result<SSTableInfo> info = co_await writer_->finish();
  if (!info.ok()) co_return std::move(info.error());
  finished_bytes_ += info->data_bytes;
  progress_.bytes_written = finished_bytes_;
  result.outputs.push_back(std::move(info).value());
  writer_ = nullptr;
  co_return Status();
}

Task<Status> SSTableMerger::begin_partition(const PartitionReader* partition, DeletionTime deletion,
                                            const Row* static_row) {
  const uint64_t bytes = writer_ == nullptr ? 0 : writer_->bytes_written();
  const bool ends = merge_.ends_before && merge_.ends_before(partition->key().token, bytes);
  if (writer_ == nullptr || ends) return begin_in_next_output(partition, deletion, static_row);
  return writer_->begin_partition(partition->key(), deletion, *static_row);
}

Task<Status> SSTableMerger::begin_in_next_output(const PartitionReader* partition, DeletionTime deletion,
                                                 const Row* static_row) {
  if (writer_ != nullptr) {
    Status ended = co_await end_output();
    if (!ended.ok()) co_return ended;
  }
  Status begun = co_await begin_output(partition->key().token);
  if (!begun.ok()) co_return begun;
  co_return writer_->begin_partition(partition->key(), deletion, *static_row);
}

Task<Status> SSTableMerger::write_without_garbage(MergedPartition* partition, Purger* purger) {
  partition->pause_after(kCoveredTogether);
  return merge_.shadows ? write_without_shadowed(partition, purger) : write_partition(partition, purger);
}

Task<Status> SSTableMerger::write_without_shadowed(MergedPartition* partition, Purger* purger) {
  CO_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<PartitionReader>> sources, merge_.shadows(partition->key()));
  if (sources.empty()) co_return co_await write_partition(partition, purger);
  MergedPartition newer(std::move(sources), false);
  GarbageSkipper left(*partition, newer, merge_.table->is_counter(), merge_.shadows_cells);
  co_return co_await write_partition(&left, purger);
}

const Unfiltered* SSTableMerger::purged(const DecoratedKey& key, const Unfiltered* at, Purger* purger) {
  if (at == MergedPartition::paused() || !keeps(key, *at)) return nullptr;
  if (purger == nullptr) return at;
  purged_ = *at;
  row_arena_.reset();
  const bool stays = purged_.is_row ? purger->purge(purged_.row, row_arena_) : purger->purge(purged_.marker);
  return stays ? &purged_ : nullptr;
}

// The reader may be paused. Without a purger everything stays.
Task<Status> SSTableMerger::write_partition(PartitionReader* partition, Purger* purger) {
  DeletionTime deletion = partition->partition_deletion();
  Row static_row = partition->static_row();
  if (purger != nullptr) {
    purger->begin_partition(partition->key());
    deletion = purger->purge(deletion);
    static_arena_.reset();
    if (!static_row.is_empty()) purger->purge(static_row, static_arena_);
  }
  bool begun = !deletion.is_live() || !static_row.is_empty();
  if (begun) {
    Status status = co_await begin_partition(partition, deletion, &static_row);
    if (!status.ok()) co_return status;
  }
  while (true) {
    const UniformRow* row = next_uniform(partition, purger);
    const Unfiltered* other = nullptr;
    if (row == nullptr) {
      CO_ASSIGN_OR_RETURN(other, partition->next());
      if (other == nullptr) break;
      other = purged(partition->key(), other, purger);
    }
    if ((row != nullptr || other != nullptr) && !begun) {
      begun = true;
      Status status = co_await begin_partition(partition, deletion, &static_row);
      if (!status.ok()) co_return status;
    }
    if (row != nullptr) CO_TRY(writer_->append(*row));
    if (other != nullptr) CO_TRY(writer_->append(*other));
    Status paused = co_await pause_if_due();
    if (!paused.ok()) co_return paused;
  }
  if (begun) CO_TRY(writer_->end_partition());
  co_return Status();
}

Task<Status> SSTableMerger::merge_all(MergedScanner* merged) {
  Purger purger(merge_.purge);
  while (true) {
    CO_ASSIGN_OR_RETURN(const PartitionReader* partition, merged->next());
    if (partition == nullptr) co_return Status();
    const size_t sources = merged->sources_of_partition();
    if (merge_.keeps && !merge_.keeps(partition->key(), nullptr)) {
      progress_.partitions_read += sources;
      Status paused = co_await pause_if_due();
      if (!paused.ok()) co_return paused;
      continue;
    }
    ++result.merged_partitions[static_cast<int32_t>(sources)];
    progress_.partitions_read += sources;
    if (merge_.must_write && writer_ == nullptr && result.outputs.empty()) last_key_.assign(partition->key().key);
    Status written = co_await write_without_garbage(&merged->partition(), &purger);
    if (!written.ok()) co_return written;
    Status paused = co_await pause_if_due();
    if (!paused.ok()) co_return paused;
  }
}

Task<Status> SSTableMerger::keep_last() {
  const DecoratedKey key = DecoratedKey::of(last_key_);
  const HashedKey hashed = key;
  SliceSelection everything;
  everything.memory = merge_.memory;
  std::vector<std::unique_ptr<PartitionReader>> sources;
  for (const SSTablePtr& input : merge_.inputs) {
    CO_ASSIGN_OR_RETURN(auto source, input->read(merge_.table, hashed, everything));
    if (source != nullptr) sources.push_back(std::move(source));
  }
  DCHECK(!sources.empty());
  MergedPartition partition(std::move(sources), false);
  partition.pause_after(kCoveredTogether);
  co_return co_await write_partition(&partition, nullptr);
}

Task<Status> SSTableMerger::run() {
  SliceSelection everything;
  everything.copies_rows = true;
  everything.memory = merge_.memory;
  std::vector<std::unique_ptr<PartitionScanner>> scanners;
  for (const SSTablePtr& input : merge_.inputs) {
    CO_ASSIGN_OR_RETURN(auto scanner, input->scan(merge_.table, KeyRange(), everything));
    scanners.push_back(std::move(scanner));
  }
  MergedScanner merged(std::move(scanners), false);
  Status status = co_await merge_all(&merged);
  if (!status.ok()) co_return status;
  if (merge_.must_write && writer_ == nullptr && result.outputs.empty() && !last_key_.empty()) {
    status = co_await keep_last();
    if (!status.ok()) co_return status;
  }
  if (writer_ != nullptr) status = co_await end_output();
  co_return status;
}

}  // namespace

Task<Result<SSTableMergeResult>> merge_sstables(ShardRuntime* runtime, const SSTableMerge* merge,
                                                SSTableMergeProgress* progress) {
  SSTableMerger merger(*runtime, *merge, *progress);
  Status merged = co_await merger.run();
  if (!merged.ok()) co_return std::move(merged.error());
  co_return std::move(merger.result);
}

}  // namespace cassandra_like
