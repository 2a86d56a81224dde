// IP addresses as java.net.InetAddress reads and prints them. Names are refused: they would need a resolver.
#include <algorithm>
#include <optional>

#include "base/ascii.h"

#include "model/values.h"

namespace cassandra_like {

namespace {

constexpr size_t kIpv6Size = 16;
constexpr BytesView kIpv4Prefix("\0\0\0\0\0\0\0\0\0\0\xFF\xFF", 12);

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// One to four decimal parts; the last fills the bytes that remain: 1.2 is 1.0.0.2.
std::optional<Bytes> parse_ipv4(std::string_view s) {
  if (s.empty() || s.size() > 15) return std::nullopt;
  Bytes out;
  uint64_t part = 0;
  bool part_is_empty = true;
  for (char c : s) {
    if (is_digit(c)) {
      part = part * 10 + static_cast<uint64_t>(c - '0');
      part_is_empty = false;
    } else {
      if (c != '.' || part_is_empty || part > 0xFF || out.size() == 3) return std::nullopt;
      out.push_back(static_cast<char>(part));
      part = 0;
      part_is_empty = true;
    }
  }
  size_t missing = 4 - out.size();
  if (part_is_empty || part >> (8 * missing) != 0) return std::nullopt;
  for (size_t i = missing; i-- > 0;) out.push_back(static_cast<char>(part >> (8 * i)));
  return out;
}

std::optional<Bytes> parse_ipv6(std::string_view s) {
  if (size_t scope = s.find('%'); scope != s.npos) {
    if (scope + 1 == s.size() || s.find_first_not_of("0123456789", scope + 1) != s.npos) return std::nullopt;
    s = s.substr(0, scope);
  }
  if (s.size() < 2 || (s[0] == ':' && s[1] != ':')) return std::nullopt;
  Bytes out;
  size_t gap = s.npos;  // where "::" is
  size_t i = s[0] == ':' ? 1 : 0;
  while (i < s.size()) {
    size_t start = i;
    uint32_t group = 0;
    for (; i < s.size() && hex_digit(s[i]) >= 0; ++i) {
      group = group << 4 | static_cast<uint32_t>(hex_digit(s[i]));
      if (group > 0xFFFF) return std::nullopt;
    }
    if (i < s.size() && s[i] == '.') {
      std::optional<Bytes> tail = parse_ipv4(s.substr(start));
      bool four_parts = std::count(s.begin(), s.end(), '.') == 3;
      if (!tail || !four_parts || out.size() + 4 > kIpv6Size) return std::nullopt;
      out += *tail;
      break;
    }
    if (i < s.size() && s[i] != ':') return std::nullopt;
    if (i == start) {
      if (gap != s.npos) return std::nullopt;
      gap = out.size();
      ++i;
      continue;
    }
    append_be(out, static_cast<uint16_t>(group));
    if (out.size() > kIpv6Size) return std::nullopt;
    if (i < s.size() && ++i == s.size()) return std::nullopt;  // a colon at the end
  }
  if (gap != s.npos) {
    if (out.size() == kIpv6Size) return std::nullopt;
    out.insert(gap, kIpv6Size - out.size(), '\0');
  }
  if (out.size() != kIpv6Size) return std::nullopt;
  return out;
}

}  // namespace

Result<Bytes> parse_inet(std::string_view text) {
  std::string_view s = text;
  bool brackets = s.starts_with('[');
  if (brackets) s = s.ends_with(']') ? s.substr(1, s.size() - 2) : std::string_view();
  std::optional<Bytes> address = brackets ? std::nullopt : parse_ipv4(s);
  if (!address) address = parse_ipv6(s);
  if (!address) return invalid("Unable to make inet address from '" + std::string(text) + "'");
  // Java turns IPv4 addresses mapped into IPv6 back into IPv4.
  return address->starts_with(kIpv4Prefix) ? address->substr(kIpv4Prefix.size()) : *address;
}

std::string inet_to_text(BytesView v) {
  if (v.size() == kIpv6Size && v.starts_with(kIpv4Prefix)) v.remove_prefix(kIpv4Prefix.size());
  std::string out;
  if (v.size() == kIpv6Size) {
    static constexpr char kHex[] = "0123456789abcdef";
    for (size_t i = 0; i < v.size(); i += 2) {
      if (i > 0) out.push_back(':');
      auto group = load_be<uint16_t>(v.data() + i);
      int shift = 12;
      while (shift > 0 && group >> shift == 0) shift -= 4;
      for (; shift >= 0; shift -= 4) out.push_back(kHex[group >> shift & 15]);
    }
    return out;
  }
  for (char c : v) {
    if (!out.empty()) out.push_back('.');
    out += std::to_string(static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace cassandra_like
