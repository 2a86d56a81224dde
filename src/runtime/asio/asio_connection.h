// A TCP stream on one shard.
//
// Reading: one asynchronous read is pending into the free end of a buffer of 4 KiB, which grows when reads fill it and
// shrinks again when the connection is idle. Asio tries the next read at once only if the last one filled the buffer;
// so a request costs one epoll_wait and one recv.
// Writing: output() is given to send() directly; only what the kernel refuses waits for writability.
// Nothing is allocated for a read or a write: Asio's operations live in read_memory_ and write_memory_, which is why
// a connection is destroyed only when none is pending.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "runtime/asio/asio_shard.h"
#include "runtime/network.h"

namespace cassandra_like {

using AsioSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

SocketAddress to_address(const boost::asio::ip::tcp::endpoint& endpoint);

// Room for one pending operation of Asio.
class OperationMemory {
 public:
  void* allocate(size_t size) {
    if (used_ || size > sizeof storage_) return ::operator new(size);
    used_ = true;
    return storage_;
  }
  void free(void* p) {
    if (p == storage_) {
      used_ = false;
    } else {
      ::operator delete(p);
    }
  }

 private:
  alignas(std::max_align_t) char storage_[192];
  bool used_ = false;
};

class AsioConnection final : public Connection, public LoopClient {
 public:
  AsioConnection(AsioShard& shard, AsioSocket socket);

  // Asks the acceptor for the handler and starts to read; a refused connection is closed.
  void start(const Acceptor& acceptor);

  SocketAddress local_address() const override { return to_address(local_); }
  SocketAddress remote_address() const override { return to_address(remote_); }
  Bytes& output() override { return output_; }
  void flush() override;
  size_t unsent() const override { return output_.size() - sent_; }
  void pause() override { paused_ = true; }
  void resume() override;
  void close() override;
  void close_now() override;

  void stop() override;
  void on_idle_sweep() override;

 private:
  struct ReadDone;
  struct Writable;

  void start_read();
  void on_read(const boost::system::error_code& error, size_t size);
  void make_room();
  void resize_buffer(size_t capacity);
  void deliver();
  void push_output();
  // Sends what it can; false when the connection was closed meanwhile or waits to become writable.
  bool send_output();
  void on_writable(const boost::system::error_code& error);
  void output_sent();
  void start_linger();
  void finish(Status reason);
  void finalize();
  void delete_if_done();

  AsioShard& shard_;
  AsioSocket socket_;
  boost::asio::ip::tcp::endpoint local_;
  boost::asio::ip::tcp::endpoint remote_;
  std::shared_ptr<ConnectionHandler> handler_;

  Bytes output_;
  size_t sent_ = 0;  // of output_
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // of what is not yet consumed
  size_t end_ = 0;

  int pending_ = 0;         // operations and posted callbacks that refer to this
  bool reading_ = false;    // a read is pending: the buffer must not move
  bool filled_ = false;     // the last read left no free space
  bool active_ = false;     // something was read since the last sweep
  bool shrinking_ = false;  // the pending read was cancelled to shrink the buffer
  bool waiting_ = false;    // for writability
  bool delivering_ = false;
  bool paused_ = false;
  bool closing_ = false;  // close() was called
  bool closed_ = false;
  bool finalized_ = false;
  TimerId linger_ = 0;
  Status reason_;
  OperationMemory read_memory_;
  OperationMemory write_memory_;
};

}  // namespace cassandra_like
