// TRACING ON: one request of a client. Its events, and those of the replicas that it asks, go to system_traces
// (coordinator/tracing.h).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "coordinator/tracing.h"
#include "cql/context/client_state.h"
#include "cql/context/query_services.h"

namespace cassandra_like {

// Settings of a node that an operator changes while it runs. Any shard reads them.
struct TraceSettings {
  std::atomic<double> probability{0};  // of a request that did not ask for it: settraceprobability
};

class TraceSession {
 public:
  // request: "Execute CQL3 query" and the like; parameters: query, page_size, consistency_level, …
  static std::unique_ptr<TraceSession> begin(QueryServices& services, const ClientState& client, std::string request,
                                             std::map<std::string, std::string> parameters);
  virtual ~TraceSession() = default;
  virtual const Uuid& id() const = 0;
  virtual void event(std::string activity) = 0;
  // For the requests to replicas.
  virtual const TracePtr& trace() const = 0;
  // Writes session and events; they can be read when it completes.
  virtual Task<Status> finish() = 0;
};

// The trace of a request that may not be traced.
inline const TracePtr& trace_of(const TraceSession* session) {
  return session == nullptr ? kUntraced : session->trace();
}

}  // namespace cassandra_like
