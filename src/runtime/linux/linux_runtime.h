// The real world: one thread a shard that waits in epoll, sockets, files, up to eight threads that wait for syncs, up to 32
// for reads, two for what takes long, and one that serves HTTP with Boost.Asio.
#pragma once

#include <memory>

#include "runtime/runtime.h"

namespace cassandra_like {

class LinuxRuntime final : public Runtime {
 public:
  // 1 to 64 shards. Threads start in start() and end in stop(); stop() may be called once, from outside the shards, and the
  // destructor calls it. start(): kConfigError when the system gives no thread for a shard, for a pool or for HTTP; it cannot be
  // started again then.
  explicit LinuxRuntime(unsigned shards);
  ~LinuxRuntime() override;

  unsigned shard_count() const override;
  ShardRuntime& shard(unsigned i) override;
  uint64_t descriptors() const override;
  Status start();
  void stop();

 private:
  struct Parts;  // their headers stay out of this one: Asio's is among them
  std::unique_ptr<Parts> parts_;
  bool started_ = false;
  bool stopped_ = false;
};

}  // namespace cassandra_like
