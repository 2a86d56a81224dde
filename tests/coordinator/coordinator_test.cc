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

TEST(ReplicaCountsTest, OfSeveralDataCenters) {
  ReplicationParams replication;
  replication.options = {{"class", "org.apache.cassandra.locator.NetworkTopologyStrategy"}, {"dc1", "3"}, {"dc2", "2"}};
  ReplicaCounts here = count_replicas(replication, "dc1"), elsewhere = count_replicas(replication, "dc3");
  EXPECT_EQ(here.replication_factor, 5);
  EXPECT_EQ(here.local_replication_factor, 3);
  EXPECT_EQ(here.alive, 1);
  EXPECT_EQ(block_for(Consistency::kQuorum, here), 3);
  EXPECT_EQ(block_for(Consistency::kLocalQuorum, here), 2);
  EXPECT_EQ(block_for(Consistency::kAll, here), 5);
  EXPECT_EQ(elsewhere.alive, 0);
  EXPECT_EQ(block_for(Consistency::kLocalOne, elsewhere), 1);
}

// A node whose tables in keyspace ks refuse writes: as if the power had gone before them.
class WithoutUserWrites : public Replica {
 public:
  explicit WithoutUserWrites(Replica& replica) : replica_(replica) {}
  Task<Status> mutate(const Mutation& mutation) override {
    if (mutation.keyspace == "ks") return Status(Error(ErrorCode::kIo, "no power"));
    return replica_.mutate(mutation);
  }
  Task<Status> mutate_counter(const Mutation& mutation) override { return replica_.mutate_counter(mutation); }
  Task<Result<ReadStatistics>> read(const ReadCommand& command, RowSink& sink, int64_t deadline) override {
    return replica_.read(command, sink, deadline);
  }
  Task<Status> truncate(TablePtr table) override { return replica_.truncate(table); }
  SchemaStore& schema() override { return replica_.schema(); }
  void prefetch(std::span<const PrefetchKey> partitions) override { replica_.prefetch(partitions); }
  VirtualTables& virtual_tables() override { return replica_.virtual_tables(); }
  Engine& engine() override { return replica_.engine(); }
  const LocalNode& local_node() const override { return replica_.local_node(); }
  const ReplicaStatistics& statistics() const override { return replica_.statistics(); }
  Task<Status> on_every_engine(std::function<Task<Status>(Engine&)> work) override {
    return replica_.on_every_engine(std::move(work));
  }
  Task<std::vector<TableStatistics>> table_statistics(Uuid table) override { return replica_.table_statistics(table); }
  Task<std::vector<EngineStatistics>> engine_statistics() override { return replica_.engine_statistics(); }
  Task<Status> build_index(TablePtr table, std::string index) override { return replica_.build_index(table, index); }

 private:
  Replica& replica_;
};

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
  Status replay() {
    return node.run<Status>(0, [&] { return coordinators[0]->replay_batchlog(); });
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
  EXPECT_TRUE(replay().ok());
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(LoggedBatches, KeepTheirTimestampsSoThatLaterWritesWin) {
  write_half();
  EXPECT_TRUE(write({row(node.key_of(1), "later", 11)}).ok());
  EXPECT_TRUE(replay().ok());
  EXPECT_EQ(found(), (Lines{node.key_of(0), "  1: v=x@10", node.key_of(1), "  1: v=later@11"}));
}

TEST_F(LoggedBatches, OfDroppedTablesAreForgotten) {
  write_half();
  ASSERT_TRUE(node.change(0, drop_table("t")).ok());
  EXPECT_TRUE(replay().ok());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(Coordinators, AddToCountersOnTheirShards) {
  make_tables();
  struct Total : RowSink {
    Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
    Next row(const Row& row) override { return total = counter_total(row.cells[0].value), Next::kContinue; }
    int64_t total = 0;
  };
  for (unsigned shard : {0u, 1u}) {
    std::string key = node.key_of(shard);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(add(one_more(key)).ok());
    Total sum;
    ReadCommand read = node.command("n", {key});
    EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(read, sum); }).ok());
    EXPECT_EQ(sum.total, 5);
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
