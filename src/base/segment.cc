// Reading and writing segments.
#include "base/segment.h"

#include "base/checksum.h"
#include "base/lz4_block.h"
#include "base/result.h"

namespace cassandra_like {

namespace {

constexpr size_t kMinCompressed = 64;  // less is not worth the trial
constexpr size_t kPayloadLengthMask = 0x1FFFF;

// One framing: the bytes of the header's fields and of the trailer, the bit that says self-contained.
struct SegmentShape {
  int fields;
  size_t trailer;
  int self_contained_bit;

  size_t header() const { return static_cast<size_t>(fields) + 3; }
};

constexpr SegmentShape shape_of(Framing framing) {
  if (framing == Framing::kLz4) return {5, 4, 34};
  return {3, framing == Framing::kCrc ? 4u : 0u, 17};
}

uint64_t load_le(const char* p, int size) {
  uint64_t v = 0;
  for (int i = 0; i < size; ++i) v |= uint64_t{static_cast<uint8_t>(p[i])} << (8 * i);
  return v;
}

void store_le(char* p, uint64_t v, int size) {
  for (int i = 0; i < size; ++i) p[i] = static_cast<char>(v >> (8 * i));
}

// The payload stands behind the room for the header; `uncompressed` is 0 when it is as it was given.
void seal_segment(Bytes& out, size_t begin, size_t uncompressed, bool self_contained, const SegmentShape& shape) {
  const BytesView payload = BytesView(out).substr(begin + shape.header());
  uint64_t fields = payload.size() | uint64_t{uncompressed} << 17;
  if (self_contained) fields |= uint64_t{1} << shape.self_contained_bit;
  store_le(out.data() + begin, fields, shape.fields);
  store_le(out.data() + begin + shape.fields, crc24(fields, shape.fields), 3);
  if (shape.trailer == 0) return;
  char trailer[4];
  store_le(trailer, crc32_of_frame(payload), sizeof trailer);
  out.append(trailer, sizeof trailer);
}

}  // namespace

const char* framing_name(Framing framing) {
  switch (framing) {
    case Framing::kLz4:
      return "lz4";
    case Framing::kCrc:
      return "crc";
    case Framing::kUnprotected:
      break;
  }
  return "unprotected";
}

SegmentStatus read_segment(BytesView data, Framing framing, Bytes& scratch, Segment* segment) {
  const SegmentShape shape = shape_of(framing);
  if (data.size() < shape.header()) return SegmentStatus::kIncomplete;
  const uint64_t fields = load_le(data.data(), shape.fields);
  segment->read_crc = static_cast<uint32_t>(load_le(data.data() + shape.fields, 3));
  segment->computed_crc = crc24(fields, shape.fields);
  if (segment->read_crc != segment->computed_crc) return SegmentStatus::kCorruptHeader;

  const size_t length = fields & kPayloadLengthMask;
  const size_t uncompressed = framing == Framing::kLz4 ? fields >> 17 & kPayloadLengthMask : 0;
  segment->size = shape.header() + length + shape.trailer;
  segment->payload_size = uncompressed > 0 ? uncompressed : length;
  segment->self_contained = (fields >> shape.self_contained_bit & 1) != 0;
  if (data.size() < segment->size) return SegmentStatus::kIncomplete;
  segment->payload = data.substr(shape.header(), length);
  if (shape.trailer > 0) {
    segment->read_crc = static_cast<uint32_t>(load_le(data.data() + shape.header() + length, 4));
    segment->computed_crc = crc32_of_frame(segment->payload);
    if (segment->read_crc != segment->computed_crc) return SegmentStatus::kCorruptPayload;
  }
  if (uncompressed > 0) {
    scratch.clear();
    if (!decompress_lz4_block(segment->payload, uncompressed, scratch)) return SegmentStatus::kCorruptPayload;
    segment->payload = scratch;
  }
  return SegmentStatus::kIntact;
}

void append_segment(Bytes& out, BytesView payload, bool self_contained, Framing framing) {
  CHECK(payload.size() <= kPayloadLengthMask);
  const SegmentShape shape = shape_of(framing);
  const size_t begin = begin_segment(out, framing);
  size_t uncompressed = 0;
  if (framing == Framing::kLz4 && payload.size() >= kMinCompressed) {
    if (append_lz4_block(payload, out) < payload.size()) {
      uncompressed = payload.size();
    } else {
      out.resize(begin + shape.header());
    }
  }
  if (uncompressed == 0) out.append(payload);
  seal_segment(out, begin, uncompressed, self_contained, shape);
}

size_t begin_segment(Bytes& out, Framing framing) {
  const size_t begin = out.size();
  out.resize(begin + shape_of(framing).header());
  return begin;
}

void end_segment(Bytes& out, size_t begin, bool self_contained, Framing framing) {
  const SegmentShape shape = shape_of(framing);
  const BytesView payload = BytesView(out).substr(begin + shape.header());
  CHECK(payload.size() <= kPayloadLengthMask);
  size_t uncompressed = 0;
  if (framing == Framing::kLz4 && payload.size() >= kMinCompressed) {
    thread_local Bytes compressed;
    compressed.clear();
    if (append_lz4_block(payload, compressed) < payload.size()) {
      uncompressed = payload.size();
      out.replace(begin + shape.header(), payload.size(), compressed);
    }
  }
  seal_segment(out, begin, uncompressed, self_contained, shape);
}

}  // namespace cassandra_like
