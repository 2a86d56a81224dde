// One shard's event loop: a thread that waits in epoll, a queue of its own callbacks, a lock-free queue of callbacks
// from other threads, and timers.
//
// Sockets are registered once, edge-triggered, for reading and writing; so a request costs one epoll_wait (shared by
// all that are ready), one recv and one send. Asio's loop would add a failing recv or an epoll_ctl to every read.
//
// Waking: before it blocks, a shard announces so in runner_ and looks at the queue once more; who pushes looks at
// runner_ after pushing. Both are sequentially consistent, so one of them sees the other, and a burst of posts costs
// one write to the eventfd, or none while the shard is awake. A shard wakes others only when it is done with what it
// was doing, a connection's requests mostly: so they find all that it has for them, and do not wake for each piece.
//
// In a sleeper's place: waking a thread costs more than a read or a write does, on both sides. So another shard's thread
// may run a callback of one that sleeps. runner_ is a baton: whoever has it is the shard. A thread that wakes without it
// waits until it is given back; nobody waits for the baton of another shard, so there is no circle. The shard's own
// thread is woken for the work that the callback leaves.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "runtime/executor.h"
#include "runtime/linux/file_descriptor.h"
#include "runtime/linux/timer_heap.h"

namespace cassandra_like {

int64_t steady_nanos();

// Something that is told when its descriptor is ready. Owned by its shard.
class Pollable {
 public:
  virtual ~Pollable() = default;
  virtual void on_ready(uint32_t events) = 0;
  // About once every few seconds.
  virtual void on_idle_sweep() {}

 private:
  friend class EpollShard;
  size_t index_ = 0;  // in the shard's list
};

class EpollShard final : public Executor {
 public:
  // One read of a connection that has nothing unconsumed goes here.
  static constexpr size_t kReadBuffer = 64 * 1024;

  // shares_core: there are more shards than cores.
  EpollShard(unsigned index, bool shares_core);
  ~EpollShard() override;

  unsigned shard() const override { return index_; }
  bool is_current() const override;
  void post(Callback fn) override;
  void post(PostedWork& work) override;
  bool run_if_asleep(absl::FunctionRef<void()> work) override;
  TimerId schedule(Duration delay, Callback fn) override;
  bool cancel(TimerId id) override;

  // Registers fd for epoll's events. The shard owns the pollable until remove(), which defers its destruction to the
  // end of the loop's round: other events of the round may still refer to it.
  template <class T>
  T* add(std::unique_ptr<T> pollable, int fd, uint32_t events) {
    T* p = pollable.get();
    add_pollable(std::move(pollable), fd, events);
    return p;
  }
  void remove(Pollable* pollable);
  void change_events(Pollable* pollable, int fd, uint32_t events);
  // Unregisters a descriptor that stays open; closing one unregisters it too.
  void forget(int fd);
  char* read_buffer() { return read_buffer_.get(); }
  // How often this shard has given work to another one.
  uint64_t posted_to_others() const { return posted_to_others_; }

  // The thread's body: returns after request_stop().
  void run();
  void request_stop();
  // Destroys pollables and callbacks that never ran; only when no thread runs the loop.
  void drop_everything();

 private:
  // The thread that runs this shard's callbacks.
  enum Runner : int { kOwnThread, kNobody, kAnotherShard };
  // A callback of another thread.
  class RemoteCallback;

  void wake();
  void wake_thread();
  void take_baton();
  int64_t next_deadline() const;
  // Has this shard wake the other one when its callback returns.
  void wake_later(EpollShard& shard);
  void wake_others();
  void add_pollable(std::unique_ptr<Pollable> pollable, int fd, uint32_t events);
  void run_remote();
  void run_local();
  void run_timers();
  void tell_of_standstill() const;
  void ran_callback();
  void poll();
  int wait_millis() const;
  void sweep();

  const unsigned index_;
  FileDescriptor epoll_;
  FileDescriptor wake_;
  std::atomic<PostedWork*> remote_{nullptr};  // newest first
  std::atomic<Runner> runner_{kOwnThread};
  int64_t sleeps_until_ = 0;  // unless it is woken
  bool stopping_ = false;
  bool sweeping_ = false;
  const bool shares_core_;
  uint64_t posted_to_others_ = 0;
  std::vector<EpollShard*> to_wake_;
  std::vector<Callback> local_;
  std::vector<Callback> running_;
  TimerHeap timers_;
  int64_t now_ = 0;  // as run_timers() left it
  int callbacks_since_timers_ = 0;
  std::vector<std::unique_ptr<Pollable>> pollables_;
  std::vector<std::unique_ptr<Pollable>> removed_;
  std::unique_ptr<char[]> read_buffer_ = std::make_unique_for_overwrite<char[]>(kReadBuffer);
};

}  // namespace cassandra_like
