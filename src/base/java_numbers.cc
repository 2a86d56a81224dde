#include "base/java_numbers.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/ascii.h"

namespace cassandra_like {

std::optional<int64_t> parse_java_long(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int32_t> parse_java_int(std::string_view text) {
  auto value = parse_java_long(text);
  if (!value || *value < INT32_MIN || *value > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*value);
}

namespace {

bool is_hex_digit(char c) {
  c = static_cast<char>(c | 0x20);
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

template <class Predicate>
size_t count(std::string_view s, size_t from, Predicate predicate) {
  size_t n = 0;
  while (from + n < s.size() && predicate(s[from + n])) ++n;
  return n;
}

template <class F>
F nearest(std::string_view s, bool hex) {
  F v = 0;
  auto format = hex ? std::chars_format::hex : std::chars_format::general;
  if (std::from_chars(s.data(), s.data() + s.size(), v, format).ec == std::errc()) return v;
  // Out of range: from_chars does not say on which side.
  std::string copy = (hex ? "0x" : "") + std::string(s);
  if constexpr (sizeof(F) == 4) return std::strtof(copy.c_str(), nullptr);
  return static_cast<F>(std::strtod(copy.c_str(), nullptr));
}

template <class F>
std::optional<F> parse_unsigned(std::string_view s) {
  if (s == "NaN") return std::numeric_limits<F>::quiet_NaN();
  if (s == "Infinity") return std::numeric_limits<F>::infinity();
  const bool hex = s.starts_with("0x") || s.starts_with("0X");
  if (hex) s.remove_prefix(2);
  auto digit = hex ? is_hex_digit : is_digit;
  size_t digits = count(s, 0, digit);
  size_t end = digits;
  if (end < s.size() && s[end] == '.') {
    size_t more = count(s, ++end, digit);
    digits += more;
    end += more;
  }
  if (digits == 0) return std::nullopt;
  bool has_exponent = end < s.size() && (s[end] | 0x20) == (hex ? 'p' : 'e');
  if (hex && !has_exponent) return std::nullopt;
  if (has_exponent) {
    ++end;
    if (end < s.size() && (s[end] == '-' || s[end] == '+')) ++end;
    size_t n = count(s, end, is_digit);
    if (n == 0) return std::nullopt;
    end += n;
  }
  if (end + 1 == s.size() && std::string_view("fFdD").find(s[end]) != std::string_view::npos) s.remove_suffix(1);
  if (end != s.size()) return std::nullopt;
  return nearest<F>(s, hex);
}

}  // namespace

template <class F>
std::optional<F> parse_java_floating(std::string_view text) {
  auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::optional<F> v = parse_unsigned<F>(text);
  return v && negative ? std::optional<F>(-*v) : v;
}

template std::optional<float> parse_java_floating<float>(std::string_view text);
template std::optional<double> parse_java_floating<double>(std::string_view text);

}  // namespace cassandra_like
