// The index of a memtable's partitions beside a sorted set, for tokens spread evenly, crowded and equal.
#include "storage/memtable/partition_map.h"

#include <array>
#include <deque>
#include <functional>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace cassandra_like::storage_test {
namespace {

using Keys = std::vector<std::pair<Token, std::string>>;

class PartitionIndexTest : public testing::Test {
 protected:
  // The answer of insert(): true if the key was not there.
  bool insert(Token token, std::string text) {
    const std::string& key = texts.emplace_back(std::move(text));
    bool made = false;
    MemtablePartition& partition = index.find_or_insert({token, key}, [&] {
      made = true;
      auto* partition = arena.make<MemtablePartition>();
      partition->key = {token, key};
      return partition;
    });
    EXPECT_EQ(partition.key, (DecoratedKey{token, key}));
    expected.emplace(token, key);
    return made;
  }

  static Keys from(PartitionMap::Iterator at, PartitionMap::Iterator end) {
    Keys keys;
    for (; at != end; ++at) keys.emplace_back(at->key.token, std::string(at->key.key));
    return keys;
  }
  Keys all() const { return from(index.begin(), index.end()); }
  Keys all_expected() const { return {expected.begin(), expected.end()}; }

  // Every key is found, none beside it; and what follows each position is what the set says.
  void check() const {
    ASSERT_EQ(all(), all_expected());
    EXPECT_EQ(index.size(), expected.size());
    std::vector<Token> tokens;
    for (const auto& [token, key] : expected) tokens.push_back(token);
    index.prefetch(tokens);  // leads nowhere that is not there
    for (const auto& [token, key] : expected) {
      EXPECT_TRUE(index.has(token));
      EXPECT_EQ(index.has(token - 1), expected.lower_bound({token - 1, ""})->first == token - 1);
      ASSERT_NE(index.find({token, key}), nullptr);
      EXPECT_EQ(index.find({token, key + "x"}) != nullptr, expected.contains({token, key + "x"}));
      EXPECT_EQ(next(RingPosition::at({token, key})), std::make_pair(token, key));
      EXPECT_EQ(next(RingPosition::before(token)), *expected.lower_bound({token, ""}));
      auto after = expected.upper_bound({token, std::string(64, '\xff')});
      EXPECT_EQ(next(RingPosition::after(token)), after == expected.end() ? Keys::value_type() : *after);
    }
  }
  Keys::value_type next(const RingPosition& position) const {
    auto at = index.lower_bound(position);
    return at == index.end() ? Keys::value_type() : Keys::value_type(at->key.token, at->key.key);
  }

  Arena arena;
  PartitionMap index{&arena};
  std::set<std::pair<Token, std::string>> expected;
  std::deque<std::string> texts;
};

constexpr Token kLeast = std::numeric_limits<Token>::min() + 1, kGreatest = std::numeric_limits<Token>::max();

TEST_F(PartitionIndexTest, AnEmptyOneHasNothing) {
  EXPECT_TRUE(index.empty());
  EXPECT_EQ(all(), Keys{});
  EXPECT_EQ(index.find({5, "a"}), nullptr);
  EXPECT_FALSE(index.has(5));
  index.prefetch(std::array{Token{5}, Token{-5}});
  EXPECT_EQ(index.lower_bound(RingPosition::minimum()), index.end());
}

TEST_F(PartitionIndexTest, WhatIsThereIsNotInsertedAgain) {
  EXPECT_TRUE(insert(5, "a"));
  EXPECT_FALSE(insert(5, "a"));
  EXPECT_TRUE(insert(5, "b"));
  EXPECT_TRUE(insert(-5, "a"));
  EXPECT_EQ(all(), (Keys{{-5, "a"}, {5, "a"}, {5, "b"}}));
}

TEST_F(PartitionIndexTest, TokensSpreadEvenly) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) insert(static_cast<Token>(random()), "k");
  insert(kLeast, "least");
  insert(kGreatest, "greatest");
  check();
}

// The tokens of one of two shards: the second half of every 4096th of the ring.
TEST_F(PartitionIndexTest, TokensOfOneShard) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) insert(static_cast<Token>(random() | uint64_t{1} << 51), "k");
  check();
}

TEST_F(PartitionIndexTest, TokensThatFollowEachOther) {
  for (Token token = -1000; token < 1000; ++token) insert(token, "k");
  for (Token token = 0; token < 500; ++token) insert(kGreatest - token, "k");
  check();
}

TEST_F(PartitionIndexTest, KeysOfOneToken) {
  for (Token token : {Token{7}, Token{6}, Token{8}, kLeast, kGreatest}) {
    for (int i = 0; i < 100; ++i) insert(token, std::to_string(i * 37 % 100));
  }
  check();
}

TEST_F(PartitionIndexTest, ItTakesTheSameMemoryWhereverThatIs) {
  auto taken = [](size_t offset) {
    Arena arena(4096);
    arena.allocate(offset);
    const size_t before = arena.reserved();
    PartitionMap index(&arena);
    for (Token token = 0; token < 1000; ++token) {
      index.find_or_insert({token * 0x123456789abcd, "k"}, [&] {
        auto* partition = arena.make<MemtablePartition>();
        partition->key = {token * 0x123456789abcd, "k"};
        return partition;
      });
    }
    return arena.reserved() - before;
  };
  EXPECT_EQ(taken(16), taken(32));
}

}  // namespace
}  // namespace cassandra_like::storage_test
