#include "cql/selection/grouping.h"

#include <algorithm>

#include "cql/expressions/function.h"
#include "cql/restrictions/restrictions.h"
#include "cql/selection/selector.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr char kNotInOrder[] =
    "Group by currently only support groups of columns following their declared order in the PRIMARY KEY";

bool is_constant(const ast::Selectable& selectable, const SelectorBuilder& builder) {
  SelectorBuilder own(builder.table(), builder.context());
  return own.resolve_names(selectable).ok() && own.used().empty();
}

// Whether what is computed of rows in their order is in order, too.
bool is_monotonic(const std::string& name, const std::vector<bool>& constant) {
  if (name == "floor") {
    return !constant[0] && std::all_of(constant.begin() + 1, constant.end(), [](bool argument) { return argument; });
  }
  for (const char* conversion :
       {"to_date", "todate", "to_timestamp", "totimestamp", "to_unix_timestamp", "tounixtimestamp"}) {
    if (name == conversion) return true;
  }
  return false;
}

// Arithmetic is a call, too, and never monotonic.
bool is_call(const ast::Selectable& selectable) {
  return std::holds_alternative<ast::FunctionSelectable>(selectable.value) ||
         std::holds_alternative<ast::CountAllSelectable>(selectable.value) ||
         std::holds_alternative<ast::ArithmeticSelectable>(selectable.value);
}

std::vector<const ast::Selectable*> arguments_of(const ast::Selectable& call) {
  std::vector<const ast::Selectable*> arguments;
  if (const auto* function = std::get_if<ast::FunctionSelectable>(&call.value)) {
    for (const auto& argument : function->arguments) arguments.push_back(&argument);
  }
  if (const auto* arithmetic = std::get_if<ast::ArithmeticSelectable>(&call.value)) {
    arguments.push_back(&*arithmetic->left);
    if (arithmetic->right) arguments.push_back(&**arithmetic->right);
  }
  return arguments;
}

Result<FunctionPtr> function_of(const ast::Selectable& call, const std::vector<const ast::Selectable*>& arguments,
                                SelectorBuilder& builder) {
  if (const auto* function = std::get_if<ast::FunctionSelectable>(&call.value)) {
    return builder.resolve(function->function, arguments);
  }
  ASSIGN_OR_RETURN(auto operands, builder.call_arguments(arguments));
  return resolve_arithmetic(std::get<ast::ArithmeticSelectable>(call.value).op, operands, nullptr, builder.context());
}

Error no_aggregates(const std::string& name) {
  return invalid("Aggregate functions are not supported within the GROUP BY clause, got: " + name);
}

std::optional<Error> check_monotonic(const ast::Selectable& selectable, SelectorBuilder& builder) {
  if (!is_call(selectable) || is_constant(selectable, builder)) return std::nullopt;
  const std::vector<const ast::Selectable*> arguments = arguments_of(selectable);
  std::vector<bool> constant;
  for (const ast::Selectable* argument : arguments) constant.push_back(is_constant(*argument, builder));
  auto function = function_of(selectable, arguments, builder);
  if (!function.ok()) return std::nullopt;
  if (!is_monotonic((*function)->name(), constant)) {
    auto given = builder.call_arguments(arguments);
    if (!given.ok()) return given.error();
    std::string types;
    for (size_t i = 0; i < constant.size(); ++i) {
      // Functions of any type keep the type of a descending column.
      const TypePtr& own = (*given)[i].type;
      const TypePtr& type = own != nullptr && own->is_reversed() ? own : (*function)->arguments()[i];
      types += (i > 0 ? ", " : "") + argument_type_name(*type) + (constant[i] ? "(constant)" : "");
    }
    return invalid("Only monotonic functions are supported in the GROUP BY clause. Got: system." +
                   quote_identifier((*function)->name()) + " : (" + types + ") -> " +
                   (*function)->return_type()->cql_name() + " ");
  }
  for (const ast::Selectable* argument : arguments) {
    if (auto refusal = check_monotonic(*argument, builder)) return refusal;
  }
  return std::nullopt;
}

// The clustering column that a function groups by, and the function.
Result<const Column*> prepare_function(const ast::Selectable& selectable, SelectorBuilder& builder, Grouping& result) {
  if (std::holds_alternative<ast::CountAllSelectable>(selectable.value)) return no_aggregates("system.count_rows");
  ASSIGN_OR_RETURN(FunctionPtr function, function_of(selectable, arguments_of(selectable), builder));
  if (function->is_aggregate()) return no_aggregates(function->qualified_name());
  ASSIGN_OR_RETURN(result.function, builder.build(selectable, nullptr));
  const auto& used = builder.used();
  if (used.empty()) return invalid("GROUP BY functions must have one clustering column name as parameter");
  if (used.size() > 1) {
    std::string names;
    for (const Column* column : used) names += (names.empty() ? "" : ",") + column->name;
    return invalid("GROUP BY functions accept only one clustering column as parameter, got: " + names);
  }
  if (used[0]->kind != ColumnKind::kClustering) {
    return invalid("Group by functions are only supported on clustering columns, got " + used[0]->name);
  }
  result.refusal = check_monotonic(selectable, builder);
  return used[0];
}

}  // namespace

Result<Grouping> prepare_grouping(const ast::Select& select, const TablePtr& table, const Restrictions& restrictions,
                                  PrepareContext& context) {
  std::vector<const Column*> key;
  for (const ColumnPtr& column : table->partition_key) key.push_back(column.get());
  for (const ColumnPtr& column : table->clustering) key.push_back(column.get());
  Grouping result;
  size_t position = 0;
  for (const ast::Selectable& selectable : select.group_by) {
    SelectorBuilder builder(*table, context);
    const Column* column = nullptr;
    if (is_call(selectable)) {
      ASSIGN_OR_RETURN(column, prepare_function(selectable, builder, result));
    } else if (const auto* named = std::get_if<ast::ColumnSelectable>(&selectable.value)) {
      ASSIGN_OR_RETURN(column, builder.column(named->name));
      if (!column->is_primary_key()) {
        return invalid("Group by is currently only supported on the columns of the PRIMARY KEY, got " + column->name);
      }
      if (result.function != nullptr) {
        return invalid("Functions are only supported on the last element of the GROUP BY clause");
      }
    } else {
      return invalid("Only column names and functions can be in the GROUP BY clause");
    }
    while (true) {
      if (position == key.size()) return invalid(kNotInOrder);
      const Column* next = key[position++];
      if (next->kind == ColumnKind::kClustering) ++result.clustering_columns;
      if (next == column) break;
      if (!restrictions.is_restricted_by_equality(next)) return invalid(kNotInOrder);
    }
  }
  if (position < table->partition_key.size()) {
    return invalid("Group by is not supported on only a part of the partition key");
  }
  if (result.clustering_columns > 0 && select.distinct) {
    return invalid("Grouping on clustering columns is not allowed for SELECT DISTINCT queries");
  }
  return result;
}

GroupCollector::GroupCollector(const TableMetadata& table, const Selection& selection, const Grouping* grouping)
    : table_(table), selection_(selection), grouping_(grouping) {}

Result<bool> GroupCollector::begins_group(const InputRow& row) {
  bool first = !seen_any_;
  seen_any_ = true;
  if (grouping_ == nullptr) return first;
  std::optional<std::vector<Bytes>> clustering;
  if (row.row != nullptr) {
    clustering.emplace();
    for (size_t i = 0; i < grouping_->clustering_columns && i < row.row->clustering.values.size(); ++i) {
      BytesView value = row.row->clustering.values[i];
      if (grouping_->function != nullptr && i + 1 == grouping_->clustering_columns) {
        ASSIGN_OR_RETURN(value, grouping_->function->evaluate(row));
      }
      clustering->emplace_back(value);
    }
  }
  bool same_key = !first && last_key_ == row.decorated_key.key;
  bool same = same_key && last_clustering_ && clustering && last_clustering_->size() == clustering->size();
  for (size_t i = 0; same && i < clustering->size(); ++i) {
    bool computed = grouping_->function != nullptr && i + 1 == grouping_->clustering_columns;
    const Type& type = computed ? *grouping_->function->type() : *table_.clustering[i]->type;
    same = type.compare((*last_clustering_)[i], (*clustering)[i]) == 0;
  }
  last_key_.assign(row.decorated_key.key);
  last_clustering_ = std::move(clustering);
  return !same;
}

void GroupCollector::open(const InputRow& row) {
  is_open_ = true;
  states_.clear();
  for (const AggregateCall& call : selection_.aggregates()) states_.push_back(call.function->start());
  arena_.reset();
  key_.clear();
  for (BytesView component : row.key) key_.push_back(arena_.copy(component));
  decorated_key_ = DecoratedKey{row.decorated_key.token, arena_.copy(row.decorated_key.key)};
  static_row_ = copy_row(*row.static_row, arena_);
  row_.reset();
  if (row.row != nullptr) row_ = copy_row(*row.row, arena_);
}

Status GroupCollector::add(const InputRow& row) {
  if (!is_open_) open(row);
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto& arguments = selection_.aggregates()[i].arguments;
    BytesView values[2];
    for (size_t k = 0; k < arguments.size(); ++k) {
      ASSIGN_OR_RETURN(values[k], arguments[k]->evaluate(row));
    }
    TRY(states_[i]->add(std::span(values, arguments.size())));
  }
  return {};
}

Result<InputRow> GroupCollector::close(ExecutionContext& context) {
  if (!is_open_) {
    for (const AggregateCall& call : selection_.aggregates()) states_.push_back(call.function->start());
  }
  is_open_ = false;
  results_.clear();
  for (const auto& state : states_) {
    bool null = false;
    ASSIGN_OR_RETURN(Bytes value, state->result(&null));
    results_.push_back(null ? kNull : arena_.copy(value));
  }
  return InputRow{&context, key_, decorated_key_, &static_row_, row_ ? &*row_ : nullptr, results_};
}

}  // namespace cassandra_like
