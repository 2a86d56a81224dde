// The errors of a request that too few replicas can serve, or have served, in Cassandra's words and with its fields
// (exceptions.UnavailableException, WriteTimeoutException, WriteFailureException, ReadTimeoutException,
// ReadFailureException).
#pragma once

#include "absl/container/inlined_vector.h"
#include "base/result.h"
#include "coordinator/quorum/consistency.h"
#include "messaging/wire/failure_codec.h"

namespace cassandra_like {

// datacenter: the one that lacks replicas, at EACH_QUORUM; empty otherwise. When `required` replicas live, the level
// needs more than it tells, as LOCAL_ONE does while an endpoint joins: the words are those of Cassandra then, too.
Error unavailable_error(Consistency consistency, int required, int alive, const std::string& datacenter = "");

struct EndpointFailure {
  EndpointIndex endpoint;
  RequestFailureReason reason;
};
using EndpointFailures = absl::InlinedVector<EndpointFailure, 6>;

// The answers that had come when a request was given up.
struct Received {
  Consistency consistency;
  int received;
  int required;
};
Error write_timeout_error(const Received& received, WriteType type);
Error write_failure_error(const Received& received, WriteType type, const EndpointFailures& failures,
                          const TokenRing& ring);
Error read_timeout_error(const Received& received, bool data_present);
// why: in place of the counts, when replicas have aborted the read; may be empty.
Error read_failure_error(const Received& received, bool data_present, const EndpointFailures& failures,
                         const TokenRing& ring, const std::string& why = "");

}  // namespace cassandra_like
