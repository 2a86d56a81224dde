// Reads of keys and ranges.
//
// A partition that is in one memtable alone, without range or partition deletions, goes from there to the sink as it
// lies. A read of one row looks at its sources from the newest on and stops when what it has is newer than all that the
// others can hold. All else is merged.
#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "read/merge.h"
#include "read/query_text.h"
#include "storage/engine/read_sources.h"
#include "storage/memtable/column_versions.h"

namespace cassandra_like {

void Engine::prefetch(std::span<const PrefetchKey> partitions) {
  absl::InlinedVector<Token, 16> tokens;
  absl::InlinedVector<KeyHash, 16> reads;
  while (!partitions.empty()) {
    const Uuid& table = partitions.front().table;
    tokens.clear();
    reads.clear();
    for (; !partitions.empty() && partitions.front().table == table; partitions = partitions.subspan(1)) {
      tokens.push_back(partitions.front().token);
      if (partitions.front().hash) reads.push_back(*partitions.front().hash);
    }
    const auto found = stores_.find(table);
    if (found == stores_.end()) continue;
    const PartitionMap& in_memtable = found->second->memtable->partitions();
    in_memtable.prefetch(tokens);
    // A partition that was written lately is mostly read from there alone.
    reads.erase(std::remove_if(reads.begin(), reads.end(),
                               [&](const KeyHash& hash) { return in_memtable.has(token_of(hash)); }),
                reads.end());
    for (const LiveSSTable& live : found->second->sstables) live.sstable->prefetch(reads);
  }
}

// The state of a read that was not done in its first turn.
struct Engine::LongRead {
  LongRead(const ReadCommand& c, TablePtr table, ReadPipeline&& paused, ReadStatistics n, int64_t b, int64_t d)
      : command(c), tables{std::move(table)}, feed(std::move(paused)), rest(c), numbers(n), begun(b), deadline(d) {
    // Base partitions come in ring order, whatever the order of the keys.
    if (rest.index != nullptr) std::sort(rest.keys.begin(), rest.keys.end());
  }
  bool goes_on() const { return !begun_reading || feed.paused() || waits; }

  const ReadCommand& command;
  std::vector<TablePtr> tables;  // of the turns: the static row that feed and sink keep refers to columns of one
  ReadPipeline feed;
  std::optional<ReadCommand> partition;  // the rest of the one that it paused in
  ReadCommand rest;
  ColdReads cold;
  bool begun_reading = true;       // false for a scan that waits for its first turn
  bool waits = false;              // for the disk
  std::unique_ptr<PageRest> page;  // of `partition`
  ReadStatistics numbers;
  int64_t begun, deadline;
  const int64_t allowance = deadline == kNoDeadline ? 0 : deadline - begun;
  uint64_t rows_before = 0;  // when the deadline began
};

Task<Result<ReadStatistics>> Engine::read(const ReadCommand& command, RowSink& sink, int64_t deadline, int64_t begun) {
  DCHECK(std::all_of(command.keys.begin(), command.keys.end(), [this](const auto& key) { return is_mine(key.token); }));
  auto found = stores_.find(command.table->id);
  if (found == stores_.end()) {
    return Result<ReadStatistics>(invalid(fmt::format("Unknown table {}", command.table->qualified_name())));
  }
  TableStore& store = *found->second;
  if (begun == kBeginsNow) begun = runtime_.clock.monotonic_nanos();
  ReadStatistics numbers;
  ReadPipeline feed(command, *store.table, sink, tombstone_thresholds(command), read_arena_);
  if (command.range && !turns_.take()) {
    auto read = std::make_unique<LongRead>(command, store.table, std::move(feed), numbers, begun, deadline);
    read->begun_reading = false;
    return read_on(std::move(read));
  }
  ColdReads cold;
  cold_ = &cold;
  Status status = read_turn(store, command, feed, numbers);
  cold_ = nullptr;
  if (status.ok() ? feed.paused() : is_disk_wait(status)) {
    auto rest = std::make_unique<LongRead>(command, store.table, std::move(feed), numbers, begun, deadline);
    rest->cold = std::move(cold);
    status = end_turn(store, *rest, std::move(status));
    DCHECK(status.ok());
    return read_on(std::move(rest));
  }
  Result<ReadStatistics> result = finish_read(&store.counters, command, feed, numbers, begun, std::move(status));
  if (!is_durable(command)) return when_durable(std::move(result));
  return result;
}

TombstoneThresholds Engine::tombstone_thresholds(const ReadCommand& command) const {
  if (command.table->local_only) return {};
  return {options_.tombstone_warn_threshold, options_.tombstone_failure_threshold};
}

Status Engine::read_turn(TableStore& store, const ReadCommand& command, ReadPipeline& feed,
                         ReadStatistics& statistics) {
  if (command.index != nullptr) return read_index(store, command, feed, statistics);
  if (command.range) return read_range(store, command, feed, statistics);
  for (const DecoratedKey& key : command.keys) {
    if (feed.stopped() || feed.paused()) break;
    Status status = read_key(store, command, key, feed, statistics);
    if (status.ok()) continue;
    const bool is_first = &key == &command.keys.front();
    if (is_disk_wait(status) && !feed.paused() && !is_first) feed.wait_behind(*(&key - 1));
    return status;
  }
  return {};
}

// Tables may have been flushed, altered or dropped since the turn before.
Task<Result<ReadStatistics>> Engine::read_on(std::unique_ptr<LongRead> read) {
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  Status status;
  while (status.ok() && read->goes_on()) {
    if (read->waits) status = co_await wait_for_disk(&read->cold, read->deadline);
    if (!status.ok()) break;
    co_await turns_.next();
    status = next_turn(*read);
  }
  TableStorePtr store = find(read->command.table->id);
  Result<ReadStatistics> result = finish_read(store ? &store->counters : nullptr, read->command, read->feed,
                                              read->numbers, read->begun, std::move(status));
  if (!is_durable(read->command)) result = co_await when_durable(std::move(result));
  gate_.leave();  // who waits for it may destroy the engine
  co_return result;
}

Status Engine::next_turn(LongRead& read) {
  if (gate_.closed()) return Error(ErrorCode::kClosed, "The node is stopping");
  TRY(check_wanted(read.command.abandonment));
  const int64_t now = runtime_.clock.monotonic_nanos();
  if (read.feed.rows() - read.rows_before >= read.command.rows_of_deadline && read.deadline != kNoDeadline) {
    read.deadline = now + read.allowance;
    read.rows_before = read.feed.rows();
  }
  if (now > read.deadline) {
    return Error(ErrorCode::kReadTimeout, fmt::format("A read of {} took longer than the timeout of its request",
                                                      read.command.table->qualified_name()));
  }
  TableStorePtr store = find(read.command.table->id);
  if (!store) return invalid(fmt::format("Unknown table {}", read.command.table->qualified_name()));
  if (store->table != read.tables.back()) read.tables.push_back(store->table);
  ReadPipeline& feed = read.feed;
  DCHECK(!feed.stopped());
  read.begun_reading = true;
  if (feed.paused()) {
    feed.next_turn(*store->table);
  } else {
    feed.repeat_turn(*store->table);
  }
  ReadStatistics of_turn;
  Status status = read_rest(*store, read, of_turn);
  read.numbers.sstables = std::max(read.numbers.sstables, of_turn.sstables);
  read.numbers.memtables = std::max(read.numbers.memtables, of_turn.memtables);
  return end_turn(*store, read, std::move(status));
}

Status Engine::read_rest(TableStore& store, LongRead& read, ReadStatistics& statistics) {
  ReadPipeline& feed = read.feed;
  ColdReads* const cold = read.cold.has_to_block() ? nullptr : &read.cold;
  if (read.partition) {
    if (read.page != nullptr) read.page->use_table(store.table);
    Turn turn(*this, cold, read.page.get());
    feed.set_page_end(read.page != nullptr ? read.page->end : Bytes());
    TRY(read_turn(store, *read.partition, feed, statistics));
  }
  if (feed.has_unfinished_partition()) feed.end();
  if (feed.paused() || feed.stopped()) return {};
  read.partition.reset();
  read.page.reset();
  const bool has_rest = read.rest.range || !read.rest.keys.empty();
  if (!has_rest) return {};
  Turn turn(*this, cold);
  return read_turn(store, read.rest, feed, statistics);
}

// Prepares the next turn, if there is one.
Status Engine::end_turn(const TableStore& store, LongRead& read, Status status) {
  read.waits = is_disk_wait(status);
  if (!status.ok() && !read.waits) return status;
  ReadPipeline& feed = read.feed;
  read.cold.count_turn(feed.paused());
  if (!feed.paused()) return {};
  read.partition = rest_of_partition(read.rest, feed.paused_key(), feed.paused_clustering());
  const bool keeps_page = read.waits && read.partition && read.partition->index == nullptr;
  if (!keeps_page) {
    read.page.reset();
  } else if (read.page == nullptr) {
    read.page = keep_page(store, *read.partition, ReadPipeline::kPage);
  }
  if (read.partition) cut_at_end(read.page.get(), *read.partition);
  return {};
}

Result<ReadStatistics> Engine::finish_read(TableCounters* counters, const ReadCommand& command,
                                           const ReadPipeline& feed, ReadStatistics numbers, int64_t begun,
                                           Status status) {
  DCHECK(!is_disk_wait(status));
  numbers.rows = feed.rows();
  numbers.tombstones = feed.tombstones();
  numbers.tombstones_of_last = feed.tombstones_of_partition();
  numbers.stopped = feed.stopped();
  numbers.ended = runtime_.clock.monotonic_nanos();
  if (counters != nullptr) record_read(*counters, command, numbers, begun);
  TombstoneCount* const of_read = command.tombstones;
  const uint64_t tombstones = of_read != nullptr ? of_read->sum.load(std::memory_order_relaxed) : numbers.tombstones;
  if (tombstones > tombstone_thresholds(command).warn && (of_read == nullptr || !of_read->warned.exchange(true))) {
    if (auto more = tombstone_lines_.take(runtime_.clock.monotonic_nanos())) {
      const Token last = feed.paused_key().token;
      LOG_WARN("{}{}", tombstone_warning(command, numbers.rows, tombstones, last), *more);
    }
  }
  if (!status.ok() && status.error().code() == ErrorCode::kReadFailure) {
    if (auto more = tombstone_lines_.take(runtime_.clock.monotonic_nanos())) {
      LOG_ERROR("{} (see tombstone_failure_threshold): {}{}", status.error().message(), query_text(command), *more);
    }
  }
  if (!status.ok()) {
    read_failed(*command.table, status.error());
    return std::move(status.error());
  }
  return numbers;
}

void Engine::record_read(TableCounters& counters, const ReadCommand& command, const ReadStatistics& numbers,
                         int64_t begun) {
  if (!command.range) ++counters.reads;
  Histogram& micros = command.range ? counters.range_micros : counters.read_micros;
  micros.record(static_cast<uint64_t>(numbers.ended - begun) / 1000);
  if (counters.samplers) counters.samplers->read(command, numbers, begun);
  counters.sstables_per_read.record(numbers.sstables);
  counters.tombstones_per_read.record(numbers.tombstones);
  counters.live_rows_per_read.record(numbers.rows);
}

Result<const Unfiltered*> first_or_wait(PartitionReader& partition, ReadPipeline& feed, const ColdReads* cold) {
  Result<const Unfiltered*> first = partition.next();
  const bool waits = !first.ok() && is_disk_wait(first.error()) && !cold->place().empty();
  if (!first.ok() && !waits) return first;
  TRY(feed.begin(partition.key(), partition.static_row()));
  if (waits) feed.wait_in_partition(cold->place());
  return first;
}

Result<const Unfiltered*> next_or_wait(PartitionReader& partition, ReadPipeline& feed, const ColdReads* cold) {
  Result<const Unfiltered*> next = partition.next();
  if (!next.ok() && is_disk_wait(next.error())) feed.wait_in_partition(cold->place());
  return next;
}

namespace {

// Feeds a whole partition; the feed may stop early.
Status feed_partition(PartitionReader& partition, int64_t now_seconds, ReadPipeline& feed, const ColdReads* cold) {
  ASSIGN_OR_RETURN(const Unfiltered* unfiltered, first_or_wait(partition, feed, cold));
  const bool takes_uniform_rows = feed.takes_uniform_rows();
  ReadPipeline::Step step = ReadPipeline::Step::kContinue;
  while (unfiltered != nullptr) {
    if (unfiltered->is_row) {
      ASSIGN_OR_RETURN(step, feed.row(unfiltered->row));
    } else {
      TRY(feed.marker());
    }
    while (takes_uniform_rows && step == ReadPipeline::Step::kContinue) {
      const UniformRow* row = partition.next_uniform(now_seconds);
      if (row == nullptr) break;
      step = feed.uniform_row(*row);
    }
    if (step != ReadPipeline::Step::kContinue) break;
    ASSIGN_OR_RETURN(unfiltered, next_or_wait(partition, feed, cold));
  }
  feed.end();
  return {};
}

// Even SELECT DISTINCT has to know whether any row lives.
SliceSelection selection_of(const ReadCommand& command) { return {command.slices, command.reversed, true}; }

// Whether the selection can only hold one row, of a table without static columns.
bool is_one_row(const TableMetadata& table, const SliceSelection& selection, Arena& arena) {
  if (table.has_static_columns() || !selection.wants_rows) return false;
  if (table.clustering.empty()) return true;
  if (selection.slices.size() != 1) return false;
  const Slice& slice = selection.slices[0];
  if (slice.start.size() != slice.end.size() || slice.start.empty() || slice.start.back() != kBeforeTerminator ||
      slice.end.back() != kAfterTerminator ||
      slice.start.compare(0, slice.start.size() - 1, slice.end, 0, slice.end.size() - 1) != 0) {
    return false;
  }
  ClusteringPrefix prefix;
  return split_comparable(table, slice.start, arena, &prefix) && prefix.values.size() == table.clustering.size();
}

// Whether nothing that was written up to a time can change the row any more.
bool is_complete(const TableMetadata& table, const Row& row, const DeletionTime& deletion, int64_t older) {
  if (deletion.deletes(older) || row.deletion.deletes(older)) return true;
  if (row.liveness.timestamp <= older || row.cells.size() != table.regular_columns.size()) return false;
  return std::all_of(row.cells.begin(), row.cells.end(), [&](const Cell& cell) {
    return cell.timestamp > older && !cell.column->is_complex() && !cell.column->type->is_counter();
  });
}

}  // namespace

Status Engine::read_key(const TableStore& store, const ReadCommand& command, const DecoratedKey& key,
                        ReadPipeline& feed, ReadStatistics& statistics) {
  Sources sources = page_ == nullptr ? Sources(store, key) : Sources(*page_, key);
  statistics.memtables += sources.memtables.size();
  if (sources.none()) return {};
  if (sources.sstables.empty() && sources.memtables.size() == 1) {
    const auto& [memtable, partition] = sources.memtables[0];
    if (partition->deletion.is_live() && partition->ranges == nullptr && !memtable->has_old_columns() &&
        hides_nothing(*store.table)) {
      return read_from_memtable(*partition, command, feed);
    }
  }
  const SliceSelection selection = selection_of(command);
  row_arena_.reset();
  // Not of counters, whose parts are merged when it is known what of them is deleted.
  if (!sources.sstables.empty() && !store.table->is_counter() && is_one_row(*store.table, selection, row_arena_)) {
    Status status = read_one_row(store, key, sources, command, feed, statistics);
    row_arena_.reset();  // the row may have been large
    return status;
  }
  statistics.sstables += sources.sstables.size();
  ASSIGN_OR_RETURN(auto readers, open(store, sources, selection));
  if (readers.empty()) return {};
  MergedPartition merged(std::move(readers), command.reversed);
  return feed_partition(merged, command.now_seconds, feed, cold_);
}

namespace {

// Passes a memtable's rows on.
class MemtableFeed {
 public:
  MemtableFeed(const ReadCommand& command, ReadPipeline& feed, Arena& arena, std::vector<BytesView>& views)
      : feed_(feed),
        plain_of_(feed.takes_uniform_rows() ? command.table.get() : nullptr),
        now_seconds_(command.now_seconds),
        arena_(arena),
        views_(views) {}

  Result<ReadPipeline::Step> row(const MemtableRow& row) {
    if (plain_of_ != nullptr && row.table() == plain_of_ && row.is_live(now_seconds_)) {
      return feed_.uniform_row(row.uniform(views_));
    }
    arena_.reset();
    return feed_.row(row.row(arena_));
  }

  // Rows that follow each other in a partition are far apart in memory, since they came at different times. So several
  // are on their way from there while one is looked at.
  template <class Iterator>
  Result<ReadPipeline::Step> rows(Iterator at, Iterator end) {
    constexpr int kRowsAhead = 6;
    Iterator ahead = at;
    for (int i = 0; i < kRowsAhead && ahead != end; ++i, ++ahead) ahead->row->prefetch();
    for (; at != end; ++at) {
      if (ahead != end) (ahead++)->row->prefetch();
      ASSIGN_OR_RETURN(ReadPipeline::Step step, row(*at->row));
      if (step != ReadPipeline::Step::kContinue) return step;
    }
    return ReadPipeline::Step::kContinue;
  }

 private:
  ReadPipeline& feed_;
  const TableMetadata* plain_of_;
  const int64_t now_seconds_;
  Arena& arena_;
  std::vector<BytesView>& views_;
};

}  // namespace

Status Engine::read_from_memtable(const MemtablePartition& partition, const ReadCommand& command, ReadPipeline& feed) {
  TRY(feed.begin(partition.key, partition.static_part()));
  MemtableFeed from(command, feed, row_arena_, memtable_views_);
  auto feed_slice = [&](const Slice& slice) -> Result<ReadPipeline::Step> {
    if (partition.only_row != nullptr) {
      return slice.contains(partition.only_row->comparable()) ? from.row(*partition.only_row)
                                                              : ReadPipeline::Step::kContinue;
    }
    if (partition.rows == nullptr) return ReadPipeline::Step::kContinue;
    const RowTree& rows = partition.rows->tree;
    auto begin = slice.start.empty() ? rows.begin() : rows.lower_bound(RowKey(slice.start));
    auto end = slice.end.empty() ? rows.end() : rows.lower_bound(RowKey(slice.end));
    if (!command.reversed) return from.rows(begin, end);
    return from.rows(std::make_reverse_iterator(end), std::make_reverse_iterator(begin));
  };
  static const Slice whole = Slice::all();
  size_t count = command.slices.empty() ? 1 : command.slices.size();
  for (size_t i = 0; i < count; ++i) {
    const Slice& slice = command.slices.empty() ? whole : command.slices[command.reversed ? count - 1 - i : i];
    ASSIGN_OR_RETURN(ReadPipeline::Step step, feed_slice(slice));
    if (step != ReadPipeline::Step::kContinue) break;
  }
  feed.end();
  return {};
}

namespace {

// The only row of a partition, which only one source has.
Status feed_row(const DecoratedKey& key, const UniformRow& row, ReadPipeline& feed) {
  TRY(feed.begin(key, Row()));
  feed.uniform_row(row);
  feed.end();
  return {};
}

}  // namespace

// A part of a row with so many cells is merged with the others at the end, so that its cells are copied once.
constexpr size_t kManyCells = 1024;

Status Engine::read_one_row(const TableStore& store, const DecoratedKey& key, Sources& sources,
                            const ReadCommand& command, ReadPipeline& feed, ReadStatistics& statistics) {
  SliceSelection selection = selection_of(command);
  selection.memory = &row_share_;
  Row row;
  DeletionTime deletion;
  absl::InlinedVector<std::unique_ptr<PartitionReader>, 4> readers;  // that have parts of the row
  absl::InlinedVector<Row, 1> large;                                 // parts with many cells, which are merged once
  auto is_found = [&] { return !large.empty() || !row.clustering.comparable.empty(); };
  auto take = [&](std::unique_ptr<PartitionReader> reader) -> Status {
    if (reader->partition_deletion().supersedes(deletion)) deletion = reader->partition_deletion();
    while (true) {
      ASSIGN_OR_RETURN(const Unfiltered* unfiltered, reader->next());
      if (unfiltered == nullptr) return {};
      if (unfiltered->is_row) {
        const Row* both[] = {&row, &unfiltered->row};
        if (unfiltered->row.cells.size() >= kManyCells) {
          large.push_back(unfiltered->row);
        } else {
          row = row.clustering.comparable.empty() ? unfiltered->row : merge_rows(both, {}, row_arena_);
        }
        readers.push_back(std::move(reader));
        return {};
      }
      // Only one row fits between a marker that opens here and the one that closes: it covers that row.
      if (unfiltered->marker.open.supersedes(deletion)) deletion = unfiltered->marker.open;
    }
  };
  for (const auto& [memtable, partition] : sources.memtables) TRY(take(memtable->read(*partition, selection)));
  for (const SSTable* sstable : sources.sstables) {
    if (is_complete(*store.table, row, deletion, sstable->info().max_timestamp)) break;
    ++statistics.sstables;
    ASSIGN_OR_RETURN(auto reader, sstable->read(store.table, sources.hashed, selection, cold_));
    if (!reader) continue;
    const bool is_alone = !is_found() && deletion.is_live() && sstable == sources.sstables.back();
    if (is_alone && reader->partition_deletion().is_live() && feed.takes_uniform_rows()) {
      if (const UniformRow* plain = reader->next_uniform(command.now_seconds)) return feed_row(key, *plain, feed);
    }
    TRY(take(std::move(reader)));
  }
  if (!is_found()) return {};
  absl::InlinedVector<const Row*, 4> parts;
  if (!row.clustering.comparable.empty()) parts.push_back(&row);
  for (const Row& part : large) parts.push_back(&part);
  Row merged = merge_rows({parts.data(), parts.size()}, deletion, row_arena_);
  TRY(feed.begin(key, Row()));
  if (!merged.is_empty()) {
    auto step = feed.row(merged);
    if (!step.ok()) return std::move(step.error());
  }
  feed.end();
  return {};
}

Result<std::vector<std::unique_ptr<PartitionReader>>> Engine::open_key(const TableStore& store, const DecoratedKey& key,
                                                                       const SliceSelection& selection) const {
  return open(store, page_ == nullptr ? Sources(store, key) : Sources(*page_, key), selection);
}

Result<std::vector<std::unique_ptr<PartitionReader>>> Engine::open(const TableStore& store, const Sources& sources,
                                                                   const SliceSelection& selection) const {
  SliceSelection counted = selection;
  if (counted.memory == nullptr) counted.memory = &row_share_;
  std::vector<std::unique_ptr<PartitionReader>> readers;
  readers.reserve(sources.memtables.size() + sources.sstables.size());
  for (const auto& [memtable, partition] : sources.memtables) readers.push_back(memtable->read(*partition, counted));
  // An SSTable that a newer partition deletion covers altogether need not be read.
  int64_t deleted_until = kNoTimestamp;
  for (const auto& reader : readers) {
    deleted_until = std::max(deleted_until, reader->partition_deletion().marked_for_delete_at);
  }
  Status waits;
  for (const SSTable* sstable : sources.sstables) {
    if (sstable->info().max_timestamp < deleted_until) break;
    auto reader = sstable->read(store.table, sources.hashed, counted, cold_);
    if (!reader.ok()) {
      if (!is_disk_wait(reader.error())) return std::move(reader.error());
      waits = std::move(reader.error());  // the others find out what else is missing, so that it comes at the same time
      continue;
    }
    if (*reader == nullptr) continue;
    deleted_until = std::max(deleted_until, (*reader)->partition_deletion().marked_for_delete_at);
    readers.push_back(std::move(*reader));
  }
  if (!waits.ok()) return std::move(waits.error());
  return readers;
}

Result<std::unique_ptr<PartitionScanner>> Engine::open_range(const TableStore& store, const KeyRange& range,
                                                             const SliceSelection& selection) const {
  SliceSelection counted = selection;
  if (counted.memory == nullptr) counted.memory = &row_share_;
  std::vector<std::unique_ptr<PartitionScanner>> scanners;
  if (!store.memtable->empty()) scanners.push_back(store.memtable->scan(range, counted));
  for (const auto& old : store.flushing) scanners.push_back(old->scan(range, counted));
  for (const LiveSSTable& live : store.sstables) {
    ASSIGN_OR_RETURN(auto scanner, live.sstable->scan(store.table, range, counted, cold_));
    scanners.push_back(std::move(scanner));
  }
  std::unique_ptr<PartitionScanner> merged = std::make_unique<MergedScanner>(std::move(scanners), selection.reversed);
  return merged;
}

Status Engine::read_range(const TableStore& store, const ReadCommand& command, ReadPipeline& feed,
                          ReadStatistics& statistics) {
  SliceSelection selection{command.slices, command.reversed, true};
  ASSIGN_OR_RETURN(auto scanner, open_range(store, *command.range, selection));
  statistics.sstables += store.sstables.size();
  statistics.memtables += 1 + store.flushing.size();
  bool shared =
      std::any_of(store.sstables.begin(), store.sstables.end(), [](const LiveSSTable& live) { return live.shared; });
  Bytes last_key;
  std::optional<Token> last;  // of the partition that was fed last
  while (!feed.stopped() && !feed.paused()) {
    auto partition = scanner->next();
    if (!partition.ok()) {
      if (is_disk_wait(partition.error()) && last) feed.wait_behind({*last, last_key});
      return std::move(partition.error());
    }
    if (*partition == nullptr) break;
    const DecoratedKey& key = (*partition)->key();
    if (!shared || is_mine(key.token)) {
      Status status = feed_partition(**partition, command.now_seconds, feed, cold_);
      if (is_disk_wait(status) && !feed.paused() && last) feed.wait_behind({*last, last_key});
      TRY(std::move(status));
    }
    last = key.token;
    last_key.assign(key.key);
  }
  return {};
}

}  // namespace cassandra_like
