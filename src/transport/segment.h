// The segments that carry v5's frames once STARTUP has been answered. Little-endian:
//
//   plain: 17 bits payload length, 1 bit self-contained, 6 bits 0 | CRC24 of these 3 bytes | payload | CRC32
//   lz4:   17 bits payload length, 17 bits uncompressed length, 1 bit self-contained, 5 bits 0 | CRC24 of these
//          5 bytes | payload, compressed unless the uncompressed length is 0 | CRC32 of the payload as it is sent
//
// A self-contained segment holds one or more whole frames; a frame that does not fit is spread over segments of its
// own that are not self-contained, the first of which holds its header.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace cassandra_like {

// Cassandra's largest payload of one segment; readers must accept 2^17 - 1.
inline constexpr size_t kMaxSegmentPayload = (1u << 17) - 12;

enum class SegmentStatus : uint8_t { kIncomplete, kIntact, kCorruptHeader, kCorruptPayload };

struct Segment {
  bool self_contained = false;
  BytesView payload;                        // borrows the input, or `scratch` when it was compressed
  size_t size = 0;                          // on the wire
  uint32_t read_crc = 0, computed_crc = 0;  // of a corrupt one
};

// Reads the segment at the front of data. A payload that does not decompress is corrupt.
SegmentStatus read_segment(BytesView data, bool lz4, Bytes& scratch, Segment* segment);

// Appends whole frames as segments, as few as possible.
void append_segments(Bytes& out, BytesView frames, bool lz4);

}  // namespace cassandra_like
