#include "cql/restrictions/relation.h"

#include <algorithm>

#include "cql/context/named_column.h"
#include "cql/expressions/term_internal.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

const char* operator_name(ast::Operator op) {
  switch (op) {
    case ast::Operator::kEq:
      return "=";
    case ast::Operator::kNeq:
      return "!=";
    case ast::Operator::kLt:
      return "<";
    case ast::Operator::kLte:
      return "<=";
    case ast::Operator::kGt:
      return ">";
    case ast::Operator::kGte:
      return ">=";
    case ast::Operator::kIn:
      return "IN";
    case ast::Operator::kContains:
      return "CONTAINS";
    case ast::Operator::kContainsKey:
      return "CONTAINS KEY";
    case ast::Operator::kLike:
      return "LIKE";
    case ast::Operator::kIsNot:
      return "IS NOT";
  }
  return "";
}

// Checks and prepares one relation.
class RelationPreparer {
 public:
  RelationPreparer(const TableMetadata& table, const ast::Relation& relation, PrepareContext& context)
      : table_(table), relation_(relation), context_(context) {}

  Result<Restriction> prepare() {
    result_.is_multi_column = relation_.target == ast::Relation::Target::kTuple;
    if (relation_.op == ast::Operator::kIsNot) return invalid("Unsupported restriction: " + text());
    if (relation_.op == ast::Operator::kNeq) return invalid("Unsupported \"!=\" relation: " + text());
    TRY(result_.is_multi_column ? check_multi_column() : check_single_column());
    TRY(prepare_values());
    return std::move(result_);
  }

 private:
  Result<const Column*> find(const std::string& name) const { return named_column(table_, name); }
  const Column* column() const { return result_.columns[0]; }
  ColumnSpec spec(std::string name, TypePtr type) const {
    return {table_.keyspace, table_.name, std::move(name), std::move(type)};
  }
  bool is_slice() const { return relation_.op >= ast::Operator::kLt && relation_.op <= ast::Operator::kGte; }
  std::string text() const {
    std::string columns;
    for (const std::string& name : relation_.columns) columns += (columns.empty() ? "" : ", ") + quote_identifier(name);
    if (result_.is_multi_column) columns = "(" + columns + ")";
    if (relation_.key) columns += "[" + source(*relation_.key, context_, "") + "]";
    return columns + " " + operator_name(relation_.op) + " " + source(relation_.value, context_, "");
  }

  Status check_single_column() {
    ASSIGN_OR_RETURN(const Column* column, find(relation_.columns[0]));
    result_.columns.push_back(column);
    const Type& type = column->type->base();
    const std::string& name = column->name;
    if (is_slice() && contains_duration(type)) {
      if (type.is_collection())
        return invalid("Slice restrictions are not supported on collections containing durations");
      if (type.is_udt()) return invalid("Slice restrictions are not supported on UDTs containing durations");
      if (type.is_tuple()) return invalid("Slice restrictions are not supported on tuples containing durations");
      return invalid("Slice restrictions are not supported on duration columns");
    }
    // In Cassandra a descending collection is no collection.
    const bool descending = column->type->is_reversed();
    const bool is_map = type.kind() == TypeKind::kMap && !descending;
    if (relation_.op == ast::Operator::kContainsKey && !is_map) {
      return invalid("Cannot use CONTAINS KEY on non-map column " + name);
    }
    if (relation_.op == ast::Operator::kContains && (!type.is_collection() || descending)) {
      return invalid("Cannot use CONTAINS on non-collection column " + name);
    }
    if (relation_.target == ast::Relation::Target::kElement) {
      if (type.kind() == TypeKind::kList && !descending) {
        return invalid("Indexes on list entries (" + name + "[index] = value) are not currently supported.");
      }
      if (!is_map) return invalid("Column " + name + " cannot be used as a map");
      if (!type.is_multi_cell()) {
        return invalid("Map-entry equality predicates on frozen map column " + name + " are not supported");
      }
      if (relation_.op != ast::Operator::kEq) return invalid("Only EQ relations are supported on map entries");
    }
    if (type.is_udt() && type.is_multi_cell()) {
      return invalid("Non-frozen UDT column '" + name + "' (" + type.cql_name() +
                     ") cannot be restricted by any relation");
    }
    if (type.is_collection() && type.is_multi_cell() && relation_.target == ast::Relation::Target::kColumn &&
        relation_.op != ast::Operator::kContains && relation_.op != ast::Operator::kContainsKey) {
      return invalid("Collection column '" + name + "' (" + type.cql_name() + ") cannot be restricted by a '" +
                     operator_name(relation_.op) + "' relation");
    }
    return {};
  }

  Status check_multi_column() {
    if (relation_.op >= ast::Operator::kContains || relation_.op == ast::Operator::kNeq) {
      return invalid(std::string(operator_name(relation_.op)) + " cannot be used for multi-column relations");
    }
    int previous = -1;
    for (size_t i = 0; i < relation_.columns.size(); ++i) {
      ASSIGN_OR_RETURN(const Column* c, find(relation_.columns[i]));
      result_.columns.push_back(c);
      if (c->kind != ColumnKind::kClustering) {
        return invalid("Multi-column relations can only be applied to clustering columns but was applied to: " +
                       c->name);
      }
      if (std::count(result_.columns.begin(), result_.columns.begin() + static_cast<ptrdiff_t>(i), c) > 0) {
        return invalid("Column \"" + c->name + "\" appeared twice in a relation: " + text());
      }
      if (previous != -1 && c->position != previous + 1) {
        return invalid("Clustering columns must appear in the PRIMARY KEY order in multi-column relations: " + text());
      }
      previous = c->position;
    }
    return {};
  }

  Status prepare_values() {
    using Op = ast::Operator;
    switch (relation_.op) {
      case Op::kEq:
        if (relation_.target == ast::Relation::Target::kElement) return prepare_entry();
        result_.kind = Restriction::Kind::kEq;
        return prepare_tuple(relation_.value, result_.eq);
      case Op::kIn:
        return prepare_in_values();
      case Op::kContains:
      case Op::kContainsKey:
        return prepare_contains();
      case Op::kLike:
        TRY(prepare_tuple(relation_.value, result_.eq));
        return invalid("LIKE restriction is only supported on properly indexed columns. " + text() + " is not valid.");
      case Op::kLt:
      case Op::kLte:
      case Op::kGt:
      case Op::kGte: {
        result_.kind = Restriction::Kind::kSlice;
        bool start = relation_.op == Op::kGt || relation_.op == Op::kGte;
        auto& bound = start ? result_.start : result_.end;
        bound = Restriction::Bound();
        bound->inclusive = relation_.op == Op::kGte || relation_.op == Op::kLte;
        return prepare_tuple(relation_.value, bound->value);
      }
      default:
        return invalid(std::string("Unsupported relation: ") + text());
    }
  }

  Status prepare_tuple(const ast::Term& term, TupleValue& into) {
    if (!result_.is_multi_column) {
      ASSIGN_OR_RETURN(TermPtr value, prepare_term(term, spec(column()->name, column()->type), context_));
      into.elements.push_back(std::move(value));
      return {};
    }
    if (const auto* literal = std::get_if<ast::TupleLiteral>(&term.value)) {
      if (literal->elements.size() != result_.columns.size()) {
        return invalid("Expected " + std::to_string(result_.columns.size()) + " elements in value tuple, but got " +
                       std::to_string(literal->elements.size()) + ": " + source(term, context_));
      }
      for (size_t i = 0; i < result_.columns.size(); ++i) {
        const Column* c = result_.columns[i];
        ASSIGN_OR_RETURN(TermPtr value, prepare_term(literal->elements[i], spec(c->name, c->type), context_));
        into.elements.push_back(std::move(value));
      }
      return {};
    }
    into.name = "(" + comma_names() + ")";
    ASSIGN_OR_RETURN(into.tuple, prepare_term(term, spec(into.name, tuple_type()), context_));
    return {};
  }

  std::string comma_names() const {
    std::string text;
    for (const Column* c : result_.columns) text += (text.empty() ? "" : ",") + c->name;
    return text;
  }
  TypePtr tuple_type() const {
    std::vector<TypePtr> fields;
    for (const Column* c : result_.columns) fields.push_back(unreversed(c->type));
    return types::tuple(std::move(fields));
  }
  static TypePtr unreversed(const TypePtr& type) {
    if (!type->is_reversed()) return type;
    auto base = types::parse_class(type->base().class_name());
    CHECK(base.ok());
    return *base;
  }

  Status prepare_in_values() {
    result_.kind = Restriction::Kind::kIn;
    if (std::holds_alternative<ast::BindMarker>(relation_.in_values)) {
      ColumnSpec receiver = result_.is_multi_column ? spec(comma_names(), tuple_type())
                                                    : spec(column()->name, unreversed(column()->type));
      ASSIGN_OR_RETURN(result_.in_marker, prepare_in(relation_.in_values, receiver, context_, result_.is_multi_column));
      return {};
    }
    for (const ast::Term& term : std::get<std::vector<ast::Term>>(relation_.in_values)) {
      result_.in.emplace_back();
      TRY(prepare_tuple(term, result_.in.back()));
    }
    if (result_.in.size() == 1) {
      result_.kind = Restriction::Kind::kEq;
      result_.eq = std::move(result_.in[0]);
      result_.in.clear();
    }
    return {};
  }

  Status prepare_contains() {
    result_.kind = Restriction::Kind::kContains;
    Restriction::Containment containment;
    bool key = relation_.op == ast::Operator::kContainsKey;
    containment.op = key ? Operator::kContainsKey : Operator::kContains;
    const auto& elements = column()->type->elements();
    ColumnSpec receiver = spec((key ? "key(" : "value(") + column()->name + ")", key ? elements[0] : elements.back());
    ASSIGN_OR_RETURN(containment.value, prepare_term(relation_.value, receiver, context_));
    result_.contains.push_back(std::move(containment));
    return {};
  }

  Status prepare_entry() {
    result_.kind = Restriction::Kind::kContains;
    Restriction::Containment entry;
    entry.op = Operator::kEq;
    const auto& elements = column()->type->elements();
    ASSIGN_OR_RETURN(entry.key,
                     prepare_term(*relation_.key, spec("key(" + column()->name + ")", elements[0]), context_));
    ASSIGN_OR_RETURN(entry.value,
                     prepare_term(relation_.value, spec("value(" + column()->name + ")", elements[1]), context_));
    result_.contains.push_back(std::move(entry));
    return {};
  }

  const TableMetadata& table_;
  const ast::Relation& relation_;
  PrepareContext& context_;
  Restriction result_;
};

std::string common_names(const Restriction& a, const Restriction& b) {
  std::string text;
  for (const Column* column : a.columns) {
    if (b.covers(column)) text += (text.empty() ? "" : " ,") + column->name;
  }
  return text;
}

bool is_filterable_index(const IndexMetadata& index) { return index.kind != IndexKind::kCustom; }

}  // namespace

Result<Values> TupleValue::bind(ExecutionContext& context, size_t count) const {
  ASSIGN_OR_RETURN(Values values, bind_prefix(context, count));
  values.resize(count, kNull);
  return values;
}

Result<Values> TupleValue::bind_prefix(ExecutionContext& context, size_t count) const {
  Values values;
  if (tuple == nullptr) {
    for (const TermPtr& element : elements) {
      ASSIGN_OR_RETURN(BytesView value, element->bind(context));
      values.push_back(value);
    }
    return values;
  }
  ASSIGN_OR_RETURN(BytesView serialized, tuple->bind(context));
  if (is_unset(serialized)) return invalid("Invalid unset value for tuple " + name);
  if (is_null(serialized)) {
    values.assign(count, serialized);
    return values;
  }
  auto fields = ElementReader::tuple(serialized);
  BytesView field;
  while (values.size() < count && fields.next(&field)) values.push_back(field);
  return values;
}

bool Restriction::covers(const Column* column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

namespace {

Status check_filter_value(const Column* column, BytesView value, const std::string& what = "value") {
  if (is_null(value)) return invalid("Unsupported null " + what + " for column " + column->name);
  if (is_unset(value)) return invalid("Unsupported unset " + what + " for column " + column->name);
  return {};
}

constexpr char kNullInCondition[] = "Invalid null value in condition for column ";

Status check_value(const Column* column, BytesView value, const char* null = kNullInCondition) {
  if (is_null(value)) return invalid(null + column->name);
  if (is_unset(value)) return invalid("Invalid unset value for column " + column->name);
  return {};
}

Status check_values(const std::vector<const Column*>& columns, const Values& values,
                    const char* null = kNullInCondition) {
  for (size_t i = 0; i < values.size(); ++i) TRY(check_value(columns[i], values[i], null));
  return {};
}

}  // namespace

Status Restriction::check_tuple(const Values& values, Nulls nulls) const {
  if (nulls == Nulls::kPass && std::any_of(values.begin(), values.end(), is_null)) return {};
  if (!is_multi_column) return check_values(columns, values);
  if (kind == Kind::kEq) return check_values(columns, values, "Invalid null value for column ");
  if (std::any_of(values.begin(), values.end(), is_null)) {
    std::string names;
    for (const Column* column : columns) names += (names.empty() ? "" : ", ") + column->name;
    return invalid("Invalid null value in condition for columns: [" + names + "]");
  }
  return check_values(columns, values);
}

Result<BytesView> Restriction::bind_value(ExecutionContext& context) const {
  ASSIGN_OR_RETURN(BytesView value, eq.elements[0]->bind(context));
  TRY(check_value(columns[0], value));
  return value;
}

Result<Tuples> Restriction::bind_tuples(ExecutionContext& context, Nulls nulls) const {
  Tuples tuples;
  if (kind == Kind::kEq) {
    ASSIGN_OR_RETURN(Values values, eq.bind(context, columns.size()));
    TRY(check_tuple(values, nulls));
    tuples.push_back(std::move(values));
    return tuples;
  }
  if (in_marker != nullptr) {
    ASSIGN_OR_RETURN(auto items, in_marker->bind(context));
    for (BytesView item : items) {
      Values values{item};
      if (is_multi_column) {
        values.clear();
        auto fields = ElementReader::tuple(item);
        BytesView field;
        while (values.size() < columns.size() && fields.next(&field)) values.push_back(field);
        values.resize(columns.size(), kNull);
      }
      TRY(check_tuple(values, nulls));
      tuples.push_back(std::move(values));
    }
    return tuples;
  }
  for (const TupleValue& value : in) {
    ASSIGN_OR_RETURN(Values values, value.bind(context, columns.size()));
    TRY(check_tuple(values, nulls));
    tuples.push_back(std::move(values));
  }
  return tuples;
}

Result<Values> Restriction::bind_bound(const Bound& bound, ExecutionContext& context) const {
  ASSIGN_OR_RETURN(Values values, bound.value.bind_prefix(context, columns.size()));
  TRY(check_values(columns, values));
  return values;
}

Status Restriction::add_to_filter(RowFilter& filter, ExecutionContext& context) const {
  auto add = [&](size_t i, Operator op, BytesView value) {
    filter.push_back({columns[i], op, Bytes(value), {}, false});
  };
  if (kind == Kind::kEq) {
    ASSIGN_OR_RETURN(Values values, eq.bind(context, columns.size()));
    for (size_t i = 0; i < columns.size(); ++i) {
      TRY(check_filter_value(columns[i], values[i]));
      add(i, Operator::kEq, values[i]);
    }
  } else if (kind == Kind::kIn) {
    if (columns.size() > 1) return invalid("Multicolumn IN filters are not supported");
    ASSIGN_OR_RETURN(auto tuples, bind_tuples(context, Nulls::kPass));
    Bytes list;
    append_be<int32_t>(list, static_cast<int32_t>(tuples.size()));
    for (const Values& values : tuples) append_element(list, values[0]);
    add(0, Operator::kIn, list);
  } else if (kind == Kind::kSlice) {
    if (is_multi_column && columns.size() > 1)
      return invalid("Multi-column slice restrictions cannot be used for filtering.");
    for (bool is_start : {true, false}) {
      const auto& bound = is_start ? start : end;
      if (!bound) continue;
      ASSIGN_OR_RETURN(Values values, bound->value.bind(context, 1));
      TRY(check_filter_value(columns[0], values[0]));
      add(0,
          is_start ? (bound->inclusive ? Operator::kGte : Operator::kGt)
                   : (bound->inclusive ? Operator::kLte : Operator::kLt),
          values[0]);
    }
  } else {
    for (const Containment& containment : contains) {
      FilterExpression expression{columns[0], containment.op, {}, {}, false};
      if (containment.key != nullptr) {
        ASSIGN_OR_RETURN(BytesView key, containment.key->bind(context));
        TRY(check_filter_value(columns[0], key, "map key"));
        expression.map_key = Bytes(key);
        expression.is_map_entry = true;
      }
      ASSIGN_OR_RETURN(BytesView value, containment.value->bind(context));
      TRY(check_filter_value(columns[0], value, expression.is_map_entry ? "map value" : "value"));
      expression.value = Bytes(value);
      filter.push_back(std::move(expression));
    }
  }
  return {};
}

const IndexMetadata* Restriction::supporting_index(const TableMetadata& table) const {
  for (const auto& [name, index] : table.indexes) {
    auto option = index.options.find("target");
    if (option == index.options.end() || !is_filterable_index(index)) continue;
    IndexTarget target = parse_index_target(option->second);
    if (std::none_of(columns.begin(), columns.end(), [&](const Column* c) { return c->name == target.column; }))
      continue;
    if (kind == Kind::kEq && (target.type == IndexTargetType::kSimple || target.type == IndexTargetType::kFull))
      return &index;
    for (const Containment& containment : contains) {
      IndexTargetType wanted = containment.op == Operator::kContainsKey ? IndexTargetType::kKeys
                               : containment.key != nullptr             ? IndexTargetType::kEntries
                                                                        : IndexTargetType::kValues;
      if (target.type == wanted) return &index;
    }
  }
  return nullptr;
}

Result<Restriction> prepare_relation(const TableMetadata& table, const ast::Relation& relation,
                                     PrepareContext& context) {
  return RelationPreparer(table, relation, context).prepare();
}

Status merge_restriction(Restriction& to, Restriction from) {
  using Kind = Restriction::Kind;
  std::string common = common_names(to, from);
  if (to.kind == Kind::kEq)
    return invalid(common + " cannot be restricted by more than one relation if it includes an Equal");
  if (to.kind == Kind::kIn)
    return invalid(common + " cannot be restricted by more than one relation if it includes a IN");
  if (to.kind == Kind::kContains) {
    if (from.kind != Kind::kContains) {
      return invalid("Collection column " + common +
                     " can only be restricted by CONTAINS, CONTAINS KEY, or map-entry equality");
    }
    for (auto& containment : from.contains) to.contains.push_back(std::move(containment));
    return {};
  }
  if (!from.is_slice()) {
    return invalid("Column \"" + common + "\" cannot be restricted by both an equality and an inequality relation");
  }
  if (to.first() != from.first()) {
    return invalid("Column \"" + common +
                   "\" cannot be restricted by two inequalities not starting with the same column");
  }
  if (to.start && from.start) return invalid("More than one restriction was found for the start bound on " + common);
  if (to.end && from.end) return invalid("More than one restriction was found for the end bound on " + common);
  // Two slices of tuples of different length are one of the longer: the shorter bound keeps its own columns.
  if (from.columns.size() > to.columns.size()) to.columns = from.columns;
  if (from.start) to.start = std::move(from.start);
  if (from.end) to.end = std::move(from.end);
  to.is_multi_column = to.is_multi_column || from.is_multi_column;
  return {};
}

}  // namespace cassandra_like
