// The parts of a node's replica: ReplicaImpl, one a shard, and what they share.
#pragma once

#include <memory>
#include <vector>

#include "read/row_buffer.h"
#include "replica/disk_boundary_manager.h"
#include "replica/replica.h"
#include "schema/schema_update_handler.h"
#include "storage/engine/engine.h"

namespace cassandra_like {

class ReplicaImpl;

// Filled while the node opens, constant afterwards.
struct NodeShared {
  explicit NodeShared(Runtime& r) : runtime(r), schema_updates(r, timestamps) {}

  Runtime& runtime;
  EngineOptions engine_options;
  LocalNode node;
  SystemTimestamps timestamps;  // of what is written to system and system_schema
  SchemaUpdateHandler schema_updates;
  std::vector<std::unique_ptr<Engine>> engines;        // by shard; made, used and destroyed there
  std::vector<std::unique_ptr<ReplicaImpl>> replicas;  // by shard
};

class ReplicaImpl : public Replica {
 public:
  ReplicaImpl(NodeShared& shared, unsigned shard);

  void prefetch(std::span<const PrefetchKey> partitions) override;
  Task<Status> mutate(const MutationPayload& mutation) override;
  Task<Result<SerializedMutation>> mutate_counter(const MutationPayload& deltas) override;
  Task<Result<ReadStatistics>> read(const ReadCommand& command, RowSink& sink, int64_t deadline = kNoDeadline,
                                    int64_t begun = kBeginsNow) override;
  Task<Result<ReadStatistics>> read_unfiltered(const ReadRequest& request, UnfilteredSink& sink,
                                               int64_t deadline = kNoDeadline) override;
  Task<Status> truncate(TablePtr table) override;

  SchemaStore& schema() override { return store_; }
  VirtualTables& virtual_tables() override { return virtual_tables_; }
  Engine& engine() override { return *shared_.engines[shard_]; }
  const LocalNode& local_node() const override { return shared_.node; }
  TopologyStore& topology() override { return topology_; }
  const ReplicaStatistics& statistics() const override { return statistics_; }
  Task<Status> on_every_engine(std::function<Task<Status>(Engine&)> work) override;
  Task<std::vector<TableStatistics>> table_statistics(Uuid table) override;
  Task<std::vector<EngineStatistics>> engine_statistics() override;
  Task<Status> build_index(TablePtr table, std::string index) override;
  DiskBoundaries disk_boundaries(const TableMetadata& table, size_t directories);

 private:
  unsigned owner(const DecoratedKey& key) const { return owner(key.token); }
  unsigned owner(Token token) const { return shard_of(token, shard_count_); }
  void count(bool local) { ++(local ? statistics_.local : statistics_.forwarded); }
  Executor& executor(unsigned shard) { return shared_.runtime.shard(shard).executor; }
  // Calls the engine that owns the mutation's key.
  template <class T>
  Task<T> write(const MutationPayload& mutation, Task<T> (Engine::*apply)(const MutationPayload&));
  // A command for one key, which another shard has.
  Task<Result<ReadStatistics>> read_elsewhere(const ReadCommand& command, RowSink& sink, int64_t deadline);
  Task<Result<ReadStatistics>> read_copied(const ReadCommand* command, RowSink* sink, int64_t deadline);
  Task<Result<ReadStatistics>> read_keys(const ReadCommand* command, RowSink* sink, int64_t deadline);
  Task<Result<ReadStatistics>> read_range(const ReadCommand* command, RowSink* sink, int64_t deadline);
  Task<Result<ReadStatistics>> read_unfiltered_key(const ReadRequest* request, UnfilteredSink* sink, int64_t deadline);
  Task<Result<ReadStatistics>> read_virtual(VirtualTable* table, const ReadCommand* command, RowSink* sink);

  NodeShared& shared_;
  unsigned shard_;
  unsigned shard_count_;
  ReplicaStatistics statistics_;
  SchemaStore store_;
  VirtualTables virtual_tables_;
  TopologyStore topology_;
  DiskBoundaryManager disk_boundaries_;
};

}  // namespace cassandra_like
