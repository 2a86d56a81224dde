// Numbers in the text forms that Java's Long.parseLong, Integer.parseInt, Double.parseDouble and Float.parseFloat read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cassandra_like {

std::optional<int64_t> parse_java_long(std::string_view text);
std::optional<int32_t> parse_java_int(std::string_view text);
// F: float or double. Decimal or hexadecimal digits, or a name, between blanks. The nearest number: one that is too large is
// infinite, one that is too small is zero.
template <class F>
std::optional<F> parse_java_floating(std::string_view text);
inline std::optional<double> parse_java_double(std::string_view text) { return parse_java_floating<double>(text); }

}  // namespace cassandra_like
