// Shared by the files of native functions: how a function is declared, and the table that names are looked up in.
//
// A name has overloads with fixed argument types, or a factory that makes the one function that fits the arguments of a
// call (cql3.functions.FunctionFactory), for functions that take collections or any type.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>

#include "base/containers.h"
#include "cql/expressions/function.h"

namespace cassandra_like::functions {

using Arguments = std::span<const BytesView>;
using Body = ScalarFunction::Body;
using Nulls = ScalarFunction::Nulls;

// The kinds of a factory's argument (FunctionParameter).
struct Parameter {
  enum class Kind : uint8_t {
    kAny,
    kText,
    kString,
    kInt,
    kMap,
    kCollection,
    kSetOrList,
    kNumericSetOrList,
    kFloatVector
  };
  Kind kind = Kind::kAny;
  bool from_receiver = false;  // where the argument has no type, that of the receiver
  bool optional = false;
  int same_as = -1;           // the argument whose type is taken where this one has none
  bool prefer_other = false;  // or even where it has one
};

struct Factory {
  using Make = std::function<Result<FunctionPtr>(const std::string& name, const std::vector<TypePtr>& types,
                                                 const TypePtr& receiver_type)>;
  std::vector<Parameter> parameters;
  Make make;
};

class Registry {
 public:
  // Names are given in snake case; the old one, where there is one, has no underscores and is added too.
  enum class OldName : uint8_t { kNone, kWithoutUnderscores };
  void add(std::string name, std::vector<TypePtr> arguments, TypePtr return_type, Body body,
           Nulls nulls = Nulls::kReturnNull, OldName old_name = OldName::kNone, bool pure = true);
  void add(FunctionPtr function) { overloads_[function->name()].push_back(std::move(function)); }
  void add_factory(std::string name, std::vector<Parameter> parameters, Factory::Make make) {
    factories_[std::move(name)] = {std::move(parameters), std::move(make)};
  }

  const std::vector<FunctionPtr>* overloads(std::string_view name) const;
  const Factory* factory(std::string_view name) const;

  // All native functions; made once.
  static const Registry& native();

 private:
  std::map<std::string, std::vector<FunctionPtr>, std::less<>> overloads_;
  std::map<std::string, Factory, std::less<>> factories_;
};

// One for each file of functions.
void add_time_functions(Registry& registry);
void add_blob_functions(Registry& registry);
void add_math_functions(Registry& registry);
void add_collection_functions(Registry& registry);
void add_json_functions(Registry& registry);
void add_mask_functions(Registry& registry);
void add_vector_functions(Registry& registry);
void add_aggregates(Registry& registry);
void add_casts(Registry& registry);
void add_arithmetic(Registry& registry);

// tinyint, smallint, int, bigint, float, double, decimal, varint, counter.
const std::vector<TypePtr>& numeric_types();
bool is_numeric(const Type& type);
// The type without DESC order and multi-cell storage, as functions know it.
TypePtr value_type(const TypePtr& type);
// "_add" and '+'; "_negate" and '-'.
std::string operator_function(ast::ArithmeticOperator op);
char operator_symbol(ast::ArithmeticOperator op);

// "system.f : (int) -> text", as error messages show it.
std::string signature(const Function& function);

// kFunctionFailure of system.name.
Error function_failure(const std::string& name, const std::vector<TypePtr>& arguments, const std::string& message);

// Nested calls multiply what they are given, and a vector's type may be as long as an int can tell: no client can receive
// a longer result, and it is refused before the memory is gone.
inline constexpr size_t kMaxResult = size_t{64} << 20;
// The bound for the results of all calls in a row together.
inline constexpr size_t kMaxResults = size_t{256} << 20;
Error result_too_large(const std::string& function);

inline BytesView in_arena(ExecutionContext& context, BytesView value) { return context.arena.copy(value); }

}  // namespace cassandra_like::functions
