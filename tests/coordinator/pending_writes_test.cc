// Clients that wait for writes which do not end in time.
#include "coordinator/pending_writes.h"

#include <gtest/gtest.h>

#include "coordinator_fixture.h"

namespace cassandra_like::test {
namespace {

using PendingWritesTest = Coordinators;

Task<Status> ended_by(Promise<Status>* end) {
  Status status = co_await *end;
  co_return status;
}

Task<void> note_timeout(PendingWrites* writes, Promise<Status>* end, int64_t began, std::vector<int64_t>* timeouts) {
  Task<std::optional<Status>> waiting = writes->run(ended_by(end), began);
  std::optional<Status> ended = co_await waiting;
  if (!ended) timeouts->push_back(began);
}

// The later steps of a batch are such writes.
TEST_F(PendingWritesTest, TheOneThatBeganFirstTimesOutFirstAlthoughItComesLater) {
  constexpr int64_t kTimeout = 2'000'000, kEarlier = 1'500'000;
  const Duration timeout(kTimeout);
  PendingWrites writes(node.runtime(0), timeout);
  Promise<Status> end, end_of_earlier;
  std::vector<int64_t> timeouts;
  int64_t now = 0, passed = 0;
  node.runtime(0).executor.post([&] {
    now = node.runtime(0).clock.monotonic_nanos();
    spawn(note_timeout(&writes, &end, now, &timeouts));
    spawn(note_timeout(&writes, &end_of_earlier, now - kEarlier, &timeouts));
  });
  node.world().run_until([&] { return timeouts.size() == 1; }, std::chrono::seconds(1));
  passed = node.runtime(0).clock.monotonic_nanos() - now;
  EXPECT_GE(passed, kTimeout - kEarlier);
  EXPECT_LT(passed, kTimeout);
  node.world().run_until([&] { return timeouts.size() == 2; }, std::chrono::seconds(1));
  EXPECT_EQ(timeouts, (std::vector<int64_t>{now - kEarlier, now}));
  node.runtime(0).executor.post([&] {
    end.set(Status());
    end_of_earlier.set(Status());
  });
  node.world().run_until([&] { return writes.in_progress() == 0; }, std::chrono::seconds(1));
  EXPECT_EQ(writes.in_progress(), 0u);
}

}  // namespace
}  // namespace cassandra_like::test
