// This node as a replica, seen from one shard: answers verbs by finding the shard that owns a token and calling its
// Engine, there at once or here after one hop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "messaging/verbs.h"
#include "ring/topology.h"
#include "runtime/runtime.h"
#include "schema/local_state.h"
#include "schema/schema_store.h"
#include "schema/virtual_table.h"
#include "storage/engine/maintenance.h"
#include "storage/engine/prefetch_key.h"

namespace cassandra_like {

class Engine;

// Reads and writes by key that this shard was asked for: whether it owned the keys or had to ask the shard that does.
struct ReplicaStatistics {
  uint64_t local = 0;
  uint64_t forwarded = 0;
};

class Replica : public Verbs {
 public:
  virtual SchemaStore& schema() = 0;
  // Engine::prefetch(), of those that this shard owns or finds asleep.
  virtual void prefetch(std::span<const PrefetchKey> partitions) = 0;
  virtual VirtualTables& virtual_tables() = 0;
  virtual Engine& engine() = 0;  // of this shard
  Maintenance& maintenance();    // of that engine
  virtual const LocalNode& local_node() const = 0;
  virtual TopologyStore& topology() = 0;  // of this shard
  virtual const ReplicaStatistics& statistics() const = 0;
  // Runs on every shard, answers in shard order; the first error wins.
  virtual Task<Status> on_every_engine(std::function<Task<Status>(Engine&)> work) = 0;
  // One TableStatistics a shard.
  virtual Task<std::vector<TableStatistics>> table_statistics(Uuid table) = 0;
  virtual Task<std::vector<EngineStatistics>> engine_statistics() = 0;
  // Rebuilds an index on every shard and marks it built in system."IndexInfo".
  virtual Task<Status> build_index(TablePtr table, std::string index) = 0;
};

}  // namespace cassandra_like
