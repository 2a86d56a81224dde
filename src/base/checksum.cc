// Checksums: libdeflate's CRC-32 and Adler-32 (vectorized), OpenSSL's MD5, and our own CRC-24 and murmur3.
#include "base/checksum.h"

#include <libdeflate.h>
#include <openssl/evp.h>

#include <bit>
#include <memory>

#include "base/result.h"

namespace cassandra_like {

uint32_t crc32(BytesView data, uint32_t previous) {
  if (data.empty()) return previous;  // libdeflate would start anew for a null pointer
  return libdeflate_crc32(previous, data.data(), data.size());
}

uint32_t crc32_of_frame(BytesView data) {
  static const uint32_t seed = crc32("\xFA\x2D\x55\xCA");
  return crc32(data, seed);
}

uint32_t adler32(BytesView data, uint32_t previous) {
  if (data.empty()) return previous;
  return libdeflate_adler32(previous, data.data(), data.size());
}

namespace {

constexpr std::array<uint32_t, 256> make_crc24_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i << 16;
    for (int bit = 0; bit < 8; ++bit) {
      crc <<= 1;
      if (crc & 0x1000000) crc ^= 0x1974F0B;
    }
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrc24Table = make_crc24_table();

}  // namespace

uint32_t crc24(uint64_t header, int size) {
  uint32_t crc = 0x875060;
  for (; size > 0; --size, header >>= 8) {
    crc = ((crc << 8) ^ kCrc24Table[((crc >> 16) ^ header) & 0xFF]) & 0xFFFFFF;
  }
  return crc;
}

namespace {

// Looking up the algorithm costs more than hashing a short string, so it is done once.
const EVP_MD* md5_algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "MD5", nullptr);
  CHECK(algorithm != nullptr);
  return algorithm;
}

EVP_MD_CTX* evp(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

void Md5::Free::operator()(void* context) const { EVP_MD_CTX_free(evp(context)); }

Md5::Md5() : context_(EVP_MD_CTX_new()) {
  CHECK(context_ != nullptr && EVP_DigestInit_ex(evp(context_.get()), md5_algorithm(), nullptr) == 1);
}

void Md5::update(BytesView data) { CHECK(EVP_DigestUpdate(evp(context_.get()), data.data(), data.size()) == 1); }

std::array<uint8_t, 16> Md5::finish() {
  std::array<uint8_t, 16> out{};
  CHECK(EVP_DigestFinal_ex(evp(context_.get()), out.data(), nullptr) == 1);
  return out;
}

std::array<uint8_t, 16> md5(BytesView data) {
  struct FreeContext {
    void operator()(EVP_MD_CTX* c) const { EVP_MD_CTX_free(c); }
  };
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  CHECK(context != nullptr);
  std::array<uint8_t, 16> out{};
  CHECK(EVP_DigestInit_ex(context.get(), md5_algorithm(), nullptr) == 1 &&
        EVP_DigestUpdate(context.get(), data.data(), data.size()) == 1 &&
        EVP_DigestFinal_ex(context.get(), out.data(), nullptr) == 1);
  return out;
}

namespace {

uint64_t load_le64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

uint64_t finalization_mix(uint64_t k) {
  k ^= k >> 33;
  k *= 0xff51afd7ed558ccdULL;
  k ^= k >> 33;
  k *= 0xc4ceb9fe1a85ec53ULL;
  k ^= k >> 33;
  return k;
}

// Up to eight tail bytes, each sign-extended before it is shifted and xored: Cassandra's deviation.
uint64_t signed_tail(const char* p, size_t n) {
  uint64_t k = 0;
  for (size_t i = 0; i < n; ++i) {
    k ^= static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(p[i]))) << (8 * i);
  }
  return k;
}

}  // namespace

std::array<uint64_t, 2> murmur3_128(BytesView data, uint64_t seed) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t c1 = 0x87c37b91114253d5ULL;
  constexpr uint64_t c2 = 0x4cf5ad432745937fULL;
  uint64_t h1 = seed;
  uint64_t h2 = seed;
  const char* p = data.data();
  for (size_t blocks = data.size() / 16; blocks > 0; --blocks, p += 16) {
    h1 ^= std::rotl(load_le64(p) * c1, 31) * c2;
    h1 = (std::rotl(h1, 27) + h2) * 5 + 0x52dce729;
    h2 ^= std::rotl(load_le64(p + 8) * c2, 33) * c1;
    h2 = (std::rotl(h2, 31) + h1) * 5 + 0x38495ab5;
  }
  size_t tail = data.size() % 16;
  if (tail > 8) h2 ^= std::rotl(signed_tail(p + 8, tail - 8) * c2, 33) * c1;
  if (tail > 0) h1 ^= std::rotl(signed_tail(p, tail > 8 ? 8 : tail) * c1, 31) * c2;

  h1 ^= data.size();
  h2 ^= data.size();
  h1 += h2;
  h2 += h1;
  h1 = finalization_mix(h1);
  h2 = finalization_mix(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

}  // namespace cassandra_like
