#include "read/read_command.h"

#include <algorithm>

#include "base/result.h"
#include "model/counter.h"
#include "model/values.h"

namespace cassandra_like {

namespace {

// One component of a serialized partition key; null when the key is too short.
BytesView key_component(const TableMetadata& table, BytesView key, int position) {
  if (table.partition_key.size() == 1) return key;
  Reader in(key);
  for (int i = 0; i < position; ++i) in.skip(in.u16() + 1U);
  BytesView value = in.take(in.u16());
  return in.failed() ? kNull : value;
}

bool is_of(const Cell& cell, const Column& column) {
  return cell.column == &column || compare_columns(cell.column, &column) == 0;
}

std::span<const Cell> cells_of(const Row& row, const Column& column) {
  auto first = std::find_if(row.cells.begin(), row.cells.end(), [&](const Cell& c) { return is_of(c, column); });
  auto last = std::find_if_not(first, row.cells.end(), [&](const Cell& c) { return is_of(c, column); });
  return {first, last};
}

// The row on which an expression is evaluated.
struct FilteredRow {
  const TableMetadata& table;
  const DecoratedKey& key;
  const Row& static_row;
  const Row& row;
  int64_t now_seconds;

  const Row& row_of(const Column& column) const { return column.kind == ColumnKind::kStatic ? static_row : row; }

  // The value of a column with one value; null when there is none.
  BytesView value(const Column& column) const {
    switch (column.kind) {
      case ColumnKind::kPartitionKey:
        return key_component(table, key.key, column.position);
      case ColumnKind::kClustering: {
        auto i = static_cast<size_t>(column.position);
        return i < row.clustering.values.size() ? row.clustering.values[i] : kNull;
      }
      default: {
        std::span<const Cell> cells = cells_of(row_of(column), column);
        return cells.empty() || !cells[0].is_live(now_seconds) ? kNull : cells[0].value;
      }
    }
  }
};

bool compares(Operator op, int c) {
  switch (op) {
    case Operator::kEq:
      return c == 0;
    case Operator::kNeq:
      return c != 0;
    case Operator::kLt:
      return c < 0;
    case Operator::kLte:
      return c <= 0;
    case Operator::kGt:
      return c > 0;
    default:
      return c >= 0;
  }
}

bool is_in(const Type& type, BytesView value, BytesView list) {
  ElementReader in = ElementReader::collection(list);
  for (BytesView element; in.next(&element);) {
    if (!is_null(element) && type.compare(value, element) == 0) return true;
  }
  return false;
}

bool matches_value(Operator op, const Type& type, BytesView found, BytesView wanted) {
  switch (op) {
    case Operator::kIn:
      return is_in(type, found, wanted);
    case Operator::kLikePrefix:
      return found.starts_with(wanted);
    case Operator::kLikeSuffix:
      return found.ends_with(wanted);
    case Operator::kLikeContains:
    case Operator::kLikeMatches:
      return found.find(wanted) != BytesView::npos;
    case Operator::kIsNotNull:
    case Operator::kAnn:  // the index has chosen the rows
      return true;
    case Operator::kContains:
    case Operator::kContainsKey:
    case Operator::kLike:
      break;
    default:
      return compares(op, type.compare(found, wanted));
  }
  CHECK(!"an operator that the planner does not let through");
  return false;
}

bool satisfies_simple(const FilterExpression& e, const FilteredRow& subject) {
  BytesView found = subject.value(*e.column);
  if (is_null(found)) return false;
  if (!e.column->type->is_counter()) return matches_value(e.op, e.column->type->base(), found, e.value);
  static const TypePtr bigint = types::bigint();
  return matches_value(e.op, *bigint, encode_bigint(counter_total(found)), e.value);
}

// In a frozen collection, elements are the same when they are to Java: decimals 1.0 and 1.00 differ.
bool same_element(const Type& type, BytesView a, BytesView b) {
  if (a == b) return true;
  const bool spelled = type.kind() == TypeKind::kBoolean || type.kind() == TypeKind::kVarint;
  return spelled && !is_null(a) && type.compare(a, b) == 0;
}

bool frozen_contains(const Type& type, BytesView collection, BytesView wanted) {
  ElementReader in = ElementReader::collection(collection);
  bool is_map = type.kind() == TypeKind::kMap;
  for (BytesView element; in.next(&element);) {
    if (is_map) in.next(&element);
    if (same_element(*type.elements().back(), element, wanted)) return true;
  }
  return false;
}

bool satisfies_contains(const FilterExpression& e, const FilteredRow& subject) {
  const Type& type = e.column->type->base();
  if (!e.column->is_complex()) {
    BytesView found = subject.value(*e.column);
    return !is_null(found) && frozen_contains(type, found, e.value);
  }
  bool is_set = type.kind() == TypeKind::kSet;
  const Type& element = *type.elements().back();
  for (const Cell& cell : cells_of(subject.row_of(*e.column), *e.column)) {
    if (!cell.is_live(subject.now_seconds)) continue;
    if (element.compare(is_set ? cell.path : cell.value, e.value) == 0) return true;
  }
  return false;
}

// The value under a key of a map column, frozen or not; null when there is none.
BytesView map_value(const Column& column, BytesView key, const FilteredRow& subject) {
  const Type& map = column.type->base();
  const Type& keys = *map.elements()[0];
  if (column.is_complex()) {
    for (const Cell& cell : cells_of(subject.row_of(column), column)) {
      if (cell.is_live(subject.now_seconds) && keys.compare(cell.path, key) == 0) return cell.value;
    }
    return kNull;
  }
  BytesView found = subject.value(column);
  if (is_null(found)) return kNull;
  ElementReader in = ElementReader::collection(found);
  for (BytesView k, v; in.next(&k) && in.next(&v);) {
    if (!is_null(k) && keys.compare(k, key) == 0) return v;
  }
  return kNull;
}

bool satisfies_one(const FilterExpression& e, const FilteredRow& subject) {
  if (e.is_map_entry) {
    BytesView found = map_value(*e.column, e.map_key, subject);
    return !is_null(found) && matches_value(e.op, *e.column->type->base().elements()[1], found, e.value);
  }
  switch (e.op) {
    case Operator::kContains:
      return satisfies_contains(e, subject);
    case Operator::kContainsKey:
      return !is_null(map_value(*e.column, e.value, subject));
    default:
      return satisfies_simple(e, subject);
  }
}

}  // namespace

bool satisfies(const RowFilter& filter, const TableMetadata& table, const DecoratedKey& key, const Row& static_row,
               const Row& row, int64_t now_seconds) {
  FilteredRow subject{table, key, static_row, row, now_seconds};
  return std::all_of(filter.begin(), filter.end(),
                     [&](const FilterExpression& e) { return satisfies_one(e, subject); });
}

namespace {

bool is_empty(const Slice& slice) {
  const bool begins_behind_all = slice.start.size() == 1 && slice.start[0] == kAfterTerminator;
  const bool ends_before_all = slice.end.size() == 1 && slice.end[0] == kBeforeTerminator;
  return begins_behind_all || ends_before_all || (!slice.end.empty() && slice.end <= slice.start);
}

// Leaves of the slices what lies behind the row, or the bound, at `clustering` in the direction of the read. An empty slice
// must not stay: in a message, a bound without values is the end of the partition that its side has.
void trim(Slices& slices, Bytes clustering, bool reversed) {
  if (clustering.back() == kAtTerminator) clustering.back() = reversed ? kBeforeTerminator : kAfterTerminator;
  if (slices.empty()) slices.push_back(Slice::all());
  Slices rest;
  for (Slice& slice : slices) {
    if (reversed) {
      if (slice.end.empty() || clustering < slice.end) slice.end = clustering;
    } else if (slice.start < clustering) {
      slice.start = clustering;
    }
    if (!is_empty(slice)) rest.push_back(std::move(slice));
  }
  slices = std::move(rest);
}

}  // namespace

void end_slices_behind(Slices& slices, Bytes clustering, bool reversed) {
  clustering.back() = reversed ? kBeforeTerminator : kAfterTerminator;
  trim(slices, std::move(clustering), !reversed);
}

std::optional<ReadCommand> continue_behind(ReadCommand& command, const DecoratedKey& key, const Bytes& clustering) {
  if (command.range) {
    command.range->start = RingPosition::at(key);
    command.range->start_inclusive = false;
  } else {
    auto at = std::find(command.keys.begin(), command.keys.end(), key);
    command.keys.erase(command.keys.begin(), at == command.keys.end() ? at : at + 1);
  }
  if (clustering.empty() || command.table->clustering.empty()) return std::nullopt;
  std::optional<ReadCommand> partition = command;
  partition->range.reset();
  partition->keys = {key};
  trim(partition->slices, clustering, command.reversed);
  if (partition->slices.empty()) partition.reset();
  return partition;
}

}  // namespace cassandra_like
