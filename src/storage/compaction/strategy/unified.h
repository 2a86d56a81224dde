// The parts of UnifiedCompactionStrategy's Controller that others use.
#pragma once

#include "storage/compaction/strategy/candidates.h"

namespace cassandra_like {

// Into how many shares a shard's ring is cut for SSTables of this density: bytes in all of the shard's ring
// (Controller.getNumShards).
uint32_t unified_shard_count(const UnifiedOptions& options, double density);
// How the outputs of a compaction of these SSTables are cut.
OutputLimits unified_limits(const CompactionView& view, const UnifiedOptions& options, const Candidates& inputs);

}  // namespace cassandra_like
