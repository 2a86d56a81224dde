// LZ4 and Snappy, as frames and segments use them.
#include "transport/compression.h"

#include <lz4.h>
#include <snappy.h>

#include <memory>

#include "base/result.h"

namespace cassandra_like {

namespace {
// No valid input of n bytes expands to more than n times these.
constexpr size_t kMaxLz4Ratio = 255;
constexpr size_t kMaxSnappyRatio = 64;
constexpr size_t kMaxBody = 256u << 20;

struct FreeStream {
  void operator()(LZ4_stream_t* stream) const { LZ4_freeStream(stream); }
};
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

size_t append_lz4_block(BytesView data, Bytes& out) {
  size_t begin = out.size();
  int bound = LZ4_compressBound(static_cast<int>(data.size()));
  out.resize(begin + static_cast<size_t>(bound));
  // One table a thread: clearing a fresh one for every block would cost more than compressing a small block.
  thread_local const std::unique_ptr<LZ4_stream_t, FreeStream> stream(LZ4_createStream());
  LZ4_resetStream_fast(stream.get());
  int size = LZ4_compress_fast_continue(stream.get(), data.data(), out.data() + begin, static_cast<int>(data.size()),
                                        bound, 1);
  CHECK(size > 0);
  out.resize(begin + static_cast<size_t>(size));
  return static_cast<size_t>(size);
}

bool decompress_lz4_block(BytesView block, size_t size, Bytes& out) {
  if (size > kMaxBody || size > (block.size() + 1) * kMaxLz4Ratio) return false;
  size_t begin = out.size();
  out.resize(begin + size);
  int got =
      LZ4_decompress_safe(block.data(), out.data() + begin, static_cast<int>(block.size()), static_cast<int>(size));
  if (got == static_cast<int>(size)) return true;
  out.resize(begin);
  return false;
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
