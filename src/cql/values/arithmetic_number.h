// A value of any numeric type, and Java's conversions between them (java.lang.Number), which casts, arithmetic, the math
// functions and the aggregates share.
#pragma once

#include "base/result.h"
#include "cql/values/arithmetic_decimal.h"
#include "model/types.h"

namespace cassandra_like::functions {

struct Number {
  enum class Form : uint8_t { kInteger, kReal, kBigInteger, kDecimal };
  Form form = Form::kInteger;
  int64_t integer = 0;
  double real = 0;  // a float as the same double
  bool is_float = false;
  BigInt big;  // of kBigInteger, and the unscaled value of kDecimal
  int64_t scale = 0;

  static Number of(TypeKind kind, BytesView value);

  int64_t to_long() const;
  int32_t to_int() const;
  double to_double() const;
  float to_float() const;
  BigInt to_big_integer() const;
  // Conversion as arithmetic does it: by way of a double unless the number is a varint or decimal. Not for NaN and infinities.
  Result<Decimal> to_decimal() const;
};

// Java takes the text of a NaN or an infinity for a decimal, and says this.
Error no_decimal(std::string_view text);

// The shortest form that the kind has: a tinyint's one byte, a varint's bytes.
Bytes encode_integer(TypeKind kind, int64_t value);
// Java's (long) and (int) of a double: towards zero, to the nearest that fits, NaN to 0.
int64_t saturated_long(double value);
int32_t saturated_int(double value);

}  // namespace cassandra_like::functions
