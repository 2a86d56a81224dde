// Listeners and outgoing connections of one shard.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "runtime/linux/http_server.h"
#include "runtime/linux/tcp_connection.h"

namespace cassandra_like {

// The addresses that the shards of this runtime listen on. Several shards share an address through SO_REUSEPORT, which
// would also let another process of the same user share it unnoticed: see Sharing.
class ListenRegistry {
 public:
  std::mutex mutex;
  std::map<SocketAddress, uint64_t> shards;  // bit i: shard i listens
  // Where the client's port chooses the shard: what accepts there, by shard. Whoever accepted hands the socket over.
  std::map<SocketAddress, std::map<unsigned, class AcceptLoop*>> by_port;
};

class TcpNetwork final : public Network {
 public:
  TcpNetwork(EpollShard& shard, std::shared_ptr<ListenRegistry> registry, HttpServer& http)
      : shard_(shard), registry_(std::move(registry)), http_(http) {}

  Result<std::unique_ptr<Listener>> listen(const SocketAddress& address, Acceptor acceptor, Spread spread) override;
  Task<Status> connect(SocketAddress address, Acceptor on_connected) override;
  Result<std::unique_ptr<Listener>> serve_http(const SocketAddress& address, HttpHandler handler) override {
    return http_.serve(shard_, address, std::move(handler));
  }

 private:
  EpollShard& shard_;
  std::shared_ptr<ListenRegistry> registry_;
  HttpServer& http_;
};

// The address of a host name, of IPv4 if it has one; empty when nobody knows it.
std::string resolve_host(const std::string& name);

// Says whether sockets may have the same address. The first socket of a process has the address alone until it listens,
// and then lets the others in. So it fails when another process listens there, even one that would share the address.
// When two processes begin at the same moment, one or both fail.
enum class Sharing { kNone, kOpens, kJoins };
// A bound socket that listens; the error names the address.
Result<FileDescriptor> open_listening_socket(const SocketAddress& address, Sharing sharing);

}  // namespace cassandra_like
