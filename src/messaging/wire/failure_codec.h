// The body of a FAILURE_RSP (exceptions.RequestFailureReason.Serializer): vint reason.
#pragma once

#include "base/result.h"

namespace cassandra_like {

// The codes are those of the wire, and of the native protocol's failure reasons.
enum class RequestFailureReason : uint8_t {
  kUnknown = 0,
  kReadTooManyTombstones = 1,
  kTimeout = 2,
  kIncompatibleSchema = 3,
  kReadSize = 4,
  kNodeDown = 5,
  kIndexNotAvailable = 6,
  kReadTooManyIndexes = 7,
};
const char* failure_reason_name(RequestFailureReason reason);  // UNKNOWN, READ_TOO_MANY_TOMBSTONES and so on

void append_failure_reason(Bytes& out, RequestFailureReason reason);
// kUnknown for a code of later versions.
Result<RequestFailureReason> decode_failure_reason(BytesView body);

}  // namespace cassandra_like
