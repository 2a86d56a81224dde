// Partitions of an SSTable, forwards and backwards.
#include "storage/sstable/sstable_partition_reader.h"

#include <utility>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/vint.h"
#include "storage/sstable/partition_guard.h"

namespace cassandra_like {

namespace {

constexpr uint64_t kNoStop = ~uint64_t{0};
// Bytes. Smaller rows are not counted, and their memory is used again.
constexpr uint64_t kSmallRow = 256 << 10;
constexpr size_t kPooledStates = 8;
constexpr size_t kPooledBytes = size_t{2} << 20;  // of one: values may be large, and each thread has a pool

thread_local std::vector<std::unique_ptr<ReadState>> pool;

std::span<const Slice> whole_partition() {
  static const Slice all = Slice::all();
  return {&all, 1};
}

}  // namespace

std::unique_ptr<ReadState> ReadState::take() {
  if (pool.empty()) return std::make_unique<ReadState>();
  auto state = std::move(pool.back());
  pool.pop_back();
  return state;
}

void ReadState::give_back(std::unique_ptr<ReadState> state) {
  if (pool.size() >= kPooledStates) return;
  state->cursor.close();
  state->partition_arena.reset();
  state->row_arena.reset();
  if (state->cursor.reserved() + state->partition_arena.reserved() + state->row_arena.reserved() > kPooledBytes) return;
  pool.push_back(std::move(state));
}

SSTablePartitionReader::SSTablePartitionReader(SSTableFiles files, std::shared_ptr<const ResolvedHeader> header,
                                               const SliceSelection& selection)
    : files_(std::move(files)),
      header_(std::move(header)),
      selection_(selection),
      slices_(selection.slices.empty() ? whole_partition() : selection.slices),
      state_(ReadState::take()),
      decoder_(header_->header, RowForm::kSstable, state_->row_arena) {
  state_->cursor.open(files_.data, files_.fills_cache, files_.cold);
}

SSTablePartitionReader::~SSTablePartitionReader() {
  let_go_of_partition();
  ReadState::give_back(std::move(state_));
}

void SSTablePartitionReader::reset(uint64_t data_position) {
  let_go_of_partition();
  state_->partition_arena.reset();
  state_->cursor.unpin();
  partition_start_ = data_position;
  rows_start_ = 0;
  static_row_ = Row();
  step_ = selection_.wants_rows ? Step::kEnterSlice : Step::kDone;
  slice_ = selection_.reversed ? slices_.size() - 1 : 0;
  open_ = {};
  have_head_ = false;
  at_end_ = false;
  returned_ = kept_ = kNothing;
}

void SSTablePartitionReader::keep_place() {
  if (files_.cold == nullptr || kept_ == returned_) return;
  Reader in = state_->cursor.reader_at(returned_);
  CHECK(decoder_.next(in));
  state_->place.assign(decoder_.position().comparable);
  kept_ = returned_;
  have_head_ = false;  // which the decoder had found
}

Result<bool> SSTablePartitionReader::begin(const PartitionPlace& place, const DecoratedKey* expected) {
  reset(place.data_position);
  blocks_ = nullptr;
  if (place.blocks > 0) return begin_indexed(place, expected);
  TRY(read_partition_header(false));
  if (!is_null(place.key) && key_.key != place.key) return corrupt("another partition than the index says");
  if (expected != nullptr && key_.key != expected->key) return false;
  key_.token = expected != nullptr ? expected->token : murmur3_token(key_.key);
  return true;
}

Result<bool> SSTablePartitionReader::begin_indexed(const PartitionPlace& place, const DecoratedKey* expected) {
  blocks_ = files_.lookup->open_blocks(place, header_->header, &state_->blocks);
  if (expected != nullptr && place.key != expected->key) return false;
  key_ = expected != nullptr ? *expected : DecoratedKey::of(place.key);
  key_.key = state_->partition_arena.copy(place.key);
  partition_deletion_ = place.deletion;
  if (!header_->static_columns.empty()) TRY(read_partition_header(true));
  return true;
}

Status SSTablePartitionReader::read_partition_header(bool has_key) {
  DataCursor& cursor = state_->cursor;
  TRY(cursor.seek(partition_start_));
  for (;;) {
    Reader in = cursor.reader();
    BytesView key = in.take(in.u16());
    DeletionTime deletion = read_deletion(in, *files_.version);
    if (in.failed()) {
      TRY(cursor.extend());
      continue;
    }
    if (!has_key) {
      key_.key = state_->partition_arena.copy(key);
      partition_deletion_ = deletion;
    } else if (key != key_.key) {
      return corrupt("another partition than the index says");
    }
    cursor.advance_to(in.position());
    break;
  }
  if (!header_->static_columns.empty()) TRY(read_static_row());
  rows_start_ = cursor.position();
  return {};
}

Status SSTablePartitionReader::begin_behind_key(uint64_t data_position, BytesView key) {
  constexpr uint64_t kLength = 2;
  reset(data_position);
  blocks_ = nullptr;
  key_ = DecoratedKey::of(state_->partition_arena.copy(key));
  DataCursor& cursor = state_->cursor;
  TRY(cursor.seek(data_position + kLength + key.size()));
  for (;;) {
    Reader in = cursor.reader();
    partition_deletion_ = read_deletion(in, *files_.version);
    if (!in.failed()) {
      cursor.advance_to(in.position());
      break;
    }
    TRY(cursor.extend());
  }
  if (!header_->static_columns.empty()) TRY(read_static_row());
  rows_start_ = cursor.position();
  return {};
}

Status SSTablePartitionReader::read_static_row() {
  DataCursor& cursor = state_->cursor;
  for (;;) {
    Reader in = cursor.reader();
    Reader peek = in;
    peek.skip(2);
    uint64_t size = read_unsigned_vint(peek);
    if (!peek.failed() && size > cursor.file().size() - cursor.position())
      return corrupt("an impossible size of a row");
    if (peek.failed()) {
      TRY(cursor.extend());
      continue;
    }
    if (size > peek.remaining()) {
      if (!is_large_ && size > kSmallRow) TRY(begin_large_row(size));
      TRY(cursor.extend(size - peek.remaining()));
      continue;
    }
    state_->row_arena.reset();
    Row row = decoder_.read_static_row(in);
    if (is_large_ && decoder_.refused_cell_bytes() > 0) return too_large(decoder_.refused_cell_bytes());
    if (in.failed() || in.position() != peek.position() + size) return corrupt("a malformed static row");
    if (is_large_) TRY(hold(state_->row_arena.reserved(), &held_));
    if (is_large_) TRY(hold(size + row.cells.size_bytes(), &held_static_));
    static_row_ = copy_row(row, state_->partition_arena);
    cursor.advance_to(in.position());
    if (is_large_) let_go_of_row();
    return {};
  }
}

void SSTablePartitionReader::end_partition(const Reader& behind) {
  state_->cursor.advance_to(behind.position());
  at_end_ = true;
}

Result<bool> SSTablePartitionReader::read_head() {
  DataCursor& cursor = state_->cursor;
  // The bytes before the size: clustering values of at most 64 KiB.
  uint64_t head_limit = (header_->header.clustering_types.size() + 1) << 17;
  for (;;) {
    body_ = cursor.reader();
    uint64_t available = body_.remaining();
    if (decoder_.next(body_)) {
      Reader peek = body_;
      uint64_t size = read_unsigned_vint(peek);
      if (!peek.failed()) {
        if (size > cursor.file().size() - cursor.position()) return corrupt("an impossible size of a row");
        body_end_ = cursor.position_of(peek.position()) + size;
        have_head_ = true;
        return true;
      }
    } else if (!body_.failed()) {
      end_partition(body_);
      return false;
    } else if (available > head_limit) {
      return corrupt("a malformed clustering");
    }
    keep_place();
    TRY(cursor.extend());
  }
}

Status SSTablePartitionReader::complete_body() {
  DataCursor& cursor = state_->cursor;
  const uint64_t end = body_end_;
  if (is_large_) let_go_of_row();
  keep_place();
  if (end - cursor.position() > kSmallRow) TRY(begin_large_row(end - cursor.position()));
  while (cursor.end() < end) TRY(cursor.extend(end - cursor.end()));
  body_ = cursor.reader();
  if (!decoder_.next(body_)) return corrupt("a malformed clustering");
  return {};
}

// Before the row is put together. A plain file's bytes are the kernel's.
Status SSTablePartitionReader::begin_large_row(uint64_t bytes) {
  is_large_ = true;
  if (files_.data->compressed()) TRY(hold(bytes, &held_));
  if (selection_.memory != nullptr) decoder_.limit_cells(selection_.memory->room());
  return {};
}

Status SSTablePartitionReader::hold(uint64_t bytes, uint64_t* held) {
  if (selection_.memory == nullptr) return {};
  if (!selection_.memory->take(bytes)) return too_large(bytes);
  *held += bytes;
  return {};
}

void SSTablePartitionReader::let_go_of_row() {
  keep_place();
  is_large_ = false;
  state_->cursor.let_go();
  state_->row_arena.reset();
  decoder_.limit_cells(~uint64_t{0});
  if (selection_.memory != nullptr) selection_.memory->give_back(std::exchange(held_, 0));
}

void SSTablePartitionReader::let_go_of_partition() {
  if (is_large_) [[unlikely]] {
    returned_ = kept_ = kNothing;
    let_go_of_row();
  }
  if (held_static_ > 0) [[unlikely]]
    selection_.memory->give_back(std::exchange(held_static_, 0));
}

Error SSTablePartitionReader::too_large(uint64_t bytes) const {
  RowShare& memory = *selection_.memory;
  memory.note_refused(bytes);
  const TableMetadata& table = *header_->table;
  return {
      ErrorCode::kOverloaded,
      fmt::format("{} at {}: a row of {} with the partition key {} needs {} bytes of memory. Other rows, and its parts "
                  "in other SSTables, have {} of the {} that there are",
                  files_.data->path(), state_->cursor.position(), table.qualified_name(),
                  primary_key_literal(table, key_.key, {}), bytes + held_ + held_static_,
                  memory.used() - held_ - held_static_, memory.bytes())};
}

Result<bool> SSTablePartitionReader::read_unfiltered() {
  if (state_->cursor.end() < body_end_) [[unlikely]]
    TRY(complete_body());
  have_head_ = false;
  state_->row_arena.reset();
  decoder_.read_body(body_, &unfiltered_);
  if (body_.failed() || state_->cursor.position_of(body_.position()) != body_end_) {
    if (is_large_ && decoder_.refused_cell_bytes() > 0) return too_large(decoder_.refused_cell_bytes());
    return corrupt("a malformed row");
  }
  if (is_large_) [[unlikely]]
    TRY(hold(state_->row_arena.reserved(), &held_));
  state_->cursor.advance_to(body_.position());
  return !unfiltered_.is_row || !unfiltered_.row.is_empty();
}

// Its bytes are not looked at.
Status SSTablePartitionReader::skip_body() {
  keep_place();
  have_head_ = false;
  state_->cursor.unpin();
  return state_->cursor.seek(body_end_);
}

Status SSTablePartitionReader::skip_unfiltered() {
  if (decoder_.is_row()) {
    DataCursor& cursor = state_->cursor;
    const bool is_large = body_end_ - cursor.position() > kSmallRow;
    if (body_end_ > cursor.end()) {
      if (is_large || !cursor.is_pinned()) return skip_body();
      TRY(complete_body());
    }
    have_head_ = false;
    cursor.advance_to(body_end_);
    return {};
  }
  ASSIGN_OR_RETURN([[maybe_unused]] bool kept, read_unfiltered());
  open_ = unfiltered_.marker.open;
  return {};
}

// Goes as far as the rows lie in the cursor's window, which is most of the way.
void SSTablePartitionReader::skip_rows_to_slice() {
  Reader in = state_->cursor.reader();
  decoder_.skip_rows(in, slice().start);
  state_->cursor.advance_to(in.position());
}

void SSTablePartitionReader::leave_slice() {
  step_ = has_more_slices() ? Step::kEnterSlice : Step::kDone;
  if (step_ == Step::kEnterSlice) slice_ = selection_.reversed ? slice_ - 1 : slice_ + 1;
}

Result<const Unfiltered*> SSTablePartitionReader::make_marker(BytesView comparable, ClusteringKind kind,
                                                              const DeletionTime& open, const DeletionTime& close) {
  bool before = kind == ClusteringKind::kInclStartBound || kind == ClusteringKind::kExclEndBound;
  state_->bound.assign(comparable);
  state_->bound.back() = before ? kBeforeTerminator : kAfterTerminator;
  state_->row_arena.reset();
  RangeTombstoneMarker marker;
  if (!split_comparable(*header_->table, state_->bound, state_->row_arena, &marker.bound)) {
    return Error(ErrorCode::kServerError, "a slice with a malformed bound");
  }
  marker.bound.kind = kind;
  marker.open = open;
  marker.close = close;
  state_->place.assign(state_->bound);
  returned_ = kept_ = kOwnMarker;
  unfiltered_.is_row = false;
  unfiltered_.row = Row();
  unfiltered_.marker = marker;
  return &unfiltered_;
}

Result<const Unfiltered*> SSTablePartitionReader::marker_at_start(const DeletionTime& open, const DeletionTime& close) {
  bool inclusive = slice().start.back() == kBeforeTerminator;
  return make_marker(slice().start, inclusive ? ClusteringKind::kInclStartBound : ClusteringKind::kExclStartBound, open,
                     close);
}

Result<const Unfiltered*> SSTablePartitionReader::marker_at_end(const DeletionTime& open, const DeletionTime& close) {
  bool inclusive = slice().end.back() == kAfterTerminator;
  return make_marker(slice().end, inclusive ? ClusteringKind::kInclEndBound : ClusteringKind::kExclEndBound, open,
                     close);
}

Result<const Unfiltered*> SSTablePartitionReader::next() {
  if (is_large_) [[unlikely]]
    let_go_of_row();
  auto next = selection_.reversed ? next_backwards() : next_forwards();
  if (!next.ok() && is_disk_wait(next.error())) {
    DCHECK(kept_ == returned_);
    files_.cold->set_place(returned_ == kNothing ? BytesView() : BytesView(state_->place));
  }
  return next;
}

// Goes to the first unfiltered after the slice's start.
Status SSTablePartitionReader::enter_slice() {
  DataCursor& cursor = state_->cursor;
  const Bytes& start = slice().start;
  const bool positioned = rows_start_ != 0;
  if (blocks_ != nullptr && !at_end_ && !is_at_slice()) {
    blocks_->seek_floor(start);
    ASSIGN_OR_RETURN(bool found, blocks_->previous(&block_));
    if (!found) return blocks_->corrupt();
    uint64_t position = partition_start_ + block_.offset;
    if (!positioned || position > cursor.position()) {
      keep_place();
      TRY(cursor.seek(position));
      rows_start_ = position;
      open_ = block_.open_deletion;
      have_head_ = false;
    }
  }
  while (!at_end_ && !start.empty()) {
    if (!have_head_) {
      skip_rows_to_slice();
      ASSIGN_OR_RETURN(bool found, read_head());
      if (!found) break;
    }
    if (decoder_.position().comparable > start) break;
    TRY(skip_unfiltered());
  }
  step_ = Step::kInSlice;
  return {};
}

Result<const Unfiltered*> SSTablePartitionReader::next_forwards() {
  while (step_ != Step::kDone) {
    if (step_ == Step::kEnterSlice) {
      TRY(enter_slice());
      if (!open_.is_live() && !slice().start.empty()) return marker_at_start(open_, {});
    }
    if (!have_head_ && !at_end_) TRY(read_head());
    const Bytes& end = slice().end;
    if (at_end_ || (!end.empty() && decoder_.position().comparable >= end)) {
      if (open_.is_live() || end.empty()) {
        leave_slice();
        continue;
      }
      auto marker = marker_at_end({}, open_);
      leave_slice();
      return marker;
    }
    const uint64_t start = state_->cursor.position();
    ASSIGN_OR_RETURN(bool kept, read_unfiltered());
    if (!kept) continue;
    returned_ = start;
    if (!unfiltered_.is_row) open_ = unfiltered_.marker.open;
    return &unfiltered_;
  }
  return nullptr;
}

// Forwards, and of rows that lie whole in the cursor's window; next() does the rest.
const UniformRow* SSTablePartitionReader::next_uniform(int64_t now_seconds) {
  if (!header_->has_plain_rows || selection_.reversed || have_head_ || at_end_) return nullptr;
  if (step_ == Step::kEnterSlice && is_at_slice()) step_ = Step::kInSlice;
  if (step_ != Step::kInSlice) return nullptr;
  Reader in = state_->cursor.reader();
  const Bytes& end = slice().end;
  if (selection_.copies_rows || !end.empty() || !decoder_.next_uniform(in)) {
    in = state_->cursor.reader();
    if (!decoder_.next(in)) {
      if (!in.failed()) end_partition(in);
      return nullptr;
    }
    const bool is_in_slice = decoder_.is_row() && (end.empty() || decoder_.position().comparable < end);
    if (!is_in_slice) return nullptr;
  }
  state_->values.resize(header_->regular_columns.size());
  UniformRow* copied = selection_.copies_rows ? &uniform_row_ : nullptr;
  if (!decoder_.read_plain_body(in, now_seconds, state_->values.data(), copied)) return nullptr;
  returned_ = state_->cursor.position();
  state_->cursor.advance_to(in.position());
  uniform_row_.clustering = decoder_.position();
  uniform_row_.values = state_->values;
  return &uniform_row_;
}

// Learns where the unfiltereds of block_ begin that are in the slice and before `stop`.
Status SSTablePartitionReader::read_block(bool is_last, uint64_t stop) {
  keep_place();
  DataCursor& cursor = state_->cursor;
  const Bytes& start = slice().start;
  const Bytes& end = slice().end;
  cursor.unpin();
  TRY(cursor.seek(partition_start_ + block_.offset));
  cursor.pin();
  state_->offsets.clear();
  open_ = block_.open_deletion;
  found_before_ = false;
  at_end_ = false;
  bool before_start = !start.empty();
  if (!before_start) open_at_start_ = {};
  while (cursor.position() < stop) {
    ASSIGN_OR_RETURN(bool found, read_head());
    if (!found) break;
    if (before_start && decoder_.position().comparable > start) {
      before_start = false;
      open_at_start_ = open_;
    }
    if (before_start) {
      found_before_ = true;
    } else {
      if (is_last && !end.empty() && decoder_.position().comparable >= end) break;
      state_->offsets.push_back(cursor.position());
    }
    TRY(skip_unfiltered());
  }
  have_head_ = false;
  if (before_start) open_at_start_ = open_;
  open_at_end_ = is_last && !end.empty() ? open_ : DeletionTime();
  return {};
}

Status SSTablePartitionReader::enter_slice_backwards() {
  step_ = Step::kInSlice;
  if (blocks_ == nullptr) {
    block_ = {rows_start_ - partition_start_, {}};
    return read_block(true, kNoStop);
  }
  if (slice().end.empty()) {
    blocks_->seek_last();
  } else {
    blocks_->seek_floor(slice().end);
  }
  ASSIGN_OR_RETURN(bool found, blocks_->previous(&block_));
  if (!found) return blocks_->corrupt();
  return read_block(true, kNoStop);
}

Result<const Unfiltered*> SSTablePartitionReader::next_backwards() {
  while (step_ != Step::kDone) {
    if (step_ == Step::kEnterSlice) TRY(enter_slice_backwards());
    if (!open_at_end_.is_live()) {
      DeletionTime deletion = std::exchange(open_at_end_, {});
      return marker_at_end(deletion, {});
    }
    if (!state_->offsets.empty()) {
      const uint64_t start = state_->offsets.back();
      if (!state_->cursor.is_pinned()) keep_place();
      TRY(state_->cursor.seek(start));
      state_->offsets.pop_back();
      ASSIGN_OR_RETURN(bool found, read_head());
      if (!found) return corrupt("a partition that ends before its end");
      ASSIGN_OR_RETURN(bool kept, read_unfiltered());
      if (!kept) continue;
      returned_ = start;
      if (!unfiltered_.is_row) std::swap(unfiltered_.marker.open, unfiltered_.marker.close);
      return &unfiltered_;
    }
    if (blocks_ != nullptr && !found_before_) {
      uint64_t stop = partition_start_ + block_.offset;
      ASSIGN_OR_RETURN(bool found, blocks_->previous(&block_));
      if (found) {
        if (partition_start_ + block_.offset >= stop) return blocks_->corrupt();
        TRY(read_block(false, stop));
        continue;
      }
    }
    if (open_at_start_.is_live() || slice().start.empty()) {
      leave_slice();
      continue;
    }
    auto marker = marker_at_start({}, open_at_start_);
    leave_slice();
    return marker;
  }
  return nullptr;
}

}  // namespace cassandra_like
