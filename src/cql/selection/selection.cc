#include "cql/selection/selection.h"

#include <algorithm>

#include "cql/selection/selector.h"

namespace cassandra_like {
namespace {

// Fills in one result column.
Status prepare_column(const ast::Selector& tree, SelectorBuilder& builder, SelectedColumn& out) {
  const ast::Selectable& selectable = tree.selectable;
  const TableMetadata& table = builder.table();
  out.spec = {table.keyspace, table.name, tree.alias ? *tree.alias : builder.name(selectable), nullptr};
  if (const auto* column = std::get_if<ast::ColumnSelectable>(&selectable.value)) {
    ASSIGN_OR_RETURN(const Column* found, builder.column(column->name));
    out.set_column(table, *found);
    return {};
  }
  ASSIGN_OR_RETURN(out.selector, builder.build(selectable, nullptr));
  out.spec.type = out.selector->type();
  return {};
}

}  // namespace

void SelectedColumn::set_column(const TableMetadata& table, const Column& c) {
  column = &c;
  spec.type = c.type;
  if (c.is_complex() || c.type->is_counter()) return;
  const auto& columns = c.kind == ColumnKind::kStatic ? table.static_columns : table.regular_columns;
  auto at = std::find_if(columns.begin(), columns.end(), [&](const ColumnPtr& other) { return other.get() == &c; });
  if (at != columns.end()) usual_cell = static_cast<size_t>(at - columns.begin());
}

Result<Selection> Selection::prepare(const TablePtr& table, const std::vector<ast::Selector>& selectors,
                                     PrepareContext& context) {
  Selection selection;
  SelectorBuilder builder(*table, context);
  if (selectors.empty()) {
    selection.is_wildcard_ = true;
    for (const Column* column : table->all_columns_in_select_order()) {
      if (table->is_hidden(*column)) continue;
      selection.columns_.emplace_back();
      selection.columns_.back().spec = {table->keyspace, table->name, column->name, nullptr};
      selection.columns_.back().set_column(*table, *column);
      selection.used_.push_back(column);
    }
  }
  for (const ast::Selector& tree : selectors) {
    selection.columns_.emplace_back();
    TRY(prepare_column(tree, builder, selection.columns_.back()));
  }
  selection.aggregates_ = builder.take_aggregates();
  selection.bounds_ = builder.take_bounds();
  selection.is_pure_ = builder.is_pure();
  for (const Column* column : builder.used()) selection.used_.push_back(column);
  std::vector<ColumnSpec> specs;
  for (const SelectedColumn& column : selection.columns_) {
    selection.is_plain_ = selection.is_plain_ && column.column != nullptr;
    specs.push_back(column.spec);
  }
  selection.metadata_ = make_result_metadata(std::move(specs));
  return selection;
}

Status Selection::check_bounds(ExecutionContext& context) const {
  for (const SelectedBound& bound : bounds_) {
    ASSIGN_OR_RETURN(BytesView value, bound.term->bind(context));
    if (is_null(value)) return invalid("Invalid null value for " + bound.what);
    if (is_unset(value) && !bound.may_be_unset) return invalid("Invalid unset value for " + bound.what);
  }
  return {};
}

void Selection::make_json() {
  is_json_ = true;
  is_plain_ = false;
  const ColumnSpec& first = columns_[0].spec;
  metadata_ = make_result_metadata({{first.keyspace, first.table, "[json]", types::text()}});
}

bool Selection::takes_any_order() const {
  return std::all_of(columns_.begin(), columns_.end(),
                     [](const SelectedColumn& column) { return column.selector && column.selector->is_aggregate(); }) &&
         std::all_of(aggregates_.begin(), aggregates_.end(),
                     [](const AggregateCall& call) { return call.function->takes_any_order(); });
}

bool Selection::uses(ColumnKind kind) const {
  return std::any_of(used_.begin(), used_.end(), [kind](const Column* column) { return column->kind == kind; });
}

bool Selection::only_static_and_key() const {
  return uses(ColumnKind::kStatic) && !uses(ColumnKind::kClustering) && !uses(ColumnKind::kRegular);
}

}  // namespace cassandra_like
