#include "coordinator/quorum/request_errors.h"

#include <fmt/format.h>

#include "model/values.h"

namespace cassandra_like {
namespace {

ErrorInfo received_info(ErrorCode code, const Received& received) {
  ErrorInfo info;
  info.code = code;
  info.consistency = static_cast<uint16_t>(received.consistency);
  info.required = received.required;
  info.received = received.received;
  return info;
}

ErrorInfo timeout_info(ErrorCode code, const Received& received) {
  ErrorInfo info = received_info(code, received);
  info.message = fmt::format("Operation timed out - received only {} responses.", received.received);
  return info;
}

ErrorInfo failure_info(ErrorCode code, const Received& received, const EndpointFailures& failures,
                       const TokenRing& ring, const std::string& why = "") {
  ErrorInfo info = received_info(code, received);
  info.failures = static_cast<int32_t>(failures.size());
  info.message = why.empty() ? fmt::format("Operation failed - received {} responses and {} failures",
                                           received.received, failures.size())
                             : "Operation failed - " + why;
  const char* separator = ": ";
  for (const EndpointFailure& failure : failures) {
    const Endpoint& endpoint = ring.endpoint(failure.endpoint);
    info.message += fmt::format("{}{} from /{}:{}", separator, failure_reason_name(failure.reason), endpoint.address,
                                endpoint.storage_port);
    separator = ", ";
    if (auto address = parse_inet(endpoint.address); address.ok()) {
      info.failure_reasons.emplace_back(std::move(*address), static_cast<uint16_t>(failure.reason));
    }
  }
  return info;
}

}  // namespace

Error unavailable_error(Consistency consistency, int required, int alive, const std::string& datacenter) {
  ErrorInfo info = received_info(ErrorCode::kUnavailable, {consistency, alive, required});
  if (alive < required) {
    info.message = fmt::format("Cannot achieve consistency level {}", consistency_name(consistency));
  } else {
    info.message = "Insufficient full replicas";
  }
  if (!datacenter.empty()) info.message += " in DC " + datacenter;
  return Error(std::move(info));
}

Error write_timeout_error(const Received& received, WriteType type) {
  ErrorInfo info = timeout_info(ErrorCode::kWriteTimeout, received);
  info.write_type = write_type_name(type);
  return Error(std::move(info));
}

Error write_failure_error(const Received& received, WriteType type, const EndpointFailures& failures,
                          const TokenRing& ring) {
  ErrorInfo info = failure_info(ErrorCode::kWriteFailure, received, failures, ring);
  info.write_type = write_type_name(type);
  return Error(std::move(info));
}

Error read_timeout_error(const Received& received, bool data_present) {
  ErrorInfo info = timeout_info(ErrorCode::kReadTimeout, received);
  info.data_present = data_present;
  return Error(std::move(info));
}

Error read_failure_error(const Received& received, bool data_present, const EndpointFailures& failures,
                         const TokenRing& ring, const std::string& why) {
  ErrorInfo info = failure_info(ErrorCode::kReadFailure, received, failures, ring, why);
  info.data_present = data_present;
  return Error(std::move(info));
}

}  // namespace cassandra_like
