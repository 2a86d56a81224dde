#include "messaging/wire/failure_codec.h"

#include "base/vint.h"

namespace cassandra_like {

namespace {
constexpr const char* kReasonNames[] = {"UNKNOWN",
                                        "READ_TOO_MANY_TOMBSTONES",
                                        "TIMEOUT",
                                        "INCOMPATIBLE_SCHEMA",
                                        "READ_SIZE",
                                        "NODE_DOWN",
                                        "INDEX_NOT_AVAILABLE",
                                        "READ_TOO_MANY_INDEXES"};
}  // namespace

const char* failure_reason_name(RequestFailureReason reason) { return kReasonNames[static_cast<size_t>(reason)]; }

void append_failure_reason(Bytes& out, RequestFailureReason reason) {
  append_unsigned_vint(out, static_cast<uint64_t>(reason));
}

Result<RequestFailureReason> decode_failure_reason(BytesView body) {
  Reader in(body);
  const uint64_t code = read_unsigned_vint(in);
  if (in.failed() || !in.at_end()) return Error(ErrorCode::kCorruption, "Corrupt failure response");
  return code < std::size(kReasonNames) ? static_cast<RequestFailureReason>(code) : RequestFailureReason::kUnknown;
}

}  // namespace cassandra_like
