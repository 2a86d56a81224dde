// Everything of the world that a node may use. The node receives it in its constructor and uses nothing else.
#pragma once

#include <memory>

#include "runtime/blocking.h"
#include "runtime/disk.h"
#include "runtime/executor.h"
#include "runtime/network.h"

namespace cassandra_like {

// The services of one shard; valid for the Runtime's life. Only `executor.post` may be called from another shard.
struct ShardRuntime {
  Executor& executor;
  Clock& clock;
  Network& network;
  Disk& disk;
  Random& random;
  Blocking& blocking;
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual unsigned shard_count() const = 0;
  virtual ShardRuntime& shard(unsigned i) = 0;
};

}  // namespace cassandra_like
