// Promises of every Executor, in the real and in the simulated world.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/runtime/worlds.h"

namespace cassandra_like {
namespace {

using std::chrono::milliseconds;

class ExecutorTest : public BothWorlds {};
INSTANTIATE_TEST_SUITE_P(Worlds, ExecutorTest, testing::Values(WorldKind::kLinux, WorldKind::kSim), world_name);

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

Task<void> brief_hop(Executor* here, Executor* there, std::string* answer) {
  *answer = co_await run_briefly_on<std::string>(*here, *there, [there] { return where(there); });
  EXPECT_TRUE(here->is_current());
}

TEST_P(ExecutorTest, BriefWorkMayHaveToWait) {
  Executor& zero = world(2).shard(0).executor;
  Executor& one = world().shard(1).executor;
  std::string answer;
  for (int i = 0; i < 20; ++i) {
    world().run(0, [&] { return brief_hop(&zero, &one, &answer); });
    EXPECT_EQ(answer, "shard 1");
  }
}

// Not atomic: only its shard touches it.
struct Owned {
  int pieces = 0;
  int posted = 0;
  int timers = 0;
};
struct Crowd {
  static constexpr unsigned kShards = 3;
  static constexpr int kEach = 3000;
  TestWorld& world;
  Owned owned[kShards];
  std::atomic<unsigned> done = 0;
};

// Gives work to all shards in turn, and leaves them something to do afterwards; sleeps now and then, so that others find it asleep.
Task<void> give_work(Crowd* crowd, unsigned from) {
  Executor& here = crowd->world.shard(from).executor;
  for (int i = 0; i < Crowd::kEach; ++i) {
    const unsigned to = (from + static_cast<unsigned>(i)) % Crowd::kShards;
    Executor& there = crowd->world.shard(to).executor;
    auto work = [there = &there, owned = &crowd->owned[to], i] {
      EXPECT_TRUE(there->is_current());
      if (i % 8 == 0) there->post([owned] { ++owned->posted; });
      if (i % 32 == 0) there->schedule(milliseconds(1), [owned] { ++owned->timers; });
      return Task<int>(++owned->pieces);
    };
    const int pieces = co_await run_briefly_on<int>(here, there, work);
    EXPECT_GT(pieces, i / static_cast<int>(Crowd::kShards));
    EXPECT_TRUE(here.is_current());
    if (i % 100 == 0) co_await here.sleep(milliseconds(1));
  }
  ++crowd->done;
}

TEST_P(ExecutorTest, WhoeverDoesAShardsWorkIsTheShard) {
  Crowd crowd{world(Crowd::kShards)};
  for (unsigned i = 0; i < Crowd::kShards; ++i) {
    world().shard(i).executor.post([&crowd, i] { spawn(give_work(&crowd, i)); });
  }
  world().wait_until([&] { return crowd.done == Crowd::kShards; });
  Owned total;
  for (unsigned i = 0; i < Crowd::kShards; ++i) {
    Executor& executor = world().shard(i).executor;
    // Behind what was left for later.
    world().run(i, [&] { return executor.sleep(milliseconds(20)); });
    world().run(i, [&] {
      total.pieces += crowd.owned[i].pieces;
      total.posted += crowd.owned[i].posted;
      total.timers += crowd.owned[i].timers;
      return Task<void>();
    });
  }
  constexpr int kAll = static_cast<int>(Crowd::kShards) * Crowd::kEach;
  EXPECT_EQ(total.pieces, kAll);
  EXPECT_EQ(total.posted, kAll / 8);
  EXPECT_EQ(total.timers, static_cast<int>(Crowd::kShards) * ((Crowd::kEach + 31) / 32));
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

Task<void> block(Blocking* blocking, std::chrono::milliseconds time, std::vector<int>* done, int number) {
  Task<void> slept = blocking->run([time] { std::this_thread::sleep_for(time); });
  co_await slept;
  done->push_back(number);
}

Task<void> tick_until_done(ShardRuntime* shard, std::vector<int>* done, int* ticks) {
  spawn(block(&shard->blocking, milliseconds(100), done, 1));
  for (; done->empty(); ++*ticks) co_await shard->executor.sleep(milliseconds(1));
}

// A callback that took as long would hold up the timers.
TEST_P(ExecutorTest, BlockingWorkLeavesTheShardToOthers) {
  ShardRuntime& shard = world().shard(0);
  std::vector<int> done;
  int ticks = 0;
  world().run(0, [&] { return tick_until_done(&shard, &done, &ticks); });
  EXPECT_EQ(done, std::vector<int>{1});
  EXPECT_GE(ticks, 2);
}

Task<void> run_in_turn(Blocking* blocking, std::vector<int>* order) {
  for (int i = 0; i < 5; ++i) {
    Task<void> pushed = blocking->run([order, i] { order->push_back(i); });
    co_await pushed;
  }
}

TEST_P(ExecutorTest, BlockingWorkOfOneTaskRunsInOrder) {
  std::vector<int> order;
  world().run(0, [&] { return run_in_turn(&world().shard(0).blocking, &order); });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace cassandra_like
