// Reads through a secondary index of several replicas: each looks into its own index.
#include "messaging/read_command_codec.h"
#include "replicated_read_fixture.h"

namespace cassandra_like::test {
namespace {

constexpr Consistency kQuorum = Consistency::kQuorum;

class ReplicatedIndexRead : public testing::Test {
 protected:
  Update row(const std::string& key, int c, const std::string& v, int64_t timestamp = 10) {
    return std::move(cluster.update(key, "i").at(timestamp).row(c).cell("v", v));
  }
  ReadCommand where_v_is(const std::string& value, const std::vector<std::string>& keys = {}) {
    ReadCommand command = cluster.command(keys, "i");
    command.index = &command.table->indexes.at("by_v");
    FilterExpression condition;
    condition.column = command.table->column("v");
    condition.value = value;
    command.filter.push_back(condition);
    return command;
  }
  // From now on `sent` gets each read that this node is sent: whether it names the index, and the columns of its conditions.
  void record_reads(size_t node) {
    for (const Verb verb : {Verb::kReadReq, Verb::kRangeReq}) {
      cluster.node(node).answers(verb, [this, answer = cluster.answering(node)](InboundMessage message) {
        auto find = [this](const Uuid&) { return cluster.table("i"); };
        auto request = decode_read_request(message.payload, message.version, find);
        CHECK(request.ok());
        std::string line = (*request)->request.index.is_nil() ? "no index:" : "index:";
        for (const FilterExpression& condition : (*request)->request.command.filter)
          line += " " + condition.column->name;
        sent.push_back(line);
        return answer(std::move(message));
      });
    }
  }
  void add_condition(ReadCommand& command, const char* column, const std::string& value) {
    FilterExpression condition;
    condition.column = command.table->column(column);
    condition.value = value;
    command.filter.push_back(condition);
  }
  // The tombstones that this node's part of the read has met.
  uint64_t tombstones(const ReadCommand& command) {
    TextSink sink(*command.table);
    auto read = cluster.run<Result<ReadStatistics>>(
        0, [&] { return cluster.node(0).coordinator().read(command, kQuorum, sink); });
    EXPECT_TRUE(read.ok());
    return read.ok() ? read->tombstones : 0;
  }

  ReadCluster cluster{3};
  Lines sent;
};

TEST_F(ReplicatedIndexRead, LooksAtTheRowsOfTheIndexAlone) {
  for (const char* key : {"a", "b", "c"}) {
    cluster.put({0, 1, 2}, row(key, 1, "x"));
    cluster.put({0, 1, 2}, row(key, 2, "y"));
    cluster.put({0, 1, 2}, std::move(cluster.update(key, "i").at(20).row(3).tombstone("w")));
  }
  const Lines rows = cluster.read(0, where_v_is("x"), kQuorum);
  EXPECT_EQ(rows.size(), 6u);
  EXPECT_EQ(cluster.read(0, where_v_is("x", {"b"}), kQuorum), (Lines{"b", "  1: v=x@10"}));
  EXPECT_EQ(cluster.read(0, where_v_is("z"), kQuorum), Lines());
  EXPECT_EQ(tombstones(where_v_is("x")), 0u);
  ReadCommand scan = where_v_is("x");
  scan.index = nullptr;
  EXPECT_EQ(cluster.read(0, scan, kQuorum), rows);
  EXPECT_EQ(tombstones(scan), 3u);
}

TEST_F(ReplicatedIndexRead, GoesOnInALongPartition) {
  Update many = cluster.update("a", "i").at(10);
  for (int c = 0; c < 3000; ++c) many.row(c).cell("v", c % 2 == 0 ? "x" : "y");
  cluster.put({0, 1, 2}, std::move(many));
  EXPECT_EQ(cluster.read(0, where_v_is("x"), kQuorum).size(), 1501u);
  ReadCommand reversed = where_v_is("x", {"a"});
  reversed.reversed = true;
  reversed.limits.rows = 2;
  EXPECT_EQ(cluster.read(0, reversed, kQuorum), (Lines{"a", "  2998: v=x@10", "  2996: v=x@10"}));
}

// The value that a stale replica still has is none.
TEST_F(ReplicatedIndexRead, FindsNoRowsThatHaveAnotherValueElsewhere) {
  cluster.put({0}, row("a", 1, "old"));
  cluster.put({1, 2}, row("a", 1, "new", 20));
  cluster.put({0}, row("b", 1, "old"));
  cluster.put({1, 2}, std::move(cluster.update("b", "i").at(20).row(1).tombstone("v")));
  EXPECT_EQ(cluster.read(0, where_v_is("old"), kQuorum), Lines());
  EXPECT_EQ(cluster.read(0, where_v_is("new"), kQuorum), (Lines{"a", "  1: v=new@20"}));
}

TEST_F(ReplicatedIndexRead, SendsTheIndexWithRangesAndPartitions) {
  cluster.put({0, 1, 2}, row("a", 1, "x"));
  record_reads(1);
  record_reads(2);
  cluster.read(0, where_v_is("x", {"a"}), Consistency::kAll);
  cluster.read(0, where_v_is("x"), Consistency::kAll);
  EXPECT_EQ(sent, (Lines{"index: v", "index: v", "index: v", "index: v"}));
}

// The keys' columns by position, then the others by name: a condition that a row does not satisfy hides the errors of
// those behind it.
TEST_F(ReplicatedIndexRead, SendsConditionsInTheOrderOfCassandra) {
  record_reads(1);
  ReadCommand command = where_v_is("x");
  add_condition(command, "c", std::string("\0\0\0\1", 4));
  cluster.read(0, command, Consistency::kAll);
  EXPECT_EQ(sent, (Lines{"index: c v"}));
}

}  // namespace
}  // namespace cassandra_like::test
