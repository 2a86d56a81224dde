#include "runtime/asio/asio_network.h"

#include <sys/socket.h>

#include <boost/asio/ip/address.hpp>
#include <utility>

#include "base/log.h"
#include "runtime/asio/os_error.h"

namespace cassandra_like {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds(10);
// When a process has no descriptor left, accepting at once again would only burn a core.
constexpr Duration kAcceptRetry = std::chrono::milliseconds(100);

Result<tcp::endpoint> parse(const SocketAddress& address) {
  error_code error;
  auto host = asio::ip::make_address(address.host, error);
  if (error) return Error(ErrorCode::kIo, "'" + address.host + "' is not a numeric IP address");
  return tcp::endpoint(host, address.port);
}

// Opens, binds and listens.
error_code open_acceptor(AsioAcceptor& acceptor, const tcp::endpoint& endpoint, bool reuse_port) {
  error_code error;
  if (acceptor.open(endpoint.protocol(), error); error) return error;
  if (acceptor.set_option(asio::socket_base::reuse_address(true), error); error) return error;
  if (int on = 1; reuse_port && ::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
    return error_code(errno, boost::system::system_category());
  }
  if (acceptor.bind(endpoint, error); error) return error;
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  return error;
}

class AsioListener final : public Listener {
 public:
  AsioListener(AsioShard& shard, AcceptLoop* loop, SocketAddress address, std::shared_ptr<ListenRegistry> registry)
      : shard_(shard), loop_(loop), address_(std::move(address)), registry_(std::move(registry)) {}
  ~AsioListener() override {
    {
      std::lock_guard lock(registry_->mutex);
      registry_->shards[address_] &= ~(uint64_t{1} << shard_.shard());
    }
    // After the loop has ended, the shard has already destroyed it.
    if (shard_.is_current()) loop_->close();
  }
  uint16_t port() const override { return address_.port; }

 private:
  AsioShard& shard_;
  AcceptLoop* loop_;
  SocketAddress address_;
  std::shared_ptr<ListenRegistry> registry_;
};

}  // namespace

AcceptLoop::AcceptLoop(AsioShard& shard, AsioAcceptor acceptor, OnSocket on_socket)
    : shard_(shard), acceptor_(std::move(acceptor)), on_socket_(std::move(on_socket)) {}

void AcceptLoop::accept() {
  pending_ = true;
  acceptor_.async_accept([this](const error_code& error, AsioSocket socket) { on_accept(error, std::move(socket)); });
}

void AcceptLoop::on_accept(const error_code& error, AsioSocket socket) {
  pending_ = false;
  if (closed_) return shard_.remove_client(this);
  if (!error) {
    on_socket_(std::move(socket));
    if (closed_) return shard_.remove_client(this);
    return accept();
  }
  if (error == asio::error::connection_aborted) return accept();
  LOG_WARN("Cannot accept a connection: {}", error.message());
  pending_ = true;
  shard_.schedule(kAcceptRetry, [this] {
    pending_ = false;
    if (closed_) return shard_.remove_client(this);
    accept();
  });
}

void AcceptLoop::close() {
  if (closed_) return;
  closed_ = true;
  error_code ignored;
  acceptor_.close(ignored);
}

void AcceptLoop::stop() {
  closed_ = true;
  error_code ignored;
  acceptor_.close(ignored);
}

Result<std::unique_ptr<Listener>> AsioNetwork::accept_on(const SocketAddress& address, AcceptLoop::OnSocket on_socket) {
  ASSIGN_OR_RETURN(tcp::endpoint endpoint, parse(address));
  auto refused = [&](const error_code& e) { return os_error("listen on", address.to_string(), e.value()); };
  const uint64_t mine = uint64_t{1} << shard_.shard();

  std::lock_guard lock(registry_->mutex);
  uint64_t listening = endpoint.port() == 0 ? 0 : registry_->shards[address];
  if ((listening & mine) != 0) return refused(asio::error::address_in_use);
  if (listening == 0) {
    AsioAcceptor probe(shard_.context());
    if (error_code error = open_acceptor(probe, endpoint, false)) return refused(error);
  }
  AsioAcceptor acceptor(shard_.context());
  if (error_code error = open_acceptor(acceptor, endpoint, true)) return refused(error);
  SocketAddress bound{address.host, acceptor.local_endpoint().port()};
  registry_->shards[bound] |= mine;

  auto loop = std::make_unique<AcceptLoop>(shard_, std::move(acceptor), std::move(on_socket));
  AcceptLoop* started = loop.get();
  shard_.add_client(std::move(loop));
  started->start();
  return std::unique_ptr<Listener>(std::make_unique<AsioListener>(shard_, started, std::move(bound), registry_));
}

namespace {

void adopt(AsioShard& shard, AsioSocket socket, const Acceptor& acceptor) {
  auto connection = std::make_unique<AsioConnection>(shard, std::move(socket));
  AsioConnection* started = connection.get();
  shard.add_client(std::move(connection));
  started->start(acceptor);
}

struct Connecting {
  AsioSocket socket;
  Promise<Status> done;
};

Task<Status> connect_on(AsioShard* shard, SocketAddress address, Acceptor on_connected) {
  auto endpoint = parse(address);
  if (!endpoint.ok()) co_return std::move(endpoint.error());
  Connecting c{.socket = AsioSocket(shard->context()), .done = {}};
  bool timed_out = false;
  TimerId timer = shard->schedule(kConnectTimeout, [&c, &timed_out] {
    timed_out = true;
    error_code ignored;
    c.socket.close(ignored);
  });
  c.socket.async_connect(*endpoint, [&c, &address, &timed_out](const error_code& error) {
    int code = timed_out ? ETIMEDOUT : error.value();
    c.done.set(error ? Status(os_error("connect to", address.to_string(), code)) : Status());
  });
  Status status = co_await c.done;
  shard->cancel(timer);
  if (status.ok()) adopt(*shard, std::move(c.socket), on_connected);
  co_return status;
}

}  // namespace

Result<std::unique_ptr<Listener>> AsioNetwork::listen(const SocketAddress& address, Acceptor acceptor) {
  AsioShard* shard = &shard_;
  return accept_on(address, [shard, acceptor = std::move(acceptor)](AsioSocket socket) {
    adopt(*shard, std::move(socket), acceptor);
  });
}

Task<Status> AsioNetwork::connect(SocketAddress address, Acceptor on_connected) {
  return connect_on(&shard_, std::move(address), std::move(on_connected));
}

Result<std::unique_ptr<Listener>> AsioNetwork::serve_http(const SocketAddress& address, HttpHandler handler) {
  return accept_on(address, http_server(std::move(handler)));
}

}  // namespace cassandra_like
