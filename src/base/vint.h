// Cassandra's variable-length integers (utils.vint.VIntCoding): the number of leading one bits of the first byte
// says how many more bytes follow, big-endian; signed values are zig-zag encoded first. 1 to 9 bytes.
#pragma once

#include "base/bytes.h"

namespace cassandra_like {

inline constexpr size_t kMaxVintSize = 9;

size_t unsigned_vint_size(uint64_t v);
// Writes at p, which must have room for kMaxVintSize bytes; returns one past the last byte written.
char* write_unsigned_vint(char* p, uint64_t v);
void append_unsigned_vint(Bytes& out, uint64_t v);
uint64_t read_unsigned_vint(Reader& in);

inline uint64_t zigzag(int64_t v) { return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63); }
inline int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }
inline size_t vint_size(int64_t v) { return unsigned_vint_size(zigzag(v)); }
inline void append_vint(Bytes& out, int64_t v) { append_unsigned_vint(out, zigzag(v)); }
inline int64_t read_vint(Reader& in) { return unzigzag(read_unsigned_vint(in)); }

}  // namespace cassandra_like
