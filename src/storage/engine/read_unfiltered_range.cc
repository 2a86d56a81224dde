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
  ShardPart(const ReadRequest& r, size_t bytes, TombstoneCount* tombstones) : request(r), buffer(bytes) {
    request.command.tombstones = tombstones;
    // Groups are counted where the partitions come together. A shard that counts rows reaches no limit too early.
    if (request.limits.is_grouped()) request.limits = {};
  }

  ReadRequest request;
  UnfilteredBuffer buffer;
  bool is_done = false;
  Status status;
  ReadStatistics statistics;
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
  } else {
    part->status = std::move(read.error());
  }
  part->is_done = !read.ok() || !part->buffer.is_full();
  co_return true;
}

// Feeds partitions in ring order until one of the parts has to read on. False: nothing is left.
Result<bool> deliver(std::span<const std::unique_ptr<ShardPart>> parts, UnfilteredPipeline& pipeline) {
  while (!pipeline.stopped()) {
    ShardPart* first = nullptr;
    for (const auto& part : parts) {
      if (!part->buffer.has_partition()) {
        if (!part->is_done) return true;
        continue;
      }
      if (first == nullptr || part->buffer.key() < first->buffer.key()) first = part.get();
    }
    if (first == nullptr) return false;
    TRY(pipeline.feed(first->buffer.take(), true));
  }
  return false;
}

}  // namespace

Task<Result<ReadStatistics>> read_unfiltered_range(UnfilteredRangeRead read) {
  std::vector<std::unique_ptr<ShardPart>> parts;
  TombstoneCount tombstones;
  for (size_t i = 0; i < read.engines.size(); ++i) {
    parts.push_back(std::make_unique<ShardPart>(*read.request, read.buffered_bytes / read.engines.size(), &tombstones));
  }
  ReadRequest whole = *read.request;
  whole.turn = std::numeric_limits<uint64_t>::max();  // what is fed has been read
  TombstoneThresholds unlimited;
  UnfilteredPipeline pipeline(whole, *whole.command.table, *read.sink, unlimited);
  ReadStatistics total;
  for (bool more = true; more;) {
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
    CO_ASSIGN_OR_RETURN(more, deliver(parts, pipeline));
  }
  co_return total;
}

}  // namespace cassandra_like
