// Evaluates expressions of a SELECT clause without a node: what surrounds a function is there but does nothing.
#pragma once

#include "cql/context/query_services.h"
#include "cql/selection/selection.h"
#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {

class IdleServices : public QueryServices {
 public:
  explicit IdleServices(ShardRuntime& runtime) : runtime_(runtime) {}
  Task<Result<QueryResult>> execute_internal(std::string, std::vector<Bytes>, Consistency) override {
    return Result<QueryResult>(invalid("idle"));
  }
  int64_t next_timestamp() override { return ++timestamp_; }
  Uuid next_time_uuid() override { return Uuid::time_based(kUuidEpochOffset + ++uuids_, 0x8080808080808080); }
  Coordinator& coordinator() override { std::abort(); }
  ShardRuntime& runtime() override { return runtime_; }
  const CqlOptions& options() const override { return options_; }

 private:
  ShardRuntime& runtime_;
  CqlOptions options_;
  uint64_t uuids_ = 0;
  int64_t timestamp_ = 0;
};

class IdleCoordinator : public Coordinator {
 public:
  Task<Status> write(std::span<const Mutation>, Consistency, WriteType, const TracePtr&) override { return Status(); }
  Task<Status> write_counters(std::span<const Mutation>, Consistency, const TracePtr&) override { return Status(); }
  Task<Result<ReadStatistics>> read(const ReadCommand&, Consistency, RowSink&, const TracePtr&,
                                    std::vector<std::string>*) override {
    return Result<ReadStatistics>(invalid("idle"));
  }
  Task<Status> truncate(TablePtr) override { return Status(); }
  Batchlog& batchlog() override { std::abort(); }
  ReplicatedWrites& replicated_writes() override { std::abort(); }
  Tracing& tracing() override { std::abort(); }
  Task<void> stop() override { return {}; }
  Replica& replica() override { std::abort(); }
  SchemaStore& schema() override { std::abort(); }
  const CoordinatorStatistics& statistics() const override { return statistics_; }
  CoordinatorStatistics& statistics() override { return statistics_; }
  const TableRequests* requests(const Uuid&) const override { return nullptr; }
  Denylist* denylist() override { return nullptr; }
  const CoordinatorOptions& options() const override { return options_; }
  void set_timeout(Duration CoordinatorOptions::*which, Duration timeout) override { options_.*which = timeout; }

 private:
  CoordinatorOptions options_;
  CoordinatorStatistics statistics_;
};

// One result column of one row.
struct Answer {
  std::string name;
  TypePtr type;
  BytesView value;  // as long as the fixture lives
};

class FunctionFixture {
 public:
  FunctionFixture();

  ExecutionContext& context() { return context_; }
  // `SELECT expression FROM functions_oracle.one`, whose row has k = 0.
  Result<Answer> select(const std::string& expression);

 private:
  std::unique_ptr<SimWorld> world_;
  ShardRuntime& runtime_;
  IdleServices services_;
  IdleCoordinator coordinator_;
  CqlOptions config_;
  ClientState client_;
  QueryOptions options_;
  Arena arena_;
  ExecutionContext context_;
  TablePtr table_;
  SchemaPtr schema_;
};

}  // namespace cassandra_like
