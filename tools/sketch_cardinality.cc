// HyperLogLog++ estimates.
#include "sketch_cardinality.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "hyperloglog_bias.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr uint32_t kPrecision = 13, kSparsePrecision = 25;
constexpr size_t kRegisters = size_t{1} << kPrecision;
constexpr double kLinearCountingLimit = 6500;  // of precision 13
constexpr size_t kNeighbours = 6;

uint32_t read_leb128(Reader& in) {
  uint32_t v = 0;
  for (uint32_t shift = 0; shift < 35 && !in.failed(); shift += 7) {
    const uint8_t byte = in.u8();
    v |= static_cast<uint32_t>(byte & 0x7F) << (shift & 31);
    if (byte < 0x80) return v;
  }
  in.fail();
  return v;
}

int64_t linear_count(double places, double free) { return std::llround(places * std::log(places / free)); }

// The mean of the nearest points' biases.
double bias_of(double estimate) {
  std::vector<size_t> points(kRawEstimates.size());
  for (size_t i = 0; i < points.size(); ++i) points[i] = i;
  std::stable_sort(points.begin(), points.end(), [&](size_t a, size_t b) {
    return std::abs(estimate - kRawEstimates[a]) < std::abs(estimate - kRawEstimates[b]);
  });
  double sum = 0;
  for (size_t i = 0; i < kNeighbours; ++i) sum += kBiases[points[i]];
  return sum / static_cast<double>(kNeighbours);
}

int64_t dense_cardinality(Reader& in) {
  double sum = 0, zeros = 0;
  for (size_t i = 0; i < kRegisters; i += 6) {
    const uint32_t word = in.u32();
    for (size_t j = 0; j < 6 && i + j < kRegisters; ++j) {
      const uint32_t value = word >> (5 * j) & 31;
      sum += 1.0 / static_cast<double>(uint64_t{1} << value);
      if (value == 0) ++zeros;
    }
  }
  const auto m = static_cast<double>(kRegisters);
  const double estimate = 0.7213 / (1 + 1.079 / m) * m * m * (1 / sum);
  const double corrected = estimate <= 5 * m ? estimate - bias_of(estimate) : estimate;
  const double chosen = zeros > 0 ? m * std::log(m / zeros) : corrected;
  return std::llround(chosen < kLinearCountingLimit ? chosen : corrected);
}

}  // namespace

std::optional<int64_t> cardinality_of(BytesView sketch) {
  Reader in(sketch);
  const bool is_known = in.i32() == -2 && read_leb128(in) == kPrecision && read_leb128(in) == kSparsePrecision;
  if (!is_known) return std::nullopt;
  const uint32_t format = read_leb128(in);
  const uint32_t size = read_leb128(in);
  int64_t cardinality = 0;
  if (format == 0) {
    cardinality = dense_cardinality(in);
  } else {
    const double places = std::exp2(kSparsePrecision);
    cardinality = linear_count(places, places - size);
  }
  return in.failed() ? std::nullopt : std::optional(cardinality);
}

}  // namespace cassandra_like::sstable_tools
