// Message heads. Params, see message_params.cc.
#include "messaging/wire/message.h"

#include <cstdlib>

#include <fmt/format.h>

#include "base/vint.h"
#include "messaging/wire/message_params.h"

namespace cassandra_like {

namespace {

constexpr uint64_t kMaxInt32 = 0x7FFFFFFF;
constexpr int64_t kQuarterHour = 15 * 60 * 1000;
constexpr int64_t kLowBits = 0xFFFFFFFF;

Error bad_message(std::string text) { return Error(ErrorCode::kProtocolError, std::move(text)); }

// All of a head but the params: six vints and the time.
constexpr size_t kMaxFieldsSize = 6 * kMaxVintSize + sizeof(uint32_t);

char* write_fields(char* p, const MessageHeader& header) {
  p = write_unsigned_vint(p, header.id);
  store_be(p, header.created_millis);
  p = write_unsigned_vint(p + sizeof header.created_millis, header.expires_in_millis);
  p = write_unsigned_vint(p, static_cast<uint64_t>(header.verb));
  p = write_unsigned_vint(p, header.flags);
  return write_unsigned_vint(p, header.params.count);
}

}  // namespace

size_t message_head_size(const MessageHeader& header, size_t payload_size) {
  return unsigned_vint_size(header.id) + sizeof header.created_millis + unsigned_vint_size(header.expires_in_millis) +
         unsigned_vint_size(static_cast<uint64_t>(header.verb)) + unsigned_vint_size(header.flags) +
         unsigned_vint_size(header.params.count) + header.params.entries.size() + unsigned_vint_size(payload_size);
}

void append_message_head(Bytes& out, const MessageHeader& header, size_t payload_size) {
  char fields[kMaxFieldsSize];
  char* end = write_fields(fields, header);
  if (header.params.empty()) end = write_unsigned_vint(end, payload_size);
  out.append(fields, static_cast<size_t>(end - fields));
  if (header.params.empty()) return;
  out.append(header.params.entries);
  append_unsigned_vint(out, payload_size);
}

MessageWriter::MessageWriter(Bytes& out, const MessageHeader& header, size_t expected_size)
    : out_(out), size_bytes_(unsigned_vint_size(expected_size)) {
  append_message_head(out, header, expected_size);
  size_at_ = out.size() - size_bytes_;
}

void MessageWriter::finish() {
  const size_t payload_size = out_.size() - size_at_ - size_bytes_;
  char size[kMaxVintSize];
  const auto bytes = static_cast<size_t>(write_unsigned_vint(size, payload_size) - size);
  out_.replace(size_at_, size_bytes_, size, bytes);
}

Result<bool> decode_message_head(BytesView data, size_t max_size, MessageHead* head) {
  Reader in(data);
  MessageHeader& header = head->header;
  header.id = read_unsigned_vint(in);
  header.created_millis = in.u32();
  header.expires_in_millis = read_unsigned_vint(in);
  const uint64_t verb = read_unsigned_vint(in);
  const uint64_t flags = read_unsigned_vint(in);
  if (in.failed()) return false;
  const VerbInfo* info = find_verb(verb);
  if (info == nullptr) return bad_message(fmt::format("Unknown verb id {}", verb));
  if (flags > kMaxInt32) return bad_message(fmt::format("message flags {} are no 32-bit number", flags));
  header.verb = info->verb;
  header.flags = static_cast<uint32_t>(flags);
  const uint64_t count = read_unsigned_vint(in);
  const char* entries = in.position();
  for (uint64_t i = 0; i < count && !in.failed(); ++i) {
    const uint64_t type = read_unsigned_vint(in);
    const uint64_t size = read_unsigned_vint(in);
    if (type > kMaxInt32 || size > kMaxInt32) return bad_message("a message param's type or size is no 32-bit number");
    const BytesView value = in.take(size);
    if (!in.failed() && !is_valid_param(type, value)) {
      return bad_message(fmt::format("malformed message param of type {}, {} bytes long", type, size));
    }
  }
  header.params = {static_cast<uint32_t>(count), BytesView(entries, static_cast<size_t>(in.position() - entries))};
  const uint64_t payload_size = read_unsigned_vint(in);
  if (in.failed()) return false;
  head->head_size = data.size() - in.remaining();
  const uint64_t size = payload_size > UINT64_MAX - head->head_size ? UINT64_MAX : head->head_size + payload_size;
  if (size > max_size) {
    return bad_message(fmt::format("Message of size {} bytes exceeds allowed maximum of {} bytes", size, max_size));
  }
  head->message_size = size;
  return true;
}

int64_t created_at_millis(uint32_t low_bits, int64_t now_millis, bool* was_bad) {
  const int64_t sent = low_bits;
  const int64_t current = now_millis & kLowBits;
  int64_t high = now_millis & ~kLowBits;
  // One of the two clocks may have passed a multiple of 2^32 already.
  if (sent > kLowBits - kQuarterHour && current < kQuarterHour) {
    high -= kLowBits + 1;
  } else if (sent < kQuarterHour && current > kLowBits - kQuarterHour) {
    high += kLowBits + 1;
  }
  const int64_t created = high | sent;
  const bool bad = std::abs(now_millis - created) > kQuarterHour;
  if (was_bad != nullptr) *was_bad = bad;
  return bad ? now_millis : created;
}

}  // namespace cassandra_like
