// Fixed-size values, UTF-8, and quoting.
#include "model/values.h"

#include <algorithm>
#include <iterator>

namespace cassandra_like {

namespace {

template <class T>
Bytes big_endian(T v) {
  Bytes out;
  append_be(out, v);
  return out;
}

// cql3/reserved_keywords.txt, sorted.
constexpr std::string_view kReserved[] = {
    "add",  "allow",        "alter",  "and",          "apply",    "asc",      "authorize",   "batch",   "begin",
    "by",   "columnfamily", "create", "delete",       "desc",     "describe", "drop",        "entries", "execute",
    "from", "full",         "grant",  "if",           "in",       "index",    "infinity",    "insert",  "into",
    "is",   "keyspace",     "limit",  "materialized", "modify",   "nan",      "norecursive", "not",     "null",
    "of",   "on",           "or",     "order",        "primary",  "rename",   "revoke",      "schema",  "select",
    "set",  "table",        "to",     "token",        "truncate", "unlogged", "update",      "use",     "using",
    "view", "where",        "with"};

bool is_reserved(std::string_view lower_case) {
  return std::binary_search(std::begin(kReserved), std::end(kReserved), lower_case);
}

std::string quote(std::string_view text, char mark) {
  std::string out(1, mark);
  for (char c : text) {
    out.push_back(c);
    if (c == mark) out.push_back(c);
  }
  out.push_back(mark);
  return out;
}

// Cassandra's validator is a state machine that accepts more than UTF-8: 0xC080, surrogates, and (by testing too few
// bits) some second bytes after 0xE0 and 0xF0. A text that it accepts must be accepted. Returns the number of bytes of
// the character at p, 0 when it is bad.
size_t character_length(const unsigned char* p, const unsigned char* end) {
  auto follows = [&](size_t i) { return p + i < end && (p[i] & 0xC0) == 0x80; };
  unsigned char c = p[0];
  if (c < 0x80) return 1;
  if (c == 0xC0) return p + 1 < end && p[1] == 0x80 ? 2 : 0;
  if (c < 0xC2) return 0;
  if (c < 0xE0) return follows(1) ? 2 : 0;
  if (c == 0xE0) return p + 1 < end && (p[1] & 0xE0) != 0x80 && follows(2) ? 3 : 0;
  if (c < 0xF0) return follows(1) && follows(2) ? 3 : 0;
  if (c == 0xF0) return p + 1 < end && (p[1] & 0x30) != 0 && follows(2) && follows(3) ? 4 : 0;
  if (c < 0xF8) return follows(1) && follows(2) && follows(3) ? 4 : 0;
  return 0;
}

}  // namespace

Bytes encode_int(int32_t v) { return big_endian(v); }
Bytes encode_bigint(int64_t v) { return big_endian(v); }
Bytes encode_smallint(int16_t v) { return big_endian(v); }
Bytes encode_tinyint(int8_t v) { return Bytes(1, static_cast<char>(v)); }
Bytes encode_boolean(bool v) { return Bytes(1, v ? '\1' : '\0'); }
Bytes encode_float(float v) { return big_endian(std::bit_cast<uint32_t>(v)); }
Bytes encode_double(double v) { return big_endian(std::bit_cast<uint64_t>(v)); }
Bytes encode_uuid(const Uuid& v) { return Bytes(v.view()); }

float decode_float(BytesView v) { return std::bit_cast<float>(load_be<uint32_t>(v.data())); }
double decode_double(BytesView v) { return std::bit_cast<double>(load_be<uint64_t>(v.data())); }

bool is_valid_utf8(BytesView v) {
  constexpr uint64_t kHighBits = 0x8080808080808080ULL;
  auto p = reinterpret_cast<const unsigned char*>(v.data());
  auto end = p + v.size();
  while (p < end) {
    if (end - p >= 8) {
      uint64_t eight;
      std::memcpy(&eight, p, 8);
      if ((eight & kHighBits) == 0) {
        p += 8;
        continue;
      }
    }
    size_t n = character_length(p, end);
    if (n == 0) return false;
    p += n;
  }
  return true;
}

std::string json_quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size() + 2);
  out.push_back('"');
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out.push_back(kHex[c >> 4]);
          out.push_back(kHex[c & 15]);
        } else {
          out.push_back(c);
        }
    }
  }
  out.push_back('"');
  return out;
}

std::string quote_identifier(std::string_view name) {
  auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  auto is_plain = [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; };
  bool plain = !name.empty() && is_lower(name[0]) && std::all_of(name.begin(), name.end(), is_plain);
  return plain && !is_reserved(name) ? std::string(name) : quote(name, '"');
}

std::string quote_string(std::string_view text) { return quote(text, '\''); }

}  // namespace cassandra_like
