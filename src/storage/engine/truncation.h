// TRUNCATE removes SSTables, and writes that a replay of the commit log must not bring back.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "storage/commit_log_position.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

// The SSTables of a table and of its indexes, by TableStore::directory; true: of an index. The table comes first.
using TruncatedSSTables = std::map<std::pair<bool, std::string>, std::vector<SSTableDescriptor>>;

// How far a TRUNCATE came on the disk.
struct TruncationCommit {
  Status status;
  std::vector<SSTableDescriptor> gone;  // they are void
};

// Writes logged before these positions are void (TRUNCATE). Every shard has a log of its own, so each has its own
// position, which Maintenance::end_truncation() returned there; position alone is Cassandra's record, and stands in for shards whose own is
// not known. (Ids of segments grow over starts, but the shards' segments of one start interleave.)
struct TruncationRecord {
  int64_t truncated_at_millis = 0;
  CommitLogPosition position;
  std::vector<CommitLogPosition> of_shards;  // as many as there were shards
};
using TruncationRecords = std::map<Uuid, TruncationRecord>;

}  // namespace cassandra_like
