#include "cql/prepared_cache.h"

#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

constexpr uint64_t kRoomForThree = 3 * 2048 + 100;

PreparedEntry entry(std::string text) {
  PreparedEntry out;
  out.text = std::move(text);
  return out;
}

TEST(PreparedCache, WhatWasNotUsedGoesFirst) {
  PreparedCache cache(kRoomForThree);
  for (const char* id : {"a", "b", "c"}) EXPECT_EQ(cache.put(id, entry(id)), std::vector<Bytes>{});
  ASSERT_NE(cache.find("a"), nullptr);

  EXPECT_EQ(cache.put("d", entry("d")), std::vector<Bytes>{"b"});
  EXPECT_EQ(cache.ids(), (std::vector<Bytes>{"a", "c", "d"}));
}

TEST(PreparedCache, AnEntryThatIsReplacedWeighsOnce) {
  PreparedCache cache(kRoomForThree);
  for (const char* text : {"one", "two", "three", "four"}) EXPECT_EQ(cache.put("a", entry(text)), std::vector<Bytes>{});
  EXPECT_EQ(cache.find("a")->text, "four");
}

TEST(PreparedCache, AHeavyStatementMakesOthersGoButStaysItself) {
  PreparedCache cache(kRoomForThree);
  for (const char* id : {"a", "b", "c"}) cache.put(id, entry(id));

  EXPECT_EQ(cache.put("d", entry(std::string(10'000, 'x'))), (std::vector<Bytes>{"a", "b", "c"}));
  EXPECT_EQ(cache.ids(), std::vector<Bytes>{"d"});
}

TEST(PreparedCache, WhatIsErasedMakesRoom) {
  PreparedCache cache(kRoomForThree);
  for (const char* id : {"a", "b", "c"}) cache.put(id, entry(id));
  cache.erase("a");
  EXPECT_EQ(cache.put("d", entry("d")), std::vector<Bytes>{});
  EXPECT_EQ(cache.find("a"), nullptr);
}

}  // namespace
}  // namespace cassandra_like
