#include "coordinator/pending_writes.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"

namespace cassandra_like {

PendingWrites::~PendingWrites() {
  if (timer_ != 0) runtime_.executor.cancel(timer_);
}

Task<std::optional<Status>> PendingWrites::run(Task<Status> write, int64_t began) {
  if (!gate_.enter()) {
    return std::optional<Status>(Error(ErrorCode::kClosed, "The node is stopping: it takes no more writes"));
  }
  Pending* pending = take();
  spawn(carry(this, pending, std::move(write)));
  if (!pending->ended) return wait(pending, began + timeout_.count());
  std::optional<Status> ended = std::move(pending->ended);
  give_back(pending);
  return ended;
}

Task<void> PendingWrites::carry(PendingWrites* self, Pending* pending, Task<Status> write) {
  Status status = co_await write;
  DCHECK(!pending->ended);
  if (pending->abandoned) {
    self->give_back(pending);
  } else {
    pending->ended = std::move(status);
    if (pending->waiter != nullptr) {
      self->remove(pending);
      pending->waiter->set(true);
    }
  }
  self->gate_.leave();
}

Task<std::optional<Status>> PendingWrites::wait(Pending* pending, int64_t deadline) {
  if (!pending->ended) {
    Promise<bool> turn;
    pending->waiter = &turn;
    pending->deadline = deadline;
    insert(pending);
    const bool in_time = co_await turn;
    pending->waiter = nullptr;
    if (!in_time) {
      pending->abandoned = true;
      co_return std::optional<Status>();
    }
  }
  std::optional<Status> ended = std::move(pending->ended);
  give_back(pending);
  co_return ended;
}

void PendingWrites::expire() {
  timer_ = 0;
  const int64_t now = runtime_.clock.monotonic_nanos();
  while (first_ != nullptr && first_->deadline <= now) {
    Promise<bool>* waiter = first_->waiter;
    DCHECK(waiter != nullptr && !first_->ended);
    remove(first_);
    waiter->set(false);
  }
  if (first_ != nullptr && timer_ == 0) arm();
}

void PendingWrites::arm() {
  timer_deadline_ = first_->deadline;
  const int64_t left = timer_deadline_ - runtime_.clock.monotonic_nanos();
  timer_ = runtime_.executor.schedule(Duration(left > 0 ? left : 0), [this] { expire(); });
}

// The later steps of a batch have the deadline of its first one, which may be before those of writes that wait already.
void PendingWrites::insert(Pending* pending) {
  Pending* next = nullptr;
  Pending* previous = last_;
  for (; previous != nullptr && previous->deadline > pending->deadline; previous = previous->previous) next = previous;
  pending->previous = previous;
  pending->next = next;
  (previous == nullptr ? first_ : previous->next) = pending;
  (next == nullptr ? last_ : next->previous) = pending;
  if (timer_ != 0 && pending->deadline < timer_deadline_) runtime_.executor.cancel(std::exchange(timer_, 0));
  if (timer_ == 0) arm();
}

void PendingWrites::remove(Pending* pending) {
  (pending->previous == nullptr ? first_ : pending->previous->next) = pending->next;
  (pending->next == nullptr ? last_ : pending->next->previous) = pending->previous;
}

PendingWrites::Pending* PendingWrites::take() {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Pending>());
    return all_.back().get();
  }
  Pending* pending = idle_.back();
  idle_.pop_back();
  return pending;
}

void PendingWrites::give_back(Pending* pending) {
  DCHECK(pending->waiter == nullptr && std::find(idle_.begin(), idle_.end(), pending) == idle_.end());
  *pending = {};
  idle_.push_back(pending);
}

Task<void> PendingWrites::stop() {
  if (gate_.closed()) return {};
  return gate_.close();
}

}  // namespace cassandra_like
