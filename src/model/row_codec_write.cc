// The writing half of row_codec.h. Every put_* is a template over its sink, so that what is counted is what is written.

#include <algorithm>

#include "base/dcheck.h"
#include "base/result.h"
#include "model/row_codec.h"
#include "model/row_codec_format.h"

namespace cassandra_like {

namespace {

using row_codec::CellFlag;
using row_codec::delta32;
using row_codec::MemoryOut;
using row_codec::RowFlag;
using row_codec::SizeOut;

// A column's share of a row: one cell, or a complex column's deletion and cells.
struct ColumnData {
  const Column* column = nullptr;
  std::span<const Cell> cells;
  DeletionTime deletion;
};

// Walks a row column by column.
class ColumnDataIterator {
 public:
  explicit ColumnDataIterator(const Row& row) : cells_(row.cells), deletions_(row.complex_deletions) {}

  bool next(ColumnData* out) {
    if (deletions_.empty()) {
      if (cells_.empty()) return false;
      take_cells(cells_[0].column, out);
      return true;
    }
    int c = cells_.empty() ? 1 : compare_columns(cells_[0].column, deletions_[0].column);
    take_cells(c <= 0 ? cells_[0].column : deletions_[0].column, out);
    if (c >= 0) {
      out->deletion = deletions_[0].deletion;
      deletions_ = deletions_.subspan(1);
    }
    return true;
  }

 private:
  void take_cells(const Column* column, ColumnData* out) {
    size_t n = 0;
    while (n < cells_.size() && is_of(cells_[n], column)) ++n;
    *out = {column, cells_.first(n), {}};
    cells_ = cells_.subspan(n);
  }

  // Cells of a complex column may come from several versions of the table.
  static bool is_of(const Cell& cell, const Column* column) {
    return cell.column == column || (!is_null(cell.path) && compare_columns(cell.column, column) == 0);
  }

  std::span<const Cell> cells_;
  std::span<const ComplexDeletion> deletions_;
};

// Finds a row's columns, which come in the header's order, in the header.
class HeaderCursor {
 public:
  explicit HeaderCursor(std::span<const HeaderColumn> columns) : columns_(columns) {}

  size_t find(const Column* column) {
    for (size_t i = next_; i < columns_.size(); ++i) {
      if (columns_[i].column == column) return found(i);
    }
    // The row is of another version of the table, in which the column's type was different.
    for (size_t i = next_; i < columns_.size(); ++i) {
      if (compare_columns(columns_[i].column, column) == 0) return found(i);
    }
    CHECK(!"a row has a column that the serialization header lacks");
    return 0;
  }

 private:
  size_t found(size_t i) {
    next_ = i + 1;
    return i;
  }

  std::span<const HeaderColumn> columns_;
  size_t next_ = 0;
};

// Facts of a row that are needed before its first byte is written.
struct RowShape {
  RowShape(const SerializationHeader& header, const Row& row)
      : is_static(row.clustering.kind == ClusteringKind::kStaticClustering),
        is_simple(row.complex_deletions.empty() &&
                  std::all_of(row.cells.begin(), row.cells.end(), [](const Cell& c) { return is_null(c.path); })),
        columns(is_static ? header.static_columns : header.regular_columns) {
    if (is_simple) {
      count = row.cells.size();
    } else {
      ColumnData data;
      for (ColumnDataIterator it(row); it.next(&data); ++count) {
        if (!data.deletion.is_live()) flags |= RowFlag::kHasComplexDeletion;
      }
    }
    if (!row.liveness.is_empty()) flags |= RowFlag::kHasTimestamp;
    if (row.liveness.is_expiring()) flags |= RowFlag::kHasTtl;
    if (!row.deletion.is_live()) flags |= RowFlag::kHasDeletion;
    if (count == columns.size()) flags |= RowFlag::kHasAllColumns;
    if (is_static) flags |= RowFlag::kExtension;
  }

  bool is_static;
  bool is_simple;  // one cell a column, as most rows are
  std::span<const HeaderColumn> columns;
  uint8_t flags = 0;
  size_t count = 0;
};

template <class Out>
void put_timestamp(Out& out, const SerializationHeader& header, int64_t timestamp) {
  out.vint(static_cast<uint64_t>(timestamp) - static_cast<uint64_t>(header.stats.min_timestamp));
}

template <class Out>
void put_local_deletion_time(Out& out, const SerializationHeader& header, int64_t seconds) {
  if (seconds != kNoDeletionTime) seconds = std::min(seconds, header.max_deletion_time);
  out.vint(delta32(seconds, header.stats.min_local_deletion_time));
}

template <class Out>
void put_ttl(Out& out, const SerializationHeader& header, int32_t ttl) {
  out.vint(delta32(ttl, header.stats.min_ttl));
}

template <class Out>
void put_deletion(Out& out, const SerializationHeader& header, const DeletionTime& deletion) {
  put_timestamp(out, header, deletion.marked_for_delete_at);
  put_local_deletion_time(out, header, deletion.local_deletion_time);
}

template <class Out>
void put_value(Out& out, int32_t fixed_length, BytesView value) {
  if (fixed_length < 0) {
    out.vint(value.size());
  } else {
    CHECK(value.size() == static_cast<size_t>(fixed_length));
  }
  out.bytes(value);
}

template <class Out>
void put_clustering_values(Out& out, const SerializationHeader& header, std::span<const BytesView> values) {
  for (size_t begin = 0; begin < values.size(); begin += 32) {
    size_t end = std::min(begin + 32, values.size());
    uint64_t bits = 0;
    for (size_t i = begin; i < end; ++i) {
      uint64_t kind = is_null(values[i]) ? 2 : values[i].empty() ? 1 : 0;
      bits |= kind << (2 * (i - begin));
    }
    out.vint(bits);
    for (size_t i = begin; i < end; ++i) {
      if (!values[i].empty()) put_value(out, header.clustering_types[i]->fixed_length(), values[i]);
    }
  }
}

template <class Out>
void put_clustering_prefix(Out& out, const SerializationHeader& header, const ClusteringPrefix& prefix) {
  out.u8(static_cast<uint8_t>(prefix.kind));
  if (prefix.kind != ClusteringKind::kClustering) out.u16(static_cast<uint16_t>(prefix.values.size()));
  put_clustering_values(out, header, prefix.values);
}

template <class Out>
void put_cell(Out& out, const SerializationHeader& header, const HeaderColumn& column, const Cell& cell,
              const Liveness& liveness) {
  bool tombstone = cell.is_tombstone(), expiring = cell.is_expiring();
  bool use_row_timestamp = !liveness.is_empty() && cell.timestamp == liveness.timestamp;
  bool use_row_ttl = expiring && cell.ttl == liveness.ttl && cell.local_deletion_time == liveness.local_expiration_time;
  uint8_t flags = 0;
  if (cell.value.empty()) flags |= CellFlag::kHasEmptyValue;
  if (tombstone) flags |= CellFlag::kDeleted;
  if (expiring) flags |= CellFlag::kExpiring;
  if (use_row_timestamp) flags |= CellFlag::kUseRowTimestamp;
  if (use_row_ttl) flags |= CellFlag::kUseRowTtl;
  out.u8(flags);
  if (!use_row_timestamp) put_timestamp(out, header, cell.timestamp);
  if ((tombstone || expiring) && !use_row_ttl) put_local_deletion_time(out, header, cell.local_deletion_time);
  if (expiring && !use_row_ttl) put_ttl(out, header, cell.ttl);
  if (column.complex) put_value(out, -1, cell.path);
  if (!cell.value.empty()) put_value(out, column.fixed_length, cell.value);
}

// A bitmap of the columns that are missing; from 64 columns on, whichever is shorter of the lists of those that are
// missing and those that are there.
// next_present(&i): the next column that is there, false at the end.
template <class Out, class NextPresent>
void put_column_subset(Out& out, size_t total, size_t count, NextPresent next_present) {
  size_t i = 0;
  if (total < 64) {
    uint64_t missing = (1ULL << total) - 1;
    while (next_present(&i)) missing &= ~(1ULL << i);
    out.vint(missing);
    return;
  }
  out.vint(total - count);
  bool lists_present = count < total / 2;
  size_t next = 0;
  while (next_present(&i)) {
    if (lists_present) {
      out.vint(i);
      continue;
    }
    while (next < i) out.vint(next++);
    next = i + 1;
  }
  if (lists_present) return;
  while (next < total) out.vint(next++);
}

template <class Out>
void put_column_subset(Out& out, const RowShape& shape, const Row& row) {
  HeaderCursor cursor(shape.columns);
  ColumnDataIterator it(row);
  put_column_subset(out, shape.columns.size(), shape.count, [&](size_t* i) {
    ColumnData data;
    if (!it.next(&data)) return false;
    *i = cursor.find(data.column);
    return true;
  });
}

template <class Out>
void put_liveness(Out& out, const SerializationHeader& header, const Liveness& liveness) {
  if (!liveness.is_empty()) put_timestamp(out, header, liveness.timestamp);
  if (!liveness.is_expiring()) return;
  put_ttl(out, header, liveness.ttl);
  put_local_deletion_time(out, header, liveness.local_expiration_time);
}

template <class Out>
void put_row_head(Out& out, const SerializationHeader& header, const Row& row, const RowShape& shape) {
  out.u8(shape.flags);
  if (shape.is_static) {
    out.u8(RowFlag::kExtendedStatic);
  } else {
    put_clustering_values(out, header, row.clustering.values);
  }
}

template <class Out>
void put_row_body(Out& out, const SerializationHeader& header, const Row& row, const RowShape& shape) {
  put_liveness(out, header, row.liveness);
  if (!row.deletion.is_live()) put_deletion(out, header, row.deletion);
  if ((shape.flags & RowFlag::kHasAllColumns) == 0) put_column_subset(out, shape, row);
  HeaderCursor cursor(shape.columns);
  if (shape.is_simple) {
    for (const Cell& cell : row.cells) {
      put_cell(out, header, shape.columns[cursor.find(cell.column)], cell, row.liveness);
    }
    return;
  }
  ColumnData data;
  for (ColumnDataIterator it(row); it.next(&data);) {
    const HeaderColumn& column = shape.columns[cursor.find(data.column)];
    if (column.complex) {
      if ((shape.flags & RowFlag::kHasComplexDeletion) != 0) put_deletion(out, header, data.deletion);
      out.vint(data.cells.size());
    }
    for (const Cell& cell : data.cells) put_cell(out, header, column, cell, row.liveness);
  }
}

template <class Out>
void put_row_head(Out& out, const SerializationHeader& header, const UniformRow& row, size_t count) {
  uint8_t flags = row.has_liveness ? RowFlag::kHasTimestamp : 0;
  if (row.has_liveness && row.age.is_expiring()) flags |= RowFlag::kHasTtl;
  if (count == row.values.size()) flags |= RowFlag::kHasAllColumns;
  out.u8(flags);
  put_clustering_values(out, header, row.clustering.values);
}

template <class Out>
void put_row_body(Out& out, const SerializationHeader& header, const UniformRow& row, size_t count) {
  if (row.has_liveness) put_liveness(out, header, row.age);
  if (count < row.values.size()) {
    size_t next = 0;
    put_column_subset(out, row.values.size(), count, [&](size_t* i) {
      while (next < row.values.size() && is_null(row.values[next])) ++next;
      *i = next++;
      return *i < row.values.size();
    });
  }
  // They tell their age by that of the row, so they are the same bytes in each SSTable.
  if (!row.cells.empty()) return out.bytes(row.cells);
  uint8_t flags = row.has_liveness ? CellFlag::kUseRowTimestamp : 0;
  if (row.age.is_expiring()) flags |= CellFlag::kExpiring | (row.has_liveness ? CellFlag::kUseRowTtl : 0);
  for (size_t i = 0; i < row.values.size(); ++i) {
    const BytesView value = row.values[i];
    if (is_null(value)) continue;
    out.u8(value.empty() ? flags | CellFlag::kHasEmptyValue : flags);
    if (!row.has_liveness) {
      put_timestamp(out, header, row.age.timestamp);
      if (row.age.is_expiring()) {
        put_local_deletion_time(out, header, row.age.local_expiration_time);
        put_ttl(out, header, row.age.ttl);
      }
    }
    if (!value.empty()) put_value(out, header.regular_columns[i].fixed_length, value);
  }
}

template <class Out>
void put_marker_head(Out& out, const SerializationHeader& header, const RangeTombstoneMarker& marker) {
  out.u8(RowFlag::kMarker);
  put_clustering_prefix(out, header, marker.bound);
}

template <class Out>
void put_marker_body(Out& out, const SerializationHeader& header, const RangeTombstoneMarker& marker) {
  if (is_boundary(marker.bound.kind) || is_end(marker.bound.kind)) put_deletion(out, header, marker.close);
  if (is_boundary(marker.bound.kind) || is_start(marker.bound.kind)) put_deletion(out, header, marker.open);
}

constexpr size_t kPiece = 64 << 10;

// Appends, and drains behind each piece.
class DrainedOut {
 public:
  DrainedOut(Bytes& out, RowDrain drain) : out_(out), drain_(drain) {}

  void u8(uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void u16(uint16_t v) { append_be(out_, v); }
  void vint(uint64_t v) { append_unsigned_vint(out_, v); }
  void bytes(BytesView v) {
    do {
      const BytesView piece = v.substr(0, kPiece);
      out_.append(piece);
      v.remove_prefix(piece.size());
      since_drain_ += piece.size();
      if (since_drain_ < kPiece) continue;
      drain_();
      since_drain_ = 0;
    } while (!v.empty());
  }

 private:
  Bytes& out_;
  RowDrain drain_;
  size_t since_drain_ = 0;
};

// Appends head, sizes and body, given as functions of a sink.
template <class Head, class Body>
void append_with_sizes(Bytes& out, uint64_t previous_size, RowDrain drain, Head head, Body body) {
  SizeOut head_size, sizes_size, body_size;
  head(head_size);
  body(body_size);
  uint64_t size = body_size.n + unsigned_vint_size(previous_size);
  sizes_size.vint(size);
  if (size > kPiece) {
    DrainedOut to(out, drain);
    head(to);
    to.vint(size);
    to.vint(previous_size);
    return body(to);
  }
  size_t at = out.size();
  out.resize(at + head_size.n + sizes_size.n + size);
  MemoryOut to{out.data() + at};
  head(to);
  to.vint(size);
  to.vint(previous_size);
  body(to);
}

}  // namespace

size_t row_size(const SerializationHeader& header, const Row& row) {
  RowShape shape(header, row);
  SizeOut out;
  put_row_head(out, header, row, shape);
  put_row_body(out, header, row, shape);
  return out.n;
}

char* write_row(char* p, const SerializationHeader& header, const Row& row) {
  RowShape shape(header, row);
  MemoryOut out{p};
  put_row_head(out, header, row, shape);
  put_row_body(out, header, row, shape);
  return out.p;
}

size_t marker_size(const SerializationHeader& header, const RangeTombstoneMarker& marker) {
  SizeOut out;
  put_marker_head(out, header, marker);
  put_marker_body(out, header, marker);
  return out.n;
}

char* write_marker(char* p, const SerializationHeader& header, const RangeTombstoneMarker& marker) {
  MemoryOut out{p};
  put_marker_head(out, header, marker);
  put_marker_body(out, header, marker);
  return out.p;
}

void append_sstable_row(Bytes& out, const SerializationHeader& header, const Row& row, uint64_t previous_size,
                        RowDrain drain) {
  RowShape shape(header, row);
  append_with_sizes(
      out, previous_size, drain, [&](auto& to) { put_row_head(to, header, row, shape); },
      [&](auto& to) { put_row_body(to, header, row, shape); });
}

void append_sstable_row(Bytes& out, const SerializationHeader& header, const UniformRow& row, uint64_t previous_size,
                        RowDrain drain) {
  DCHECK(row.values.size() == header.regular_columns.size());
  const size_t count = row.count();
  append_with_sizes(
      out, previous_size, drain, [&](auto& to) { put_row_head(to, header, row, count); },
      [&](auto& to) { put_row_body(to, header, row, count); });
}

void append_sstable_marker(Bytes& out, const SerializationHeader& header, const RangeTombstoneMarker& marker,
                           uint64_t previous_size) {
  append_with_sizes(
      out, previous_size, [] {}, [&](auto& to) { put_marker_head(to, header, marker); },
      [&](auto& to) { put_marker_body(to, header, marker); });
}

void append_clustering_prefix(Bytes& out, const SerializationHeader& header, const ClusteringPrefix& prefix) {
  SizeOut size;
  put_clustering_prefix(size, header, prefix);
  size_t at = out.size();
  out.resize(at + size.n);
  MemoryOut to{out.data() + at};
  put_clustering_prefix(to, header, prefix);
}

}  // namespace cassandra_like
