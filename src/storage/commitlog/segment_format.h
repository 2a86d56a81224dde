// The bytes of a commit log segment, as Cassandra 5.0 lays them out (db.commitlog.CommitLogDescriptor, CommitLogSegment,
// CommitLogReader), version 8, neither compressed nor encrypted. File CommitLog-8-<id>.log, of fixed size, zero-filled:
//
//   header  := version:i32 id:i64 length:u16 parameters (JSON) crc:u32
//   section := marker record*
//   marker  := end:i32 crc:u32     end: where the next section's marker is; crc of the id and the marker's own offset
//   record  := size:i32 crc:u32 mutation crc:u32     crcs: of the size; of the size and the mutation
//
// CRCs of integers are of their big-endian bytes; a header's and a marker's id counts as its low, then its high half.
// We store a marker only when everything up to its end is on the disk. The open section has a marker of zeros; as
// Cassandra's reader stops there and ours goes on, the parameters name the shard that wrote the file:
// {"shard":"0","shards":"2"}. Cassandra ignores keys that it does not know.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace cassandra_like {

inline constexpr int kCommitLogVersion = 8;
inline constexpr int kOldestCommitLogVersion = 7;  // 4.0 and 5.0 in compatibility mode: mutations have the same form
inline constexpr uint32_t kMarkerSize = 8;
inline constexpr uint32_t kRecordOverhead = 12;
inline constexpr uint32_t kSmallestMutation = 10;  // CommitLogReader: what is smaller is not a record

struct SegmentWriter {
  unsigned shard = 0;
  unsigned shards = 1;
  bool operator==(const SegmentWriter&) const = default;
};

struct SegmentDescriptor {
  int version = kCommitLogVersion;
  int64_t id = 0;
  std::optional<SegmentWriter> writer;  // nullopt: Cassandra itself
  uint32_t header_size = 0;
};

std::string segment_file_name(int64_t id);
// nullopt when it is not a segment's name.
std::optional<int64_t> segment_id_of(std::string_view file_name);

Bytes segment_header(int64_t id, const SegmentWriter& writer);
// kCorruption when the header is damaged, kInvalid when it is of a kind that is not supported. Messages name the path.
Result<SegmentDescriptor> read_segment_header(BytesView file, const std::string& path);

uint32_t marker_crc(int64_t id, uint32_t offset);
// Where the first whole marker lies, wherever the header may be.
std::optional<uint32_t> find_marker(BytesView segment, int64_t id);
void store_marker(char* segment, int64_t id, uint32_t offset, uint32_t end);
// crc of a record's size; continue it over the mutation for the second one.
uint32_t size_crc(uint32_t size);

}  // namespace cassandra_like
