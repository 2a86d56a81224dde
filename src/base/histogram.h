// Cassandra's EstimatedHistogram: buckets that grow by a fifth (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, …), which is
// what nodetool's histograms and SSTable statistics are made of. A record is one increment. Memory is kept for the buckets up
// to the greatest value: a table has many histograms, and most are empty.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cassandra_like {

class Histogram {
 public:
  static constexpr size_t kBuckets = 165;  // offsets up to about 2 * 10^13, as DecayingEstimatedHistogramReservoir

  void record(uint64_t value) {
    ++count_of(bucket_of(value));
    ++count_;
    sum_ += value;
    if (value > max_) max_ = value;
  }
  void record(uint64_t value, uint64_t times);
  void merge(const Histogram& o);
  void clear() { *this = Histogram(); }
  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  // The offset of the bucket that holds the quantile, 0 <= q <= 1; 0 when empty.
  uint64_t quantile(double q) const;
  std::array<uint64_t, kBuckets> counts() const;
  // The upper bound (inclusive) of each bucket.
  static const std::array<uint64_t, kBuckets>& offsets() { return kOffsets; }

 private:
  static constexpr std::array<uint64_t, kBuckets> kOffsets = [] {
    std::array<uint64_t, kBuckets> offsets{};
    for (uint64_t last = 0; uint64_t & offset : offsets) {
      const uint64_t larger = (6 * last + 2) / 5;  // 1.2 times, rounded
      last = offset = larger > last ? larger : last + 1;
    }
    return offsets;
  }();
  // For each number of bits, the bucket of the least value with so many bits. At most four buckets have the same number
  // of bits.
  static constexpr std::array<uint8_t, 65> kFirstOfWidth = [] {
    std::array<uint8_t, 65> first{};
    for (size_t width = 1, bucket = 0; width < first.size(); ++width) {
      while (bucket < kBuckets - 1 && kOffsets[bucket] < uint64_t{1} << (width - 1)) ++bucket;
      first[width] = static_cast<uint8_t>(bucket);
    }
    return first;
  }();

  static size_t bucket_of(uint64_t value) {
    size_t bucket = kFirstOfWidth[static_cast<size_t>(std::bit_width(value))];
    while (bucket < kBuckets - 1 && kOffsets[bucket] < value) ++bucket;
    return bucket;
  }

  uint64_t& count_of(size_t bucket) {
    if (bucket >= counts_.size()) counts_.resize(bucket + 1);
    return counts_[bucket];
  }

  std::vector<uint64_t> counts_;  // of the first buckets; those of the others are 0
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace cassandra_like
