// What every Executor promises, in the real and in the simulated world.
#include <atomic>
#include <vector>

#include "tests/runtime/worlds.h"

namespace cassandra_like {
namespace {

using std::chrono::milliseconds;

class ExecutorTest : public BothWorlds {};
INSTANTIATE_TEST_SUITE_P(Worlds, ExecutorTest, testing::Values(WorldKind::kAsio, WorldKind::kSim), world_name);

TEST_P(ExecutorTest, PostsOfOneShardRunInOrderAndLater) {
  Executor& zero = world(2).shard(0).executor;
  Executor& one = world().shard(1).executor;
  std::vector<int> here;
  std::vector<int> there;
  std::atomic<int> ran = 0;
  zero.post([&] {
    for (int i = 0; i < 1000; ++i) {
      zero.post([&, i] { here.push_back(i); });
      one.post([&, i] {
        there.push_back(i);
        ++ran;
      });
    }
    EXPECT_TRUE(here.empty());
  });
  world().wait_until([&] { return here.size() == 1000 && ran == 1000; });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(here[static_cast<size_t>(i)], i);
    ASSERT_EQ(there[static_cast<size_t>(i)], i);
  }
}

TEST_P(ExecutorTest, KnowsWhetherItIsCurrent) {
  Executor& zero = world(2).shard(0).executor;
  Executor& one = world().shard(1).executor;
  EXPECT_FALSE(zero.is_current());
  std::atomic<bool> done = false;
  zero.post([&] {
    EXPECT_TRUE(zero.is_current());
    EXPECT_FALSE(one.is_current());
    one.post([&] {
      EXPECT_FALSE(zero.is_current());
      EXPECT_TRUE(one.is_current());
      EXPECT_EQ(one.shard(), 1u);
      done = true;
    });
  });
  world().wait_until([&] { return done.load(); });
}

Task<std::string> where(Executor* executor) {
  co_await executor->yield();
  co_return std::string("shard ") + std::to_string(executor->shard());
}

Task<void> hop_and_back(Executor* here, Executor* there, std::string* answer) {
  *answer = co_await run_on<std::string>(*here, *there, [there] { return where(there); });
  EXPECT_TRUE(here->is_current());
}

TEST_P(ExecutorTest, RunOnBringsTheResultBack) {
  Executor& zero = world(2).shard(0).executor;
  Executor& one = world().shard(1).executor;
  std::string answer;
  world().run(0, [&] { return hop_and_back(&zero, &one, &answer); });
  EXPECT_EQ(answer, "shard 1");
  world().run(0, [&] { return hop_and_back(&zero, &zero, &answer); });
  EXPECT_EQ(answer, "shard 0");
}

TEST_P(ExecutorTest, TimersRunInTheOrderOfTheirDeadlines) {
  Executor& e = world().shard(0).executor;
  Clock& clock = world().shard(0).clock;
  std::vector<int> ran;
  std::vector<int64_t> late;
  e.post([&] {
    int64_t start = clock.monotonic_nanos();
    for (int ms : {30, 10, 40, 20}) {
      e.schedule(milliseconds(ms), [&, ms, start] {
        ran.push_back(ms);
        late.push_back(clock.monotonic_nanos() - start - ms * 1'000'000);
      });
    }
  });
  world().wait_until([&] { return ran.size() == 4; });
  EXPECT_EQ(ran, (std::vector<int>{10, 20, 30, 40}));
  for (int64_t l : late) EXPECT_GE(l, 0);
}

TEST_P(ExecutorTest, ACancelledTimerDoesNotRun) {
  Executor& e = world().shard(0).executor;
  auto captured = std::make_shared<int>(0);
  bool ended = false;
  e.post([&] {
    TimerId id = e.schedule(milliseconds(5), [captured] { ++*captured; });
    EXPECT_TRUE(e.cancel(id));
    EXPECT_EQ(captured.use_count(), 1);  // the callback is gone
    EXPECT_FALSE(e.cancel(id));
    TimerId next = e.schedule(milliseconds(5), [captured] { *captured += 10; });
    EXPECT_NE(next, id);
    EXPECT_FALSE(e.cancel(id));
    e.schedule(milliseconds(20), [&, next] {
      EXPECT_FALSE(e.cancel(next));
      ended = true;
    });
  });
  world().wait_until([&] { return ended; });
  EXPECT_EQ(*captured, 10);
}

Task<void> sleeper(Executor* e, Clock* clock, int64_t* slept) {
  int64_t start = clock->monotonic_nanos();
  co_await e->sleep(milliseconds(15));
  *slept = clock->monotonic_nanos() - start;
}

TEST_P(ExecutorTest, SleepLastsAtLeastAsLong) {
  ShardRuntime& s = world().shard(0);
  int64_t slept = 0;
  world().run(0, [&] { return sleeper(&s.executor, &s.clock, &slept); });
  EXPECT_GE(slept, 15'000'000);
  EXPECT_LT(slept, 1'000'000'000);
}

TEST_P(ExecutorTest, ManyTimersAndCancellations) {
  ShardRuntime& s = world().shard(0);
  int ran = 0;
  int expected = 0;
  s.executor.post([&] {
    std::vector<TimerId> ids;
    for (int i = 0; i < 2000; ++i) {
      Duration delay = std::chrono::microseconds(s.random.below(20'000));
      ids.push_back(s.executor.schedule(delay, [&] { ++ran; }));
    }
    for (size_t i = 0; i < ids.size(); i += 3) EXPECT_TRUE(s.executor.cancel(ids[i]));
    expected = 2000 - 667;
  });
  world().wait_until([&] { return expected != 0 && ran == expected; });
}

// All shards post to all others at once: nothing is lost, whoever sleeps is woken.
TEST_P(ExecutorTest, ShardsFloodEachOther) {
  constexpr unsigned kShards = 3;
  constexpr int kEach = 3000;
  TestWorld& w = world(kShards);
  std::atomic<int> arrived = 0;
  for (unsigned from = 0; from < kShards; ++from) {
    w.shard(from).executor.post([&w, &arrived] {
      for (int i = 0; i < kEach; ++i) {
        for (unsigned to = 0; to < kShards; ++to) {
          w.shard(to).executor.post([&arrived] { ++arrived; });
        }
      }
    });
  }
  w.wait_until([&] { return arrived == static_cast<int>(kShards * kShards) * kEach; });
}

}  // namespace
}  // namespace cassandra_like
