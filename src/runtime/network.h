// Byte streams between addresses. Push, not pull: a handler is called with what has arrived, so that one read and one
// write serve every request that was in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "runtime/executor.h"

namespace cassandra_like {

struct SocketAddress {
  std::string host;  // a numeric IPv4 or IPv6 address
  uint16_t port = 0;

  auto operator<=>(const SocketAddress&) const = default;
  std::string to_string() const;  // 127.0.0.1:9042, [::1]:9042
};

// One end of an open stream. All calls and all handler calls happen on the shard that owns it.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual SocketAddress local_address() const = 0;
  virtual SocketAddress remote_address() const = 0;

  // The buffer that waits to be sent. Append to it; within on_received() it is sent when that returns, elsewhere after
  // flush(). So all answers of one read leave in one system call. If on_received() gave work to other shards it may be
  // sent with the next flush(), about a millisecond later at most: a part of the answers is still to come then.
  virtual Bytes& output() = 0;
  virtual void flush() = 0;
  // Bytes that output() and the operating system's refusal hold back: a client that does not read makes it grow.
  virtual size_t unsent() const = 0;
  // Stops and resumes calls of on_received(); bytes that it left unconsumed are offered again on resume.
  virtual void pause() = 0;
  virtual void resume() = 0;
  // Sends what output() holds, then closes; on_closed() is called once, later. close_now() drops it.
  virtual void close() = 0;
  virtual void close_now() = 0;
  // The connection ends when bytes that were sent have not been acknowledged for so long (TCP_USER_TIMEOUT). Zero: the
  // operating system decides, which may take a quarter of an hour.
  virtual void set_user_timeout(Duration /*timeout*/) {}
};

class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  // Called with every byte not yet consumed; returns how many it consumed. The view is valid during the call.
  virtual size_t on_received(BytesView data) = 0;
  // After this call the Connection no longer exists, and the runtime drops its reference to the handler.
  virtual void on_closed(const Status& reason) = 0;
  // unsent() fell to zero after a write could not be completed at once.
  virtual void on_drained() {}
};

// Given a fresh connection, returns its handler (nullptr refuses it). The Connection outlives the handler's
// on_closed().
using Acceptor = std::function<std::shared_ptr<ConnectionHandler>(Connection&)>;

class Listener {
 public:
  virtual ~Listener() = default;  // stops accepting; open connections live on
  virtual uint16_t port() const = 0;
};

// HTTP/1.1 for the admin port; bodies are whole strings.
struct HttpRequest {
  std::string method;
  std::string path;   // without the query
  std::string query;  // raw, without '?'
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  // The first header with this name in lower case.
  bool has(std::string_view name) const;
  const std::string& header(std::string_view name) const;  // empty when there is none
};
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};
using HttpHandler = std::function<Task<HttpResponse>(HttpRequest)>;

// The shard that gets a connection, among those that listen on an address: any, or the one whose number is the client's
// port modulo the number of shards (so that clients can choose).
enum class Spread { kAny, kBySourcePort };

// A shard's view of the network.
class Network {
 public:
  virtual ~Network() = default;
  // Accepts on this shard. Several shards may listen on the same address, all in the same way; connections are spread over
  // them. Fails with kIo naming the address when it is in use or not ours.
  virtual Result<std::unique_ptr<Listener>> listen(const SocketAddress& address, Acceptor acceptor,
                                                   Spread spread = Spread::kAny) = 0;
  virtual Task<Status> connect(SocketAddress address, Acceptor on_connected) = 0;
  virtual Result<std::unique_ptr<Listener>> serve_http(const SocketAddress& address, HttpHandler handler) = 0;
};

}  // namespace cassandra_like
