// Memory limits, and power failures while files are written.
#include <fmt/format.h>

#include "fixture.h"
#include "model/counter.h"
#include "model/values.h"

namespace cassandra_like::storage_test {
namespace {

EngineOptions small_memory() {
  EngineOptions options;
  options.memtable_bytes = 256 << 10;
  return options;
}

TEST(PressureTest, FullMemtablesAreFlushedAndWritesGoOn) {
  EngineOptions options;
  options.memtable_bytes = 4 << 20;
  Node node(1, 1, options);
  auto t = node.table("t");
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(node.apply(Update(t, fmt::format("key{}", i % 50)).row(i).cell("v", std::string(1000, 'x'))).ok());
    // Memory comes in chunks.
    ASSERT_LE(node.engine().maintenance().statistics().memtable_bytes, options.memtable_bytes + Arena::kHugeChunk);
  }
  EXPECT_GE(node.engine().maintenance().sstables(t->id).size(), 2u);
  EXPECT_EQ(node.scan("t").size(), 10'050u);
}

// Keys of one shard, whose rows have a thousand bytes each.
void write_kilobytes(Node& node, const TablePtr& table, unsigned shard, unsigned shards, int count) {
  for (int i = 0, written = 0; written < count; ++i) {
    const std::string key = fmt::format("key{}", i);
    if (shard_of(DecoratedKey::of(key).token, shards) != shard) continue;
    ASSERT_TRUE(node.apply(Update(table, key).row(0).cell("v", std::string(1000, 'x'))).ok());
    ++written;
  }
}

TEST(PressureTest, OneShardMayHaveTheMemoryOfAll) {
  EngineOptions options;
  options.memtable_bytes = 32 << 20;
  Node node(1, 4, options);
  auto t = node.table("t");
  write_kilobytes(node, t, 2, 4, 10 << 10);
  EXPECT_TRUE(node.engine(2).maintenance().sstables(t->id).empty());
  EXPECT_GT(node.engine(2).maintenance().statistics().memtable_bytes, options.memtable_bytes / 4);
}

TEST(PressureTest, TheShardWithMostMemoryIsFlushedWhenAnotherNeedsIt) {
  EngineOptions options;
  options.memtable_bytes = 32 << 20;
  Node node(1, 2, options);
  auto t = node.table("t");
  write_kilobytes(node, t, 0, 2, 9 << 10);
  write_kilobytes(node, t, 1, 2, 8 << 10);
  node.world().run_for(std::chrono::seconds(5));
  EXPECT_EQ(node.engine(0).maintenance().sstables(t->id).size(), 1u);
  EXPECT_TRUE(node.engine(1).maintenance().sstables(t->id).empty());
}

TEST(PressureTest, WritesAreRefusedWhenFlushingFailsForLong) {
  Node node(1, 1, small_memory());
  auto t = node.table("t");
  node.machine().set_disk_capacity(300 << 10);
  Status status;
  for (int i = 0; i < 3000 && status.ok(); ++i) {
    status = node.apply(Update(t, "key").row(i).cell("v", std::string(100, 'x')));
  }
  ASSERT_FALSE(status.ok());
  bool expected = status.error().code() == ErrorCode::kOverloaded || status.error().code() == ErrorCode::kDiskFull;
  EXPECT_TRUE(expected) << status.error().message();
  EXPECT_FALSE(node.failures.empty());
}

TEST(PressureTest, FlushingResumesWhenAFullDiskHasRoomAgain) {
  EngineOptions options;
  options.disk_failure_policy = FailurePolicy::kIgnore;
  Node node(1, 1, options);
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "key").row(1).cell("v", "x")).ok());
  node.machine().set_disk_capacity(1);
  EXPECT_FALSE(node.run(node.engine().maintenance().flush({})).ok());
  EXPECT_EQ(node.engine().maintenance().table_statistics(t->id)->pending_flushes, 1u);
  node.machine().set_disk_capacity(1 << 30);
  // Nobody writes and nobody asks for a flush.
  node.world().run_for(std::chrono::seconds(20));
  EXPECT_EQ(node.engine().maintenance().table_statistics(t->id)->pending_flushes, 0u);
  EXPECT_EQ(node.engine().maintenance().sstables(t->id).size(), 1u);
  EXPECT_TRUE(node.failures.empty());
  EXPECT_EQ(node.scan("t"), (Lines{"key", "  1: v=x@1"}));
}

// Increments of one counter that wait for memory together: each adds to what the one before it has left.
TEST(PressureTest, CountersLoseNoIncrementThatWaitsForMemory) {
  Node node(1, 1, small_memory());
  auto t = node.table("t"), n = node.table("n");
  using Added = Result<SerializedMutation>;
  std::deque<std::optional<Status>> written;
  std::deque<std::optional<Added>> added;
  size_t waited = 0;
  for (int i = 0; i < 1000; ++i) {
    Update large(t, "key"), one(n, "counter");
    large.row(i).cell("v", std::string(2000, 'x'));
    one.row(1).cell("n", make_counter_update(1));
    spawn(finish<Status>(node.engine().apply(large.mutation()), &written.emplace_back()));
    spawn(finish<Added>(node.engine().apply_counter(one.mutation()), &added.emplace_back()));
    waited += !added.back().has_value();
    if (i % 100 == 99) node.world().run_for(std::chrono::seconds(3));
  }
  EXPECT_GT(waited, 100u);
  int64_t acknowledged = 0;
  for (const auto& result : added) {
    ASSERT_TRUE(result.has_value());
    acknowledged += result->ok();
  }
  EXPECT_GT(acknowledged, 500);
  EXPECT_EQ(node.counter("counter"), acknowledged);
  node.restart();
  EXPECT_EQ(node.counter("counter"), acknowledged);
}

// A replica would be told the sum of an increment, not the delta.
TEST(PressureTest, ACounterUpdateReturnsWhatItWrote) {
  Node node;
  auto n = node.table("n");
  int64_t sum = 0;
  for (int64_t delta : {5, -2}) {
    Update update(n, "counter");
    update.row(1).cell("n", make_counter_update(delta));
    auto written = node.run(node.engine().apply_counter(update.mutation()));
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(written->token(), murmur3_token("counter"));
    Arena arena;
    auto find = [&](const Uuid&) { return n.get(); };
    auto mutation = deserialize_mutation(written->view(), find, arena);
    ASSERT_TRUE(mutation.ok());
    sum = counter_total(mutation->updates[0].rows[0].cells[0].value);
  }
  EXPECT_EQ(sum, 3);
}

// Power fails at any moment of a flush or a compaction; everything acknowledged is there afterwards.
TEST(PressureTest, PowerFailuresDuringFlushAndCompactionLoseNothing) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    EngineOptions options;
    options.commitlog_sync = CommitLogSync::kBatch;
    Node node(seed, 1, options);
    Random& random = node.world().random();
    auto t = node.table("t");
    int written = 0;
    Lines expected{"key"};
    auto write = [&](int count) {
      for (int i = 0; i < count; ++i, ++written) {
        ASSERT_TRUE(node.apply(Update(t, "key").row(written).cell("v", "x")).ok());
        expected.push_back(fmt::format("  {}: v=x@1", written));
      }
    };
    for (int round = 0; round < 4; ++round) {
      write(10);
      node.flush();
      write(10);
      std::optional<Status> flushed, compacted;
      spawn(finish<Status>(node.engine().maintenance().flush({}), &flushed));
      if (random.below(2) == 0) spawn(finish<Status>(node.engine().maintenance().compact({}), &compacted));
      node.world().run_for(std::chrono::microseconds(random.below(20'000)));
      node.crash();
      ASSERT_TRUE(node.boot()) << node.error();
      ASSERT_EQ(node.read("t", "key"), expected);
    }
  }
}

// Writes go on while the table is flushed and compacted.
TEST(PressureTest, ReadsAreWholeAtEveryMomentOfAFlush) {
  Node node;
  auto t = node.table("t");
  for (int c = 0; c < 20; ++c) ASSERT_TRUE(node.apply(Update(t, "key").row(c).cell("v", "x")).ok());
  node.flush();
  for (int c = 20; c < 40; ++c) ASSERT_TRUE(node.apply(Update(t, "key").row(c).cell("v", "x")).ok());
  std::optional<Status> flushed, compacted;
  spawn(finish<Status>(node.engine().maintenance().flush({}), &flushed));
  spawn(finish<Status>(node.engine().maintenance().compact({}), &compacted));
  int c = 40;
  do {
    ASSERT_EQ(node.read("t", "key").size(), 1u + static_cast<size_t>(c));
    if (c < 100) {
      ASSERT_TRUE(node.apply(Update(t, "key").row(c).cell("v", "x")).ok());
      ++c;
    }
    node.world().run_for(std::chrono::microseconds(100));
  } while (!flushed || !compacted);
  EXPECT_TRUE(flushed->ok() && compacted->ok());
  EXPECT_EQ(node.read("t", "key").size(), 1u + static_cast<size_t>(c));
  node.restart();
  EXPECT_EQ(node.read("t", "key").size(), 1u + static_cast<size_t>(c));
}

TEST(PressureTest, ADrainedNodeTakesNoWritesAndNeedsNoReplay) {
  Node node;
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "key").row(1).cell("v", "x")).ok());
  ASSERT_TRUE(node.run(node.engine().drain()).ok());
  EXPECT_FALSE(node.apply(Update(t, "key").row(2).cell("v", "x")).ok());
  node.restart();
  EXPECT_EQ(node.read("t", "key"), (Lines{"key", "  1: v=x@1"}));
  EXPECT_EQ(node.engine().maintenance().statistics().memtable_bytes,
            Node().engine().maintenance().statistics().memtable_bytes);
}

}  // namespace
}  // namespace cassandra_like::storage_test
