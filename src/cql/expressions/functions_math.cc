// abs, exp, log, log10, round: of every numeric type, to the same type (cql3.functions.MathFcts).
#include <cmath>
#include <limits>

#include "cql/expressions/functions_internal.h"
#include "cql/values/arithmetic_number.h"
#include "model/values.h"

namespace cassandra_like::functions {
namespace {

constexpr int64_t kMaxZeros = 10000;

enum class MathFunction : uint8_t { kAbs, kExp, kLog, kLog10, kRound };

// Java's Math.round: half up, saturating.
double round_half_up(double x) {
  double floor = std::floor(x);
  return x - floor >= 0.5 ? floor + 1 : floor;
}

double on_double(MathFunction op, double x) {
  switch (op) {
    case MathFunction::kAbs:
      return std::fabs(x);
    case MathFunction::kExp:
      return std::exp(x);
    case MathFunction::kLog:
      return std::log(x);
    case MathFunction::kLog10:
      // Java's NaN, with the sign that x86 gives it.
      return x < 0 ? -std::numeric_limits<double>::quiet_NaN() : std::log10(x);
    case MathFunction::kRound:
      return static_cast<double>(saturated_long(round_half_up(x)));
  }
  return x;
}

Bytes on_float(MathFunction op, float x) {
  if (op == MathFunction::kRound)
    return encode_float(static_cast<float>(saturated_int(round_half_up(static_cast<double>(x)))));
  return encode_float(static_cast<float>(on_double(op, static_cast<double>(x))));
}

Bytes on_integer(MathFunction op, TypeKind kind, int64_t x) {
  if (op == MathFunction::kRound) return encode_integer(kind, x);
  if (op == MathFunction::kAbs)
    return encode_integer(kind, x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x);
  double value = on_double(op, static_cast<double>(x));
  bool is_long = kind == TypeKind::kBigint || kind == TypeKind::kCounter;
  return encode_integer(kind, is_long ? saturated_long(value) : saturated_int(value));
}

// A scale is 32 bits in Java.
Result<Decimal> checked_exponential(const Decimal& x) {
  constexpr int64_t kDigitsOfOverflow = 12;  // of x before its point
  bool beyond = x.digits() - x.scale >= kDigitsOfOverflow;
  Decimal result = beyond ? Decimal{} : exponential(x);
  if (!beyond && result.scale == static_cast<int32_t>(result.scale)) return result;
  return Error(ErrorCode::kServerError, "java.lang.ArithmeticException: Overflow");
}

// A decimal, or an integer as one.
Result<Decimal> on_decimal(MathFunction op, const Decimal& x) {
  switch (op) {
    case MathFunction::kAbs:
      return Decimal{x.unscaled.abs(), x.scale};
    case MathFunction::kRound:
      // A number that is whole already may have more zeros than there is memory.
      return x.scale < -kMaxZeros ? x : x.rescaled(0, Rounding::kHalfUp);
    case MathFunction::kExp:
      return checked_exponential(x);
    case MathFunction::kLog:
    case MathFunction::kLog10:
      break;
  }
  if (x.sign() <= 0) {
    return Error(ErrorCode::kServerError, op == MathFunction::kLog
                                              ? "java.lang.ArithmeticException: Natural log of number zero or less"
                                              : "java.lang.ArithmeticException: Log10 of number zero or less");
  }
  return op == MathFunction::kLog ? logarithm(x) : logarithm_10(x);
}

Result<Bytes> compute(MathFunction op, TypeKind kind, BytesView value) {
  Number n = Number::of(kind, value);
  switch (kind) {
    case TypeKind::kFloat:
      return on_float(op, n.to_float());
    case TypeKind::kDouble:
      return encode_double(on_double(op, n.real));
    case TypeKind::kVarint: {
      ASSIGN_OR_RETURN(Decimal result, on_decimal(op, {n.big, 0}));
      return result.integer_part().to_bytes();
    }
    case TypeKind::kDecimal: {
      ASSIGN_OR_RETURN(Decimal result, on_decimal(op, {n.big, n.scale}));
      return result.to_bytes();
    }
    default:
      return on_integer(op, kind, n.integer);
  }
}

}  // namespace

void add_math_functions(Registry& registry) {
  const std::pair<const char*, MathFunction> functions[] = {{"abs", MathFunction::kAbs},
                                                            {"exp", MathFunction::kExp},
                                                            {"log", MathFunction::kLog},
                                                            {"log10", MathFunction::kLog10},
                                                            {"round", MathFunction::kRound}};
  for (const auto& [name, op] : functions) {
    for (const TypePtr& type : numeric_types()) {
      registry.add(name, {type}, type,
                   [op = op, kind = type->kind()](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
                     ASSIGN_OR_RETURN(Bytes result, compute(op, kind, arguments[0]));
                     return in_arena(context, result);
                   });
    }
  }
}

}  // namespace cassandra_like::functions
