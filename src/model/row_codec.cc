// Everything of row_codec.h but writing rows, which is in row_codec_write.cc.

#include "model/row_codec.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "base/result.h"
#include "base/vint.h"
#include "model/row_codec_format.h"

namespace cassandra_like {

namespace {

using row_codec::ColumnSubset;
using row_codec::read_vint32;
using row_codec::read_vint64;
using row_codec::RowFlag;

constexpr uint8_t kLiveDeletion = 0x80;

// Whether the flags are those of a UniformRow, with an end or without.
bool is_plain(uint8_t flags) {
  return (flags & ~RowFlag::kHasTtl) == (RowFlag::kHasTimestamp | RowFlag::kHasAllColumns);
}

// max: the header's max_deletion_time.
int64_t decode_local_deletion_time(int64_t seconds, int32_t ttl, int64_t max) {
  if (seconds >= ttl) return seconds;
  if (seconds < 0) {
    if (max == kMaxDeletionTime2038) return kInvalidDeletionTime;
    // A difference of more than 31 bits, written as a negative number.
    auto unsigned_seconds = static_cast<uint32_t>(seconds);
    return unsigned_seconds == 0xFFFFFFFF ? kNoDeletionTime : unsigned_seconds;
  }
  return ttl == kExpiredLivenessTtl ? seconds : kInvalidDeletionTime;
}

inline void read_clustering_values(Reader& in, std::span<const Type* const> types, std::span<BytesView> values) {
  uint64_t bits = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % 32 == 0) bits = read_vint64(in);
    switch (bits >> (2 * (i % 32)) & 3) {
      case 0: {
        int fixed = types[i]->fixed_length();
        values[i] = in.take(fixed >= 0 ? static_cast<size_t>(fixed) : read_vint64(in));
        break;
      }
      case 1:
        values[i] = BytesView("", 0);
        break;
      default:
        values[i] = kNull;
    }
  }
}

}  // namespace

void append_encoding_stats(Bytes& out, const EncodingStats& stats) {
  append_unsigned_vint(out, static_cast<uint64_t>(stats.min_timestamp) - EncodingStats::kTimestampEpoch);
  append_unsigned_vint(out, row_codec::delta32(stats.min_local_deletion_time, EncodingStats::kDeletionTimeEpoch));
  append_unsigned_vint(out, row_codec::delta32(stats.min_ttl, 0));
}

EncodingStats read_encoding_stats(Reader& in) {
  EncodingStats stats;
  stats.min_timestamp = static_cast<int64_t>(read_vint64(in) + EncodingStats::kTimestampEpoch);
  stats.min_local_deletion_time = read_vint32(in) + EncodingStats::kDeletionTimeEpoch;
  stats.min_ttl = read_vint32(in);
  return stats;
}

void EncodingStatsCollector::update(const DeletionTime& deletion) {
  if (deletion.is_live()) return;
  update_timestamp(deletion.marked_for_delete_at);
  update_local_deletion_time(deletion.local_deletion_time);
}

void EncodingStatsCollector::update(const Liveness& liveness) {
  if (liveness.is_empty()) return;
  update_timestamp(liveness.timestamp);
  if (liveness.is_expiring()) {
    update_ttl(liveness.ttl);
    update_local_deletion_time(liveness.local_expiration_time);
  }
}

void EncodingStatsCollector::update(const Cell& cell) {
  update_timestamp(cell.timestamp);
  if (cell.local_deletion_time == kNoDeletionTime) return;
  update_local_deletion_time(cell.local_deletion_time);
  if (cell.is_expiring()) update_ttl(cell.ttl);
}

void EncodingStatsCollector::update(const Row& row) {
  update(row.liveness);
  update(row.deletion);
  for (const ComplexDeletion& d : row.complex_deletions) update(d.deletion);
  for (const Cell& c : row.cells) update(c);
}

EncodingStats EncodingStatsCollector::get() const {
  EncodingStats stats;
  // Stats of "none" are the epochs, too: EncodingStats' constructor in Cassandra.
  if (min_timestamp_ != std::numeric_limits<int64_t>::max() && min_timestamp_ != kNoTimestamp) {
    stats.min_timestamp = min_timestamp_;
  }
  if (min_deletion_time_ != kNoDeletionTime) stats.min_local_deletion_time = min_deletion_time_;
  if (min_ttl_ != std::numeric_limits<int32_t>::max()) stats.min_ttl = min_ttl_;
  return stats;
}

HeaderColumn HeaderColumn::of(const Column* column) {
  bool complex = column->is_complex();
  return {column, complex ? -1 : column->type->fixed_length(), complex, kNoTimestamp};
}

TableHeader::TableHeader(TablePtr table, const EncodingStats& stats) : table_(std::move(table)) {
  for (const ColumnPtr& c : table_->static_columns) static_columns_.push_back(HeaderColumn::of(c.get()));
  for (const ColumnPtr& c : table_->regular_columns) regular_columns_.push_back(HeaderColumn::of(c.get()));
  header_ = {stats, table_->clustering_types(), static_columns_, regular_columns_};
}

std::optional<HeaderColumn> resolve_header_column(const TableMetadata& table, std::string_view name,
                                                  const Type& written_type, bool is_static) {
  HeaderColumn out;
  out.complex = written_type.is_multi_cell();
  out.fixed_length = out.complex ? -1 : written_type.fixed_length();
  auto dropped = table.dropped_columns.find(std::string(name));
  if (dropped != table.dropped_columns.end()) out.dropped_at = dropped->second.dropped_micros;

  const Column* column = table.column(name);
  ColumnKind kind = is_static ? ColumnKind::kStatic : ColumnKind::kRegular;
  // A column that was dropped and added again as another kind is a new one; one that went from many cells to one
  // cannot hold what was written.
  if (column != nullptr && column->kind == kind && column->is_complex() == out.complex) {
    out.column = column;
    return out;
  }
  if (dropped == table.dropped_columns.end()) return std::nullopt;
  return out;
}

void append_partition_deletion(Bytes& out, const DeletionTime& deletion) {
  if (deletion.is_live()) {
    out.push_back(static_cast<char>(kLiveDeletion));
    return;
  }
  append_be(out, deletion.marked_for_delete_at);
  append_be(out, static_cast<uint32_t>(deletion.local_deletion_time));
}

DeletionTime read_partition_deletion(Reader& in) {
  if (in.remaining() > 0 && (static_cast<uint8_t>(*in.position()) & kLiveDeletion) != 0) {
    if (in.u8() != kLiveDeletion) in.fail();
    return {};
  }
  DeletionTime out;
  out.marked_for_delete_at = in.i64();
  uint32_t seconds = in.u32();
  out.local_deletion_time = seconds == 0xFFFFFFFF ? kNoDeletionTime : seconds;
  return out;
}

void append_legacy_partition_deletion(Bytes& out, const DeletionTime& deletion) {
  const int64_t seconds = deletion.local_deletion_time;
  append_be(out, static_cast<int32_t>(seconds == kNoDeletionTime ? std::numeric_limits<int32_t>::max()
                                                                 : std::min(seconds, kMaxDeletionTime2038)));
  append_be(out, deletion.marked_for_delete_at);
}

DeletionTime read_legacy_partition_deletion(Reader& in) {
  DeletionTime out;
  int32_t seconds = in.i32();
  out.marked_for_delete_at = in.i64();
  if (out.marked_for_delete_at == kNoTimestamp && seconds == std::numeric_limits<int32_t>::max()) return {};
  out.local_deletion_time = seconds < 0 ? kInvalidDeletionTime : seconds;
  return out;
}

// ---- Reading.

void read_clustering_prefix(Reader& in, std::span<const Type* const> clustering_types, ClusteringKind* kind,
                            std::vector<BytesView>* values) {
  const uint8_t number = in.u8();
  if (number > 7 || number == static_cast<uint8_t>(ClusteringKind::kStaticClustering)) in.fail();
  *kind = static_cast<ClusteringKind>(number);
  const size_t count = *kind == ClusteringKind::kClustering ? clustering_types.size() : in.u16();
  if (count > clustering_types.size()) in.fail();
  values->resize(in.failed() ? 0 : count);
  read_clustering_values(in, clustering_types, *values);
}

RowDecoder::RowDecoder(const SerializationHeader& header, RowForm form, Arena& arena)
    : header_(header), form_(form), arena_(&arena) {
  for (const HeaderColumn& column : header.static_columns) any_complex_ |= column.complex;
  for (const HeaderColumn& column : header.regular_columns) any_complex_ |= column.complex;
  for (const Type* type : header.clustering_types) {
    auto integer = IntegerComponent::of(*type);
    if (!integer || integer_count_ == kMaxIntegers) {
      integer_count_ = 0;
      break;
    }
    integers_[integer_count_++] = *integer;
    integers_width_ += integer->width();
  }
}

Row RowDecoder::read_static_row(Reader& in) {
  Row row;
  flags_ = in.u8();
  if ((flags_ & RowFlag::kExtension) == 0 || !is_row()) in.fail();
  extended_ = in.u8();
  if ((extended_ & RowFlag::kExtendedStatic) == 0) in.fail();
  if (in.failed()) return row;
  row.clustering = static_clustering();
  read_row_body(in, &row);
  return row;
}

void RowDecoder::skip_static_row(Reader& in) {
  CHECK(form_ == RowForm::kSstable);
  in.skip(2);
  in.skip(read_vint64(in));
}

bool RowDecoder::next(Reader& in) {
  flags_ = in.u8();
  if (in.failed() || (flags_ & RowFlag::kEndOfPartition) != 0) return false;
  extended_ = (flags_ & RowFlag::kExtension) != 0 ? in.u8() : 0;
  if (is_row()) {
    if ((extended_ & RowFlag::kExtendedStatic) != 0) in.fail();
    if (read_integers(in, true)) return true;
    position_.kind = ClusteringKind::kClustering;
    read_clustering(in, header_.clustering_types.size());
  } else {
    uint8_t kind = in.u8();
    if (kind > 7 || kind == static_cast<uint8_t>(ClusteringKind::kClustering) ||
        kind == static_cast<uint8_t>(ClusteringKind::kStaticClustering)) {
      in.fail();
    }
    position_.kind = static_cast<ClusteringKind>(kind);
    size_t count = in.u16();
    if (count > header_.clustering_types.size()) in.fail();
    if (!in.failed()) read_clustering(in, count);
  }
  return !in.failed();
}

inline bool RowDecoder::read_integers(Reader& in, bool makes_comparable) {
  const char* p = in.position();
  const bool all_have_values = integer_count_ > 0 && in.remaining() > integers_width_ && *p == 0;
  if (!all_have_values) return false;
  in.skip(1 + integers_width_);
  ++p;
  char* end = integers_comparable_.data();
  for (size_t i = 0; i < integer_count_; ++i) {
    const size_t width = integers_[i].width();
    integer_values_[i] = BytesView(p, width);
    if (makes_comparable) end = integers_[i].write(end, p);
    p += width;
  }
  position_ = {ClusteringKind::kClustering, {integer_values_.data(), integer_count_}, {}};
  if (!makes_comparable) return true;
  *end++ = kAtTerminator;
  const char* begin = integers_comparable_.data();
  position_.comparable = BytesView(begin, static_cast<size_t>(end - begin));
  return true;
}

bool RowDecoder::next_uniform(Reader& in) {
  flags_ = in.u8();
  return is_plain(flags_) && read_integers(in, false);
}

void RowDecoder::read_clustering(Reader& in, size_t count) {
  if (count == 0 && is_row()) {
    position_ = empty_clustering();
    return;
  }
  if (values_.size() != count) values_.resize(count);
  read_clustering_values(in, header_.clustering_types, values_);
  if (in.failed()) return;
  comparable_.clear();
  append_comparable(comparable_, header_.clustering_types, values_, position_.kind);
  position_.values = values_;
  position_.comparable = comparable_;
}

ClusteringPrefix RowDecoder::keep_position() {
  if (form_ == RowForm::kSstable || (position_.values.empty() && is_row())) return position_;
  auto values = arena_->make_span<BytesView>(position_.values.size());
  std::copy(position_.values.begin(), position_.values.end(), values.begin());
  return {position_.kind, values, arena_->copy(position_.comparable)};
}

void RowDecoder::read_body(Reader& in, Unfiltered* out) {
  out->is_row = is_row();
  if (out->is_row) {
    out->row.clustering = keep_position();
    read_row_body(in, &out->row);
  } else {
    out->marker = RangeTombstoneMarker();
    out->marker.bound = keep_position();
    read_marker_body(in, &out->marker);
  }
}

bool RowDecoder::read_plain_body(Reader& in, int64_t now_seconds, BytesView* values, UniformRow* copied) {
  using row_codec::CellFlag;
  if (!is_plain(flags_)) return false;
  Reader row(in.take(read_vint64(in)));
  skip_vint(row);  // the size of the one before
  uint8_t cell_flags = CellFlag::kUseRowTimestamp;
  if ((flags_ & RowFlag::kHasTtl) == 0 && copied == nullptr) {
    skip_vint(row);  // the timestamp
  } else {
    Liveness age;
    read_liveness(row, &age);
    if (!age.is_live(now_seconds)) return false;
    if (age.is_expiring()) cell_flags |= CellFlag::kExpiring | CellFlag::kUseRowTtl;
    if (copied != nullptr) {
      copied->age = age;
      copied->cells = row.rest();
    }
  }
  for (const HeaderColumn& column : header_.regular_columns) {
    if (row.u8() != cell_flags) return false;
    *values++ = row.take(column.fixed_length >= 0 ? static_cast<size_t>(column.fixed_length) : read_vint64(row));
  }
  return !row.failed() && row.at_end() && !in.failed();
}

void RowDecoder::skip_body(Reader& in) {
  if (form_ == RowForm::kSstable) {
    in.skip(read_vint64(in));
    return;
  }
  Unfiltered ignored;
  if (is_row()) {
    read_row_body(in, &ignored.row);
  } else {
    read_marker_body(in, &ignored.marker);
  }
}

namespace {

// Whether a comes after b; mostly the first 8 bytes tell.
inline bool comes_after(BytesView a, BytesView b) {
  if (a.size() >= sizeof(uint64_t) && b.size() >= sizeof(uint64_t)) {
    const auto x = load_be<uint64_t>(a.data()), y = load_be<uint64_t>(b.data());
    if (x != y) return x > y;
  }
  return a > b;
}

}  // namespace

void RowDecoder::skip_integer_rows(Reader& in, uint64_t order) const {
  constexpr uint8_t kOthers = RowFlag::kEndOfPartition | RowFlag::kMarker | RowFlag::kExtension;
  const size_t head = 2 + integers_width_;
  while (in.remaining() > head) {
    const char* p = in.position();
    const bool is_before =
        (static_cast<uint8_t>(p[0]) & kOthers) == 0 && p[1] == 0 && integers_[0].order(p + 2) < order;
    if (!is_before) return;
    Reader at = in;
    at.skip(head);
    const uint64_t size = read_vint64(at);
    if (at.failed() || size > at.remaining()) return;
    at.skip(size);
    in = at;
  }
}

void RowDecoder::skip_rows(Reader& in, BytesView bound) {
  CHECK(form_ == RowForm::kSstable);
  if (integer_count_ > 0) {
    if (auto order = integers_[0].order_of_first(bound)) skip_integer_rows(in, *order);
  }
  for (;;) {
    Reader at = in;
    if (!next(at) || !is_row()) return;
    uint64_t size = read_vint64(at);
    if (at.failed() || size > at.remaining() || comes_after(position_.comparable, bound)) return;
    at.skip(size);
    in = at;
  }
}

void RowDecoder::read_marker_body(Reader& in, RangeTombstoneMarker* marker) {
  if (form_ == RowForm::kSstable) {
    read_vint64(in);
    read_vint64(in);
  }
  if (is_boundary(marker->bound.kind)) {
    marker->close = read_deletion(in);
    marker->open = read_deletion(in);
  } else {
    (is_start(marker->bound.kind) ? marker->open : marker->close) = read_deletion(in);
  }
}

// Damaged bytes may hold any two numbers. Callers refuse a negative sum.
static int32_t wrapping_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

DeletionTime RowDecoder::read_deletion(Reader& in) {
  DeletionTime out;
  out.marked_for_delete_at = read_timestamp(in);
  out.local_deletion_time = read_vint32(in) + header_.stats.min_local_deletion_time;
  // A live one is written when another column of the row has a complex deletion.
  if (out.is_live()) return {};
  if (out.local_deletion_time < 0 || out.local_deletion_time > kMaxDeletionTime) {
    out.local_deletion_time = kInvalidDeletionTime;
  }
  return out;
}

void RowDecoder::read_liveness(Reader& in, Liveness* liveness) {
  *liveness = Liveness();
  if ((flags_ & RowFlag::kHasTimestamp) == 0) return;
  liveness->timestamp = read_timestamp(in);
  if ((flags_ & RowFlag::kHasTtl) == 0) return;
  liveness->ttl = wrapping_sum(read_vint32(in), header_.stats.min_ttl);
  int64_t seconds = read_vint32(in) + header_.stats.min_local_deletion_time;
  if (liveness->ttl < 0) in.fail();
  liveness->local_expiration_time = decode_local_deletion_time(seconds, liveness->ttl, header_.max_deletion_time);
}

int64_t RowDecoder::read_timestamp(Reader& in) {
  return static_cast<int64_t>(read_vint64(in) + static_cast<uint64_t>(header_.stats.min_timestamp));
}

inline bool RowDecoder::read_cell(Reader& in, const HeaderColumn& column, const Liveness& liveness, Cell* cell) {
  using row_codec::CellFlag;
  const uint8_t flags = in.u8();
  cell->column = column.column;
  cell->timestamp = (flags & CellFlag::kUseRowTimestamp) != 0 ? liveness.timestamp : read_timestamp(in);
  cell->local_deletion_time = kNoDeletionTime;
  cell->ttl = kNoTtl;
  // Mostly a value as old as its row, without an end.
  if ((flags & ~CellFlag::kUseRowTimestamp) != 0) read_cell_end(in, flags, liveness, cell);
  cell->path = column.complex ? in.take(read_vint64(in)) : kNull;
  if ((flags & CellFlag::kHasEmptyValue) != 0) {
    cell->value = BytesView("", 0);
  } else {
    cell->value = in.take(column.fixed_length >= 0 ? static_cast<size_t>(column.fixed_length) : read_vint64(in));
  }
  return column.column != nullptr && cell->timestamp > column.dropped_at;
}

void RowDecoder::read_cell_end(Reader& in, uint8_t flags, const Liveness& liveness, Cell* cell) {
  using row_codec::CellFlag;
  if ((flags & CellFlag::kUseRowTtl) != 0) {
    cell->local_deletion_time = liveness.local_expiration_time;
    cell->ttl = liveness.ttl;
  } else if ((flags & (CellFlag::kDeleted | CellFlag::kExpiring)) != 0) {
    int64_t seconds = read_vint32(in) + header_.stats.min_local_deletion_time;
    if ((flags & CellFlag::kExpiring) != 0) cell->ttl = wrapping_sum(read_vint32(in), header_.stats.min_ttl);
    if (cell->ttl < 0) in.fail();
    cell->local_deletion_time = decode_local_deletion_time(seconds, cell->ttl, header_.max_deletion_time);
  }
}

void RowDecoder::read_simple_cells(Reader& in, std::span<const HeaderColumn> columns, Row* row) {
  auto* cells = static_cast<Cell*>(arena_->allocate(columns.size() * sizeof(Cell), alignof(Cell)));
  size_t count = 0;
  for (const HeaderColumn& column : columns) count += read_cell(in, column, row->liveness, cells + count) ? 1 : 0;
  row->cells = {cells, in.failed() ? 0 : count};
}

void RowDecoder::begin_cells(size_t columns) {
  if (scratch_.size() < columns) scratch_.resize(columns);
  cells_ = scratch_.data();
  cell_count_ = 0;
  cell_capacity_ = scratch_.size();
  refused_cell_bytes_ = 0;
}

bool RowDecoder::make_room(size_t more) {
  constexpr size_t kMostInScratch = 1024;
  const size_t needed = cell_count_ + more;
  if (needed <= cell_capacity_) return true;
  if (needed <= kMostInScratch) {
    scratch_.resize(std::min(kMostInScratch, std::max(needed, 2 * cell_capacity_)));
    cells_ = scratch_.data();
    cell_capacity_ = scratch_.size();
    return true;
  }
  // A second large collection is likely to be followed by others.
  const bool is_first = cells_ == scratch_.data();
  const size_t capacity = is_first ? needed : std::max(needed, cell_capacity_ + cell_capacity_ / 2);
  if (capacity > most_cell_bytes_ / sizeof(Cell)) {
    refused_cell_bytes_ = capacity * sizeof(Cell);
    return false;
  }
  auto* cells = static_cast<Cell*>(arena_->allocate(capacity * sizeof(Cell), alignof(Cell)));
  std::copy_n(cells_, cell_count_, cells);
  cells_ = cells;
  cell_capacity_ = capacity;
  return true;
}

std::span<const Cell> RowDecoder::end_cells() {
  if (cells_ != scratch_.data()) return {cells_, cell_count_};
  auto* cells = static_cast<Cell*>(arena_->allocate(cell_count_ * sizeof(Cell), alignof(Cell)));
  std::copy_n(cells_, cell_count_, cells);
  return {cells, cell_count_};
}

void RowDecoder::read_row_body(Reader& in, Row* row) {
  bool is_static = (extended_ & RowFlag::kExtendedStatic) != 0;
  std::span<const HeaderColumn> columns = is_static ? header_.static_columns : header_.regular_columns;
  if (form_ == RowForm::kSstable) {
    read_vint64(in);
    read_vint64(in);
  }
  read_liveness(in, &row->liveness);
  row->deletion = (flags_ & RowFlag::kHasDeletion) != 0 ? read_deletion(in) : DeletionTime();
  row->complex_deletions = {};
  row->cells = {};
  if (!any_complex_ && (flags_ & RowFlag::kHasAllColumns) != 0) return read_simple_cells(in, columns, row);
  ColumnSubset subset(in, columns.size(), (flags_ & RowFlag::kHasAllColumns) != 0);
  complex_deletions_.clear();
  begin_cells(columns.size());
  for (size_t i = 0; i < columns.size() && !in.failed(); ++i) {
    if (!subset.has(i)) continue;
    const HeaderColumn& column = columns[i];
    uint64_t count = 1;
    if (column.complex) {
      if ((flags_ & RowFlag::kHasComplexDeletion) != 0) {
        DeletionTime deletion = read_deletion(in);
        if (!deletion.is_live() && column.column != nullptr && deletion.marked_for_delete_at > column.dropped_at) {
          complex_deletions_.push_back({column.column, deletion});
        }
      }
      count = read_vint64(in);
      // Flags and the length of a path.
      constexpr uint64_t kShortestCell = 2;
      if (count > in.remaining() / kShortestCell || !make_room(count + columns.size() - i)) return in.fail();
    }
    for (; count > 0 && !in.failed(); --count) {
      if (read_cell(in, column, row->liveness, cells_ + cell_count_)) ++cell_count_;
    }
  }
  row->cells = end_cells();
  if (!complex_deletions_.empty()) {
    auto deletions = arena_->make_span<ComplexDeletion>(complex_deletions_.size());
    std::copy(complex_deletions_.begin(), complex_deletions_.end(), deletions.begin());
    row->complex_deletions = deletions;
  }
}

}  // namespace cassandra_like
