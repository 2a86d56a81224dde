// The SELECT clause: what is computed of each row (cql3.selection).
//
// A selection of plain columns is kept as a list of where each value comes from and needs no evaluation at all; anything
// else is a tree of Selectors for each result column.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cql/expressions/function.h"
#include "cql/expressions/term.h"
#include "model/row.h"

namespace cassandra_like {

// One row as selectors see it. Rows of static columns only have no row.
struct InputRow {
  ExecutionContext* context;       // with an arena that is reset for each row
  std::span<const BytesView> key;  // components
  DecoratedKey decorated_key;
  const Row* static_row;
  const Row* row;
  std::span<const BytesView> aggregates = {};  // of the group whose first row this is, by their place in the Selection
};

// A column's value: kNull when absent. Multi-cell collections and UDTs in their frozen form, counters as bigint.
BytesView stored_value(const Column& column, const InputRow& input);              // of a static or regular column
std::span<const Cell> stored_cells(const Column& column, const InputRow& input);  // all of them, of such a column
inline BytesView column_value(const Column& column, const InputRow& input) {
  if (column.kind > ColumnKind::kClustering) return stored_value(column, input);
  const auto position = static_cast<size_t>(column.position);
  if (column.kind == ColumnKind::kPartitionKey) return position < input.key.size() ? input.key[position] : kNull;
  const bool has_it = input.row != nullptr && position < input.row->clustering.values.size();
  return has_it ? input.row->clustering.values[position] : kNull;
}

// WRITETIME or TTL of the cells that a value is made of, in its order.
struct CellTimes {
  static constexpr int64_t kNone = kNoTimestamp;
  std::vector<int64_t> times;  // empty: there is no cell
  bool of_one = true;          // all of the value is one cell
};

class Selector {
 public:
  virtual ~Selector() = default;
  const TypePtr& type() const { return type_; }
  virtual Result<BytesView> evaluate(const InputRow& input) const = 0;
  virtual bool is_aggregate() const { return false; }
  // The cells, where it is a column that is a collection of them. Else nothing.
  virtual std::optional<std::span<const Cell>> cells(const InputRow&) const { return std::nullopt; }
  // A column, a field, an element or a slice.
  virtual Result<CellTimes> cell_times(const InputRow&, bool /*ttl*/) const { return CellTimes(); }

 protected:
  explicit Selector(TypePtr type) : type_(std::move(type)) {}
  TypePtr type_;
};
using SelectorPtr = std::unique_ptr<Selector>;

struct SelectedColumn {
  ColumnSpec spec;
  const Column* column = nullptr;  // a plain column
  SelectorPtr selector;            // anything else
  // Where a row that has all columns has the only cell of this one; kNoCell when it may have several, or none.
  static constexpr size_t kNoCell = ~size_t{0};
  size_t usual_cell = kNoCell;

  void set_column(const TableMetadata& table, const Column& c);
};
// The selection of a plain column.
inline BytesView column_value(const SelectedColumn& selected, const InputRow& input) {
  const Row* row = selected.column->kind == ColumnKind::kStatic ? input.static_row : input.row;
  if (row != nullptr && selected.usual_cell < row->cells.size()) {
    const Cell& cell = row->cells[selected.usual_cell];
    if (cell.column == selected.column) return cell.value;
  }
  return column_value(*selected.column, input);
}

// One call of an aggregate; its arguments are evaluated for each row.
struct AggregateCall {
  std::shared_ptr<const AggregateFunction> function;
  std::vector<SelectorPtr> arguments;
};

// The bounds that name elements of a collection: m[bound], m[bound..].
struct SelectedBound {
  const Term* term;
  std::string what;   // "element selection on m"
  bool may_be_unset;  // of a slice: then it has no such end
};

class Selection {
 public:
  static Result<Selection> prepare(const TablePtr& table, const std::vector<ast::Selector>& selectors,
                                   PrepareContext& context);
  // SELECT JSON: the columns become one, whose values are JSON objects of theirs.
  void make_json();

  const std::vector<SelectedColumn>& columns() const { return columns_; }
  const ResultMetadataPtr& metadata() const { return metadata_; }
  bool is_plain() const { return is_plain_; }  // columns only
  // The values depend on nothing but the row and the bound values.
  bool is_pure() const { return is_pure_; }
  // Aggregates only, whose results do not depend on the order of the rows.
  bool takes_any_order() const;
  bool is_json() const { return is_json_; }
  bool has_aggregates() const { return !aggregates_.empty(); }
  const std::vector<AggregateCall>& aggregates() const { return aggregates_; }
  // Faults of the bound values are told also where no row is read.
  Status check_bounds(ExecutionContext& context) const;
  bool is_wildcard() const { return is_wildcard_; }
  // The columns that occur anywhere in the clause.
  const std::vector<const Column*>& used_columns() const { return used_; }
  bool uses(ColumnKind kind) const;
  bool only_static_and_key() const;  // at least one static, no clustering or regular column

 private:
  std::vector<SelectedColumn> columns_;
  std::vector<AggregateCall> aggregates_;
  std::vector<SelectedBound> bounds_;
  ResultMetadataPtr metadata_;
  std::vector<const Column*> used_;
  bool is_plain_ = true;
  bool is_pure_ = true;
  bool is_json_ = false;
  bool is_wildcard_ = false;
};

}  // namespace cassandra_like
