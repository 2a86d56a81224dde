// How UnifiedCompactionStrategy cuts a shard's part of the ring.
#include <gtest/gtest.h>

#include <cmath>

#include "storage/compaction/strategy/strategy.h"
#include "storage/compaction/strategy/unified.h"
#include "tests/strategy/recorded.h"

namespace cassandra_like::strategy_test {
namespace {

TEST(Shares, CountIsCassandras) {
  for (const Fields& line : recorded_lines("shares.txt")) {
    if (line[0] != "shards") continue;
    auto options = parse_compaction_options(*normal_compaction(recorded_map(line[1])));
    ASSERT_TRUE(options.ok()) << line[1];
    std::string ours;
    for (const std::string& pair : split(line[2], ',')) {
      const std::string density = split(pair, ':')[0];
      const uint32_t count = unified_shard_count(options->unified, std::stod(density));
      ours += (ours.empty() ? "" : ",") + density + ":" + std::to_string(count);
    }
    EXPECT_EQ(ours, line[2]) << line[1];
  }
}

// Cassandra computes a boundary with the share in decimal digits: to one part in 2^53.
TEST(Shares, BoundariesAndSpansAreCassandras) {
  for (const Fields& line : recorded_lines("shares.txt")) {
    if (line[0] != "boundaries") continue;
    const OwnedRanges ranges = recorded_ranges(line[1]);
    EXPECT_DOUBLE_EQ(ranges.coverage(), std::stod(line[2]));
    const std::vector<Token> ours = ranges.boundaries(static_cast<uint32_t>(std::stoul(line[3])));
    const Fields theirs = line[4].empty() ? Fields() : split(line[4], ',');
    ASSERT_EQ(ours.size(), theirs.size()) << line[1];
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_LE(std::abs(static_cast<double>(ours[i] - std::stoll(theirs[i]))), 4096) << line[1];
    }
    for (const std::string& text : split(line[5], ',')) {
      const Fields span = split(text, ':');
      EXPECT_NEAR(ranges.spanned(std::stoll(span[0]), std::stoll(span[1])), std::stod(span[2]), 1e-15) << text;
    }
  }
}

// The shards of a node share its ring out: every token has one owner, and the shares make the whole.
TEST(Shares, ShardsOfANodeHaveEachTokenOnce) {
  const std::vector<OwnedRange> node{{-8000000000000000000, -100}, {5, 4611686018427387904}, {9000000000000000000}};
  for (unsigned count : {1u, 2u, 3u, 7u}) {
    double whole = 0;
    for (unsigned shard = 0; shard < count; ++shard) {
      const OwnedRanges owned = OwnedRanges::of_shard(node, shard, count);
      whole += owned.coverage();
      for (const OwnedRange& range : owned.ranges()) {
        EXPECT_EQ(count > 1 ? shard_of(range.left + 1, count) : 0, shard);
        EXPECT_EQ(count > 1 ? shard_of(range.right == kMinimumToken ? INT64_MAX : range.right, count) : 0, shard);
      }
    }
    EXPECT_NEAR(whole, OwnedRanges(node).coverage(), 1e-12) << count;
  }
}

// The boundaries of few shares are boundaries of many, and each share has as much of the shard's slivers.
TEST(Shares, OfAShardAreEqualAndNested) {
  const OwnedRanges owned = OwnedRanges::of_shard(std::vector<OwnedRange>{OwnedRange{}}, 1, 3);
  EXPECT_NEAR(owned.coverage(), 1.0 / 3, 1e-9);
  const std::vector<Token> four = owned.boundaries(4), sixteen = owned.boundaries(16);
  for (size_t i = 0; i < four.size(); ++i) EXPECT_EQ(four[i], sixteen[4 * i + 3]);
  Token from = kMinimumToken + 1;
  for (Token to : sixteen) {
    EXPECT_NEAR(owned.spanned(from, to), 1.0 / 48, 1e-9);
    from = to + 1;
  }
}

TEST(Shares, ARangeOutsideOfTheShardSpansNothing) {
  const OwnedRanges owned(std::vector<OwnedRange>{{0, 1000}, {5000, 6000}});
  EXPECT_EQ(owned.spanned(2000, 3000), 0);
  EXPECT_EQ(owned.spanned(7000, 8000), 0);
  EXPECT_EQ(owned.spanned(-5, -1), 0);
  EXPECT_EQ(owned.spanned(kMinimumToken + 1, INT64_MAX), owned.coverage());
}

OutputLimits flush_limits(StringPairs compaction, double flush_bytes) {
  compaction["class"] = "UnifiedCompactionStrategy";
  const auto options = parse_compaction_options(*normal_compaction(compaction));
  return make_compaction_strategy(*options)->flush_limits(OwnedRanges(), flush_bytes);
}

// UnifiedCompactionStrategy.createSSTableMultiWriter
TEST(Shares, AFlushIsCutByTheSizesOfThoseBefore) {
  constexpr double kMiB = 1 << 20;
  const Token quarter = Token{1} << 62;
  const std::vector<Token> none, half{0}, quarters{-quarter, 0, quarter - 1};
  auto boundaries = [](StringPairs compaction, double flush_bytes) {
    return flush_limits(std::move(compaction), flush_bytes).boundaries;
  };
  EXPECT_EQ(boundaries({}, 0), none);
  EXPECT_EQ(boundaries({}, 199 * kMiB), none);
  EXPECT_EQ(boundaries({}, 200 * kMiB), half);
  EXPECT_EQ(boundaries({}, 400 * kMiB), quarters);
  EXPECT_EQ(boundaries({{"min_sstable_size", "0B"}}, 0), quarters);
  EXPECT_EQ(boundaries({{"min_sstable_size", "0B"}, {"base_shard_count", "2"}}, kMiB), half);
  EXPECT_EQ(boundaries({{"min_sstable_size", "0B"}, {"base_shard_count", "1"}}, kMiB), none);
  EXPECT_EQ(boundaries({{"flush_size_override", "400MiB"}}, kMiB), none);
}

TEST(Shares, OtherStrategiesDoNotCutFlushes) {
  for (const char* strategy : {"SizeTiered", "Leveled", "TimeWindow"}) {
    const StringPairs compaction{{"class", std::string(strategy) + "CompactionStrategy"}};
    const auto options = parse_compaction_options(*normal_compaction(compaction));
    const OutputLimits limits = make_compaction_strategy(*options)->flush_limits(OwnedRanges(), 1e12);
    EXPECT_TRUE(limits.boundaries.empty()) << strategy;
  }
}

}  // namespace
}  // namespace cassandra_like::strategy_test
