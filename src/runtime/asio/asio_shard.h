// One shard's event loop: a thread that runs an io_context, a queue of its own callbacks, a lock-free queue of
// callbacks from other threads, and timers.
//
// The io_context is used without locks around I/O, so its sockets are touched by the shard's thread alone; the one
// call that other threads make is the wake-up, an asio::post that happens only when the shard is about to sleep.
// Before sleeping it announces so in sleeping_ and looks at the queue once more; who pushes looks at sleeping_
// after pushing. Both are sequentially consistent, so one of them sees the other.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <vector>

#include "runtime/asio/timer_heap.h"
#include "runtime/executor.h"

namespace cassandra_like {

int64_t steady_nanos();

// Something that has operations pending in the io_context. It is told to cancel them when the loop ends.
class LoopClient {
 public:
  virtual ~LoopClient() = default;
  virtual void stop() = 0;
  // About once every few seconds.
  virtual void on_idle_sweep() {}

 private:
  friend class AsioShard;
  size_t index_ = 0;  // in the shard's list
};

class AsioShard final : public Executor {
 public:
  explicit AsioShard(unsigned index);
  ~AsioShard() override;

  unsigned shard() const override { return index_; }
  bool is_current() const override;
  void post(Callback fn) override;
  TimerId schedule(Duration delay, Callback fn) override;
  bool cancel(TimerId id) override;

  boost::asio::io_context& context() { return context_; }
  // The shard owns its clients until they remove themselves or the loop has ended.
  void add_client(std::unique_ptr<LoopClient> client);
  void remove_client(LoopClient* client);

  // The thread's body: returns after request_stop(), when every client has been stopped and removed.
  void run();
  void request_stop();
  // Destroys what was posted or scheduled and never ran; only when no thread runs the loop.
  void drop_callbacks();

 private:
  struct Remote {
    Callback fn;
    Remote* next;
  };

  void run_remote();
  void run_local();
  void run_timers();
  void wait_for_work();
  void stop_clients();
  void sweep();

  const unsigned index_;
  boost::asio::io_context context_;
  std::atomic<Remote*> remote_{nullptr};  // newest first
  std::atomic<bool> sleeping_{false};
  bool stopping_ = false;
  bool sweeping_ = false;
  std::vector<Callback> local_;
  std::vector<Callback> running_;
  TimerHeap timers_;
  std::vector<std::unique_ptr<LoopClient>> clients_;
};

}  // namespace cassandra_like
