// Walking over the frames. A mistake in one is found when it is served.
#include "transport/look_ahead.h"

#include <array>

#include "transport/frame.h"
#include "transport/request.h"

namespace cassandra_like {

namespace {

constexpr size_t kMostFrames = 16;

}  // namespace

size_t look_ahead(BytesView frames, int version, QueryProcessor& processor) {
  constexpr uint8_t kNotPlain = kFlagCompressed | kFlagTracing | kFlagCustomPayload;
  std::array<PendingExecution, kMostFrames> executions;
  size_t count = 0, at = 0;
  for (size_t i = 0; i < kMostFrames && frames.size() - at >= kFrameHeaderSize; ++i) {
    const FrameHeader header = read_frame_header(frames.data() + at);
    const size_t most = frames.size() - at - kFrameHeaderSize;
    if (header.length < 0 || static_cast<size_t>(header.length) > most) break;
    const BytesView body = frames.substr(at + kFrameHeaderSize, static_cast<size_t>(header.length));
    at += kFrameHeaderSize + body.size();
    if (header.opcode != static_cast<uint8_t>(Opcode::kExecute) || (header.flags & kNotPlain) != 0) continue;
    executions[count] = read_expected_execution(body, version);
    if (!executions[count].values.empty()) ++count;
  }
  // Alone it would wait as long here as there.
  if (count > 1) processor.prefetch({executions.data(), count});
  return at;
}

}  // namespace cassandra_like
