// A range of the ring over all shards of a node: each shard reads ahead so many bytes of its part, and the parts come
// together in ring order.
#pragma once

#include "runtime/runtime.h"
#include "storage/engine/engine.h"

namespace cassandra_like {

struct UnfilteredRangeRead {
  Runtime* runtime = nullptr;
  unsigned here = 0;             // the shard that asks, on which the sink is called
  std::vector<Engine*> engines;  // by shard
  const ReadRequest* request = nullptr;
  UnfilteredSink* sink = nullptr;
  int64_t deadline = kNoDeadline;
  size_t buffered_bytes = size_t{1} << 20;  // of all shards; a partition more for each shard
};

// Everything that it points to outlives the Task. Errors are those of Engine::read_unfiltered.
Task<Result<ReadStatistics>> read_unfiltered_range(UnfilteredRangeRead read);

}  // namespace cassandra_like
