// The logged batches that a Cassandra has left in SSTables.
//
// Its system.batches is the one table whose partitions are in the order of their keys (LocalPartitioner), and not of their tokens.
// So each SSTable of it that a Cassandra wrote is written anew at the start, by a scrub, which puts partitions in order.
#pragma once

#include "runtime/executor.h"
#include "storage/options.h"
#include "storage/table/table_store.h"

namespace cassandra_like {

// Before an engine opens. table: system.batches. An error names the SSTable that cannot be read, and leaves it as it is.
Task<Status> put_batches_in_order(ShardRuntime* runtime, EngineOptions options, TablePtr table);

}  // namespace cassandra_like
