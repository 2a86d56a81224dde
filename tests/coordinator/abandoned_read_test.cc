// Reads whose client goes away: they stop to ask, end soon, and are counted.
#include "coordinator_fixture.h"
#include "replicated_read_fixture.h"

namespace cassandra_like::test {
namespace {

using namespace std::chrono_literals;

constexpr Consistency kOne = Consistency::kOne;

// A client that counts what reaches it, and may go away while it is given rows.
class Client : public RowSink {
 public:
  Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
  Next row(const Row&) override {
    if (++rows == leaves_after) abandonment.set();
    return Next::kContinue;
  }

  Abandonment abandonment;
  int rows = 0;
  int leaves_after = -1;
};

// ---- Other nodes

TEST(AbandonedRead, OfSilentReplicasEndsAtOnce) {
  ReadCluster cluster(3);
  for (size_t i : {1u, 2u}) {
    cluster.node(i).answers(Verb::kRangeReq, CoordinatorNode::silence());
    cluster.node(i).answers(Verb::kReadReq, CoordinatorNode::silence());
  }
  for (const bool is_range : {true, false}) {
    Client client;
    ReadCommand command = is_range ? cluster.command({}) : cluster.command({"a", "b"});
    command.abandonment = &client.abandonment;
    std::optional<Result<ReadStatistics>> read;
    cluster.start<Result<ReadStatistics>>(
        0, [&] { return cluster.node(0).coordinator().read(command, Consistency::kAll, client); }, &read);
    EXPECT_FALSE(cluster.wait([&] { return read.has_value(); }, 100ms));
    cluster.node(0).runtime->shard(0).executor.post([&] { client.abandonment.set(); });
    ASSERT_TRUE(cluster.wait([&] { return read.has_value(); }, 1ms)) << is_range;
    EXPECT_EQ(read->error().code(), ErrorCode::kClosed);
  }
  const CoordinatorStatistics& statistics = cluster.node(0).coordinator().statistics();
  EXPECT_EQ(statistics.abandoned_reads, 2u);
  EXPECT_EQ(statistics.timeouts + statistics.failures, 0u);
  EXPECT_EQ(statistics.read_micros.count() + statistics.range_micros.count(), 0u);
}

TEST(AbandonedRead, AsksForNoMorePartsOfARange) {
  ReadCluster cluster(6, 1);
  cluster.put({1}, cluster.row(cluster.key_of(1), "x"));
  ReadCommand command = cluster.command({});
  const TokenRing& ring = *cluster.node(0).replica().topology().current()->ring();
  command.range->start = RingPosition::after(ring.entries()[0].token);  // node 1 has what follows
  auto read_for = [&](Client& client) {
    command.abandonment = &client.abandonment;
    const int before = cluster.asked();
    const auto read = cluster.run<Result<ReadStatistics>>(
        0, [&] { return cluster.node(0).coordinator().read(command, kOne, client); });
    EXPECT_EQ(read.ok(), !client.abandonment.is_set());
    cluster.world().run_for(20s);
    return cluster.asked() - before;
  };
  Client stays;
  EXPECT_EQ(read_for(stays), 5);
  Client leaves;
  leaves.leaves_after = 1;
  EXPECT_EQ(read_for(leaves), 1);
}

TEST(AbandonedRead, AsksForNoMoreRowsOfAPartition) {
  ReadCluster cluster(3);
  for (int c = 0; c < 20'500; c += 500) {
    Update update = cluster.update("a").at(10);
    for (int i = c; i < c + 500; ++i) update.row(i).cell("v", "x");
    cluster.put({0, 1, 2}, std::move(update));
  }
  Client leaves;
  leaves.leaves_after = 1;
  ReadCommand command = cluster.command({"a"});
  command.abandonment = &leaves.abandonment;
  const auto read = cluster.run<Result<ReadStatistics>>(
      0, [&] { return cluster.node(0).coordinator().read(command, Consistency::kQuorum, leaves); });
  EXPECT_FALSE(read.ok());
  EXPECT_EQ(cluster.asked(), 1);
}

// ---- This node's shards

class AbandonedLocalRead : public Coordinators {
 protected:
  static constexpr int kRows = 12'000;  // several turns of a long read

  void fill(const std::string& key) {
    Update update(node.table("t"), key);
    for (int c = 0; c < kRows; ++c) update.row(c).live();
    std::vector<Update> writes;
    writes.push_back(std::move(update));
    ASSERT_TRUE(write(std::move(writes)).ok());
  }
  Result<ReadStatistics> read_for(Client& client, ReadCommand command) {
    command.abandonment = &client.abandonment;
    return node.run<Result<ReadStatistics>>(0,
                                            [&] { return coordinators[0]->read(command, Consistency::kOne, client); });
  }
};

TEST_F(AbandonedLocalRead, EndsWithTheTurnThatItIsIn) {
  make_tables();
  const std::string here = node.key_of(0), there = node.key_of(1);
  fill(here);
  fill(there);
  for (const ReadCommand& command :
       {node.command("t", {here}), node.command("t", {there}), node.command("t", {here, there}), node.command("t")}) {
    Client stays;
    EXPECT_TRUE(read_for(stays, command).ok());
    EXPECT_GE(stays.rows, kRows);
    Client leaves;
    leaves.leaves_after = 10;
    const Result<ReadStatistics> read = read_for(leaves, command);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code(), ErrorCode::kClosed);
    EXPECT_LT(leaves.rows, kRows);
  }
  EXPECT_EQ(coordinators[0]->statistics().abandoned_reads, 4u);
}

// ---- Who listens

TEST(AbandonmentTest, TellsListenersOnceAndLetsThemLeave) {
  struct Noting : Abandonment::Listener {
    void abandoned() override { ++times; }
    int times = 0;
  };
  Abandonment abandonment;
  Noting first, second, third;
  for (Noting* listener : {&first, &second, &third}) abandonment.add(*listener);
  Abandonment::remove(second);
  Abandonment::remove(second);
  EXPECT_TRUE(check_wanted(&abandonment).ok());
  abandonment.set();
  abandonment.set();
  EXPECT_EQ((std::vector{first.times, second.times, third.times}), (std::vector{1, 0, 1}));
  EXPECT_FALSE(check_wanted(&abandonment).ok());
  EXPECT_TRUE(check_wanted(nullptr).ok());
}

}  // namespace
}  // namespace cassandra_like::test
