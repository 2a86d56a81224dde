// Listeners and outgoing connections of one shard.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/asio/asio_connection.h"

namespace cassandra_like {

using AsioAcceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

// Which shards of this runtime listen where. Several shards share an address through SO_REUSEPORT, which would also
// let another process of the same user share it unnoticed: so the first shard binds once without it, to be refused.
class ListenRegistry {
 public:
  std::mutex mutex;
  std::map<SocketAddress, uint64_t> shards;  // bit i: shard i listens
};

// Accepts sockets until it is destroyed or its loop ends.
class AcceptLoop final : public LoopClient {
 public:
  using OnSocket = std::function<void(AsioSocket)>;
  AcceptLoop(AsioShard& shard, AsioAcceptor acceptor, OnSocket on_socket);
  void start() { accept(); }
  void close();
  void stop() override;

 private:
  void accept();
  void on_accept(const boost::system::error_code& error, AsioSocket socket);

  AsioShard& shard_;
  AsioAcceptor acceptor_;
  OnSocket on_socket_;
  bool pending_ = false;
  bool closed_ = false;
};

class AsioNetwork final : public Network {
 public:
  AsioNetwork(AsioShard& shard, std::shared_ptr<ListenRegistry> registry)
      : shard_(shard), registry_(std::move(registry)) {}

  Result<std::unique_ptr<Listener>> listen(const SocketAddress& address, Acceptor acceptor) override;
  Task<Status> connect(SocketAddress address, Acceptor on_connected) override;
  Result<std::unique_ptr<Listener>> serve_http(const SocketAddress& address, HttpHandler handler) override;

 private:
  Result<std::unique_ptr<Listener>> accept_on(const SocketAddress& address, AcceptLoop::OnSocket on_socket);

  AsioShard& shard_;
  std::shared_ptr<ListenRegistry> registry_;
};

// What serve_http does with each accepted socket.
AcceptLoop::OnSocket http_server(HttpHandler handler);

}  // namespace cassandra_like
