// Small bodies, the same in messaging versions 12 and 13:
//
//   TRUNCATE_REQ       := name (keyspace), name (table)               db.TruncateRequest
//   TRUNCATE_RSP       := name, name, success:u8                      db.TruncateResponse
//   PING_REQ           := connection type:u8 (1 urgent, 2 small, 3 large): the one that it travels on
//   SCHEMA_VERSION_RSP := uuid:16
//   name               := u16 length, text
//
// ECHO, PING_RSP, SCHEMA_VERSION_REQ and SCHEMA_PULL_REQ have none.
#pragma once

#include "base/result.h"
#include "base/uuid.h"
#include "messaging/wire/verb.h"

namespace cassandra_like {

// Views into the body.
struct TruncateRequest {
  std::string_view keyspace;
  std::string_view table;

  bool operator==(const TruncateRequest&) const = default;
};
struct TruncateResponse {
  std::string_view keyspace;
  std::string_view table;
  bool success = false;

  bool operator==(const TruncateResponse&) const = default;
};

void append_truncate_request(Bytes& out, const TruncateRequest& request);
Result<TruncateRequest> decode_truncate_request(BytesView body);
void append_truncate_response(Bytes& out, const TruncateResponse& response);
Result<TruncateResponse> decode_truncate_response(BytesView body);

void append_ping_request(Bytes& out, ConnectionType type);
Result<ConnectionType> decode_ping_request(BytesView body);

inline void append_schema_version(Bytes& out, const Uuid& version) { out.append(version.view()); }
Result<Uuid> decode_schema_version(BytesView body);

}  // namespace cassandra_like
