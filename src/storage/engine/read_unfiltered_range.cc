// Each part is a request of its own for one shard, asked again behind its last partition when it runs dry.
#include "storage/engine/read_unfiltered_range.h"

#include <algorithm>

#include "read/unfiltered_buffer.h"
#include "read/unfiltered_pipeline.h"
#include "runtime/gather.h"

namespace cassandra_like {

namespace {

// A shard's part of a range: what it has read of it, and the request for the rest.
struct ShardPart {
  ShardPart(unsigned s, const ReadRequest& r, size_t bytes, TombstoneCount* tombstones)
      : shard(s), request(r), buffer(bytes, UnfilteredBuffer::Last::kKey) {
    request.command.tombstones = tombstones;
    // Groups are counted where the partitions come together. A shard that counts rows reaches no limit too early.
    if (request.limits.is_grouped()) request.limits = {};
  }

  const unsigned shard;
  ReadRequest request;
  UnfilteredBuffer buffer;
  bool is_done = false;
  Status status;
  ReadStatistics statistics;
  uint64_t tombstones_of_last = 0;  // in the buffer's last partition
};

// On the part's shard.
Task<bool> refill(ShardPart* part, Engine* engine, int64_t deadline) {
  if (part->is_done || part->buffer.has_partition()) co_return true;
  if (part->buffer.is_full()) {
    part->request.command.range->start = RingPosition::at(part->buffer.last_key());
    part->request.command.range->start_inclusive = false;
    part->request.page.reset();
  }
  part->buffer.clear();
  Result<ReadStatistics> read = co_await engine->read_unfiltered(part->request, part->buffer, deadline);
  if (read.ok()) {
    part->statistics = *read;
    part->tombstones_of_last = read->tombstones_of_last;
  } else {
    part->status = std::move(read.error());
  }
  part->is_done = !read.ok() || !part->buffer.is_full();
  co_return true;
}

// The part that has the next partition in ring order. Null: nothing is left, or one of the parts has to read on first.
ShardPart* next_of(std::span<const std::unique_ptr<ShardPart>> parts, bool* reads_on) {
  ShardPart* first = nullptr;
  for (const auto& part : parts) {
    if (!part->buffer.has_partition()) {
      if (part->is_done) continue;
      *reads_on = true;
      return nullptr;
    }
    if (first == nullptr || part->buffer.key() < first->buffer.key()) first = part.get();
  }
  return first;
}

// For the first partition of the part's buffer.
ReadRequest request_of_first(const ShardPart& part) {
  ReadRequest request = part.request;
  KeyRange& range = *request.command.range;
  const RingPosition key = RingPosition::at(part.buffer.key());
  const bool goes_on_with_page = range.start_inclusive && range.start.compare(key) == 0;
  if (!goes_on_with_page) request.page.reset();
  range = {key, key, true, true};
  return request;
}

// The part has the key of its first partition and nothing more: the shard feeds the pipeline with it from its beginning.
Task<Result<ReadStatistics>> feed_from_shard(UnfilteredRangeRead* read, ShardPart* part, UnfilteredPipeline* pipeline) {
  const ReadRequest request = request_of_first(*part);
  // Its tombstones are met again.
  request.command.tombstones->sum.fetch_sub(part->tombstones_of_last, std::memory_order_relaxed);
  PipelineFeed feed(*pipeline);
  auto reads = [engine = read->engines[part->shard], request = &request, feed = &feed, deadline = read->deadline] {
    return engine->read_unfiltered(*request, *feed, deadline);
  };
  Executor& here = read->runtime->shard(read->here).executor;
  Executor& there = read->runtime->shard(part->shard).executor;
  Task<Result<ReadStatistics>> reading = run_on<Result<ReadStatistics>>(here, there, reads);
  CO_ASSIGN_OR_RETURN(ReadStatistics numbers, co_await reading);
  CO_TRY(feed.finish());
  part->buffer.skip();
  numbers.tombstones -= part->tombstones_of_last;
  co_return numbers;
}

}  // namespace

Task<Result<ReadStatistics>> read_unfiltered_range(UnfilteredRangeRead read) {
  std::vector<std::unique_ptr<ShardPart>> parts;
  TombstoneCount tombstones;
  const size_t bytes = read.request->read_ahead / read.engines.size();
  for (unsigned shard = 0; shard < read.engines.size(); ++shard) {
    parts.push_back(std::make_unique<ShardPart>(shard, *read.request, bytes, &tombstones));
  }
  ReadRequest whole = *read.request;
  whole.turn = std::numeric_limits<uint64_t>::max();  // what is fed has been read
  TombstoneThresholds unlimited;
  UnfilteredPipeline pipeline(whole, *whole.command.table, *read.sink, unlimited);
  ReadStatistics total;
  for (bool reads_on = true; reads_on;) {
    auto* all = &parts;
    auto* asked = &read;
    std::function<Task<bool>(unsigned)> next = [all, asked](unsigned shard) {
      return refill((*all)[shard].get(), asked->engines[shard], asked->deadline);
    };
    co_await gather<bool>(*read.runtime, read.runtime->shard(read.here).executor, std::move(next));
    for (auto& part : parts) {
      CO_TRY(std::move(part->status));
      const ReadStatistics numbers = std::exchange(part->statistics, ReadStatistics());
      total.rows += numbers.rows;
      total.tombstones += numbers.tombstones;
      total.sstables += numbers.sstables;
      total.memtables += numbers.memtables;
    }
    reads_on = false;
    while (!pipeline.stopped()) {
      ShardPart* first = next_of(parts, &reads_on);
      if (first == nullptr) break;
      if (first->buffer.has_only_key()) {
        Task<Result<ReadStatistics>> feeding = feed_from_shard(&read, first, &pipeline);
        CO_ASSIGN_OR_RETURN(const ReadStatistics numbers, co_await feeding);
        total.rows += numbers.rows;
        total.tombstones += numbers.tombstones;
      } else {
        CO_TRY(pipeline.feed(first->buffer.take(), true));
      }
    }
  }
  co_return total;
}

}  // namespace cassandra_like
