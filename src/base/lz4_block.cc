#include "base/lz4_block.h"

#include <lz4.h>

#include <memory>

#include "base/result.h"

namespace cassandra_like {

namespace {
// No valid input of n bytes expands to more than n times this.
constexpr size_t kMaxLz4Ratio = 255;
constexpr size_t kMaxLz4Block = 256u << 20;

struct FreeLz4Stream {
  void operator()(LZ4_stream_t* stream) const { LZ4_freeStream(stream); }
};
}  // namespace

size_t append_lz4_block(BytesView data, Bytes& out) {
  size_t begin = out.size();
  int bound = LZ4_compressBound(static_cast<int>(data.size()));
  out.resize(begin + static_cast<size_t>(bound));
  // One table a thread: clearing a fresh one for every block would cost more than compressing a small block.
  thread_local const std::unique_ptr<LZ4_stream_t, FreeLz4Stream> stream(LZ4_createStream());
  LZ4_resetStream_fast(stream.get());
  int size = LZ4_compress_fast_continue(stream.get(), data.data(), out.data() + begin, static_cast<int>(data.size()),
                                        bound, 1);
  CHECK(size > 0);
  out.resize(begin + static_cast<size_t>(size));
  return static_cast<size_t>(size);
}

bool decompress_lz4_block(BytesView block, size_t size, Bytes& out) {
  if (size > kMaxLz4Block || size > (block.size() + 1) * kMaxLz4Ratio) return false;
  size_t begin = out.size();
  out.resize(begin + size);
  int got =
      LZ4_decompress_safe(block.data(), out.data() + begin, static_cast<int>(block.size()), static_cast<int>(size));
  if (got == static_cast<int>(size)) return true;
  out.resize(begin);
  return false;
}

}  // namespace cassandra_like
