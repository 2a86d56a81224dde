// Cassandra's variable-length integers (utils.vint.VIntCoding): the number of leading one bits of the first
// byte says how many more bytes follow, big-endian; signed values are zig-zag encoded first. 1 to 9 bytes.
#pragma once

#include "base/bytes.h"

namespace cassandra_like {

inline constexpr size_t kMaxVintSize = 9;

inline size_t unsigned_vint_size(uint64_t v) { return static_cast<size_t>(639 - std::countl_zero(v | 1) * 9) >> 6; }
// Writes at p, which must have room for kMaxVintSize bytes; returns one past the last byte written.
inline char* write_unsigned_vint(char* p, uint64_t v) {
  if (v < 0x80) {
    *p = static_cast<char>(v);
    return p + 1;
  }
  size_t size = unsigned_vint_size(v);
  if (size == kMaxVintSize) {
    *p = static_cast<char>(0xFF);
    store_be(p + 1, v);
    return p + kMaxVintSize;
  }
  uint64_t length_bits = ~(uint64_t{0xFF} >> (size - 1)) << 56;
  store_be(p, (v << (64 - 8 * size)) | length_bits);
  return p + size;
}
inline void append_unsigned_vint(Bytes& out, uint64_t v) {
  if (v < 0x80) {
    out.push_back(static_cast<char>(v));
    return;
  }
  char b[kMaxVintSize];
  out.append(b, static_cast<size_t>(write_unsigned_vint(b, v) - b));
}
uint64_t read_long_unsigned_vint(uint8_t first, Reader& in);
inline uint64_t read_unsigned_vint(Reader& in) {
  uint8_t first = in.u8();
  return first < 0x80 ? first : read_long_unsigned_vint(first, in);
}

inline void skip_vint(Reader& in) { in.skip(static_cast<size_t>(std::countl_one(in.u8()))); }

inline uint64_t zigzag(int64_t v) { return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63); }
inline int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }
inline size_t vint_size(int64_t v) { return unsigned_vint_size(zigzag(v)); }
inline void append_vint(Bytes& out, int64_t v) { append_unsigned_vint(out, zigzag(v)); }
inline int64_t read_vint(Reader& in) { return unzigzag(read_unsigned_vint(in)); }

}  // namespace cassandra_like
