// HyperLogLog++ as com.clearspring.analytics.stream.cardinality.HyperLogLogPlus writes it.
#include "storage/sstable/cardinality.h"

#include <algorithm>

namespace cassandra_like {

namespace {

// Cassandra's MurmurHash.hash2_64: like MurmurHash64A, except that tail bytes are sign-extended.
uint64_t murmur2_64(BytesView key) {
  constexpr uint64_t m = 0xc6a4a7935bd1e995ULL;
  constexpr int r = 47;
  uint64_t h = m * key.size();
  const char* p = key.data();
  for (size_t i = 0; i < key.size() / 8; ++i, p += 8) {
    uint64_t k;
    std::memcpy(&k, p, 8);
    k *= m;
    k ^= k >> r;
    k *= m;
    h = (h ^ k) * m;
  }
  size_t tail = key.size() % 8;
  for (size_t i = tail; i > 0; --i) {
    h ^= static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(p[i - 1]))) << (8 * (i - 1));
  }
  if (tail > 0) h *= m;
  h ^= h >> r;
  h *= m;
  return h ^ h >> r;
}

void append_leb128(Bytes& out, uint32_t v) {
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
  out.push_back(static_cast<char>(v));
}

uint32_t run_length_after(uint64_t hash, int bits) {
  return static_cast<uint32_t>(std::countl_zero(hash << bits | uint64_t{1} << (bits - 1))) + 1;
}

// A code is the index's 25 bits and a zero; or, when the bits that tell the run length are not among them, the index,
// 6 bits of inverted run length, and a one.
uint32_t encode(uint64_t hash, int precision, int sparse_precision) {
  auto index = static_cast<uint32_t>(hash >> (64 - sparse_precision));
  if (index << (32 - sparse_precision + precision) != 0) return index << 1;
  return (index << 6 | (run_length_after(hash, precision) ^ 63)) << 1 | 1;
}
uint32_t index_of(uint32_t code) { return code & 1 ? code >> 7 : code >> 1; }

}  // namespace

void CardinalityEstimator::add_key(BytesView key) {
  uint64_t hash = murmur2_64(key);
  if (!sparse_) return add_to_registers(hash >> (64 - kPrecision), run_length_after(hash, kPrecision));
  unsorted_.push_back(encode(hash, kPrecision, kSparsePrecision));
  if (unsorted_.size() > kMaxUnsorted) merge_unsorted();
}

void CardinalityEstimator::add_to_registers(uint64_t index, uint32_t run_length) {
  uint32_t& word = registers_[index / 6];
  uint32_t shift = 5 * static_cast<uint32_t>(index % 6);
  if ((word >> shift & 31) < run_length) word = (word & ~(31u << shift)) | run_length << shift;
}

std::vector<uint32_t> CardinalityEstimator::merged() const {
  std::vector<uint32_t> latest = unsorted_;
  std::sort(latest.begin(), latest.end(),
            [](uint32_t a, uint32_t b) { return index_of(a) != index_of(b) ? index_of(a) < index_of(b) : a < b; });
  latest.erase(
      std::unique(latest.begin(), latest.end(), [](uint32_t a, uint32_t b) { return index_of(a) == index_of(b); }),
      latest.end());
  // stream-lib compares whole codes here, although both lists are in the order of their indexes.
  std::vector<uint32_t> out;
  out.reserve(codes_.size() + latest.size());
  auto a = codes_.begin();
  auto b = latest.begin();
  while (a != codes_.end() && b != latest.end()) {
    if (index_of(*a) == index_of(*b)) {
      out.push_back(std::min(*a++, *b++));
    } else {
      out.push_back(*a < *b ? *a++ : *b++);
    }
  }
  out.insert(out.end(), a, codes_.end());
  out.insert(out.end(), b, latest.end());
  return out;
}

void CardinalityEstimator::merge_unsorted() {
  codes_ = merged();
  unsorted_.clear();
  if (codes_.size() <= kMaxSparse) return;
  sparse_ = false;
  registers_.assign(kRegisters / 6 + 1, 0);
  for (uint32_t code : codes_) {
    uint32_t index = index_of(code);
    uint32_t run = code & 1 ? (code >> 1 & 63) ^ 63
                            : static_cast<uint32_t>(std::countl_zero(code << (kPrecision + 31 - kSparsePrecision))) + 1;
    add_to_registers(index >> (kSparsePrecision - kPrecision), run);
  }
  codes_ = {};
}

Bytes CardinalityEstimator::serialize() const {
  Bytes out;
  append_be<int32_t>(out, -2);
  append_leb128(out, kPrecision);
  append_leb128(out, kSparsePrecision);
  append_leb128(out, sparse_ ? 1 : 0);
  if (!sparse_) {
    append_leb128(out, static_cast<uint32_t>(registers_.size() * 4));
    for (uint32_t word : registers_) append_be(out, word);
    return out;
  }
  std::vector<uint32_t> codes = merged();
  append_leb128(out, static_cast<uint32_t>(codes.size()));
  uint32_t previous = 0;
  for (uint32_t code : codes) {
    append_leb128(out, code - previous);
    previous = code;
  }
  return out;
}

}  // namespace cassandra_like
