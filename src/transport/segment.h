// The segments that carry v5's frames once STARTUP has been answered: base/segment.h draws them. They are crc, or lz4 when
// the client asked for compression.
#pragma once

#include "base/segment.h"
#include "transport/compression.h"

namespace cassandra_like {

inline Framing framing_of(Compression compression) {
  return compression == Compression::kLz4 ? Framing::kLz4 : Framing::kCrc;
}

// Appends whole frames as segments, as few as possible.
void append_segments(Bytes& out, BytesView frames, Framing framing);

}  // namespace cassandra_like
