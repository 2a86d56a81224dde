// Where the outputs of a task end.
#include <gtest/gtest.h>

#include "storage/compaction/strategy/strategy.h"

namespace cassandra_like::strategy_test {
namespace {

// Writes keys of `step` bytes at tokens 1, 2, 3 …; the sizes of the outputs and their levels.
std::vector<std::pair<uint64_t, int32_t>> write(OutputLimits limits, Token keys, uint64_t step) {
  OutputCutter cutter(std::move(limits));
  std::vector<std::pair<uint64_t, int32_t>> outputs;
  uint64_t bytes = 0;
  int32_t level = cutter.level();
  for (Token token = 1; token <= keys; ++token) {
    if (cutter.ends_before(token, bytes)) {
      outputs.emplace_back(bytes, level);
      bytes = 0;
      level = cutter.level();
    }
    bytes += step;
  }
  outputs.emplace_back(bytes, level);
  return outputs;
}

using Outputs = std::vector<std::pair<uint64_t, int32_t>>;

TEST(OutputCutter, WithoutLimitsThereIsOneOutput) { EXPECT_EQ(write({}, 10, 5), (Outputs{{50, 0}})); }

TEST(OutputCutter, AnOutputEndsWhenItHasMoreThanItMay) {
  OutputLimits limits;
  limits.level = 2;
  limits.max_bytes = 19;
  EXPECT_EQ(write(limits, 10, 5), (Outputs{{20, 2}, {20, 2}, {10, 2}}));
}

TEST(OutputCutter, AnOutputEndsAtTheBoundariesThatItHasDataBefore) {
  OutputLimits limits;
  limits.boundaries = {-5, 3, 4, 100};
  EXPECT_EQ(write(limits, 10, 1), (Outputs{{3, 0}, {1, 0}, {6, 0}}));
}

// maxBytesForLevel: 10 SSTables of more than 10 bytes fill level 1 with fan-out 10.
TEST(OutputCutter, AMajorLeveledCompactionFillsOneLevelAfterTheOther) {
  OutputLimits limits;
  limits.shape = OutputLimits::Shape::kLevels;
  limits.level = 1;
  limits.fanout = 2;
  limits.max_bytes = 10;
  EXPECT_EQ(write(limits, 9, 11),
            (Outputs{{11, 1}, {11, 1}, {11, 2}, {11, 2}, {11, 2}, {11, 2}, {11, 3}, {11, 3}, {11, 3}}));
}

TEST(OutputCutter, HalvesGetSmallerUntilFiftyMegabytes) {
  OutputLimits limits;
  limits.shape = OutputLimits::Shape::kHalves;
  limits.total_bytes = 400'000'000;
  EXPECT_EQ(write(limits, 399, 1'000'000),
            (Outputs{{201'000'000, 0}, {101'000'000, 0}, {51'000'000, 0}, {46'000'000, 0}}));
}

// The share that the output gets which begins with `token`, when tokens up to 100 and so many bytes are still to come.
double share(OutputLimits limits, Token token, uint64_t bytes) {
  OutputCutter cutter(std::move(limits));
  cutter.ends_before(token, 0);
  return cutter.share_of_output(token, 100, bytes);
}

TEST(OutputCutter, WithoutLimitsAnOutputGetsAll) { EXPECT_EQ(share({}, 1, 1000), 1); }

TEST(OutputCutter, BoundariesShareTheRestEvenly) {
  OutputLimits limits;
  limits.boundaries = {-5, 25, 50, 75, 100, 200};
  EXPECT_EQ(share(limits, 1, 1000), 0.25);
  EXPECT_EQ(share(limits, 25, 1000), 0.25);
  EXPECT_EQ(share(limits, 60, 1000), 0.5);
  EXPECT_EQ(share(limits, 80, 1000), 1);
}

TEST(OutputCutter, AnOutputGetsNoMoreThanItMayHave) {
  OutputLimits limits;
  limits.max_bytes = 100;
  EXPECT_EQ(share(limits, 1, 1000), 0.1);
  EXPECT_EQ(share(limits, 1, 60), 1);
  limits.boundaries = {50};
  EXPECT_EQ(share(limits, 1, 1000), 0.1);
  EXPECT_EQ(share(limits, 1, 150), 0.5);
}

TEST(OutputCutter, TheFirstHalfGetsAHalf) {
  OutputLimits limits;
  limits.shape = OutputLimits::Shape::kHalves;
  limits.total_bytes = 400'000'000;
  EXPECT_EQ(share(limits, 1, 400'000'000), 0.5);
}

}  // namespace
}  // namespace cassandra_like::strategy_test
