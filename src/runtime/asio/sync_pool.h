// Two threads on which the runtime waits for the disk: fsync and its kin are the only calls that may block for long.
// They start with the first job and end in stop(), which lets the running jobs end and drops the others.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/asio/epoll_shard.h"

namespace cassandra_like {

class SyncPool {
 public:
  using Work = absl::AnyInvocable<Status()>;
  ~SyncPool() { stop(); }
  // Runs work on a thread of the pool; its result is returned on the shard, where the caller runs.
  Task<Status> run(EpollShard* shard, Work work);
  void stop();

 private:
  struct Job {
    Work work;
    EpollShard* shard;
    Promise<Status>* done;
  };

  void submit(Job job);
  void thread_body();

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Job> jobs_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
};

}  // namespace cassandra_like
