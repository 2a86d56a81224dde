// The bytes of a peer: its handshake, frames of each kind, heads of messages, their bodies. Nothing may crash; what is accepted
// is written again as it was, and no more is held than was sent.
//
//   input := what:u8 bytes
#include "messaging/wire/batch_codec.h"
#include "messaging/wire/control_codec.h"
#include "messaging/wire/failure_codec.h"
#include "messaging/wire/handshake.h"
#include "messaging/wire/message_frames.h"
#include "messaging/wire/mutation_codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace cassandra_like {
namespace {

constexpr size_t kMaxMessage = size_t{1} << 20;

void fuzz_handshake(BytesView input) {
  Initiate initiate;
  auto size = decode_initiate(input, &initiate);
  if (!size.ok()) {
    CHECK(!size.error().message().empty());
  } else if (*size > 0 && initiate.type != ConnectionType::kStreaming) {
    Bytes again;
    append_initiate(again, initiate);
    Initiate second;
    CHECK(decode_initiate(again, &second).ok() && second == initiate);
  }
  Accept accept;
  auto answer = decode_accept(input, &accept);
  CHECK(answer.ok() || !answer.error().message().empty());
}

void fuzz_head(BytesView input) {
  MessageHead head;
  auto whole = decode_message_head(input, kMaxMessage, &head);
  if (!whole.ok()) return CHECK(!whole.error().message().empty());
  if (!*whole) return;
  CHECK(head.message_size <= kMaxMessage && head.head_size <= input.size());
  Bytes first, second;
  append_message_head(first, head.header, head.message_size - head.head_size);
  MessageHead again;
  auto read = decode_message_head(first, kMaxMessage + kMaxMessage, &again);
  CHECK(read.ok() && *read && again.head_size == first.size());
  append_message_head(second, again.header, again.message_size - again.head_size);
  CHECK(first == second);
  ParamsBuilder passed;
  passed.copy_without(head.header.params, ParamType::kForwardTo);
  head.header.params.for_each_forward([](const InetAddressAndPort&, uint32_t) {});
  head.header.params.for_each_custom([](BytesView, BytesView) {});
}

struct Held : MessageSink {
  Admission admit(const MessageHeader& header, size_t size) override {
    if (header.id % 5 == 1) return Admission::kSkip;
    if (header.id % 7 == 1 && !std::exchange(waited, true)) return Admission::kWait;
    waited = false;
    bytes += size;
    return Admission::kTake;
  }
  bool still_wanted(const MessageHeader& header) override { return header.id % 3 != 1; }
  void on_message(ReceivedMessage message) override {
    CHECK(bytes >= message.size && message.payload.size() <= message.size);
    bytes -= message.size;
  }
  void on_lost(const MessageHeader&, size_t size, bool) override { bytes -= size; }
  void on_corrupt_frame(const Segment&) override {}

  size_t bytes = 0;
  bool waited = false;
};

void feed_frames(BytesView wire, Framing framing) {
  MessageReader reader(framing, kMaxMessage);
  Held sink;
  Bytes scratch;
  for (int i = 0; i < 100 && !wire.empty(); ++i) {
    auto consumed = reader.feed(wire, scratch, sink);
    if (!consumed.ok()) break;
    wire.remove_prefix(*consumed);
    if (!reader.is_waiting()) break;
  }
  reader.abort(sink);
  CHECK(sink.bytes == 0);
}

// The bytes in frames whose checksums are right, cut where a byte says so.
void fuzz_frames(BytesView input, Framing framing) {
  feed_frames(input, framing);
  Bytes wire;
  while (!input.empty()) {
    const auto size = static_cast<uint8_t>(input.front());
    input.remove_prefix(1);
    append_segment(wire, input.substr(0, size), size % 2 == 0, framing);
    input.remove_prefix(std::min<size_t>(size, input.size()));
  }
  feed_frames(wire, framing);
}

void fuzz_bodies(BytesView input) {
  if (auto batch = decode_batch(input); batch.ok()) {
    Bytes first, second;
    append_batch(first, batch->id, batch->created_micros, batch->mutations);
    auto again = decode_batch(first);
    CHECK(again.ok());
    append_batch(second, again->id, again->created_micros, again->mutations);
    CHECK(first == second);
  }
  if (auto hint = decode_hint_message(input); hint.ok()) {
    Bytes again;
    append_hint_message(again, *hint);
    CHECK(again.size() <= input.size());
  }
  static_cast<void>(decode_truncate_request(input));
  static_cast<void>(decode_truncate_response(input));
  static_cast<void>(decode_ping_request(input));
  static_cast<void>(decode_failure_reason(input));
  static const auto table = std::make_shared<TableMetadata>(
      "ks", "t", Uuid{},
      std::vector<ColumnPtr>{std::make_shared<Column>(Column{"k", types::text(), ColumnKind::kPartitionKey, 0, {}})},
      std::vector<ColumnPtr>{},
      std::vector<ColumnPtr>{std::make_shared<Column>(Column{"v", types::int_(), ColumnKind::kRegular, -1, {}})});
  const TableById find = [](const Uuid& id) { return id.is_nil() ? table.get() : nullptr; };
  Arena arena;
  static_cast<void>(decode_mutation(input, find, arena));
  static_cast<void>(decode_counter_mutation(input, find, arena));
  static_cast<void>(decode_schema_mutations(input, find, arena));
}

}  // namespace

FUZZ_TARGET(internode) {
  if (input.empty()) return;
  const int what = static_cast<uint8_t>(input.front()) % 6;
  input.remove_prefix(1);
  if (what == 0) return fuzz_handshake(input);
  if (what == 1) return fuzz_head(input);
  if (what == 2) return fuzz_bodies(input);
  fuzz_frames(input, static_cast<Framing>(what - 3));
}

}  // namespace cassandra_like
