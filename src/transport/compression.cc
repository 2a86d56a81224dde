// LZ4 and Snappy, as frames and segments use them.
#include "transport/compression.h"

#include <snappy.h>

#include "base/lz4_block.h"
#include "base/result.h"

namespace cassandra_like {

namespace {
// No valid input of n bytes expands to more than n times this.
constexpr size_t kMaxSnappyRatio = 64;
constexpr size_t kMaxBody = 256u << 20;
}  // namespace

const char* compression_name(Compression compression) {
  switch (compression) {
    case Compression::kLz4:
      return "lz4";
    case Compression::kSnappy:
      return "snappy";
    case Compression::kNone:
      break;
  }
  return "";
}

std::optional<Compression> parse_compression(std::string_view name) {
  if (name == "lz4") return Compression::kLz4;
  if (name == "snappy") return Compression::kSnappy;
  return std::nullopt;
}

void compress_body(Compression compression, BytesView body, Bytes& out) {
  if (compression == Compression::kLz4) {
    append_be(out, static_cast<uint32_t>(body.size()));
    append_lz4_block(body, out);
    return;
  }
  CHECK(compression == Compression::kSnappy);
  size_t begin = out.size();
  out.resize(begin + snappy::MaxCompressedLength(body.size()));
  size_t size = 0;
  snappy::RawCompress(body.data(), body.size(), out.data() + begin, &size);
  out.resize(begin + size);
}

size_t decompressed_size(Compression compression, BytesView compressed) {
  size_t size = 0;
  if (compression == Compression::kLz4) return compressed.size() < 4 ? 0 : load_be<uint32_t>(compressed.data());
  return snappy::GetUncompressedLength(compressed.data(), compressed.size(), &size) ? size : 0;
}

bool decompress_body(Compression compression, BytesView compressed, Bytes& out) {
  if (compression == Compression::kLz4) {
    if (compressed.size() < 4) return false;
    return decompress_lz4_block(compressed.substr(4), load_be<uint32_t>(compressed.data()), out);
  }
  CHECK(compression == Compression::kSnappy);
  size_t size = 0;
  if (!snappy::GetUncompressedLength(compressed.data(), compressed.size(), &size)) return false;
  if (size > kMaxBody || size > compressed.size() * kMaxSnappyRatio) return false;
  size_t begin = out.size();
  out.resize(begin + size);
  if (snappy::RawUncompress(compressed.data(), compressed.size(), out.data() + begin)) return true;
  out.resize(begin);
  return false;
}

}  // namespace cassandra_like
