// Chunks of Data.db on their way out.
#include "storage/sstable/data_writer.h"

#include "base/checksum.h"

namespace cassandra_like {

Result<std::unique_ptr<DataWriter>> DataWriter::create(Disk& disk, const std::string& path, CompressionParams params) {
  std::unique_ptr<DataWriter> writer(new DataWriter());
  if (params.enabled()) {
    ASSIGN_OR_RETURN(writer->compressor_, Compressor::create(params.class_name, params.options));
    writer->chunk_length_ = params.chunk_length;
    writer->info_.params = std::move(params);
  } else {
    append_be<uint32_t>(writer->crcs_, kPlainChunk);
  }
  ASSIGN_OR_RETURN(writer->file_, FileWriter::create(disk, path, kPiece));
  return writer;
}

Status DataWriter::write_chunks(bool last) {
  size_t written = 0;
  while (buffer_.size() - written >= chunk_length_ || (last && written < buffer_.size())) {
    BytesView chunk = BytesView(buffer_).substr(written, chunk_length_);
    if (compressed()) {
      TRY(write_compressed(chunk));
    } else {
      write_plain(chunk);
    }
    written += chunk.size();
  }
  buffer_.erase(0, written);
  position_of_buffer_ += written;
  return file_->status();
}

Status DataWriter::finish() {
  TRY(write_chunks(true));
  file_->flush();
  return file_->status();
}

Status DataWriter::write_compressed(BytesView chunk) {
  scratch_.clear();
  if (!compressor_->compress(chunk, scratch_))
    return Error(ErrorCode::kIo, "Could not compress a chunk of " + file_->path());
  if (uint64_t limit = info_.params.max_compressed_length; scratch_.size() >= limit) {
    scratch_.assign(chunk);
    // A last chunk that is short, but does not compress to less than the limit, is padded to it: its length tells a
    // reader that it is not compressed.
    if (scratch_.size() < limit) scratch_.resize(limit, '\0');
  }
  info_.offsets.push_back(file_->position());
  info_.data_length += chunk.size();
  compressed_bytes_ += scratch_.size();
  append_be(scratch_, crc32(scratch_));
  file_->append(scratch_);
  return {};
}

void DataWriter::write_plain(BytesView chunk) {
  append_be(crcs_, crc32(chunk));
  compressed_bytes_ += chunk.size();
  file_->append(chunk);
}

}  // namespace cassandra_like
