// One pass over the input, with one writer for each owner that has a key.
#include "storage/compaction/split_sstable.h"

#include <algorithm>

#include "storage/compaction/rewrite_options.h"
#include "storage/compaction/slice.h"
#include "storage/sstable/sstable_writer.h"

namespace cassandra_like {

namespace {

class SSTableSplitter {
 public:
  SSTableSplitter(ShardRuntime& runtime, const SSTableSplit& split, SSTableMergeProgress& progress)
      : runtime_(runtime), split_(split), progress_(progress), options_(rewrite_options(split.table, {{split.input}})) {
    options_.host_id = split.host_id;
    options_.row_index_granularity = split.row_index_granularity;
    options_.guardrails = split.guardrails;
    options_.level = split.resets_level ? 0 : split.input->info().level;
    if (split.clears_repaired) {
      options_.repaired_at = 0;
      options_.pending_repair.reset();
    }
    // More than enough for each would be a large filter for all.
    options_.estimated_partitions = options_.estimated_partitions / split.outputs.size() + 1;
    outputs_.resize(split.outputs.size());
    result.resize(split.outputs.size());
  }

  Task<Status> run();
  SSTableSplitResult result;

 private:
  struct Output {
    std::unique_ptr<SSTableWriter> writer;
    bool in_partition = false;
    uint64_t bytes = 0;  // as far as they are in bytes_written_
  };

  Task<Status> split_partition(PartitionReader* partition);
  // A partition of an index has rows of several owners.
  Task<Status> begin_partition_of_all(const PartitionReader* partition);
  Task<Status> begin_partition(const PartitionReader* partition, unsigned owner);
  Task<Status> append(const PartitionReader* partition, const Unfiltered* unfiltered, unsigned owner);
  Task<Status> pause_if_due();
  Task<Status> pause();
  void count(Output& output, uint64_t bytes);

  ShardRuntime& runtime_;
  const SSTableSplit& split_;
  SSTableMergeProgress& progress_;
  SSTableWriterOptions options_;
  std::vector<Output> outputs_;
  uint64_t bytes_written_ = 0;
  CompactionSlice slice_;
};

void SSTableSplitter::count(Output& output, uint64_t bytes) {
  bytes_written_ += bytes - std::exchange(output.bytes, bytes);
}

Task<Status> SSTableSplitter::pause_if_due() {
  if (!slice_.is_over_after_step(runtime_.clock, bytes_written_)) return Status();
  return pause();
}

Task<Status> SSTableSplitter::pause() {
  progress_.bytes_written = bytes_written_;
  Status may_go_on = co_await split_.pause();
  slice_.begin(runtime_.clock, bytes_written_);
  co_return may_go_on;
}

Task<Status> SSTableSplitter::begin_partition(const PartitionReader* partition, unsigned owner) {
  Output& output = outputs_[owner];
  if (output.in_partition) co_return Status();
  if (output.writer == nullptr) {
    Status added = co_await split_.transaction->add(split_.outputs[owner]);
    if (!added.ok()) co_return added;
    options_.owner = {owner, static_cast<unsigned>(outputs_.size())};
    CO_ASSIGN_OR_RETURN(output.writer,
                        SSTableWriter::create(runtime_.disk, split_.outputs[owner], split_.table, options_));
  }
  output.in_partition = true;
  co_return output.writer->begin_partition(partition->key(), partition->partition_deletion(), partition->static_row());
}

Task<Status> SSTableSplitter::begin_partition_of_all(const PartitionReader* partition) {
  for (unsigned owner = 0; owner < outputs_.size(); ++owner) {
    Status begun = co_await begin_partition(partition, owner);
    if (!begun.ok()) co_return begun;
  }
  co_return Status();
}

Task<Status> SSTableSplitter::append(const PartitionReader* partition, const Unfiltered* unfiltered, unsigned owner) {
  Status begun = co_await begin_partition(partition, owner);
  if (!begun.ok()) co_return begun;
  Output& output = outputs_[owner];
  Status appended = output.writer->append(*unfiltered);
  count(output, output.writer->bytes_written());
  co_return appended;
}

Task<Status> SSTableSplitter::split_partition(PartitionReader* partition) {
  const unsigned owner_of_all = split_.owner_of(partition->key(), nullptr);
  if (!partition->partition_deletion().is_live() || !partition->static_row().is_empty()) {
    Status begun;
    if (owner_of_all == SSTableSplit::kNobody) {
      begun = co_await begin_partition_of_all(partition);
    } else {
      begun = co_await begin_partition(partition, owner_of_all);
    }
    if (!begun.ok()) co_return begun;
  }
  while (true) {
    CO_ASSIGN_OR_RETURN(const Unfiltered* at, partition->next());
    if (at == nullptr) break;
    if (at->is_row && at->row.is_empty()) continue;
    unsigned first = owner_of_all, last = owner_of_all;
    if (owner_of_all == SSTableSplit::kNobody && at->is_row) {
      first = last = split_.owner_of(partition->key(), &at->row);
    } else if (owner_of_all == SSTableSplit::kNobody) {
      first = 0;
      last = static_cast<unsigned>(outputs_.size()) - 1;
    }
    for (unsigned owner = first; owner <= last; ++owner) {
      Status appended = co_await append(partition, at, owner);
      if (!appended.ok()) co_return appended;
    }
    Status paused = co_await pause_if_due();
    if (!paused.ok()) co_return paused;
  }
  for (Output& output : outputs_) {
    if (std::exchange(output.in_partition, false)) CO_TRY(output.writer->end_partition());
  }
  co_return Status();
}

Task<Status> SSTableSplitter::run() {
  SliceSelection everything;
  everything.memory = split_.memory;
  CO_ASSIGN_OR_RETURN(auto scanner, split_.input->scan(split_.table, KeyRange(), everything));
  while (true) {
    CO_ASSIGN_OR_RETURN(PartitionReader * partition, scanner->next());
    if (partition == nullptr) break;
    Status written = co_await split_partition(partition);
    if (!written.ok()) co_return written;
    ++progress_.partitions_read;
    Status paused = co_await pause_if_due();
    if (!paused.ok()) co_return paused;
  }
  for (size_t owner = 0; owner < outputs_.size(); ++owner) {
    if (outputs_[owner].writer == nullptr) continue;
    Result<SSTableInfo> info = co_await outputs_[owner].writer->finish();
    if (!info.ok()) co_return std::move(info.error());
    count(outputs_[owner], info->data_bytes);
    outputs_[owner].writer = nullptr;
    result[owner] = std::move(info).value();
    Status may_go_on = co_await pause();
    if (!may_go_on.ok()) co_return may_go_on;
  }
  co_return Status();
}

}  // namespace

Task<Result<SSTableSplitResult>> split_sstable(ShardRuntime* runtime, const SSTableSplit* split,
                                               SSTableMergeProgress* progress) {
  SSTableSplitter splitter(*runtime, *split, *progress);
  Status done = co_await splitter.run();
  if (!done.ok()) co_return std::move(done.error());
  co_return std::move(splitter.result);
}

}  // namespace cassandra_like
