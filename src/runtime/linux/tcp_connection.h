// A TCP stream on one shard.
//
// Reading: what arrives is read into the shard's buffer and offered to the handler there; only what it leaves is copied
// into a buffer of the connection's own, where the rest of the frame is then read to. So an idle connection holds no
// memory for reading. A read that filled its buffer is repeated, at once a few times, then after others had a turn.
// Writing: output() is given to send() directly; what the kernel refuses waits for the socket to become writable. When a
// read made the shard ask others, a part of the answers is still to come: what is ready waits for them, a little, so that
// one send serves all.
//
// Being edge-triggered, readiness is remembered in readable_ until a read has found the socket empty.
#pragma once

#include <memory>

#include "runtime/linux/epoll_shard.h"
#include "runtime/network.h"

namespace cassandra_like {

class TcpConnection final : public Connection, public Pollable {
 public:
  // The events to register it for.
  static const uint32_t kEvents;
  // fd is connected and does not block.
  TcpConnection(EpollShard& shard, FileDescriptor fd);

  // Asks the acceptor for the handler; a refused connection is closed.
  void start(const Acceptor& acceptor);

  SocketAddress local_address() const override;
  SocketAddress remote_address() const override;
  Bytes& output() override { return output_; }
  void flush() override;
  size_t unsent() const override { return output_.size() - sent_; }
  void pause() override { paused_ = true; }
  void resume() override;
  void close() override;
  void close_now() override { finish(Status()); }
  void set_user_timeout(Duration timeout) override;

  void on_ready(uint32_t events) override;
  void on_idle_sweep() override;

 private:
  void read_available();
  // One recv; false when there is nothing more to do now.
  bool read_once();
  bool receive_failed(ssize_t result);
  void offer_own();
  size_t offer(BytesView data);
  void make_room();
  void keep(BytesView rest);
  void continue_later();
  // Leaves a small output to the next flush(), which is not far.
  void hold_output();
  void push_output();
  // Sends what it can; false when the connection was closed meanwhile or waits to become writable.
  bool send_output();
  void output_sent();
  void start_linger();
  void finish(Status reason);
  void finalize();
  void remove_if_done();

  EpollShard& shard_;
  FileDescriptor fd_;
  std::shared_ptr<ConnectionHandler> handler_;

  Bytes output_;
  size_t sent_ = 0;                 // of output_
  std::unique_ptr<char[]> buffer_;  // what is not yet consumed is at begin_..end_
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;

  int pending_ = 0;          // posted callbacks and timers that refer to this
  bool readable_ = false;    // the socket may hold more
  bool hung_up_ = false;     // after what is to be read, the stream ends
  bool active_ = false;      // the own buffer was used since the last sweep
  bool continuing_ = false;  // continue_later() was posted
  bool waiting_ = false;     // for writability
  bool held_ = false;        // hold_output() has a timer
  bool delivering_ = false;
  bool paused_ = false;
  bool closing_ = false;  // close() was called
  bool closed_ = false;
  bool finalized_ = false;
  TimerId linger_ = 0;
  Status reason_;
};

}  // namespace cassandra_like
