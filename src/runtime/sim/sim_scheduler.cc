#include "runtime/sim/sim_scheduler.h"

#include <algorithm>
#include <bit>

#include "base/result.h"

namespace cassandra_like {

namespace {
// How far the seed may move a posted callback or a timer, in nanoseconds: enough to change who comes first.
constexpr int64_t kJitter = 2000;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (std::rotl(hash, 23) ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}
}  // namespace

void SimScheduler::at(int64_t time, SimExecutor* owner, SimEvent kind, uint64_t payload, Callback fn) {
  if (owner != nullptr && !owner->life().alive) return;
  events_.push_back({std::max(time, now_), next_order_++, owner, kind, payload, std::move(fn)});
  std::push_heap(events_.begin(), events_.end(), later);
}

void SimScheduler::drop_events_of(const SimLife& life) {
  auto lives_on = [&](const Event& e) { return e.owner == nullptr || &e.owner->life() != &life; };
  auto dead = std::partition(events_.begin(), events_.end(), lives_on);
  // Destroyed only after the heap is whole again: captured state may make events as it goes.
  std::vector<Event> dropped(std::make_move_iterator(dead), std::make_move_iterator(events_.end()));
  events_.erase(dead, events_.end());
  std::make_heap(events_.begin(), events_.end(), later);
  auto parked = std::stable_partition(parked_.begin(), parked_.end(), lives_on);
  dropped.insert(dropped.end(), std::make_move_iterator(parked), std::make_move_iterator(parked_.end()));
  parked_.erase(parked, parked_.end());
}

void SimScheduler::resume(SimLife& life) {
  life.paused = false;
  std::vector<Event> others;
  for (Event& event : std::exchange(parked_, {})) {
    if (&event.owner->life() == &life) {
      at(now_, event.owner, event.kind, event.payload, std::move(event.fn));
    } else {
      others.push_back(std::move(event));
    }
  }
  parked_ = std::move(others);
}

bool SimScheduler::step(int64_t limit) {
  CHECK(!running_);
  graveyard_.clear();
  for (;;) {
    if (events_.empty() || events_.front().time > limit) return false;
    std::pop_heap(events_.begin(), events_.end(), later);
    Event event = std::move(events_.back());
    events_.pop_back();
    if (event.owner != nullptr && event.owner->life().paused) {
      parked_.push_back(std::move(event));
      continue;
    }
    if (event.owner != nullptr && event.owner->held_up_until() > event.time) {
      event.time = event.owner->held_up_until();
      events_.push_back(std::move(event));
      std::push_heap(events_.begin(), events_.end(), later);
      continue;
    }
    if (event.kind == SimEvent::kTimer) {
      auto fn = event.owner->take_timer(event.payload);
      if (!fn) continue;
      event.fn = std::move(*fn);
    }
    now_ = event.time;
    ++steps_;
    fold(event.kind, event.owner == nullptr ? ~0U : event.owner->life().machine, event.payload);
    if (event.owner != nullptr) fold(event.kind, event.owner->shard(), event.order);
    current_ = event.owner;
    running_ = true;
    event.fn();
    event.fn = nullptr;
    running_ = false;
    current_ = nullptr;
    return true;
  }
}

void SimScheduler::hold_up_current(int64_t nanos) {
  if (current_ != nullptr && nanos > 0) current_->hold_up_until(now_ + nanos);
}

void SimScheduler::run_as(SimExecutor& other, absl::FunctionRef<void()> work) {
  SimExecutor* caller = std::exchange(current_, &other);
  work();
  current_ = caller;
  // The caller's thread did it.
  if (caller != nullptr) caller->hold_up_until(other.held_up_until());
}

void SimScheduler::fold(SimEvent kind, uint32_t machine, uint64_t payload) {
  trace_hash_ = mix(trace_hash_, static_cast<uint64_t>(now_));
  trace_hash_ = mix(trace_hash_, static_cast<uint64_t>(machine) << 8 | static_cast<uint64_t>(kind));
  trace_hash_ = mix(trace_hash_, payload);
}

void SimExecutor::post(Callback fn) {
  const SimExecutor* from = scheduler_.current();
  std::pair<uint32_t, unsigned> source{~0U, 0};
  if (from != nullptr) source = {from->life().number, from->shard()};
  int64_t& last = last_post_[source];
  last = std::max(last, scheduler_.now() + scheduler_.draw_up_to(kJitter));
  scheduler_.at(last, this, SimEvent::kPost, 0, std::move(fn));
}

// Work takes one of two ways, by chance, unless something was posted before it.
bool SimExecutor::run_if_asleep(absl::FunctionRef<void()> work) {
  const int64_t now = scheduler_.now();
  const bool posted = std::any_of(last_post_.begin(), last_post_.end(), [&](const auto& p) { return p.second >= now; });
  if (!life_.alive || held_up_until_ > now || posted || scheduler_.draw() % 2 == 0) return false;
  scheduler_.run_as(*this, work);
  return true;
}

TimerId SimExecutor::schedule(Duration delay, Callback fn) {
  TimerId id = next_timer_++;
  if (!life_.alive) return id;
  timers_.emplace(id, std::move(fn));
  int64_t due = scheduler_.now() + std::max<int64_t>(delay.count(), 0) + scheduler_.draw_up_to(kJitter);
  scheduler_.at(due, this, SimEvent::kTimer, id, nullptr);
  return id;
}

bool SimExecutor::cancel(TimerId id) { return take_timer(id).has_value(); }

std::optional<Callback> SimExecutor::take_timer(TimerId id) {
  auto it = timers_.find(id);
  if (it == timers_.end()) return std::nullopt;
  Callback fn = std::move(it->second);
  timers_.erase(it);
  return fn;
}

void SimExecutor::drop_timers() { auto dropped = std::exchange(timers_, {}); }

void SimRandom::fill(char* out, size_t size) {
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>(next() >> 56);
}

Task<void> SimBlocking::run(absl::AnyInvocable<void()> work) {
  work();
  last_done_ = std::max(last_done_, scheduler_.now()) + scheduler_.draw_up_to(faults_.max_blocking.count());
  Promise<bool> done;
  scheduler_.at(last_done_, &executor_, SimEvent::kBlockingDone, 0, [&done] { done.set(true); });
  co_await done;
}

}  // namespace cassandra_like
