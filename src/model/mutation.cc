#include "model/mutation.h"

#include <algorithm>

#include "base/vint.h"
#include "model/row_codec_format.h"

namespace cassandra_like {

namespace {

using row_codec::delta32;
using row_codec::MemoryOut;
using row_codec::PartitionFlag;
using row_codec::read_vint64;
using row_codec::SizeOut;

// Damaged bytes must not make us reserve much more than they are.
constexpr size_t kMaxInitialRows = 64;
constexpr size_t kMinUpdateSize = 16 + 1 + 1;

bool is_empty(const PartitionUpdate& update) {
  return update.partition_deletion.is_live() && update.static_row.is_empty() && update.rows.empty() &&
         update.range_tombstones.empty();
}

// Adds the row's columns to those found so far, both in cell order. Rows of one statement have the same columns, so
// that all but the first row find theirs at the cursor, and the first one finds nothing to compare its columns with.
template <class Columns>
void add_columns(const Row& row, Columns* columns) {
  size_t next = 0;  // behind the column of the cell before
  auto is_at = [&](size_t at, const Column* column) {
    return (*columns)[at].column == column || compare_columns((*columns)[at].column, column) == 0;
  };
  auto add = [&](const Column* column, bool is_complex) {
    if (is_complex && next > 0 && is_at(next - 1, column)) return;
    while (next < columns->size() && (*columns)[next].column != column &&
           compare_columns((*columns)[next].column, column) < 0) {
      ++next;
    }
    if (next == columns->size()) {
      columns->push_back(HeaderColumn::of(column));
    } else if (!is_at(next, column)) {
      columns->insert(columns->begin() + static_cast<ptrdiff_t>(next), HeaderColumn::of(column));
    }
    ++next;
  };
  for (const Cell& cell : row.cells) add(cell.column, !is_null(cell.path));
  next = 0;
  for (const ComplexDeletion& d : row.complex_deletions) add(d.column, true);
}

// The rows and range tombstones of an update as one sequence of unfiltereds: a tombstone that ends where the next one
// starts shares a boundary marker with it, or none when both delete the same.
template <class OnRow, class OnMarker>
void for_each_unfiltered(const PartitionUpdate& update, OnRow on_row, OnMarker on_marker) {
  size_t next = 0;
  const RangeTombstone* open = nullptr;
  auto close_open = [&] {
    const RangeTombstone* following = next < update.range_tombstones.size() ? &update.range_tombstones[next] : nullptr;
    RangeTombstoneMarker marker{open->end, {}, open->deletion};
    if (following == nullptr || following->start.comparable != open->end.comparable) {
      open = nullptr;
      return on_marker(marker);
    }
    marker.bound.kind = open->end.kind == ClusteringKind::kExclEndBound ? ClusteringKind::kExclEndInclStartBoundary
                                                                        : ClusteringKind::kInclEndExclStartBoundary;
    marker.open = following->deletion;
    open = following;
    ++next;
    if (marker.open != marker.close) on_marker(marker);
  };
  auto advance_to = [&](BytesView position, bool to_end) {
    while (true) {
      if (open != nullptr) {
        if (!to_end && open->end.comparable > position) return;
        close_open();
      } else if (next < update.range_tombstones.size()) {
        const RangeTombstone& tombstone = update.range_tombstones[next];
        if (!to_end && tombstone.start.comparable > position) return;
        ++next;
        if (tombstone.start.comparable >= tombstone.end.comparable) continue;
        open = &tombstone;
        on_marker(RangeTombstoneMarker{tombstone.start, tombstone.deletion, {}});
      } else {
        return;
      }
    }
  };
  for (const Row& row : update.rows) {
    if (open != nullptr || next < update.range_tombstones.size()) advance_to(row.clustering.comparable, false);
    on_row(row);
  }
  advance_to({}, true);
}

template <class Out>
void put_columns(Out& out, std::span<const HeaderColumn> columns) {
  out.vint(columns.size());
  for (const HeaderColumn& c : columns) {
    out.vint(c.column->name.size());
    out.bytes(c.column->name);
  }
}

// Everything before the static row. `update` is not empty.
template <class Out>
void put_partition_head(Out& out, const PartitionUpdate& update, const SerializationHeader& header) {
  bool has_static = !update.static_row.is_empty();
  bool deleted = !update.partition_deletion.is_live();
  out.u8(static_cast<uint8_t>(PartitionFlag::kHasRowEstimate | (has_static ? PartitionFlag::kHasStaticRow : 0) |
                              (deleted ? PartitionFlag::kHasDeletion : 0)));
  const EncodingStats& stats = header.stats;
  out.vint(static_cast<uint64_t>(stats.min_timestamp) - EncodingStats::kTimestampEpoch);
  out.vint(delta32(stats.min_local_deletion_time, EncodingStats::kDeletionTimeEpoch));
  out.vint(delta32(stats.min_ttl, 0));
  if (has_static) put_columns(out, header.static_columns);
  put_columns(out, header.regular_columns);
  if (deleted) {
    const DeletionTime& d = update.partition_deletion;
    out.vint(static_cast<uint64_t>(d.marked_for_delete_at) - static_cast<uint64_t>(stats.min_timestamp));
    out.vint(delta32(d.local_deletion_time, stats.min_local_deletion_time));
  }
}

void put_row(SizeOut& out, const SerializationHeader& header, const Row& row) { out.n += row_size(header, row); }
void put_row(MemoryOut& out, const SerializationHeader& header, const Row& row) {
  out.p = write_row(out.p, header, row);
}
void put_marker(SizeOut& out, const SerializationHeader& header, const RangeTombstoneMarker& marker) {
  out.n += marker_size(header, marker);
}
void put_marker(MemoryOut& out, const SerializationHeader& header, const RangeTombstoneMarker& marker) {
  out.p = write_marker(out.p, header, marker);
}

template <class Out>
void put_update(Out& out, const PartitionUpdate& update, const UpdateHeader& update_header) {
  SerializationHeader header = update_header.get(*update.table);
  out.bytes(update.table->id.view());
  out.vint(update.key.key.size());
  out.bytes(update.key.key);
  if (is_empty(update)) return out.u8(PartitionFlag::kIsEmpty);
  put_partition_head(out, update, header);
  if (!update.static_row.is_empty()) put_row(out, header, update.static_row);
  out.vint(update.rows.size());
  for_each_unfiltered(
      update, [&](const Row& row) { put_row(out, header, row); },
      [&](const RangeTombstoneMarker& marker) { put_marker(out, header, marker); });
  out.u8(static_cast<uint8_t>(kEndOfPartition));
}

// ---- Reading.

Error corrupt(std::string what) { return Error(ErrorCode::kCorruption, "Corrupt mutation: " + std::move(what)); }

// Columns come in the order of the table's, so that each is usually next to the last.
Status read_columns(Reader& in, const TableMetadata& table, const std::vector<ColumnPtr>& expected, Arena& arena,
                    std::span<const HeaderColumn>* out) {
  uint64_t count = read_vint64(in);
  if (in.failed() || count > in.remaining() / 2) return corrupt("column count");
  auto columns = arena.make_span<HeaderColumn>(count);
  size_t next = 0;
  for (HeaderColumn& c : columns) {
    BytesView name = in.take(read_vint64(in));
    if (in.failed()) return corrupt("column names");
    while (next < expected.size() && expected[next]->name != name) ++next;
    const Column* column = next < expected.size() ? expected[next++].get() : table.column(name);
    if (column != nullptr) c = HeaderColumn::of(column);
    if (column != nullptr && table.dropped_columns.empty()) continue;
    auto dropped = table.dropped_columns.find(std::string(name));
    if (dropped != table.dropped_columns.end()) {
      if (column == nullptr) {
        c = HeaderColumn::of(dropped->second.column.get());
        c.column = nullptr;
      }
      c.dropped_at = dropped->second.dropped_micros;
    } else if (column == nullptr) {
      return corrupt("Unknown column " + std::string(name) + " during deserialization");
    }
  }
  *out = columns;
  return {};
}

// Rows and range tombstones as they are found, in arrays that double in the arena.
template <class T>
class ArenaList {
 public:
  ArenaList(Arena& arena, size_t capacity) : arena_(arena), capacity_(std::max<size_t>(capacity, 1)) { grow(0); }
  void add(const T& v) {
    if (size_ == capacity_) grow(2 * capacity_);
    items_[size_++] = v;
  }
  std::span<const T> get() const { return {items_, size_}; }

 private:
  void grow(size_t capacity) {
    capacity_ = std::max(capacity, capacity_);
    auto* items = static_cast<T*>(arena_.allocate(capacity_ * sizeof(T), alignof(T)));
    std::copy(items_, items_ + size_, items);
    items_ = items;
  }

  Arena& arena_;
  T* items_ = nullptr;
  size_t size_ = 0;
  size_t capacity_;
};

// Turns markers back into range tombstones.
class TombstoneReader {
 public:
  explicit TombstoneReader(Arena& arena) : arena_(arena) {}

  bool add(const RangeTombstoneMarker& marker) {
    ClusteringKind kind = marker.bound.kind;
    if (is_end(kind) || is_boundary(kind)) {
      if (!open_ || marker.close != deletion_) return false;
      ClusteringPrefix end = marker.bound;
      if (is_boundary(kind)) {
        end.kind = kind == ClusteringKind::kExclEndInclStartBoundary ? ClusteringKind::kExclEndBound
                                                                     : ClusteringKind::kInclEndBound;
      }
      // One that covers nothing is not written either.
      if (start_.comparable < end.comparable) {
        if (!list_) list_.emplace(arena_, 4);
        list_->add({start_, end, deletion_});
      }
      open_ = false;
    }
    if (is_start(kind) || is_boundary(kind)) {
      if (open_) return false;
      start_ = marker.bound;
      if (is_boundary(kind)) {
        start_.kind = kind == ClusteringKind::kExclEndInclStartBoundary ? ClusteringKind::kInclStartBound
                                                                        : ClusteringKind::kExclStartBound;
      }
      deletion_ = marker.open;
      open_ = true;
    }
    return true;
  }
  bool is_open() const { return open_; }
  std::span<const RangeTombstone> get() const { return list_ ? list_->get() : std::span<const RangeTombstone>(); }

 private:
  Arena& arena_;
  std::optional<ArenaList<RangeTombstone>> list_;
  bool open_ = false;
  ClusteringPrefix start_;
  DeletionTime deletion_;
};

Status read_unfiltereds(Reader& in, RowDecoder& decoder, size_t estimate, Arena& arena, PartitionUpdate* update) {
  // The count is Cassandra's guess: it counts rows that the update's own deletions hide, which are not written.
  ArenaList<Row> rows(arena, std::min(estimate, kMaxInitialRows));
  TombstoneReader tombstones(arena);
  Unfiltered u;
  while (decoder.next(in)) {
    decoder.read_body(in, &u);
    if (in.failed()) break;
    if (!u.is_row) {
      if (!tombstones.add(u.marker)) return corrupt("range tombstone markers");
    } else if (!u.row.is_empty()) {
      rows.add(u.row);
    }
  }
  if (in.failed() || tombstones.is_open()) return corrupt("rows");
  update->rows = rows.get();
  update->range_tombstones = tombstones.get();
  return {};
}

Status read_update(Reader& in, const TableById& find_table, Arena& arena, PartitionUpdate* update) {
  BytesView id = in.take(16);
  if (in.failed()) return corrupt("table id");
  update->table = find_table(Uuid::from_bytes(id));
  if (update->table == nullptr) return invalid("Unknown table " + Uuid::from_bytes(id).to_string());
  update->key = DecoratedKey::of(in.take(read_vint64(in)));
  uint8_t flags = in.u8();
  if (in.failed() || (flags & PartitionFlag::kIsReversed) != 0) return corrupt("partition key and flags");
  if ((flags & PartitionFlag::kIsEmpty) != 0) return {};

  SerializationHeader header;
  header.stats = read_encoding_stats(in);
  header.clustering_types = update->table->clustering_types();
  if ((flags & PartitionFlag::kHasStaticRow) != 0) {
    TRY(read_columns(in, *update->table, update->table->static_columns, arena, &header.static_columns));
  }
  TRY(read_columns(in, *update->table, update->table->regular_columns, arena, &header.regular_columns));
  RowDecoder decoder(header, RowForm::kMessaging, arena);
  if ((flags & PartitionFlag::kHasDeletion) != 0) update->partition_deletion = decoder.read_deletion(in);
  if ((flags & PartitionFlag::kHasStaticRow) != 0) update->static_row = decoder.read_static_row(in);
  size_t estimate = (flags & PartitionFlag::kHasRowEstimate) != 0 ? read_vint64(in) : 0;
  return read_unfiltereds(in, decoder, estimate, arena, update);
}

}  // namespace

UpdateHeader::UpdateHeader(const PartitionUpdate& update) {
  EncodingStatsCollector collector;
  collector.update(update.partition_deletion);
  for (const RangeTombstone& t : update.range_tombstones) collector.update(t.deletion);
  if (!update.static_row.is_empty()) {
    collector.update(update.static_row);
    add_columns(update.static_row, &static_columns);
  }
  for (const Row& row : update.rows) {
    collector.update(row);
    add_columns(row, &regular_columns);
  }
  stats = collector.get();
}

SerializationHeader UpdateHeader::get(const TableMetadata& table) const {
  return {stats, table.clustering_types(), static_columns, regular_columns};
}

MutationSerializer::MutationSerializer(const Mutation& mutation) : mutation_(mutation) {
  headers_.reserve(mutation.updates.size());
  SizeOut out;
  out.vint(mutation.updates.size());
  for (const PartitionUpdate& update : mutation.updates) {
    headers_.emplace_back(update);
    put_update(out, update, headers_.back());
  }
  size_ = out.n;
}

char* MutationSerializer::write(char* p) const {
  MemoryOut out{p};
  out.vint(mutation_.updates.size());
  for (size_t i = 0; i < mutation_.updates.size(); ++i) put_update(out, mutation_.updates[i], headers_[i]);
  return out.p;
}

size_t serialized_size(const Mutation& mutation) { return MutationSerializer(mutation).size(); }

void serialize(const Mutation& mutation, Bytes& out) {
  MutationSerializer serializer(mutation);
  size_t at = out.size();
  out.resize(at + serializer.size());
  serializer.write(out.data() + at);
}

void serialize_update(const PartitionUpdate& update, Bytes& out) {
  UpdateHeader header(update);
  SizeOut size;
  put_update(size, update, header);
  size_t at = out.size();
  out.resize(at + size.n);
  MemoryOut to{out.data() + at};
  put_update(to, update, header);
}

Result<Mutation> deserialize_mutation(BytesView data, const TableById& find_table, Arena& arena) {
  Reader in(data);
  return read_mutation(in, find_table, arena);
}

Result<Mutation> read_mutation(Reader& in, const TableById& find_table, Arena& arena) {
  uint64_t count = read_vint64(in);
  if (in.failed() || count == 0 || count > in.remaining() / kMinUpdateSize) return corrupt("update count");
  auto updates = arena.make_span<PartitionUpdate>(count);
  for (PartitionUpdate& update : updates) TRY(read_update(in, find_table, arena, &update));
  if (in.failed()) return corrupt("truncated");
  return Mutation{updates[0].table->keyspace, updates[0].key, updates};
}

}  // namespace cassandra_like
