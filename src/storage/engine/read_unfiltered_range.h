// A range of the ring over all shards of a node: each shard reads ahead its share of ReadRequest::read_ahead, and the parts
// come together in ring order. A partition that has more bytes stays where it is: when its place comes, its shard writes it
// to the sink, while the one that asks waits.
#pragma once

#include "runtime/runtime.h"
#include "storage/engine/engine.h"

namespace cassandra_like {

struct UnfilteredRangeRead {
  Runtime* runtime = nullptr;
  unsigned here = 0;             // the shard that asks
  std::vector<Engine*> engines;  // by shard
  const ReadRequest* request = nullptr;
  UnfilteredSink* sink = nullptr;
  int64_t deadline = kNoDeadline;
};

// Everything that it points to outlives the Task. The sink is called on one shard after the other. Errors are those of
// Engine::read_unfiltered.
Task<Result<ReadStatistics>> read_unfiltered_range(UnfilteredRangeRead read);

}  // namespace cassandra_like
