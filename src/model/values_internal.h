// Arbitrary-precision integers as decimal digits: all that varint and decimal need is to print, parse and order them.
#pragma once

#include <string>

#include "base/bytes.h"

namespace cassandra_like::values_internal {

// The sign and digits of a big-endian two's complement integer; "0" for zero and for no bytes. Up to eight bytes
// without an allocation.
class IntegerDigits {
 public:
  explicit IntegerDigits(BytesView twos_complement);
  IntegerDigits(const IntegerDigits&) = delete;
  IntegerDigits& operator=(const IntegerDigits&) = delete;

  bool negative() const { return negative_; }
  std::string_view digits() const { return digits_; }
  bool is_zero() const { return digits_ == "0"; }

 private:
  char small_[20];
  std::string big_;
  std::string_view digits_;
  bool negative_ = false;
};

// The shortest two's complement form of an integer of decimal digits (leading zeros are fine).
void append_integer(Bytes& out, bool negative, std::string_view digits);

// A serialized decimal as ±0.d1d2d3… × 10^magnitude; digits without trailing zeros, none for zero.
class DecimalDigits {
 public:
  explicit DecimalDigits(BytesView serialized);

  bool negative() const { return unscaled_.negative(); }
  bool is_zero() const { return digits_.empty(); }
  int64_t magnitude() const { return magnitude_; }
  std::string_view digits() const { return digits_; }

 private:
  IntegerDigits unscaled_;
  std::string_view digits_;
  int64_t magnitude_ = 0;
};

}  // namespace cassandra_like::values_internal
