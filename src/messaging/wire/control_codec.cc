#include "messaging/wire/control_codec.h"

namespace cassandra_like {

namespace {

void append_name(Bytes& out, std::string_view name) {
  append_be(out, static_cast<uint16_t>(name.size()));
  out.append(name);
}

}  // namespace

void append_truncate_request(Bytes& out, const TruncateRequest& request) {
  append_name(out, request.keyspace);
  append_name(out, request.table);
}

Result<TruncateRequest> decode_truncate_request(BytesView body) {
  Reader in(body);
  TruncateRequest out;
  out.keyspace = in.take(in.u16());
  out.table = in.take(in.u16());
  if (in.failed() || !in.at_end()) return Error(ErrorCode::kCorruption, "Corrupt truncate request");
  return out;
}

void append_truncate_response(Bytes& out, const TruncateResponse& response) {
  append_name(out, response.keyspace);
  append_name(out, response.table);
  out.push_back(response.success ? 1 : 0);
}

Result<TruncateResponse> decode_truncate_response(BytesView body) {
  Reader in(body);
  TruncateResponse out;
  out.keyspace = in.take(in.u16());
  out.table = in.take(in.u16());
  out.success = in.u8() != 0;
  if (in.failed() || !in.at_end()) return Error(ErrorCode::kCorruption, "Corrupt truncate response");
  return out;
}

void append_ping_request(Bytes& out, ConnectionType type) { out.push_back(static_cast<char>(type)); }

Result<ConnectionType> decode_ping_request(BytesView body) {
  if (body.size() == 1 && body[0] >= static_cast<char>(ConnectionType::kUrgent) &&
      body[0] <= static_cast<char>(ConnectionType::kLarge)) {
    return static_cast<ConnectionType>(body[0]);
  }
  return Error(ErrorCode::kCorruption, "Corrupt ping: its connection type");
}

Result<Uuid> decode_schema_version(BytesView body) {
  if (body.size() != 16) return Error(ErrorCode::kCorruption, "Corrupt schema version");
  return Uuid::from_bytes(body);
}

}  // namespace cassandra_like
