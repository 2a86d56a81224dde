// Compressed Data.db: its chunks, and CompressionInfo.db, which says where they are (io.compress.CompressionMetadata).
//
//   info  := compressor's simple class name (u16 length, bytes), options:i32, (name, value: u16 length, bytes each)*,
//            chunk length:i32, maximum compressed length:i32, length of the uncompressed data:i64, chunks:i32,
//            offset of each chunk in Data.db:i64*
//   chunk := compressed bytes, their CRC-32:u32
//
// A chunk that would not be shorter than the maximum compressed length is stored as it is.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/schema.h"
#include "storage/sstable/sstable_version.h"

namespace cassandra_like {

class Compressor {
 public:
  virtual ~Compressor() = default;
  // Appends to out. Fails only when memory or the library does.
  virtual bool compress(BytesView in, Bytes& out) = 0;
  // The length of the uncompressed data; nullopt when the input is malformed or has more than fits.
  virtual std::optional<size_t> decompress(BytesView in, std::span<char> out) = 0;

  // By class name with or without its package; kInvalid for one that is not known.
  static Result<std::unique_ptr<Compressor>> create(std::string_view class_name, const StringPairs& options);
};

struct CompressionParams {
  std::string class_name;  // simple; empty: not compressed
  StringPairs options;     // of the compressor
  uint32_t chunk_length = 16 * 1024;
  uint32_t max_compressed_length = 0x7FFFFFFF;

  bool enabled() const { return !class_name.empty(); }
  // From a table's `compression` option.
  static Result<CompressionParams> of(const StringPairs& table_option);
};

struct CompressionInfo {
  CompressionParams params;
  uint64_t data_length = 0;
  std::vector<uint64_t> offsets;  // ascending

  Bytes serialize() const;
  // nullopt when malformed; file_length is that of Data.db.
  static std::optional<CompressionInfo> parse(BytesView file, uint64_t file_length, const SSTableVersion& version);
};

}  // namespace cassandra_like
