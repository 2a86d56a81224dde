#include "messaging/wire/message_frames.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace cassandra_like {

namespace {

constexpr size_t kMinStorage = 64;

Error bad_frame(std::string text) { return Error(ErrorCode::kProtocolError, std::move(text)); }

Error bad_crc(std::string_view where, const Segment& frame) {
  return bad_frame(
      fmt::format("invalid, unrecoverable CRC mismatch detected while reading messages ({}): Read {}, Computed {}",
                  where, static_cast<int32_t>(frame.read_crc), static_cast<int32_t>(frame.computed_crc)));
}

Error too_long(size_t size) {
  return bad_frame(fmt::format("a large message is longer than the {} bytes of its head", size));
}

}  // namespace

// ---- writing

size_t FrameWriter::frame_payload() const { return open_ ? out_.size() - payload_at_ : 0; }

void FrameWriter::add(const MessageHeader& header, BytesView payload, size_t size) {
  if (size > kLargeMessageThreshold) return add_large(header, payload);
  if (frame_payload() + size > kLargeMessageThreshold) finish();
  if (!open_) {
    begin_ = begin_segment(out_, framing_);
    payload_at_ = out_.size();
    open_ = true;
  }
  append_message_head(out_, header, payload.size());
  out_.append(payload);
}

void FrameWriter::add_large(const MessageHeader& header, BytesView payload) {
  finish();
  size_t begin = begin_segment(out_, framing_);
  const size_t head_at = out_.size();
  append_message_head(out_, header, payload.size());
  size_t room = kLargeMessageThreshold - (out_.size() - head_at);
  while (true) {
    const size_t n = std::min(room, payload.size());
    out_.append(payload.substr(0, n));
    payload.remove_prefix(n);
    end_segment(out_, begin, false, framing_);
    if (payload.empty()) return;
    begin = begin_segment(out_, framing_);
    room = kLargeMessageThreshold;
  }
}

void FrameWriter::finish() {
  if (std::exchange(open_, false)) end_segment(out_, begin_, true, framing_);
}

// ---- reading

Result<size_t> MessageReader::feed(BytesView data, Bytes& scratch, MessageSink& sink) {
  size_t consumed = 0;
  waiting_ = false;
  while (true) {
    Segment frame;
    const SegmentStatus status = read_segment(data.substr(consumed), framing_, scratch, &frame);
    if (status == SegmentStatus::kIncomplete) return consumed;
    if (status == SegmentStatus::kCorruptHeader) return bad_crc("corrupted frame header", frame);
    if (status == SegmentStatus::kCorruptPayload) {
      TRY(on_corrupt(frame, sink));
    } else if (frame.self_contained) {
      TRY(on_contained(frame.payload, sink));
    } else if (large_ == Large::kNone) {
      TRY(on_first_of_large(frame.payload, sink));
    } else {
      TRY(on_more_of_large(frame.payload, frame.payload.size(), sink));
    }
    if (waiting_) return consumed;
    served_ = 0;
    consumed += frame.size;
  }
}

Status MessageReader::on_contained(BytesView payload, MessageSink& sink) {
  while (served_ < payload.size()) {
    const BytesView rest = payload.substr(served_);
    ReceivedMessage message;
    MessageHead head;
    ASSIGN_OR_RETURN(const bool whole, decode_message_head(rest, max_message_size_, &head));
    if (!whole || head.message_size > rest.size()) {
      return bad_frame(
          fmt::format("a message of {} bytes in a frame that has {} left", head.message_size, rest.size()));
    }
    const MessageSink::Admission admission = sink.admit(head.header, head.message_size);
    if (admission == MessageSink::Admission::kWait) {
      waiting_ = true;
      return {};
    }
    served_ += head.message_size;
    if (admission == MessageSink::Admission::kSkip) continue;
    message.header = head.header;
    message.payload = rest.substr(head.head_size, head.message_size - head.head_size);
    message.size = head.message_size;
    sink.on_message(std::move(message));
  }
  return {};
}

Status MessageReader::on_first_of_large(BytesView payload, MessageSink& sink) {
  MessageHead head;
  ASSIGN_OR_RETURN(const bool whole, decode_message_head(payload, max_message_size_, &head));
  if (!whole) return bad_frame(fmt::format("the head of a large message is not in its first {} bytes", payload.size()));
  if (payload.size() > head.message_size) return too_long(head.message_size);
  const MessageSink::Admission admission = sink.admit(head.header, head.message_size);
  if (admission == MessageSink::Admission::kWait) {
    waiting_ = true;
    return {};
  }
  large_ = admission == MessageSink::Admission::kTake ? Large::kTaken : Large::kSkipped;
  large_size_ = head.message_size;
  large_received_ = 0;
  // Never short enough to lie within the string itself, so that views stay valid when it is moved.
  if (large_ == Large::kTaken) large_bytes_.reserve(std::max(payload.size(), kMinStorage));
  return on_more_of_large(payload, payload.size(), sink);
}

Status MessageReader::on_more_of_large(BytesView payload, size_t size, MessageSink& sink) {
  if (size > large_size_ - large_received_) return too_long(large_size_);
  const bool first = large_received_ == 0;
  large_received_ += size;
  if (large_ == Large::kTaken) {
    if (!first && !sink.still_wanted(large_head(large_bytes_).header)) {
      lose_large(true, sink);
    } else {
      large_bytes_.append(payload);
    }
  }
  if (large_received_ == large_size_) complete_large(sink);
  return {};
}

Status MessageReader::on_corrupt(const Segment& frame, MessageSink& sink) {
  if (frame.read_crc == frame.computed_crc) return bad_frame("a frame of messages does not decompress");
  if (!frame.self_contained && large_ == Large::kNone)
    return bad_crc("corrupted first frame of a large message", frame);
  sink.on_corrupt_frame(frame);
  if (frame.self_contained) return {};
  if (large_ == Large::kTaken) lose_large(false, sink);
  return on_more_of_large({}, frame.payload_size, sink);
}

MessageHead MessageReader::large_head(BytesView bytes) const {
  MessageHead head;
  const auto whole = decode_message_head(bytes, max_message_size_, &head);
  CHECK(whole.ok() && *whole);
  return head;
}

void MessageReader::lose_large(bool expired, MessageSink& sink) {
  large_ = Large::kSkipped;
  const Bytes bytes = std::exchange(large_bytes_, {});
  sink.on_lost(large_head(bytes).header, large_size_, expired);
}

void MessageReader::complete_large(MessageSink& sink) {
  if (std::exchange(large_, Large::kNone) == Large::kSkipped) return;
  ReceivedMessage message;
  message.storage = std::exchange(large_bytes_, {});
  message.size = large_size_;
  const MessageHead head = large_head(message.storage);
  message.header = head.header;
  message.payload = BytesView(message.storage).substr(head.head_size);
  sink.on_message(std::move(message));
}

bool MessageReader::drop_unwanted(MessageSink& sink) {
  if (large_ != Large::kTaken) return false;
  if (sink.still_wanted(large_head(large_bytes_).header)) return true;
  lose_large(true, sink);
  return false;
}

void MessageReader::abort(MessageSink& sink) {
  if (large_ == Large::kTaken) lose_large(false, sink);
}

}  // namespace cassandra_like
