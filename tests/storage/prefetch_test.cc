// Requests that came together: what they will read is brought into the processor's caches first.
#include "fixture.h"
#include "gtest/gtest.h"

namespace cassandra_like::storage_test {
namespace {

constexpr int kPartitions = 5000;
constexpr size_t kValueBytes = 8 << 10;  // 39 MiB in all: an SSTable that the processor's caches cannot hold

std::string key(int i) { return "k" + std::to_string(i); }
std::string value(int i) { return std::string(kValueBytes, static_cast<char>('a' + i % 26)); }

PrefetchKey reading(const Node& node, const std::string& key) {
  const KeyHash hash = murmur3_128(key);
  return {node.table("t")->id, token_of(hash), hash};
}

TEST(Prefetch, ReadsOfALargeSSTableAnswerAsEver) {
  Node node;
  for (int i = 0; i < kPartitions; ++i) {
    ASSERT_TRUE(node.apply(Update(node.table("t"), key(i)).row(1).cell("v", value(i))).ok());
    if (i % 1000 == 999) node.flush();
  }
  node.compact();
  ASSERT_TRUE(node.apply(Update(node.table("t"), "in memory").row(1).cell("v", "x")).ok());
  for (int i = 0; i < 10; ++i) node.read("t", key(i));  // their chunks are in the cache

  std::vector<PrefetchKey> keys{reading(node, "in memory"), reading(node, "nowhere"), reading(node, "")};
  keys.push_back({node.table("t")->id, DecoratedKey::of(key(1)).token});  // one that is about to be written
  keys.push_back({Uuid(), 5, murmur3_128("of no table")});
  for (int i = 0; i < 20; ++i) keys.push_back(reading(node, key(i)));
  node.engine().prefetch(keys);

  EXPECT_EQ(node.read("t", "in memory"), (Lines{"in memory", "  1: v=x@1"}));
  EXPECT_EQ(node.read("t", "nowhere"), Lines{});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(node.read("t", key(i)), (Lines{key(i), "  1: v=" + value(i) + "@1"})) << i;
}

}  // namespace
}  // namespace cassandra_like::storage_test
