#include "runtime/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace cassandra_like {
namespace {

Task<int> ready_task() { return 42; }

Task<int> add(Promise<int>* a, Promise<int>* b) {
  int x = co_await *a;
  int y = co_await *b;
  co_return x + y;
}

Task<void> store(Task<int> from, int* to) { *to = co_await from; }

TEST(Task, AValueNeedsNoFrame) {
  Task<int> t = ready_task();
  EXPECT_TRUE(t.ready());
  EXPECT_EQ(t.take(), 42);
  int out = 0;
  spawn(store(ready_task(), &out));
  EXPECT_EQ(out, 42);
}

TEST(Task, IsLazyAndResumesWhenItsPromisesAreSet) {
  Promise<int> a;
  Promise<int> b;
  int out = 0;
  Task<void> t = store(add(&a, &b), &out);
  EXPECT_FALSE(t.ready());
  spawn(std::move(t));
  b.set(2);
  EXPECT_EQ(out, 0);
  a.set(40);
  EXPECT_EQ(out, 42);
}

Task<void> hold(std::shared_ptr<int> value, Promise<int>* until) { *value = co_await *until; }

TEST(Task, ADetachedFrameFreesWhatItHolds) {
  auto value = std::make_shared<int>(1);
  Promise<int> until;
  spawn(hold(value, &until));
  EXPECT_EQ(value.use_count(), 2);
  until.set(0);
  EXPECT_EQ(value.use_count(), 1);
  { Task<void> never_started = hold(value, &until); }
  EXPECT_EQ(value.use_count(), 1);
}

Task<int> deep(int n) {
  if (n == 0) co_return 0;
  int below = co_await deep(n - 1);
  co_return below + 1;
}

TEST(Task, ChainsAreAwaitedInOrder) {
  int out = 0;
  spawn(store(deep(1000), &out));
  EXPECT_EQ(out, 1000);
}

Task<void> close_gate(Gate* gate, bool* closed) {
  co_await gate->close();
  *closed = true;
}

TEST(Gate, CloseWaitsForThoseInside) {
  Gate gate;
  EXPECT_TRUE(gate.enter());
  EXPECT_TRUE(gate.enter());
  bool closed = false;
  spawn(close_gate(&gate, &closed));
  EXPECT_FALSE(gate.enter());
  gate.leave();
  EXPECT_FALSE(closed);
  gate.leave();
  EXPECT_TRUE(closed);
  EXPECT_TRUE(gate.closed());
  EXPECT_EQ(gate.count(), 0u);
}

TEST(Gate, AnEmptyOneClosesAtOnce) {
  Gate gate;
  bool closed = false;
  spawn(close_gate(&gate, &closed));
  EXPECT_TRUE(closed);
}

}  // namespace
}  // namespace cassandra_like
