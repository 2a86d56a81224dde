// Finds the function that a call means (cql3.functions.FunctionResolver, FunctionFactory, FunctionParameter).
#include "cql/expressions/function.h"

#include <algorithm>

#include "cql/expressions/aggregates.h"
#include "cql/expressions/functions_internal.h"
#include "cql/expressions/term_internal.h"
#include "model/key.h"
#include "model/values.h"

namespace cassandra_like {

std::string argument_type_name(const Type& type) {
  return type.cql_name(type.kind() != TypeKind::kTuple || type.is_reversed());
}

Result<BytesView> ScalarFunction::execute(ExecutionContext& context, std::span<const BytesView> arguments) const {
  if (nulls_ == Nulls::kReturnNull) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (is_null(arguments[i]) || (arguments[i].empty() && arguments_[i]->is_empty_meaningless())) return kNull;
    }
  }
  Result<BytesView> result = body_(context, arguments);
  if (result.ok() && (result->size() > functions::kMaxResult || context.arena.reserved() > functions::kMaxResults)) {
    return functions::result_too_large(qualified_name());
  }
  return result;
}

namespace functions {

void Registry::add(std::string name, std::vector<TypePtr> arguments, TypePtr return_type, Body body, Nulls nulls,
                   OldName old_name, bool pure) {
  if (old_name == OldName::kWithoutUnderscores) {
    std::string old = name;
    std::erase(old, '_');
    add(std::make_shared<ScalarFunction>(std::move(old), arguments, return_type, body, nulls, pure));
  }
  add(std::make_shared<ScalarFunction>(std::move(name), std::move(arguments), std::move(return_type), std::move(body),
                                       nulls, pure));
}

const std::vector<FunctionPtr>* Registry::overloads(std::string_view name) const {
  auto found = overloads_.find(name);
  return found == overloads_.end() ? nullptr : &found->second;
}

const Factory* Registry::factory(std::string_view name) const {
  auto found = factories_.find(name);
  return found == factories_.end() ? nullptr : &found->second;
}

const Registry& Registry::native() {
  static const Registry kRegistry = [] {
    Registry registry;
    add_time_functions(registry);
    add_blob_functions(registry);
    add_math_functions(registry);
    add_collection_functions(registry);
    add_json_functions(registry);
    add_mask_functions(registry);
    add_vector_functions(registry);
    add_aggregates(registry);
    add_casts(registry);
    add_arithmetic(registry);
    return registry;
  }();
  return kRegistry;
}

const std::vector<TypePtr>& numeric_types() {
  static const std::vector<TypePtr> kTypes{types::tinyint(), types::smallint(), types::int_(),
                                           types::bigint(),  types::float_(),   types::double_(),
                                           types::decimal(), types::varint(),   types::counter()};
  return kTypes;
}

bool is_numeric(const Type& type) {
  const auto& types = numeric_types();
  return std::any_of(types.begin(), types.end(), [&](const TypePtr& t) { return t->kind() == type.kind(); });
}

TypePtr value_type(const TypePtr& type) {
  TypePtr base = type->is_reversed() ? TypePtr(type, &type->base()) : type;
  return types::freeze(base);
}

Error function_failure(const std::string& name, const std::vector<TypePtr>& arguments, const std::string& message) {
  ErrorInfo info;
  info.code = ErrorCode::kFunctionFailure;
  info.message = message;
  info.keyspace = "system";
  info.table = name;
  for (const TypePtr& type : arguments) info.arg_types.push_back(type->cql_name());
  return Error(std::move(info));
}

Error result_too_large(const std::string& function) {
  return invalid("The result of function " + function + " is too large");
}

std::string signature(const Function& function) {
  std::string text;
  for (const TypePtr& type : function.arguments()) text += (text.empty() ? "" : ", ") + argument_type_name(*type);
  return function.qualified_name() + " : (" + text + ") -> " + function.return_type()->cql_name();
}

namespace {

// One call while it is resolved.
class Resolver {
 public:
  Resolver(std::string name, std::span<const CallArgument> arguments, TypePtr receiver_type, PrepareContext& context)
      : name_(std::move(name)), arguments_(arguments), receiver_type_(std::move(receiver_type)), context_(context) {}

  // A name with a single signature: errors say what is wrong with the arguments.
  Result<FunctionPtr> check(const FunctionPtr& function) const;
  Result<FunctionPtr> make(const Factory& factory) const;
  // nullptr: none fits. The exact one, else the one that can be assigned; several of these are `ambiguous`.
  Result<FunctionPtr> pick(const std::vector<FunctionPtr>& candidates, std::vector<FunctionPtr>* ambiguous) const;
  Result<FunctionPtr> resolve(const std::vector<FunctionPtr>& candidates) const;

  Result<Assignable> test(const CallArgument& argument, const TypePtr& expected) const {
    if (argument.fits) return argument.fits(expected);
    if (argument.term != nullptr) return assignable(*argument.term, {"", "", "", expected}, context_);
    return assignable_type(*value_type(argument.type), *value_type(expected));
  }

 private:
  Result<Assignable> match(const Function& function) const;
  bool return_type_fits(const Function& function) const {
    return receiver_type_ == nullptr ||
           assignable_type(*value_type(function.return_type()), *value_type(receiver_type_)) != Assignable::kNo;
  }
  TypePtr infer(const Parameter& parameter, size_t i, const std::vector<TypePtr>* others) const;
  Status validate(const Parameter& parameter, size_t i, const TypePtr& type) const;
  std::string qualified_name() const { return "system." + name_; }

  std::string name_;
  std::span<const CallArgument> arguments_;
  TypePtr receiver_type_;
  PrepareContext& context_;
};

std::string signatures(const std::vector<FunctionPtr>& candidates) {
  std::string text;
  for (const FunctionPtr& function : candidates) text += (text.empty() ? "" : ", ") + signature(*function);
  return text;
}

Result<FunctionPtr> Resolver::check(const FunctionPtr& function) const {
  const auto& expected = function->arguments();
  if (arguments_.size() != expected.size()) {
    return invalid("Invalid number of arguments in call to function " + function->qualified_name() + ": " +
                   std::to_string(expected.size()) + " required but " + std::to_string(arguments_.size()) +
                   " provided");
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSIGN_OR_RETURN(Assignable fit, test(arguments_[i], expected[i]));
    if (fit == Assignable::kNo) {
      return invalid("Type error: " + arguments_[i].text() + " cannot be passed as argument " + std::to_string(i) +
                     " of function " + function->qualified_name() + " of type " + expected[i]->cql_name());
    }
  }
  return function;
}

Result<Assignable> Resolver::match(const Function& function) const {
  if (arguments_.size() != function.arguments().size()) return Assignable::kNo;
  Assignable result = Assignable::kExact;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    ASSIGN_OR_RETURN(Assignable one, test(arguments_[i], function.arguments()[i]));
    if (one == Assignable::kNo) return one;
    result = std::min(result, one);
  }
  return result;
}

Result<FunctionPtr> Resolver::pick(const std::vector<FunctionPtr>& candidates,
                                   std::vector<FunctionPtr>* ambiguous) const {
  for (const FunctionPtr& candidate : candidates) {
    if (!return_type_fits(*candidate)) continue;
    ASSIGN_OR_RETURN(Assignable fit, match(*candidate));
    if (fit == Assignable::kExact) {
      ambiguous->clear();
      return candidate;
    }
    if (fit == Assignable::kWeak) ambiguous->push_back(candidate);
  }
  if (ambiguous->size() != 1) return FunctionPtr();
  FunctionPtr only = ambiguous->front();
  ambiguous->clear();
  return only;
}

Result<FunctionPtr> Resolver::resolve(const std::vector<FunctionPtr>& candidates) const {
  if (candidates.size() == 1) return check(candidates.front());
  std::vector<FunctionPtr> ambiguous;
  ASSIGN_OR_RETURN(FunctionPtr best, pick(candidates, &ambiguous));
  if (best != nullptr) return best;
  if (ambiguous.empty()) {
    return invalid("Invalid call to function " + name_ +
                   ", none of its type signatures match (known type signatures: " + signatures(candidates) + ")");
  }
  return invalid("Ambiguous call to function " + name_ + " (can be matched by following signatures: " +
                 signatures(ambiguous) + "): use type casts to disambiguate");
}

// --- Factories ---

std::string parameter_name(const Parameter& parameter) {
  using K = Parameter::Kind;
  std::string name;
  switch (parameter.kind) {
    case K::kAny:
      name = "any";
      break;
    case K::kText:
      name = "text";
      break;
    case K::kString:
      name = "[text|varchar|ascii]";
      break;
    case K::kInt:
      name = "int";
      break;
    case K::kMap:
      name = "map";
      break;
    case K::kCollection:
      name = "collection";
      break;
    case K::kSetOrList:
    case K::kNumericSetOrList:
      name = "numeric_set_or_list";
      break;
    case K::kFloatVector:
      name = "vector<float, n>";
      break;
  }
  return parameter.optional ? "[" + name + "]" : name;
}

std::string factory_text(const std::string& name, const Factory& factory) {
  std::string text;
  for (const Parameter& parameter : factory.parameters) text += (text.empty() ? "" : ", ") + parameter_name(parameter);
  return name + "(" + text + ")";
}

TypePtr Resolver::infer(const Parameter& parameter, size_t i, const std::vector<TypePtr>* others) const {
  using K = Parameter::Kind;
  if (parameter.prefer_other && others != nullptr) {
    if (const TypePtr& other = (*others)[static_cast<size_t>(parameter.same_as)]) return other;
  }
  if (parameter.kind == K::kFloatVector && arguments_[i].array_size) {
    return types::vector(types::float_(), *arguments_[i].array_size);
  }
  TypePtr type = arguments_[i].type;
  if (type == nullptr && parameter.kind == K::kText) type = types::text();
  if (type == nullptr && parameter.kind == K::kString) type = types::text();
  if (type == nullptr && parameter.kind == K::kInt) type = types::int_();
  if (type == nullptr && (parameter.from_receiver || parameter.kind == K::kFloatVector)) type = receiver_type_;
  if (type == nullptr && parameter.same_as >= 0 && others != nullptr) {
    type = (*others)[static_cast<size_t>(parameter.same_as)];
  }
  return type;
}

// The fault of an argument's type, or nothing.
const char* complaint(Parameter::Kind kind, const Type& type) {
  using K = Parameter::Kind;
  TypeKind t = type.kind();
  bool set_or_list = t == TypeKind::kSet || t == TypeKind::kList;
  switch (kind) {
    case K::kAny:
      return nullptr;
    case K::kText:
      return assignable_type(type, *types::text()) == Assignable::kNo ? "an argument of type text, but" : nullptr;
    case K::kInt:
      return assignable_type(type, *types::int_()) == Assignable::kNo ? "an argument of type int, but" : nullptr;
    case K::kString:
      return t != TypeKind::kText && t != TypeKind::kAscii ? "an argument of type [text|varchar|ascii], but" : nullptr;
    case K::kMap:
      return t != TypeKind::kMap ? "a map argument, but" : nullptr;
    case K::kCollection:
      return !type.is_collection() ? "a collection argument, but" : nullptr;
    case K::kSetOrList:
      return !set_or_list ? "a set or list argument, but" : nullptr;
    case K::kNumericSetOrList:
      return !set_or_list || !is_numeric(*type.elements()[0]) ? "a numeric set/list argument, but" : nullptr;
    case K::kFloatVector:
      return t != TypeKind::kVector || type.elements()[0]->kind() != TypeKind::kFloat ? "a float vector argument, but"
                                                                                      : nullptr;
  }
  return nullptr;
}

Status Resolver::validate(const Parameter& parameter, size_t i, const TypePtr& type) const {
  const char* wrong = complaint(parameter.kind, type->base());
  if (wrong == nullptr) return {};
  return invalid("Function " + qualified_name() + " requires " + wrong + " found argument " + arguments_[i].text() +
                 " of type " + type->cql_name());
}

Result<FunctionPtr> Resolver::make(const Factory& factory) const {
  const auto& parameters = factory.parameters;
  auto mandatory = std::count_if(parameters.begin(), parameters.end(), [](const Parameter& p) { return !p.optional; });
  if (arguments_.size() < static_cast<size_t>(mandatory) || arguments_.size() > parameters.size()) {
    return invalid("Invalid number of arguments for function " + factory_text(qualified_name(), factory));
  }
  // First each by itself, then by what is known of the others.
  std::vector<TypePtr> types;
  for (size_t i = 0; i < arguments_.size(); ++i) types.push_back(infer(parameters[i], i, nullptr));
  for (size_t i = 0; i < arguments_.size(); ++i) {
    TypePtr type = infer(parameters[i], i, &types);
    if (type == nullptr) {
      return invalid("Cannot infer type of argument " + arguments_[i].text() + " in call to function " +
                     factory_text(qualified_name(), factory) + ": use type casts to disambiguate");
    }
    TRY(validate(parameters[i], i, type));
    types[i] = value_type(type);
  }
  ASSIGN_OR_RETURN(FunctionPtr function, factory.make(name_, types, receiver_type_));
  return check(function);
}

FunctionPtr token_function(const TableMetadata& table) {
  std::vector<TypePtr> types;
  for (const ColumnPtr& column : table.partition_key) types.push_back(column->type);
  Body body = [](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
    for (BytesView argument : arguments) {
      if (is_null(argument)) return kNull;
    }
    return in_arena(context, encode_bigint(murmur3_token(serialize_partition_key(arguments))));
  };
  return std::make_shared<ScalarFunction>("token", std::move(types), types::bigint(), std::move(body), Nulls::kPass);
}

}  // namespace
}  // namespace functions

using functions::Registry;
using functions::Resolver;

Result<FunctionPtr> resolve_function(const ast::QualifiedName& name, std::span<const CallArgument> arguments,
                                     const TypePtr& receiver_type, const TableMetadata* table,
                                     PrepareContext& context) {
  if (!name.keyspace.empty() && name.keyspace != "system") return FunctionPtr();
  Resolver resolver(name.name, arguments, receiver_type, context);
  // COUNT of a literal is COUNT(*).
  if (name.name == "count") {
    bool literal = arguments.size() == 1 && arguments[0].term != nullptr &&
                   std::holds_alternative<ast::Literal>(arguments[0].term->value);
    if (literal) return functions::count_rows_aggregate("count", {arguments[0].type});
  }
  if (name.name == "token") {
    if (table == nullptr) return invalid("No receiver table has been specified for function system.token");
    return resolver.check(functions::token_function(*table));
  }
  const Registry& registry = Registry::native();
  if (const functions::Factory* factory = registry.factory(name.name)) return resolver.make(*factory);
  const auto* candidates = registry.overloads(name.name);
  if (candidates == nullptr) return FunctionPtr();
  return resolver.resolve(*candidates);
}

Result<FunctionPtr> resolve_arithmetic(ast::ArithmeticOperator op, std::span<const CallArgument> arguments,
                                       const TypePtr& receiver_type, PrepareContext& context) {
  Resolver resolver(functions::operator_function(op), arguments, receiver_type, context);
  std::vector<FunctionPtr> ambiguous;
  const auto& candidates = *Registry::native().overloads(functions::operator_function(op));
  ASSIGN_OR_RETURN(FunctionPtr best, resolver.pick(candidates, &ambiguous));
  if (best != nullptr) return best;
  if (op == ast::ArithmeticOperator::kNegate) {
    if (!ambiguous.empty()) return invalid("Ambiguous negation: use type casts to disambiguate");
    return invalid("Invalid call to function system._negate, none of its type signatures match");
  }
  std::string symbol(1, functions::operator_symbol(op));
  if (ambiguous.empty()) {
    return invalid("the '" + symbol + "' operation is not supported between " + arguments[0].text() + " and " +
                   arguments[1].text());
  }
  // Without markers, the operation within the receiver's own type.
  auto is_marker = [](const CallArgument& a) {
    return a.term != nullptr && std::holds_alternative<ast::BindMarker>(a.term->value);
  };
  if (receiver_type != nullptr && std::none_of(arguments.begin(), arguments.end(), is_marker)) {
    TypePtr wanted = functions::value_type(receiver_type);
    for (const FunctionPtr& function : ambiguous) {
      if (function->arguments()[0]->equals(*wanted) && function->arguments()[1]->equals(*wanted)) return function;
    }
  }
  return invalid("Ambiguous '" + symbol + "' operation with args " + arguments[0].text() + " and " +
                 arguments[1].text() + ": use type hint to disambiguate, example '(int) ?'");
}

}  // namespace cassandra_like
