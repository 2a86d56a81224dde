// Two threads on which the runtime waits for the disk: for fsync and its kin, which may block for long, and for giving
// back large files, whose pages the kernel frees one by one when the last reference to a removed file goes (some
// milliseconds for a commit log segment). They start with the first job and end in stop(), which lets the running jobs
// end and drops the others.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/linux/epoll_shard.h"

namespace cassandra_like {

class SyncPool {
 public:
  using Work = absl::AnyInvocable<Status()>;
  ~SyncPool() { stop(); }
  // Runs work on a thread of the pool; its result is returned on the shard, where the caller runs.
  Task<Status> run(EpollShard* shard, Work work);
  // Runs work when nothing else is to be done or much of it waits, at the latest in stop(); now when that was called.
  void run_idle(absl::AnyInvocable<void()> work);
  void stop();

 private:
  struct Job {
    Work work;
    EpollShard* shard;
    Promise<Status>* done;
  };

  void submit(Job job);
  // With the mutex held.
  void start_thread();
  void thread_body();

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Job> jobs_;
  std::deque<absl::AnyInvocable<void()>> idle_jobs_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
};

}  // namespace cassandra_like
