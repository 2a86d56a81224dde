// Frames in as few segments as possible.
#include "transport/segment.h"

#include <algorithm>

#include "transport/frame.h"

namespace cassandra_like {

void append_segments(Bytes& out, BytesView frames, Framing framing) {
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
      append_segment(out, frames.substr(0, size), true, framing);
      frames.remove_prefix(size);
      continue;
    }
    for (BytesView rest = frames.substr(0, first); !rest.empty();) {
      size_t n = std::min(rest.size(), kMaxSegmentPayload);
      append_segment(out, rest.substr(0, n), false, framing);
      rest.remove_prefix(n);
    }
    frames.remove_prefix(first);
  }
}

}  // namespace cassandra_like
