// Reads for other nodes: partitions with their tombstones. Always merged from all sources that a partition may be in;
// UnfilteredPipeline does the rest.
#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "storage/engine/read_sources.h"

namespace cassandra_like {
namespace {

// How many memtables have the key.
size_t memtables_of(const TableStore& store, const DecoratedKey& key) {
  const auto has_key = [&](const auto& memtable) { return memtable->find(key) != nullptr; };
  return has_key(store.memtable) + static_cast<size_t>(std::ranges::count_if(store.flushing, has_key));
}

}  // namespace

struct Engine::UnfilteredRead {
  UnfilteredRead(const ReadRequest& r, TablePtr table, UnfilteredSink& sink, const TombstoneThresholds& thresholds)
      : request(r), tables{std::move(table)}, pipeline(r, *tables.back(), sink, thresholds), rest(r.command) {}

  const ReadRequest& request;
  std::vector<TablePtr> tables;  // of the turns: the static row that the pipeline keeps refers to columns of one
  UnfilteredPipeline pipeline;
  std::optional<ReadCommand> partition;  // the rest of the one that it paused in, or that the page before ended in
  ReadCommand rest;
  ColdReads cold;
  bool begun_reading = true;       // false for a scan that waits for its first turn
  bool waits = false;              // for the disk
  std::unique_ptr<PageRest> page;  // of `partition`
  ReadStatistics numbers;
  int64_t begun = 0, deadline = kNoDeadline;

  bool goes_on() const { return !begun_reading || pipeline.paused() || waits; }
};

namespace {

// Takes the partition that the page before ended in out of the range (DataRange.Paging.clusteringIndexFilter).
std::optional<ReadCommand> begin_page(const ReadRequest& request, ReadCommand& rest) {
  if (!request.page || !rest.range) return std::nullopt;
  const RingPosition start = rest.range->start;
  if (start.kind != RingPosition::Kind::kKey || !rest.range->start_inclusive) return std::nullopt;
  const DecoratedKey key{start.token, start.key};
  if (!rest.range->contains(key)) return std::nullopt;
  Bytes place = request.page->last.comparable;
  const bool stays = request.page->inclusive;
  place.back() = stays != rest.reversed ? kBeforeTerminator : kAfterTerminator;
  std::optional<ReadCommand> partition = continue_behind(rest, key, place);
  if (!partition) {
    // No row is left of it, but its deletion and its static row are still asked for.
    partition = rest;
    partition->range.reset();
    partition->slices.clear();
    partition->wants_rows = false;
  }
  partition->keys = {DecoratedKey{start.token, request.command.range->start.key}};  // the key of `start`
  return partition;
}

// The condition that the index answers; null: none, and rows are found by their conditions alone.
const FilterExpression* condition_of(const IndexStore& index, const TableMetadata& table, const RowFilter& filter) {
  const bool is_ready = index.store != nullptr && !index.store->needs_rebuild && index.column(table) != nullptr;
  if (!is_ready) return nullptr;
  Operator op = Operator::kEq;
  if (index.shape == IndexShape::kCollectionKey) op = Operator::kContainsKey;
  if (index.shape == IndexShape::kCollectionValue) op = Operator::kContains;
  auto is_asked = [&](const FilterExpression& condition) {
    return condition.column->name == index.column_name && condition.op == op &&
           condition.is_map_entry == (index.shape == IndexShape::kCollectionEntry);
  };
  auto found = std::find_if(filter.begin(), filter.end(), is_asked);
  return found == filter.end() ? nullptr : &*found;
}

}  // namespace

Task<Result<ReadStatistics>> Engine::read_unfiltered(const ReadRequest& request, UnfilteredSink& sink,
                                                     int64_t deadline) {
  TableStorePtr store = find(request.command.table->id);
  if (!store) {
    return Result<ReadStatistics>(invalid(fmt::format("Unknown table {}", request.command.table->qualified_name())));
  }
  auto read = std::make_unique<UnfilteredRead>(request, store->table, sink, tombstone_thresholds(request.command));
  read->begun = runtime_.clock.monotonic_nanos();
  read->deadline = deadline;
  read->partition = begin_page(request, read->rest);
  if (request.command.range && !turns_.take()) {
    read->begun_reading = false;
    return read_unfiltered_on(std::move(read));
  }
  Status status = end_unfiltered_turn(*store, *read, read_unfiltered_turn(*store, *read));
  if (status.ok() && read->goes_on()) return read_unfiltered_on(std::move(read));
  Result<ReadStatistics> result = finish_unfiltered(*read, &store->counters, std::move(status));
  if (!is_durable(request.command)) return when_durable(std::move(result));
  return result;
}

Status Engine::read_unfiltered_turn(const TableStore& store, UnfilteredRead& read) {
  UnfilteredPipeline& pipeline = read.pipeline;
  ColdReads* const cold = read.cold.has_to_block() ? nullptr : &read.cold;
  if (read.partition && !pipeline.stopped()) {
    if (read.page != nullptr) read.page->use_table(store.table);
    Turn turn(*this, cold, read.page.get());
    TRY(read_unfiltered_part(store, *read.partition, read));
  }
  if (pipeline.has_unfinished_partition()) pipeline.end_unfinished_partition();
  if (pipeline.stopped() || pipeline.paused()) return {};
  read.partition.reset();
  read.page.reset();
  const bool has_rest = read.rest.range || !read.rest.keys.empty();
  if (!has_rest) return {};
  Turn turn(*this, cold);
  return read_unfiltered_part(store, read.rest, read);
}

// Prepares the next turn, if there is one.
Status Engine::end_unfiltered_turn(const TableStore& store, UnfilteredRead& read, Status status) {
  read.waits = is_disk_wait(status);
  if (!status.ok() && !read.waits) return status;
  UnfilteredPipeline& pipeline = read.pipeline;
  read.cold.count_turn(pipeline.paused());
  if (!pipeline.paused()) return {};
  read.partition = rest_of_partition(read.rest, pipeline.paused_key(), pipeline.paused_place());
  const bool keeps_page = read.waits && read.partition && read.request.index.is_nil();
  if (!keeps_page) {
    read.page.reset();
  } else if (read.page == nullptr) {
    read.page = keep_page(store, *read.partition, read.request.turn);
    // A turn shows what was there at one time. More than one is not asked for.
    if (!read.page->end.empty()) read.page.reset();
  }
  return {};
}

Status Engine::feed_unfiltered(PartitionReader& partition, UnfilteredPipeline& pipeline) {
  Status status = pipeline.feed(partition);
  if (!is_disk_wait(status) || cold_->place().empty()) return status;
  if (!pipeline.has_begun()) TRY(pipeline.begin(partition));
  pipeline.wait_in_partition(cold_->place());
  return status;
}

Status Engine::read_unfiltered_part(const TableStore& store, const ReadCommand& command, UnfilteredRead& read) {
  UnfilteredPipeline& pipeline = read.pipeline;
  if (!read.request.index.is_nil()) {
    for (const auto& index : store.indexes) {
      if (index->metadata.id != read.request.index) continue;
      const FilterExpression* condition = condition_of(*index, *store.table, read.request.command.filter);
      if (condition == nullptr) break;
      const Bytes value = index_key(*index, *condition);
      return read_unfiltered_hits(store, *index, DecoratedKey::of(value), command, pipeline, read.numbers);
    }
  }
  const SliceSelection selection{command.slices, command.reversed, command.wants_rows};
  if (!command.range) {
    // There is one, so that a wait for the disk leaves nothing behind it.
    for (const DecoratedKey& key : command.keys) {
      if (pipeline.stopped() || pipeline.paused()) break;
      if (!is_mine(key.token)) continue;
      ASSIGN_OR_RETURN(auto readers, open_key(store, key, selection));
      if (readers.empty()) continue;
      if (!store.sstables.empty() && page_ == nullptr) {
        const size_t sstables = readers.size() - memtables_of(store, key);
        read.numbers.sstables = std::max<uint64_t>(read.numbers.sstables, sstables);
      }
      MergedPartition merged(std::move(readers), command.reversed);
      TRY(feed_unfiltered(merged, pipeline));
    }
    return {};
  }
  ASSIGN_OR_RETURN(auto scanner, open_range(store, *command.range, selection));
  read.numbers.sstables = std::max<uint64_t>(read.numbers.sstables, store.sstables.size());
  read.numbers.memtables = std::max<uint64_t>(read.numbers.memtables, 1 + store.flushing.size());
  Bytes last_key;
  std::optional<Token> last;  // of the partition that was fed last
  while (!pipeline.stopped() && !pipeline.paused()) {
    auto partition = scanner->next();
    Status status;
    if (!partition.ok()) {
      status = std::move(partition.error());
    } else if (*partition == nullptr) {
      break;
    } else if (is_mine((*partition)->key().token)) {
      status = feed_unfiltered(**partition, pipeline);
    }
    if (is_disk_wait(status) && !pipeline.paused() && last) pipeline.wait_behind({*last, last_key});
    TRY(std::move(status));
    last = (*partition)->key().token;
    last_key.assign((*partition)->key().key);
  }
  return {};
}

// Tables may have been flushed, altered or dropped since the turn before.
Task<Result<ReadStatistics>> Engine::read_unfiltered_on(std::unique_ptr<UnfilteredRead> read) {
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  Status status;
  while (status.ok() && read->goes_on()) {
    if (read->waits) status = co_await wait_for_disk(&read->cold, read->deadline);
    if (!status.ok()) break;
    co_await turns_.next();
    status = next_unfiltered_turn(*read);
  }
  TableStorePtr store = find(read->request.command.table->id);
  Result<ReadStatistics> result = finish_unfiltered(*read, store ? &store->counters : nullptr, std::move(status));
  if (!is_durable(read->request.command)) result = co_await when_durable(std::move(result));
  gate_.leave();  // who waits for it may destroy the engine
  co_return result;
}

Status Engine::next_unfiltered_turn(UnfilteredRead& read) {
  const TableMetadata& wanted = *read.request.command.table;
  if (gate_.closed()) return Error(ErrorCode::kClosed, "The node is stopping");
  if (runtime_.clock.monotonic_nanos() > read.deadline) {
    return Error(ErrorCode::kReadTimeout,
                 fmt::format("A read of {} took longer than the timeout of its request", wanted.qualified_name()));
  }
  TableStorePtr store = find(wanted.id);
  if (!store) return invalid(fmt::format("Unknown table {}", wanted.qualified_name()));
  if (store->table != read.tables.back()) read.tables.push_back(store->table);
  UnfilteredPipeline& pipeline = read.pipeline;
  read.begun_reading = true;
  if (pipeline.paused()) {
    pipeline.next_turn(*store->table);
  } else {
    pipeline.repeat_turn(*store->table);
  }
  return end_unfiltered_turn(*store, read, read_unfiltered_turn(*store, read));
}

Result<ReadStatistics> Engine::finish_unfiltered(UnfilteredRead& read, TableCounters* counters, Status status) {
  DCHECK(!is_disk_wait(status));
  read.numbers.rows = read.pipeline.rows();
  read.numbers.tombstones = read.pipeline.tombstones();
  read.numbers.tombstones_of_last = read.pipeline.tombstones_of_partition();
  read.numbers.ended = runtime_.clock.monotonic_nanos();
  if (counters != nullptr) record_read(*counters, read.request.command, read.numbers, read.begun);
  if (!status.ok()) {
    read_failed(*read.request.command.table, status.error());
    return std::move(status.error());
  }
  return read.numbers;
}

}  // namespace cassandra_like
