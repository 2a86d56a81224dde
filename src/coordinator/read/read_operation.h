// One read of a client while it runs: what its parts share.
#pragma once

#include "coordinator/read/fetch.h"
#include "coordinator/read/repair_writes.h"
#include "coordinator/read/row_feeder.h"

namespace cassandra_like {

// A question asks for no more rows at once.
inline constexpr uint64_t kRowsAtOnce = 10'000;
// This node's own part of a range is read ahead so far.
inline constexpr size_t kLocalBytesOfRange = size_t{1} << 20;

struct ReadOperation {
  ReadOperation(FetchPool& p, const ReadCommand& c, Consistency level, RowSink& sink)
      : pool(p), command(c), consistency(level), cluster(p.context.cluster), feeder(c, sink) {}

  Placement placement() const { return {*cluster->topology, *replicas}; }
  bool repairs() const { return command.table->params.read_repair == "BLOCKING"; }

  FetchPool& pool;
  const ReadCommand& command;
  const Consistency consistency;
  const ClusterSnapshotPtr cluster;
  std::shared_ptr<const KeyspaceReplicas> replicas;
  RowFeeder feeder;
  int64_t deadline = 0;
  int64_t additional_write_micros = 0;                    // after so long another replica gets the writes of a repair
  std::vector<std::shared_ptr<RepairWrites>> unfinished;  // the client waits for them
  uint64_t tombstones = 0;
};

}  // namespace cassandra_like
