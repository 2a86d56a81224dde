// The real world: one thread a shard that waits in epoll, sockets, files, up to eight threads that wait for syncs, two for what
// takes long, and one that serves HTTP with Boost.Asio.
#pragma once

#include <memory>

#include "runtime/runtime.h"

namespace cassandra_like {

class LinuxRuntime : public Runtime {
 public:
  // 1 to 64 shards. Threads start in start() and end in stop(); stop() may be called once, from outside the shards.
  static std::unique_ptr<LinuxRuntime> create(unsigned shards);
  virtual void start() = 0;
  virtual void stop() = 0;
};

}  // namespace cassandra_like
