// Buckets and quantiles as Cassandra 5.0.9's utils.EstimatedHistogram printed them.
#include "base/histogram.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

TEST(Histogram, OffsetsAreCassandras) {
  struct Case {
    size_t bucket;
    uint64_t offset;
  };
  for (const Case& c : {Case{0, 1}, Case{1, 2}, Case{2, 3}, Case{8, 10}, Case{9, 12}, Case{10, 14}, Case{11, 17},
                        Case{12, 20}, Case{20, 86}, Case{50, 20501}, Case{89, 25109160}, Case{90, 30130992},
                        Case{100, 186563160}, Case{163, 18165375903306}, Case{164, 21798451083967}}) {
    EXPECT_EQ(Histogram::offsets()[c.bucket], c.offset) << c.bucket;
  }
}

TEST(Histogram, AValueIsCountedInTheFirstBucketThatReachesIt) {
  auto bucket_of = [](uint64_t value) {
    Histogram h;
    h.record(value);
    const auto counts = h.counts();
    return std::find(counts.begin(), counts.end(), 1u) - counts.begin();
  };
  const auto& offsets = Histogram::offsets();
  EXPECT_EQ(bucket_of(0), 0);
  for (size_t i = 1; i < offsets.size(); ++i) {
    EXPECT_EQ(bucket_of(offsets[i]), static_cast<ptrdiff_t>(i));
    EXPECT_EQ(bucket_of(offsets[i - 1] + 1), static_cast<ptrdiff_t>(i));
  }
  EXPECT_EQ(bucket_of(offsets.back() + 1), static_cast<ptrdiff_t>(offsets.size()) - 1);
  EXPECT_EQ(bucket_of(UINT64_MAX), static_cast<ptrdiff_t>(offsets.size()) - 1);
}

TEST(Histogram, QuantilesAreOffsetsOfBuckets) {
  Histogram h;
  EXPECT_EQ(h.quantile(0.5), 0u);
  for (uint64_t i = 1; i <= 1000; ++i) h.record(i * 7);
  EXPECT_EQ(h.quantile(0.5), 3973u);
  EXPECT_EQ(h.quantile(0.75), 5722u);
  EXPECT_EQ(h.quantile(0.95), 6866u);
  EXPECT_EQ(h.quantile(0.99), 8239u);
  EXPECT_EQ(h.quantile(1), 8239u);
  EXPECT_EQ(h.count(), 1000u);
  EXPECT_EQ(h.max(), 7000u);
  EXPECT_EQ(h.sum(), 7u * 500'500);

  Histogram other;
  other.record(1'000'000);
  h.merge(other);
  EXPECT_EQ(h.count(), 1001u);
  EXPECT_EQ(h.max(), 1'000'000u);
}

TEST(Histogram, AMergeKeepsAllCounts) {
  Histogram small, large;
  for (uint64_t value : {1u, 2u, 2u}) small.record(value);
  large.record(2);
  large.record(1000, 5);
  Histogram one = small, other = large;
  one.merge(large);
  other.merge(small);
  std::array<uint64_t, Histogram::kBuckets> expected{};
  expected[0] = 1;
  expected[1] = 3;
  expected[static_cast<size_t>(std::lower_bound(Histogram::offsets().begin(), Histogram::offsets().end(), 1000) -
                               Histogram::offsets().begin())] = 5;
  EXPECT_EQ(one.counts(), expected);
  EXPECT_EQ(other.counts(), expected);
  one.clear();
  EXPECT_EQ(one.counts(), (std::array<uint64_t, Histogram::kBuckets>{}));
}

}  // namespace
}  // namespace cassandra_like
