// Bound collections as they are stored: bytes and messages are those of Cassandra 5.0.9 for INSERT … VALUES (1, ?) and
// SELECT.
#include "cql/values/bound_collection.h"

#include <gtest/gtest.h>

#include <ctime>

#include "base/bytes.h"
#include "model/types.h"

namespace cassandra_like {
namespace {

// The stored bytes in hexadecimal, or the message of the refusal.
std::string stored(const std::string& type_name, const std::string& hex) {
  auto type = types::parse_cql(type_name, "ks", [](std::string_view, std::string_view) { return UserTypePtr(); });
  CHECK(type.ok());
  Bytes value;
  CHECK(from_hex(hex, &value));
  Arena arena;
  auto bound = bound_collection(**type, value, arena);
  return bound.ok() ? to_hex(*bound) : bound.error().info().message;
}

TEST(BoundCollection, KeysAreOrderedAndOnce) {
  EXPECT_EQ(stored("frozen<set<int>>", "00000003000000040000000200000004000000000000000400000002"),
            "0000000200000004000000000000000400000002");
  EXPECT_EQ(stored("frozen<map<int, text>>",
                   "00000003000000040000000200000001620000000400000001000000016100000004000000020000000163"),
            "000000020000000400000001000000016100000004000000020000000163");
  EXPECT_EQ(stored("frozen<list<int>>", "00000003000000040000000200000004000000000000000400000002"),
            "00000003000000040000000200000004000000000000000400000002");
}

TEST(BoundCollection, SoAreThoseInsideButNotInTuples) {
  EXPECT_EQ(stored("frozen<list<frozen<set<int>>>>",
                   "000000020000001c000000030000000400000002000000040000000000000004000000020000000400000000"),
            "000000020000001400000002000000040000000000000004000000020000000400000000");
  EXPECT_EQ(stored("frozen<map<text, frozen<set<int>>>>",
                   "00000002000000016200000014000000020000000400000001000000040000000000000001610000000400000000"),
            "00000002000000016100000004000000000000000162000000140000000200000004000000000000000400000001");
  const std::string tuple = "0000000100000018000000140000000200000004000000010000000400000000";
  EXPECT_EQ(stored("frozen<list<frozen<tuple<frozen<set<int>>>>>>", tuple), tuple);
}

TEST(BoundCollection, NumbersHaveTheirShortestForm) {
  EXPECT_EQ(stored("frozen<set<varint>>", "0000000300000003000001000000010100000002ffff"),
            "0000000200000001ff0000000101");
  EXPECT_EQ(stored("frozen<list<decimal>>", "00000001000000070000000100000a"), "0000000100000005000000010a");
  EXPECT_EQ(stored("frozen<list<boolean>>", "000000030000000102000000010000000000"),
            "0000000300000001010000000100ffffffff");
}

TEST(BoundCollection, DecimalsOfOneValueAreOneKeyAtTheTopOnly) {
  EXPECT_EQ(stored("frozen<set<decimal>>", "0000000200000005000000026400000005000000010a"),
            "00000001000000050000000264");
  const std::string inside = "00000001000000160000000200000005000000026400000005000000010a";
  EXPECT_EQ(stored("frozen<list<frozen<set<decimal>>>>", inside), inside);
}

TEST(BoundCollection, TheFirstOfEqualKeysTakesTheLastValue) {
  // 1.00: a, 1.0: b, 1.00: c
  const std::string a = "0000000500000002640000000161", b = "00000005000000010a0000000162",
                    c = "0000000500000002640000000163";
  EXPECT_EQ(stored("frozen<map<decimal, text>>", "00000003" + a + b + c), "00000001" + c);
  EXPECT_EQ(stored("frozen<map<decimal, text>>", "00000002" + b + a), "0000000100000005000000010a0000000161");
  EXPECT_EQ(stored("frozen<set<frozen<map<decimal, text>>>>", "000000010000002e00000003" + a + b + c),
            "000000010000002000000002" + c + b);
}

TEST(BoundCollection, ManyElementsTakeAMoment) {
  for (const char* type_name : {"set<int>", "frozen<list<frozen<set<int>>>>"}) {
    Bytes value;
    constexpr int32_t kCount = 300'000;
    append_be(value, kCount);
    for (int32_t i = kCount; i > 0; --i) {
      append_be(value, int32_t{4});
      append_be(value, i);
    }
    const bool is_inside = std::string_view(type_name).starts_with("frozen");
    if (is_inside) {
      Bytes list;
      append_be(list, int32_t{1});
      append_be(list, static_cast<int32_t>(value.size()));
      value = list + value;
    }
    auto type = types::parse_cql(type_name, "ks", [](std::string_view, std::string_view) { return UserTypePtr(); });
    Arena arena;
    const std::clock_t began = std::clock();
    auto bound = bound_collection(**type, value, arena);
    EXPECT_LT(std::clock() - began, 30 * CLOCKS_PER_SEC) << type_name;
    ASSERT_TRUE(bound.ok());
    EXPECT_EQ(to_hex(bound->substr(is_inside ? 8 : 0, 20)), "000493e000000004000000010000000400000002");
    EXPECT_EQ(bound->size(), value.size());
  }
}

TEST(BoundCollection, WhatIsNone) {
  EXPECT_EQ(stored("frozen<set<int>>", "ffffffff"), "The data cannot be deserialized as a set");
  EXPECT_EQ(stored("frozen<map<int, int>>", "ffffffff"), "The data cannot be deserialized as a map");
  EXPECT_EQ(stored("frozen<list<int>>", "ffffffff"), "The data cannot be deserialized as a list");
  EXPECT_EQ(stored("frozen<set<int>>", "000000010000000101"), "Expected 4 or 0 byte int (1)");
  EXPECT_EQ(stored("frozen<set<int>>", "0000"), "Not enough bytes to read a set");
  EXPECT_EQ(stored("frozen<set<int>>", "00000001ffffffff"), "Null value read when not allowed");
  EXPECT_EQ(stored("frozen<list<int>>", "00000002ffffffff"), "Not enough bytes to read a list");
  EXPECT_EQ(stored("frozen<list<int>>", "00000002ffffffff0000000101"), "Expected 4 or 0 byte int (1)");
  EXPECT_EQ(stored("frozen<list<int>>", "00000001ffffffff00"), "Unexpected extraneous bytes after list value");
  EXPECT_EQ(stored("frozen<list<frozen<list<int>>>>", "000000010000000800000002ffffffff"),
            "Null value read when not allowed");
  EXPECT_EQ(stored("frozen<set<int>>", "00000001000000040000000100"), "Unexpected extraneous bytes after set value");
}

std::string stored_in(const std::string& element_type, const std::string& hex) {
  Bytes value;
  CHECK(from_hex(hex, &value));
  Arena arena;
  auto type = types::list(types::by_cql_name(element_type), false);
  auto bound = bound_in_list(*type, value, arena);
  return bound.ok() ? to_hex(*bound) : bound.error().info().message;
}

TEST(BoundInList, MayHoldNulls) {
  EXPECT_EQ(stored_in("int", "0000000200000004000000010000000000"), "Unexpected extraneous bytes after list value");
  EXPECT_EQ(stored_in("int", "00000002000000040000000100000000"), "000000020000000400000001ffffffff");
  EXPECT_EQ(stored_in("text", "00000003ffffffff000000000000000161"), "00000003ffffffff000000000000000161");
  EXPECT_EQ(stored_in("varint", "00000002ffffffff000000020001"), "00000002ffffffff0000000101");
  EXPECT_EQ(stored_in("int", "00000002ffffffff"), "Not enough bytes to read a list");
  EXPECT_EQ(stored_in("int", "ffffffff"), "The data cannot be deserialized as a list");
  EXPECT_EQ(stored_in("int", "01"), "Not enough bytes to read a list");
  EXPECT_EQ(stored_in("int", ""), "Not enough bytes to read a list");
}

std::string stored_user_type(const std::string& hex) {
  Bytes value;
  CHECK(from_hex(hex, &value));
  Arena arena;
  return to_hex(bound_user_type(value, arena));
}

TEST(BoundUserType, NullsHaveTheSizeMinusOne) {
  EXPECT_EQ(stored_user_type("80000000"), "ffffffff");
  EXPECT_EQ(stored_user_type("0000000161ff80000000000000"), "0000000161ffffffff00000000");
  EXPECT_EQ(stored_user_type("0000000161ffffffff"), "0000000161ffffffff");
}

}  // namespace
}  // namespace cassandra_like
