// A message between nodes (net.Message.Serializer), the same in messaging versions 12 and 13:
//
//   message := head, payload
//   head    := vint id, created:u32, vint expires in, vint verb, vint flags, vint params, param*, vint payload size
//   created := the low 32 bits of the milliseconds since 1970 at which the sender made it; `expires in` is milliseconds
//   param   := vint type, vint size, value                                                             net.ParamType
//      0  FORWARD_TO     vint count, (endpoint, vint id)*                                  net.ForwardingInfo
//      1  RESPOND_TO     endpoint
//      5  TRACE_SESSION  uuid:16
//      6  TRACE_TYPE     u8: 0 none, 1 query, 2 repair
//      8, 9, 16, 17      i32: tombstones that failed a read or warn of it; referenced indexes: warn, fail
//      10 to 13          i64: sizes of local reads and of row indexes: fail, warn, fail, warn
//      14 CUSTOM_MAP     vint count, (u16 length, key, vint length, value)*                net.CustomParamsSerializer
//      15 SNAPSHOT_RANGES
//
// Cassandra reads the vints' lengths from their values, so they are always the shortest. The whole head of a large message is
// in its first frame.
#pragma once

#include <optional>
#include <span>

#include "absl/functional/function_ref.h"
#include "base/uuid.h"
#include "messaging/wire/endpoint_codec.h"
#include "messaging/wire/verb.h"

namespace cassandra_like {

// net.MessageFlag
inline constexpr uint32_t kCallBackOnFailure = 1 << 0;
inline constexpr uint32_t kTrackRepairedData = 1 << 1;
inline constexpr uint32_t kTrackWarnings = 1 << 2;

enum class ParamType : uint32_t {
  kForwardTo = 0,
  kRespondTo = 1,
  kTraceSession = 5,
  kTraceType = 6,
  kTombstoneFail = 8,
  kTombstoneWarning = 9,
  kLocalReadSizeFail = 10,
  kLocalReadSizeWarn = 11,
  kRowIndexReadSizeFail = 12,
  kRowIndexReadSizeWarn = 13,
  kCustomMap = 14,
  kSnapshotRanges = 15,
  kTooManyReferencedIndexesWarn = 16,
  kTooManyReferencedIndexesFail = 17,
};

enum class TraceType : uint8_t { kNone = 0, kQuery = 1, kRepair = 2 };

// The params of a message, as they are on the wire: unknown ones are there, too.
struct MessageParams {
  uint32_t count = 0;
  BytesView entries;

  bool empty() const { return count == 0; }
  // The last of this type.
  std::optional<BytesView> find(ParamType type) const;
  std::optional<InetAddressAndPort> respond_to() const;
  std::optional<Uuid> trace_session() const;
  TraceType trace_type() const;  // kQuery when it is not said, kNone for a number that has no meaning
  // Visits the nodes to pass the message on to, each with the id that its answer is to have.
  void for_each_forward(absl::FunctionRef<void(const InetAddressAndPort&, uint32_t id)> visit) const;
  void for_each_custom(absl::FunctionRef<void(BytesView key, BytesView value)> visit) const;
};

// Collects params, in Cassandra's order when they are added by ascending type.
class ParamsBuilder {
 public:
  ParamsBuilder& add(ParamType type, BytesView value);
  ParamsBuilder& respond_to(const InetAddressAndPort& endpoint);
  ParamsBuilder& trace(const Uuid& session, TraceType type);
  struct Forward {
    InetAddressAndPort to;
    uint32_t id = 0;
  };
  ParamsBuilder& forward_to(std::span<const Forward> targets);
  ParamsBuilder& custom_map(std::span<const std::pair<BytesView, BytesView>> entries);
  // All but one type, for a message that is passed on.
  ParamsBuilder& copy_without(const MessageParams& params, ParamType without);

  // Valid until the builder changes.
  MessageParams get() const { return {count_, bytes_}; }

 private:
  uint32_t count_ = 0;
  Bytes bytes_;
};

// Borrows its params.
struct MessageHeader {
  uint64_t id = 0;
  uint32_t created_millis = 0;  // the low bits
  uint64_t expires_in_millis = 0;
  Verb verb = Verb::kNoVerb;
  uint32_t flags = 0;
  MessageParams params;

  bool call_back_on_failure() const { return (flags & kCallBackOnFailure) != 0; }
};

// ---- Writing. Does not allocate but for the growth of `out`.

size_t message_head_size(const MessageHeader& header, size_t payload_size);
// The head of a message with a payload of this size, which the caller appends behind it.
void append_message_head(Bytes& out, const MessageHeader& header, size_t payload_size);

// For a payload whose size is known last: append it to out() between the constructor and finish(). A payload whose size
// takes as many bytes as that of expected_size is not moved.
class MessageWriter {
 public:
  MessageWriter(Bytes& out, const MessageHeader& header, size_t expected_size = 0);
  Bytes& out() { return out_; }
  void finish();

 private:
  Bytes& out_;
  size_t size_at_ = 0;
  size_t size_bytes_;
};

// ---- Reading. Does not allocate.

struct MessageHead {
  MessageHeader header;
  size_t head_size = 0;     // the payload begins here
  size_t message_size = 0;  // with the payload
};
// Decodes the head of the message at the front of data, which may end anywhere. False: more bytes have to come. kProtocolError:
// no further bytes make it a message: an unknown verb, a malformed param, or a size above max_size.
Result<bool> decode_message_head(BytesView data, size_t max_size, MessageHead* head);

// The milliseconds since 1970 that a message was made at, out of their low 32 bits and the receiver's clock. A time that is
// more than 15 minutes away from now is the peer's mistake: now is taken instead, and *was_bad is set.
int64_t created_at_millis(uint32_t low_bits, int64_t now_millis, bool* was_bad = nullptr);

}  // namespace cassandra_like
