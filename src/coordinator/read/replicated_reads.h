// Reads from several replicas (service.StorageProxy.read, service.reads).
//
// One partition: data from the nearest replica, digests from the others; when they differ, data from all, resolved, and the
// replicas that lack something repaired before the client is answered (read_repair BLOCKING). A range: parts of the ring in
// token order, more of them at once as the rows of the first ones tell. The answers are held in bounded memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordinator/context/request_context.h"
#include "read/read_command.h"

namespace cassandra_like {

class ReplicatedReads {
 public:
  // The context outlives it.
  static std::unique_ptr<ReplicatedReads> create(RequestContext& context);
  virtual ~ReplicatedReads() = default;

  // Command and sink are borrowed until the Task completes. Errors are those of quorum/request_errors.h.
  virtual Task<Result<ReadStatistics>> read(const ReadCommand& command, Consistency consistency, RowSink& sink,
                                            const TracePtr& trace = kUntraced,
                                            std::vector<std::string>* warnings = nullptr) = 0;
};

}  // namespace cassandra_like
