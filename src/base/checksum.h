// Checksums and hashes whose values are part of a wire or disk format.
#pragma once

#include <array>
#include <memory>

#include "base/bytes.h"

namespace cassandra_like {

// java.util.zip.CRC32. To continue, pass the previous result.
uint32_t crc32(BytesView data, uint32_t previous = 0);
// CRC-32 as native protocol v5 and internode frames use it: seeded with the bytes FA 2D 55 CA.
uint32_t crc32_of_frame(BytesView data);
// The 24-bit CRC of native protocol v5 segment headers (seed 0x875060, polynomial 0x1974F0B); header is
// little-endian in the low `size` bytes.
uint32_t crc24(uint64_t header, int size);
// java.util.zip.Adler32, for old compressed files.
uint32_t adler32(BytesView data, uint32_t previous = 1);

std::array<uint8_t, 16> md5(BytesView data);
// MD5 of what comes piece by piece.
class Md5 {
 public:
  Md5();
  Md5(Md5&&) noexcept = default;
  void update(BytesView data);
  std::array<uint8_t, 16> finish();  // once

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

// Cassandra's MurmurHash3_x64_128 (it sign-extends tail bytes, unlike the original). [0] is the token's hash.
std::array<uint64_t, 2> murmur3_128(BytesView data, uint64_t seed = 0);

}  // namespace cassandra_like
