// Request bodies: [string], [value], query options and batches.
#include "transport/request.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/ascii.h"
#include "cql/context/paging_state.h"
#include "model/values.h"

namespace cassandra_like {

namespace {

constexpr size_t kMaxPooled = 256;
constexpr size_t kMaxPooledBody = 64 * 1024;

enum QueryFlag : uint32_t {
  kValues = 0x001,
  kSkipMetadata = 0x002,
  kPageSize = 0x004,
  kPagingState = 0x008,
  kSerialConsistency = 0x010,
  kTimestamp = 0x020,
  kNamesForValues = 0x040,
  kKeyspace = 0x080,
  kNowInSeconds = 0x100,
};

// A cursor that remembers what went wrong first.
class BodyReader {
 public:
  BodyReader(BytesView body, int version) : in_(body), version_(version) {}

  uint8_t u8() { return in_.u8(); }
  uint16_t u16() { return in_.u16(); }
  uint32_t u32() { return in_.u32(); }
  int32_t i32() { return in_.i32(); }
  int64_t i64() { return in_.i64(); }

  std::string_view string() { return text<uint16_t>(); }
  std::string_view long_string() { return text<int32_t>(); }

  BytesView short_bytes() {
    const bool has_length = in_.remaining() >= sizeof(uint16_t);
    const size_t size = has_length ? in_.u16() : 0;
    if (!has_length || size > in_.remaining())
      fail("Not enough bytes to read a byte array preceded by its 2 bytes length");
    return in_.take(size);
  }

  BytesView value() {
    int32_t size = in_.i32();
    return size < 0 ? kNull : raw(size);
  }

  BytesView bound_value() {
    int32_t size = in_.i32();
    if (size >= 0) return raw(size);
    if (size == -1 || version_ < 4) return kNull;
    if (size == -2) return kUnset;
    fail(fmt::format("Invalid ByteBuf length {}", size));
    return kNull;
  }

  Consistency consistency() {
    uint16_t code = in_.u16();
    if (code > static_cast<uint16_t>(Consistency::kNodeLocal)) {
      fail(fmt::format("Unknown code {} for a consistency level", code));
    }
    return static_cast<Consistency>(code);
  }

  void fail(std::string message) {
    if (error_.empty() && !in_.failed()) error_ = std::move(message);
    in_.fail();
  }
  bool failed() const { return in_.failed(); }

  Status status() const {
    if (!in_.failed()) return {};
    return Error(ErrorCode::kProtocolError, error_.empty() ? "Not enough bytes to read the message" : error_);
  }

 private:
  template <class Length>
  std::string_view text() {
    if (in_.failed()) return {};
    const bool has_length = in_.remaining() >= sizeof(Length);
    const int32_t size = has_length ? in_.be<Length>() : -1;
    if (size < 0 || static_cast<size_t>(size) > in_.remaining()) {
      fail(fmt::format("Not enough bytes to read an UTF8 serialized string preceded by its {} bytes length",
                       sizeof(Length)));
      return {};
    }
    std::string_view s = in_.take(static_cast<size_t>(size));
    if (!is_valid_utf8(s)) fail(fmt::format("Cannot decode string as UTF8: '{}'", to_hex(s)));
    return s;
  }

  BytesView raw(int32_t size) {
    if (static_cast<size_t>(size) > in_.remaining()) {
      fail(
          fmt::format("Cannot read value of length {}, only {} bytes remaining in the message", size, in_.remaining()));
    }
    return in_.take(static_cast<size_t>(size));
  }

  Reader in_;
  int version_;
  std::string error_;
};

// Appends to request.values and .names; returns how many.
size_t decode_values(BodyReader& in, Request& request, bool named) {
  size_t count = in.u16();
  for (size_t i = 0; i < count && !in.failed(); ++i) {
    if (named) request.names.push_back(in.string());
    request.values.push_back(in.bound_value());
  }
  return count;
}

void decode_options(BodyReader& in, Request& request) {
  QueryOptions& options = request.options;
  const size_t first_value = request.values.size();
  options.protocol_version = request.version();
  options.consistency = in.consistency();
  const uint32_t flags = request.version() >= 5 ? in.u32() : in.u8();
  if ((flags & kValues) != 0) decode_values(in, request, (flags & kNamesForValues) != 0);
  options.values = std::span(request.values).subspan(std::min(first_value, request.values.size()));
  options.value_names = request.names;
  options.skip_metadata = (flags & kSkipMetadata) != 0;
  if ((flags & kPageSize) != 0) options.page_size = in.i32();
  if ((flags & kPagingState) != 0) {
    options.paging_state = in.value();
    if (!is_null(options.paging_state) && !is_paging_state(options.paging_state, request.version())) {
      in.fail(kInvalidPagingState);
    }
  }
  if ((flags & kSerialConsistency) != 0) options.serial_consistency = in.consistency();
  if ((flags & kTimestamp) != 0) {
    int64_t timestamp = in.i64();
    if (timestamp == std::numeric_limits<int64_t>::min()) {
      in.fail(fmt::format("Out of bound timestamp, must be in [{}, {}] (got {})", timestamp + 1,
                          std::numeric_limits<int64_t>::max(), timestamp));
    }
    options.timestamp = timestamp;
  }
  if ((flags & kKeyspace) != 0) options.keyspace = in.string();
  if ((flags & kNowInSeconds) != 0) options.now_seconds = in.i32();
}

void decode_prepare(BodyReader& in, Request& request) {
  request.text = in.long_string();
  if (request.version() < 5) return;
  if ((in.u32() & 1) != 0) request.keyspace = in.string();
}

void decode_execute(BodyReader& in, Request& request) {
  request.id = in.short_bytes();
  if (request.version() >= 5) request.result_metadata_id = in.short_bytes();
  decode_options(in, request);
}

void decode_batch(BodyReader& in, Request& request) {
  const uint8_t type = in.u8();
  const size_t count = in.u16();
  for (size_t i = 0; i < count && !in.failed(); ++i) {
    const uint8_t kind = in.u8();
    if (kind > 1) {
      in.fail(
          fmt::format("Invalid query kind in BATCH messages. Must be 0 or 1 but got {}", static_cast<int8_t>(kind)));
      return;
    }
    BatchEntry entry;
    entry.is_prepared = kind == 1;
    entry.id_or_text = entry.is_prepared ? in.short_bytes() : in.long_string();
    // Until every value is there the vector may move, so the span keeps only its length.
    entry.values = std::span<const BytesView>(static_cast<const BytesView*>(nullptr), 0);
    request.entries.push_back(entry);
    const size_t values = decode_values(in, request, false);
    request.entries.back().values = {request.values.data(), in.failed() ? 0 : values};
  }
  decode_options(in, request);
  if (type > 2) in.fail(fmt::format("Invalid BATCH message type {}", static_cast<int8_t>(type)));
  request.batch_type = type;
  size_t offset = 0;
  for (BatchEntry& entry : request.entries) {
    entry.values = {request.values.data() + offset, entry.values.size()};
    offset += entry.values.size();
  }
}

void decode_startup(BodyReader& in, Request& request) {
  const size_t count = in.u16();
  for (size_t i = 0; i < count && !in.failed(); ++i) {
    std::string key = upper(in.string());
    request.startup[std::move(key)] = std::string(in.string());
  }
}

void decode_register(BodyReader& in, Request& request) {
  static constexpr std::string_view kNames[] = {"TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE", "TRACE_COMPLETE"};
  const size_t count = in.u16();
  for (size_t i = 0; i < count && !in.failed(); ++i) {
    std::string_view given = in.string();
    const std::string name = upper(given);
    const auto* known = std::find(std::begin(kNames), std::end(kNames), name);
    if (known == std::end(kNames)) {
      in.fail(fmt::format("Invalid value '{}' for Type", given));
      return;
    }
    const auto event = static_cast<uint8_t>(1u << (known - std::begin(kNames)));
    if (event == kTraceComplete && request.version() < 4) {
      in.fail(fmt::format("Event {} not valid for protocol version {}", name, version_name(request.version())));
    }
    request.events |= event;
  }
}

void reset(Request& request) {
  request.text = request.keyspace = {};
  request.id = request.result_metadata_id = request.token = {};
  request.batch_type = 0;
  request.entries.clear();
  request.options = {};
  request.events = 0;
  request.startup.clear();
  request.values.clear();
  request.names.clear();
}

}  // namespace

Status decode_request(Request& request) {
  reset(request);
  BodyReader in(request.body, request.version());
  if ((request.header.flags & kFlagCustomPayload) != 0) {
    for (size_t n = in.u16(); n > 0 && !in.failed(); --n) {
      in.string();
      in.value();
    }
    if (request.version() < 4) in.fail("Received frame with CUSTOM_PAYLOAD flag for native protocol version < 4");
  }
  switch (request.opcode()) {
    case Opcode::kStartup:
      decode_startup(in, request);
      break;
    case Opcode::kQuery:
      request.text = in.long_string();
      decode_options(in, request);
      break;
    case Opcode::kPrepare:
      decode_prepare(in, request);
      break;
    case Opcode::kExecute:
      decode_execute(in, request);
      break;
    case Opcode::kBatch:
      decode_batch(in, request);
      break;
    case Opcode::kRegister:
      decode_register(in, request);
      break;
    case Opcode::kAuthResponse:
      request.token = in.value();
      break;
    case Opcode::kOptions:
      break;
    default:
      in.fail("Unsupported message");
  }
  return in.status();
}

PendingExecution read_expected_execution(BytesView body, int version) {
  Reader in(body);
  PendingExecution execution;
  execution.id = in.take(in.u16());
  if (version >= 5) in.skip(in.u16());  // result metadata id
  in.skip(sizeof(uint16_t));            // consistency
  const uint32_t flags = version >= 5 ? in.u32() : in.u8();
  in.skip(sizeof(uint16_t));  // how many values
  const bool by_position = (flags & kValues) != 0 && (flags & kNamesForValues) == 0;
  if (by_position && !in.failed()) execution.values = in.rest();
  return execution;
}

std::unique_ptr<Request> RequestPool::take() {
  if (free_.empty()) return std::make_unique<Request>();
  std::unique_ptr<Request> request = std::move(free_.back());
  free_.pop_back();
  return request;
}

void RequestPool::give_back(std::unique_ptr<Request> request) {
  if (free_.size() >= kMaxPooled || request->body.capacity() > kMaxPooledBody) return;
  request->warnings.clear();
  request->charged = 0;
  free_.push_back(std::move(request));
}

}  // namespace cassandra_like
