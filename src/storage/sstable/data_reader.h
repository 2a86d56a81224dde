// Reads Data.db at positions of its uncompressed data, of which a cache may keep chunks.
//
// No byte is handed out whose checksum did not match: a compressed chunk is checked whenever it comes from the disk, a
// chunk of a plain file (CRC.db has one checksum for each) when it is first read. A plain file that is changed in place
// after that is read as it is.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/disk.h"
#include "storage/cache/chunk_cache.h"
#include "storage/sstable/cold_reads.h"
#include "storage/sstable/compression.h"

namespace cassandra_like {

// A piece of uncompressed data in memory, and the memory: the cache's, or its own, which is reused from one fetch to the
// next.
struct Chunk {
  uint64_t start = 0;
  BytesView data;
  ChunkCache::Bytes cached;
  std::unique_ptr<char[]> uncompressed, compressed;
  size_t uncompressed_capacity = 0, compressed_capacity = 0;

  bool contains(uint64_t position) const { return position - start < data.size(); }
};

class DataFile {
 public:
  // info: the contents of CompressionInfo.db. cache: or null.
  static Result<std::unique_ptr<DataFile>> open_compressed(Disk& disk, const std::string& path, BytesView info,
                                                           const SSTableVersion& version, ChunkCache* cache);
  // Whatever the checksums of its chunks are.
  static Result<std::unique_ptr<DataFile>> open_unchecked(Disk& disk, const std::string& path);
  // crcs: the contents of CRC.db. A plain file is mapped, not cached.
  static Result<std::unique_ptr<DataFile>> open_plain(Disk& disk, const std::string& path, Bytes crcs);

  const std::string& path() const { return file_->path(); }
  uint64_t size() const { return size_; }
  uint64_t file_bytes() const { return file_->size(); }
  bool compressed() const { return compressor_ != nullptr; }
  bool has_compression(const CompressionParams& params) const;
  size_t memory_used() const { return info_.offsets.capacity() * sizeof(uint64_t) + crcs_.capacity(); }

  // The chunk that holds the position. The one place where data comes from the disk. cold: null when the caller may wait.
  Status fetch(uint64_t position, Chunk* chunk, bool fills_cache, ColdReads* cold = nullptr) const;
  // A hint: rows at these positions are about to be read. The rows that are in memory come into the processor's caches.
  void prefetch(std::span<const uint64_t> positions) const;
  // For a plain file: makes a chunk longer by at least `bytes`, or up to the end of the data. It stays where it is.
  Status lengthen(Chunk* chunk, uint64_t bytes, ColdReads* cold) const;
  // For who reads all of it and may wait: has what comes next brought into memory, elsewhere.
  Task<Status> read_ahead(Disk& disk) const;
  // The file as the pieces that checksums are of: all of its bytes, in their order.
  struct Piece {
    uint64_t offset = 0;
    size_t bytes = 0;
  };
  size_t chunks() const { return compressed() ? info_.offsets.size() : checked_.size(); }
  Piece piece(size_t chunk) const;
  Status read_raw(uint64_t offset, std::span<char> out) const {
    reached_ = offset + out.size();
    return file_->read(offset, out);
  }
  // Whether these bytes of a piece are what its checksum says.
  Status check_piece(size_t chunk, BytesView content) const;
  Error corrupt(uint64_t position, std::string_view what) const;

 private:
  DataFile() = default;
  uint64_t chunk_end(size_t index) const;
  // Uncompressed chunks may be padded, and no compressor makes much more out of its input than there was.
  uint64_t longest_chunk() const { return 2 * uint64_t{info_.params.chunk_length} + 1024; }
  // The bytes of a chunk, checked: uncompressed into `to`, or as they lie in `compressed`.
  Result<BytesView> read_chunk(size_t index, size_t expected, Chunk* chunk, char* to, ColdReads* cold) const;
  // For a plain file: the chunks from one to before another are in memory, and match their checksums.
  Status check_plain(uint64_t first, uint64_t end, ColdReads* cold) const;

  std::shared_ptr<const ReadFile> file_;
  std::unique_ptr<Compressor> compressor_;
  CompressionInfo info_;
  // For a plain file.
  BytesView mapped_;
  Bytes crcs_;
  uint64_t plain_chunk_ = 0;              // bytes that a checksum is of
  mutable std::vector<bool> checked_;     // by chunk
  mutable uint64_t seen_ = ~uint64_t{0};  // the chunk that was found to be in memory last
  // Where readers that may wait got to, and how far they have read ahead.
  mutable uint64_t reached_ = 0, ahead_ = 0;
  ChunkCache* cache_ = nullptr;
  ChunkCache::FileId cache_id_;
  uint64_t size_ = 0;
};

// A position in a data file with a contiguous window of bytes after it. Rows that lie in one chunk are read where it
// was uncompressed; those that do not are put together in memory of the cursor's own.
class DataCursor {
 public:
  void open(const DataFile* file, bool fills_cache, ColdReads* cold) {
    file_ = file;
    fills_cache_ = fills_cache;
    cold_ = cold;
    chunk_.data = window_ = {};
    pinned_ = false;
  }
  // Lets go of what the cache may want to free.
  void close() {
    chunk_.data = window_ = {};
    chunk_.cached = nullptr;
  }
  // Bytes that it keeps for the next file.
  size_t reserved() const { return assembled_.capacity(); }
  Status seek(uint64_t position);
  uint64_t position() const { return position_; }
  // The window's end.
  uint64_t end() const { return window_start_ + window_.size(); }
  // The position of a place in the window.
  uint64_t position_of(const char* p) const { return window_start_ + static_cast<uint64_t>(p - window_.data()); }
  // From the position to the window's end. The bytes stay where they are until the next seek(), extend() or open().
  BytesView rest() const { return window_.substr(position_ - window_start_); }
  Reader reader() const { return Reader(rest()); }
  // From a position in the window.
  Reader reader_at(uint64_t position) const { return Reader(window_.substr(position - window_start_)); }
  // To where a reader got that was made from this window. Never fetches.
  void advance_to(const char* p) { position_ = position_of(p); }
  void advance_to(uint64_t position) { position_ = position; }
  // A longer window, on the way to one that is longer by `wanted` bytes. kCorruption at the end of the file, where nothing
  // that is read may end in the middle.
  Status extend(uint64_t wanted = 1);
  // Frees the memory of a window that was put together. The window ends where the chunk does then, and may be empty.
  void let_go();
  // From now on the window keeps all bytes from the current position on.
  void pin() {
    pinned_ = true;
    pin_ = position_;
  }
  void unpin() { pinned_ = false; }
  bool is_pinned() const { return pinned_; }
  const DataFile& file() const { return *file_; }

 private:
  const DataFile* file_ = nullptr;
  bool fills_cache_ = false;
  ColdReads* cold_ = nullptr;
  Chunk chunk_;
  Bytes assembled_;
  BytesView window_;
  uint64_t window_start_ = 0;
  uint64_t position_ = 0;
  bool pinned_ = false;
  uint64_t pin_ = 0;
};

}  // namespace cassandra_like
