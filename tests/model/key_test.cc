#include "model/key.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;

TEST(KeyTest, TokensAreCassandras) {
  for (const OracleCase& c : oracle("token")) {
    EXPECT_EQ(std::to_string(murmur3_token(unhex(c.name))), c.results[0]) << c.name;
  }
}

TEST(KeyTest, KeysOfSeveralColumnsAreComposites) {
  Bytes one = encode_int(1);
  EXPECT_EQ(to_hex(serialize_partition_key(std::vector<BytesView>{"a", one, ""})), oracle_result("key", "composite"));
  EXPECT_EQ(serialize_partition_key(std::vector<BytesView>{"alone"}), "alone");

  Bytes key = serialize_partition_key(std::vector<BytesView>{"a", one});
  EXPECT_THAT(split_partition_key(*counts_table(), key), testing::ElementsAre("a", one));
  EXPECT_THAT(split_partition_key(*plain_table(), key), testing::ElementsAre(key));
}

TEST(KeyTest, KeysAreOrderedByTokenThenBytes) {
  DecoratedKey a{1, "b"}, b{2, "a"}, c{2, "\xff"};
  EXPECT_LT(a, b);
  EXPECT_LT(b, c);
  EXPECT_EQ(c, (DecoratedKey{2, "\xff"}));
}

TEST(KeyTest, RingPositionsLieBeforeAtAndAfterTheKeysOfAToken) {
  DecoratedKey key{5, "m"};
  std::vector<RingPosition> ascending{
      RingPosition::minimum(),    RingPosition::after(4),     RingPosition::before(5),
      RingPosition::at({5, "a"}), RingPosition::at({5, "m"}), RingPosition::at({5, "z"}),
      RingPosition::after(5),     RingPosition::before(6),    RingPosition::maximum()};
  for (size_t i = 0; i < ascending.size(); ++i) {
    EXPECT_EQ(ascending[i].compare(key), i < 4 ? -1 : i > 4 ? 1 : 0) << i;
    for (size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(ascending[i].compare(ascending[j]), i < j ? -1 : i > j ? 1 : 0) << i << " and " << j;
    }
  }
}

TEST(KeyTest, RangesHoldTheirInclusiveEnds) {
  DecoratedKey first{1, "a"}, inside{1, "b"}, last{2, "a"}, outside{2, "b"};
  KeyRange range{RingPosition::at(first), RingPosition::at(last), true, false};
  EXPECT_TRUE(range.contains(first));
  EXPECT_TRUE(range.contains(inside));
  EXPECT_FALSE(range.contains(last));
  EXPECT_FALSE(range.contains(outside));
  KeyRange tokens{RingPosition::after(1), RingPosition::after(2), true, true};
  EXPECT_FALSE(tokens.contains(inside));
  EXPECT_TRUE(tokens.contains(outside));
  EXPECT_TRUE(KeyRange().contains(first));
}

// ScyllaDB's drivers compute the same (biased_token_round_robin): the top 12 bits after the sign is biased do not
// matter.
TEST(KeyTest, ShardsAreSlicesOfEveryTokenRange) {
  EXPECT_EQ(shard_of(std::numeric_limits<int64_t>::min(), 4), 0u);
  EXPECT_EQ(shard_of(std::numeric_limits<int64_t>::max(), 4), 3u);
  EXPECT_EQ(shard_of(0, 1), 0u);
  Token step = int64_t{1} << 50;  // a quarter of 2^52
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(shard_of(std::numeric_limits<int64_t>::min() + static_cast<int64_t>(i) * step, 4), i % 4) << i;
  }
  EXPECT_EQ(shard_of(int64_t{1} << 62, 4, 0), 3u);
}

}  // namespace
}  // namespace cassandra_like
