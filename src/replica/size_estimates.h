// system.size_estimates and system.table_estimates: for each table and each primary range of this node about how many
// partitions it holds and how large they are. Spark and other readers of whole tables cut their work by them.
//
// The numbers are those of Cassandra's SizeEstimatesRecorder: SSTables alone count, a range that wraps around the ring is two
// rows, and system tables that every node keeps for itself have none. Rows that did not change are not written again, and rows
// of tables that are gone are removed, so the two tables do not grow with time. The memory of the work is for one table's rows.
#pragma once

#include <string>
#include <vector>

#include "replica/replica.h"
#include "runtime/runtime.h"

namespace cassandra_like {

// Brings both tables up to date. Runs on shard 0; the replicas are all shards' and outlive the Task.
Task<Status> record_size_estimates(Runtime* runtime, std::vector<Replica*> replicas);

// Removes the rows of a dropped table, or of a whole keyspace when `table` is empty.
Task<Status> forget_size_estimates(Replica* replica, std::string keyspace, std::string table, int64_t now_micros);

}  // namespace cassandra_like
