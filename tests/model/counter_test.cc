// Counter contexts merge as Cassandra 5.0.9's.
#include "model/counter.h"

#include <limits>

#include "gtest/gtest.h"
#include "model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;

Uuid counter_id(uint8_t i) {
  Uuid id;
  id.bytes[15] = i;
  return id;
}

TEST(CounterTest, MakesContextsOfOneShard) {
  Uuid seven = Uuid::from_bytes(BytesView(unhex(oracle_result("counter", "global"))).substr(4, 16));
  EXPECT_EQ(to_hex(make_counter_context(seven, 3, -4)), oracle_result("counter", "global"));
  EXPECT_EQ(to_hex(make_counter_update(12)), oracle_result("counter", "update"));
}

TEST(CounterTest, Merges) {
  for (const OracleCase& c : oracle("counter merge")) {
    Arena arena;
    Bytes a = unhex(c.results[0]), b = unhex(c.results[1]);
    BytesView merged = merge_counter_contexts(a, b, arena);
    EXPECT_EQ(to_hex(merged), c.results[2]) << c.name;
    EXPECT_EQ(std::to_string(counter_total(merged)), c.results[3]) << c.name;
  }
}

TEST(CounterTest, OfEqualClocksTheHigherCountWins) {
  Arena arena;
  Bytes low = make_counter_context(counter_id(1), 5, 2), high = make_counter_context(counter_id(1), 5, 3);
  EXPECT_EQ(merge_counter_contexts(low, high, arena), high);
  EXPECT_EQ(merge_counter_contexts(high, low, arena), high);
}

TEST(CounterTest, ContextsThatHoldTheOtherAreNotCopied) {
  Arena arena;
  Bytes old = make_counter_context(counter_id(1), 5, 2), next = make_counter_context(counter_id(1), 6, 1);
  EXPECT_EQ(merge_counter_contexts(old, next, arena).data(), next.data());
  EXPECT_EQ(merge_counter_contexts(next, old, arena).data(), next.data());
  EXPECT_EQ(arena.reserved(), 0u);
}

TEST(CounterTest, AddsToTheShardOfThisNode) {
  Bytes mine = add_to_counter("", counter_id(1), 5, 100);
  EXPECT_EQ(mine, make_counter_context(counter_id(1), 100, 5));
  Bytes both = add_to_counter(mine, counter_id(2), 7, 101);
  Bytes more = add_to_counter(both, counter_id(1), -3, 102);
  EXPECT_EQ(counter_total(more), 9);
  EXPECT_EQ(counter_clock(more, counter_id(1)), 102);
  EXPECT_EQ(counter_count(more, counter_id(1)), 2);
  EXPECT_EQ(counter_clock(more, counter_id(2)), 101);
  EXPECT_EQ(counter_clock(more, counter_id(3)), 0);
  EXPECT_EQ(counter_count(more, counter_id(3)), 0);
}

// Java's longs do that.
TEST(CounterTest, SumsThatAreTooLargeBeginAgain) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  Arena arena;
  Bytes most = make_counter_update(kMost), one = make_counter_update(1);
  EXPECT_EQ(counter_total(merge_counter_contexts(most, one, arena)), kLeast);
  Bytes mine = add_to_counter(make_counter_context(counter_id(1), 1, kMost), counter_id(1), 1, 2);
  EXPECT_EQ(counter_total(mine), kLeast);
}

TEST(CounterTest, KnowsIncrementsOnTheirWay) {
  EXPECT_TRUE(is_counter_update(make_counter_update(1)));
  EXPECT_FALSE(is_counter_update(make_counter_context(counter_id(1), 1, 1)));
  EXPECT_FALSE(is_counter_update(""));
}

TEST(CounterTest, WithstandsMalformedContexts) {
  Bytes context = make_counter_context(counter_id(1), 1, 5);
  for (size_t n = 0; n < context.size(); ++n) {
    Bytes prefix = context.substr(0, n);
    EXPECT_FALSE(is_counter_context(prefix)) << n;
    EXPECT_EQ(counter_total(prefix), 0) << n;
  }
  EXPECT_TRUE(is_counter_context(context));
}

}  // namespace
}  // namespace cassandra_like
