// Cassandra's files of hints: <host id>-<timestamp>-<version>.hints (hints.HintsDescriptor, HintsWriter, HintsReader).
//
//   file       := descriptor, hint entries to the end
//   descriptor := version:i32, timestamp:i64, host id:16, parameters' length:i32, CRC-32 of the fields so far:u32,
//                 parameters (a JSON object), CRC-32 of the fields and the parameters:u32
//   entry      := size:i32, CRC-32 of the size:u32, hint (size bytes), CRC-32 of the size and the hint:u32
//   hint       := created:i64 (milliseconds since 1970), vint gc grace seconds, mutation
//
// The descriptor's CRC takes each 64-bit field as its low half and then its high half. A file with the parameter
// "compression" has, behind the descriptor, chunks instead of entries, and the entries are in them:
//
//   chunk      := uncompressed size:i32, compressed size:i32, compressed bytes
//
// A complete file has a sister <same name>.crc32 that holds the CRC-32 of its bytes in hexadecimal digits. Nobody reads it.
//
// Version 1 is Cassandra 3's, 2 is Cassandra 4's and that of 5.0 in CASSANDRA_4 mode, 3 is 5.0's. Their mutations have one form
// (see messaging/wire/mutation_codec.h). Encrypted files are not read.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "base/uuid.h"
#include "runtime/disk.h"
#include "storage/sstable/compression.h"

namespace cassandra_like {

inline constexpr int32_t kHintsVersion30 = 1;
inline constexpr int32_t kHintsVersion40 = 2;
inline constexpr int32_t kHintsVersion50 = 3;

struct HintsDescriptor {
  Uuid host_id;           // the node that the hints are for
  int64_t timestamp = 0;  // milliseconds since 1970; no two files of a node have the same
  int32_t version = kHintsVersion40;
  Bytes parameters = "{}";  // a JSON object

  std::string file_name() const;
  Bytes serialize() const;
};
// The name of a file's sister with the checksum, from "<stem>.hints".
std::string hints_checksum_name(std::string_view file_name);
// The name that a file with an unreadable descriptor is given, so that nobody takes it for hints.
std::string corrupt_hints_name(std::string_view file_name);

// The name's parts. nullopt: it is no file of hints.
struct HintsFileName {
  Uuid host_id;
  int64_t timestamp = 0;
};
std::optional<HintsFileName> parse_hints_file_name(std::string_view name);

// Appends one entry.
void append_hint_entry(Bytes& out, int64_t created_millis, int32_t gc_grace_seconds, BytesView mutation);
size_t hint_entry_size(int32_t gc_grace_seconds, size_t mutation_size);

// Whether a hint may still be sent: later it could bring back what was deleted (hints.Hint.isLive).
inline bool hint_is_live(int64_t created_millis, int32_t gc_grace_seconds, int64_t now_millis) {
  return created_millis > now_millis - int64_t{gc_grace_seconds} * 1000;
}

class HintsFileReader {
 public:
  struct Hint {
    uint64_t position = 0;  // of its entry, for seek()
    int64_t created_millis = 0;
    int32_t gc_grace_seconds = 0;
    BytesView encoded;  // all of the hint, as HINT_REQ has it behind the size; valid until the next call
  };

  // kCorruption: the descriptor cannot be read; kInvalid: it can, and names a version, a compressor or an encryption that is
  // not read here; kIo.
  static Result<std::unique_ptr<HintsFileReader>> open(std::unique_ptr<ReadFile> file);

  const HintsDescriptor& descriptor() const { return descriptor_; }
  // False: there are no more. An entry with a wrong CRC is passed over and counted. kCorruption: an entry's size is wrong, and
  // so the entries behind it are not to be found. kIo.
  Result<bool> next(Hint& hint);
  // Positions count the bytes of entries, uncompressed; the first entry is at 0.
  uint64_t position() const { return window_begin_ + at_; }
  // Goes to the position of an entry, or of the end.
  Status seek(uint64_t position);

  // The entries that were passed over.
  uint64_t damaged() const { return damaged_; }
  // The file ends within an entry, or with zeros: its writer was stopped, or its machine.
  bool is_torn() const { return torn_; }

 private:
  explicit HintsFileReader(std::unique_ptr<ReadFile> file) : file_(std::move(file)) {}
  Status read_descriptor();
  Result<bool> fill(size_t size);
  Status load_bytes(size_t at_least);
  Status load_chunk();
  Result<bool> only_zeros_follow();
  Error corrupt(const char* what) const;

  std::unique_ptr<ReadFile> file_;
  HintsDescriptor descriptor_;
  std::unique_ptr<Compressor> compressor_;
  uint64_t begin_ = 0;          // of what follows the descriptor
  uint64_t file_position_ = 0;  // of what has not been loaded
  Bytes window_;
  uint64_t window_begin_ = 0;  // the position of the window's first byte
  size_t at_ = 0;              // what has been consumed of the window
  Bytes compressed_;
  uint64_t damaged_ = 0;
  bool torn_ = false;
};

}  // namespace cassandra_like
