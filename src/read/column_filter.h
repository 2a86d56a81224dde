// The columns that a read fetches, and those among them that its client has asked for (db.filter.ColumnFilter).
//
// CQL needs more columns than a statement names: a row lives when any of its columns does. So a replica fetches all
// regular columns and leaves out the values of those that nobody asked for (Cell.withSkippedValue): the cell's
// timestamp is enough. A cell of such a column goes altogether when the row's liveness is newer than the cell.
#pragma once

#include <vector>

#include "model/row.h"

namespace cassandra_like {

// A part of a complex column: m[key], or the elements from one key to another, both included.
struct ColumnSubselection {
  const Column* column = nullptr;
  bool is_slice = false;
  Bytes from;  // of an element: its key
  Bytes to;    // of a slice

  bool operator==(const ColumnSubselection&) const = default;
};

// Columns are in cell order (compare_columns). A column that the table has dropped may be among them; rows have no cells
// of it.
struct ColumnFilter {
  // The names of ColumnFilter.FetchingStrategy.
  enum class Fetching : uint8_t { kAllColumns, kAllRegularsAndQueriedStatics, kOnlyQueried };
  using Columns = std::vector<const Column*>;

  // Everything is fetched, and the client wants everything (WildCardColumnFilter).
  bool is_wildcard = true;
  Fetching fetching = Fetching::kAllColumns;
  Columns fetched_statics, fetched_regulars;
  Columns queried_statics, queried_regulars;  // parts of the fetched ones; all of them when is_wildcard
  bool has_subselections = false;             // whether the list is there, even when it is empty
  std::vector<ColumnSubselection> subselections;

  static ColumnFilter all(const TableMetadata& table);
  // Whether the client asked for the values of a column that is fetched.
  bool queries(const Column& column) const;
  bool fetches_all(bool is_static) const {
    return fetching == Fetching::kAllColumns || (fetching == Fetching::kAllRegularsAndQueriedStatics && !is_static);
  }
  bool operator==(const ColumnFilter&) const = default;
};

// Applies a filter to rows that are reconciled (db.rows.Row.filter). The filter must outlive it.
class ColumnSelector {
 public:
  ColumnSelector(const ColumnFilter& filter, const TableMetadata& table);
  // The row as the filter leaves it; may be empty. Changed parts are in the arena. Cells are of the filter's columns.
  Row select(const Row& row, Arena& arena) const;

 private:
  // The tests that a fetched column's cells go through.
  struct Entry {
    const Column* column = nullptr;
    bool is_queried = true;
    bool is_partial = false;  // has subselections
  };
  using Entries = std::vector<Entry>;

  bool takes_all(const ColumnFilter::Columns& fetched, const std::vector<ColumnPtr>& wanted) const;
  bool is_partial(const Column& column) const;
  Entries entries(const ColumnFilter::Columns& fetched) const;
  bool matches_subselection(const Cell& cell) const;
  // Whether the cell stays; takes its value away when nobody asked for it.
  bool keep(const Entry& entry, bool fetches_all, int64_t row_timestamp, Cell& cell) const;

  const ColumnFilter& filter_;
  const bool takes_all_statics_, takes_all_regulars_;  // rows pass as they are
  Entries statics_, regulars_;                         // of rows that do not
};

}  // namespace cassandra_like
