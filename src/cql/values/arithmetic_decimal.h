// Integers of any size and decimals, as java.math.BigInteger and BigDecimal compute: the same digits and the same scale.
#pragma once

#include <memory>

#include "base/bytes.h"

struct bignum_st;

namespace cassandra_like::functions {

class BigInt {
 public:
  BigInt(int64_t value = 0);  // NOLINT: implicit on purpose
  BigInt(const BigInt& other);
  BigInt(BigInt&& other) noexcept = default;
  BigInt& operator=(BigInt other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  static BigInt from_bytes(BytesView twos_complement);
  static BigInt power_of_ten(uint64_t exponent);

  Bytes to_bytes() const;       // the shortest two's complement form
  std::string to_text() const;  // decimal digits
  int64_t low_64_bits() const;  // longValue()
  double to_double() const;     // to the nearest
  float to_float() const;       // likewise
  int sign() const;
  bool is_odd() const;
  int64_t digits() const;  // decimal ones; 1 for zero

  friend BigInt operator+(const BigInt& a, const BigInt& b);
  friend BigInt operator-(const BigInt& a, const BigInt& b);
  friend BigInt operator*(const BigInt& a, const BigInt& b);
  BigInt operator-() const { return BigInt(0) - *this; }
  // Towards zero; the remainder has the dividend's sign. by is not zero.
  BigInt divide(const BigInt& by, BigInt* remainder = nullptr) const;
  BigInt abs() const { return sign() < 0 ? -*this : *this; }
  int compare(const BigInt& other) const;

 private:
  struct Free {
    void operator()(bignum_st* p) const;
  };
  std::unique_ptr<bignum_st, Free> value_;
};

enum class Rounding : uint8_t { kDown, kHalfUp, kHalfEven };

// unscaled * 10^-scale.
struct Decimal {
  BigInt unscaled;
  int64_t scale = 0;

  static Decimal from_bytes(BytesView serialized);
  static Decimal from_text(std::string_view text);  // of a valid number
  Bytes to_bytes() const;
  int64_t digits() const { return unscaled.digits(); }
  int sign() const { return unscaled.sign(); }

  Decimal rescaled(int64_t scale, Rounding rounding) const;     // setScale
  Decimal rounded(int64_t digits, Rounding rounding) const;     // round(MathContext)
  Decimal stripped(int64_t preferred_scale = INT64_MIN) const;  // without trailing zeros, as far as that scale
  BigInt integer_part() const { return rescaled(0, Rounding::kDown).unscaled; }
  double to_double() const;
  float to_float() const;
};

Decimal add(const Decimal& a, const Decimal& b);
Decimal subtract(const Decimal& a, const Decimal& b);
Decimal multiply(const Decimal& a, const Decimal& b);
// With `scale` digits after the point. b is not zero here and below.
Decimal divide(const Decimal& a, const Decimal& b, int64_t scale, Rounding rounding);
// DecimalType.divide: 32 significant digits or more, without trailing zeros.
Decimal divide(const Decimal& a, const Decimal& b);
Decimal remainder(const Decimal& a, const Decimal& b);
// To 32 significant digits, or as many as x has. x of the logarithms is positive.
Decimal exponential(const Decimal& x);
Decimal logarithm(const Decimal& x);
Decimal logarithm_10(const Decimal& x);

}  // namespace cassandra_like::functions
