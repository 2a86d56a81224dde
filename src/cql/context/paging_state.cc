#include "cql/context/paging_state.h"

#include <algorithm>

#include "base/vint.h"

namespace cassandra_like {
namespace {

constexpr size_t kHeaderValues = 32;  // of a modern row mark
constexpr uint16_t kStaticMarker = 0xFFFF;

struct PagingStateView {
  BytesView partition_key;
  BytesView row_mark;
  bool has_legacy_mark = false;
  uint64_t remaining = kNoLimit;
  uint64_t remaining_in_partition = kNoLimit;
};

// PagingState.isModernSerialized takes each vint to be as short as possible.
bool is_modern(BytesView data) {
  auto vint_at = [data](size_t at, uint64_t* value) {
    Reader in(data.substr(std::min(at, data.size())));
    *value = read_unsigned_vint(in);
    return !in.failed() && *value <= kNoLimit;
  };
  size_t at = 0;
  uint64_t value = 0;
  for (int field = 0; field < 2; ++field) {
    if (!vint_at(at, &value)) return false;
    at += unsigned_vint_size(value) + value;
  }
  for (int count = 0; count < 2; ++count) {
    if (!vint_at(at, &value)) return false;
    at += unsigned_vint_size(value);
  }
  return at == data.size();
}

std::optional<PagingStateView> read_modern(BytesView data) {
  if (!is_modern(data)) return std::nullopt;
  Reader in(data);
  PagingStateView state;
  state.partition_key = in.take(read_unsigned_vint(in));
  state.row_mark = in.take(read_unsigned_vint(in));
  state.remaining = read_unsigned_vint(in);
  state.remaining_in_partition = read_unsigned_vint(in);
  const bool in_range = state.remaining <= kNoLimit && state.remaining_in_partition <= kNoLimit;
  return in.failed() || !in_range ? std::nullopt : std::optional(state);
}

std::optional<PagingStateView> read_legacy(BytesView data) {
  constexpr uint16_t kMaxLength = std::numeric_limits<int16_t>::max();
  Reader in(data);
  PagingStateView state;
  state.has_legacy_mark = true;
  for (BytesView* field : {&state.partition_key, &state.row_mark}) {
    const uint16_t length = in.u16();
    if (length > kMaxLength) return std::nullopt;
    *field = in.take(length);
  }
  state.remaining = in.u32();
  if (!in.at_end()) state.remaining_in_partition = in.u32();
  const bool in_range = state.remaining <= kNoLimit && state.remaining_in_partition <= kNoLimit;
  return in.failed() || !in.at_end() || !in_range ? std::nullopt : std::optional(state);
}

std::optional<PagingStateView> read_paging_state(BytesView data, int protocol_version) {
  if (has_legacy_marks(protocol_version)) {
    auto legacy = read_legacy(data);
    return legacy ? legacy : read_modern(data);
  }
  auto modern = read_modern(data);
  return modern ? modern : read_legacy(data);
}

void append_short_bytes(Bytes& out, BytesView value) {
  append_be(out, static_cast<uint16_t>(value.size()));
  out.append(value);
}

// One component of a composite with its end-of-component.
void append_component(Bytes& out, BytesView value) {
  append_short_bytes(out, value);
  out.push_back(0);
}

// The last cell in the order of 2.x, which is by the column's name, then by path (Row.cellsInLegacyOrder).
const Cell* last_cell(const Row& row) {
  const Cell* last = nullptr;
  for (const Cell& cell : row.cells) {
    if (last == nullptr || cell.column->name >= last->column->name) last = &cell;
  }
  return last;
}

bool read_modern_mark(BytesView mark, std::vector<BytesView>& values) {
  Reader in(mark);
  uint64_t header = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % kHeaderValues == 0) header = read_unsigned_vint(in);
    const uint64_t flags = header >> (2 * (i % kHeaderValues)) & 3;
    if (flags > 2) return false;
    if (flags == 2) continue;  // null
    values[i] = flags == 1 ? BytesView("", 0) : in.take(read_unsigned_vint(in));
  }
  return !in.failed();
}

bool read_legacy_mark(BytesView mark, std::vector<BytesView>& values) {
  Reader in(mark);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t length = in.u16();
    if (i == 0 && length == kStaticMarker) return false;
    values[i] = in.take(length);
    in.skip(1);
  }
  return !in.failed();
}

}  // namespace

Bytes serialize_paging_state(const PagingState& state, int protocol_version) {
  Bytes out;
  if (has_legacy_marks(protocol_version)) {
    append_short_bytes(out, state.partition_key);
    append_short_bytes(out, state.row_mark);
    append_be(out, state.remaining);
    append_be(out, state.remaining_in_partition);
    return out;
  }
  append_unsigned_vint(out, state.partition_key.size());
  out += state.partition_key;
  append_unsigned_vint(out, state.row_mark.size());
  out += state.row_mark;
  append_unsigned_vint(out, state.remaining);
  append_unsigned_vint(out, state.remaining_in_partition);
  return out;
}

bool is_paging_state(BytesView data, int protocol_version) {
  return read_paging_state(data, protocol_version).has_value();
}

std::optional<PagingState> parse_paging_state(BytesView data, int protocol_version) {
  const auto view = read_paging_state(data, protocol_version);
  if (!view) return std::nullopt;
  return PagingState{Bytes(view->partition_key), Bytes(view->row_mark), view->has_legacy_mark,
                     static_cast<uint32_t>(view->remaining), static_cast<uint32_t>(view->remaining_in_partition)};
}

void append_row_mark(Bytes& out, std::span<const BytesView> clustering) {
  for (size_t i = 0; i < clustering.size(); ++i) {
    if (i % kHeaderValues == 0) {
      uint64_t header = 0;
      for (size_t k = i; k < std::min(clustering.size(), i + kHeaderValues); ++k) {
        if (!clustering[k].empty()) continue;
        header |= uint64_t{is_null(clustering[k]) ? 2u : 1u} << (2 * (k - i));
      }
      append_unsigned_vint(out, header);
    }
    if (clustering[i].empty()) continue;
    append_unsigned_vint(out, clustering[i].size());
    out += clustering[i];
  }
}

void append_legacy_row_mark(Bytes& out, const Row& row) {
  for (BytesView value : row.clustering.values) append_component(out, value);
  const Cell* cell = last_cell(row);
  append_component(out, cell == nullptr ? BytesView() : BytesView(cell->column->name));
  if (cell != nullptr && cell->column->is_complex()) append_component(out, cell->path);
}

std::optional<Bytes> marked_clustering(const PagingState& state, const TableMetadata& table) {
  std::vector<BytesView> values(table.clustering.size());
  const bool whole =
      state.has_legacy_mark ? read_legacy_mark(state.row_mark, values) : read_modern_mark(state.row_mark, values);
  if (!whole) return std::nullopt;
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_null(values[i]) && table.flags.is_compact_table()) continue;
    if (is_null(values[i]) || !table.clustering[i]->type->validate(values[i]).ok()) return std::nullopt;
  }
  Bytes out;
  append_comparable(out, table, values, ClusteringKind::kClustering);
  return out;
}

}  // namespace cassandra_like
