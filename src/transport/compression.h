// Compression of the bodies of v3 and v4 frames. LZ4 bodies carry their uncompressed length in front, big-endian;
// Snappy's format has its own.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace cassandra_like {

enum class Compression : uint8_t { kNone, kLz4, kSnappy };
const char* compression_name(Compression compression);  // lz4, snappy, or empty
std::optional<Compression> parse_compression(std::string_view lower_case_name);

// Appends the compressed body; kNone is not allowed.
void compress_body(Compression compression, BytesView body, Bytes& out);
// The size that a compressed body says it expands to; 0 when it says nothing.
size_t decompressed_size(Compression compression, BytesView compressed);
// Appends the body; false when the input is not what the format allows. A few bytes cannot make it allocate more than
// they could expand to.
bool decompress_body(Compression compression, BytesView compressed, Bytes& out);

}  // namespace cassandra_like
