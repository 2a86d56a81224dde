#include "runtime/asio/asio_shard.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <chrono>

#include "base/result.h"

namespace cassandra_like {

namespace {
thread_local const AsioShard* current_shard = nullptr;
constexpr Duration kSweepInterval = std::chrono::seconds(5);
}  // namespace

int64_t steady_nanos() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

AsioShard::AsioShard(unsigned index) : index_(index), context_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO) {}

AsioShard::~AsioShard() { drop_callbacks(); }

bool AsioShard::is_current() const { return current_shard == this; }

void AsioShard::post(Callback fn) {
  if (is_current()) {
    local_.push_back(std::move(fn));
    return;
  }
  auto* node = new Remote{std::move(fn), remote_.load(std::memory_order_relaxed)};
  while (!remote_.compare_exchange_weak(node->next, node, std::memory_order_seq_cst)) {
  }
  if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(false, std::memory_order_seq_cst)) {
    boost::asio::post(context_, [] {});
  }
}

TimerId AsioShard::schedule(Duration delay, Callback fn) {
  return timers_.add(steady_nanos() + delay.count(), std::move(fn));
}

bool AsioShard::cancel(TimerId id) { return timers_.cancel(id); }

void AsioShard::add_client(std::unique_ptr<LoopClient> client) {
  client->index_ = clients_.size();
  clients_.push_back(std::move(client));
  if (!sweeping_) {
    sweeping_ = true;
    schedule(kSweepInterval, [this] { sweep(); });
  }
}

void AsioShard::remove_client(LoopClient* client) {
  size_t index = client->index_;
  CHECK(index < clients_.size() && clients_[index].get() == client);
  std::unique_ptr<LoopClient> removed = std::move(clients_[index]);
  if (index + 1 < clients_.size()) {
    clients_[index] = std::move(clients_.back());
    clients_[index]->index_ = index;
  }
  clients_.pop_back();
}

void AsioShard::sweep() {
  for (size_t i = 0; i < clients_.size(); ++i) clients_[i]->on_idle_sweep();
  sweeping_ = !clients_.empty();
  if (sweeping_) schedule(kSweepInterval, [this] { sweep(); });
}

void AsioShard::run() {
  current_shard = this;
  auto work = boost::asio::make_work_guard(context_);
  while (!stopping_) {
    run_remote();
    run_local();
    run_timers();
    wait_for_work();
  }
  stop_clients();
  current_shard = nullptr;
}

void AsioShard::request_stop() {
  post([this] { stopping_ = true; });
}

void AsioShard::run_remote() {
  if (remote_.load(std::memory_order_relaxed) == nullptr) return;
  Remote* newest = remote_.exchange(nullptr, std::memory_order_acquire);
  Remote* oldest = nullptr;
  while (newest != nullptr) {
    Remote* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    std::unique_ptr<Remote> node(oldest);
    oldest = node->next;
    node->fn();
  }
}

// One generation only: what these callbacks post runs after the sockets have had their turn.
void AsioShard::run_local() {
  if (local_.empty()) return;
  running_.swap(local_);
  for (Callback& fn : running_) {
    fn();
    fn = nullptr;
  }
  running_.clear();
}

void AsioShard::run_timers() {
  if (timers_.empty()) return;
  int64_t now = steady_nanos();
  while (auto fn = timers_.pop_due(now)) (*fn)();
}

void AsioShard::wait_for_work() {
  if (stopping_) return;
  int64_t wait = 0;
  if (!timers_.empty()) wait = timers_.next_deadline() - steady_nanos();
  if (!local_.empty() || wait < 0) {
    context_.poll_one();
    return;
  }
  sleeping_.store(true, std::memory_order_seq_cst);
  if (remote_.load(std::memory_order_seq_cst) == nullptr) {
    if (timers_.empty()) {
      context_.run_one();
    } else {
      // The wait is rounded up to a millisecond; in return an idle timer costs no system call.
      context_.run_one_for(Duration(wait));
    }
  }
  sleeping_.store(false, std::memory_order_relaxed);
}

// Cancelled operations live in their clients' memory, so they are run before the clients go.
void AsioShard::stop_clients() {
  for (auto& client : clients_) client->stop();
  context_.poll();
  clients_.clear();
}

void AsioShard::drop_callbacks() {
  Remote* node = remote_.exchange(nullptr, std::memory_order_acquire);
  while (node != nullptr) {
    std::unique_ptr<Remote> dropped(node);
    node = dropped->next;
  }
  local_.clear();
  running_.clear();
  timers_.clear();
}

}  // namespace cassandra_like
