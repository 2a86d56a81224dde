// The strings of java.io.DataOutput.writeUTF, which messages of gossip are made of:
//
//   string := length in bytes:u16, modified UTF-8
//
// Modified UTF-8 writes U+0000 as two bytes, and a character beyond U+FFFF as its two surrogates of three bytes each.
// Strings here are plain UTF-8 in memory; a surrogate that has no partner keeps its three bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace cassandra_like {

inline constexpr size_t kMaxUtfBytes = 65535;

// A UTF-16 code unit, or a whole supplementary character, as UTF-8.
void append_utf8(std::string& out, uint32_t c);
// How many bytes of modified UTF-8 the text takes, without the length.
size_t modified_utf8_size(std::string_view text);
// The text must not need more than kMaxUtfBytes.
void append_utf(Bytes& out, std::string_view text);
// Fails the reader when the bytes are no modified UTF-8, or when they, written again, are longer than kMaxUtfBytes.
std::string read_utf(Reader& in);

}  // namespace cassandra_like
