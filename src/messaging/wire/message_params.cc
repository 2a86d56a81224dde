#include "messaging/wire/message_params.h"

#include "base/vint.h"

namespace cassandra_like {

namespace {

constexpr uint64_t kMaxForwardId = 0x7FFFFFFF;

// `visit` may be empty of effect: the walk itself is the check.
bool walk_forwards(BytesView value, absl::FunctionRef<void(const InetAddressAndPort&, uint32_t)> visit) {
  Reader in(value);
  const uint64_t count = read_unsigned_vint(in);
  for (uint64_t i = 0; i < count && !in.failed(); ++i) {
    const InetAddressAndPort to = read_endpoint(in);
    const uint64_t id = read_unsigned_vint(in);
    if (id > kMaxForwardId) in.fail();
    if (!in.failed()) visit(to, static_cast<uint32_t>(id));
  }
  return !in.failed() && in.at_end();
}

bool walk_custom(BytesView value, absl::FunctionRef<void(BytesView, BytesView)> visit) {
  Reader in(value);
  const uint64_t count = read_unsigned_vint(in);
  for (uint64_t i = 0; i < count && !in.failed(); ++i) {
    const BytesView key = in.take(in.u16());
    const BytesView content = in.take(read_unsigned_vint(in));
    if (!in.failed()) visit(key, content);
  }
  return !in.failed() && in.at_end();
}

}  // namespace

bool is_valid_param(uint64_t type, BytesView value) {
  switch (static_cast<ParamType>(type)) {
    case ParamType::kForwardTo:
      return walk_forwards(value, [](const InetAddressAndPort&, uint32_t) {});
    case ParamType::kRespondTo: {
      Reader in(value);
      read_endpoint(in);
      return !in.failed() && in.at_end();
    }
    case ParamType::kTraceSession:
      return value.size() == 16;
    case ParamType::kTraceType:
      return value.size() == 1;
    case ParamType::kTombstoneFail:
    case ParamType::kTombstoneWarning:
    case ParamType::kTooManyReferencedIndexesWarn:
    case ParamType::kTooManyReferencedIndexesFail:
      return value.size() == 4;
    case ParamType::kLocalReadSizeFail:
    case ParamType::kLocalReadSizeWarn:
    case ParamType::kRowIndexReadSizeFail:
    case ParamType::kRowIndexReadSizeWarn:
      return value.size() == 8;
    case ParamType::kCustomMap:
      return walk_custom(value, [](BytesView, BytesView) {});
    case ParamType::kSnapshotRanges:
      break;
  }
  return true;
}

std::optional<BytesView> MessageParams::find(ParamType type) const {
  std::optional<BytesView> found;
  Reader in(entries);
  for (uint32_t i = 0; i < count && !in.failed(); ++i) {
    const uint64_t t = read_unsigned_vint(in);
    const BytesView value = in.take(read_unsigned_vint(in));
    if (t == static_cast<uint64_t>(type) && !in.failed()) found = value;
  }
  return found;
}

std::optional<InetAddressAndPort> MessageParams::respond_to() const {
  const auto value = find(ParamType::kRespondTo);
  if (!value) return std::nullopt;
  Reader in(*value);
  const InetAddressAndPort endpoint = read_endpoint(in);
  return in.failed() ? std::nullopt : std::optional(endpoint);
}

std::optional<Uuid> MessageParams::trace_session() const {
  const auto value = find(ParamType::kTraceSession);
  return value && value->size() == 16 ? std::optional(Uuid::from_bytes(*value)) : std::nullopt;
}

TraceType MessageParams::trace_type() const {
  const auto value = find(ParamType::kTraceType);
  if (!value || value->empty()) return TraceType::kQuery;
  const auto number = static_cast<uint8_t>(value->front());
  return number > static_cast<uint8_t>(TraceType::kRepair) ? TraceType::kNone : static_cast<TraceType>(number);
}

void MessageParams::for_each_forward(absl::FunctionRef<void(const InetAddressAndPort&, uint32_t)> visit) const {
  if (const auto value = find(ParamType::kForwardTo)) walk_forwards(*value, visit);
}

void MessageParams::for_each_custom(absl::FunctionRef<void(BytesView, BytesView)> visit) const {
  if (const auto value = find(ParamType::kCustomMap)) walk_custom(*value, visit);
}

ParamsBuilder& ParamsBuilder::add(ParamType type, BytesView value) {
  append_unsigned_vint(bytes_, static_cast<uint64_t>(type));
  append_unsigned_vint(bytes_, value.size());
  bytes_.append(value);
  ++count_;
  return *this;
}

ParamsBuilder& ParamsBuilder::respond_to(const InetAddressAndPort& endpoint) {
  Bytes value;
  append_endpoint(value, endpoint);
  return add(ParamType::kRespondTo, value);
}

ParamsBuilder& ParamsBuilder::trace(const Uuid& session, TraceType type) {
  add(ParamType::kTraceSession, session.view());
  const char number = static_cast<char>(type);
  return add(ParamType::kTraceType, BytesView(&number, 1));
}

ParamsBuilder& ParamsBuilder::forward_to(std::span<const Forward> targets) {
  Bytes value;
  append_unsigned_vint(value, targets.size());
  for (const Forward& target : targets) {
    append_endpoint(value, target.to);
    append_unsigned_vint(value, target.id);
  }
  return add(ParamType::kForwardTo, value);
}

ParamsBuilder& ParamsBuilder::custom_map(std::span<const std::pair<BytesView, BytesView>> entries) {
  Bytes value;
  append_unsigned_vint(value, entries.size());
  for (const auto& [key, content] : entries) {
    append_be(value, static_cast<uint16_t>(key.size()));
    value.append(key);
    append_unsigned_vint(value, content.size());
    value.append(content);
  }
  return add(ParamType::kCustomMap, value);
}

ParamsBuilder& ParamsBuilder::copy_without(const MessageParams& params, ParamType without) {
  Reader in(params.entries);
  for (uint32_t i = 0; i < params.count && !in.failed(); ++i) {
    const uint64_t type = read_unsigned_vint(in);
    const BytesView value = in.take(read_unsigned_vint(in));
    if (!in.failed() && type != static_cast<uint64_t>(without)) add(static_cast<ParamType>(type), value);
  }
  return *this;
}

}  // namespace cassandra_like
