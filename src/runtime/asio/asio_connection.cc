#include "runtime/asio/asio_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <cstring>

#include "base/result.h"

namespace cassandra_like {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr size_t kIdleBuffer = 4 * 1024;
// A connection that is merely busy reads into this much; only an unconsumed frame makes the buffer larger.
constexpr size_t kBusyBuffer = 64 * 1024;
constexpr size_t kKeptOutput = 256 * 1024;
constexpr Duration kLinger = std::chrono::seconds(10);

template <class T>
struct OperationAllocator {
  using value_type = T;
  OperationMemory* memory;

  explicit OperationAllocator(OperationMemory* m) : memory(m) {}
  template <class U>
  OperationAllocator(const OperationAllocator<U>& o) : memory(o.memory) {}  // NOLINT: rebinding
  T* allocate(size_t n) { return static_cast<T*>(memory->allocate(n * sizeof(T))); }
  void deallocate(T* p, size_t) { memory->free(p); }
  bool operator==(const OperationAllocator&) const = default;
};

Error connection_error(const char* doing, int error_number) {
  return Error(ErrorCode::kClosed, std::string(doing) + ": " + std::strerror(error_number));
}

}  // namespace

SocketAddress to_address(const asio::ip::tcp::endpoint& endpoint) {
  return {endpoint.address().to_string(), endpoint.port()};
}

struct AsioConnection::ReadDone {
  using allocator_type = OperationAllocator<void*>;
  AsioConnection* connection;
  allocator_type get_allocator() const { return allocator_type(&connection->read_memory_); }
  void operator()(const error_code& error, size_t size) const { connection->on_read(error, size); }
};

struct AsioConnection::Writable {
  using allocator_type = OperationAllocator<void*>;
  AsioConnection* connection;
  allocator_type get_allocator() const { return allocator_type(&connection->write_memory_); }
  void operator()(const error_code& error) const { connection->on_writable(error); }
};

AsioConnection::AsioConnection(AsioShard& shard, AsioSocket socket) : shard_(shard), socket_(std::move(socket)) {
  error_code ignored;
  local_ = socket_.local_endpoint(ignored);
  remote_ = socket_.remote_endpoint(ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
}

void AsioConnection::start(const Acceptor& acceptor) {
  handler_ = acceptor(*this);
  if (handler_ == nullptr) return close_now();
  resize_buffer(kIdleBuffer);
  start_read();
}

// ---- reading

void AsioConnection::start_read() {
  if (reading_ || paused_ || closing_ || closed_) return;
  make_room();
  reading_ = true;
  ++pending_;
  socket_.async_read_some(asio::buffer(buffer_.get() + end_, capacity_ - end_), ReadDone{this});
}

void AsioConnection::make_room() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (capacity_ > kBusyBuffer) {
      resize_buffer(kBusyBuffer);
    } else if (filled_ && capacity_ < kBusyBuffer) {
      resize_buffer(capacity_ * 4);
    }
    return;
  }
  if (end_ < capacity_) return;
  size_t unconsumed = end_ - begin_;
  if (unconsumed > capacity_ / 2) return resize_buffer(capacity_ * 2);
  std::memmove(buffer_.get(), buffer_.get() + begin_, unconsumed);
  begin_ = 0;
  end_ = unconsumed;
}

// Keeps what is unconsumed, at the front.
void AsioConnection::resize_buffer(size_t capacity) {
  auto next = std::make_unique_for_overwrite<char[]>(capacity);
  if (end_ > begin_) std::memcpy(next.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  buffer_ = std::move(next);
  capacity_ = capacity;
}

void AsioConnection::on_read(const error_code& error, size_t size) {
  reading_ = false;
  --pending_;
  if (closed_) return delete_if_done();
  if (error) {
    if (shrinking_ && error == asio::error::operation_aborted) {
      shrinking_ = false;
      if (begin_ == end_) {
        begin_ = end_ = 0;
        resize_buffer(kIdleBuffer);
      }
      return start_read();
    }
    if (closing_) return;  // what is still to be sent decides
    return finish(error == asio::error::eof ? Status() : connection_error("receive", error.value()));
  }
  shrinking_ = false;
  active_ = true;
  end_ += size;
  filled_ = end_ == capacity_;
  deliver();
}

void AsioConnection::deliver() {
  if (paused_ || closing_) return;
  if (begin_ != end_) {
    delivering_ = true;
    size_t consumed = handler_->on_received(BytesView(buffer_.get() + begin_, end_ - begin_));
    delivering_ = false;
    CHECK(consumed <= end_ - begin_);
    begin_ += consumed;
    if (closed_) return;
    push_output();
  }
  start_read();
}

void AsioConnection::resume() {
  if (!paused_) return;
  paused_ = false;
  if (delivering_ || closing_ || closed_) return;
  ++pending_;
  shard_.post([this] {
    --pending_;
    if (closed_) return delete_if_done();
    deliver();
  });
}

void AsioConnection::on_idle_sweep() {
  bool idle = !std::exchange(active_, false);
  if (!idle || closed_ || closing_ || waiting_) return;
  if (output_.empty() && output_.capacity() > kIdleBuffer) Bytes().swap(output_);
  if (reading_ && begin_ == end_ && capacity_ > kIdleBuffer) {
    shrinking_ = true;
    error_code ignored;
    socket_.cancel(ignored);
  }
}

// ---- writing

void AsioConnection::flush() {
  if (!delivering_ && !closed_) push_output();
}

void AsioConnection::push_output() {
  if (send_output()) {
    output_sent();
  } else if (closing_ && !closed_ && linger_ == 0) {
    start_linger();
  }
}

bool AsioConnection::send_output() {
  if (waiting_) return false;
  while (sent_ < output_.size()) {
    ssize_t n =
        ::send(socket_.native_handle(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
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
    ++pending_;
    socket_.async_wait(asio::socket_base::wait_write, Writable{this});
    return false;
  }
  return true;
}

void AsioConnection::on_writable(const error_code& error) {
  waiting_ = false;
  --pending_;
  if (closed_) return delete_if_done();
  // Cancelled by a sweep cannot be: a sweep leaves alone what waits to write.
  if (error && error != asio::error::operation_aborted) {
    return finish(connection_error("send", error.value()));
  }
  push_output();
  if (waiting_ || closed_ || handler_ == nullptr) return;
  handler_->on_drained();
  flush();
}

void AsioConnection::output_sent() {
  sent_ = 0;
  if (output_.capacity() > kKeptOutput) {
    Bytes().swap(output_);
  } else {
    output_.clear();
  }
  if (closing_) finish(Status());
}

// ---- closing

void AsioConnection::close() {
  if (closing_ || closed_) return;
  closing_ = true;
  flush();
}

void AsioConnection::start_linger() {
  ++pending_;
  linger_ = shard_.schedule(kLinger, [this] {
    --pending_;
    linger_ = 0;
    if (closed_) return delete_if_done();
    finish(Error(ErrorCode::kClosed, "the peer does not read"));
  });
}

void AsioConnection::close_now() { finish(Status()); }

void AsioConnection::finish(Status reason) {
  if (closed_) return;
  closed_ = true;
  reason_ = std::move(reason);
  error_code ignored;
  if (closing_) {
    // Closing a socket with unread bytes resets it, and the peer might lose our last answer.
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    char discarded[4096];
    for (int i = 0; i < 16; ++i) {
      if (::recv(socket_.native_handle(), discarded, sizeof discarded, MSG_DONTWAIT) <= 0) break;
    }
  }
  socket_.close(ignored);
  if (linger_ != 0 && shard_.cancel(linger_)) --pending_;
  ++pending_;
  shard_.post([this] { finalize(); });
}

void AsioConnection::finalize() {
  --pending_;
  finalized_ = true;
  if (auto handler = std::move(handler_)) handler->on_closed(reason_);
  delete_if_done();
}

void AsioConnection::delete_if_done() {
  if (finalized_ && pending_ == 0) shard_.remove_client(this);
}

void AsioConnection::stop() {
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace cassandra_like
