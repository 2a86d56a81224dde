// Who is asked at which level, and when a level cannot be reached.
#include "coordinator/quorum/replica_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorum_fixture.h"

namespace cassandra_like::test::quorum_replica_plan_test {
namespace {

using testing::ElementsAre;

constexpr Token kToken = 50;  // of the range that ends at the second node's token
const NearestFirst kByNumber({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});

std::vector<std::string> writes_at_all_levels(const PlannedCluster& cluster) {
  std::vector<std::string> out;
  for (Consistency level : write_levels()) {
    out.push_back(std::string(consistency_name(level)) + ": " + text(plan_write(cluster.placement(), kToken, level)));
  }
  return out;
}

std::string read(const PlannedCluster& cluster, Consistency level, bool always_speculates = false,
                 const NearestFirst& order = kByNumber) {
  return text(plan_read(cluster.placement(), kToken, level, order, always_speculates));
}

// ---- Writes

TEST(WritePlanTest, GoesToAllReplicasAndWaitsForAsManyAsTheLevelNeeds) {
  EXPECT_THAT(
      writes_at_all_levels(PlannedCluster::two_datacenters()),
      ElementsAre("ANY: 1 of 1 2 3 4 5 0", "ONE: 1 of 1 2 3 4 5 0", "TWO: 2 of 1 2 3 4 5 0", "THREE: 3 of 1 2 3 4 5 0",
                  "QUORUM: 4 of 1 2 3 4 5 0", "ALL: 6 of 1 2 3 4 5 0", "LOCAL_QUORUM: 2 of 1 2 3 4 5 0",
                  "EACH_QUORUM: 4 of 1 2 3 4 5 0", "LOCAL_ONE: 1 of 1 2 3 4 5 0"));
}

// The node that joins dc2 will be a replica of the token.
TEST(WritePlanTest, WaitsForOneMoreForEachPendingReplicaThatCounts) {
  PlannedCluster cluster = PlannedCluster::two_datacenters({{"dc2", "r1", 60, EndpointStatus::kJoining}});
  EXPECT_THAT(writes_at_all_levels(cluster),
              ElementsAre("ANY: 1 of 1 2 3 4 5 0 6+", "ONE: 2 of 1 2 3 4 5 0 6+", "TWO: 3 of 1 2 3 4 5 0 6+",
                          "THREE: 4 of 1 2 3 4 5 0 6+", "QUORUM: 5 of 1 2 3 4 5 0 6+", "ALL: 7 of 1 2 3 4 5 0 6+",
                          "LOCAL_QUORUM: 2 of 1 2 3 4 5 0 6+", "EACH_QUORUM: 5 of 1 2 3 4 5 0 6+",
                          "LOCAL_ONE: 1 of 1 2 3 4 5 0 6+"));
  const Result<WritePlan> each = plan_write(cluster.placement(), kToken, Consistency::kEachQuorum);
  EXPECT_THAT(each->quorums, ElementsAre(2, 3));
}

TEST(WritePlanTest, IsUnavailableWithTheCountsThatCassandraTells) {
  PlannedCluster cluster = PlannedCluster::two_datacenters();
  EXPECT_THAT(writes_at_all_levels(cluster.down({1, 2})),
              ElementsAre("ANY: 1 of 1! 2! 3 4 5 0", "ONE: 1 of 1! 2! 3 4 5 0", "TWO: 2 of 1! 2! 3 4 5 0",
                          "THREE: 3 of 1! 2! 3 4 5 0", "QUORUM: 4 of 1! 2! 3 4 5 0",
                          "ALL: Cannot achieve consistency level ALL [ALL 4/6]",
                          "LOCAL_QUORUM: Cannot achieve consistency level LOCAL_QUORUM [LOCAL_QUORUM 1/2]",
                          "EACH_QUORUM: Cannot achieve consistency level EACH_QUORUM in DC dc1 [EACH_QUORUM 0/2]",
                          "LOCAL_ONE: 1 of 1! 2! 3 4 5 0"));
  EXPECT_THAT(writes_at_all_levels(cluster.down({1, 2, 3, 4, 5})),
              ElementsAre("ANY: 1 of 1! 2! 3! 4! 5! 0", "ONE: 1 of 1! 2! 3! 4! 5! 0",
                          "TWO: Cannot achieve consistency level TWO [TWO 1/2]",
                          "THREE: Cannot achieve consistency level THREE [THREE 1/3]",
                          "QUORUM: Cannot achieve consistency level QUORUM [QUORUM 1/4]",
                          "ALL: Cannot achieve consistency level ALL [ALL 1/6]",
                          "LOCAL_QUORUM: Cannot achieve consistency level LOCAL_QUORUM [LOCAL_QUORUM 1/2]",
                          "EACH_QUORUM: Cannot achieve consistency level EACH_QUORUM in DC dc1 [EACH_QUORUM 0/2]",
                          "LOCAL_ONE: 1 of 1! 2! 3! 4! 5! 0"));
}

TEST(WritePlanTest, CountsPendingReplicasThatLiveTowardsALevel) {
  PlannedCluster cluster = PlannedCluster::two_datacenters({{"dc1", "r1", 60, EndpointStatus::kJoining}});
  EXPECT_EQ(text(plan_write(cluster.down({1}).placement(), kToken, Consistency::kLocalQuorum)), "3 of 1! 2 3 4 5 0 6+");
  EXPECT_EQ(text(plan_write(cluster.down({1, 6}).placement(), kToken, Consistency::kLocalQuorum)),
            "Cannot achieve consistency level LOCAL_QUORUM [LOCAL_QUORUM 2/3]");
}

// LOCAL_ONE tells that it needs one although it needs the pending replica, too.
TEST(WritePlanTest, LocalOneNeedsMoreThanItTellsWhileANodeJoins) {
  PlannedCluster cluster({{"dc1", "r1", 0}, {"dc1", "r1", 100}, {"dc1", "r1", 60, EndpointStatus::kJoining}},
                         {{"class", "NetworkTopologyStrategy"}, {"dc1", "1"}});
  EXPECT_EQ(text(plan_write(cluster.down({2}).placement(), kToken, Consistency::kLocalOne)),
            "Insufficient full replicas [LOCAL_ONE 1/1]");
}

TEST(WritePlanTest, CountsTheReplicasOfTheLocalDatacenterAtALocalLevel) {
  PlannedCluster cluster = PlannedCluster::two_datacenters();
  EXPECT_EQ(plan_write(cluster.placement(), kToken, Consistency::kLocalQuorum)->candidates(), 3);
  EXPECT_EQ(plan_write(cluster.placement(), kToken, Consistency::kQuorum)->candidates(), 6);
}

// ---- Counters

class LeaderTest : public testing::Test {
 protected:
  std::string leader(Consistency level, std::vector<EndpointIndex> not_ready = {}) {
    auto last = [](size_t bound) { return bound - 1; };
    cluster.not_serving(not_ready);
    NearestFirst order({5, 4, 3, 0, 1, 2});
    Result<EndpointIndex> chosen = counter_leader(cluster.placement(), kToken, level, order, last);
    return chosen.ok() ? std::to_string(*chosen) : text(chosen.error());
  }
  PlannedCluster cluster = PlannedCluster::two_datacenters();
};

TEST_F(LeaderTest, IsALiveReplicaOfTheLocalDatacenterThatAcceptsClients) {
  EXPECT_EQ(leader(Consistency::kOne), "0");  // of 1 2 0 the last
  EXPECT_EQ(leader(Consistency::kOne, {0}), "2");
  cluster.down({2});
  EXPECT_EQ(leader(Consistency::kOne, {0}), "1");
}

TEST_F(LeaderTest, IsTheNearestOfTheOthersElseUnlessTheLevelIsLocal) {
  cluster.down({1, 2, 5});
  EXPECT_EQ(leader(Consistency::kQuorum, {0}), "4");
  EXPECT_EQ(leader(Consistency::kLocalQuorum, {0}), "Cannot achieve consistency level LOCAL_QUORUM [LOCAL_QUORUM 0/2]");
  EXPECT_EQ(leader(Consistency::kQuorum, {0, 3, 4}), "Cannot achieve consistency level QUORUM [QUORUM 0/4]");
}

// ---- Reads

TEST(ReadPlanTest, AsksTheNearestReplicasThatTheLevelNeeds) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(4, "3");  // replicas 1 2 3
  NearestFirst order({3, 0, 2, 1});
  EXPECT_EQ(read(cluster, Consistency::kOne, false, order), "1: 3 | 2 1");
  EXPECT_EQ(read(cluster, Consistency::kTwo, false, order), "2: 3 2 | 1");
  EXPECT_EQ(read(cluster, Consistency::kQuorum, false, order), "2: 3 2 | 1");
  EXPECT_EQ(read(cluster, Consistency::kSerial, false, order), "2: 3 2 | 1");
  EXPECT_EQ(read(cluster, Consistency::kAll, false, order), "3: 3 2 1 | ");
  EXPECT_EQ(read(cluster, Consistency::kOne, true, order), "1: 3 2 | 1");
  EXPECT_EQ(read(cluster, Consistency::kQuorum, true, order), "2: 3 2 1 | ");
  EXPECT_EQ(read(cluster, Consistency::kAll, true, order), "3: 3 2 1 | ");
}

TEST(ReadPlanTest, StaysInTheLocalDatacenterAtALocalLevel) {
  PlannedCluster cluster = PlannedCluster::two_datacenters();
  NearestFirst order({5, 4, 3, 2, 1, 0});
  EXPECT_EQ(read(cluster, Consistency::kLocalOne, false, order), "1: 2 | 1 0");
  EXPECT_EQ(read(cluster, Consistency::kLocalQuorum, false, order), "2: 2 1 | 0");
  EXPECT_EQ(read(cluster, Consistency::kLocalSerial, false, order), "2: 2 1 | 0");
  EXPECT_EQ(read(cluster, Consistency::kQuorum, false, order), "4: 5 4 3 2 | 1 0");
}

TEST(ReadPlanTest, AsksTheNearestOfEachDatacenterAtEachQuorum) {
  PlannedCluster cluster = PlannedCluster::two_datacenters();
  NearestFirst order({5, 0, 4, 3, 1, 2});
  EXPECT_EQ(read(cluster, Consistency::kEachQuorum, false, order), "4: 5 0 4 1 | 3 2");
  EXPECT_EQ(read(cluster, Consistency::kEachQuorum, true, order), "4: 5 0 4 1 | 3 2");
  EXPECT_EQ(read(PlannedCluster::one_datacenter(3, "3"), Consistency::kEachQuorum), "2: 0 1 | 2");
}

TEST(ReadPlanTest, IsUnavailableWithTheCountsThatCassandraTells) {
  PlannedCluster cluster = PlannedCluster::two_datacenters();
  cluster.down({1, 2, 3});
  EXPECT_EQ(read(cluster, Consistency::kOne), "1: 0 | 4 5");
  EXPECT_EQ(read(cluster, Consistency::kQuorum), "Cannot achieve consistency level QUORUM [QUORUM 3/4]");
  EXPECT_EQ(read(cluster, Consistency::kLocalQuorum),
            "Cannot achieve consistency level LOCAL_QUORUM [LOCAL_QUORUM 1/2]");
  EXPECT_EQ(read(cluster, Consistency::kEachQuorum),
            "Cannot achieve consistency level EACH_QUORUM in DC dc1 [EACH_QUORUM 0/2]");
  EXPECT_EQ(read(cluster, Consistency::kLocalSerial),
            "Cannot achieve consistency level LOCAL_SERIAL [LOCAL_SERIAL 1/2]");
  EXPECT_EQ(read(cluster, Consistency::kAll), "Cannot achieve consistency level ALL [ALL 3/6]");
}

TEST(ReadPlanTest, NeverAsksPendingReplicas) {
  PlannedCluster cluster = PlannedCluster::two_datacenters({{"dc1", "r1", 60, EndpointStatus::kJoining}});
  EXPECT_EQ(read(cluster, Consistency::kLocalQuorum), "2: 0 1 | 2");
}

// ---- Read repair

std::string repair(const PlannedCluster& cluster, Consistency level, const std::vector<EndpointIndex>& read_from) {
  Result<ReadRepairPlan> plan = plan_read_repair(cluster.placement(), kToken, level, read_from);
  if (!plan.ok()) return text(plan.error());
  return fmt::format("{}: {} | {}{}", plan->block_for, numbers(plan->contacts), numbers(plan->others),
                     plan->needs_full_difference(read_from) ? " full" : "");
}

TEST(ReadRepairPlanTest, WritesToThoseThatWereReadAndToNoMoreThanTheLevelNeeds) {
  PlannedCluster cluster = PlannedCluster::two_datacenters();
  EXPECT_EQ(repair(cluster, Consistency::kQuorum, {5, 4, 3, 2}), "4: 2 3 4 5 | 1 0");
  EXPECT_EQ(repair(cluster, Consistency::kLocalQuorum, {2, 1}), "2: 1 2 | 0");
  EXPECT_EQ(repair(cluster, Consistency::kEachQuorum, {5, 0, 4, 1}), "4: 1 4 5 0 | 2 3");
  EXPECT_EQ(repair(cluster.down({2}), Consistency::kLocalQuorum, {2, 1}), "2: 1 0 |  full");
}

TEST(ReadRepairPlanTest, WritesToAReplicaMoreWhileOneJoins) {
  PlannedCluster cluster = PlannedCluster::two_datacenters({{"dc1", "r1", 60, EndpointStatus::kJoining}});
  EXPECT_EQ(repair(cluster, Consistency::kLocalQuorum, {2, 1}), "3: 1 2 0 | 6 full");
  EXPECT_EQ(repair(cluster, Consistency::kEachQuorum, {5, 0, 4, 1}), "5: 1 4 5 0 2 | 3 6 full");
  EXPECT_EQ(repair(cluster.down({1, 6}), Consistency::kLocalQuorum, {2}),
            "Cannot achieve consistency level LOCAL_QUORUM [LOCAL_QUORUM 2/3]");
}

TEST(ReadRepairPlanTest, DoesNotWaitForThoseThatLackNothing) {
  PlannedCluster cluster = PlannedCluster::two_datacenters();
  const std::vector<EndpointIndex> read_from = {0, 1, 2};  // one more was asked because the others were slow
  Result<ReadRepairPlan> plan = plan_read_repair(cluster.placement(), kToken, Consistency::kLocalQuorum, read_from);
  ASSERT_EQ(plan->contacts.size(), 3u);
  EXPECT_EQ(plan->answers_to_wait_for(3), 2);
  EXPECT_EQ(plan->answers_to_wait_for(2), 1);
  EXPECT_EQ(plan->answers_to_wait_for(1), 0);
  EXPECT_EQ(plan->answers_to_wait_for(0), 0);
}

}  // namespace
}  // namespace cassandra_like::test::quorum_replica_plan_test
