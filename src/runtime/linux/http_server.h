// HTTP/1.1 for the admin port, with Boost.Asio and Boost.Beast on a thread of its own: parsing, slow clients and large
// answers never hold up a shard. Handlers run on the shard that serves.
#pragma once

#include <memory>

#include "runtime/linux/epoll_shard.h"
#include "runtime/network.h"

namespace cassandra_like {

class HttpServer {
 public:
  HttpServer();
  ~HttpServer();
  // Once, before serve(). kConfigError when the system gives no thread.
  Status start();
  // Called on the shard.
  Result<std::unique_ptr<Listener>> serve(EpollShard& shard, const SocketAddress& address, HttpHandler handler);
  // Ends the thread; sessions live until nothing refers to them.
  void stop();

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace cassandra_like
