// One partition behind the other, each read twice.
#include "storage/compaction/scrub_sstable.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/memory_text.h"
#include "storage/compaction/rewrite_options.h"
#include "storage/compaction/slice.h"
#include "storage/memtable/memtable.h"
#include "storage/sstable/partition_lookup.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_partition_reader.h"
#include "storage/sstable/sstable_version.h"
#include "storage/sstable/sstable_writer.h"

namespace cassandra_like {

namespace {

constexpr uint64_t kKeyLength = 2;  // bytes of the length before a key

// A marker that ends a range may begin another.
ClusteringPrefix end_of(ClusteringPrefix bound) {
  const bool excludes = bound.kind == ClusteringKind::kExclEndBound || bound.kind == ClusteringKind::kInclStartBound ||
                        bound.kind == ClusteringKind::kExclEndInclStartBoundary;
  bound.kind = excludes ? ClusteringKind::kExclEndBound : ClusteringKind::kInclEndBound;
  return bound;
}

ClusteringPrefix start_of(const ClusteringPrefix& bound, Arena& arena) {
  const bool includes = end_of(bound).kind == ClusteringKind::kExclEndBound;
  ClusteringPrefix start;
  start.kind = includes ? ClusteringKind::kInclStartBound : ClusteringKind::kExclStartBound;
  start.comparable = arena.copy(bound.comparable);
  std::span<BytesView> values = arena.make_span<BytesView>(bound.values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = arena.copy(bound.values[i]);
  start.values = values;
  return start;
}

class LoggedScrub final : public ScrubOutput {
 public:
  bool wants_debug() const override { return false; }
  void debug(const std::string& /*text*/) override {}
  void output(const std::string& text) override { LOG_INFO("{}", text); }
  void warn(const std::string& text, const Error* cause) override {
    if (cause == nullptr) {
      LOG_WARN("{}", text);
    } else {
      LOG_WARN("{} {}", text, cause->message());
    }
  }
};

// A row whose cells or whose own liveness have an expiry that did not fit into 31 bits.
bool has_overflowed(const Row& row) {
  return (row.liveness.is_expiring() && row.liveness.local_expiration_time == kInvalidDeletionTime) ||
         std::any_of(row.cells.begin(), row.cells.end(), [](const Cell& cell) {
           return cell.is_expiring() && cell.local_deletion_time == kInvalidDeletionTime;
         });
}

// Later than the tombstones that a compaction has made of it since.
Row without_overflow(const Row& row, Arena& arena) {
  Row fixed = row;
  if (fixed.liveness.is_expiring() && fixed.liveness.local_expiration_time == kInvalidDeletionTime) {
    ++fixed.liveness.timestamp;
    fixed.liveness.local_expiration_time = kMaxDeletionTime2038;
  }
  std::span<Cell> cells = arena.make_span<Cell>(row.cells.size());
  std::copy(row.cells.begin(), row.cells.end(), cells.begin());
  for (Cell& cell : cells) {
    if (!cell.is_expiring() || cell.local_deletion_time != kInvalidDeletionTime) continue;
    ++cell.timestamp;
    cell.local_deletion_time = kMaxDeletionTime2038;
  }
  fixed.cells = cells;
  return fixed;
}

// The findings of the first reading of a partition.
struct ScrubbedPartition {
  bool is_empty = true;
  bool is_ordered = true;
};

class SSTableScrubber {
 public:
  SSTableScrubber(ShardRuntime& runtime, const SSTableScrub& scrub, SSTableMergeProgress& progress)
      : runtime_(runtime),
        scrub_(scrub),
        progress_(progress),
        output_(scrub.output != nullptr ? *scrub.output : logged_),
        files_(scrub.input->files(false)),
        name_(reader_name(scrub.input->info().descriptor)),
        disordered_(std::make_unique<Memtable>(scrub.table, CommitLogPosition())) {}

  Task<Status> run();
  void summarize();
  SSTableScrubResult result;

 private:
  void warn(const std::string& text, const Error* cause = nullptr) const { output_.warn(text, cause); }
  Status begin();
  // Anew after a failure: nothing of it stays.
  void open_reader() { reader_ = std::make_unique<SSTablePartitionReader>(files_, header_, SliceSelection()); }
  Task<Status> scrub_all();
  Task<Result<bool>> scrub_next();
  Task<Status> retry_from_index(PartitionPlace place);
  bool is_readable(uint64_t position);
  Result<bool> skip_to_next();
  void advance_index();
  bool is_big() const { return files_.version->format == SSTableFormat::kBig; }
  int64_t size_in_index(const PartitionPlace& place) const;
  void tell_size(const PartitionPlace* in_index);
  // The place is the index's; forced: where the partition's own key cannot be read.
  Status begin_partition(uint64_t position, const PartitionPlace* in_index, bool forced);
  Task<Status> take_partition(uint64_t position, const PartitionPlace* in_index, bool forced);
  Task<Result<ScrubbedPartition>> read_through();
  Status check_row(const Row& row) const;
  // The next row or marker of the second reading, as it is written.
  Result<const Unfiltered*> next_to_write();
  Task<Status> write_partition();
  Task<Status> put_in_order();
  void put(const PartitionUpdate& update) { disordered_->apply(update); }
  Task<Status> write_disordered();
  Task<Status> begin_output(Token first, SSTableWriterOptions options, std::unique_ptr<SSTableWriter>* writer);
  Task<Status> end_output(std::unique_ptr<SSTableWriter> writer);
  Status may_skip(const Error& cause, std::string_view key) const;
  Task<Status> pause_if_due();
  std::string key_text(BytesView key) const;

  ShardRuntime& runtime_;
  const SSTableScrub& scrub_;
  SSTableMergeProgress& progress_;
  LoggedScrub logged_;
  ScrubOutput& output_;
  const SSTableFiles files_;
  const std::string name_;
  std::shared_ptr<const ResolvedHeader> header_;
  std::unique_ptr<SSTablePartitionReader> reader_;
  std::unique_ptr<PartitionWalk> walk_;          // null: there is no index, or no more of it
  std::optional<PartitionPlace> next_in_index_;  // the entry behind the one of this partition
  uint64_t position_ = 0;
  std::optional<Bytes> key_;  // of the partition that begins there, when it can be read
  Unfiltered fixed_;
  Arena fixed_arena_{1024};
  Bytes last_key_;
  bool has_last_ = false;
  std::unique_ptr<SSTableWriter> writer_;
  std::unique_ptr<Memtable> disordered_;
  uint64_t finished_bytes_ = 0;
  CompactionSlice slice_;
};

std::string SSTableScrubber::key_text(BytesView key) const {
  const TypePtr type = scrub_.table->partition_key_type();
  if (is_null(key)) return "(unreadable key)";
  return type->validate(key).ok() ? type->to_text(key) : fmt::format("(corrupted; hex value: {})", to_hex(key));
}

Task<Status> SSTableScrubber::pause_if_due() {
  const uint64_t written = finished_bytes_ + (writer_ == nullptr ? 0 : writer_->bytes_written());
  if (!slice_.is_over(runtime_.clock, written)) co_return Status();
  progress_.bytes_written = std::max(written, position_);
  Status may_go_on = co_await scrub_.pause();
  slice_.begin(runtime_.clock, written);
  co_return may_go_on;
}

Status SSTableScrubber::begin() {
  ASSIGN_OR_RETURN(header_, scrub_.input->resolve(scrub_.table));
  open_reader();
  slice_.begin(runtime_.clock, 0);
  if (files_.lookup == nullptr) {
    warn("Index is unreadable, scrubbing will continue without index.");
    return {};
  }
  walk_ = files_.lookup->walk(RingPosition::minimum());
  advance_index();
  if (next_in_index_ && next_in_index_->data_position == 0) return {};
  warn(fmt::format("First position reported by index should be 0, was {}, continuing without index.",
                   next_in_index_ ? std::to_string(next_in_index_->data_position) : "none"));
  walk_ = nullptr;
  next_in_index_.reset();
  return {};
}

void SSTableScrubber::advance_index() {
  const uint64_t last = next_in_index_ ? next_in_index_->data_position : 0;
  next_in_index_.reset();
  if (walk_ == nullptr) return;
  PartitionPlace place;
  Result<bool> found = walk_->next(&place);
  if (found.ok() && *found) {
    next_in_index_ = place;
    return;
  }
  if (!found.ok()) {
    warn(fmt::format("Failed to advance to the next index position. Index is corrupted. Continuing without the index. "
                     "Last position read is {}.",
                     last),
         &found.error());
  }
  walk_ = nullptr;
}

Task<Status> SSTableScrubber::run() {
  if (scrub_.reinserts_overflowed_ttl) output_.output("Starting scrub with reinsert overflowed TTL option");
  output_.output(fmt::format("Scrubbing {} ({})", name_, memory_text(files_.data->size())));
  CO_TRY(begin());
  Status done = co_await scrub_all();
  if (!done.ok()) co_return done;
  if (writer_ != nullptr) {
    if (result.bad_partitions > 0) writer_->set_repaired_at(0);
    done = co_await end_output(std::move(writer_));
    if (!done.ok()) co_return done;
  }
  done = co_await write_disordered();
  co_return done;
}

Task<Status> SSTableScrubber::scrub_all() {
  while (position_ < files_.data->size()) {
    Result<bool> more = co_await scrub_next();
    if (!more.ok()) co_return std::move(more.error());
    ++progress_.partitions_read;
    if (!*more) break;
    Status paused = co_await pause_if_due();
    if (!paused.ok()) co_return paused;
  }
  co_return Status();
}

// False: there is no way to go on.
Task<Result<bool>> SSTableScrubber::scrub_next() {
  const uint64_t start = position_;
  const std::optional<PartitionPlace> in_index = next_in_index_;
  const bool had_index = walk_ != nullptr || in_index;
  advance_index();
  if (output_.wants_debug()) output_.debug(fmt::format("Reading row at {}", start));
  Status taken = co_await take_partition(start, in_index ? &*in_index : nullptr, false);
  if (taken.ok()) {
    position_ = reader_->end_position();
    if (in_index && in_index->data_position != start) {
      warn(fmt::format("Data file partition position {} differs from index file row position {}", start,
                       in_index->data_position));
    }
    co_return true;
  }
  if (taken.error().code() != ErrorCode::kCorruption) co_return std::move(taken.error());
  const std::string name = key_ ? key_text(*key_) : "(unreadable key)";
  warn(fmt::format("Error reading partition {} (stacktrace follows):", name), &taken.error());
  open_reader();
  // The index has another key, or another place.
  if (in_index && !is_null(in_index->key) && (key_ != in_index->key || in_index->data_position != start)) {
    Status retried = co_await retry_from_index(*in_index);
    if (retried.ok()) {
      position_ = reader_->end_position();
      co_return true;
    }
    if (retried.error().code() != ErrorCode::kCorruption) co_return std::move(retried.error());
    CO_TRY(may_skip(retried.error(), key_text(in_index->key)));
    warn("Retry failed too. Skipping to next partition (retry's stacktrace follows)", &retried.error());
  } else {
    CO_TRY(may_skip(taken.error(), key_ ? name : "(unknown)"));
    if (had_index) {
      warn(fmt::format("Partition starting at position {} is unreadable; skipping to next",
                       start + (is_big() && key_ ? kKeyLength + key_->size() : 0)));
    } else {
      warn(fmt::format(
          "Unrecoverable error while scrubbing {}.Scrubbing cannot continue. The sstable will be marked for "
          "deletion. You can attempt manual recovery from the pre-scrub snapshot. You can also run nodetool "
          "repair to transfer the data from a healthy replica, if any.",
          name_));
    }
  }
  ++result.bad_partitions;
  open_reader();
  co_return skip_to_next();
}

Task<Status> SSTableScrubber::retry_from_index(PartitionPlace place) {
  output_.output(fmt::format("Retrying from partition index; data is {} bytes starting at {}", size_in_index(place),
                             place.data_position + kKeyLength + place.key.size()));
  Status taken = co_await take_partition(place.data_position, &place, true);
  co_return taken;
}

// Cassandra prints that of BIG without the key, and for BTI does not know that of the last partition.
int64_t SSTableScrubber::size_in_index(const PartitionPlace& place) const {
  const auto start = static_cast<int64_t>(place.data_position);
  const int64_t end = static_cast<int64_t>(next_in_index_ ? next_in_index_->data_position : files_.data->size());
  if (is_big()) return end - start - static_cast<int64_t>(kKeyLength + place.key.size());
  return next_in_index_ ? end - start : -1;
}

bool SSTableScrubber::is_readable(uint64_t position) {
  DataCursor cursor;
  cursor.open(files_.data, false, nullptr);
  return cursor.seek(position).ok();
}

Result<bool> SSTableScrubber::skip_to_next() {
  while (next_in_index_ && next_in_index_->data_position <= position_) advance_index();
  for (; next_in_index_; advance_index()) {
    position_ = next_in_index_->data_position;
    if (is_readable(position_)) return true;
    warn(fmt::format("Failed to seek to next {} position {}", is_big() ? "partition" : "row", position_));
    ++result.bad_partitions;
  }
  return false;
}

// Counters that are left out make sums wrong.
Status SSTableScrubber::may_skip(const Error& cause, std::string_view key) const {
  if (!scrub_.table->is_counter() || scrub_.skips_corrupted) return {};
  warn(fmt::format(
      "An error occurred while scrubbing the partition with key '{}'.  Skipping corrupt data in counter tables will "
      "result in undercounts for the affected counters (see CASSANDRA-2759 for more details), so by default the "
      "scrub will stop at this point.  If you would like to skip the row anyway and continue scrubbing, re-run the "
      "scrub with the --skip-corrupted option.",
      key));
  return cause;
}

Status SSTableScrubber::begin_partition(uint64_t position, const PartitionPlace* in_index, bool forced) {
  if (forced) {
    TRY(reader_->begin_behind_key(position, in_index->key));
  } else {
    PartitionPlace place;
    place.data_position = position;
    TRY(reader_->begin(place, nullptr));
  }
  const BytesView key = reader_->key().key;
  if (!scrub_.table->is_index) {
    if (Status valid = scrub_.table->partition_key_type()->validate(key); !valid.ok()) {
      return files_.data->corrupt(position, "Unable to read partition key from data file: " + valid.error().message());
    }
  }
  if (!forced) key_.emplace(key);
  if (in_index == nullptr || is_null(in_index->key) || key == in_index->key) return {};
  return files_.data->corrupt(position, fmt::format("Key from data file ({}) does not match key from index file ({})",
                                                    to_hex(key), to_hex(in_index->key)));
}

void SSTableScrubber::tell_size(const PartitionPlace* in_index) {
  const std::string name = key_ ? key_text(*key_) : "(unreadable key)";
  const int64_t size = in_index != nullptr ? size_in_index(*in_index) : -1;
  output_.debug(fmt::format("partition {} is {}", name, size < 0 ? "-1B" : memory_text(static_cast<uint64_t>(size))));
}

Task<Status> SSTableScrubber::take_partition(uint64_t position, const PartitionPlace* in_index, bool forced) {
  key_.reset();
  Status begun = begin_partition(position, in_index, forced);
  if (output_.wants_debug() && !forced) tell_size(in_index);
  if (!begun.ok()) co_return begun;
  Result<ScrubbedPartition> found = co_await read_through();
  if (!found.ok()) co_return std::move(found.error());
  if (found->is_empty) {
    ++result.empty_partitions;
    co_return Status();
  }
  const bool follows = !has_last_ || DecoratedKey::of(last_key_) < reader_->key();
  if (!follows) {
    warn(fmt::format("Out of order partition detected ({} found after {})", key_text(reader_->key().key),
                     key_text(last_key_)));
  } else if (!found->is_ordered) {
    warn(fmt::format("Out of order rows found in partition: {}", key_text(reader_->key().key)));
  }
  CO_TRY(begin_partition(position, in_index, forced));
  Status written;
  if (follows && found->is_ordered) {
    written = co_await write_partition();
  } else {
    written = co_await put_in_order();
  }
  if (written.ok()) ++result.good_partitions;
  co_return written;
}

Task<Result<ScrubbedPartition>> SSTableScrubber::read_through() {
  ScrubbedPartition found;
  found.is_empty = reader_->partition_deletion().is_live() && reader_->static_row().is_empty();
  CO_TRY(check_row(reader_->static_row()));
  Bytes last;
  DeletionTime open;
  while (true) {
    CO_ASSIGN_OR_RETURN(const Unfiltered* at, reader_->next());
    if (at == nullptr) break;
    found.is_empty = false;
    const BytesView position = at->position().comparable;
    found.is_ordered = found.is_ordered && (last.empty() || last < position);
    last.assign(position);
    if (at->is_row) {
      CO_TRY(check_row(at->row));
    } else {
      found.is_ordered = found.is_ordered && at->marker.close == open;
      open = at->marker.open;
    }
    Status paused = co_await pause_if_due();
    if (!paused.ok()) co_return std::move(paused.error());
  }
  found.is_ordered = found.is_ordered && open.is_live();
  co_return found;
}

// UnfilteredRowIterators.withValidation
Status SSTableScrubber::check_row(const Row& row) const {
  if (!scrub_.validates || scrub_.table->is_index) return {};
  for (const Cell& cell : row.cells) {
    const Type& type = *cell.column->type;
    if (cell.is_tombstone() || type.is_counter() || !is_null(cell.path)) continue;
    Status valid = type.validate(cell.value);
    if (valid.ok()) continue;
    return files_.data->corrupt(reader_->end_position(),
                                fmt::format("a value of {}: {}", cell.column->name, valid.error().message()));
  }
  return {};
}

Result<const Unfiltered*> SSTableScrubber::next_to_write() {
  ASSIGN_OR_RETURN(const Unfiltered* at, reader_->next());
  if (!scrub_.reinserts_overflowed_ttl || at == nullptr || !at->is_row || !has_overflowed(at->row)) return at;
  fixed_arena_.reset();
  fixed_.row = without_overflow(at->row, fixed_arena_);
  ++result.fixed_rows;
  return &fixed_;
}

Task<Status> SSTableScrubber::write_partition() {
  if (writer_ == nullptr) {
    SSTableWriterOptions options = rewrite_options(scrub_.table, {{scrub_.input}});
    options.level = scrub_.input->info().level;
    Status begun = co_await begin_output(reader_->key().token, std::move(options), &writer_);
    if (!begun.ok()) co_return begun;
  }
  CO_TRY(writer_->begin_partition(reader_->key(), reader_->partition_deletion(), reader_->static_row()));
  while (true) {
    CO_ASSIGN_OR_RETURN(const Unfiltered* at, next_to_write());
    if (at == nullptr) break;
    CO_TRY(writer_->append(*at));
    Status paused = co_await pause_if_due();
    if (!paused.ok()) co_return paused;
  }
  CO_TRY(writer_->end_partition());
  last_key_.assign(reader_->key().key);
  has_last_ = true;
  co_return Status();
}

// A range tombstone goes from the marker that opens it to the next one, wherever that is.
Task<Status> SSTableScrubber::put_in_order() {
  ++result.disordered_partitions;
  const Bytes key_bytes(reader_->key().key);
  const DecoratedKey key = DecoratedKey::of(key_bytes);
  auto update = [this, &key] {
    PartitionUpdate empty;
    empty.table = scrub_.table.get();
    empty.key = key;
    return empty;
  };
  PartitionUpdate head = update();
  head.partition_deletion = reader_->partition_deletion();
  head.static_row = reader_->static_row();
  put(head);
  Arena open_arena(256);
  RangeTombstone range;
  while (true) {
    CO_ASSIGN_OR_RETURN(const Unfiltered* at, next_to_write());
    if (at == nullptr) break;
    PartitionUpdate one = update();
    if (at->is_row) {
      one.rows = {&at->row, 1};
      put(one);
    } else {
      const ClusteringPrefix& bound = at->marker.bound;
      if (!range.deletion.is_live() && range.start.comparable < bound.comparable) {
        range.end = end_of(bound);
        one.range_tombstones = {&range, 1};
        put(one);
      }
      open_arena.reset();
      range.deletion = at->marker.open;
      range.start = start_of(bound, open_arena);
    }
    if (disordered_->memory_used() >= scrub_.memory_bytes) {
      Status spilled = co_await write_disordered();
      if (!spilled.ok()) co_return spilled;
    }
    Status paused = co_await pause_if_due();
    if (!paused.ok()) co_return paused;
  }
  co_return Status();
}

Task<Status> SSTableScrubber::write_disordered() {
  if (disordered_->empty()) co_return Status();
  SSTableWriterOptions options = rewrite_options(scrub_.table, {{scrub_.input}});
  options.stats = disordered_->stats();
  options.estimated_partitions = disordered_->partitions().size();
  if (result.bad_partitions > 0) options.repaired_at = 0;
  std::unique_ptr<SSTableWriter> writer;
  Status begun = co_await begin_output(disordered_->partitions().begin()->key.token, std::move(options), &writer);
  if (!begun.ok()) co_return begun;
  auto scanner = disordered_->scan(KeyRange(), SliceSelection());
  while (true) {
    CO_ASSIGN_OR_RETURN(PartitionReader * partition, scanner->next());
    if (partition == nullptr) break;
    CO_TRY(writer->begin_partition(partition->key(), partition->partition_deletion(), partition->static_row()));
    while (true) {
      CO_ASSIGN_OR_RETURN(const Unfiltered* at, partition->next());
      if (at == nullptr) break;
      CO_TRY(writer->append(*at));
      Status paused = co_await pause_if_due();
      if (!paused.ok()) co_return paused;
    }
    CO_TRY(writer->end_partition());
  }
  const uint64_t partitions = disordered_->partitions().size();
  scanner = nullptr;
  disordered_ = std::make_unique<Memtable>(scrub_.table, CommitLogPosition());
  Status ended = co_await end_output(std::move(writer));
  if (!ended.ok()) co_return ended;
  warn(fmt::format(
      "{} out of order partition (or partitions without of order rows) found while scrubbing {}; Those have "
      "been written (in order) to a new sstable ({})",
      partitions, name_, reader_name(result.outputs.back().descriptor)));
  co_return Status();
}

Task<Status> SSTableScrubber::begin_output(Token first, SSTableWriterOptions options,
                                           std::unique_ptr<SSTableWriter>* writer) {
  options.host_id = scrub_.host_id;
  options.owner = scrub_.owner;
  options.row_index_granularity = scrub_.row_index_granularity;
  options.guardrails = scrub_.guardrails;
  options.commit_log_intervals = scrub_.commit_log_intervals;
  const SSTableDescriptor descriptor = scrub_.next_output(first);
  Status added = co_await scrub_.transaction->add(descriptor);
  if (!added.ok()) co_return added;
  CO_ASSIGN_OR_RETURN(*writer, SSTableWriter::create(runtime_.disk, descriptor, scrub_.table, std::move(options)));
  co_return Status();
}

Task<Status> SSTableScrubber::end_output(std::unique_ptr<SSTableWriter> writer) {
  Result<SSTableInfo> info = co_await writer->finish();
  if (!info.ok()) co_return std::move(info.error());
  finished_bytes_ += info->data_bytes;
  result.outputs.push_back(std::move(*info));
  co_return Status();
}

void SSTableScrubber::summarize() {
  if (!result.outputs.empty()) {
    output_.output(
        fmt::format("Scrub of {} complete: {} partitions in new sstable and {} empty (tombstoned) partitions dropped",
                    name_, result.good_partitions, result.empty_partitions));
    if (result.fixed_rows > 0) {
      output_.output(fmt::format("Fixed {} rows with overflowed local deletion time.", result.fixed_rows));
    }
    if (result.bad_partitions > 0) {
      warn(fmt::format(
          "Unable to recover {} partitions that were skipped.  You can attempt manual recovery from the pre-scrub "
          "snapshot.  You can also run nodetool repair to transfer the data from a healthy replica, if any",
          result.bad_partitions));
    }
  } else if (result.bad_partitions > 0) {
    warn(fmt::format(
        "No valid partitions found while scrubbing {}; it is marked for deletion now. If you want to attempt manual "
        "recovery, you can find a copy in the pre-scrub snapshot",
        name_));
  } else {
    output_.output(fmt::format("Scrub of {} complete; looks like all {} partitions were tombstoned", name_,
                               result.empty_partitions));
  }
}

}  // namespace

Task<Result<SSTableScrubResult>> scrub_sstable(ShardRuntime* runtime, const SSTableScrub* scrub,
                                               SSTableMergeProgress* progress) {
  SSTableScrubber scrubber(*runtime, *scrub, *progress);
  Status done = co_await scrubber.run();
  if (!done.ok()) co_return std::move(done.error());
  scrubber.summarize();
  co_return std::move(scrubber.result);
}

}  // namespace cassandra_like
