// Writes that did not end at once, and the clients that wait for them, no longer than a timeout.
//
// A write that was started goes on to its end, also when its client has been told of a timeout or is gone: so it owns
// what it needs (messaging/verbs.h). stop() waits for all of them. One a shard and timeout: the writes that wait are
// in the order of their deadlines, mostly the order in which they came, and one timer is enough for all.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "runtime/runtime.h"

namespace cassandra_like {

class PendingWrites {
 public:
  // The timeout is read for each write: it may change.
  PendingWrites(ShardRuntime& runtime, const Duration& timeout) : runtime_(runtime), timeout_(timeout) {}
  PendingWrites(ShardRuntime&, Duration&&) = delete;
  ~PendingWrites();
  PendingWrites(const PendingWrites&) = delete;
  PendingWrites& operator=(const PendingWrites&) = delete;

  // Starts the write and waits for it, until the timeout after `began` (of the monotonic clock). Nothing: it had not
  // ended by then. kClosed after stop().
  Task<std::optional<Status>> run(Task<Status> write, int64_t began);
  // Completes when all writes have ended. Afterwards none is started.
  Task<void> stop();

  size_t in_progress() const { return gate_.count(); }

 private:
  // Shared by a write and its client; whoever comes last gives it back.
  struct Pending {
    std::optional<Status> ended;
    bool abandoned = false;           // the client has gone
    Promise<bool>* waiter = nullptr;  // in the list below; set to false when the time is over
    int64_t deadline = 0;
    Pending* previous = nullptr;
    Pending* next = nullptr;
  };

  static Task<void> carry(PendingWrites* self, Pending* pending, Task<Status> write);
  Task<std::optional<Status>> wait(Pending* pending, int64_t deadline);
  void expire();
  void arm();
  void insert(Pending* pending);
  void remove(Pending* pending);
  Pending* take();
  void give_back(Pending* pending);

  ShardRuntime& runtime_;
  const Duration& timeout_;
  Pending* first_ = nullptr;
  Pending* last_ = nullptr;
  TimerId timer_ = 0;  // for the first, or for one that has ended since
  int64_t timer_deadline_ = 0;
  std::vector<std::unique_ptr<Pending>> all_;
  std::vector<Pending*> idle_;
  Gate gate_;
};

}  // namespace cassandra_like
