// Frames around a stream of bytes, as the native protocol v5 (there: segments) and the internode protocol have them
// (net.FrameEncoderCrc, FrameEncoderLZ4, FrameEncoderUnprotected). Little-endian:
//
//   crc, unprotected: 17 bits payload length, 1 bit self-contained, 6 bits 0 | CRC24 of these 3 bytes | payload | CRC32,
//                     which unprotected ones do not have
//   lz4: 17 bits payload length, 17 bits uncompressed length, 1 bit self-contained, 5 bits 0 | CRC24 of these 5 bytes |
//        payload, compressed unless the uncompressed length is 0 | CRC32 of the payload as it is sent
//
// A self-contained segment holds one or more whole frames or messages. A larger one is spread over segments of its own that
// are not self-contained, the first of which holds its header.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace cassandra_like {

// The numbers are those of the internode handshake (net.OutboundConnectionSettings.Framing).
enum class Framing : uint8_t { kUnprotected = 0, kLz4 = 1, kCrc = 2 };
const char* framing_name(Framing framing);  // unprotected, lz4, crc

// Cassandra's largest payload of one segment; readers must accept 2^17 - 1.
inline constexpr size_t kMaxSegmentPayload = (1u << 17) - 12;

enum class SegmentStatus : uint8_t { kIncomplete, kIntact, kCorruptHeader, kCorruptPayload };

struct Segment {
  bool self_contained = false;
  BytesView payload;                        // borrows the input, or `scratch` when it was compressed
  size_t payload_size = 0;                  // uncompressed; also of a corrupt payload
  size_t size = 0;                          // on the wire
  uint32_t read_crc = 0, computed_crc = 0;  // of a corrupt one; equal when it only does not decompress
};

// Reads the segment at the front of data. A payload that does not decompress is corrupt.
SegmentStatus read_segment(BytesView data, Framing framing, Bytes& scratch, Segment* segment);

// Appends one segment. The payload has at most 2^17 - 1 bytes.
void append_segment(Bytes& out, BytesView payload, bool self_contained, Framing framing);

// The same for a payload that the caller appends to `out` itself, between these two calls.
size_t begin_segment(Bytes& out, Framing framing);
void end_segment(Bytes& out, size_t begin, bool self_contained, Framing framing);

}  // namespace cassandra_like
