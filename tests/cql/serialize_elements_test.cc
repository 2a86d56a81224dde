#include "cql/values/serialize_elements.h"

#include "gtest/gtest.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

Bytes tuple_of(std::initializer_list<BytesView> fields) { return serialize_tuple(fields); }

// A tuple that lacks its last field is equal to one in which it is null.
TEST(SerializeElementsTest, OfEqualKeysTheFirstStaysWithTheLastValue) {
  const TypePtr pairs = types::tuple({types::int_(), types::int_()});
  const Bytes one = encode_int(1), two = encode_int(2);
  const Bytes short_one = tuple_of({one}), long_one = tuple_of({one, kNull}), of_two = tuple_of({two});
  EXPECT_EQ(serialize_sorted(*pairs, {of_two, "c", short_one, "a", long_one, "b"}, 2),
            serialize_sorted(*pairs, {short_one, "b", of_two, "c"}, 2));
  EXPECT_EQ(serialize_sorted(*pairs, {long_one, of_two, short_one}, 1),
            serialize_sorted(*pairs, {long_one, of_two}, 1));
  EXPECT_NE(serialize_sorted(*pairs, {short_one}, 1), serialize_sorted(*pairs, {long_one}, 1));
}

}  // namespace
}  // namespace cassandra_like
