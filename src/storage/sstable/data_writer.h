// Writes Data.db, in compressed chunks or plain, and gathers the checksums that go with it.
//
//   CRC.db := chunk length:i32, CRC-32 of each chunk of Data.db:u32*     (only of plain files)
#pragma once

#include <memory>

#include "storage/sstable/compression.h"
#include "storage/sstable/file_writer.h"

namespace cassandra_like {

class DataWriter {
 public:
  static Result<std::unique_ptr<DataWriter>> create(Disk& disk, const std::string& path, CompressionParams params);

  // Position in the uncompressed data.
  uint64_t position() const { return position_of_buffer_ + buffer_.size(); }
  // The buffer to append to, directly; call flush_chunks() now and then.
  Bytes& buffer() { return buffer_; }
  Status flush_chunks() { return buffer_.size() >= 4 * chunk_length_ ? write_chunks(false) : Status(); }
  // Bytes in the file, or about to be.
  uint64_t file_bytes() const { return file_->position() + buffer_.size(); }

  // Writes the rest of the buffer.
  Status finish();
  Task<Status> sync() { return file_->sync(); }

  bool compressed() const { return compressor_ != nullptr; }
  // After finish(): the contents of CompressionInfo.db or of CRC.db.
  Bytes serialize_info() const { return compressed() ? info_.serialize() : crcs_; }
  uint32_t digest() const { return file_->checksum(); }
  uint64_t compressed_bytes() const { return compressed_bytes_; }

 private:
  static constexpr uint32_t kPlainChunk = 64 * 1024;
  // Small, since every writer fills one. The file is read by copies, for which larger pages do little more.
  static constexpr size_t kPiece = 256 << 10;

  DataWriter() = default;
  Status write_chunks(bool last);
  Status write_compressed(BytesView chunk);
  void write_plain(BytesView chunk);

  std::unique_ptr<FileWriter> file_;
  std::unique_ptr<Compressor> compressor_;
  uint64_t chunk_length_ = kPlainChunk;
  Bytes buffer_;
  uint64_t position_of_buffer_ = 0;
  Bytes scratch_;
  CompressionInfo info_;
  Bytes crcs_;
  uint64_t compressed_bytes_ = 0;  // without checksums
};

}  // namespace cassandra_like
