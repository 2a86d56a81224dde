// The compressors that Cassandra has, and the codec of CompressionInfo.db.
#include "storage/sstable/compression.h"

#include <libdeflate.h>
#include <lz4.h>
#include <lz4hc.h>
#include <snappy.h>
#include <zstd.h>

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace cassandra_like {

namespace {

constexpr uint32_t kMaxChunkLength = 1u << 30;

// An LZ4 block after the length of its content, little-endian.
class Lz4 : public Compressor {
 public:
  // 0: the fast compressor.
  explicit Lz4(int high_level) : high_level_(high_level) {}
  bool compress(BytesView in, Bytes& out) override {
    auto length = static_cast<uint32_t>(in.size());
    size_t start = out.size();
    int bound = LZ4_compressBound(static_cast<int>(in.size()));
    out.resize(start + 4 + static_cast<size_t>(bound));
    std::memcpy(out.data() + start, &length, 4);
    char* to = out.data() + start + 4;
    int size = high_level_ > 0 ? LZ4_compress_HC(in.data(), to, static_cast<int>(in.size()), bound, high_level_)
                               : LZ4_compress_default(in.data(), to, static_cast<int>(in.size()), bound);
    out.resize(start + 4 + static_cast<size_t>(size));
    return size > 0;
  }
  std::optional<size_t> decompress(BytesView in, std::span<char> out) override {
    uint32_t length;
    if (in.size() < 4) return std::nullopt;
    std::memcpy(&length, in.data(), 4);
    if (length > out.size()) return std::nullopt;
    int size =
        LZ4_decompress_safe(in.data() + 4, out.data(), static_cast<int>(in.size() - 4), static_cast<int>(out.size()));
    if (size < 0 || static_cast<uint32_t>(size) != length) return std::nullopt;
    return length;
  }

 private:
  int high_level_;
};

class Snappy : public Compressor {
 public:
  bool compress(BytesView in, Bytes& out) override {
    size_t start = out.size();
    size_t size = 0;
    out.resize(start + snappy::MaxCompressedLength(in.size()));
    snappy::RawCompress(in.data(), in.size(), out.data() + start, &size);
    out.resize(start + size);
    return true;
  }
  std::optional<size_t> decompress(BytesView in, std::span<char> out) override {
    size_t length;
    if (!snappy::GetUncompressedLength(in.data(), in.size(), &length) || length > out.size()) return std::nullopt;
    if (!snappy::RawUncompress(in.data(), in.size(), out.data())) return std::nullopt;
    return length;
  }
};

// The zlib format.
class Deflate : public Compressor {
 public:
  bool compress(BytesView in, Bytes& out) override {
    size_t start = out.size();
    out.resize(start + libdeflate_zlib_compress_bound(compressor_.get(), in.size()));
    size_t size =
        libdeflate_zlib_compress(compressor_.get(), in.data(), in.size(), out.data() + start, out.size() - start);
    out.resize(start + size);
    return size > 0;
  }
  std::optional<size_t> decompress(BytesView in, std::span<char> out) override {
    size_t size = 0;
    auto result = libdeflate_zlib_decompress(decompressor_.get(), in.data(), in.size(), out.data(), out.size(), &size);
    if (result != LIBDEFLATE_SUCCESS) return std::nullopt;
    return size;
  }

 private:
  static constexpr int kJavaDefaultLevel = 6;
  struct Free {
    void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
    void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
  };
  std::unique_ptr<libdeflate_compressor, Free> compressor_{libdeflate_alloc_compressor(kJavaDefaultLevel)};
  std::unique_ptr<libdeflate_decompressor, Free> decompressor_{libdeflate_alloc_decompressor()};
};

class Zstd : public Compressor {
 public:
  explicit Zstd(int level) {
    ZSTD_CCtx_setParameter(compressor_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(compressor_.get(), ZSTD_c_checksumFlag, 1);
  }
  bool compress(BytesView in, Bytes& out) override {
    size_t start = out.size();
    out.resize(start + ZSTD_compressBound(in.size()));
    size_t size = ZSTD_compress2(compressor_.get(), out.data() + start, out.size() - start, in.data(), in.size());
    out.resize(start + (ZSTD_isError(size) ? 0 : size));
    return !ZSTD_isError(size);
  }
  std::optional<size_t> decompress(BytesView in, std::span<char> out) override {
    size_t size = ZSTD_decompressDCtx(decompressor_.get(), out.data(), out.size(), in.data(), in.size());
    if (ZSTD_isError(size)) return std::nullopt;
    return size;
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
    void operator()(ZSTD_DCtx* d) const { ZSTD_freeDCtx(d); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> compressor_{ZSTD_createCCtx()};
  std::unique_ptr<ZSTD_DCtx, Free> decompressor_{ZSTD_createDCtx()};
};

class Noop : public Compressor {
 public:
  bool compress(BytesView in, Bytes& out) override {
    out.append(in);
    return true;
  }
  std::optional<size_t> decompress(BytesView in, std::span<char> out) override {
    if (in.size() > out.size()) return std::nullopt;
    std::memcpy(out.data(), in.data(), in.size());
    return in.size();
  }
};

std::string_view simple_name(std::string_view class_name) {
  size_t dot = class_name.rfind('.');
  return dot == std::string_view::npos ? class_name : class_name.substr(dot + 1);
}

std::optional<int> parse_int(const StringPairs& options, const std::string& name, int fallback) {
  auto it = options.find(name);
  if (it == options.end()) return fallback;
  int v = 0;
  auto [end, error] = std::from_chars(it->second.data(), it->second.data() + it->second.size(), v);
  if (error != std::errc() || end != it->second.data() + it->second.size()) return std::nullopt;
  return v;
}

}  // namespace

Result<std::unique_ptr<Compressor>> Compressor::create(std::string_view class_name, const StringPairs& options) {
  std::string_view name = simple_name(class_name);
  std::unique_ptr<Compressor> compressor;
  if (name == "LZ4Compressor") {
    auto type = options.find("lz4_compressor_type");
    auto level = parse_int(options, "lz4_high_compressor_level", 9);
    if (!level) return invalid("lz4_high_compressor_level must be a number");
    bool high = type != options.end() && type->second == "high";
    compressor = std::make_unique<Lz4>(high ? *level : 0);
  } else if (name == "SnappyCompressor") {
    compressor = std::make_unique<Snappy>();
  } else if (name == "DeflateCompressor") {
    compressor = std::make_unique<Deflate>();
  } else if (name == "ZstdCompressor") {
    auto level = parse_int(options, "compression_level", 3);
    if (!level) return invalid("compression_level must be a number");
    compressor = std::make_unique<Zstd>(*level);
  } else if (name == "NoopCompressor") {
    compressor = std::make_unique<Noop>();
  } else {
    return invalid(fmt::format("Could not create Compression for type {}", class_name));
  }
  return compressor;
}

Result<CompressionParams> CompressionParams::of(const StringPairs& table_option) {
  CompressionParams params;
  params.options = table_option;
  auto take = [&](const char* name) -> std::optional<std::string> {
    auto node = params.options.extract(name);
    return node.empty() ? std::nullopt : std::optional(std::move(node.mapped()));
  };
  auto enabled = take("enabled");
  auto class_name = take("class");
  if (!class_name) class_name = take("sstable_compression");
  if ((enabled && *enabled == "false") || !class_name || class_name->empty()) return CompressionParams();
  params.class_name = simple_name(*class_name);
  auto length =
      parse_int(table_option, table_option.contains("chunk_length_kb") ? "chunk_length_kb" : "chunk_length_in_kb", 16);
  if (!length || *length <= 0 || static_cast<uint32_t>(*length) > kMaxChunkLength / 1024) {
    return invalid("Invalid value for chunk_length_in_kb");
  }
  take("chunk_length_kb");
  take("chunk_length_in_kb");
  params.chunk_length = static_cast<uint32_t>(*length) * 1024;
  if (auto ratio = take("min_compress_ratio")) {
    double v = std::strtod(ratio->c_str(), nullptr);
    if (v > 0)
      params.max_compressed_length = static_cast<uint32_t>(std::ceil(std::min(params.chunk_length / v, 2147483647.0)));
  }
  take("crc_check_chance");
  return params;
}

Bytes CompressionInfo::serialize() const {
  Bytes out;
  auto append_utf = [&](const std::string& s) {
    append_be<uint16_t>(out, static_cast<uint16_t>(s.size()));
    out.append(s);
  };
  append_utf(params.class_name);
  append_be<uint32_t>(out, static_cast<uint32_t>(params.options.size()));
  for (const auto& [name, value] : params.options) {
    append_utf(name);
    append_utf(value);
  }
  append_be(out, params.chunk_length);
  append_be(out, params.max_compressed_length);
  append_be(out, data_length);
  append_be<uint32_t>(out, static_cast<uint32_t>(offsets.size()));
  for (uint64_t offset : offsets) append_be(out, offset);
  return out;
}

std::optional<CompressionInfo> CompressionInfo::parse(BytesView file, uint64_t file_length,
                                                      const SSTableVersion& version) {
  Reader in(file);
  CompressionInfo info;
  info.params.class_name = in.take(in.u16());
  uint32_t options = in.u32();
  for (uint32_t i = 0; i < options && !in.failed(); ++i) {
    std::string name(in.take(in.u16()));
    info.params.options[name] = in.take(in.u16());
  }
  info.params.chunk_length = in.u32();
  if (version.has_max_compressed_length) info.params.max_compressed_length = in.u32();
  info.data_length = in.be<uint64_t>();
  uint64_t chunks = in.u32();
  uint64_t length = info.params.chunk_length;
  if (in.failed() || length == 0 || length > kMaxChunkLength || in.remaining() != chunks * 8) return std::nullopt;
  // A ratio of compression is at least one, or there is no limit.
  constexpr uint32_t kNoLimit = 0x7FFFFFFF;
  if (info.params.max_compressed_length > length && info.params.max_compressed_length != kNoLimit) return std::nullopt;
  // A compaction's last chunk may be an empty one, after all data.
  uint64_t needed = info.data_length / length + (info.data_length % length != 0 ? 1 : 0);
  if (needed == 0 || chunks < needed) return std::nullopt;
  info.offsets.resize(chunks);
  for (uint64_t& offset : info.offsets) offset = in.be<uint64_t>();
  // Each chunk has at least one byte and its checksum.
  for (uint64_t i = 0; i < needed; ++i) {
    uint64_t end = i + 1 < chunks ? info.offsets[i + 1] : file_length;
    if (info.offsets[i] > file_length || end > file_length || end < info.offsets[i] + 5) return std::nullopt;
  }
  return info;
}

}  // namespace cassandra_like
