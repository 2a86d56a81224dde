// Fetching and checking chunks of Data.db.
#include "storage/sstable/data_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/prefetch.h"

namespace cassandra_like {

namespace {

void reserve(std::unique_ptr<char[]>& buffer, size_t& capacity, size_t size) {
  if (capacity >= size) return;
  buffer = std::make_unique_for_overwrite<char[]>(size);
  capacity = size;
}

}  // namespace

Result<std::unique_ptr<DataFile>> DataFile::open_plain(Disk& disk, const std::string& path, Bytes crcs) {
  constexpr size_t kHeader = 4, kChecksum = 4;
  constexpr uint64_t kLongestChunk = 1u << 30;
  std::unique_ptr<DataFile> data(new DataFile());
  ASSIGN_OR_RETURN(data->file_, disk.open(path));
  ASSIGN_OR_RETURN(data->mapped_, data->file_->map());
  data->size_ = data->mapped_.size();
  if (crcs.size() >= kHeader) data->plain_chunk_ = load_be<uint32_t>(crcs.data());
  if (data->plain_chunk_ == 0 || data->plain_chunk_ > kLongestChunk)
    return data->corrupt(0, "a CRC.db that is malformed");
  const uint64_t chunks = (data->size_ + data->plain_chunk_ - 1) / data->plain_chunk_;
  const size_t size = kHeader + chunks * kChecksum;
  // Cassandra syncs an output of a compaction twice, and appends the checksum of an empty chunk, 0, each time.
  const bool fits =
      crcs.size() % kChecksum == 0 && crcs.size() >= size && crcs.find_first_not_of('\0', size) == Bytes::npos;
  if (!fits) {
    return data->corrupt(data->size_, fmt::format("the file has {} chunks, CRC.db has checksums of {}", chunks,
                                                  (crcs.size() - kHeader) / kChecksum));
  }
  crcs.resize(size);
  data->crcs_ = std::move(crcs);
  data->checked_.resize(chunks);
  return data;
}

Result<std::unique_ptr<DataFile>> DataFile::open_unchecked(Disk& disk, const std::string& path) {
  constexpr uint64_t kChunk = 64 << 10;
  std::unique_ptr<DataFile> data(new DataFile());
  ASSIGN_OR_RETURN(data->file_, disk.open(path));
  if (data->file_->size() > 0) {
    ASSIGN_OR_RETURN(data->mapped_, data->file_->map());
  }
  data->size_ = data->mapped_.size();
  data->plain_chunk_ = kChunk;
  data->checked_.resize((data->size_ + kChunk - 1) / kChunk, true);
  return data;
}

Result<std::unique_ptr<DataFile>> DataFile::open_compressed(Disk& disk, const std::string& path, BytesView info,
                                                            const SSTableVersion& version, ChunkCache* cache) {
  std::unique_ptr<DataFile> data(new DataFile());
  ASSIGN_OR_RETURN(data->file_, disk.open(path));
  auto parsed = CompressionInfo::parse(info, data->file_->size(), version);
  if (!parsed) return Error(ErrorCode::kCorruption, fmt::format("The CompressionInfo.db of {} is malformed", path));
  data->info_ = std::move(*parsed);
  data->size_ = data->info_.data_length;
  auto compressor = Compressor::create(data->info_.params.class_name, data->info_.params.options);
  if (!compressor.ok()) return invalid(fmt::format("{}: {}", path, compressor.error().message()));
  data->compressor_ = std::move(*compressor);
  if (cache != nullptr && cache->is_enabled()) {
    data->cache_ = cache;
    data->cache_id_ = cache->new_file();
  }
  return data;
}

Error DataFile::corrupt(uint64_t position, std::string_view what) const {
  return Error(ErrorCode::kCorruption, fmt::format("{} at {}: {}", path(), position, what));
}

uint64_t DataFile::chunk_end(size_t index) const {
  return index + 1 < info_.offsets.size() ? info_.offsets[index + 1] : file_->size();
}

Status DataFile::fetch(uint64_t position, Chunk* chunk, bool fills_cache, ColdReads* cold) const {
  if (position >= size_) return corrupt(position, "a position beyond the end of the data");
  if (!compressed()) {
    const uint64_t index = position / plain_chunk_;
    TRY(check_plain(index, index + 1, cold));
    chunk->start = index * plain_chunk_;
    chunk->data = mapped_.substr(chunk->start, plain_chunk_);
    return {};
  }
  const uint32_t length = info_.params.chunk_length;
  const size_t index = position / length;
  chunk->data = {};
  chunk->start = index * uint64_t{length};
  const size_t expected = std::min<uint64_t>(length, size_ - chunk->start);
  if (cache_ != nullptr) {
    chunk->cached = cache_->find(*cache_id_, index);
    if (chunk->cached == nullptr && fills_cache) {
      auto bytes = cache_->allocate(expected);
      ASSIGN_OR_RETURN(BytesView data, read_chunk(index, expected, chunk, bytes.get(), cold));
      if (data.data() != bytes.get()) std::memcpy(bytes.get(), data.data(), expected);
      chunk->cached = std::move(bytes);
      cache_->put(*cache_id_, index, chunk->cached, expected);
    }
    if (chunk->cached != nullptr) {
      chunk->data = BytesView(chunk->cached.get(), expected);
      return {};
    }
  }
  reserve(chunk->uncompressed, chunk->uncompressed_capacity, length);
  ASSIGN_OR_RETURN(chunk->data, read_chunk(index, expected, chunk, chunk->uncompressed.get(), cold));
  return {};
}

void DataFile::prefetch(std::span<const uint64_t> positions) const {
  constexpr size_t kLines = 5;  // the processor itself follows who goes on
  if (!compressed()) {
    for (uint64_t position : positions) prefetch_lines(mapped_.data() + position, kLines);
    return;
  }
  if (cache_ == nullptr) return;
  const uint32_t length = info_.params.chunk_length;
  for (uint64_t position : positions) cache_->prefetch(*cache_id_, position / length);
  for (uint64_t position : positions) {
    const ChunkCache::Bytes* chunk = cache_->peek(*cache_id_, position / length);
    if (chunk == nullptr) continue;
    ChunkMemory::prefetch_counters(chunk->get());
    prefetch_lines(chunk->get() + position % length, kLines);
  }
}

Result<BytesView> DataFile::read_chunk(size_t index, size_t expected, Chunk* chunk, char* to, ColdReads* cold) const {
  const uint64_t offset = info_.offsets[index];
  const size_t stored = chunk_end(index) - offset;
  if (stored > longest_chunk()) return corrupt(offset, "a chunk that is too long");
  reserve(chunk->compressed, chunk->compressed_capacity, stored);
  const std::span<char> raw(chunk->compressed.get(), stored);
  if (cold != nullptr) {
    ASSIGN_OR_RETURN(const bool is_there, file_->read_at_once(offset, raw));
    if (!is_there) return cold->miss(file_, offset, stored);
  } else {
    TRY(file_->read(offset, raw));
    reached_ = offset + stored;
  }
  TRY(check_piece(index, BytesView(chunk->compressed.get(), stored)));
  BytesView content(chunk->compressed.get(), stored - 4);
  if (content.size() >= info_.params.max_compressed_length) {
    if (content.size() < expected) return corrupt(offset, "a chunk that is too short");
    return content.substr(0, expected);
  }
  auto size = compressor_->decompress(content, {to, expected});
  if (size != expected) return corrupt(offset, "a chunk that cannot be uncompressed");
  return BytesView(to, expected);
}

Status DataFile::check_plain(uint64_t first, uint64_t end, ColdReads* cold) const {
  const uint64_t start = first * plain_chunk_, bytes = (end - first) * plain_chunk_;
  if (cold == nullptr) {
    reached_ = start + bytes;
  } else if (first != seen_ || end != first + 1) {
    if (!file_->is_in_memory(start, bytes)) return cold->miss(file_, start, bytes);
    seen_ = first;
  }
  for (uint64_t index = first; index < end; ++index) {
    if (checked_[index]) continue;
    const uint64_t start = index * plain_chunk_;
    TRY(check_piece(index, mapped_.substr(start, plain_chunk_)));
    checked_[index] = true;
  }
  return {};
}

Task<Status> DataFile::read_ahead(Disk& disk) const {
  constexpr uint64_t kAhead = 1 << 20;
  const uint64_t end = std::min(file_->size(), reached_ + kAhead);
  // Another one may read the file, too, and be elsewhere.
  if (reached_ > ahead_ || ahead_ > reached_ + kAhead) ahead_ = reached_;
  if (ahead_ >= end || end - ahead_ < std::min(kAhead / 2, file_->size() - ahead_)) return Status();
  const uint64_t from = std::exchange(ahead_, end);
  return disk.bring_in(file_, from, end - from);
}

Status DataFile::lengthen(Chunk* chunk, uint64_t bytes, ColdReads* cold) const {
  const uint64_t first = (chunk->start + chunk->data.size()) / plain_chunk_;
  const uint64_t end = std::min<uint64_t>(first + (bytes + plain_chunk_ - 1) / plain_chunk_, checked_.size());
  TRY(check_plain(first, end, cold));
  chunk->data = mapped_.substr(chunk->start, end * plain_chunk_ - chunk->start);
  return {};
}

bool DataFile::has_compression(const CompressionParams& params) const {
  if (!compressed() || !params.enabled()) return compressed() == params.enabled();
  return info_.params.class_name == params.class_name && info_.params.chunk_length == params.chunk_length &&
         info_.params.max_compressed_length == params.max_compressed_length && info_.params.options == params.options;
}

DataFile::Piece DataFile::piece(size_t chunk) const {
  const uint64_t start = compressed() ? info_.offsets[chunk] : chunk * plain_chunk_;
  const uint64_t end = compressed() ? chunk_end(chunk) : std::min(start + plain_chunk_, size_);
  return {start, end - start};
}

Status DataFile::check_piece(size_t chunk, BytesView content) const {
  const uint64_t start = piece(chunk).offset;
  if (!compressed()) {
    if (crc32(content) == load_be<uint32_t>(crcs_.data() + 4 + 4 * chunk)) return {};
    return corrupt(start, "a checksum of CRC.db does not match");
  }
  if (content.size() > longest_chunk()) return corrupt(start, "a chunk that is too long");
  const BytesView stored = content.substr(0, content.size() - 4);
  if (crc32(stored) == load_be<uint32_t>(stored.data() + stored.size())) return {};
  return corrupt(start, "a chunk whose checksum does not match");
}

Status DataCursor::seek(uint64_t position) {
  // When the window was put together, go back to the chunk as soon as it suffices.
  if (!pinned_ && chunk_.contains(position)) {
    window_ = chunk_.data;
    window_start_ = chunk_.start;
  } else if (position - window_start_ >= window_.size()) {
    TRY(file_->fetch(position, &chunk_, fills_cache_, cold_));
    window_ = chunk_.data;
    window_start_ = chunk_.start;
    pinned_ = false;
  }
  position_ = position;
  return {};
}

Status DataCursor::extend(uint64_t wanted) {
  const uint64_t end = window_start_ + window_.size();
  if (end >= file_->size()) return file_->corrupt(position_, "the data ends in the middle of something");
  // Bytes behind those that were put together are read where they are.
  if (!pinned_ && chunk_.contains(position_) && chunk_.contains(end)) {
    window_ = chunk_.data;
    window_start_ = chunk_.start;
    return {};
  }
  // Chunks of a plain file lie next to each other.
  if (!file_->compressed()) {
    TRY(file_->lengthen(&chunk_, std::max(wanted, end - position_), cold_));
    window_ = chunk_.data;
    return {};
  }
  uint64_t keep = pinned_ ? pin_ : position_;
  BytesView kept = window_.substr(keep - window_start_);
  if (window_.data() == assembled_.data()) {
    assembled_.erase(0, window_.size() - kept.size());
  } else {
    assembled_.assign(kept);
  }
  window_ = assembled_;
  window_start_ = keep;
  if (!chunk_.contains(end)) TRY(file_->fetch(end, &chunk_, fills_cache_, cold_));
  constexpr uint64_t kPiece = 512;  // mostly the rest of a row
  wanted = std::min(std::max(pinned_ ? chunk_.data.size() : kPiece, wanted), file_->size() - end);
  // For all of a large row at once: else there would be two copies of it while the string grows.
  if (assembled_.capacity() - assembled_.size() < wanted) assembled_.reserve(assembled_.size() + wanted);
  assembled_.append(chunk_.data.substr(end - chunk_.start, wanted));
  window_ = assembled_;
  return {};
}

void DataCursor::let_go() {
  const bool is_in_chunk = chunk_.contains(position_);
  window_ = is_in_chunk ? chunk_.data : BytesView();
  window_start_ = is_in_chunk ? chunk_.start : position_;
  pinned_ = false;
  assembled_ = Bytes();
}

}  // namespace cassandra_like
