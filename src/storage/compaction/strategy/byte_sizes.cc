#include "storage/compaction/strategy/byte_sizes.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "base/ascii.h"
#include "base/java_numbers.h"

namespace cassandra_like {
namespace {

struct NumberEnd {
  size_t end = 0;  // 0: no number
  bool has_exponent = false;
};

size_t skip_digits(std::string_view text, size_t from) {
  while (from < text.size() && is_digit(text[from])) ++from;
  return from;
}

// NaN|[+-]?Infinity|[+-]?\d+(\.\d+)?([eE]([+-]?)\d+)?
NumberEnd find_number(std::string_view text) {
  if (text.starts_with("NaN")) return {3, false};
  const size_t start = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (text.substr(start).starts_with("Infinity")) return {start + 8, false};
  size_t end = skip_digits(text, start);
  if (end == start) return {};
  if (end < text.size() && text[end] == '.' && skip_digits(text, end + 1) > end + 1) end = skip_digits(text, end + 1);
  if (end >= text.size() || (text[end] != 'e' && text[end] != 'E')) return {end, false};
  size_t exponent = end + 1;
  if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
  const size_t exponent_end = skip_digits(text, exponent);
  if (exponent_end == exponent) return {end, false};
  return {exponent_end, true};
}

// \*2\^([+-]?\d+): the end of it, or `from`.
size_t apply_binary_exponent(std::string_view text, size_t from, double& value) {
  if (!text.substr(from).starts_with("*2^")) return from;
  const size_t start = from + 3;
  const size_t digits = start < text.size() && (text[start] == '-' || text[start] == '+') ? start + 1 : start;
  const size_t end = skip_digits(text, digits);
  if (end == digits) return from;
  const auto power = parse_java_int(text.substr(start, end - start));
  if (!power) return from;
  value = std::scalbn(value, *power);
  return end;
}

bool is_java_whitespace(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F); }

}  // namespace

Result<double> parse_byte_size(const std::string& text) {
  auto malformed = [](std::string message) { return Error(ErrorCode::kConfigError, std::move(message)); };
  if (!text.ends_with('B')) return malformed(text + " does not end in unit B");
  const size_t end = text.size() - 1;
  const std::string_view region = std::string_view(text).substr(0, end);
  const NumberEnd number = find_number(region);
  if (number.end == 0) return malformed("null");
  double value = parse_java_double(region.substr(0, number.end)).value_or(0);
  size_t pos = number.end;
  if (!number.has_exponent) pos = apply_binary_exponent(region, pos, value);
  while (pos < end && is_java_whitespace(text[pos])) ++pos;
  constexpr std::string_view kPrefixes = "qryzafpnum KMGTPEZYRQ";
  if (pos < end && kPrefixes.find(text[pos]) != std::string_view::npos) {
    const int power = static_cast<int>(kPrefixes.find(text[pos])) - static_cast<int>(kPrefixes.find(' '));
    const bool binary = ++pos < end && text[pos] == 'i';
    if (binary) ++pos;
    // Cassandra's own rounding of powers of a thousand.
    value = binary ? std::scalbn(value, 10 * power) : value * std::exp(std::log(1000.0) * power);
  }
  if (pos == end) return value;
  return malformed("Unexpected characters between pos " + std::to_string(pos) + " and " + std::to_string(end) + " in " +
                   text);
}

int64_t to_java_long(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value <= -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

std::string pretty_memory(int64_t size) {
  if (size > -1024 && size < 1024) return std::to_string(size) + "B";
  int prefix = 0;
  for (uint64_t rest = static_cast<uint64_t>(std::abs(size)); rest >= 1024; ++prefix) rest /= 1024;
  // A float, as Cassandra prints it.
  const float value = std::scalbn(static_cast<float>(size), -10 * prefix);
  char text[64];
  std::snprintf(text, sizeof text, "%.3f%ciB", static_cast<double>(value), " KMGTPE"[prefix]);
  return text;
}

std::string_view java_trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

}  // namespace cassandra_like
