// Requests of a coordinator to its replicas, and its answers when they are silent.
#include "coordinator/coordinator.h"

#include <gmock/gmock.h>

#include <fstream>

#include "model/counter.h"
#include "model/values.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

using storage_test::kNow;
using storage_test::make_table;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}

// The answers of one node of Cassandra 5.0.9; see oracle/unavailable.py.
std::vector<std::vector<std::string>> recorded_answers() {
  std::vector<std::vector<std::string>> answers;
  std::ifstream file(SOURCE_DIR "/tests/coordinator/data/unavailable.txt");
  for (std::string line; std::getline(file, line);) answers.push_back(split(line));
  return answers;
}

class Coordinators : public testing::Test {
 protected:
  Coordinators() { make_coordinators(); }
  ~Coordinators() override { node.kill(); }

  void make_coordinators() {
    coordinators.clear();
    for (unsigned i = 0; i < node.shards(); ++i) {
      coordinators.push_back(Coordinator::create(node.runtime(i), node.on(i), {}));
    }
  }
  void restart() {
    node.kill();
    node.boot(2);
    make_coordinators();
  }
  void make_tables(const std::string& strategy = "SimpleStrategy", int factor = 1) {
    std::string option = strategy == "SimpleStrategy" ? "replication_factor" : "datacenter1";
    auto made = node.change(0, make_keyspace({make_table("t"), make_table("n")}, strategy, option, factor));
    ASSERT_TRUE(made.ok());
  }
  Status write(std::vector<Update> updates, Consistency consistency = Consistency::kOne,
               WriteType type = WriteType::kSimple) {
    std::vector<Mutation> mutations;
    for (Update& update : updates) mutations.push_back(update.mutation());
    return node.run<Status>(0, [&] { return coordinators[0]->write(mutations, consistency, type); });
  }
  Status add(Update update, Consistency consistency = Consistency::kOne) {
    std::vector<Mutation> mutations{update.mutation()};
    return node.run<Status>(0, [&] { return coordinators[0]->write_counters(mutations, consistency); });
  }
  Status read(const ReadCommand& command, Consistency consistency = Consistency::kOne) {
    TextSink sink(*command.table);
    using Answer = Result<ReadStatistics>;
    auto done = node.run<Answer>(0, [&] { return coordinators[0]->read(command, consistency, sink); });
    return done.ok() ? Status() : Status(std::move(done.error()));
  }
  Update row(const std::string& key, const std::string& value, int64_t timestamp = 10) {
    return std::move(Update(node.table("t"), key).at(timestamp).row(1).cell("v", value));
  }
  Update one_more(const std::string& key) {
    return std::move(Update(node.table("n"), key).row(1).cell("n", encode_bigint(1)));
  }
  int64_t sum_of(const std::string& key) {
    struct Total : RowSink {
      Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
      Next row(const Row& row) override { return total = counter_total(row.cells[0].value), Next::kContinue; }
      int64_t total = 0;
    };
    Total sum;
    ReadCommand read = node.command("n", {key});
    EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(read, sum); }).ok());
    return sum.total;
  }
  size_t batches_left() {
    ReadCommand all;
    all.table = node.table("batches", "system");
    all.range = KeyRange{};
    all.now_seconds = kNow;
    struct Count : RowSink {
      Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
      Next row(const Row&) override { return ++rows, Next::kContinue; }
      size_t rows = 0;
    } count;
    EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(all, count); }).ok());
    return count.rows;
  }

  ReplicaNode node;
  std::vector<std::unique_ptr<Coordinator>> coordinators;
};

// "ok", or the fields of recorded_answers().
std::vector<std::string> told(const Status& status) {
  if (status.ok()) return {"ok"};
  const Error& error = status.error();
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  return {std::to_string(error.info().required), std::to_string(error.info().received), error.message()};
}

TEST_F(Coordinators, SayUnavailableAsCassandraDoes) {
  auto answers = recorded_answers();
  ASSERT_EQ(answers.size(), 74u);
  uint64_t refused = 0;
  std::string current;
  for (const auto& answer : answers) {
    if (answer[0] != current) make_tables(current = answer[0], 3);
    Consistency consistency = *parse_consistency(answer[1]);
    Status status = answer[2] == "write"     ? write({row("a", "x")}, consistency)
                    : answer[2] == "counter" ? add(one_more("a"), consistency)
                    : answer[2] == "read"    ? read(node.command("t", {"a"}), consistency)
                                             : read(node.command("t"), consistency);
    EXPECT_EQ(told(status), (std::vector<std::string>{answer.begin() + 3, answer.end()}))
        << answer[0] << " " << answer[1] << " " << answer[2];
    refused += !status.ok();
  }
  EXPECT_EQ(coordinators[0]->statistics().unavailables, refused);
}

TEST_F(Coordinators, WriteNothingThatIsUnavailable) {
  make_tables("SimpleStrategy", 3);
  EXPECT_FALSE(write({row("a", "x"), row("b", "x")}, Consistency::kQuorum, WriteType::kBatch).ok());
  EXPECT_FALSE(add(one_more("a"), Consistency::kAll).ok());
  EXPECT_EQ(node.scan(0, "t"), Lines());
  EXPECT_EQ(node.scan(0, "n"), Lines());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(Coordinators, CountReplicasAnewWhenTheKeyspaceChanges) {
  make_tables("SimpleStrategy", 3);
  EXPECT_FALSE(write({row("a", "x")}, Consistency::kQuorum).ok());
  make_tables("SimpleStrategy", 1);
  EXPECT_TRUE(write({row("a", "x")}, Consistency::kQuorum).ok());
}

TEST_F(Coordinators, AreTheOnlyReplicaOfTheNodesOwnTables) {
  ReadCommand local;
  local.table = node.table("local", "system");
  local.range = KeyRange{};
  local.now_seconds = kNow;
  for (Consistency any : {Consistency::kOne, Consistency::kQuorum, Consistency::kAll, Consistency::kLocalQuorum}) {
    EXPECT_TRUE(read(local, any).ok());
  }
  EXPECT_EQ(read(local, Consistency::kTwo).error().message(), "Cannot achieve consistency level TWO");
}

TEST(BlockForTest, OfSeveralDataCenters) {
  ReplicationParams replication;
  replication.options = {{"class", "org.apache.cassandra.locator.NetworkTopologyStrategy"}, {"dc1", "3"}, {"dc2", "2"}};
  ReplicationStrategy strategy = *ReplicationStrategy::make(replication);
  EXPECT_EQ(block_for(Consistency::kQuorum, strategy, "dc1"), 3);
  EXPECT_EQ(block_for(Consistency::kLocalQuorum, strategy, "dc1"), 2);
  EXPECT_EQ(block_for(Consistency::kAll, strategy, "dc1"), 5);
  EXPECT_EQ(block_for(Consistency::kLocalQuorum, strategy, "dc3"), 1);
  EXPECT_EQ(block_for(Consistency::kLocalOne, strategy, "dc3"), 1);
}

// A node whose tables in keyspace ks refuse writes: as if the power had gone before them.
class WithoutUserWrites : public Replica {
 public:
  explicit WithoutUserWrites(Replica& replica) : replica_(replica) {}
  Task<Status> mutate(const MutationPayload& mutation) override {
    if (mutation.rows()->keyspace == "ks" && refuses) return Status(Error(ErrorCode::kIo, "no power"));
    return replica_.mutate(mutation);
  }
  Task<Result<SerializedMutation>> mutate_counter(const MutationPayload& deltas) override {
    return replica_.mutate_counter(deltas);
  }
  Task<Result<ReadStatistics>> read(const ReadCommand& command, RowSink& sink, int64_t deadline) override {
    return replica_.read(command, sink, deadline);
  }
  Task<Status> truncate(TablePtr table) override { return replica_.truncate(table); }
  SchemaStore& schema() override { return replica_.schema(); }
  void prefetch(std::span<const PrefetchKey> partitions) override { replica_.prefetch(partitions); }
  VirtualTables& virtual_tables() override { return replica_.virtual_tables(); }
  Engine& engine() override { return replica_.engine(); }
  const LocalNode& local_node() const override { return replica_.local_node(); }
  TopologyStore& topology() override { return replica_.topology(); }
  const ReplicaStatistics& statistics() const override { return replica_.statistics(); }
  Task<Status> on_every_engine(std::function<Task<Status>(Engine&)> work) override {
    return replica_.on_every_engine(std::move(work));
  }
  Task<std::vector<TableStatistics>> table_statistics(Uuid table) override { return replica_.table_statistics(table); }
  Task<std::vector<EngineStatistics>> engine_statistics() override { return replica_.engine_statistics(); }
  Task<Status> build_index(TablePtr table, std::string index) override { return replica_.build_index(table, index); }

  bool refuses = true;

 private:
  Replica& replica_;
};

Task<Status> stopped(Coordinator* coordinator) {
  co_await coordinator->stop();
  co_return Status();
}

Task<Status> replay_all(Batchlog* batchlog) {
  co_await batchlog->replay_all();
  co_return Status();
}

class LoggedBatches : public Coordinators {
 protected:
  LoggedBatches() { make_tables(); }
  void write_half() {
    WithoutUserWrites half(node.on(0));
    // It lives as long as the node: the schema has it as a listener.
    Coordinator* coordinator = coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {})).get();
    Update first = row(node.key_of(0), "x"), second = row(node.key_of(1), "y");
    std::vector<Mutation> mutations{first.mutation(), second.mutation()};
    Status status =
        node.run<Status>(0, [&] { return coordinator->write(mutations, Consistency::kOne, WriteType::kBatch); });
    ASSERT_FALSE(status.ok());
    ASSERT_EQ(batches_left(), 1u);
  }
  void replay() {
    node.run<Status>(0, [&] { return replay_all(&coordinators[0]->batchlog()); });
  }
  Lines both() { return {node.key_of(0), "  1: v=x@10", node.key_of(1), "  1: v=y@10"}; }
  Lines found() { return node.read(0, node.command("t", {node.key_of(0), node.key_of(1)})); }
};

TEST_F(LoggedBatches, LeaveNoRecordBehind) {
  EXPECT_TRUE(write({row(node.key_of(0), "x"), row(node.key_of(1), "y")}, Consistency::kOne, WriteType::kBatch).ok());
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
  // It was there: its partition's deletion is.
  EXPECT_GT(node.on(0).engine().table_statistics(node.table("batches", "system")->id)->writes +
                node.on(1).engine().table_statistics(node.table("batches", "system")->id)->writes,
            1u);
}

TEST_F(LoggedBatches, UnloggedOnesAndSingleMutationsNeedNoRecord) {
  EXPECT_TRUE(write({row("a", "x"), row("b", "y")}, Consistency::kOne, WriteType::kUnloggedBatch).ok());
  EXPECT_TRUE(write({row("c", "x")}, Consistency::kOne, WriteType::kBatch).ok());
  for (unsigned shard : {0u, 1u}) {
    EXPECT_EQ(node.on(shard).engine().table_statistics(node.table("batches", "system")->id)->writes, 0u);
  }
}

TEST_F(LoggedBatches, AreFinishedAfterARestart) {
  write_half();
  EXPECT_EQ(found(), Lines());
  restart();
  replay();
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(LoggedBatches, KeepTheirTimestampsSoThatLaterWritesWin) {
  write_half();
  EXPECT_TRUE(write({row(node.key_of(1), "later", 11)}).ok());
  replay();
  EXPECT_EQ(found(), (Lines{node.key_of(0), "  1: v=x@10", node.key_of(1), "  1: v=later@11"}));
}

TEST_F(LoggedBatches, OfDroppedTablesAreForgotten) {
  write_half();
  ASSERT_TRUE(node.change(0, drop_table("t")).ok());
  replay();
  EXPECT_EQ(batches_left(), 0u);
}

// From the error in the middle until a round of the batchlog, the batch is half applied.
TEST_F(LoggedBatches, ThatFailInTheMiddleAreFinishedByALaterRound) {
  WithoutUserWrites half(node.on(0));
  Coordinator& coordinator = *coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {}));
  node.run<Status>(0, [&] {
    coordinator.batchlog().start();
    return Task<Status>(Status());
  });
  node.world().run_for(std::chrono::seconds(7));
  Update first = row(node.key_of(0), "x"), second = row(node.key_of(1), "y");
  std::vector<Mutation> mutations{first.mutation(), second.mutation()};
  auto write_batch = [&] { return coordinator.write(mutations, Consistency::kOne, WriteType::kBatch); };
  ASSERT_FALSE(node.run<Status>(0, write_batch).ok());
  half.refuses = false;
  // The round after 10 s leaves it alone: it is 3 s old and may be under way.
  node.world().run_for(std::chrono::seconds(8));
  EXPECT_EQ(found(), Lines());
  EXPECT_EQ(batches_left(), 1u);
  node.world().run_for(std::chrono::seconds(8));
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
  EXPECT_EQ(coordinator.batchlog().batches_replayed(), 1u);
}

TEST_F(LoggedBatches, AreTriedAgainUntilTheySucceed) {
  WithoutUserWrites half(node.on(0));
  Coordinator& coordinator = *coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {}));
  Update first = row(node.key_of(0), "x"), second = row(node.key_of(1), "y");
  std::vector<Mutation> mutations{first.mutation(), second.mutation()};
  auto write_batch = [&] { return coordinator.write(mutations, Consistency::kOne, WriteType::kBatch); };
  ASSERT_FALSE(node.run<Status>(0, write_batch).ok());
  node.run<Status>(0, [&] {
    coordinator.batchlog().start();
    return Task<Status>(Status());
  });
  node.world().run_for(std::chrono::seconds(25));
  EXPECT_EQ(batches_left(), 1u);
  half.refuses = false;
  node.world().run_for(std::chrono::seconds(10));
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(LoggedBatches, DoNotUndoATruncate) {
  write_half();
  TablePtr table = node.table("t");
  ASSERT_TRUE(node.run<Status>(0, [&] { return coordinators[0]->truncate(table); }).ok());
  replay();
  EXPECT_EQ(found(), Lines());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(LoggedBatches, WrittenAfterATruncateAreFinished) {
  TablePtr table = node.table("t");
  ASSERT_TRUE(node.run<Status>(0, [&] { return coordinators[0]->truncate(table); }).ok());
  node.world().run_for(std::chrono::milliseconds(5));
  write_half();
  replay();
  EXPECT_EQ(found(), both());
}

// Their tombstones may be gone, and what they deleted with them.
TEST_F(LoggedBatches, OlderThanGcGraceAreForgotten) {
  auto table = std::make_shared<TableMetadata>(*node.table("t"));
  table->params.gc_grace_seconds = 60;
  ASSERT_TRUE(node.change(0, make_keyspace({table})).ok());
  write_half();
  node.world().run_for(std::chrono::seconds(61));
  replay();
  EXPECT_EQ(found(), Lines());
  EXPECT_EQ(batches_left(), 0u);
}

// More than one page of records.
TEST_F(LoggedBatches, AreFoundPageByPage) {
  WithoutUserWrites half(node.on(0));
  Coordinator& coordinator = *coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {}));
  for (int i = 0; i < 300; ++i) {
    Update first = row(node.key_of(0, i), "x"), second = row(node.key_of(1, i), "y");
    std::vector<Mutation> mutations{first.mutation(), second.mutation()};
    auto write_batch = [&] { return coordinator.write(mutations, Consistency::kOne, WriteType::kBatch); };
    ASSERT_FALSE(node.run<Status>(0, write_batch).ok());
  }
  ASSERT_EQ(batches_left(), 300u);
  restart();
  replay();
  EXPECT_EQ(batches_left(), 0u);
  EXPECT_EQ(node.scan(1, "t").size(), 1200u);
}

Task<void> keep(Task<Status> task, std::optional<Status>* result) { *result = co_await task; }

// The power goes at any moment of a batch: then all of it is there after the replay, or nothing.
TEST_F(LoggedBatches, AreWholeOrNotThereAfterAPowerFailure) {
  node.options.commitlog_sync = CommitLogSync::kBatch;
  restart();
  make_tables();
  size_t whole = 0, nothing = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string a = node.key_of(0, i), b = node.key_of(1, i);
    Update first = row(a, "x"), second = row(b, "y");
    std::vector<Mutation> mutations{first.mutation(), second.mutation()};
    std::optional<Status> result;
    node.runtime(0).executor.post(
        [&] { spawn(keep(coordinators[0]->write(mutations, Consistency::kOne, WriteType::kBatch), &result)); });
    node.world().run_for(std::chrono::microseconds(node.world().random().below(8000)));
    const bool acknowledged = result.has_value() && result->ok();
    node.crash();
    coordinators.clear();
    node.boot(2);
    make_coordinators();
    replay();
    const size_t lines = node.read(0, node.command("t", {a, b})).size();
    ASSERT_TRUE(lines == 4 || (lines == 0 && !acknowledged)) << lines;
    ++(lines == 4 ? whole : nothing);
    EXPECT_EQ(batches_left(), 0u);
  }
  EXPECT_GT(whole, 5u);
  EXPECT_GT(nothing, 5u);
}

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
  node.run<Status>(0, [&] { return stopped(hurried.get()); });
  Lines lines = node.read(0, "t", key);
  ASSERT_GT(lines.size(), 1u);
  EXPECT_EQ(lines[1], "  1: v=late@10");
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
  node.run<Status>(0, [&] { return stopped(hurried.get()); });
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

TEST_F(SlowWrites, AreRefusedAfterAStop) {
  const std::string key = node.key_of(1);
  node.run<Status>(0, [&] { return stopped(hurried.get()); });
  Update update = row(key, "late");
  std::vector<Mutation> mutations{update.mutation()};
  Status status = node.run<Status>(0, [&] { return hurried->write(mutations, Consistency::kOne, WriteType::kSimple); });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kClosed);
}

TEST_F(Coordinators, AddToCountersOnTheirShards) {
  make_tables();
  for (unsigned shard : {0u, 1u}) {
    std::string key = node.key_of(shard);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(add(one_more(key)).ok());
    EXPECT_EQ(sum_of(key), 5);
  }
}

TEST_F(Coordinators, CountWhatTheyDo) {
  make_tables();
  for (unsigned shard : {0u, 1u}) {
    EXPECT_TRUE(write({row(node.key_of(shard), "x")}).ok());
    EXPECT_TRUE(read(node.command("t", {node.key_of(shard)})).ok());
  }
  EXPECT_TRUE(read(node.command("t")).ok());
  EXPECT_TRUE(add(one_more("a")).ok());
  Update lost = row("a", "x");
  ASSERT_TRUE(node.change(0, drop_table("t")).ok());
  std::vector<Update> writes;
  writes.push_back(std::move(lost));
  EXPECT_FALSE(write(std::move(writes)).ok());
  const CoordinatorStatistics& statistics = coordinators[0]->statistics();
  EXPECT_EQ(statistics.write_micros.count(), 4u);
  EXPECT_EQ(statistics.read_micros.count(), 2u);
  EXPECT_EQ(statistics.range_micros.count(), 1u);
  EXPECT_EQ(statistics.failures, 1u);
  EXPECT_EQ(statistics.unavailables, 0u);
  EXPECT_EQ(coordinators[1]->statistics().write_micros.count(), 0u);
  EXPECT_EQ(coordinators[0]->latencies(node.table("n")->id)->write_micros.count(), 1u);
  EXPECT_EQ(coordinators[1]->latencies(node.table("n")->id), nullptr);
}

TEST_F(Coordinators, TellClientsWhoFailedToReadAndWhy) {
  node.options.tombstone_failure_threshold = 2;
  make_tables();
  restart();
  std::string key = node.key_of(0), other = node.key_of(1);
  for (int c = 0; c < 3; ++c) {
    for (const std::string& k : {key, other}) {
      EXPECT_TRUE(write({std::move(Update(node.table("t"), k).at(10).row(c).tombstone("v"))}).ok());
    }
  }
  for (const std::string& k : {key, other}) {
    Status status = read(node.command("t", {k}), Consistency::kLocalQuorum);
    ASSERT_FALSE(status.ok());
    const ErrorInfo& error = status.error().info();
    EXPECT_EQ(error.code, ErrorCode::kReadFailure);
    EXPECT_EQ(error.message,
              "Operation failed - received 0 responses and 1 failures: READ_TOO_MANY_TOMBSTONES from /127.0.0.1:7000");
    EXPECT_EQ(error.consistency, static_cast<uint16_t>(Consistency::kLocalQuorum));
    EXPECT_EQ(std::tuple(error.required, error.received, error.failures, error.data_present),
              std::tuple(1, 0, 1, false));
    EXPECT_THAT(error.failure_reasons, testing::ElementsAre(testing::Pair(Bytes("\x7f\0\0\1", 4), 1)));
  }
  EXPECT_EQ(coordinators[0]->statistics().failures, 2u);
}

TEST_F(Coordinators, TellClientsThatAReadTookTooLong) {
  make_tables();
  const std::string key = node.key_of(0), other = node.key_of(1);
  for (const std::string& k : {key, other}) {
    Update update(node.table("t"), k);
    for (int c = 0; c < 3000; ++c) update.row(c).live();
    std::vector<Update> writes;
    writes.push_back(std::move(update));
    ASSERT_TRUE(write(std::move(writes)).ok());
  }
  CoordinatorOptions options;
  options.read_timeout = options.range_timeout = Duration(-1);
  Coordinator& hurried = *coordinators.emplace_back(Coordinator::create(node.runtime(0), node.on(0), options));
  ReadCommand all = node.command("t", {});
  all.range = KeyRange{};
  for (const ReadCommand& command : {node.command("t", {key}), node.command("t", {other}), all}) {
    TextSink sink(*command.table);
    using Answer = Result<ReadStatistics>;
    auto read = node.run<Answer>(0, [&] { return hurried.read(command, Consistency::kQuorum, sink); });
    ASSERT_FALSE(read.ok());
    const ErrorInfo& error = read.error().info();
    EXPECT_EQ(error.code, ErrorCode::kReadTimeout);
    EXPECT_EQ(error.message, "Operation timed out - received only 0 responses.");
    EXPECT_EQ(error.consistency, static_cast<uint16_t>(Consistency::kQuorum));
    EXPECT_EQ(std::tuple(error.required, error.received, error.data_present), std::tuple(1, 0, false));
    EXPECT_TRUE(this->read(command).ok());
  }
  EXPECT_EQ(hurried.statistics().timeouts, 3u);
}

TEST_F(Coordinators, Truncate) {
  make_tables();
  EXPECT_TRUE(write({row(node.key_of(0), "x"), row(node.key_of(1), "y")}).ok());
  TablePtr table = node.table("t");
  EXPECT_TRUE(node.run<Status>(1, [&] { return coordinators[1]->truncate(table); }).ok());
  EXPECT_EQ(node.scan(0, "t"), Lines());
}

TEST(ConsistencyTest, Names) {
  for (int i = 0; i <= 11; ++i) {
    auto level = static_cast<Consistency>(i);
    EXPECT_EQ(parse_consistency(consistency_name(level)), level);
  }
  EXPECT_EQ(parse_consistency("SOME"), std::nullopt);
  EXPECT_EQ(write_type_name(WriteType::kUnloggedBatch), "UNLOGGED_BATCH");
}

}  // namespace
}  // namespace cassandra_like::test
