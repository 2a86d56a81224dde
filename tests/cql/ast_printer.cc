#include "tests/cql/ast_printer.h"

#include <type_traits>

namespace cassandra_like::ast {

// In the namespace of what they print, so that templates find them however late they come.
static std::string print(const Selectable& selectable);

static const char* symbol(ArithmeticOperator op) {
  constexpr const char* kSymbols[] = {"+", "-", "*", "/", "%", "neg"};
  return kSymbols[size_t(op)];
}

static const char* symbol(Operator op) {
  constexpr const char* kSymbols[] = {"=",        "!=",           "<",    "<=",    ">", ">=", "IN",
                                      "CONTAINS", "CONTAINS_KEY", "LIKE", "IS_NOT"};
  return kSymbols[size_t(op)];
}

static std::string print(const std::string& s) { return s.empty() ? "\"\"" : s; }

static std::string print(const QualifiedName& name) {
  return name.keyspace.empty() ? name.name : name.keyspace + "." + name.name;
}

// Items of a list, each with a space before it.
template <class List, class Print>
static std::string spaced(const List& list, Print print_item) {
  std::string out;
  for (const auto& item : list) out += " " + print_item(item);
  return out;
}

template <class List, class Print>
static std::string bracketed(const List& list, Print print_item) {
  std::string items = spaced(list, print_item);
  return "[" + (items.empty() ? items : items.substr(1)) + "]";
}

constexpr auto kPrint = [](const auto& item) { return print(item); };
constexpr auto kPrintPair = [](const auto& pair) {
  const auto& [first, second] = pair;
  return print(first) + ":" + print(second);
};

static std::string print(const Literal& literal) {
  constexpr const char* kKinds[] = {"string", "int", "float", "bool", "uuid", "duration", "hex"};
  return std::string(kKinds[size_t(literal.kind)]) + "'" + literal.text + "'";
}

static std::string print(const InValues& values) {
  if (auto* marker = std::get_if<BindMarker>(&values)) return "?" + std::to_string(marker->index);
  return bracketed(std::get<std::vector<Term>>(values), kPrint);
}

struct TermPrinter {
  std::string operator()(const NullLiteral&) const { return "null"; }
  std::string operator()(const Literal& literal) const { return print(literal); }
  std::string operator()(const BindMarker& marker) const { return "?" + std::to_string(marker.index); }
  std::string operator()(const ArrayLiteral& array) const { return "array" + bracketed(array.elements, kPrint); }
  std::string operator()(const SetLiteral& set) const { return "set" + bracketed(set.elements, kPrint); }
  std::string operator()(const MapLiteral& map) const { return "map" + bracketed(map.entries, kPrintPair); }
  std::string operator()(const UdtLiteral& udt) const { return "udt" + bracketed(udt.fields, kPrintPair); }
  std::string operator()(const TupleLiteral& tuple) const { return "tuple" + bracketed(tuple.elements, kPrint); }
  std::string operator()(const FunctionCall& call) const {
    return "(call " + print(call.function) + spaced(call.arguments, kPrint) + ")";
  }
  std::string operator()(const Arithmetic& a) const {
    return std::string("(") + symbol(a.op) + " " + print(*a.left) + (a.right ? " " + print(**a.right) : "") + ")";
  }
  std::string operator()(const TypeHint& hint) const {
    return "(hint " + print(hint.type) + " " + print(*hint.term) + ")";
  }
  std::string operator()(const Cast& cast) const { return "(cast " + print(*cast.term) + " " + print(cast.type) + ")"; }
};

struct SelectablePrinter {
  std::string operator()(const ColumnSelectable& column) const { return column.name; }
  std::string operator()(const TermSelectable& term) const { return print(term.term); }
  std::string operator()(const CountAllSelectable&) const { return "count(*)"; }
  std::string operator()(const WritetimeOrTtlSelectable& w) const {
    constexpr const char* kKinds[] = {"writetime", "maxwritetime", "ttl"};
    return std::string("(") + kKinds[size_t(w.kind)] + " " + w.column + " " + print(*w.selected) + ")";
  }
  std::string operator()(const FunctionSelectable& call) const {
    return "(call " + print(call.function) + spaced(call.arguments, kPrint) + ")";
  }
  std::string operator()(const CastSelectable& cast) const {
    return "(cast " + print(*cast.argument) + " " + print(cast.type) + ")";
  }
  std::string operator()(const FieldSelectable& f) const {
    return "(field " + print(*f.receiver) + " " + f.field + ")";
  }
  std::string operator()(const ElementSelectable& e) const {
    return "(element " + print(*e.receiver) + " " + print(e.element) + ")";
  }
  std::string operator()(const SliceSelectable& s) const {
    return "(slice " + print(*s.receiver) + " " + (s.from ? print(*s.from) : "") + ".." + (s.to ? print(*s.to) : "") +
           ")";
  }
  std::string operator()(const TypeHintSelectable& hint) const {
    return "(hint " + print(hint.type) + " " + print(*hint.selectable) + ")";
  }
  std::string operator()(const ParenthesesSelectable& p) const { return "tuple" + bracketed(p.elements, kPrint); }
  std::string operator()(const ArraySelectable& array) const { return "array" + bracketed(array.elements, kPrint); }
  std::string operator()(const SetSelectable& set) const { return "set" + bracketed(set.elements, kPrint); }
  std::string operator()(const MapOrUdtSelectable& map) const { return "map" + bracketed(map.entries, kPrintPair); }
  std::string operator()(const ArithmeticSelectable& a) const {
    return std::string("(") + symbol(a.op) + " " + print(*a.left) + (a.right ? " " + print(**a.right) : "") + ")";
  }
};

static std::string print(const Selectable& selectable) { return std::visit(SelectablePrinter{}, selectable.value); }

static std::string print(const Selector& selector) {
  return print(selector.selectable) + (selector.alias ? " AS " + *selector.alias : "");
}

static std::string print(const Relation& r) {
  std::string left = print(r.columns[0]);
  if (r.target == Relation::Target::kElement) left += "[" + print(*r.key) + "]";
  if (r.target == Relation::Target::kToken) left = "token" + bracketed(r.columns, kPrint);
  if (r.target == Relation::Target::kTuple) left = bracketed(r.columns, kPrint);
  std::string right = r.op == Operator::kIn ? print(r.in_values) : print(r.value);
  return std::string("(") + symbol(r.op) + " " + left + " " + right + ")";
}

static std::string print_part(const std::variant<std::monostate, Term, std::string>& part) {
  if (auto* element = std::get_if<Term>(&part)) return "[" + print(*element) + "]";
  if (auto* field = std::get_if<std::string>(&part)) return "." + *field;
  return "";
}

static std::string print(const ColumnCondition& c) {
  std::string right = c.op == Operator::kIn ? print(c.in_values) : print(c.value);
  return std::string("(") + symbol(c.op) + " " + print(c.column) + print_part(c.part) + " " + right + ")";
}

static std::string print(const Deletion& d) { return print(d.column) + print_part(d.part); }

static std::string print(const OrderBy& order) {
  std::string out = print(order.column);
  if (order.ann_of) out += " ANN " + print(*order.ann_of);
  return out + (order.descending ? " DESC" : "");
}

static std::string print(const ClusteringOrder& order) { return order.column + (order.descending ? " DESC" : " ASC"); }

static std::string print(const Assignment& a) {
  constexpr const char* kKinds[] = {"=", "=", "=", "+=", "-=", "prepend"};
  std::string left = print(a.column);
  if (a.element) left += "[" + print(*a.element) + "]";
  if (!a.field.empty()) left += "." + a.field;
  return std::string("(") + kKinds[size_t(a.kind)] + " " + left + " " + print(a.value) + ")";
}

static std::string print(const Property& property) {
  if (auto* text = std::get_if<std::string>(&property.value)) return property.name + "='" + *text + "'";
  return property.name + "=map" + bracketed(std::get<Property::Map>(property.value), kPrintPair);
}

static std::string print(const ColumnMask& mask) {
  return "(mask " + print(mask.function) + spaced(mask.arguments, kPrint) + ")";
}

static std::string print(const ColumnDefinition& column) {
  std::string out = column.name + ":" + print(column.type) + (column.is_static ? " STATIC" : "");
  return column.mask ? out + " " + print(*column.mask) : out;
}

static std::string print(const IndexTarget& target) {
  constexpr const char* kKinds[] = {"", "values ", "keys ", "entries ", "full "};
  return kKinds[size_t(target.kind)] + print(target.column);
}

static std::string print(const Permission& permission) {
  constexpr const char* kNames[] = {"CREATE",    "ALTER",    "DROP",    "SELECT", "MODIFY",
                                    "AUTHORIZE", "DESCRIBE", "EXECUTE", "UNMASK", "SELECT_MASKED"};
  return kNames[size_t(permission)];
}

static std::string print(const Resource& resource) {
  constexpr const char* kKinds[] = {"all_keyspaces", "keyspace",   "table",         "all_tables",
                                    "all_roles",     "role",       "all_functions", "all_functions_in",
                                    "function",      "all_mbeans", "mbean",         "mbeans"};
  std::string out = "(" + std::string(kKinds[size_t(resource.kind)]);
  if (!resource.name.keyspace.empty() || !resource.name.name.empty()) out += " " + print(resource.name);
  return out + spaced(resource.argument_types, kPrint) + ")";
}

static std::string print(const int64_t& number) { return std::to_string(number); }

static std::string print(const CustomIndexExpression& e) {
  return "(expr " + print(e.index) + " " + print(e.value) + ")";
}

// Writes the fields of one statement.
class StatementPrinter {
 public:
  explicit StatementPrinter(const char* name) : out_(name) {}
  std::string take() { return std::move(out_); }

  StatementPrinter& flag(const char* name, bool value) {
    if (value) out_ += std::string(" ") + name;
    return *this;
  }
  template <class T>
  StatementPrinter& field(const char* name, const T& value) {
    out_ += std::string(" ") + name + "=" + print(value);
    return *this;
  }
  template <class T>
  StatementPrinter& field(const char* name, const std::optional<T>& value) {
    return value ? field(name, *value) : *this;
  }
  template <class T>
  StatementPrinter& field(const char* name, const std::vector<T>& list) {
    if (!list.empty()) out_ += std::string(" ") + name + "=" + bracketed(list, kPrint);
    return *this;
  }
  template <class A, class B>
  StatementPrinter& field(const char* name, const std::vector<std::pair<A, B>>& list) {
    if (!list.empty()) out_ += std::string(" ") + name + "=" + bracketed(list, kPrintPair);
    return *this;
  }
  StatementPrinter& where(const WhereClause& where) {
    return field("where", where.relations).field("expr", where.expressions);
  }
  StatementPrinter& using_(const Attributes& attributes) {
    return field("timestamp", attributes.timestamp).field("ttl", attributes.ttl);
  }
  StatementPrinter& if_(const UpdateConditions& conditions) {
    return flag("if_exists", conditions.if_exists).field("if", conditions.conditions);
  }
  StatementPrinter& options(const RoleOptions& o) {
    auto boolean = [this](const char* name, const std::optional<bool>& value) {
      if (value) field(name, std::string(*value ? "true" : "false"));
    };
    auto list = [this](const char* name, const auto& value) {
      if (value) out_ += std::string(" ") + name + "=" + bracketed(*value, kPrint);
    };
    field("password", o.password).field("hashed_password", o.hashed_password);
    boolean("superuser", o.superuser);
    boolean("login", o.login);
    if (o.options) out_ += " options=" + bracketed(*o.options, kPrintPair);
    list("datacenters", o.datacenters);
    list("cidr_groups", o.cidr_groups);
    return *this;
  }

 private:
  std::string out_;
};

struct BodyPrinter {
  using P = StatementPrinter;

  std::string operator()(const Select& s) const {
    P p("Select");
    p.flag("json", s.json).flag("distinct", s.distinct).field("selectors", s.selectors).field("table", s.table);
    p.where(s.where).field("group_by", s.group_by).field("order_by", s.order_by);
    p.field("per_partition_limit", s.per_partition_limit).field("limit", s.limit);
    return p.flag("allow_filtering", s.allow_filtering).take();
  }
  std::string operator()(const Insert& s) const {
    P p("Insert");
    p.field("table", s.table).field("columns", s.columns).field("values", s.values);
    return p.flag("if_not_exists", s.if_not_exists).using_(s.using_).take();
  }
  std::string operator()(const InsertJson& s) const {
    P p("InsertJson");
    p.field("table", s.table).field("value", s.value).flag("default_unset", s.default_unset);
    return p.flag("if_not_exists", s.if_not_exists).using_(s.using_).take();
  }
  std::string operator()(const Update& s) const {
    P p("Update");
    return p.field("table", s.table).using_(s.using_).field("set", s.assignments).where(s.where).if_(s.if_).take();
  }
  std::string operator()(const Delete& s) const {
    P p("Delete");
    return p.field("table", s.table).using_(s.using_).field("what", s.deletions).where(s.where).if_(s.if_).take();
  }
  std::string operator()(const Batch& s) const {
    constexpr const char* kKinds[] = {"LoggedBatch", "UnloggedBatch", "CounterBatch"};
    std::string out = P(kKinds[size_t(s.kind)]).using_(s.using_).take();
    for (const Modification& statement : s.statements) out += " {" + std::visit(*this, statement) + "}";
    return out;
  }
  std::string operator()(const Truncate& s) const { return P("Truncate").field("table", s.table).take(); }
  std::string operator()(const Use& s) const { return P("Use").field("keyspace", s.keyspace).take(); }
  std::string operator()(const CreateKeyspace& s) const {
    P p("CreateKeyspace");
    p.flag("if_not_exists", s.if_not_exists).field("keyspace", s.keyspace);
    return p.field("properties", s.properties).take();
  }
  std::string operator()(const AlterKeyspace& s) const {
    P p("AlterKeyspace");
    return p.flag("if_exists", s.if_exists).field("keyspace", s.keyspace).field("properties", s.properties).take();
  }
  std::string operator()(const DropKeyspace& s) const {
    return P("DropKeyspace").flag("if_exists", s.if_exists).field("keyspace", s.keyspace).take();
  }
  std::string operator()(const CreateTable& s) const {
    P p("CreateTable");
    p.flag("if_not_exists", s.if_not_exists).field("table", s.table).field("columns", s.columns);
    p.field("partition_key", s.partition_key).field("clustering", s.clustering).field("order", s.clustering_order);
    return p.flag("compact_storage", s.compact_storage).field("properties", s.properties).take();
  }
  std::string operator()(const AlterTable& s) const {
    std::string out = P("AlterTable").flag("if_exists", s.if_exists).field("table", s.table).take();
    return out + " " + std::visit(*this, s.change);
  }
  std::string operator()(const AlterColumnType& c) const {
    return P("type").field("column", c.column).field("type", c.type).take();
  }
  std::string operator()(const AlterColumnMask& c) const {
    return P("mask").flag("if_exists", c.if_exists).field("column", c.column).field("mask", c.mask).take();
  }
  std::string operator()(const AddColumns& c) const {
    return P("add").flag("if_not_exists", c.if_not_exists).field("columns", c.columns).take();
  }
  std::string operator()(const DropColumns& c) const {
    P p("drop");
    return p.flag("if_exists", c.if_exists).field("columns", c.columns).field("timestamp", c.timestamp).take();
  }
  std::string operator()(const RenameColumns& c) const {
    return P("rename").flag("if_exists", c.if_exists).field("names", c.renames).take();
  }
  std::string operator()(const DropCompactStorage&) const { return "drop_compact_storage"; }
  std::string operator()(const Properties& properties) const {
    return P("with").field("properties", properties).take();
  }
  std::string operator()(const DropTable& s) const {
    return P("DropTable").flag("if_exists", s.if_exists).field("table", s.table).take();
  }
  std::string operator()(const CreateType& s) const {
    P p("CreateType");
    return p.flag("if_not_exists", s.if_not_exists).field("type", s.type).field("fields", s.fields).take();
  }
  std::string operator()(const AlterType& s) const {
    std::string out = P("AlterType").flag("if_exists", s.if_exists).field("type", s.type).take();
    return out + " " + std::visit(*this, s.change);
  }
  std::string operator()(const AddField& c) const {
    return P("add").flag("if_not_exists", c.if_not_exists).field("field", c.field).field("type", c.type).take();
  }
  std::string operator()(const DropType& s) const {
    return P("DropType").flag("if_exists", s.if_exists).field("type", s.type).take();
  }
  std::string operator()(const CreateIndex& s) const {
    P p("CreateIndex");
    p.flag("custom", s.custom).flag("if_not_exists", s.if_not_exists).field("name", s.name).field("table", s.table);
    return p.field("targets", s.targets).field("using", s.using_class).field("properties", s.properties).take();
  }
  std::string operator()(const DropIndex& s) const {
    return P("DropIndex").flag("if_exists", s.if_exists).field("index", s.index).take();
  }
  std::string operator()(const CreateView& s) const {
    P p("CreateView");
    p.flag("if_not_exists", s.if_not_exists).field("view", s.view).field("selectors", s.selectors);
    p.field("table", s.base_table).where(s.where).field("partition_key", s.partition_key);
    p.field("clustering", s.clustering).field("order", s.clustering_order);
    return p.field("properties", s.properties).take();
  }
  std::string operator()(const AlterView& s) const {
    P p("AlterView");
    return p.flag("if_exists", s.if_exists).field("view", s.view).field("properties", s.properties).take();
  }
  std::string operator()(const DropView& s) const {
    return P("DropView").flag("if_exists", s.if_exists).field("view", s.view).take();
  }
  std::string operator()(const CreateTrigger& s) const {
    P p("CreateTrigger");
    p.flag("if_not_exists", s.if_not_exists).field("name", s.name).field("table", s.table);
    return p.field("class", s.class_name).take();
  }
  std::string operator()(const DropTrigger& s) const {
    return P("DropTrigger").flag("if_exists", s.if_exists).field("name", s.name).field("table", s.table).take();
  }
  std::string operator()(const CreateFunction& s) const {
    P p("CreateFunction");
    p.flag("or_replace", s.or_replace).flag("if_not_exists", s.if_not_exists).field("function", s.function);
    p.field("arguments", s.arguments).flag("called_on_null_input", s.called_on_null_input);
    return p.field("returns", s.return_type).field("language", s.language).field("body", s.body).take();
  }
  std::string operator()(const DropFunction& s) const {
    P p(s.aggregate ? "DropAggregate" : "DropFunction");
    p.flag("if_exists", s.if_exists).field("function", s.function);
    return p.take() + (s.argument_types ? " types=" + bracketed(*s.argument_types, kPrint) : "");
  }
  std::string operator()(const CreateAggregate& s) const {
    P p("CreateAggregate");
    p.flag("or_replace", s.or_replace).flag("if_not_exists", s.if_not_exists).field("aggregate", s.aggregate);
    p.field("types", s.argument_types).field("sfunc", s.state_function).field("stype", s.state_type);
    return p.field("finalfunc", s.final_function).field("initcond", s.initial_condition).take();
  }
  std::string operator()(const CreateRole& s) const {
    P p(s.user ? "CreateUser" : "CreateRole");
    return p.flag("if_not_exists", s.if_not_exists).field("role", s.role).options(s.options).take();
  }
  std::string operator()(const AlterRole& s) const {
    P p(s.user ? "AlterUser" : "AlterRole");
    return p.flag("if_exists", s.if_exists).field("role", s.role).options(s.options).take();
  }
  std::string operator()(const DropRole& s) const {
    return P(s.user ? "DropUser" : "DropRole").flag("if_exists", s.if_exists).field("role", s.role).take();
  }
  std::string operator()(const AddIdentity& s) const {
    P p("AddIdentity");
    return p.flag("if_not_exists", s.if_not_exists).field("identity", s.identity).field("role", s.role).take();
  }
  std::string operator()(const DropIdentity& s) const {
    return P("DropIdentity").flag("if_exists", s.if_exists).field("identity", s.identity).take();
  }
  std::string operator()(const GrantRole& s) const {
    return P("GrantRole").field("role", s.role).field("to", s.grantee).take();
  }
  std::string operator()(const RevokeRole& s) const {
    return P("RevokeRole").field("role", s.role).field("from", s.revokee).take();
  }
  std::string operator()(const ListRoles& s) const {
    return P(s.users ? "ListUsers" : "ListRoles").field("of", s.grantee).flag("norecursive", !s.recursive).take();
  }
  std::string operator()(const GrantPermissions& s) const {
    P p(s.revoke ? "RevokePermissions" : "GrantPermissions");
    return p.field("permissions", s.permissions).field("on", s.resource).field("role", s.role).take();
  }
  std::string operator()(const ListPermissions& s) const {
    P p("ListPermissions");
    p.field("permissions", s.permissions).field("on", s.resource).field("of", s.role);
    return p.flag("norecursive", !s.recursive).take();
  }
  std::string operator()(const Describe& s) const {
    constexpr const char* kKinds[] = {"cluster",   "schema",   "full_schema", "keyspaces", "keyspace", "only_keyspace",
                                      "tables",    "table",    "index",       "view",      "types",    "type",
                                      "functions", "function", "aggregates",  "aggregate", "generic"};
    std::string kind = kKinds[size_t(s.kind)];
    return P("Describe").field(kind.c_str(), s.name).flag("with_internals", s.with_internals).take();
  }
};

std::string print(const Term& term) { return std::visit(TermPrinter{}, term.value); }

std::string print(const TypeName& type) {
  constexpr const char* kKinds[] = {"", "list", "set", "map", "tuple", "vector", "", ""};
  using Kind = TypeName::Kind;
  std::string out = kKinds[size_t(type.kind)];
  if (type.kind == Kind::kCustom) out = "'" + type.name + "'";
  if (type.kind == Kind::kNative) out = type.name;
  if (type.kind == Kind::kUdt) out = "udt " + print(QualifiedName{type.keyspace, type.name});
  if (!type.parameters.empty()) {
    std::string parameters = bracketed(type.parameters, kPrint);
    out += "<" + parameters.substr(1, parameters.size() - 2);
    if (type.kind == Kind::kVector) out += " " + std::to_string(type.dimension);
    out += ">";
  }
  return type.frozen ? "frozen<" + out + ">" : out;
}

std::string print(const WhereClause& where) {
  std::string out = bracketed(where.relations, kPrint);
  for (const auto& e : where.expressions) out += " (expr " + print(e.index) + " " + print(e.value) + ")";
  return out;
}

std::string print(const Statement& statement) {
  std::string out = std::visit(BodyPrinter{}, statement.body);
  if (!statement.bind_variables.empty()) out += " markers=" + bracketed(statement.bind_variables, kPrint);
  return out;
}

}  // namespace cassandra_like::ast
