#include "cql/values/arithmetic_number.h"

#include <cmath>
#include <limits>

#include "model/values.h"

namespace cassandra_like::functions {

Number Number::of(TypeKind kind, BytesView value) {
  Number n;
  switch (kind) {
    case TypeKind::kTinyint:
      n.integer = static_cast<int8_t>(value[0]);
      break;
    case TypeKind::kSmallint:
      n.integer = load_be<int16_t>(value.data());
      break;
    case TypeKind::kInt:
      n.integer = decode_int(value);
      break;
    case TypeKind::kBigint:
    case TypeKind::kCounter:
      n.integer = decode_bigint(value);
      break;
    case TypeKind::kFloat:
      n.form = Form::kReal;
      n.is_float = true;
      n.real = static_cast<double>(decode_float(value));
      break;
    case TypeKind::kDouble:
      n.form = Form::kReal;
      n.real = decode_double(value);
      break;
    case TypeKind::kVarint:
      n.form = Form::kBigInteger;
      n.big = BigInt::from_bytes(value);
      break;
    default: {
      n.form = Form::kDecimal;
      Decimal decimal = Decimal::from_bytes(value);
      n.big = std::move(decimal.unscaled);
      n.scale = decimal.scale;
    }
  }
  return n;
}

int64_t saturated_long(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value <= -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

int32_t saturated_int(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p31) return std::numeric_limits<int32_t>::max();
  if (value <= -0x1p31) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(value);
}

int64_t Number::to_long() const {
  switch (form) {
    case Form::kInteger:
      return integer;
    case Form::kReal:
      return saturated_long(real);
    case Form::kDecimal:
      // A power of ten this large is one of 2^64 as well: its digits need not be written out.
      if (scale <= -64) return 0;
      [[fallthrough]];
    default:
      return to_big_integer().low_64_bits();
  }
}

int32_t Number::to_int() const { return form == Form::kReal ? saturated_int(real) : static_cast<int32_t>(to_long()); }

double Number::to_double() const {
  switch (form) {
    case Form::kInteger:
      return static_cast<double>(integer);
    case Form::kReal:
      return real;
    case Form::kBigInteger:
      return big.to_double();
    case Form::kDecimal:
      return Decimal{big, scale}.to_double();
  }
  return 0;
}

float Number::to_float() const {
  switch (form) {
    case Form::kInteger:
      return static_cast<float>(integer);
    case Form::kReal:
      return static_cast<float>(real);
    case Form::kBigInteger:
      return big.to_float();
    case Form::kDecimal:
      return Decimal{big, scale}.to_float();
  }
  return 0;
}

BigInt Number::to_big_integer() const {
  if (form == Form::kBigInteger) return big;
  if (form == Form::kDecimal) return Decimal{big, scale}.integer_part();
  return BigInt(to_long());
}

Result<Decimal> Number::to_decimal() const {
  if (form == Form::kBigInteger) return Decimal{big, 0};
  if (form == Form::kDecimal) return Decimal{big, scale};
  double value = to_double();
  if (std::isnan(value)) return invalid("A NaN cannot be converted into a decimal");
  if (std::isinf(value)) return invalid("An infinite number cannot be converted into a decimal");
  return Decimal::from_text(double_to_text(value));
}

Error no_decimal(std::string_view text) {
  const char first = text[text[0] == '-' ? 1 : 0];
  return Error(ErrorCode::kServerError, std::string("java.lang.NumberFormatException: Character ") + first +
                                            " is neither a decimal digit number, decimal point, nor \"e\" notation"
                                            " exponential mark.");
}

Bytes encode_integer(TypeKind kind, int64_t value) {
  switch (kind) {
    case TypeKind::kTinyint:
      return encode_tinyint(static_cast<int8_t>(value));
    case TypeKind::kSmallint:
      return encode_smallint(static_cast<int16_t>(value));
    case TypeKind::kInt:
      return encode_int(static_cast<int32_t>(value));
    default:
      return encode_bigint(value);
  }
}

}  // namespace cassandra_like::functions
