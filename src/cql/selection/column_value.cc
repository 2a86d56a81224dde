// Values of columns out of cells.
#include <algorithm>
#include <cstring>

#include "cql/selection/selection.h"
#include "model/counter.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

// Cells of `column` in a row. Equal pointers mean the same column; a memtable may still hold cells under an older version
// of it, which has the same name.
std::span<const Cell> cells_of(const Column& column, const Row& row) {
  auto begin = std::find_if(row.cells.begin(), row.cells.end(), [&](const Cell& c) { return c.column == &column; });
  if (begin == row.cells.end()) {
    begin = std::partition_point(row.cells.begin(), row.cells.end(),
                                 [&](const Cell& c) { return compare_columns(c.column, &column) < 0; });
  }
  auto end = begin;
  while (end != row.cells.end() && (end->column == &column || compare_columns(end->column, &column) == 0)) {
    ++end;
    if (!column.is_complex()) break;
  }
  return {begin, end};
}

// In one piece of the arena, since it may be large.
BytesView frozen_collection(const Column& column, std::span<const Cell> cells, Arena& arena) {
  const bool has_paths = column.type->kind() != TypeKind::kList, has_values = column.type->kind() != TypeKind::kSet;
  size_t size = sizeof(int32_t);
  for (const Cell& cell : cells) {
    if (has_paths) size += sizeof(int32_t) + cell.path.size();
    if (has_values) size += sizeof(int32_t) + cell.value.size();
  }
  char* const begin = static_cast<char*>(arena.allocate(size, 1));
  char* p = begin;
  store_be(p, static_cast<int32_t>(cells.size()));
  p += sizeof(int32_t);
  auto put = [&p](BytesView element) {
    store_be(p, is_null(element) ? int32_t{-1} : static_cast<int32_t>(element.size()));
    p += sizeof(int32_t);
    if (!element.empty()) std::memcpy(p, element.data(), element.size());
    p += element.size();
  };
  for (const Cell& cell : cells) {
    if (has_paths) put(cell.path);
    if (has_values) put(cell.value);
  }
  return {begin, size};
}

BytesView frozen_udt(const Column& column, std::span<const Cell> cells, Arena& arena) {
  Bytes out;
  size_t next = 0;
  for (const Cell& cell : cells) {
    size_t field = load_be<uint16_t>(cell.path.data());
    for (; next < field; ++next) append_element(out, kNull);
    append_element(out, cell.value);
    ++next;
  }
  for (; next < column.type->elements().size(); ++next) append_element(out, kNull);
  return arena.copy(out);
}

}  // namespace

std::span<const Cell> stored_cells(const Column& column, const InputRow& input) {
  const Row* row = column.kind == ColumnKind::kStatic ? input.static_row : input.row;
  return row == nullptr ? std::span<const Cell>() : cells_of(column, *row);
}

BytesView stored_value(const Column& column, const InputRow& input) {
  const Row* row = column.kind == ColumnKind::kStatic ? input.static_row : input.row;
  if (row == nullptr) return kNull;
  if (!column.is_complex() && !column.type->is_counter()) {
    for (const Cell& cell : row->cells) {
      if (cell.column == &column) return cell.value;
    }
  }
  auto cells = cells_of(column, *row);
  if (cells.empty()) return kNull;
  Arena& arena = input.context->arena;
  if (column.is_complex()) {
    return column.type->is_udt() ? frozen_udt(column, cells, arena) : frozen_collection(column, cells, arena);
  }
  if (column.type->is_counter()) return arena.copy(encode_bigint(counter_total(cells[0].value)));
  return cells[0].value;
}

}  // namespace cassandra_like
