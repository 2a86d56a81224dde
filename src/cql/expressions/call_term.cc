// Terms that are computed: function calls, casts, arithmetic.
#include <algorithm>

#include "cql/expressions/function.h"
#include "cql/expressions/term_internal.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

class CallTerm : public Term {
 public:
  CallTerm(std::shared_ptr<const ScalarFunction> function, std::vector<TermPtr> arguments)
      : function_(std::move(function)), arguments_(std::move(arguments)) {}

  Result<BytesView> bind(ExecutionContext& context) const override {
    auto values = context.arena.make_span<BytesView>(arguments_.size());
    for (size_t i = 0; i < arguments_.size(); ++i) {
      ASSIGN_OR_RETURN(values[i], arguments_[i]->bind(context));
      if (is_unset(values[i])) {
        return invalid("Invalid unset value for argument in call to function " + function_->name());
      }
    }
    return function_->execute(context, values);
  }
  bool is_pure() const override {
    for (const TermPtr& argument : arguments_) {
      if (!argument->is_pure()) return false;
    }
    return function_->is_pure();
  }
  bool contains_marker() const override {
    return std::any_of(arguments_.begin(), arguments_.end(),
                       [](const TermPtr& argument) { return argument->contains_marker(); });
  }

 private:
  std::shared_ptr<const ScalarFunction> function_;
  std::vector<TermPtr> arguments_;
};

std::vector<const ast::Term*> arguments_of(const ast::Term& term) {
  std::vector<const ast::Term*> arguments;
  if (const auto* call = std::get_if<ast::FunctionCall>(&term.value)) {
    for (const ast::Term& argument : call->arguments) arguments.push_back(&argument);
  } else if (const auto* cast = std::get_if<ast::Cast>(&term.value)) {
    arguments.push_back(&*cast->term);
  } else {
    const auto& arithmetic = std::get<ast::Arithmetic>(term.value);
    arguments.push_back(&*arithmetic.left);
    if (arithmetic.right) arguments.push_back(&**arithmetic.right);
  }
  return arguments;
}

Result<FunctionPtr> resolve_anew(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context) {
  std::vector<CallArgument> arguments;
  for (const ast::Term* argument : arguments_of(term)) {
    ASSIGN_OR_RETURN(TypePtr type, inferred_type(*argument, context));
    arguments.push_back({std::move(type), argument, [argument, &context] { return source(*argument, context); }});
  }
  if (const auto* call = std::get_if<ast::FunctionCall>(&term.value)) {
    TablePtr table = context.schema()->table(receiver.keyspace, receiver.table);
    ASSIGN_OR_RETURN(FunctionPtr function,
                     resolve_function(call->function, arguments, receiver.type, table.get(), context));
    if (function != nullptr) return function;
    const ast::QualifiedName& name = call->function;
    return invalid("Unknown function " + (name.keyspace.empty() ? "" : name.keyspace + ".") + name.name + " called");
  }
  if (const auto* cast = std::get_if<ast::Cast>(&term.value)) {
    if (arguments[0].type == nullptr) {
      return invalid("Ambiguous call to function system.cast: use type hint to disambiguate");
    }
    ASSIGN_OR_RETURN(TypePtr to, context.type(cast->type, ""));
    ASSIGN_OR_RETURN(FunctionPtr function, resolve_cast(arguments[0].type, to));
    // There is no cast to the other name of text.
    if (function != nullptr && cast->type.name == to->cql_name()) return function;
    return invalid("Unknown function system.cast_as_" + cast->type.name + " called");
  }
  return resolve_arithmetic(std::get<ast::Arithmetic>(term.value).op, arguments, receiver.type, context);
}

// receiver.type may be nullptr. Each overload of a call asks what its arguments are, and these ask theirs: without a memory,
// as often as there are paths.
Result<FunctionPtr> resolve(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context) {
  auto& resolved = context.resolved_calls();
  std::pair key(&term, receiver.type == nullptr ? receiver.table : receiver.table + " " + receiver.type->class_name());
  if (auto it = resolved.find(key); it != resolved.end()) return it->second;
  Result<FunctionPtr> function = resolve_anew(term, receiver, context);
  return resolved.emplace(std::move(key), std::move(function)).first->second;
}

}  // namespace

Result<TypePtr> inferred_type(const ast::Term& term, PrepareContext& context) {
  if (const auto* literal = std::get_if<ast::Literal>(&term.value)) return preferred_type(*literal);
  if (const auto* hint = std::get_if<ast::TypeHint>(&term.value)) {
    // A hint may name a user type: of the session's keyspace then.
    auto keyspace = context.keyspace_of("");
    return context.type(hint->type, keyspace.ok() ? *keyspace : "");
  }
  if (const auto* tuple = std::get_if<ast::TupleLiteral>(&term.value)) {
    std::vector<TypePtr> fields;
    for (const ast::Term& element : tuple->elements) {
      ASSIGN_OR_RETURN(TypePtr type, inferred_type(element, context));
      if (type == nullptr) return TypePtr();
      fields.push_back(std::move(type));
    }
    return types::tuple(std::move(fields));
  }
  if (std::holds_alternative<ast::FunctionCall>(term.value) || std::holds_alternative<ast::Cast>(term.value) ||
      std::holds_alternative<ast::Arithmetic>(term.value)) {
    auto function = resolve(term, {"", "", "", nullptr}, context);
    // An overload that only the receiver can choose is not an error yet.
    if (!function.ok()) return TypePtr();
    return (*function)->return_type();
  }
  return TypePtr();
}

Assignable assignable_call(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context) {
  auto function = resolve(term, receiver, context);
  // Faults of the call itself are told when it is prepared.
  if (!function.ok()) return Assignable::kWeak;
  return assignable_type((*function)->return_type()->base(), receiver.type->base());
}

Result<TermPtr> prepare_call(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context) {
  ASSIGN_OR_RETURN(FunctionPtr function, resolve(term, receiver, context));
  if (function->is_aggregate()) return invalid("Aggregation function are not supported in the where clause");
  if (assignable_type(function->return_type()->base(), receiver.type->base()) == Assignable::kNo) {
    return invalid("Type error: cannot assign result of function " + function->qualified_name() + " (type " +
                   function->return_type()->cql_name() + ") to " + receiver.name + " (type " +
                   receiver.type->cql_name() + ")");
  }
  std::vector<TermPtr> arguments;
  auto terms = arguments_of(term);
  for (size_t i = 0; i < terms.size(); ++i) {
    ColumnSpec argument{receiver.keyspace, receiver.table,
                        "arg" + std::to_string(i) + "(" + function->qualified_name() + ")", function->arguments()[i]};
    ASSIGN_OR_RETURN(TermPtr prepared, prepare_term(*terms[i], argument, context));
    arguments.push_back(std::move(prepared));
  }
  auto scalar = std::static_pointer_cast<const ScalarFunction>(function);
  return TermPtr(std::make_unique<CallTerm>(std::move(scalar), std::move(arguments)));
}

Result<Bytes> evaluate_constant(const ast::Term& term, const TypePtr& type, PrepareContext& context) {
  ColumnSpec receiver{"", "", "value", type};
  ASSIGN_OR_RETURN(TermPtr prepared, prepare_term(term, receiver, context));
  if (!prepared->is_constant()) return invalid("Not a constant: " + source(term, context));
  return Bytes(*prepared->constant());
}

}  // namespace cassandra_like
