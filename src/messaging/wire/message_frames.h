// Messages in frames: the bytes of a connection behind its handshake (net.OutboundConnection, net.FrameDecoder,
// net.InboundMessageHandler).
//
// A self-contained frame holds whole messages. A message above kLargeMessageThreshold is spread over frames that are not:
// the first begins with its head, the last ends with its payload.
#pragma once

#include "base/segment.h"
#include "messaging/wire/message.h"

namespace cassandra_like {

// Puts messages into frames, in their order: as few frames as possible, none with a payload above kLargeMessageThreshold.
// One for what leaves in one send; finish() closes the last frame.
class FrameWriter {
 public:
  FrameWriter(Bytes& out, Framing framing) : out_(out), framing_(framing) {}
  ~FrameWriter() { finish(); }
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  // The head must not be larger than kLargeMessageThreshold.
  void add(const MessageHeader& header, BytesView payload) {
    add(header, payload, message_head_size(header, payload.size()) + payload.size());
  }
  // The same for a message whose size is known.
  void add(const MessageHeader& header, BytesView payload, size_t size);
  void finish();

 private:
  void add_large(const MessageHeader& header, BytesView payload);
  size_t frame_payload() const;

  Bytes& out_;
  const Framing framing_;
  bool open_ = false;
  size_t begin_ = 0;       // of the open frame
  size_t payload_at_ = 0;  // of its payload
};

// A message that has arrived whole. The payload is a view into `storage`, if that holds anything (it may be kept by moving it), or else
// into the input of the call; so are the header's params.
struct ReceivedMessage {
  MessageHeader header;
  BytesView payload;
  size_t size = 0;  // with its head
  Bytes storage;
};

class MessageSink {
 public:
  enum class Admission : uint8_t {
    kTake,
    kSkip,  // it has expired: its bytes are passed over
    kWait,  // there is no room: it is offered again by the next feed()
  };
  virtual ~MessageSink() = default;
  // Asked once for each message, by its head.
  virtual Admission admit(const MessageHeader& header, size_t size) = 0;
  // Asked before each further frame of a large message that was taken: false when it has expired meanwhile.
  virtual bool still_wanted(const MessageHeader& header) = 0;
  virtual void on_message(ReceivedMessage message) = 0;
  // A large message that was taken does not arrive: it expired, a frame of it was corrupt, or the connection ended. Said at
  // once, before the rest of its frames.
  virtual void on_lost(const MessageHeader& header, size_t size, bool expired) = 0;
  // A frame whose messages are lost, and the connection lives on.
  virtual void on_corrupt_frame(const Segment& frame) = 0;
};

// Finds the messages in the bytes of a connection. Holds no more than one large message, as much of it as has arrived.
class MessageReader {
 public:
  MessageReader(Framing framing, size_t max_message_size) : framing_(framing), max_message_size_(max_message_size) {}

  // Passes on what is whole, and returns how many bytes it is done with. `scratch` is for decompressed frames. An error means
  // that the connection has to be closed, as Cassandra closes it: a corrupt frame header, a corrupt first frame of a large
  // message, an unknown verb, a size above the maximum, a message that ends outside of its frame.
  Result<size_t> feed(BytesView data, Bytes& scratch, MessageSink& sink);
  // The last feed() stopped because of kWait.
  bool is_waiting() const { return waiting_; }
  // The connection ended.
  void abort(MessageSink& sink);
  // Asks whether a large message of which a part has arrived is still wanted; if not, it is lost. Whether there still is one.
  bool drop_unwanted(MessageSink& sink);

 private:
  Status on_contained(BytesView payload, MessageSink& sink);
  Status on_first_of_large(BytesView payload, MessageSink& sink);
  Status on_more_of_large(BytesView payload, size_t size, MessageSink& sink);
  Status on_corrupt(const Segment& frame, MessageSink& sink);
  void complete_large(MessageSink& sink);
  MessageHead large_head(BytesView bytes) const;
  void lose_large(bool expired, MessageSink& sink);

  enum class Large : uint8_t { kNone, kTaken, kSkipped };

  const Framing framing_;
  const size_t max_message_size_;
  size_t served_ = 0;  // of the payload of the frame at the front, when a message of it has to wait
  bool waiting_ = false;
  Large large_ = Large::kNone;
  Bytes large_bytes_;  // of one that is taken
  size_t large_size_ = 0;
  size_t large_received_ = 0;
};

}  // namespace cassandra_like
