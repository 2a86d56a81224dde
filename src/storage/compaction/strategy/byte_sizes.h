// Sizes in the text forms of options: 2GiB, 100MB, 1.5e3 KiB, 1*2^30B (FBUtilities.parseHumanReadable), and printed as
// messages print them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cassandra_like {

// In bytes. The error's text is the message of Java's NumberFormatException.
Result<double> parse_byte_size(const std::string& text);
// Java's cast of a double to long: towards zero, within the bounds, 0 for NaN.
int64_t to_java_long(double value);
// 1.000GiB (FBUtilities.prettyPrintMemory).
std::string pretty_memory(int64_t size);
// String.trim.
std::string_view java_trim(std::string_view text);

}  // namespace cassandra_like
