// The pieces of the byte-comparable encoding that several types share (utils.bytecomparable.ByteSource).
#include <bit>

#include "model/types_internal.h"

namespace cassandra_like::types_internal {

namespace {

constexpr char kEscape = 0x00;
constexpr char kEscapedZeroContinues = '\xFE';
constexpr char kEscapedZeroEnds = '\xFF';

}  // namespace

void append_escaped(Bytes& out, BytesView value) {
  for (;;) {
    size_t zero = value.find('\0');
    out.append(value.substr(0, zero));
    if (zero == value.npos) break;
    size_t other = value.find_first_not_of('\0', zero);
    out.push_back(kEscape);
    size_t zeros = (other == value.npos ? value.size() : other) - zero;
    out.append(zeros - 1, kEscapedZeroContinues);
    if (other == value.npos) {
      out.push_back(kEscapedZeroContinues);
      return;
    }
    out.push_back(kEscapedZeroEnds);
    value.remove_prefix(other);
  }
  out.push_back(kEscape);
}

void read_escaped(Reader& in, Bytes& out) {
  for (;;) {
    BytesView rest = in.rest();
    size_t zero = rest.find('\0');
    if (zero == rest.npos) return in.fail();
    out.append(rest.substr(0, zero));
    size_t next = zero + 1;
    for (; next < rest.size() && rest[next] == kEscapedZeroContinues; ++next) out.push_back('\0');
    if (next == rest.size() || rest[next] != kEscapedZeroEnds) {
      in.skip(next);
      return;
    }
    out.push_back('\0');
    in.skip(next + 1);
  }
}

void append_component(Bytes& out, const Type& type, BytesView value) {
  if (is_null(value) || (value.empty() && !type.encodes_empty())) {
    out.push_back(kNextComponentNull);
  } else {
    out.push_back(kNextComponent);
    type.append_comparable(out, value);
  }
}

// In n bytes, the first n bits are ones, the next is a zero, then come the value's bits; only in nine bytes, all but
// nine bits are the value's. Negative numbers are the complement of their complement's encoding.
void append_variable_integer(Bytes& out, int64_t v) {
  char buffer[kMaxVariableInteger];
  out.append(buffer, write_variable_integer(buffer, v, 0));
}

int64_t read_variable_integer(Reader& in) {
  uint8_t first = in.u8();
  const bool negative = first < 0x80;
  const uint64_t sign = negative ? ~uint64_t{0} : 0;
  int bytes = std::countl_one(static_cast<uint8_t>(first ^ sign));
  // The ninth length bit is the high bit of the second byte.
  if (bytes == 8 && !in.at_end() && ((in.rest()[0] ^ sign) & 0x80) != 0) {
    return static_cast<int64_t>(in.be<uint64_t>() ^ 0x8000000000000000ULL);
  }
  uint64_t bits = (first ^ sign) & (0xFF >> bytes);
  for (int i = 1; i < bytes; ++i) bits = bits << 8 | static_cast<uint8_t>(in.u8() ^ sign);
  return static_cast<int64_t>(bits ^ sign);
}

}  // namespace cassandra_like::types_internal
