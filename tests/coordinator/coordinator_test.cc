// The requests of a coordinator to its replicas, and its answers when they are silent.
#include "coordinator/coordinator.h"

#include <gmock/gmock.h>

#include <fstream>

#include "coordinator_fixture.h"

namespace cassandra_like::test {
namespace {

using storage_test::kNow;

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
  EXPECT_EQ(coordinators[0]->requests(node.table("n")->id)->write_micros.count(), 1u);
  EXPECT_EQ(coordinators[1]->requests(node.table("n")->id), nullptr);
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
  constexpr int kRowsOfTurn = 5000;  // a page: a shorter read is not interrupted
  for (const std::string& k : {key, other}) {
    Update update(node.table("t"), k);
    for (int c = 0; c <= kRowsOfTurn; ++c) update.row(c).live();
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
    ASSERT_FALSE(read.ok()) << (command.range ? "all" : command.keys[0].key);
    const ErrorInfo& error = read.error().info();
    EXPECT_EQ(error.code, ErrorCode::kReadTimeout);
    EXPECT_EQ(error.message, "Operation timed out - received only 0 responses.");
    EXPECT_EQ(error.consistency, static_cast<uint16_t>(Consistency::kQuorum));
    EXPECT_EQ(std::tuple(error.required, error.received, error.data_present), std::tuple(1, 0, false));
    EXPECT_TRUE(this->read(command).ok());
  }
  EXPECT_EQ(hurried.statistics().timeouts, 3u);
}

TEST_F(Coordinators, LogNoMoreThanTenReadsAMinuteThatTookTooLong) {
  make_tables();
  std::vector<std::string> lines;
  set_log_sink([&lines](const LogRecord& record) { lines.push_back(record.text); });
  set_log_level(LogLevel::kWarn);
  CoordinatorOptions options;
  options.read_timeout = Duration(-1);
  Coordinator& hurried = *coordinators.emplace_back(Coordinator::create(node.runtime(0), node.on(0), options));
  const ReadCommand command = node.command("t", {node.key_of(0), node.key_of(1)});
  auto read = [&] {
    TextSink sink(*command.table);
    using Answer = Result<ReadStatistics>;
    EXPECT_FALSE(node.run<Answer>(0, [&] { return hurried.read(command, Consistency::kOne, sink); }).ok());
  };
  const std::string text = "A read of ks.t took longer than the timeout of its request";
  for (int i = 0; i < 50; ++i) read();
  EXPECT_EQ(lines, std::vector<std::string>(10, text));
  node.world().run_for(std::chrono::minutes(1));
  read();
  EXPECT_EQ(lines.back(), text + " (and 40 more like it before)");
  set_log_sink({});
  set_log_level(LogLevel::kOff);
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
