#include "base/java_numbers.h"

#include <charconv>
#include <cmath>

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

std::optional<double> parse_java_double(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "NaN") return NAN;
  if (text == "Infinity") return negative ? -HUGE_VAL : HUGE_VAL;
  if (!text.empty() && std::string_view("dDfF").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  if (text.empty() || std::string_view(".0123456789").find(text[0]) == std::string_view::npos) return std::nullopt;
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace cassandra_like
