// Threads for work that no shard can wait for. The runtime has three pools of them.
//
// One waits for the disk: for fsync and its kin, which may block for long, and for giving back large files, whose pages
// the kernel frees one by one when the last reference to a removed file goes (some milliseconds for a commit log segment).
// One brings in what reads did not find in memory, so that these do not wait for syncs.
// The last computes what takes long (Blocking). Its threads have a lower priority than the shards.
//
// The first thread starts in start(), each other one when a job finds none that waits; where the system gives no more, the pool
// goes on with those that it has. They end in stop(). stop() lets the running jobs end and drops the others.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/blocking.h"
#include "runtime/linux/epoll_shard.h"

namespace cassandra_like {

class SyncPool {
 public:
  using Work = absl::AnyInvocable<Status()>;
  // name: of errors. niceness: of setpriority, 0 to 19.
  SyncPool(const char* name, size_t threads, int niceness) : name_(name), most_threads_(threads), niceness_(niceness) {}
  ~SyncPool() { stop(); }
  // Before the first job. kConfigError when the system gives no thread.
  Status start();
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
  Status add_thread();
  // After a job was added, with the mutex held.
  void grow();
  void thread_body();

  const char* const name_;
  const size_t most_threads_;
  const int niceness_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Job> jobs_;
  std::deque<absl::AnyInvocable<void()>> idle_jobs_;
  std::vector<std::thread> threads_;
  size_t waiting_ = 0;    // threads without a job
  int64_t next_try_ = 0;  // when the system gave no thread: not before this time
  bool stopping_ = false;
};

// One shard's way to the pool for what takes long.
class OsBlocking final : public Blocking {
 public:
  OsBlocking(EpollShard& shard, SyncPool& pool) : shard_(shard), pool_(pool) {}
  Task<void> run(absl::AnyInvocable<void()> work) override;

 private:
  EpollShard& shard_;
  SyncPool& pool_;
};

}  // namespace cassandra_like
