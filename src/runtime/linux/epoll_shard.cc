#include "runtime/linux/epoll_shard.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/result.h"

namespace cassandra_like {

namespace {

thread_local EpollShard* current_shard = nullptr;
constexpr Duration kSweepInterval = std::chrono::seconds(5);
constexpr int kMaxEvents = 256;
// How many callbacks may run before a timer that is due. Each look at the timers reads the clock.
constexpr int kCallbacksBetweenTimers = 16;
// A timer that runs so late deserves a line in the log.
constexpr int64_t kStandstillNanos = 500'000'000;

void control(int epoll, int operation, int fd, uint32_t events, Pollable* pollable) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = pollable;
  CHECK(::epoll_ctl(epoll, operation, fd, &event) == 0);
}

}  // namespace

int64_t steady_nanos() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

EpollShard::EpollShard(unsigned index, bool shares_core)
    : index_(index),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      shares_core_(shares_core) {
  CHECK(epoll_.valid() && wake_.valid());
  // Edge-triggered: every write to the eventfd is an event, though nobody ever reads it.
  control(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), EPOLLIN | EPOLLET, nullptr);
}

EpollShard::~EpollShard() { drop_everything(); }

bool EpollShard::is_current() const { return current_shard == this; }

class EpollShard::RemoteCallback final : public PostedWork {
 public:
  explicit RemoteCallback(Callback fn) : fn_(std::move(fn)) {}
  void run() override {
    fn_();
    delete this;
  }

 private:
  void drop() override { delete this; }
  Callback fn_;
};

void EpollShard::post(Callback fn) {
  if (is_current()) {
    local_.push_back(std::move(fn));
  } else {
    post(*new RemoteCallback(std::move(fn)));
  }
}

void EpollShard::post(PostedWork& work) {
  if (is_current()) {
    local_.push_back([&work] { work.run(); });
    return;
  }
  work.next_ = remote_.load(std::memory_order_relaxed);
  // When this succeeds the work may run and be gone.
  while (!remote_.compare_exchange_weak(work.next_, &work, std::memory_order_seq_cst)) {
  }
  if (current_shard != nullptr) ++current_shard->posted_to_others_;
  if (runner_.load(std::memory_order_seq_cst) != kNobody) return;
  if (current_shard == nullptr) {
    wake();
  } else {
    current_shard->wake_later(*this);
  }
}

void EpollShard::wake() {
  Runner sleeps = kNobody;
  if (runner_.compare_exchange_strong(sleeps, kOwnThread, std::memory_order_seq_cst)) wake_thread();
}

void EpollShard::wake_thread() {
  uint64_t one = 1;
  CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

bool EpollShard::run_if_asleep(absl::FunctionRef<void()> work) {
  Runner sleeps = kNobody;
  if (runner_.load(std::memory_order_relaxed) != kNobody) return false;
  if (!runner_.compare_exchange_strong(sleeps, kAnotherShard, std::memory_order_seq_cst)) return false;
  // Work that was posted before must run before.
  const bool is_idle = remote_.load(std::memory_order_seq_cst) == nullptr;
  if (is_idle) {
    EpollShard* caller = std::exchange(current_shard, this);
    work();
    wake_others();
    current_shard = caller;
  }
  const bool has_more = !local_.empty() || next_deadline() < sleeps_until_;
  runner_.store(has_more ? kOwnThread : kNobody, std::memory_order_seq_cst);
  runner_.notify_one();
  if (has_more) {
    wake_thread();
  } else if (remote_.load(std::memory_order_seq_cst) != nullptr) {
    wake();
  }
  return is_idle;
}

// After a sleep. Whoever woke the thread gave it the baton; an event of the kernel's did not.
void EpollShard::take_baton() {
  Runner runner = kNobody;
  while (!runner_.compare_exchange_strong(runner, kOwnThread, std::memory_order_seq_cst) && runner != kOwnThread) {
    runner_.wait(kAnotherShard, std::memory_order_seq_cst);
    runner = kNobody;
  }
}

void EpollShard::wake_later(EpollShard& shard) {
  if (std::find(to_wake_.begin(), to_wake_.end(), &shard) == to_wake_.end()) to_wake_.push_back(&shard);
}

void EpollShard::wake_others() {
  for (EpollShard* shard : to_wake_) shard->wake();
  to_wake_.clear();
}

TimerId EpollShard::schedule(Duration delay, Callback fn) {
  return timers_.add(steady_nanos() + delay.count(), std::move(fn));
}

bool EpollShard::cancel(TimerId id) { return timers_.cancel(id); }

void EpollShard::add_pollable(std::unique_ptr<Pollable> pollable, int fd, uint32_t events) {
  control(epoll_.get(), EPOLL_CTL_ADD, fd, events, pollable.get());
  pollable->index_ = pollables_.size();
  pollables_.push_back(std::move(pollable));
  if (!sweeping_) {
    sweeping_ = true;
    schedule(kSweepInterval, [this] { sweep(); });
  }
}

void EpollShard::change_events(Pollable* pollable, int fd, uint32_t events) {
  control(epoll_.get(), EPOLL_CTL_MOD, fd, events, pollable);
}

void EpollShard::forget(int fd) { control(epoll_.get(), EPOLL_CTL_DEL, fd, 0, nullptr); }

void EpollShard::remove(Pollable* pollable) {
  size_t index = pollable->index_;
  CHECK(index < pollables_.size() && pollables_[index].get() == pollable);
  removed_.push_back(std::move(pollables_[index]));
  if (index + 1 < pollables_.size()) {
    pollables_[index] = std::move(pollables_.back());
    pollables_[index]->index_ = index;
  }
  pollables_.pop_back();
}

void EpollShard::sweep() {
  for (size_t i = 0; i < pollables_.size(); ++i) pollables_[i]->on_idle_sweep();
  sweeping_ = !pollables_.empty();
  if (sweeping_) schedule(kSweepInterval, [this] { sweep(); });
}

void EpollShard::run() {
  current_shard = this;
  while (!stopping_) {
    run_remote();
    run_local();
    run_timers();
    wake_others();
    if (!stopping_) poll();
  }
  wake_others();
  current_shard = nullptr;
}

void EpollShard::request_stop() {
  post([this] { stopping_ = true; });
}

void EpollShard::run_remote() {
  if (remote_.load(std::memory_order_relaxed) == nullptr) return;
  PostedWork* newest = remote_.exchange(nullptr, std::memory_order_acquire);
  PostedWork* oldest = nullptr;
  while (newest != nullptr) {
    PostedWork* next = newest->next_;
    newest->next_ = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    PostedWork* work = oldest;
    oldest = work->next_;
    work->run();
    ran_callback();
  }
}

// One generation only: what these callbacks post runs after the sockets have had their turn.
void EpollShard::run_local() {
  if (local_.empty()) return;
  running_.swap(local_);
  for (Callback& fn : running_) {
    fn();
    fn = nullptr;
    ran_callback();
  }
  running_.clear();
}

// A long queue of slow callbacks must not hold up a sync of the commit log or a timeout.
void EpollShard::ran_callback() {
  if (++callbacks_since_timers_ >= kCallbacksBetweenTimers) run_timers();
}

void EpollShard::run_timers() {
  callbacks_since_timers_ = 0;
  if (timers_.empty()) return;
  now_ = steady_nanos();
  tell_of_standstill();
  auto fn = timers_.pop_due(now_);
  if (!fn) return;
  do {
    (*fn)();
    fn = timers_.pop_due(now_);
  } while (fn);
  now_ = steady_nanos();
}

// Requests time out in such a while, and nodes take each other for dead: whoever looks for the reason finds it here. A late
// timer shows it without another look at the clock.
void EpollShard::tell_of_standstill() const {
  const int64_t late = now_ - timers_.next_deadline();
  if (late < kStandstillNanos) return;
  LOG_WARN("Shard {} stood still for {} ms: the process was paused, or it lacked CPU or memory", index_,
           late / 1'000'000);
}

int64_t EpollShard::next_deadline() const {
  return timers_.empty() ? std::numeric_limits<int64_t>::max() : timers_.next_deadline();
}

// Rounded up: epoll counts milliseconds, and a timer must not run early. Called right after run_timers().
int EpollShard::wait_millis() const {
  if (!local_.empty()) return 0;
  if (timers_.empty()) return -1;
  int64_t nanos = timers_.next_deadline() - now_;
  return static_cast<int>(std::clamp<int64_t>((nanos + 999'999) / 1'000'000, 0, 1'000'000'000));
}

void EpollShard::poll() {
  int timeout = wait_millis();
  // The kernel takes a core from a busy thread at a tick, every 1 to 4 ms. Without this a request that visits two shards
  // would wait for ticks of all the threads before them.
  if (timeout == 0 && shares_core_) ::sched_yield();
  if (timeout != 0) {
    sleeps_until_ = next_deadline();
    runner_.store(kNobody, std::memory_order_seq_cst);
    if (remote_.load(std::memory_order_seq_cst) != nullptr) timeout = 0;
  }
  std::array<epoll_event, kMaxEvents> events;
  int n = ::epoll_wait(epoll_.get(), events.data(), kMaxEvents, timeout);
  CHECK(n >= 0 || errno == EINTR);
  take_baton();
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.ptr == nullptr) continue;
    static_cast<Pollable*>(event.data.ptr)->on_ready(event.events);
    ran_callback();
    wake_others();
  }
  removed_.clear();
}

void EpollShard::drop_everything() {
  PostedWork* work = remote_.exchange(nullptr, std::memory_order_acquire);
  while (work != nullptr) {
    PostedWork* next = work->next_;
    work->drop();
    work = next;
  }
  local_.clear();
  running_.clear();
  timers_.clear();
  pollables_.clear();
  removed_.clear();
}

}  // namespace cassandra_like
