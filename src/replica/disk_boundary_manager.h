// One shard's boundaries between data directories, by how a keyspace is replicated (db.DiskBoundaryManager). They change with the
// tokens of the ring, not with nodes that go down and come back. A start uses the saved ring (saved_ring.h).
#pragma once

#include <map>

#include "ring/topology.h"
#include "storage/table/disk_boundaries.h"

namespace cassandra_like {

class DiskBoundaryManager {
 public:
  // topology: null while the node does not know its tokens; then it divides the whole ring.
  const DiskBoundaries& of(const TopologyPtr& topology, const ReplicationParams& replication, size_t directories);

 private:
  std::shared_ptr<const TokenRing> ring_;
  std::map<StringPairs, DiskBoundaries> by_options_;
};

}  // namespace cassandra_like
