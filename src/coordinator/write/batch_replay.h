// The mutations of a logged batch that was interrupted, to all their replicas (db.batchlog.BatchlogManager.ReplayingBatch).
#pragma once

#include "coordinator/write/replicated_writes.h"

namespace cassandra_like {

// See ReplicatedWrites::replay. Hints are kept whatever their window says: without them the batch would stay half done.
Task<Status> replay_batch(RequestContext* context, std::vector<ReplayedMutation> mutations, int64_t written_millis);

}  // namespace cassandra_like
