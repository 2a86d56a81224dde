#include "read/column_filter.h"

#include <algorithm>

namespace cassandra_like {

namespace {

bool is_same(const Column* a, const Column* b) { return a == b || compare_columns(a, b) == 0; }

bool has_all(const ColumnFilter::Columns& columns, const std::vector<ColumnPtr>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const ColumnPtr& column) {
    return std::find(columns.begin(), columns.end(), column.get()) != columns.end();
  });
}

// Walks the entries along with a row's cells, which have the same order.
template <class Entries>
class EntryCursor {
 public:
  explicit EntryCursor(const Entries& entries) : entries_(entries) {}

  // Null when the column is not fetched.
  auto find(const Column* column) -> decltype(&std::declval<const Entries&>()[0]) {
    while (next_ < entries_.size() && entries_[next_].column != column &&
           compare_columns(entries_[next_].column, column) < 0) {
      ++next_;
    }
    return next_ < entries_.size() && is_same(entries_[next_].column, column) ? &entries_[next_] : nullptr;
  }

 private:
  const Entries& entries_;
  size_t next_ = 0;
};

}  // namespace

ColumnFilter ColumnFilter::all(const TableMetadata& table) {
  ColumnFilter out;
  for (const ColumnPtr& column : table.static_columns) out.fetched_statics.push_back(column.get());
  for (const ColumnPtr& column : table.regular_columns) out.fetched_regulars.push_back(column.get());
  return out;
}

bool ColumnFilter::queries(const Column& column) const {
  if (is_wildcard || fetching == Fetching::kOnlyQueried) return true;
  const Columns& queried = column.kind == ColumnKind::kStatic ? queried_statics : queried_regulars;
  return std::any_of(queried.begin(), queried.end(), [&](const Column* q) { return is_same(q, &column); });
}

ColumnSelector::ColumnSelector(const ColumnFilter& filter, const TableMetadata& table)
    : filter_(filter),
      takes_all_statics_(takes_all(filter.fetched_statics, table.static_columns)),
      takes_all_regulars_(takes_all(filter.fetched_regulars, table.regular_columns)) {
  if (!takes_all_statics_) statics_ = entries(filter.fetched_statics);
  if (!takes_all_regulars_) regulars_ = entries(filter.fetched_regulars);
}

bool ColumnSelector::takes_all(const ColumnFilter::Columns& fetched, const std::vector<ColumnPtr>& wanted) const {
  const auto is_whole = [this](const Column* column) { return filter_.queries(*column) && !is_partial(*column); };
  return std::all_of(fetched.begin(), fetched.end(), is_whole) && has_all(fetched, wanted);
}

bool ColumnSelector::is_partial(const Column& column) const {
  return std::any_of(filter_.subselections.begin(), filter_.subselections.end(),
                     [&](const ColumnSubselection& s) { return is_same(s.column, &column); });
}

ColumnSelector::Entries ColumnSelector::entries(const ColumnFilter::Columns& fetched) const {
  Entries out;
  for (const Column* column : fetched) out.push_back({column, filter_.queries(*column), is_partial(*column)});
  return out;
}

bool ColumnSelector::matches_subselection(const Cell& cell) const {
  Cell bound;
  bound.column = cell.column;
  for (const ColumnSubselection& part : filter_.subselections) {
    if (!is_same(part.column, cell.column)) continue;
    bound.path = part.from;
    const int from = compare_cells(cell, bound);
    if (!part.is_slice) {
      if (from == 0) return true;
      continue;
    }
    bound.path = part.to;
    if (from >= 0 && compare_cells(cell, bound) <= 0) return true;
  }
  return false;
}

bool ColumnSelector::keep(const Entry& entry, bool fetches_all, int64_t row_timestamp, Cell& cell) const {
  const bool is_element = !is_null(cell.path);
  const bool is_selected = !is_element || !entry.is_partial || matches_subselection(cell);
  if (!fetches_all && !is_selected) return false;
  if (entry.is_queried && is_selected) return true;
  if (cell.timestamp < row_timestamp) return false;
  cell.value = BytesView("", 0);
  return true;
}

Row ColumnSelector::select(const Row& row, Arena& arena) const {
  const bool is_static = row.clustering.kind == ClusteringKind::kStaticClustering;
  if (is_static ? takes_all_statics_ : takes_all_regulars_) return row;
  const Entries& entries = is_static ? statics_ : regulars_;
  const bool fetches_all = filter_.fetches_all(is_static);
  Row out = row;
  auto* cells = static_cast<Cell*>(arena.allocate(row.cells.size() * sizeof(Cell), alignof(Cell)));
  size_t count = 0;
  EntryCursor<Entries> cursor(entries);
  for (const Cell& cell : row.cells) {
    const Entry* entry = cursor.find(cell.column);
    if (entry == nullptr) continue;
    cells[count] = cell;
    cells[count].column = entry->column;
    if (keep(*entry, fetches_all, row.liveness.timestamp, cells[count])) ++count;
  }
  out.cells = {cells, count};
  if (row.complex_deletions.empty()) return out;
  auto deletions = arena.make_span<ComplexDeletion>(row.complex_deletions.size());
  EntryCursor<Entries> of_deletions(entries);
  size_t kept = 0;
  for (const ComplexDeletion& deletion : row.complex_deletions) {
    const Entry* entry = of_deletions.find(deletion.column);
    if (entry != nullptr) deletions[kept++] = {entry->column, deletion.deletion};
  }
  out.complex_deletions = deletions.first(kept);
  return out;
}

}  // namespace cassandra_like
