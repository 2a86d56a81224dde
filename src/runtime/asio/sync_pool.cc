#include "runtime/asio/sync_pool.h"

#include <utility>

namespace cassandra_like {

namespace {
constexpr size_t kThreads = 2;
}

Task<Status> SyncPool::run(EpollShard* shard, Work work) {
  Promise<Status> done;
  submit({std::move(work), shard, &done});
  co_return co_await done;
}

void SyncPool::submit(Job job) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back(std::move(job));
    if (threads_.size() < kThreads) threads_.emplace_back([this] { thread_body(); });
  }
  ready_.notify_one();
}

void SyncPool::thread_body() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ready_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job.shard->post([done = job.done, status = job.work()]() mutable { done->set(std::move(status)); });
    lock.lock();
  }
}

void SyncPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  ready_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

}  // namespace cassandra_like
