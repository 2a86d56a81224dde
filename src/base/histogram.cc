#include "base/histogram.h"

#include <algorithm>
#include <cmath>

namespace cassandra_like {

void Histogram::record(uint64_t value, uint64_t times) {
  if (times == 0) return;
  count_of(bucket_of(value)) += times;
  count_ += times;
  sum_ += value * times;
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& o) {
  for (size_t i = o.counts_.size(); i > 0; --i) count_of(i - 1) += o.counts_[i - 1];
  count_ += o.count_;
  sum_ += o.sum_;
  max_ = std::max(max_, o.max_);
}

std::array<uint64_t, Histogram::kBuckets> Histogram::counts() const {
  std::array<uint64_t, kBuckets> out{};
  std::copy(counts_.begin(), counts_.end(), out.begin());
  return out;
}

uint64_t Histogram::quantile(double q) const {
  if (count_ == 0) return 0;
  auto wanted = static_cast<uint64_t>(std::ceil(q * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= std::max<uint64_t>(wanted, 1)) return offsets()[i];
  }
  return max_;
}

}  // namespace cassandra_like
