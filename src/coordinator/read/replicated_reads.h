// Reads from several replicas (service.StorageProxy.read, service.reads).
//
// One partition: data from the nearest replica, digests from the others; when they differ, data from all, resolved, and the
// replicas that lack something repaired before the client is answered (read_repair BLOCKING). A range: parts of the ring in
// token order, more of them at once as the rows of the first ones tell. The answers are held in bounded memory.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coordinator/context/request_context.h"
#include "coordinator/quorum/range_plan.h"
#include "coordinator/read/read_operation.h"
#include "read/read_command.h"

namespace cassandra_like {

class ReplicatedReads {
 public:
  // The context outlives it.
  explicit ReplicatedReads(RequestContext& context);
  ReplicatedReads(const ReplicatedReads&) = delete;
  ReplicatedReads& operator=(const ReplicatedReads&) = delete;

  // Command and sink are borrowed until the Task completes. Errors are those of quorum/request_errors.h.
  Task<Result<ReadStatistics>> read(const ReadCommand& command, Consistency consistency, RowSink& sink,
                                    const TracePtr& trace = kUntraced, std::vector<std::string>* warnings = nullptr) {
    return run(&command, consistency, &sink, trace, warnings);
  }

 private:
  const std::shared_ptr<ReadTable>& table_of(const TablePtr& table);
  void compute_thresholds(ReadTable& table, int64_t now) const;
  Task<Result<ReadStatistics>> run(const ReadCommand* command, Consistency consistency, RowSink* sink, TracePtr trace,
                                   std::vector<std::string>* warnings);
  Task<Status> read_key(ReadOperation* operation);
  Task<Status> read_keys(ReadOperation* operation);
  Task<Status> read_range(ReadOperation* operation);
  Task<Status> finish_key(ReadOperation* operation, DecoratedKey key, FetchRef fetch);
  Task<Status> finish_part(ReadOperation* operation, FetchRef fetch);
  Task<Status> read_differences(ReadOperation* operation, FetchRef digests);
  Task<Status> finish_repairs(ReadOperation* operation);
  Result<std::optional<Bytes>> deliver(ReadOperation& operation, Fetch& fetch);
  FetchRef begin_key(ReadOperation& operation, ReadPlan plan, const ReadCommand& part, DecoratedKey key);
  FetchRef begin_part(ReadOperation& operation, RangePlan plan);
  Result<ReadPlan> plan_key(ReadOperation& operation, Token token);
  void renew_deadline(ReadOperation& operation) const;
  Task<void> estimate_rows(std::shared_ptr<ReadTable> known);
  auto order_of(const ReadOperation& operation) {
    return [this, cluster = operation.cluster.get()](std::span<EndpointIndex> endpoints) {
      context_.proximity.sort(*cluster->topology, cluster->addresses, endpoints);
    };
  }

  RequestContext& context_;
  FetchPool pool_;
  absl::flat_hash_map<const TableMetadata*, std::shared_ptr<ReadTable>> tables_;
  std::map<Uuid, std::shared_ptr<ReadTable>> by_id_;  // the newest that was asked for
};

}  // namespace cassandra_like
