// Bloom filters; their sizing follows utils.BloomCalculations, so that a filter is as large as Cassandra's.
#include "storage/sstable/bloom_filter.h"

#include <algorithm>

namespace cassandra_like {

namespace {

constexpr int kMaxBitsPerKey = 20;
constexpr int kMaxHashes = 15;

// kProbabilities[b][k]: the chance of a false positive with b bits a key and k hashes; 1 where nobody would go.
constexpr double kProbabilities[kMaxBitsPerKey + 1][kMaxHashes] = {
    {1.0},
    {1.0, 1.0},
    {1.0, 0.393, 0.400},
    {1.0, 0.283, 0.237, 0.253},
    {1.0, 0.221, 0.155, 0.147, 0.160},
    {1.0, 0.181, 0.109, 0.092, 0.092, 0.101},
    {1.0, 0.154, 0.0804, 0.0609, 0.0561, 0.0578, 0.0638},
    {1.0, 0.133, 0.0618, 0.0423, 0.0359, 0.0347, 0.0364},
    {1.0, 0.118, 0.0489, 0.0306, 0.024, 0.0217, 0.0216, 0.0229},
    {1.0, 0.105, 0.0397, 0.0228, 0.0166, 0.0141, 0.0133, 0.0135, 0.0145},
    {1.0, 0.0952, 0.0329, 0.0174, 0.0118, 0.00943, 0.00844, 0.00819, 0.00846},
    {1.0, 0.0869, 0.0276, 0.0136, 0.00864, 0.0065, 0.00552, 0.00513, 0.00509},
    {1.0, 0.08, 0.0236, 0.0108, 0.00646, 0.00459, 0.00371, 0.00329, 0.00314},
    {1.0, 0.074, 0.0203, 0.00875, 0.00492, 0.00332, 0.00255, 0.00217, 0.00199, 0.00194},
    {1.0, 0.0689, 0.0177, 0.00718, 0.00381, 0.00244, 0.00179, 0.00146, 0.00129, 0.00121, 0.0012},
    {1.0, 0.0645, 0.0156, 0.00596, 0.003, 0.00183, 0.00128, 0.001, 0.000852, 0.000775, 0.000744},
    {1.0, 0.0606, 0.0138, 0.005, 0.00239, 0.00139, 0.000935, 0.000702, 0.000574, 0.000505, 0.00047, 0.000459},
    {1.0, 0.0571, 0.0123, 0.00423, 0.00193, 0.00107, 0.000692, 0.000499, 0.000394, 0.000335, 0.000302, 0.000287,
     0.000284},
    {1.0, 0.054, 0.0111, 0.00362, 0.00158, 0.000839, 0.000519, 0.00036, 0.000275, 0.000226, 0.000198, 0.000183,
     0.000176},
    {1.0, 0.0513, 0.00998, 0.00312, 0.0013, 0.000663, 0.000394, 0.000264, 0.000194, 0.000155, 0.000132, 0.000118,
     0.000111, 0.000109},
    {1.0, 0.0488, 0.00906, 0.0027, 0.00108, 0.00053, 0.000303, 0.000196, 0.00014, 0.000108, 8.89e-05, 7.77e-05,
     7.12e-05, 6.79e-05, 6.71e-05},
};

int best_hash_count(int bits_per_key) {
  int best = 1;
  double least = 1.0;
  for (int k = 0; k < kMaxHashes; ++k) {
    double p = kProbabilities[bits_per_key][k];
    if (p != 0 && p < least) {
      least = p;
      best = std::max(1, k);
    }
  }
  return best;
}

struct FilterShape {
  int hashes;
  int bits_per_key;
};

FilterShape shape_for(double chance) {
  if (chance >= kProbabilities[2][1]) return {2, 1};
  int bits = 2;
  int hashes = best_hash_count(bits);
  while (bits < kMaxBitsPerKey && kProbabilities[bits][hashes] > chance) {
    ++bits;
    hashes = best_hash_count(bits);
  }
  while (kProbabilities[bits][hashes - 1] <= chance) --hashes;
  return {hashes, bits};
}

}  // namespace

BloomFilter::BloomFilter(uint64_t keys, double false_positive_chance) {
  if (false_positive_chance >= 1.0) return;
  FilterShape shape = shape_for(false_positive_chance);
  hash_count_ = shape.hashes;
  uint64_t bits = keys * static_cast<uint64_t>(shape.bits_per_key) + 20;
  bits_.assign((bits + 63) / 64 * 8, '\0');
  bit_count_ = Divisor(bits_.size() * 8);
}

bool BloomFilter::is_header_of(BytesView head, uint64_t file_bytes) {
  if (file_bytes == 0) return true;
  Reader in(head);
  const int32_t hashes = in.i32();
  const uint64_t words = in.u32();
  return !in.failed() && hashes > 0 && hashes <= 64 && words != 0 && file_bytes - kHeaderBytes >= words * 8;
}

std::optional<BloomFilter> BloomFilter::parse(BytesView file, bool is_old) {
  BloomFilter filter;
  if (!is_header_of(file, file.size())) return std::nullopt;
  if (file.empty()) return filter;
  Reader in(file);
  filter.hash_count_ = in.i32();
  const uint64_t words = in.u32();
  const BytesView bits = in.take(words * 8);
  filter.bits_.assign(bits.begin(), bits.end());
  filter.bit_count_ = Divisor(filter.bits_.size() * 8);
  if (is_old) {
    for (size_t word = 0; word < filter.bits_.size(); word += 8) {
      std::reverse(filter.bits_.begin() + static_cast<std::ptrdiff_t>(word),
                   filter.bits_.begin() + static_cast<std::ptrdiff_t>(word) + 8);
    }
  }
  return filter;
}

void BloomFilter::add(std::span<const std::array<uint64_t, 2>> hashes) {
  constexpr size_t kAtOnce = 128;
  std::array<uint64_t, kAtOnce> bits;
  size_t count = 0;
  auto set = [&] {
    for (size_t i = 0; i < count; ++i) bits_[bits[i] / 8] = static_cast<char>(bits_[bits[i] / 8] | 1 << bits[i] % 8);
    count = 0;
  };
  for (const std::array<uint64_t, 2>& hash : hashes) {
    for (int i = 0; i < hash_count_; ++i) {
      const uint64_t bit = index(hash, i);
      __builtin_prefetch(bits_.data() + bit / 8, 1);
      bits[count++] = bit;
      if (count == kAtOnce) set();
    }
  }
  set();
}

bool BloomFilter::may_contain(const std::array<uint64_t, 2>& hash) const {
  for (int i = 0; i < hash_count_; ++i) {
    uint64_t bit = index(hash, i);
    if ((bits_[bit / 8] & 1 << bit % 8) == 0) return false;
  }
  return true;
}

Bytes BloomFilter::serialize() const {
  Bytes out;
  if (always_present()) return out;
  append_be<int32_t>(out, hash_count_);
  append_be<int32_t>(out, static_cast<int32_t>(bits_.size() / 8));
  out.append(bits_.data(), bits_.size());
  return out;
}

}  // namespace cassandra_like
