// Reading and writing v5 segments.
#include "transport/segment.h"

#include <algorithm>

#include "base/checksum.h"
#include "transport/compression.h"
#include "transport/frame.h"

namespace cassandra_like {

namespace {

constexpr int kTrailerSize = 4;
constexpr size_t kMinCompressed = 64;  // less is not worth the trial

uint64_t load_le(const char* p, int size) {
  uint64_t v = 0;
  for (int i = 0; i < size; ++i) v |= uint64_t{static_cast<uint8_t>(p[i])} << (8 * i);
  return v;
}

void store_le(char* p, uint64_t v, int size) {
  for (int i = 0; i < size; ++i) p[i] = static_cast<char>(v >> (8 * i));
}

void append_segment(Bytes& out, BytesView payload, bool self_contained, bool lz4) {
  const int fields_size = lz4 ? 5 : 3;
  const size_t begin = out.size();
  const size_t payload_begin = begin + static_cast<size_t>(fields_size) + 3;
  out.resize(payload_begin);
  uint64_t fields = payload.size();
  size_t compressed = payload.size();
  if (lz4 && payload.size() >= kMinCompressed) compressed = append_lz4_block(payload, out);
  if (compressed < payload.size()) {
    fields = compressed | uint64_t{payload.size()} << 17;
  } else {
    out.resize(payload_begin);
    out.append(payload);
  }
  if (self_contained) fields |= uint64_t{1} << (lz4 ? 34 : 17);
  store_le(out.data() + begin, fields, fields_size);
  store_le(out.data() + begin + fields_size, crc24(fields, fields_size), 3);
  char trailer[kTrailerSize];
  store_le(trailer, crc32_of_frame(BytesView(out).substr(payload_begin)), kTrailerSize);
  out.append(trailer, sizeof trailer);
}

}  // namespace

SegmentStatus read_segment(BytesView data, bool lz4, Bytes& scratch, Segment* segment) {
  const int fields_size = lz4 ? 5 : 3;
  const size_t header_size = static_cast<size_t>(fields_size) + 3;
  if (data.size() < header_size) return SegmentStatus::kIncomplete;
  const uint64_t fields = load_le(data.data(), fields_size);
  segment->read_crc = static_cast<uint32_t>(load_le(data.data() + fields_size, 3));
  segment->computed_crc = crc24(fields, fields_size);
  if (segment->read_crc != segment->computed_crc) return SegmentStatus::kCorruptHeader;

  const size_t length = fields & 0x1FFFF;
  segment->size = header_size + length + kTrailerSize;
  segment->self_contained = (fields >> (lz4 ? 34 : 17) & 1) != 0;
  if (data.size() < segment->size) return SegmentStatus::kIncomplete;
  segment->payload = data.substr(header_size, length);
  segment->read_crc = static_cast<uint32_t>(load_le(data.data() + header_size + length, kTrailerSize));
  segment->computed_crc = crc32_of_frame(segment->payload);
  if (segment->read_crc != segment->computed_crc) return SegmentStatus::kCorruptPayload;

  const size_t uncompressed = lz4 ? fields >> 17 & 0x1FFFF : 0;
  if (uncompressed > 0) {
    scratch.clear();
    if (!decompress_lz4_block(segment->payload, uncompressed, scratch)) return SegmentStatus::kCorruptPayload;
    segment->payload = scratch;
  }
  return SegmentStatus::kIntact;
}

void append_segments(Bytes& out, BytesView frames, bool lz4) {
  while (!frames.empty()) {
    // The bytes of as many whole frames as fit.
    size_t size = 0;
    size_t first = 0;
    while (size < frames.size()) {
      size_t next = kFrameHeaderSize + static_cast<size_t>(read_frame_header(frames.data() + size).length);
      if (size == 0) first = next;
      if (size + next > kMaxSegmentPayload) break;
      size += next;
    }
    if (size > 0) {
      append_segment(out, frames.substr(0, size), true, lz4);
      frames.remove_prefix(size);
      continue;
    }
    for (BytesView rest = frames.substr(0, first); !rest.empty();) {
      size_t n = std::min(rest.size(), kMaxSegmentPayload);
      append_segment(out, rest.substr(0, n), false, lz4);
      rest.remove_prefix(n);
    }
    frames.remove_prefix(first);
  }
}

}  // namespace cassandra_like
