// Counters and TRUNCATE of several nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_fixture.h"
#include "model/counter.h"

namespace cassandra_like::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ReplicatedCounters : public testing::Test {
 protected:
  static Update one_more(CoordinatorCluster& cluster, const std::string& key, int64_t by = 1) {
    return std::move(Update(cluster.table("n"), key).row(1).cell("n", make_counter_update(by)));
  }
  static Status add(CoordinatorCluster& cluster, size_t node, const std::string& key,
                    Consistency consistency = Consistency::kQuorum) {
    return cluster.add(node, one_more(cluster, key), consistency);
  }
  // The sum that each node has; -1: none.
  static std::vector<int64_t> sums(CoordinatorCluster& cluster, const std::string& key) {
    struct Total : RowSink {
      Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
      Next row(const Row& row) override { return total = counter_total(row.cells[0].value), Next::kContinue; }
      int64_t total = -1;
    };
    std::vector<int64_t> out;
    for (size_t i = 0; i < cluster.size(); ++i) {
      Total sum;
      ReadCommand command;
      command.table = cluster.table("n");
      command.now_seconds = storage_test::kNow;
      command.keys.push_back(DecoratedKey::of(key));
      auto read = [&] { return cluster.node(i).replica().read(command, sum); };
      EXPECT_TRUE(cluster.run<Result<ReadStatistics>>(i, read).ok());
      out.push_back(sum.total);
    }
    return out;
  }
  static void settle(CoordinatorCluster& cluster) { cluster.world().run_for(seconds(8)); }
};

// StorageProxy.findSuitableReplica: a node that does not serve clients may not have all its data yet.
TEST_F(ReplicatedCounters, AreLedByNodesThatServeClients) {
  CoordinatorCluster cluster(4, 3);
  const std::string key = cluster.key_of(1);
  cluster.not_serving({1, 3});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(told(add(cluster, 0, key)), "ok");
  EXPECT_EQ(cluster.node(2).received(Verb::kCounterMutationReq), 10);
  settle(cluster);
  EXPECT_EQ(sums(cluster, key), (std::vector<int64_t>{-1, 10, 10, 10}));
  cluster.not_serving({1, 2, 3});
  EXPECT_EQ(told(add(cluster, 0, key)), "Cannot achieve consistency level QUORUM [QUORUM 0/2]");
}

// Leaders are drawn: with so many increments each node has led some.
TEST_F(ReplicatedCounters, SumUpTheSameEverywhere) {
  CoordinatorCluster cluster(4, 3);
  const std::string key = cluster.key_of(1);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(told(add(cluster, static_cast<size_t>(i % 4), key)), "ok");
  settle(cluster);
  EXPECT_EQ(sums(cluster, key), (std::vector<int64_t>{-1, 30, 30, 30}));
  int led = 0;
  for (size_t i = 0; i < 4; ++i) {
    if (i > 0) {
      EXPECT_GT(cluster.node(i).received(Verb::kCounterMutationReq), 0) << i;
    }
    led += cluster.node(i).received(Verb::kCounterMutationReq);
  }
  EXPECT_LT(led, 30);  // some were led where they came
}

TEST_F(ReplicatedCounters, AreLedByNodesThatLive) {
  CoordinatorCluster cluster(3);
  cluster.crash(2);
  cluster.down({2});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(told(add(cluster, 0, "a")), "ok");
  EXPECT_EQ(told(add(cluster, 0, "a", Consistency::kAll)), "Cannot achieve consistency level ALL [ALL 2/3]");
  settle(cluster);
  EXPECT_EQ(cluster.node(0).hints().size() + cluster.node(1).hints().size(), 10u);
}

// A leader that was not heard of may have counted: nobody counts in its place.
TEST_F(ReplicatedCounters, TimeOutWithTheirLeader) {
  CoordinatorCluster cluster(4, 3);
  const std::string key = cluster.key_of(1);
  for (size_t i : {1u, 2u, 3u}) cluster.node(i).answers(Verb::kCounterMutationReq, CoordinatorNode::silence());
  const int64_t began = cluster.world().clock().monotonic_nanos();
  EXPECT_EQ(told(add(cluster, 0, key)), "Operation timed out - received only 0 responses. [ONE 0/1] COUNTER");
  EXPECT_GE(Duration(cluster.world().clock().monotonic_nanos() - began), seconds(5));
  for (size_t i : {1u, 2u, 3u}) {
    cluster.node(i).answers(Verb::kCounterMutationReq, CoordinatorNode::failure(RequestFailureReason::kUnknown));
  }
  EXPECT_THAT(told(add(cluster, 0, key)),
              testing::StartsWith("Operation failed - received 0 responses and 1 failures: UNKNOWN from /10.0.0."));
  settle(cluster);
  EXPECT_EQ(sums(cluster, key), (std::vector<int64_t>{-1, -1, -1, -1}));
  EXPECT_TRUE(cluster.node(0).hints().empty());
}

// The sums of the leader are hinted for replicas that are down, not for one that may have them.
TEST_F(ReplicatedCounters, AreHintedForReplicasThatAreDown) {
  CoordinatorCluster cluster(2, 2);
  cluster.node(1).answers(Verb::kMutationReq, CoordinatorNode::silence());
  cluster.node(1).answers(Verb::kCounterMutationReq, CoordinatorNode::silence());
  for (int i = 0; i < 6; ++i) {
    const std::string answer = told(add(cluster, 0, "a", Consistency::kOne));
    EXPECT_THAT(answer, testing::AnyOf("ok", "Operation timed out - received only 0 responses. [ONE 0/1] COUNTER"));
  }
  settle(cluster);
  EXPECT_TRUE(cluster.node(0).hints().empty());
  cluster.down({1});
  EXPECT_EQ(told(add(cluster, 0, "a", Consistency::kOne)), "ok");
  const std::vector<RecordedHints::Hint> hints = cluster.node(0).hints();
  ASSERT_EQ(hints.size(), 1u);
  EXPECT_EQ(hints[0].gc_grace_seconds, 864000);
  // The hint is the leader's sum as a mutation.
  cluster.serve(1);
  const MutationPayload payload(hints[0].mutation);
  EXPECT_TRUE(cluster.run<Status>(1, [&] { return cluster.node(1).replica().mutate(payload); }).ok());
  EXPECT_EQ(sums(cluster, "a")[0], sums(cluster, "a")[1]);
}

TEST_F(ReplicatedCounters, TellWhatTheOtherReplicasAnswer) {
  CoordinatorCluster cluster(3);
  for (size_t i : {0u, 1u, 2u}) cluster.node(i).answers(Verb::kMutationReq, CoordinatorNode::silence());
  std::string told_of_leader, told_here;
  for (int i = 0; i < 12; ++i) {
    const std::string answer = told(add(cluster, 0, "a", Consistency::kTwo));
    (answer.find("[ONE") == answer.npos ? told_here : told_of_leader) = answer;
  }
  EXPECT_EQ(told_here, "Operation timed out - received only 1 responses. [TWO 1/2] COUNTER");
  EXPECT_THAT(told_of_leader,
              testing::MatchesRegex("Operation failed - received 0 responses and 1 failures: UNKNOWN from "
                                    "/10.0.0.[23]:7000 .ONE 0/1. COUNTER .[23]=0"));
}

// ---- TRUNCATE

class Truncation : public testing::Test {
 protected:
  static Status truncate(CoordinatorCluster& cluster, size_t node = 0) {
    return cluster.run<Status>(node, [&] { return cluster.node(node).coordinator().truncate(cluster.table("t")); });
  }
  static void fill(CoordinatorCluster& cluster) {
    for (const char* key : {"a", "b", "c"}) {
      EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), Consistency::kAll)), "ok");
    }
  }
};

TEST_F(Truncation, EmptiesTheTableOnAllNodes) {
  CoordinatorCluster cluster(3, 3, 2);
  fill(cluster);
  EXPECT_EQ(told(truncate(cluster)), "ok");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster.scan(i, "t"), Lines());
}

TEST_F(Truncation, DoesNothingWhileANodeIsDown) {
  CoordinatorCluster cluster(3);
  fill(cluster);
  cluster.down({2});
  const Status status = truncate(cluster);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kTruncateError);
  EXPECT_EQ(status.error().message(), "Error during truncate: Cannot achieve consistency level ALL");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster.scan(i, "t").size(), 6u);
}

TEST_F(Truncation, TellsWhoFailed) {
  CoordinatorCluster cluster(3);
  cluster.node(1).answers(Verb::kTruncateReq, CoordinatorNode::failure(RequestFailureReason::kUnknown));
  EXPECT_EQ(truncate(cluster).error().message(), "Truncate failed on replica /10.0.0.2:7000 -> UNKNOWN");
  cluster.node(1).answers(Verb::kTruncateReq, CoordinatorNode::silence());
  const int64_t began = cluster.world().clock().monotonic_nanos();
  EXPECT_EQ(truncate(cluster).error().message(),
            "Error during truncate: Truncate timed out - received only 2 responses");
  EXPECT_GE(Duration(cluster.world().clock().monotonic_nanos() - began), seconds(60));
}

}  // namespace
}  // namespace cassandra_like::test
