// Messages through frames of each kind: whole, cut anywhere, damaged.
#include "messaging/wire/message_frames.h"

#include <fmt/format.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cassandra_like::message_frames_test {
namespace {

constexpr size_t kMax = size_t{1} << 20;
constexpr Framing kFramings[] = {Framing::kUnprotected, Framing::kLz4, Framing::kCrc};

// Writes down what it is told, and admits what `admission` says.
struct Recorder : MessageSink {
  Admission admit(const MessageHeader& header, size_t size) override {
    const Admission answer = admission ? admission(header, size) : Admission::kTake;
    if (answer == Admission::kTake) taken += size;
    return answer;
  }
  bool still_wanted(const MessageHeader&) override { return wanted; }
  void on_message(ReceivedMessage message) override {
    taken -= message.size;
    told.push_back(fmt::format("{} {}", message.header.id, message.payload.substr(0, 10)));
    sizes.push_back(message.payload.size());
    payload = message.payload;
    params = message.header.params.entries;
    last = std::move(message);
  }
  void on_lost(const MessageHeader& header, size_t size, bool expired) override {
    taken -= size;
    told.push_back(fmt::format("{} {}", header.id, expired ? "expired" : "lost"));
  }
  void on_corrupt_frame(const Segment&) override { told.push_back("corrupt"); }

  std::function<Admission(const MessageHeader&, size_t)> admission;
  bool wanted = true;
  size_t taken = 0;  // bytes admitted and not yet told of
  std::vector<std::string> told;
  std::vector<size_t> sizes;
  Bytes payload, params;  // of the last
  ReceivedMessage last;
};

MessageHeader header_of(uint64_t id) { return {.id = id, .expires_in_millis = 2000, .verb = Verb::kMutationReq}; }

Bytes frames_of(std::vector<Bytes> payloads, Framing framing) {
  Bytes out;
  FrameWriter writer(out, framing);
  for (size_t i = 0; i < payloads.size(); ++i) writer.add(header_of(i + 1), payloads[i]);
  writer.finish();
  return out;
}

// Feeds all, in pieces; what was not consumed comes again with more.
Status feed(MessageReader& reader, BytesView bytes, Recorder& sink, size_t piece = SIZE_MAX) {
  Bytes scratch, held;
  for (BytesView rest = bytes; !rest.empty(); rest.remove_prefix(std::min(piece, rest.size()))) {
    held += rest.substr(0, piece);
    auto consumed = reader.feed(held, scratch, sink);
    if (!consumed.ok()) return std::move(consumed.error());
    held.erase(0, *consumed);
  }
  return {};
}

Bytes letters(size_t size) {
  Bytes out(size, '\0');
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i * i % 23);
  return out;
}

TEST(MessageFrames, HoldManyMessages) {
  for (Framing framing : kFramings) {
    const Bytes wire = frames_of({"first", "", letters(70)}, framing);
    for (size_t piece : {size_t{1}, size_t{7}, wire.size()}) {
      MessageReader reader(framing, kMax);
      Recorder sink;
      ASSERT_TRUE(feed(reader, wire, sink, piece).ok());
      EXPECT_THAT(sink.told, testing::ElementsAre("1 first", "2 ", "3 " + letters(10)));
      EXPECT_EQ(sink.taken, 0u);
    }
  }
}

TEST(MessageFrames, AreAsFewAsTheirSizeAllows) {
  const Bytes wire = frames_of(std::vector<Bytes>(9, letters(20'000)), Framing::kCrc);
  std::vector<size_t> sizes;
  for (BytesView rest = wire; !rest.empty();) {
    Bytes scratch;
    Segment frame;
    ASSERT_EQ(read_segment(rest, Framing::kCrc, scratch, &frame), SegmentStatus::kIntact);
    EXPECT_TRUE(frame.self_contained);
    sizes.push_back(frame.payload.size());
    rest.remove_prefix(frame.size);
  }
  const size_t three = 3 * (message_head_size(header_of(1), 20'000) + 20'000);
  EXPECT_THAT(sizes, testing::ElementsAre(three, three, three));
}

TEST(MessageFrames, SpreadALargeMessage) {
  for (Framing framing : kFramings) {
    const Bytes wire = frames_of({"before", letters(200'000), "after"}, framing);
    for (size_t piece : {size_t{999}, wire.size()}) {
      MessageReader reader(framing, kMax);
      Recorder sink;
      ASSERT_TRUE(feed(reader, wire, sink, piece).ok());
      EXPECT_THAT(sink.told, testing::ElementsAre("1 before", "2 " + letters(10), "3 after"));
      EXPECT_THAT(sink.sizes, testing::ElementsAre(6u, 200'000u, 5u));
    }
  }
}

// The threshold itself is small; one byte more is large, and its params come back with it.
TEST(MessageFrames, ChangeTheirKindAtTheThreshold) {
  ParamsBuilder params;
  params.trace(*Uuid::parse("4a1e9f20-8c53-11ee-b9d1-0242ac120002"), TraceType::kQuery);
  MessageHeader header = header_of(1);
  header.params = params.get();
  for (bool large : {false, true}) {
    const size_t head = message_head_size(header, 65'000);
    const Bytes payload = letters(kLargeMessageThreshold - head + large);
    Bytes wire, scratch;
    FrameWriter writer(wire, Framing::kCrc);
    writer.add(header, payload);
    writer.finish();
    Segment frame;
    ASSERT_EQ(read_segment(wire, Framing::kCrc, scratch, &frame), SegmentStatus::kIntact);
    EXPECT_EQ(frame.self_contained, !large);
    EXPECT_EQ(frame.payload.size(), kLargeMessageThreshold);
    MessageReader reader(Framing::kCrc, kMax);
    Recorder sink;
    ASSERT_TRUE(feed(reader, wire, sink).ok());
    EXPECT_EQ(sink.payload, payload);
    EXPECT_EQ(sink.params, params.get().entries);
    EXPECT_EQ(sink.last.storage.empty(), !large);
  }
}

// Somebody else may spread a message that is short: what a receiver keeps stays valid, however short it is.
TEST(MessageFrames, KeepAShortMessageThatIsSpread) {
  Bytes message, wire;
  append_message_head(message, header_of(1), 2);
  append_segment(wire, message, false, Framing::kCrc);
  append_segment(wire, "", false, Framing::kCrc);
  append_segment(wire, "a", false, Framing::kCrc);
  append_segment(wire, "b", false, Framing::kCrc);
  MessageReader reader(Framing::kCrc, kMax);
  Recorder sink;
  ASSERT_TRUE(feed(reader, wire, sink).ok());
  const ReceivedMessage kept = std::move(sink.last);
  EXPECT_EQ(kept.payload, "ab");
  EXPECT_EQ(kept.payload.data(), kept.storage.data() + message.size());
}

TEST(MessageFrames, PassOverWhatHasExpired) {
  const Bytes wire = frames_of({"first", "second", letters(100'000), "fourth"}, Framing::kCrc);
  MessageReader reader(Framing::kCrc, kMax);
  Recorder sink;
  sink.admission = [](const MessageHeader& header, size_t) {
    return header.id < 4 && header.id != 1 ? MessageSink::Admission::kSkip : MessageSink::Admission::kTake;
  };
  ASSERT_TRUE(feed(reader, wire, sink).ok());
  EXPECT_THAT(sink.told, testing::ElementsAre("1 first", "4 fourth"));
}

TEST(MessageFrames, WaitForRoom) {
  for (Framing framing : kFramings) {
    const Bytes wire = frames_of({"first", "second", letters(100'000)}, framing);
    MessageReader reader(framing, kMax);
    Recorder sink;
    size_t room = 1;
    sink.admission = [&room](const MessageHeader&, size_t) {
      if (room == 0) return MessageSink::Admission::kWait;
      --room;
      return MessageSink::Admission::kTake;
    };
    Bytes scratch;
    EXPECT_EQ(*reader.feed(wire, scratch, sink), 0u);  // the second message is in the same frame
    EXPECT_TRUE(reader.is_waiting());
    EXPECT_THAT(sink.told, testing::ElementsAre("1 first"));
    room = 1;
    const size_t consumed = *reader.feed(wire, scratch, sink);
    EXPECT_TRUE(reader.is_waiting());
    EXPECT_THAT(sink.told, testing::ElementsAre("1 first", "2 second"));
    room = 1;
    EXPECT_EQ(*reader.feed(BytesView(wire).substr(consumed), scratch, sink), wire.size() - consumed);
    EXPECT_FALSE(reader.is_waiting());
    EXPECT_THAT(sink.sizes, testing::ElementsAre(5u, 6u, 100'000u));
  }
}

// ---- damage

Bytes damage(Bytes bytes, size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
  return bytes;
}

TEST(Damage, OfASelfContainedPayloadLosesTheFrame) {
  for (Framing framing : {Framing::kLz4, Framing::kCrc}) {
    const Bytes wire = damage(frames_of({"first"}, framing), 12) + frames_of({"second"}, framing);
    MessageReader reader(framing, kMax);
    Recorder sink;
    ASSERT_TRUE(feed(reader, wire, sink).ok());
    EXPECT_THAT(sink.told, testing::ElementsAre("corrupt", "1 second"));
  }
}

TEST(Damage, OfAFramesHeaderClosesTheConnection) {
  for (Framing framing : kFramings) {
    const Bytes wire = frames_of({"first"}, framing) + damage(frames_of({"second"}, framing), 1);
    MessageReader reader(framing, kMax);
    Recorder sink;
    const Status status = feed(reader, wire, sink);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message(),
                testing::StartsWith("invalid, unrecoverable CRC mismatch detected while reading "
                                    "messages (corrupted frame header): Read "));
    EXPECT_THAT(sink.told, testing::ElementsAre("1 first"));
  }
}

TEST(Damage, OfALargeMessageLosesIt) {
  const Bytes large = frames_of({letters(200'000)}, Framing::kCrc);
  const Bytes wire = damage(large, 100'000) + frames_of({"after"}, Framing::kCrc);
  MessageReader reader(Framing::kCrc, kMax);
  Recorder sink;
  ASSERT_TRUE(feed(reader, wire, sink).ok());
  EXPECT_THAT(sink.told, testing::ElementsAre("corrupt", "1 lost", "1 after"));
  EXPECT_EQ(sink.taken, 0u);
}

// Nobody knows how long the message would have been.
TEST(Damage, OfItsFirstFrameClosesTheConnection) {
  MessageReader reader(Framing::kCrc, kMax);
  Recorder sink;
  EXPECT_FALSE(feed(reader, damage(frames_of({letters(200'000)}, Framing::kCrc), 1000), sink).ok());
  EXPECT_TRUE(sink.told.empty());
}

TEST(LargeMessage, ThatExpiresOnItsWayIsGivenUp) {
  const Bytes wire = frames_of({letters(200'000), "after"}, Framing::kCrc);
  MessageReader reader(Framing::kCrc, kMax);
  Recorder sink;
  sink.wanted = false;
  ASSERT_TRUE(feed(reader, wire, sink).ok());
  EXPECT_THAT(sink.told, testing::ElementsAre("1 expired", "2 after"));
  EXPECT_EQ(sink.taken, 0u);
}

TEST(LargeMessage, ThatIsInterruptedIsLost) {
  const Bytes wire = frames_of({letters(200'000)}, Framing::kCrc).substr(0, 150'000);
  MessageReader reader(Framing::kCrc, kMax);
  Recorder sink;
  ASSERT_TRUE(feed(reader, wire, sink).ok());
  EXPECT_GT(sink.taken, 200'000u);
  reader.abort(sink);
  reader.abort(sink);
  EXPECT_THAT(sink.told, testing::ElementsAre("1 lost"));
  EXPECT_EQ(sink.taken, 0u);
}

std::string refusal(BytesView frames, size_t max = kMax) {
  MessageReader reader(Framing::kCrc, max);
  Recorder sink;
  Status status = feed(reader, frames, sink);
  reader.abort(sink);  // as the end of the connection does
  EXPECT_EQ(sink.taken, 0u);
  return status.ok() ? "none" : status.error().message();
}
Bytes frame_of(BytesView payload, bool self_contained) {
  Bytes out;
  append_segment(out, payload, self_contained, Framing::kCrc);
  return out;
}

TEST(BadPeer, IsToldByWhatIsWrong) {
  Bytes gigabytes, short_message;
  append_message_head(gigabytes, header_of(1), size_t{5} << 30);
  append_message_head(short_message, header_of(1), 3);
  const size_t head = message_head_size(header_of(1), 3);
  EXPECT_EQ(refusal(frame_of(gigabytes, false)),
            fmt::format("Message of size {} bytes exceeds allowed maximum of {} bytes",
                        gigabytes.size() + (size_t{5} << 30), kMax));
  EXPECT_EQ(refusal(frame_of(gigabytes, true)), refusal(frame_of(gigabytes, false)));
  EXPECT_EQ(refusal(frame_of(short_message + "ab", true)),
            fmt::format("a message of {} bytes in a frame that has {} left", head + 3, head + 2));
  EXPECT_EQ(refusal(frame_of(short_message + "abcd", false)),
            fmt::format("a large message is longer than the {} bytes of its head", head + 3));
  EXPECT_EQ(refusal(frame_of(short_message, false) + frame_of("abcd", false)),
            fmt::format("a large message is longer than the {} bytes of its head", head + 3));
  EXPECT_EQ(refusal(frame_of(short_message.substr(0, 5), false)),
            "the head of a large message is not in its first 5 bytes");
  EXPECT_EQ(refusal(frame_of(BytesView("\1\0\0\0\0\0\x07\0\0\0", 10), true)), "Unknown verb id 7");
}

// A frame whose compressed payload is not LZ4, with a CRC that fits it.
TEST(BadPeer, IsClosedWhenItsFrameDoesNotDecompress) {
  Bytes wire;
  append_segment(wire, Bytes(1000, 'x'), true, Framing::kLz4);
  Bytes scratch;
  Segment frame;
  ASSERT_EQ(read_segment(wire, Framing::kLz4, scratch, &frame), SegmentStatus::kIntact);
  // The payload of a frame that says it was compressed from 1000 bytes, in a frame that says from 999.
  Bytes other;
  append_segment(other, Bytes(999, 'x'), true, Framing::kLz4);
  const Bytes mixed = other.substr(0, 8) + wire.substr(8);
  ASSERT_EQ(other.size(), wire.size());
  MessageReader reader(Framing::kLz4, kMax);
  Recorder sink;
  const Status status = feed(reader, mixed, sink);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "a frame of messages does not decompress");
}

}  // namespace
}  // namespace cassandra_like::message_frames_test
