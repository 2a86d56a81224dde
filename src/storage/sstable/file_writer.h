// A file that is written from its start to its end, in pieces of one size.
//
// The kernel keeps a piece in as few pages as it can, if the file system lets it: a large write costs a third of what many
// small ones cost, and so does its sync. A piece of kHugePage lies in one huge page, and a file that is mapped from such
// pages takes one entry of the TLB for each of them.
//
// Errors are kept: after one, everything written is dropped, and status() and sync() report it. So a codec writes
// without asking and its caller asks once.
#pragma once

#include <memory>
#include <string>

#include "runtime/disk.h"

namespace cassandra_like {

class FileWriter {
 public:
  static constexpr size_t kHugePage = 2 << 20;

  // A piece is a power of two of bytes. Until it is full it takes as much memory as it has bytes.
  static Result<std::unique_ptr<FileWriter>> create(Disk& disk, const std::string& path, size_t piece = kHugePage);

  const std::string& path() const { return file_->path(); }
  // The position of the next byte, bytes in the buffer included.
  uint64_t position() const { return flushed_ + buffer_.size(); }
  void append(BytesView data) {
    while (buffer_.size() + data.size() >= piece_) {
      const BytesView end_of_piece = data.substr(0, piece_ - buffer_.size());
      buffer_.append(end_of_piece);
      data.remove_prefix(end_of_piece.size());
      flush();
    }
    buffer_.append(data);
  }
  const Status& status() const { return status_; }
  // The CRC-32 of all that was flushed.
  uint32_t checksum() const { return crc_; }
  void flush();
  // Flushes now; completes when the file is on the disk.
  Task<Status> sync();

 private:
  FileWriter(std::unique_ptr<WriteFile> file, size_t piece) : file_(std::move(file)), piece_(piece) {}

  std::unique_ptr<WriteFile> file_;
  size_t piece_;
  Bytes buffer_;
  uint64_t flushed_ = 0;
  uint32_t crc_ = 0;
  Status status_;
};

}  // namespace cassandra_like
