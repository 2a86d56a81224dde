// A file that is written from its start to its end through a buffer.
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
  static Result<std::unique_ptr<FileWriter>> create(Disk& disk, const std::string& path);

  const std::string& path() const { return file_->path(); }
  // The position of the next byte, bytes in the buffer included.
  uint64_t position() const { return flushed_ + buffer_.size(); }
  void append(BytesView data) {
    buffer_.append(data);
    if (buffer_.size() >= kBufferBytes) flush();
  }
  const Status& status() const { return status_; }
  // The checksum of all that was flushed.
  uint32_t checksum() const { return crc_; }
  void flush();
  // Flushes now; completes when the file is on the disk.
  Task<Status> sync();

 private:
  static constexpr size_t kBufferBytes = 64 * 1024;

  explicit FileWriter(std::unique_ptr<WriteFile> file) : file_(std::move(file)) {}

  std::unique_ptr<WriteFile> file_;
  Bytes buffer_;
  uint64_t flushed_ = 0;
  uint32_t crc_ = 0;
  Status status_;
};

}  // namespace cassandra_like
