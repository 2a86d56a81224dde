// Types as their users meet them. Every type's answers are compared with Cassandra's in types_oracle_test.cc.
#include "model/types.h"

#include <functional>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using ::testing::ElementsAre;

TypePtr cql(const std::string& text) { return types::parse_cql(text, "ks", nullptr).value(); }

std::string error_of(const std::string& text) {
  auto type = types::parse_cql(text, "ks", nullptr);
  return type.ok() ? "ok" : type.error().message();
}

TEST(TypesTest, SimpleTypesAreShared) {
  EXPECT_EQ(types::int_(), types::simple(TypeKind::kInt));
  EXPECT_EQ(types::by_cql_name("VarChar"), types::text());
  EXPECT_EQ(cql("int"), types::int_());
  EXPECT_EQ(types::by_cql_name("list"), nullptr);
}

TEST(TypesTest, FreezeReachesInto) {
  TypePtr type = types::list(types::set(types::int_(), true), true);
  EXPECT_EQ(types::freeze(type)->cql_name(), "frozen<list<frozen<set<int>>>>");
  EXPECT_EQ(types::freeze(type)->cql_name(false), "list<frozen<set<int>>>");
  EXPECT_EQ(types::freeze(types::text()), types::text());
}

TEST(TypesTest, ReversedIsTheBaseExceptForItsOrder) {
  TypePtr type = types::reversed(types::int_());
  Bytes one = encode_int(1), two = encode_int(2);
  EXPECT_LT(types::int_()->compare(one, two), 0);
  EXPECT_GT(type->compare(one, two), 0);
  EXPECT_TRUE(type->is_reversed());
  EXPECT_EQ(type->kind(), TypeKind::kInt);
  EXPECT_EQ(&type->base(), types::int_().get());
  EXPECT_EQ(type->cql_name(), "int");
  EXPECT_EQ(type->fixed_length(), 4);
}

TEST(TypesTest, NumbersOfOtherSizesAreOrderedByTheirSignFirst) {
  const Bytes least = encode_bigint(std::numeric_limits<int64_t>::min()), one = encode_int(1);
  EXPECT_LT(types::bigint()->compare(least, one), 0);
  EXPECT_GT(types::bigint()->compare(one, least), 0);
  EXPECT_LT(types::bigint()->compare(encode_bigint(1), one), 0);  // the first bytes are the same: by the others
  EXPECT_LT(types::bigint()->compare("", one), 0);
}

TEST(TypesTest, ReferencesToUserTypes) {
  UserTypePtr udt = types::udt("ks", "address", {"street", "city"}, {types::text(), types::text()}, false);
  TypePtr type = types::map(types::int_(), types::reversed(types::tuple({udt})), true);
  EXPECT_TRUE(type->references_udt("ks", "address"));
  EXPECT_FALSE(type->references_udt("other", "address"));
  EXPECT_FALSE(types::int_()->references_udt("ks", "address"));
  EXPECT_EQ(udt->field_index("city"), 1u);
  EXPECT_EQ(udt->field_index("zip"), std::nullopt);
}

// The length 0 in two bytes: the element begins behind the first one.
TEST(TypesTest, ALengthInAVectorIsPassedOverInItsShortestForm) {
  const TypePtr type = types::vector(types::text(), 1);
  EXPECT_EQ(type->validate(Bytes("\x80\0\0", 3)).error().message(),
            "Unexpected 2 extraneous bytes after vector<text, 1> value");
  EXPECT_TRUE(type->validate(Bytes("\0", 1)).ok());
  EXPECT_EQ(type->validate(Bytes("\x80", 1)).error().message(), "Not enough bytes to read a vector<text, 1>");
}

TEST(TypesTest, Elements) {
  Bytes list;
  append_be(list, int32_t{3});
  append_element(list, "a");
  append_element(list, BytesView("", 0));
  append_element(list, kNull);
  ElementReader in = ElementReader::collection(list);
  EXPECT_EQ(in.count(), 3);
  std::vector<std::string> seen;
  for (BytesView e; in.next(&e);) seen.push_back(is_null(e) ? "null" : "'" + std::string(e) + "'");
  EXPECT_THAT(seen, ElementsAre("'a'", "''", "null"));
  EXPECT_FALSE(in.failed());

  list.pop_back();
  ElementReader cut = ElementReader::collection(list);
  BytesView e;
  EXPECT_TRUE(cut.next(&e));
  EXPECT_TRUE(cut.next(&e));
  EXPECT_FALSE(cut.next(&e));
  EXPECT_TRUE(cut.failed());
}

TEST(TypesTest, CountersStayOutOfCollections) {
  EXPECT_EQ(error_of("list<counter>"), "Counters are not allowed inside collections: list<counter>");
  EXPECT_EQ(error_of("map<int, counter>"), "Counters are not allowed inside collections: map<int, counter>");
}

TEST(TypesTest, NestingHasABound) {
  std::string deep_cql, deep_class;
  for (int i = 0; i < 100000; ++i) {
    deep_cql += "tuple<";
    deep_class += "TupleType(";
  }
  EXPECT_THAT(error_of(deep_cql), ::testing::EndsWith("types nested too deeply"));
  EXPECT_FALSE(types::parse_class(deep_class).ok());
}

// A type of `levels` levels, the innermost an int.
TypePtr nested(uint32_t levels, const std::function<TypePtr(TypePtr)>& around) {
  TypePtr type = types::int_();
  for (uint32_t level = 1; level < levels; ++level) type = around(std::move(type));
  return type;
}

TEST(TypesTest, TheDeepestTypesAreReadAgain) {
  std::map<std::string, UserTypePtr> made;
  auto tuple = [](TypePtr type) { return types::tuple({std::move(type)}); };
  auto list = [](TypePtr type) { return types::list(std::move(type), false); };
  auto user_type = [&made](TypePtr type) -> TypePtr {
    const std::string name = "u" + std::to_string(made.size());
    made[name] = types::udt("ks", name, {"a"}, {std::move(type)}, true);
    return types::freeze(made[name]);
  };
  auto find = [&made](std::string_view, std::string_view name) { return made.at(std::string(name)); };
  for (const std::function<TypePtr(TypePtr)>& around : {std::function<TypePtr(TypePtr)>(tuple), {list}, {user_type}}) {
    const TypePtr deepest = nested(types::kMaxTypeDepth, around);
    EXPECT_TRUE(types::check_extent(*deepest).ok());
    const auto from_cql = types::parse_cql(deepest->cql_name(), "ks", find);
    ASSERT_TRUE(from_cql.ok()) << from_cql.error().message();
    EXPECT_TRUE((*from_cql)->equals(*deepest));
    const auto from_class = types::parse_class(types::reversed(deepest)->class_name());
    ASSERT_TRUE(from_class.ok()) << from_class.error().message();
    EXPECT_TRUE((*from_class)->base().equals(*deepest));
    EXPECT_EQ(types::check_extent(*around(deepest)).error().message(),
              "Types nested 129 levels deep; 128 levels are supported");
  }
}

TEST(TypesTest, UserTypesThatDoubleHaveABound) {
  TypePtr type = types::int_();
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(types::check_extent(*type).ok(), i < 14) << i;
    type = types::udt("ks", "u" + std::to_string(i), {"a", "b"}, {type, type}, false);
  }
  EXPECT_EQ(types::check_extent(*type).error().message(),
            "A type made of 4294967295 types, with those of its user types; 16384 are supported");
}

TEST(TypesTest, UnsupportedPartitionersAreRefused) {
  auto type = types::parse_class("PartitionerDefinedOrder(org.apache.cassandra.dht.RandomPartitioner)");
  EXPECT_EQ(type.error().message(),
            "PartitionerDefinedOrder of org.apache.cassandra.dht.RandomPartitioner is not supported yet");
}

// Cassandra's comparators have it so. The comparable forms of Cassandra contradict that.
TEST(TypesTest, NansAreOneAndLastInComparableForms) {
  auto form = [](const TypePtr& type, const char* hex) {
    Bytes value, out;
    CHECK(from_hex(hex, &value));
    type->append_comparable(out, value);
    return out;
  };
  auto check = [&](const TypePtr& type, const char* nan, std::initializer_list<const char*> others,
                   const char* infinity) {
    for (const char* other : others) EXPECT_EQ(to_hex(form(type, other)), to_hex(form(type, nan))) << type->cql_name();
    EXPECT_GT(form(type, nan), form(type, infinity)) << type->cql_name();
  };
  check(types::float_(), "7fc00000", {"ffffffff", "ffc00000", "7f800001", "7fffffff"}, "7f800000");
  check(types::double_(), "7ff8000000000000", {"ffffffffffffffff", "7ff0000000000001"}, "7ff0000000000000");
  check(types::vector(types::float_(), 2), "7fc0000000000000", {"ffffffff00000000"}, "7f8000007fc00000");
  check(types::reversed(types::list(types::float_(), false)), "00000001000000047f800000", {},
        "0000000100000004ffffffff");
}

TEST(TypesTest, NullLiterals) {
  for (const char* name :
       {"int", "text", "blob", "list<int>", "map<int, int>", "tuple<int>", "vector<int, 2>", "inet"}) {
    EXPECT_EQ(cql(name)->to_cql_literal(kNull), "null") << name;
  }
}

// A list of ttl(v) has it for each element without a TTL.
TEST(TypesTest, ANullElementInJson) {
  Bytes list;
  append_be(list, int32_t{2});
  append_element(list, Bytes("\0\0\0\7", 4));
  append_element(list, kNull);
  EXPECT_EQ(cql("list<int>")->to_json(list), "[7, null]");
}

}  // namespace
}  // namespace cassandra_like
