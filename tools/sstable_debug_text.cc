// sstabledump -d.
#include <fmt/format.h>

#include <array>

#include "model/counter.h"
#include "sstable_text.h"

namespace cassandra_like::sstable_tools {

namespace {

std::string liveness_text(const Liveness& liveness) {
  if (!liveness.is_expiring()) return fmt::format("[ts={}]", liveness.timestamp);
  return fmt::format("[ts={} ttl={}, let={}]", liveness.timestamp, liveness.ttl, liveness.local_expiration_time);
}

std::string times_text(const Cell& cell) {
  if (cell.is_expiring()) return fmt::format("ts={} ttl={} ldt={}", cell.timestamp, cell.ttl, cell.local_deletion_time);
  if (cell.is_tombstone()) return fmt::format("ts={} ldt={}", cell.timestamp, cell.local_deletion_time);
  return fmt::format("ts={}", cell.timestamp);
}

std::string cell_text(const Cell& cell) {
  const Type& type = *cell.column->type;
  const std::string& name = cell.column->name;
  if (type.is_counter() && !cell.is_tombstone()) {
    return fmt::format("[{}={} ts={}]", name, counter_total(cell.value), cell.timestamp);
  }
  const bool is_field = type.is_multi_cell() && type.is_udt();
  std::string value = "<tombstone>";
  if (!cell.is_tombstone()) {
    if (type.is_multi_cell() && !is_field) {
      value = type.kind() == TypeKind::kSet ? "" : type.elements().back()->to_text(cell.value);
    } else {
      // A field is no value of its type: Cassandra prints its bytes.
      value = is_field ? "0x" + to_hex(cell.value) : type.to_text(cell.value);
    }
  }
  if (!type.is_multi_cell() || is_field) return fmt::format("[{}={} {}]", name, value, times_text(cell));
  static const TypePtr timeuuid = types::timeuuid();
  const Type& path_type = type.kind() == TypeKind::kList ? *timeuuid : *type.elements()[0];
  return fmt::format("[{}[{}]={} {}]", name, path_type.to_text(cell.path), value, times_text(cell));
}

}  // namespace

std::string to_debug_text(const TableMetadata& table, const Row& row) {
  std::string text = "Row[info=" + liveness_text(row.liveness);
  if (!row.deletion.is_live()) text += " del=" + to_debug_text(row.deletion);
  text += " ]: ";
  if (row.clustering.kind == ClusteringKind::kStaticClustering) text += "STATIC";
  for (size_t i = 0; i < row.clustering.values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + table.clustering[i]->type->to_cql_literal(row.clustering.values[i]);
  }
  text += " | ";
  auto cell = row.cells.begin();
  auto complex = row.complex_deletions.begin();
  const Column* last = nullptr;
  while (cell != row.cells.end() || complex != row.complex_deletions.end()) {
    const bool is_deletion = cell == row.cells.end() || (complex != row.complex_deletions.end() &&
                                                         compare_columns(complex->column, cell->column) <= 0);
    const Column* column = is_deletion ? complex->column : cell->column;
    if (last != nullptr && last != column) text += ", ";
    last = column;
    if (is_deletion) {
      text += "del(" + column->name + ")=" + to_debug_text(complex++->deletion);
    } else {
      text += (column->is_complex() ? ", " : "") + cell_text(*cell);
      ++cell;
    }
  }
  return text;
}

namespace {

std::string marker_text(const TableMetadata& table, const RangeTombstoneMarker& marker) {
  constexpr std::array kNames{"EXCL_END_BOUND",    "INCL_START_BOUND", "EXCL_END_INCL_START_BOUNDARY",
                              "STATIC_CLUSTERING", "CLUSTERING",       "INCL_END_EXCL_START_BOUNDARY",
                              "INCL_END_BOUND",    "EXCL_START_BOUND"};
  const ClusteringPrefix& bound = marker.bound;
  std::string text = fmt::format("Marker {}(", kNames[static_cast<size_t>(bound.kind)]);
  for (size_t i = 0; i < bound.values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + table.clustering[i]->type->to_text(bound.values[i]);
  }
  auto times = [](const DeletionTime& d) {
    return fmt::format("{}/{}", d.marked_for_delete_at, d.local_deletion_time);
  };
  text += ")@";
  if (is_boundary(bound.kind)) return text + times(marker.close) + "-" + times(marker.open);
  return text + times(is_start(bound.kind) ? marker.open : marker.close);
}

}  // namespace

std::string to_debug_text(const DeletionTime& deletion) {
  return fmt::format("deletedAt={}, localDeletion={}", deletion.marked_for_delete_at, deletion.local_deletion_time);
}

std::string to_debug_text(const TableMetadata& table, const Unfiltered& unfiltered) {
  return unfiltered.is_row ? to_debug_text(table, unfiltered.row) : marker_text(table, unfiltered.marker);
}

}  // namespace cassandra_like::sstable_tools
