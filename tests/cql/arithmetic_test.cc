// The edges of big numbers that expressions reach only with long literals.
#include "cql/values/arithmetic_decimal.h"

#include <cmath>

#include "cql/values/arithmetic_number.h"
#include "gtest/gtest.h"

namespace cassandra_like::functions {
namespace {

std::string text(const Decimal& d) { return d.unscaled.to_text() + "e" + std::to_string(-d.scale); }

// BigInteger.toByteArray of the numbers where its length changes.
TEST(BigInt, IsTheShortestTwosComplement) {
  const std::pair<int64_t, const char*> cases[] = {{0, "00"},
                                                   {1, "01"},
                                                   {127, "7f"},
                                                   {128, "0080"},
                                                   {255, "00ff"},
                                                   {256, "0100"},
                                                   {-1, "ff"},
                                                   {-128, "80"},
                                                   {-129, "ff7f"},
                                                   {-256, "ff00"},
                                                   {32767, "7fff"},
                                                   {32768, "008000"},
                                                   {-32768, "8000"},
                                                   {-32769, "ff7fff"},
                                                   {INT64_MAX, "7fffffffffffffff"},
                                                   {INT64_MIN, "8000000000000000"}};
  for (const auto& [value, bytes] : cases) {
    EXPECT_EQ(to_hex(BigInt(value).to_bytes()), bytes) << value;
    EXPECT_EQ(BigInt::from_bytes(BigInt(value).to_bytes()).to_text(), std::to_string(value));
    EXPECT_EQ(BigInt(value).low_64_bits(), value);
  }
}

TEST(BigInt, CountsDecimalDigits) {
  for (int64_t n : {1, 2, 15, 16, 17, 18}) {
    BigInt power = BigInt::power_of_ten(static_cast<uint64_t>(n));
    EXPECT_EQ(power.digits(), n + 1);
    EXPECT_EQ((power - BigInt(1)).digits(), n);
    EXPECT_EQ((-power).digits(), n + 1);
  }
  EXPECT_EQ(BigInt(0).digits(), 1);
  EXPECT_EQ(BigInt::power_of_ten(5000).digits(), 5001);
}

TEST(Decimal, RoundsAsAsked) {
  auto to_integer = [](const char* number, Rounding rounding) {
    return Decimal::from_text(number).rescaled(0, rounding).unscaled.to_text();
  };
  EXPECT_EQ(to_integer("2.5", Rounding::kDown), "2");
  EXPECT_EQ(to_integer("2.5", Rounding::kHalfUp), "3");
  EXPECT_EQ(to_integer("2.5", Rounding::kHalfEven), "2");
  EXPECT_EQ(to_integer("3.5", Rounding::kHalfEven), "4");
  EXPECT_EQ(to_integer("-2.5", Rounding::kHalfUp), "-3");
  EXPECT_EQ(to_integer("-2.51", Rounding::kHalfEven), "-3");
  EXPECT_EQ(text(Decimal::from_text("99.96").rounded(3, Rounding::kHalfUp)), "100e0");
}

// 1e9 and 1e-9 would need a number of two thousand million digits.
TEST(Decimal, AddsAcrossAnyDistance) {
  Decimal large{BigInt(1), -1000000000}, small{BigInt(1), 1000000000};
  Decimal sum = add(large, small);
  EXPECT_EQ(sum.digits(), 10000);
  EXPECT_EQ(sum.scale, -1000000000 + 9999);
  EXPECT_EQ(add(small, Decimal{BigInt(-1), -1000000000}).digits(), 10000);
}

// Known digits of e, ln 2 and log10 2.
TEST(Decimal, LogarithmsAndExponentialsAreRightToTheLastDigit) {
  EXPECT_EQ(text(exponential({BigInt(1), 0})), "27182818284590452353602874713527e-31");
  EXPECT_EQ(text(logarithm({BigInt(2), 0})), "69314718055994530941723212145818e-32");
  EXPECT_EQ(text(logarithm_10({BigInt(2), 0})), "30102999566398119521373889472449e-32");
}

TEST(Number, ConvertsAsJavaDoes) {
  EXPECT_EQ(saturated_int(1e10), 2147483647);
  EXPECT_EQ(saturated_long(-1e300), INT64_MIN);
  EXPECT_EQ(saturated_long(9223372036854775807.0), INT64_MAX);
  EXPECT_EQ(saturated_int(std::nan("")), 0);
  Bytes varint = (BigInt::power_of_ten(20) + BigInt(7)).to_bytes();
  EXPECT_EQ(Number::of(TypeKind::kVarint, varint).to_long(), 7766279631452241927);
  EXPECT_EQ(Number::of(TypeKind::kVarint, varint).to_int(), 1661992967);
}

}  // namespace
}  // namespace cassandra_like::functions
