// The writes that TRUNCATE removed, for the replay of the commit log.
#pragma once

#include <map>
#include <vector>

#include "base/uuid.h"
#include "storage/commit_log_position.h"

namespace cassandra_like {

// Writes logged before these positions are void (TRUNCATE). Every shard has a log of its own, so each has its own
// position, which Maintenance::truncate() returned there; position alone is Cassandra's record, and stands in for shards whose own is
// not known. (Ids of segments grow over starts, but the shards' segments of one start interleave.)
struct TruncationRecord {
  int64_t truncated_at_millis = 0;
  CommitLogPosition position;
  std::vector<CommitLogPosition> of_shards;  // as many as there were shards
};
using TruncationRecords = std::map<Uuid, TruncationRecord>;

}  // namespace cassandra_like
