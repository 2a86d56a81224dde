// CQL's functions. A native scalar function is a plain C++ function over serialized values; overloads are resolved by
// Cassandra's rules (cql3.functions.FunctionResolver): exact match first, then assignable ones, ambiguity is an error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cql/context/statement.h"

namespace cassandra_like {

class Function {
 public:
  virtual ~Function() = default;
  const std::string& name() const { return name_; }
  const std::vector<TypePtr>& arguments() const { return arguments_; }
  const TypePtr& return_type() const { return return_type_; }
  virtual bool is_aggregate() const { return false; }
  virtual bool is_pure() const { return true; }
  // "system.now" and the like.
  std::string qualified_name() const { return "system." + name_; }

 protected:
  Function(std::string name, std::vector<TypePtr> arguments, TypePtr return_type)
      : name_(std::move(name)), arguments_(std::move(arguments)), return_type_(std::move(return_type)) {}
  std::string name_;
  std::vector<TypePtr> arguments_;
  TypePtr return_type_;
};

class ScalarFunction final : public Function {
 public:
  using Body = std::function<Result<BytesView>(ExecutionContext&, std::span<const BytesView>)>;
  enum class Nulls : uint8_t {
    kReturnNull,  // a null argument, or an empty one of a type for which that means nothing, makes the result null
    kPass,        // the body sees them
  };
  ScalarFunction(std::string name, std::vector<TypePtr> arguments, TypePtr return_type, Body body,
                 Nulls nulls = Nulls::kReturnNull, bool pure = true)
      : Function(std::move(name), std::move(arguments), std::move(return_type)),
        body_(std::move(body)),
        nulls_(nulls),
        pure_(pure) {}
  // The result is allocated in the context's arena or borrowed from the arguments; kNull is possible.
  Result<BytesView> execute(ExecutionContext& context, std::span<const BytesView> arguments) const;
  bool is_pure() const override { return pure_; }

 private:
  Body body_;
  Nulls nulls_;
  bool pure_;
};

class AggregateFunction final : public Function {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual Status add(std::span<const BytesView> arguments) = 0;
    virtual Result<Bytes> result(bool* is_null) const = 0;
  };
  using Start = std::function<std::unique_ptr<State>()>;
  AggregateFunction(std::string name, std::vector<TypePtr> arguments, TypePtr return_type, bool takes_any_order,
                    Start start)
      : Function(std::move(name), std::move(arguments), std::move(return_type)),
        takes_any_order_(takes_any_order),
        start_(std::move(start)) {}
  bool is_aggregate() const override { return true; }
  std::unique_ptr<State> start() const { return start_(); }
  // The result does not depend on the order of the values.
  bool takes_any_order() const { return takes_any_order_; }

 private:
  bool takes_any_order_;
  Start start_;
};
using FunctionPtr = std::shared_ptr<const Function>;

// AssignmentTestable.TestResult, ordered.
enum class Assignable { kNo, kWeak, kExact };

// An argument as the resolver sees it.
struct CallArgument {
  TypePtr type;                     // nullptr when it has none by itself: a marker, null
  const ast::Term* term = nullptr;  // where it is one: a literal fits more types than its own
  // The words for error messages. They are made when they are needed: an operand of a long sum has all those before it in its own.
  std::function<std::string()> text = [] { return std::string(); };
  // For a SELECT clause, whose literals contain columns and calls: whether it fits. Else `term` or `type` tells.
  std::function<Result<Assignable>(const TypePtr&)> fits = nullptr;
  // The elements of `[a, b, …]`, which is a list or a vector, as it is wanted.
  std::optional<size_t> array_size = std::nullopt;
};
// The function that fits, nullptr when none has that name. receiver_type may be nullptr, table (for token()) too. kInvalid
// with Cassandra's words when none fits.
Result<FunctionPtr> resolve_function(const ast::QualifiedName& name, std::span<const CallArgument> arguments,
                                     const TypePtr& receiver_type, const TableMetadata* table, PrepareContext& context);
// nullptr when nothing can be cast to the target type, kInvalid when the given type cannot.
Result<FunctionPtr> resolve_cast(const TypePtr& from, const TypePtr& to);
// arguments: the left operand and, unless op is kNegate, the right. kInvalid when there is no such operation.
Result<FunctionPtr> resolve_arithmetic(ast::ArithmeticOperator op, std::span<const CallArgument> arguments,
                                       const TypePtr& receiver_type, PrepareContext& context);

// The name in a signature: a tuple is without frozen<>, unless its column is descending.
std::string argument_type_name(const Type& type);

}  // namespace cassandra_like
