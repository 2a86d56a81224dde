// The recent latencies of a table's requests (metrics.DecayingEstimatedHistogramReservoir): the weight of each halves in a
// minute.
//
// They come from the histogram of all latencies, which is looked at now and then: a request records its latency once.
#pragma once

#include <array>
#include <cmath>

#include "base/histogram.h"

namespace cassandra_like {

class RecentLatencies {
 public:
  // Latencies that came since the last call count as half as old as that call. `now` is of the monotonic clock, in
  // nanoseconds. Weights are rounded to whole latencies, so that old ones go.
  Histogram update(const Histogram& all, int64_t now) {
    constexpr double kHalfLife = 60e9;
    const double halves = updated_at_ == 0 ? 0 : static_cast<double>(now - updated_at_) / kHalfLife;
    const double decay = std::exp2(-halves), decay_of_added = std::exp2(-halves / 2);
    updated_at_ = now;
    Histogram recent;
    const std::array<uint64_t, Histogram::kBuckets> counts = all.counts();
    for (size_t i = 0; i < Histogram::kBuckets; ++i) {
      weights_[i] = weights_[i] * decay + decay_of_added * static_cast<double>(counts[i] - seen_[i]);
      recent.record(Histogram::offsets()[i], static_cast<uint64_t>(std::llround(weights_[i])));
    }
    seen_ = counts;
    return recent;
  }

 private:
  std::array<double, Histogram::kBuckets> weights_{};
  std::array<uint64_t, Histogram::kBuckets> seen_{};
  int64_t updated_at_ = 0;
};

}  // namespace cassandra_like
