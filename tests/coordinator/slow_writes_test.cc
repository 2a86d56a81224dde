// Writes that take longer than their client waits.
#include <gtest/gtest.h>

#include "coordinator_fixture.h"

namespace cassandra_like::test {
namespace {

// Writes to a shard whose memtables are full wait.
class SlowWrites : public Coordinators {
 protected:
  SlowWrites() {
    node.options.memtable_bytes = 512 << 10;
    restart();
    make_tables();
    CoordinatorOptions options;
    options.write_timeout = options.counter_write_timeout = std::chrono::microseconds(50);
    hurried = Coordinator::create(node.runtime(0), node.on(0), options);
  }
  ~SlowWrites() override { node.kill(); }
  void fill_memory() {
    for (int i = 0; i < 200; ++i) {
      Update& large = large_.emplace_back(node.table("t"), node.key_of(1));
      large.at(10).row(1000 + i).cell("v", std::string(4000, 'x'));
      mutations_.push_back(large.mutation());
    }
    node.runtime(1).executor.post([this] {
      for (size_t i = 0; i < mutations_.size(); ++i) {
        spawn(keep(node.on(1).mutate(mutations_[i]), &results_.emplace_back()));
      }
    });
    node.world().run_until([this] { return results_.size() == mutations_.size(); }, std::chrono::seconds(1));
  }
  void expect_timeout(const Status& status, const std::string& type, Consistency consistency = Consistency::kQuorum) {
    ASSERT_FALSE(status.ok());
    const ErrorInfo& error = status.error().info();
    EXPECT_EQ(error.code, ErrorCode::kWriteTimeout) << error.message;
    EXPECT_EQ(error.message, "Operation timed out - received only 0 responses.");
    EXPECT_EQ(error.write_type, type);
    EXPECT_EQ(error.consistency, static_cast<uint16_t>(consistency));
    EXPECT_EQ(std::tuple(error.required, error.received), std::tuple(1, 0));
  }

  std::unique_ptr<Coordinator> hurried;

 private:
  std::deque<Update> large_;
  std::vector<Mutation> mutations_;
  std::deque<std::optional<Status>> results_;
};

// The client is told of the timeout and frees its request; the owner applies the write when it has memory.
TEST_F(SlowWrites, GoOnWhenTheirClientIsGone) {
  const std::string key = node.key_of(1);
  fill_memory();
  {
    Update update = row(key, "late");
    std::vector<Mutation> mutations{update.mutation()};
    auto write = [&] { return hurried->write(mutations, Consistency::kQuorum, WriteType::kSimple); };
    expect_timeout(node.run<Status>(0, write), "SIMPLE");
    BytesView value = mutations[0].updates[0].rows[0].cells[0].value;
    std::fill_n(const_cast<char*>(value.data()), value.size(), '?');
  }
  EXPECT_EQ(hurried->statistics().timeouts, 1u);
  EXPECT_EQ(hurried->statistics().failures, 0u);
  ASSERT_TRUE(node.run<Status>(0, [&] { return stopped(hurried.get()); }).ok());
  Lines lines = node.read(0, "t", key);
  ASSERT_GT(lines.size(), 1u);
  EXPECT_EQ(lines[1], "  1: v=late@10");
}

TEST_F(SlowWrites, WaitAsLongAsTheTimeoutSaysNow) {
  const std::string key = node.key_of(1);
  fill_memory();
  auto waited = [&] {
    Update update = row(key, "late");
    std::vector<Mutation> mutations{update.mutation()};
    const int64_t began = node.runtime(0).clock.monotonic_nanos();
    auto write = [&] { return hurried->write(mutations, Consistency::kQuorum, WriteType::kSimple); };
    expect_timeout(node.run<Status>(0, write), "SIMPLE");
    return node.runtime(0).clock.monotonic_nanos() - began;
  };
  hurried->set_timeout(&CoordinatorOptions::write_timeout, std::chrono::microseconds(20));
  EXPECT_LT(waited(), 50'000);
  hurried->set_timeout(&CoordinatorOptions::write_timeout, std::chrono::microseconds(90));
  EXPECT_GE(waited(), 90'000);
  ASSERT_TRUE(node.run<Status>(0, [&] { return stopped(hurried.get()); }).ok());
}

TEST_F(SlowWrites, OfCountersAddOnceAlthoughTheClientIsToldOfATimeout) {
  const std::string key = node.key_of(1);
  fill_memory();
  for (int i = 0; i < 3; ++i) {
    Update update = one_more(key);
    std::vector<Mutation> mutations{update.mutation()};
    expect_timeout(node.run<Status>(0, [&] { return hurried->write_counters(mutations, Consistency::kQuorum); }),
                   "COUNTER");
  }
  ASSERT_TRUE(node.run<Status>(0, [&] { return stopped(hurried.get()); }).ok());
  EXPECT_EQ(sum_of(key), 3);
}

TEST_F(SlowWrites, OfBatchesSayWhatTookTooLong) {
  fill_memory();
  Update first = row(node.key_of(1), "x"), second = row(node.key_of(1, 1), "y");
  std::vector<Mutation> mutations{first.mutation(), second.mutation()};
  auto write = [&](WriteType type) {
    return node.run<Status>(0, [&] { return hurried->write(mutations, Consistency::kQuorum, type); });
  };
  expect_timeout(write(WriteType::kUnloggedBatch), "UNLOGGED_BATCH");
  const Status logged = write(WriteType::kBatch);
  const bool is_stored = logged.error().info().write_type == "BATCH";  // the record is on the other shard
  expect_timeout(logged, is_stored ? "BATCH" : "BATCH_LOG", is_stored ? Consistency::kQuorum : Consistency::kOne);
}

// A write that is done at once needs nobody who waits for it.
TEST_F(SlowWrites, AreRefusedAfterAStop) {
  const std::string key = node.key_of(1);
  ASSERT_TRUE(node.run<Status>(0, [&] { return stopped(hurried.get()); }).ok());
  fill_memory();
  Update update = row(key, "late");
  std::vector<Mutation> mutations{update.mutation()};
  Status status = node.run<Status>(0, [&] { return hurried->write(mutations, Consistency::kOne, WriteType::kSimple); });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kClosed);
}

}  // namespace
}  // namespace cassandra_like::test
