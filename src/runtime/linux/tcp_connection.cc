#include "runtime/linux/tcp_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/result.h"
#include "runtime/linux/socket_address.h"

namespace cassandra_like {

namespace {

constexpr size_t kSmallestBuffer = 4 * 1024;
constexpr size_t kKeptOutput = 256 * 1024;
constexpr int kReadsInARow = 4;
constexpr size_t kHeldOutput = 16 * 1024;  // more is worth a send of its own
constexpr Duration kLongestHold = std::chrono::milliseconds(1);
constexpr Duration kLinger = std::chrono::seconds(10);

Error connection_error(const char* doing, int error_number) {
  return Error(ErrorCode::kClosed, std::string(doing) + ": " + std::strerror(error_number));
}

void set_option(int fd, int level, int name) {
  int on = 1;
  ::setsockopt(fd, level, name, &on, sizeof on);
}

}  // namespace

// Writability is of interest only while waiting_, but asking for it from the start saves asking for it then.
const uint32_t TcpConnection::kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

TcpConnection::TcpConnection(EpollShard& shard, FileDescriptor fd) : shard_(shard), fd_(std::move(fd)) {
  set_option(fd_.get(), IPPROTO_TCP, TCP_NODELAY);
  set_option(fd_.get(), SOL_SOCKET, SO_KEEPALIVE);
}

void TcpConnection::set_user_timeout(Duration timeout) {
  const auto millis = static_cast<unsigned>(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count());
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &millis, sizeof millis);
}

SocketAddress TcpConnection::local_address() const { return local_address_of(fd_.get()); }
SocketAddress TcpConnection::remote_address() const { return remote_address_of(fd_.get()); }

void TcpConnection::start(const Acceptor& acceptor) {
  handler_ = acceptor(*this);
  if (handler_ == nullptr) close_now();
}

void TcpConnection::on_ready(uint32_t events) {
  if (closed_) return;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    readable_ = true;
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) hung_up_ = true;
    read_available();
  }
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0 && waiting_ && !closed_) {
    waiting_ = false;
    push_output();
    if (waiting_ || closed_ || handler_ == nullptr) return;
    handler_->on_drained();
    flush();
  }
}

// ---- reading

void TcpConnection::read_available() {
  for (int i = 0; i < kReadsInARow; ++i) {
    if (!readable_ || paused_ || closing_ || closed_) return;
    if (!read_once()) return;
  }
  continue_later();
}

bool TcpConnection::read_once() {
  const uint64_t posted = shard_.posted_to_others();
  if (begin_ == end_) {
    char* data = shard_.read_buffer();
    ssize_t n = ::recv(fd_.get(), data, EpollShard::kReadBuffer, 0);
    if (n <= 0) return receive_failed(n);
    auto size = static_cast<size_t>(n);
    readable_ = size == EpollShard::kReadBuffer || hung_up_;
    size_t consumed = offer(BytesView(data, size));
    if (closed_) return false;
    keep(BytesView(data + consumed, size - consumed));
  } else {
    make_room();
    size_t room = capacity_ - end_;
    ssize_t n = ::recv(fd_.get(), buffer_.get() + end_, room, 0);
    if (n <= 0) return receive_failed(n);
    readable_ = static_cast<size_t>(n) == room || hung_up_;
    end_ += static_cast<size_t>(n);
    offer_own();
    if (closed_) return false;
  }
  if (shard_.posted_to_others() != posted) {
    hold_output();
  } else {
    push_output();
  }
  return true;
}

bool TcpConnection::receive_failed(ssize_t result) {
  if (result < 0 && errno == EINTR) return true;
  readable_ = false;
  if (result == 0) {
    finish(Status());
  } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
    finish(connection_error("receive", errno));
  } else {
    hung_up_ = false;
  }
  return false;
}

size_t TcpConnection::offer(BytesView data) {
  delivering_ = true;
  size_t consumed = handler_->on_received(data);
  delivering_ = false;
  CHECK(consumed <= data.size());
  return consumed;
}

void TcpConnection::offer_own() {
  active_ = true;
  begin_ += offer(BytesView(buffer_.get() + begin_, end_ - begin_));
  if (begin_ == end_) begin_ = end_ = 0;
}

// Copies what the handler left of the shard's buffer.
void TcpConnection::keep(BytesView rest) {
  if (rest.empty()) return;
  active_ = true;
  if (capacity_ < rest.size() + 1) {
    capacity_ = std::max(kSmallestBuffer, std::bit_ceil(rest.size() + 1));
    buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
  }
  std::memcpy(buffer_.get(), rest.data(), rest.size());
  begin_ = 0;
  end_ = rest.size();
}

// A frame that does not fit makes the buffer twice as large; one that does is moved to the front.
void TcpConnection::make_room() {
  size_t unconsumed = end_ - begin_;
  if (capacity_ - end_ >= capacity_ / 4) return;
  if (unconsumed > capacity_ / 2) {
    size_t capacity = capacity_ * 2;
    auto next = std::make_unique_for_overwrite<char[]>(capacity);
    std::memcpy(next.get(), buffer_.get() + begin_, unconsumed);
    buffer_ = std::move(next);
    capacity_ = capacity;
  } else {
    std::memmove(buffer_.get(), buffer_.get() + begin_, unconsumed);
  }
  begin_ = 0;
  end_ = unconsumed;
}

void TcpConnection::continue_later() {
  if (continuing_) return;
  continuing_ = true;
  ++pending_;
  shard_.post([this] {
    --pending_;
    continuing_ = false;
    if (closed_) return remove_if_done();
    read_available();
  });
}

void TcpConnection::resume() {
  if (!paused_) return;
  paused_ = false;
  if (delivering_ || closing_ || closed_) return;
  ++pending_;
  shard_.post([this] {
    --pending_;
    if (closed_) return remove_if_done();
    if (paused_ || closing_) return;
    if (begin_ != end_) {
      offer_own();
      if (closed_) return;
      push_output();
    }
    if (!closed_) read_available();
  });
}

void TcpConnection::on_idle_sweep() {
  if (std::exchange(active_, false) || closed_) return;
  if (begin_ == end_) {
    buffer_.reset();
    capacity_ = begin_ = end_ = 0;
  }
  if (output_.empty()) Bytes().swap(output_);
}

// ---- writing

void TcpConnection::flush() {
  if (!delivering_ && !closed_) push_output();
}

void TcpConnection::hold_output() {
  if (closing_ || paused_ || output_.size() > kHeldOutput) return push_output();
  if (output_.empty() || held_) return;
  held_ = true;
  ++pending_;
  shard_.schedule(kLongestHold, [this] {
    --pending_;
    held_ = false;
    if (closed_) return remove_if_done();
    push_output();
  });
}

void TcpConnection::push_output() {
  if (output_.empty() && !closing_) return;
  if (send_output()) {
    output_sent();
  } else if (closing_ && !closed_ && linger_ == 0) {
    start_linger();
  }
}

bool TcpConnection::send_output() {
  if (waiting_ || closed_) return false;
  while (sent_ < output_.size()) {
    ssize_t n = ::send(fd_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
    if (n >= 0) {
      sent_ += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      finish(connection_error("send", errno));
      return false;
    }
    if (sent_ > output_.size() / 2) {
      output_.erase(0, sent_);
      sent_ = 0;
    }
    waiting_ = true;
    return false;
  }
  return true;
}

void TcpConnection::output_sent() {
  sent_ = 0;
  if (output_.capacity() > kKeptOutput) {
    Bytes().swap(output_);
  } else {
    output_.clear();
  }
  if (closing_) finish(Status());
}

// ---- closing

void TcpConnection::close() {
  if (closing_ || closed_) return;
  closing_ = true;
  flush();
}

void TcpConnection::start_linger() {
  ++pending_;
  linger_ = shard_.schedule(kLinger, [this] {
    --pending_;
    linger_ = 0;
    if (closed_) return remove_if_done();
    finish(Error(ErrorCode::kClosed, "the peer does not read"));
  });
}

void TcpConnection::finish(Status reason) {
  if (closed_) return;
  closed_ = true;
  reason_ = std::move(reason);
  if (closing_) {
    // Closing a socket with unread bytes resets it, and the peer might lose our last answer.
    ::shutdown(fd_.get(), SHUT_WR);
    char discarded[4096];
    for (int i = 0; i < 16; ++i) {
      if (::recv(fd_.get(), discarded, sizeof discarded, 0) <= 0) break;
    }
  }
  if (linger_ != 0 && shard_.cancel(linger_)) --pending_;
  ++pending_;
  shard_.post([this] { finalize(); });
}

// The socket lives until here, so that its addresses can still be asked for.
void TcpConnection::finalize() {
  --pending_;
  finalized_ = true;
  if (auto handler = std::move(handler_)) handler->on_closed(reason_);
  fd_.reset();
  remove_if_done();
}

void TcpConnection::remove_if_done() {
  if (finalized_ && pending_ == 0) shard_.remove(this);
}

}  // namespace cassandra_like
