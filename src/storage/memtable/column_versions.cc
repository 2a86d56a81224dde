// Lookups of columns by name, for the short time in which rows of two versions of a table meet.
#include "storage/memtable/column_versions.h"

#include <algorithm>

namespace cassandra_like {

namespace {

struct CurrentColumn {
  const Column* column = nullptr;  // nullptr: gone
  int64_t dropped_at = kNoTimestamp;
};

CurrentColumn find_current(const Column& written, const TableMetadata& table) {
  CurrentColumn out;
  if (auto dropped = table.dropped_columns.find(written.name); dropped != table.dropped_columns.end()) {
    out.dropped_at = dropped->second.dropped_micros;
  }
  const Column* now = table.column(written.name);
  if (now != nullptr && now->kind == written.kind && now->is_complex() == written.is_complex()) out.column = now;
  return out;
}

template <class T, class TimestampOf>
std::span<const T> current(std::span<const T> items, const TableMetadata& table, Arena& arena, TimestampOf timestamp) {
  const Column* known = nullptr;
  CurrentColumn now;
  std::span<T> out;
  size_t n = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].column != known || i == 0) {
      known = items[i].column;
      now = find_current(*known, table);
    }
    bool keep = now.column != nullptr && timestamp(items[i]) > now.dropped_at;
    if (out.empty() && (!keep || now.column != known)) {
      out = arena.make_span<T>(items.size());
      std::copy(items.begin(), items.begin() + static_cast<ptrdiff_t>(i), out.begin());
      n = i;
    }
    if (out.empty() || !keep) continue;
    out[n] = items[i];
    out[n++].column = now.column;
  }
  return out.empty() ? items : std::span<const T>(out.data(), n);
}

}  // namespace

bool hides_nothing(const TableMetadata& table) {
  // Dropped and added again: older cells of the same name are hidden.
  return std::none_of(table.dropped_columns.begin(), table.dropped_columns.end(),
                      [&](const auto& dropped) { return table.column(dropped.first) != nullptr; });
}

Row with_current_columns(const Row& row, const TableMetadata& table, Arena& arena) {
  Row out = row;
  out.cells = current(row.cells, table, arena, [](const Cell& c) { return c.timestamp; });
  out.complex_deletions = current(row.complex_deletions, table, arena,
                                  [](const ComplexDeletion& d) { return d.deletion.marked_for_delete_at; });
  return out;
}

PartitionUpdate with_current_columns(const PartitionUpdate& update, const TableMetadata& table, Arena& arena) {
  PartitionUpdate out = update;
  out.table = &table;
  out.static_row = with_current_columns(update.static_row, table, arena);
  auto rows = arena.make_span<Row>(update.rows.size());
  size_t n = 0;
  for (const Row& row : update.rows) {
    rows[n] = with_current_columns(row, table, arena);
    if (!rows[n].is_empty()) ++n;
  }
  out.rows = rows.first(n);
  return out;
}

}  // namespace cassandra_like
