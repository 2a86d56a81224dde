// The buffer of a sequentially written file.
#include "storage/sstable/file_writer.h"

#include "base/checksum.h"

namespace cassandra_like {

Result<std::unique_ptr<FileWriter>> FileWriter::create(Disk& disk, const std::string& path, size_t piece) {
  ASSIGN_OR_RETURN(auto file, disk.create(path));
  return std::unique_ptr<FileWriter>(new FileWriter(std::move(file), piece));
}

void FileWriter::flush() {
  if (buffer_.empty()) return;
  if (status_.ok()) status_ = file_->append(buffer_);
  flushed_ += buffer_.size();
  crc_ = crc32(buffer_, crc_);
  buffer_.clear();
}

Task<Status> FileWriter::sync() {
  flush();
  if (!status_.ok()) return status_;
  return file_->sync();
}

}  // namespace cassandra_like
