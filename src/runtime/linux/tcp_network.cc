#include "runtime/linux/tcp_network.h"

#include <netdb.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/log_quota.h"
#include "runtime/linux/os_error.h"
#include "runtime/linux/socket_address.h"

namespace cassandra_like {

namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds(10);
// When a process has no descriptor left, accepting at once again would only burn a core.
constexpr Duration kAcceptRetry = std::chrono::milliseconds(100);
constexpr int kAcceptsInARow = 64;

// Clients leave a quarter of the descriptors to files and to the admin port. The kernel gives the lowest number that is
// free, so a high one tells that few are left.
bool leaves_descriptors(const FileDescriptor& client) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  return static_cast<rlim_t>(client.get()) < limit.rlim_cur - limit.rlim_cur / 4;
}

void adopt(EpollShard& shard, FileDescriptor fd, const Acceptor& acceptor) {
  int number = fd.get();
  auto* connection = shard.add(std::make_unique<TcpConnection>(shard, std::move(fd)), number, TcpConnection::kEvents);
  connection->start(acceptor);
}

}  // namespace

// Level-triggered: what one round does not accept, the next will.
class AcceptLoop final : public Pollable {
 public:
  AcceptLoop(EpollShard& shard, FileDescriptor fd, Acceptor acceptor, std::shared_ptr<ListenRegistry> registry)
      : shard_(shard), fd_(std::move(fd)), acceptor_(std::move(acceptor)), registry_(std::move(registry)) {}

  void on_ready(uint32_t) override {
    for (int i = 0; i < kAcceptsInARow && fd_.valid(); ++i) {
      FileDescriptor accepted(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (accepted.valid() && !leaves_descriptors(accepted)) {
        accepted.reset();
        log_refusal();
      } else if (accepted.valid()) {
        if (spread_ == Spread::kAny) {
          adopt(shard_, std::move(accepted), acceptor_);
        } else {
          hand_over(std::move(accepted));
        }
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return;
      } else if (errno != ECONNABORTED && errno != EINTR) {
        return rest_a_while(errno);
      }
    }
  }

  // From now on the client's port chooses the shard. With the registry's mutex held.
  void spread_by_source_port(const SocketAddress& address) {
    spread_ = Spread::kBySourcePort;
    address_ = address;
    registry_->by_port[address][shard_.shard()] = this;
  }

  void close() {
    if (spread_ == Spread::kBySourcePort) {
      std::lock_guard lock(registry_->mutex);
      registry_->by_port[address_].erase(shard_.shard());
    }
    if (retry_ != 0) shard_.cancel(retry_);
    fd_.reset();
    shard_.remove(this);
  }

 private:
  // To the shard that the client chose, if that still accepts when the socket comes there.
  void hand_over(FileDescriptor fd) {
    const uint16_t port = remote_address_of(fd.get()).port;
    EpollShard* there = nullptr;
    {
      std::lock_guard lock(registry_->mutex);
      auto& loops = registry_->by_port[address_];
      there = &std::next(loops.begin(), static_cast<ptrdiff_t>(port % loops.size()))->second->shard_;
    }
    if (there == &shard_) return adopt(shard_, std::move(fd), acceptor_);
    auto take = [registry = registry_, address = address_, there, fd = std::move(fd)]() mutable {
      AcceptLoop* loop = nullptr;
      {
        std::lock_guard lock(registry->mutex);
        auto& loops = registry->by_port[address];
        if (auto it = loops.find(there->shard()); it != loops.end()) loop = it->second;
      }
      if (loop != nullptr) adopt(*there, std::move(fd), loop->acceptor_);
    };
    there->post(std::move(take));
  }

  void log_refusal() {
    if (auto more = failures_.take(steady_nanos())) {
      LOG_WARN(
          "A client of {} was refused, since three quarters of the descriptors are in use: raise the limit of open "
          "files (ulimit -n){}",
          local_address_of(fd_.get()).to_string(), *more);
    }
  }

  void rest_a_while(int error_number) {
    if (auto more = failures_.take(steady_nanos())) {
      LOG_WARN("{}{}", os_error("accept on", local_address_of(fd_.get()).to_string(), error_number).message(), *more);
    }
    shard_.change_events(this, fd_.get(), 0);
    retry_ = shard_.schedule(kAcceptRetry, [this] {
      retry_ = 0;
      shard_.change_events(this, fd_.get(), EPOLLIN);
    });
  }

  EpollShard& shard_;
  FileDescriptor fd_;
  Acceptor acceptor_;
  std::shared_ptr<ListenRegistry> registry_;
  Spread spread_ = Spread::kAny;
  SocketAddress address_;
  TimerId retry_ = 0;
  LogQuota failures_{1};
};

namespace {

class TcpListener final : public Listener {
 public:
  TcpListener(EpollShard& shard, AcceptLoop* loop, SocketAddress address, std::shared_ptr<ListenRegistry> registry)
      : shard_(shard), loop_(loop), address_(std::move(address)), registry_(std::move(registry)) {}
  ~TcpListener() override {
    // After the loop has ended, the shard has already destroyed it.
    if (shard_.is_current()) loop_->close();
    std::lock_guard lock(registry_->mutex);
    registry_->shards[address_] &= ~(uint64_t{1} << shard_.shard());
  }
  uint16_t port() const override { return address_.port; }

 private:
  EpollShard& shard_;
  AcceptLoop* loop_;
  SocketAddress address_;
  std::shared_ptr<ListenRegistry> registry_;
};

// An attempt to connect; lives in the shard until it succeeds, fails or takes too long.
class Connecting final : public Pollable {
 public:
  Connecting(EpollShard& shard, FileDescriptor fd, Promise<int>* done)
      : shard_(shard), fd_(std::move(fd)), done_(done) {
    timeout_ = shard_.schedule(kConnectTimeout, [this] {
      timeout_ = 0;
      complete(ETIMEDOUT);
    });
  }
  ~Connecting() override = default;

  void on_ready(uint32_t) override {
    if (done_ == nullptr) return;
    int error_number = 0;
    socklen_t size = sizeof error_number;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error_number, &size) != 0) error_number = errno;
    complete(error_number);
  }
  // Valid while done is being set.
  FileDescriptor take_socket() { return std::move(fd_); }

 private:
  void complete(int error_number) {
    if (timeout_ != 0) shard_.cancel(timeout_);
    // The socket is registered for this attempt: the connection registers it anew.
    shard_.forget(fd_.get());
    Promise<int>* done = std::exchange(done_, nullptr);
    shard_.remove(this);
    done->set(error_number);
  }

  EpollShard& shard_;
  FileDescriptor fd_;
  Promise<int>* done_;
  TimerId timeout_ = 0;
};

Task<Status> connect_on(EpollShard* shard, SocketAddress address, Acceptor on_connected) {
  auto os_address = to_os_address(address);
  if (!os_address.ok()) co_return std::move(os_address.error());
  FileDescriptor fd = open_tcp_socket(os_address->family());
  int error_number = fd.valid() ? 0 : errno;
  if (fd.valid() && ::connect(fd.get(), os_address->get(), os_address->size) != 0) error_number = errno;
  if (error_number == EINPROGRESS) {
    Promise<int> done;
    int number = fd.get();
    auto attempt = std::make_unique<Connecting>(*shard, std::move(fd), &done);
    Connecting* connecting = shard->add(std::move(attempt), number, EPOLLOUT);
    error_number = co_await done;
    fd = connecting->take_socket();
  }
  if (error_number != 0) co_return os_error("connect to", address.to_string(), error_number);
  adopt(*shard, std::move(fd), on_connected);
  co_return Status();
}

}  // namespace

std::string resolve_host(const std::string& name) {
  for (int family : {AF_INET, AF_INET6}) {
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_family = family;
    wanted.ai_socktype = SOCK_STREAM;
    if (name.empty() || ::getaddrinfo(name.c_str(), nullptr, &wanted, &found) != 0) continue;
    char text[NI_MAXHOST];
    const int failed = ::getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    ::freeaddrinfo(found);
    if (failed == 0) return text;
  }
  return {};
}

Result<FileDescriptor> open_listening_socket(const SocketAddress& address, Sharing sharing) {
  auto os_address = to_os_address(address);
  if (!os_address.ok()) return std::move(os_address.error());
  FileDescriptor fd = open_tcp_socket(os_address->family());
  auto set = [&fd](int option) {
    const int on = 1;
    return ::setsockopt(fd.get(), SOL_SOCKET, option, &on, sizeof on) == 0;
  };
  const bool listens = fd.valid() && set(SO_REUSEADDR) && (sharing != Sharing::kJoins || set(SO_REUSEPORT)) &&
                       ::bind(fd.get(), os_address->get(), os_address->size) == 0 &&
                       ::listen(fd.get(), SOMAXCONN) == 0 && (sharing != Sharing::kOpens || set(SO_REUSEPORT));
  if (!listens) return os_error("listen on", address.to_string(), errno);
  return fd;
}

Result<std::unique_ptr<Listener>> TcpNetwork::listen(const SocketAddress& address, Acceptor acceptor, Spread spread) {
  const uint64_t mine = uint64_t{1} << shard_.shard();
  std::lock_guard lock(registry_->mutex);
  uint64_t listening = address.port == 0 ? 0 : registry_->shards[address];
  if ((listening & mine) != 0) return os_error("listen on", address.to_string(), EADDRINUSE);
  ASSIGN_OR_RETURN(FileDescriptor fd,
                   open_listening_socket(address, listening == 0 ? Sharing::kOpens : Sharing::kJoins));

  int number = fd.get();
  SocketAddress bound{address.host, local_address_of(number).port};
  registry_->shards[bound] |= mine;
  auto loop = std::make_unique<AcceptLoop>(shard_, std::move(fd), std::move(acceptor), registry_);
  if (spread == Spread::kBySourcePort) loop->spread_by_source_port(bound);
  AcceptLoop* started = shard_.add(std::move(loop), number, EPOLLIN);
  return std::unique_ptr<Listener>(std::make_unique<TcpListener>(shard_, started, std::move(bound), registry_));
}

Task<Status> TcpNetwork::connect(SocketAddress address, Acceptor on_connected) {
  return connect_on(&shard_, std::move(address), std::move(on_connected));
}

}  // namespace cassandra_like
