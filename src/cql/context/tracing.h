// TRACING ON: the events of one request, written to system_traces.sessions and .events when it has been answered.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/uuid.h"
#include "cql/context/client_state.h"
#include "cql/context/query_services.h"

namespace cassandra_like {

class TraceSession {
 public:
  // request: "Execute CQL3 query" and the like; parameters: query, page_size, consistency_level, …
  static std::unique_ptr<TraceSession> begin(QueryServices& services, const ClientState& client, std::string request,
                                             std::map<std::string, std::string> parameters);
  virtual ~TraceSession() = default;
  virtual const Uuid& id() const = 0;
  virtual void event(std::string activity) = 0;
  // Writes session and events; they can be read when it completes.
  virtual Task<Status> finish() = 0;
};

}  // namespace cassandra_like
