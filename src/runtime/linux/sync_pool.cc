#include "runtime/linux/sync_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "runtime/linux/os_thread.h"

namespace cassandra_like {

namespace {
// More than this do not wait any longer: what they give back may be a full disk's space.
constexpr size_t kMostIdleJobs = 16;
// After the system gave no thread.
constexpr int64_t kNanosToNextTry = 60'000'000'000;
}  // namespace

Status SyncPool::start() {
  std::lock_guard lock(mutex_);
  return add_thread();
}

Status SyncPool::add_thread() {
  ASSIGN_OR_RETURN(std::thread made, make_thread(name_, [this] { thread_body(); }));
  threads_.push_back(std::move(made));
  return {};
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
    grow();
  }
  ready_.notify_one();
}

void SyncPool::run_idle(absl::AnyInvocable<void()> work) {
  {
    std::unique_lock lock(mutex_);
    if (stopping_) {
      lock.unlock();
      return work();
    }
    idle_jobs_.push_back(std::move(work));
    grow();
  }
  ready_.notify_one();
}

void SyncPool::grow() {
  if (waiting_ >= jobs_.size() + idle_jobs_.size() || threads_.size() >= most_threads_) return;
  if (next_try_ != 0 && steady_nanos() < next_try_) return;
  const Status added = add_thread();
  if (added.ok()) return;
  // Idle work can wait for stop().
  CHECK(!threads_.empty() || jobs_.empty());
  if (next_try_ == 0 && !threads_.empty()) {
    LOG_WARN("{}; {} of {} have to do", added.error().message(), threads_.size(), most_threads_);
  }
  next_try_ = steady_nanos() + kNanosToNextTry;
}

void SyncPool::thread_body() {
  // Linux sets it for this thread alone.
  if (niceness_ != 0) (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness_);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++waiting_;
    ready_.wait(lock, [this] { return stopping_ || !jobs_.empty() || !idle_jobs_.empty(); });
    --waiting_;
    if (stopping_) return;
    if (jobs_.empty() || idle_jobs_.size() > kMostIdleJobs) {
      absl::AnyInvocable<void()> work = std::move(idle_jobs_.front());
      idle_jobs_.pop_front();
      lock.unlock();
      work();
      lock.lock();
      continue;
    }
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
  for (auto& work : idle_jobs_) work();
  idle_jobs_.clear();
}

Task<void> OsBlocking::run(absl::AnyInvocable<void()> work) {
  SyncPool::Work job = [work = std::move(work)]() mutable {
    work();
    return Status();
  };
  Task<Status> done = pool_.run(&shard_, std::move(job));
  (void)co_await done;
}

}  // namespace cassandra_like
