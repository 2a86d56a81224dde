// The numbers are those of Cassandra's Splitter.splitOwnedRanges for the same ranges.
#include "storage/table/disk_boundaries.h"

#include "gtest/gtest.h"

namespace cassandra_like::storage_test::disk_boundaries_test {
namespace {

using Ranges = std::vector<OwnedRange>;
using Tokens = std::vector<Token>;

Tokens divided(const Ranges& owned, size_t directories, bool keeps_ranges) {
  return DiskBoundaries::divide(owned, directories, keeps_ranges).ends();
}

TEST(DiskBoundaries, DivideTheWholeRing) {
  const Ranges whole{OwnedRange{}};
  for (const Ranges& ring : {whole, Ranges{}}) {
    for (const bool keeps_ranges : {false, true}) {
      EXPECT_EQ(divided(ring, 1, keeps_ranges), Tokens());
      EXPECT_EQ(divided(ring, 2, keeps_ranges), Tokens{-1});
      EXPECT_EQ(divided(ring, 3, keeps_ranges), (Tokens{-3074457345618258603, 3074457345618258602}));
      EXPECT_EQ(divided(ring, 4, keeps_ranges), (Tokens{-4611686018427387905, -2, 4611686018427387901}));
    }
  }
}

TEST(DiskBoundaries, CutNoRangeOfANodeWithVnodesUntilThereAreMoreDirectories) {
  constexpr Token kQuintillion = 1'000'000'000'000'000'000;
  const Ranges three{{-5 * kQuintillion, -3 * kQuintillion}, {0, kQuintillion}, {2 * kQuintillion, 8 * kQuintillion}};
  EXPECT_EQ(divided(three, 2, false), (Tokens{3500000000000000000}));
  EXPECT_EQ(divided(three, 2, true), (Tokens{kQuintillion}));
  EXPECT_EQ(divided(three, 3, false), (Tokens{kQuintillion, 5 * kQuintillion}));
  EXPECT_EQ(divided(three, 3, true), (Tokens{kQuintillion, 5 * kQuintillion}));
  for (const bool keeps_ranges : {false, true}) {
    EXPECT_EQ(divided(three, 4, keeps_ranges), (Tokens{250000000000000000, 3500000000000000000, 5750000000000000000}));
  }
}

TEST(DiskBoundaries, RangesMayTouchTheEndsOfTheRing) {
  constexpr Token kQuintillion = 1'000'000'000'000'000'000;
  const Ranges five{{kMinimumToken, -9 * kQuintillion},
                    {-8 * kQuintillion, -7 * kQuintillion},
                    {-6 * kQuintillion, -5500000000000000000},
                    {10, 20},
                    {9 * kQuintillion, kMinimumToken}};
  EXPECT_EQ(divided(five, 2, false), (Tokens{-7249999999999999996}));
  EXPECT_EQ(divided(five, 2, true), (Tokens{-7 * kQuintillion}));
  EXPECT_EQ(divided(five, 3, false), (Tokens{-7574457345618258600, -5925542654381741392}));
  EXPECT_EQ(divided(five, 3, true), (Tokens{-9 * kQuintillion, -7 * kQuintillion}));
  EXPECT_EQ(divided(five, 4, false), (Tokens{-7736686018427387902, -7249999999999999996, -5763313981572612090}));
  EXPECT_EQ(divided(five, 4, true), (Tokens{-9 * kQuintillion, -7 * kQuintillion, -5500000000000000000}));
}

TEST(DiskBoundaries, ARangeOfTwoTokensIsNotDividedInThree) {
  EXPECT_EQ(divided({{5, 7}}, 2, false), Tokens{6});
  EXPECT_EQ(divided({{5, 7}}, 3, false), Tokens());
}

TEST(DiskBoundaries, ATokenBelongsToOneDirectory) {
  const DiskBoundaries boundaries({-10, 10});
  EXPECT_EQ(boundaries.directory_of(kMinimumToken), 0u);
  EXPECT_EQ(boundaries.directory_of(-10), 0u);
  EXPECT_EQ(boundaries.directory_of(-9), 1u);
  EXPECT_EQ(boundaries.directory_of(10), 1u);
  EXPECT_EQ(boundaries.directory_of(11), 2u);
  EXPECT_TRUE(boundaries.has(1, -9, 10));
  EXPECT_FALSE(boundaries.has(1, -9, 11));
  EXPECT_FALSE(boundaries.has(0, -9, 10));
}

TEST(DiskBoundaries, CutWhatAStrategyCutsOnceMore) {
  const OutputPlacement placement(DiskBoundaries({-10, 10}), {"/a", "/a", "/c"});
  OutputLimits limits;
  limits.boundaries = {-20, 10, 30};
  placement.cut(&limits);
  EXPECT_EQ(limits.boundaries, (Tokens{-20, -10, 10, 30}));
  EXPECT_EQ(placement.directory_of(5), "/a");
  EXPECT_EQ(placement.directory_of(11), "/c");
}

}  // namespace
}  // namespace cassandra_like::storage_test::disk_boundaries_test
