// Everything of the world that a node may use. The node receives it in its constructor and uses nothing else.
#pragma once

#include <limits>
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
  // How many the process may have, for connections, files and all else.
  virtual uint64_t descriptors() const { return std::numeric_limits<uint64_t>::max(); }
};

}  // namespace cassandra_like
