// Logged batches of several nodes: whole in the end, whoever dies in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_fixture.h"
#include "coordinator/quorum/batchlog_endpoints.h"

namespace cassandra_like::test {
namespace {

using std::chrono::seconds;

class ReplicatedBatches : public testing::Test {
 protected:
  static Status write(CoordinatorCluster& cluster, Consistency consistency = Consistency::kQuorum) {
    return cluster.write(0, {cluster.row("a", "x"), cluster.row("b", "y")}, consistency, WriteType::kBatch);
  }
  static size_t records(CoordinatorCluster& cluster, size_t node) {
    return cluster.scan(node, "batches", "system").size() / 2;
  }
  static std::vector<size_t> records(CoordinatorCluster& cluster) {
    std::vector<size_t> out;
    for (size_t i = 0; i < cluster.size(); ++i) {
      out.push_back(cluster.node(i).replicas == nullptr ? 0 : records(cluster, i));
    }
    return out;
  }
  static void settle(CoordinatorCluster& cluster) { cluster.world().run_for(seconds(8)); }
  static void silence(CoordinatorCluster& cluster, Verb verb, std::vector<size_t> nodes) {
    for (size_t node : nodes) cluster.node(node).answers(verb, CoordinatorNode::silence());
  }
  static void start_rounds(CoordinatorCluster& cluster, size_t node) {
    auto start = [&] {
      cluster.node(node).coordinator().batchlog().start();
      return Task<Status>(Status());
    };
    EXPECT_TRUE(cluster.run<Status>(node, start).ok());
  }
};

TEST_F(ReplicatedBatches, AreKeptByTwoOthersUntilTheyAreWritten) {
  CoordinatorCluster cluster(3);
  for (size_t i : {1u, 2u}) silence(cluster, Verb::kBatchRemoveReq, {i});
  EXPECT_EQ(told(write(cluster)), "ok");
  settle(cluster);
  EXPECT_EQ(records(cluster), (std::vector<size_t>{0, 1, 1}));
  for (size_t i : {1u, 2u}) cluster.serve(i);
  EXPECT_EQ(told(write(cluster)), "ok");
  settle(cluster);
  EXPECT_EQ(records(cluster), (std::vector<size_t>{0, 1, 1}));
  for (const char* key : {"a", "b"}) EXPECT_EQ(cluster.having(key), "0 1 2");
}

TEST_F(ReplicatedBatches, OfTwoNodesAreKeptByBoth) {
  CoordinatorCluster cluster(2, 2);
  silence(cluster, Verb::kMutationReq, {1});
  EXPECT_EQ(told(write(cluster)), "Operation timed out - received only 1 responses. [QUORUM 1/2] BATCH");
  EXPECT_EQ(records(cluster), (std::vector<size_t>{1, 1}));
  cluster.serve(1);
  start_rounds(cluster, 0);
  cluster.world().run_for(seconds(25));
  EXPECT_EQ(records(cluster), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(cluster.having("b"), "0 1");
}

TEST_F(ReplicatedBatches, AreNotBegunWhenTheirRecordIsNotKept) {
  CoordinatorCluster cluster(3);
  silence(cluster, Verb::kBatchStoreReq, {2});
  EXPECT_EQ(told(write(cluster)), "Operation timed out - received only 1 responses. [TWO 1/2] BATCH_LOG");
  cluster.node(2).answers(Verb::kBatchStoreReq, CoordinatorNode::failure(RequestFailureReason::kUnknown));
  EXPECT_EQ(
      told(write(cluster)),
      "Operation failed - received 1 responses and 1 failures: UNKNOWN from /10.0.0.3:7000 [TWO 1/2] BATCH_LOG .3=0");
  settle(cluster);
  EXPECT_EQ(cluster.having("a"), "");
  EXPECT_TRUE(cluster.node(0).hints().empty());
}

TEST_F(ReplicatedBatches, NeedAnotherNodeThatKeepsThem) {
  CoordinatorCluster cluster(3, 1);
  cluster.down({1, 2});
  EXPECT_EQ(told(write(cluster, Consistency::kOne)),
            "Cannot achieve consistency level TWO for batchlog in local DC, required:2, available:0 [TWO 0/2]");
  CoordinatorCluster alive(3);
  alive.down({2});
  EXPECT_EQ(told(write(alive, Consistency::kAll)), "Cannot achieve consistency level ALL [ALL 2/3]");
  settle(alive);
  EXPECT_EQ(records(alive), (std::vector<size_t>{0, 0, 0}));
}

// The record stays when the acknowledgements come after their time, and its keepers write the batch once more.
TEST_F(ReplicatedBatches, AreReplayedWhenTheirAnswersCameTooLate) {
  CoordinatorCluster cluster(3);
  EXPECT_EQ(told(cluster.write(0, cluster.row("c", "connects"), Consistency::kAll)), "ok");
  for (size_t i : {1u, 2u}) {
    cluster.world().set_link(*cluster.node(i).machine, *cluster.node(0).machine,
                             {.delay = std::chrono::milliseconds(1200)});
  }
  EXPECT_EQ(told(write(cluster)), "Operation timed out - received only 1 responses. [QUORUM 1/2] BATCH");
  settle(cluster);
  for (const char* key : {"a", "b"}) EXPECT_EQ(cluster.having(key), "0 1 2");
  EXPECT_EQ(records(cluster), (std::vector<size_t>{0, 1, 1}));
  for (size_t i : {1u, 2u}) start_rounds(cluster, i);
  cluster.world().run_for(seconds(25));
  EXPECT_EQ(records(cluster), (std::vector<size_t>{0, 0, 0}));
}

// The coordinator dies when the record is kept and no mutation has been applied.
TEST_F(ReplicatedBatches, AreFinishedByThoseWhoKeepThem) {
  CoordinatorCluster cluster(3);
  silence(cluster, Verb::kMutationReq, {1, 2});
  std::optional<Status> never;
  Update first = cluster.row("a", "x"), second = cluster.row("b", "y");
  const std::vector<Mutation> mutations{first.mutation(), second.mutation()};
  cluster.start<Status>(
      0, [&] { return cluster.node(0).coordinator().write(mutations, Consistency::kQuorum, WriteType::kBatch); },
      &never);
  ASSERT_TRUE(cluster.wait([&] { return cluster.node(1).received(Verb::kMutationReq) == 2; }));
  cluster.crash(0);
  cluster.down({0});
  for (size_t i : {1u, 2u}) cluster.serve(i);
  EXPECT_EQ(cluster.having("a"), "");
  start_rounds(cluster, 1);
  cluster.world().run_for(seconds(25));
  for (const char* key : {"a", "b"}) EXPECT_EQ(cluster.having(key), "1 2");
  EXPECT_EQ(records(cluster), (std::vector<size_t>{0, 0, 1}));
  // The node that was down when it was replayed gets hints of the time of the batch.
  const std::vector<RecordedHints::Hint> hints = cluster.node(1).hints();
  ASSERT_EQ(hints.size(), 2u);
  EXPECT_EQ(hints[0].nodes, (std::vector<Uuid>{cluster.node(0).host_id}));
  EXPECT_LT(hints[0].created_millis, cluster.node(1).runtime->shard(0).clock.wall_millis() - 8'000);
  EXPECT_EQ(cluster.node(1).coordinator().batchlog().batches_replayed(), 1u);
}

// Every node of the cluster dies; what was kept is found at the next start, and finished when the ring is known.
TEST_F(ReplicatedBatches, AreFinishedAfterARestartOfAll) {
  CoordinatorCluster cluster(3, 3, 2);
  silence(cluster, Verb::kMutationReq, {1, 2});
  EXPECT_EQ(told(write(cluster)), "Operation timed out - received only 1 responses. [QUORUM 1/2] BATCH");
  cluster.world().run_for(seconds(20));  // synced
  for (size_t i = 0; i < 3; ++i) cluster.crash(i);
  for (size_t i = 0; i < 3; ++i) cluster.boot(i);
  EXPECT_EQ(cluster.having("a"), "0");
  auto replay = [](Batchlog* batchlog) -> Task<Status> {
    co_await batchlog->replay_all();
    co_return Status();
  };
  Batchlog& batchlog = cluster.node(1).coordinator().batchlog();
  EXPECT_TRUE(cluster.run<Status>(1, [&] { return replay(&batchlog); }).ok());
  for (const char* key : {"a", "b"}) EXPECT_EQ(cluster.having(key), "0 1 2");
  EXPECT_EQ(records(cluster), (std::vector<size_t>{0, 0, 1}));
}

// A batch that nobody can take now is replayed again.
TEST_F(ReplicatedBatches, StayWhenTheirHintsAreNotKept) {
  CoordinatorCluster cluster(3);
  silence(cluster, Verb::kMutationReq, {1, 2});
  EXPECT_FALSE(write(cluster).ok());
  for (size_t i : {1u, 2u}) cluster.serve(i);
  cluster.down({2});
  cluster.node(1).hints_of_shards[0]->result = Error(ErrorCode::kIo, "no disk");
  start_rounds(cluster, 1);
  cluster.world().run_for(seconds(25));
  EXPECT_EQ(records(cluster, 1), 1u);
  EXPECT_EQ(cluster.having("a"), "0 1");
  cluster.down({});
  cluster.world().run_for(seconds(25));
  EXPECT_EQ(records(cluster, 1), 0u);
  EXPECT_EQ(cluster.having("a"), "0 1 2");
}

// A record goes when the hints that stand for it are on the disk, not before.
TEST_F(ReplicatedBatches, StayUntilTheirHintsAreOnTheDisk) {
  CoordinatorCluster cluster(3);
  silence(cluster, Verb::kMutationReq, {1, 2});
  EXPECT_FALSE(write(cluster).ok());
  for (size_t i : {1u, 2u}) cluster.serve(i);
  cluster.down({2});
  RecordedHints& hints = *cluster.node(1).hints_of_shards[0];
  hints.sync_result = Error(ErrorCode::kIo, "no disk");
  start_rounds(cluster, 1);
  cluster.world().run_for(seconds(25));
  EXPECT_EQ(records(cluster, 1), 1u);
  ASSERT_FALSE(hints.synced.empty());
  const std::vector<Uuid> nodes(2, cluster.node(2).host_id);  // for each of the two mutations
  EXPECT_EQ(hints.synced[0], nodes);

  hints.sync_result = Status();
  cluster.world().run_for(seconds(25));
  EXPECT_EQ(records(cluster, 1), 0u);
}

// A removal through another shard than the record came through.
TEST_F(ReplicatedBatches, AreRemovedThroughAnyShard) {
  CoordinatorCluster cluster(2, 2, 2);
  Update update = cluster.row("a", "x");
  const SerializedMutation mutation(update.mutation());
  const BytesView bytes = mutation.view();
  Batchlog &first = cluster.node(1).coordinator(0).batchlog(), &second = cluster.node(1).coordinator(1).batchlog();
  const Uuid id = first.next_id();
  auto store = [&] { return first.store_for_peer(id, id.unix_micros() + 5'000'000, {&bytes, 1}); };
  EXPECT_EQ(told(cluster.run<Status>(1, store, 0)), "ok");
  EXPECT_EQ(records(cluster, 1), 1u);
  EXPECT_EQ(told(cluster.run<Status>(
                1, [&] { return second.remove(id); }, 1)),
            "ok");
  EXPECT_EQ(records(cluster, 1), 0u);
  start_rounds(cluster, 1);
  cluster.world().run_for(seconds(25));
  EXPECT_EQ(cluster.having("a"), "");
  const Uuid random = Uuid::random(1, 2);
  EXPECT_EQ(told(cluster.run<Status>(1,
                                     [&] {
                                       return first.store_for_peer(random, 1, {&bytes, 1});
                                     })),
            "The id of a logged batch is no timeuuid: " + random.to_string() + " [ANY 0/0]");
}

}  // namespace
}  // namespace cassandra_like::test
