// Hexadecimal text of byte strings.
#include "base/bytes.h"

namespace cassandra_like {

namespace {
int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

Bytes to_hex(BytesView data) {
  static constexpr char kDigits[] = "0123456789abcdef";
  Bytes out(data.size() * 2, '\0');
  char* p = out.data();
  for (char c : data) {
    auto byte = static_cast<uint8_t>(c);
    *p++ = kDigits[byte >> 4];
    *p++ = kDigits[byte & 15];
  }
  return out;
}

bool from_hex(BytesView hex, Bytes* out) {
  if (hex.size() % 2 != 0) return false;
  Bytes bytes(hex.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    int high = digit(hex[2 * i]);
    int low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<char>(high << 4 | low);
  }
  *out = std::move(bytes);
  return true;
}

}  // namespace cassandra_like
