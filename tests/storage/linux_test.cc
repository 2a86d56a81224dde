// The engine on real files and threads: a life, a stop without a flush, and a second life.
#include <filesystem>
#include <future>

#include <fmt/format.h>

#include "fixture.h"
#include "runtime/linux/linux_runtime.h"
#include "storage/cache/chunk_budget.h"
#include "storage/memtable_budget.h"

namespace cassandra_like::storage_test {
namespace {

class RealNode {
 public:
  explicit RealNode(CommitLogSync sync) : runtime_(std::make_unique<LinuxRuntime>(1)) {
    CHECK(runtime_->start().ok());
    options_.data_directories = {directory() / "data"};
    options_.commitlog_directory = directory() / "commitlog";
    options_.commitlog_sync = sync;
    options_.commitlog_group_window = std::chrono::milliseconds(5);
    options_.commitlog_segment_bytes = 1 << 20;
    options_.auto_snapshot = false;
    options_.memtables = std::make_shared<MemtableBudget>(options_.memtable_bytes, 1);
    options_.chunks = std::make_shared<ChunkBudget>(options_.chunk_cache_bytes, 1);
    EXPECT_TRUE(run([this](Engine*) {
                  engine_ = std::make_unique<Engine>(runtime_->shard(0), 1, options_);
                  return open(engine_.get(), make_schema({make_table("t")}));
                }).ok());
  }
  ~RealNode() {
    EXPECT_TRUE(run([](Engine* engine) { return stop(engine); }).ok());
    EXPECT_TRUE(run([this](Engine*) {
                  engine_.reset();
                  return Task<Status>(Status());
                }).ok());
    runtime_->stop();
  }
  static std::filesystem::path directory() {
    return std::filesystem::temp_directory_path() / fmt::format("storage_test_{}", ::getpid());
  }
  Status run(std::function<Task<Status>(Engine*)> work) {
    std::promise<Status> done;
    runtime_->shard(0).executor.post([&] { spawn(fulfil(work(engine_.get()), &done)); });
    return done.get_future().get();
  }

 private:
  static Task<Status> open(Engine* engine, SchemaPtr schema) {
    CO_TRY(co_await engine->set_schema(schema));
    std::function<bool(const TableMetadata&)> all = [](const TableMetadata&) { return true; };
    TruncationRecords none;
    Status replayed = co_await engine->replay(all, none);
    if (!replayed.ok()) co_return replayed;
    co_return co_await engine->start();
  }
  static Task<Status> stop(Engine* engine) {
    co_await engine->stop();
    co_return Status();
  }
  static Task<void> fulfil(Task<Status> task, std::promise<Status>* done) { done->set_value(co_await task); }

  std::unique_ptr<LinuxRuntime> runtime_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
};

Task<Status> read_all(Engine* engine, TablePtr table, RowSink* sink) {
  ReadCommand command;
  command.table = table;
  command.now_seconds = kNow;
  command.range = KeyRange{};
  Result<ReadStatistics> read = co_await engine->read(command, *sink);
  co_return read.ok() ? Status() : Status(std::move(read.error()));
}

class OnAsio : public testing::TestWithParam<CommitLogSync> {};

TEST_P(OnAsio, WritesSurviveAStopWithoutAFlush) {
  std::filesystem::remove_all(RealNode::directory());
  auto table = make_table("t");
  for (int life = 0; life < 3; ++life) {
    RealNode node(GetParam());
    for (int c = 0; c < 10; ++c) {
      auto update = std::make_shared<Update>(table, "key");
      update->row(life * 10 + c).cell("v", "x");
      Mutation mutation = update->mutation();
      ASSERT_TRUE(node.run([&](Engine* engine) { return engine->apply(mutation); }).ok());
    }
    if (life == 1) {
      ASSERT_TRUE(node.run([](Engine* engine) { return engine->maintenance().flush({}); }).ok());
    }
    TextSink sink(*table);
    ASSERT_TRUE(node.run([&](Engine* engine) { return read_all(engine, table, &sink); }).ok());
    EXPECT_EQ(sink.lines.size(), 1u + static_cast<size_t>(life + 1) * 10);
  }
  std::filesystem::remove_all(RealNode::directory());
}

INSTANTIATE_TEST_SUITE_P(Storage, OnAsio,
                         testing::Values(CommitLogSync::kPeriodic, CommitLogSync::kBatch, CommitLogSync::kGroup));

}  // namespace
}  // namespace cassandra_like::storage_test
