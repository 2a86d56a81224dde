// The replicas of all shards of one node: opened together, closed together.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "replica/replica_impl.h"

namespace cassandra_like {

struct InternalRow;

class ShardedReplica {
 public:
  // Loads the schema and the local node's identity (or makes them at the first start), replays the commit log, opens all
  // tables. Runs on shard 0; engines are one per shard, not yet started.
  static Task<Result<std::unique_ptr<ShardedReplica>>> open(Runtime* runtime, EngineOptions options, LocalNode node,
                                                            size_t num_tokens);
  Replica& shard(unsigned i) { return *shared_.replicas[i]; }
  // A node that was opened without tokens keeps these from now on.
  Task<Status> take_tokens(std::vector<Token> tokens);
  // Flushes and closes everything.
  Task<Status> drain();
  // Stops without flushing.
  Task<void> stop();

 private:
  ShardedReplica(Runtime& runtime, EngineOptions options, LocalNode node);
  Task<Status> open(size_t num_tokens);
  SchemaNode schema_node();
  Executor& home() { return shared_.runtime.shard(0).executor; }
  Task<Status> use_topology(TopologyPtr topology);
  Task<Status> on_every_shard(std::function<Task<Status>(unsigned)> work);
  Task<Status> create_engines();
  Task<Status> use_schema(SchemaPtr schema);
  Task<Status> replay(bool system_only, TruncationRecords truncated);
  Task<Result<std::vector<InternalRow>>> read_table(std::string keyspace, std::string table);
  Task<Status> note_timestamps();
  Task<Status> adopt_identity(const SavedLocalState* saved, size_t num_tokens);
  Task<Status> save_local();
  Task<Status> write(std::vector<PartitionUpdate> updates);
  Task<Status> save_version(Uuid version);
  Task<Status> save_built_indexes(bool built);
  Task<Status> retire_foreign_segments();
  void flush_schema_soon();
  Task<void> flush_schema();
  Task<void> end_schema_flushes();
  const SchemaPtr& schema() { return shared_.replicas[0]->schema().current(); }
  int64_t now_micros() { return shared_.runtime.shard(0).clock.wall_micros(); }
  int64_t next_timestamp() { return shared_.timestamps.next(now_micros()); }

  NodeShared shared_;
  std::optional<TimerId> schema_flush_;  // the next one
  Gate schema_flushes_;                  // those that run
};

}  // namespace cassandra_like
