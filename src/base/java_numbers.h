// Numbers in the text forms that Java's Long.parseLong, Integer.parseInt and Double.parseDouble read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cassandra_like {

std::optional<int64_t> parse_java_long(std::string_view text);
std::optional<int32_t> parse_java_int(std::string_view text);
std::optional<double> parse_java_double(std::string_view text);

}  // namespace cassandra_like
