// Text forms that no type prints or that oracles rarely show; the rest is compared with Cassandra in
// types_oracle_test.cc.
#include "model/values.h"

#include <limits>

#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

TEST(ValuesTest, FloatingPointIsTheShortestThatReadsBack) {
  // JDK 19 and later print the same; older ones print a digit too many of some.
  EXPECT_EQ(double_to_text(1.0E23), "1.0E23");
  EXPECT_EQ(double_to_text(2.0E-3), "0.002");
  EXPECT_EQ(double_to_text(std::numeric_limits<double>::denorm_min()), "4.9E-324");
  EXPECT_EQ(float_to_text(std::numeric_limits<float>::denorm_min()), "1.4E-45");
  EXPECT_EQ(float_to_text(1.17549435E-38f), "1.1754944E-38");
  EXPECT_EQ(float_to_text(9999999.0f), "9999999.0");
  EXPECT_EQ(float_to_text(1.0E7f), "1.0E7");
}

TEST(ValuesTest, VarintsOfAnyLength) {
  std::string digits = "1" + std::string(1000, '0');
  EXPECT_EQ(varint_to_text(encode_varint(digits).value()), digits);
  EXPECT_EQ(varint_to_text(encode_varint("-" + digits).value()), "-" + digits);
  EXPECT_EQ(to_hex(encode_varint("-18446744073709551616").value()), "ff0000000000000000");
  EXPECT_EQ(to_hex(encode_varint("18446744073709551615").value()), "00ffffffffffffffff");
}

TEST(ValuesTest, TimestampsPrintTwoWays) {
  EXPECT_EQ(timestamp_to_text(1425689999999), "2015-03-07 00:59:59.999Z");
  EXPECT_EQ(timestamp_to_text(1425689999999, 'T'), "2015-03-07T00:59:59.999Z");
}

TEST(ValuesTest, WhatNeedsAClockOrATimeZoneDatabaseIsRefused) {
  EXPECT_EQ(parse_timestamp("Now").error().message(),
            "The timestamp 'now' is not supported yet: use currentTimestamp()");
  EXPECT_EQ(parse_timestamp("2015-03-07 10:10 PST").error().message(),
            "Unable to parse a date/time from '2015-03-07 10:10 PST'");
  EXPECT_EQ(parse_inet("localhost").error().message(), "Unable to make inet address from 'localhost'");
}

TEST(ValuesTest, DurationsOfTheLowestValues) {
  // They have no absolute value: Java prints nothing but the sign.
  EXPECT_EQ(duration_to_text({std::numeric_limits<int32_t>::min(), 0, 0}), "-");
  EXPECT_EQ(duration_to_text({-13, -1, -1}), "-1y1mo1d1ns");
  EXPECT_EQ(duration_to_text({}), "");
}

TEST(ValuesTest, Quoting) {
  EXPECT_EQ(quote_string("it's"), "'it''s'");
  EXPECT_EQ(json_quote("a\"b\\c\n\x01/\x7F"), "\"a\\\"b\\\\c\\n\\u0001/\x7F\"");
}

TEST(ValuesTest, NumbersHaveALimitOfDigits) {
  const std::string most(100'000, '9'), more(100'001, '9');
  EXPECT_TRUE(encode_varint(most).ok());
  EXPECT_TRUE(encode_decimal(most + "e5").ok());
  const std::string kRefused = "A number of more than 100000 digits is not supported yet";
  for (const std::string& text : {more, "-" + more}) {
    EXPECT_EQ(encode_varint(text).error().message(), kRefused);
    EXPECT_EQ(encode_decimal(text).error().message(), kRefused);
  }
}

}  // namespace
}  // namespace cassandra_like
