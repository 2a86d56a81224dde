#include "base/bytes.h"

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

TEST(Bytes, IntegersAreBigEndian) {
  Bytes out;
  append_be<uint8_t>(out, 1);
  append_be<uint16_t>(out, 0x0203);
  append_be<int32_t>(out, -2);
  append_be<int64_t>(out, 0x0405060708090A0B);
  EXPECT_EQ(to_hex(out), "010203fffffffe0405060708090a0b");

  Reader in(out);
  EXPECT_EQ(in.u8(), 1);
  EXPECT_EQ(in.u16(), 0x0203);
  EXPECT_EQ(in.i32(), -2);
  EXPECT_EQ(in.i64(), 0x0405060708090A0B);
  EXPECT_TRUE(in.at_end());
  EXPECT_FALSE(in.failed());
}

TEST(Bytes, ReadingPastTheEndFailsForGood) {
  Reader in("abc");
  EXPECT_EQ(in.take(2), "ab");
  EXPECT_EQ(in.u16(), 0);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.u8(), 0);
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_TRUE(in.failed());
}

TEST(Bytes, Hex) {
  Bytes out = "kept";
  EXPECT_FALSE(from_hex("abc", &out));
  EXPECT_FALSE(from_hex("0g", &out));
  EXPECT_EQ(out, "kept");
  EXPECT_TRUE(from_hex("00fFA5", &out));
  EXPECT_EQ(out, Bytes("\x00\xff\xa5", 3));
  EXPECT_EQ(to_hex(out), "00ffa5");
  EXPECT_TRUE(from_hex("", &out));
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace cassandra_like
