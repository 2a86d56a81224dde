// + - * / % and negation on numbers, `timestamp + duration`, string concatenation (cql3.functions.OperationFcts).
#include <cmath>
#include <limits>

#include "cql/expressions/functions_temporal.h"
#include "cql/values/arithmetic_number.h"
#include "model/values.h"

namespace cassandra_like {
namespace functions {
namespace {

using Op = ast::ArithmeticOperator;

struct OperatorName {
  Op op;
  char symbol;
  const char* function;
};
constexpr OperatorName kOperators[] = {{Op::kAdd, '+', "_add"},
                                       {Op::kSubtract, '-', "_substract"},
                                       {Op::kMultiply, '*', "_multiply"},
                                       {Op::kDivide, '/', "_divide"},
                                       {Op::kModulo, '%', "_modulo"}};
constexpr const char* kNegation = "_negate";

// The fault, in Java's words.
using Computed = std::variant<Bytes, const char*>;

// Wraps around, as Java's integers do.
Computed on_integers(Op op, TypeKind kind, int64_t a, int64_t b) {
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case Op::kAdd:
      return encode_integer(kind, static_cast<int64_t>(x + y));
    case Op::kSubtract:
      return encode_integer(kind, static_cast<int64_t>(x - y));
    case Op::kMultiply:
      return encode_integer(kind, static_cast<int64_t>(x * y));
    default:
      if (b == 0) return "/ by zero";
      // The one quotient that does not fit.
      if (b == -1) return encode_integer(kind, op == Op::kDivide ? static_cast<int64_t>(0 - x) : 0);
      return encode_integer(kind, op == Op::kDivide ? a / b : a % b);
  }
}

template <class F>
F on_reals(Op op, F a, F b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      return a / b;
    default:
      return std::fmod(a, b);
  }
}

Computed on_big_integers(Op op, const BigInt& a, const BigInt& b) {
  switch (op) {
    case Op::kAdd:
      return (a + b).to_bytes();
    case Op::kSubtract:
      return (a - b).to_bytes();
    case Op::kMultiply:
      return (a * b).to_bytes();
    default: {
      if (b.sign() == 0) return "BigInteger divide by zero";
      BigInt rest;
      BigInt quotient = a.divide(b, &rest);
      return (op == Op::kDivide ? quotient : rest).to_bytes();
    }
  }
}

Computed on_decimals(Op op, const Decimal& a, const Decimal& b) {
  switch (op) {
    case Op::kAdd:
      return add(a, b).to_bytes();
    case Op::kSubtract:
      return subtract(a, b).to_bytes();
    case Op::kMultiply:
      return multiply(a, b).to_bytes();
    case Op::kDivide:
      if (b.sign() == 0) return "BigInteger divide by zero";
      return divide(a, b).to_bytes();
    default:
      if (b.sign() == 0) return a.sign() == 0 ? "Division undefined" : "Division by zero";
      return remainder(a, b).to_bytes();
  }
}

Computed on_numbers(Op op, TypeKind result, const Number& a, const Number& b) {
  switch (result) {
    case TypeKind::kFloat:
      return encode_float(on_reals(op, a.to_float(), b.to_float()));
    case TypeKind::kDouble:
      return encode_double(on_reals(op, a.to_double(), b.to_double()));
    case TypeKind::kVarint:
      return on_big_integers(op, a.to_big_integer(), b.to_big_integer());
    case TypeKind::kDecimal: {
      auto x = a.to_decimal(), y = b.to_decimal();
      if (!x.ok() || !y.ok()) {
        bool nan = std::isnan(x.ok() ? b.to_double() : a.to_double());
        return nan ? "A NaN cannot be converted into a decimal"
                   : "An infinite number cannot be converted into a decimal";
      }
      return on_decimals(op, *x, *y);
    }
    default:
      return on_integers(op, result, a.to_long(), b.to_long());
  }
}

// Bytes of a number of the type; varint and decimal have no bound.
int size_of(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTinyint:
      return 1;
    case TypeKind::kSmallint:
      return 2;
    case TypeKind::kInt:
    case TypeKind::kFloat:
      return 4;
    case TypeKind::kVarint:
    case TypeKind::kDecimal:
      return std::numeric_limits<int>::max();
    default:
      return 8;
  }
}

bool is_floating(TypeKind kind) {
  return kind == TypeKind::kFloat || kind == TypeKind::kDouble || kind == TypeKind::kDecimal;
}

TypePtr result_type(TypeKind left, TypeKind right) {
  int size = std::max(size_of(left), size_of(right));
  bool floating = is_floating(left) || is_floating(right);
  switch (size) {
    case 1:
      return types::tinyint();
    case 2:
      return types::smallint();
    case 4:
      return floating ? types::float_() : types::int_();
    case 8:
      return floating ? types::double_() : types::bigint();
    default:
      return floating ? types::decimal() : types::varint();
  }
}

Error operation_failure(const OperatorName& op, const TypePtr& left, const TypePtr& right, const std::string& why) {
  return function_failure(
      op.function, {left, right},
      "the operation '" + left->cql_name() + " " + op.symbol + " " + right->cql_name() + "' failed: " + why);
}

void add_numeric(Registry& registry, const OperatorName& op, const TypePtr& left, const TypePtr& right) {
  TypePtr result = result_type(left->kind(), right->kind());
  TypeKind result_kind = result->kind();
  Body body = [op, left, right, result_kind](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
    Computed computed =
        on_numbers(op.op, result_kind, Number::of(left->kind(), arguments[0]), Number::of(right->kind(), arguments[1]));
    if (const char** why = std::get_if<const char*>(&computed)) return operation_failure(op, left, right, *why);
    return in_arena(context, std::get<Bytes>(computed));
  };
  registry.add(op.function, {left, right}, result, std::move(body));
}

void add_temporal(Registry& registry, const OperatorName& op, const TypePtr& type) {
  Body body = [op, type](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
    CqlDuration duration = decode_duration(arguments[1]);
    bool is_date = type->kind() == TypeKind::kDate;
    if (is_date ? duration.nanos != 0 : duration.nanos % kNanosPerMilli != 0) {
      return operation_failure(op, type, types::duration(),
                               std::string("The duration must have a ") + (is_date ? "day" : "millisecond") +
                                   " precision. Was: " + duration_to_text(duration));
    }
    int64_t millis = to_millis(type->kind(), arguments[0]);
    if (op.op == Op::kSubtract) duration = negated(duration);
    return in_arena(context, from_millis(type->kind(), add_duration(millis, duration)));
  };
  registry.add(op.function, {type, types::duration()}, type, std::move(body));
}

void add_concatenation(Registry& registry, const TypePtr& left, const TypePtr& right, const TypePtr& result) {
  registry.add("_add", {left, right}, result, [](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
    return in_arena(context, Bytes(arguments[0]) + Bytes(arguments[1]));
  });
}

void add_negation(Registry& registry, const TypePtr& type) {
  TypeKind kind = type->kind();
  registry.add(kNegation, {type}, type, [kind](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
    Number n = Number::of(kind, arguments[0]);
    switch (kind) {
      case TypeKind::kFloat:
        return in_arena(context, encode_float(-n.to_float()));
      case TypeKind::kDouble:
        return in_arena(context, encode_double(-n.real));
      case TypeKind::kVarint:
        return in_arena(context, (-n.big).to_bytes());
      case TypeKind::kDecimal:
        return in_arena(context, Decimal{-n.big, n.scale}.to_bytes());
      default:
        return in_arena(context, encode_integer(kind, static_cast<int64_t>(0 - static_cast<uint64_t>(n.integer))));
    }
  });
}

}  // namespace

void add_arithmetic(Registry& registry) {
  for (const TypePtr& left : numeric_types()) {
    for (const TypePtr& right : numeric_types()) {
      for (const OperatorName& op : kOperators) add_numeric(registry, op, left, right);
    }
    add_negation(registry, left);
  }
  for (const OperatorName& op : {kOperators[0], kOperators[1]}) {
    add_temporal(registry, op, types::timestamp());
    add_temporal(registry, op, types::date());
  }
  add_concatenation(registry, types::text(), types::text(), types::text());
  add_concatenation(registry, types::ascii(), types::ascii(), types::ascii());
  add_concatenation(registry, types::ascii(), types::text(), types::text());
  add_concatenation(registry, types::text(), types::ascii(), types::text());
}

std::string operator_function(Op op) {
  for (const OperatorName& name : kOperators) {
    if (name.op == op) return name.function;
  }
  return kNegation;
}

char operator_symbol(Op op) {
  for (const OperatorName& name : kOperators) {
    if (name.op == op) return name.symbol;
  }
  return '-';
}

}  // namespace functions
}  // namespace cassandra_like
