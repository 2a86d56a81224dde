// How a range of the ring is cut and joined again, and where batches are kept.
#include "coordinator/quorum/range_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/quorum/batchlog_endpoints.h"
#include "quorum_fixture.h"

namespace cassandra_like::test::quorum_range_plan_test {
namespace {

using testing::ElementsAre;

const NearestFirst kByNumber({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});

std::string place(const RingPosition& position) {
  if (position.compare(RingPosition::minimum()) == 0) return "min";
  if (position.compare(RingPosition::maximum()) == 0) return "max";
  return std::to_string(position.token) + (position.kind == RingPosition::Kind::kTokenEnd ? "" : "-");
}

std::string places(const KeyRange& range) { return place(range.start) + ".." + place(range.end); }

// "min..100 x2 1 0 | 2": two parts of the ring in one, two nodes are asked, one could be.
std::vector<std::string> plans(const PlannedCluster& cluster, Consistency level, const KeyRange& range = {},
                               const NearestFirst& order = kByNumber) {
  std::vector<std::string> out;
  RangePlans all(range, cluster.placement(), level, order);
  while (true) {
    Result<std::optional<RangePlan>> plan = all.next();
    if (!plan.ok()) out.push_back(text(plan.error()));
    if (!plan.ok() || !*plan) return out;
    const EndpointList& candidates = (**plan).replicas.candidates;
    const std::span<const EndpointIndex> rest =
        std::span(candidates.data(), candidates.size()).subspan((**plan).replicas.contacts);
    out.push_back(fmt::format("{} x{} {} | {}", places((**plan).range), (**plan).vnodes,
                              numbers((**plan).replicas.contacted()), numbers(rest)));
  }
}

KeyRange between(RingPosition start, RingPosition end) { return {std::move(start), std::move(end), true, true}; }

std::vector<std::string> split(const PlannedCluster& cluster, const KeyRange& range) {
  std::vector<std::string> out;
  for (const KeyRange& part : split_by_replicas(range, cluster.placement())) out.push_back(places(part));
  return out;
}

// ---- Ranges

TEST(RangeSplitTest, CutsBehindEachTokenOfTheRing) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "1");  // tokens 0, 100, 200
  EXPECT_THAT(split(cluster, {}), ElementsAre("min..0", "0..100", "100..200", "200..max"));
  EXPECT_THAT(split(cluster, between(RingPosition::after(0), RingPosition::after(100))), ElementsAre("0..100"));
  EXPECT_THAT(split(cluster, between(RingPosition::before(0), RingPosition::after(101))),
              ElementsAre("0-..0", "0..100", "100..101"));
  EXPECT_THAT(split(cluster, between(RingPosition::before(150), RingPosition::before(160))), ElementsAre("150-..160-"));
}

TEST(RangeSplitTest, AsksNobodyWhenTheBoundsExcludeEachOther) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "3");
  EXPECT_THAT(split(cluster, between(RingPosition::after(150), RingPosition::before(120))), ElementsAre());
  EXPECT_THAT(split(cluster, between(RingPosition::after(150), RingPosition::after(150))), ElementsAre());
  EXPECT_THAT(split(cluster, between(RingPosition::before(150), RingPosition::after(150))), ElementsAre("150-..150"));
  EXPECT_THAT(plans(cluster, Consistency::kQuorum, between(RingPosition::after(150), RingPosition::before(120))),
              ElementsAre());
}

TEST(RangeSplitTest, LeavesALocalKeyspaceWhole) {
  PlannedCluster cluster({{"dc1", "r1", 0}, {"dc1", "r1", 100}}, {{"class", "LocalStrategy"}});
  EXPECT_THAT(split(cluster, {}), ElementsAre("min..max"));
  EXPECT_THAT(plans(cluster, Consistency::kOne), ElementsAre("min..max x1 0 | "));
}

TEST(RangePlanTest, AsksTheReplicasOfEachPart) {
  EXPECT_THAT(plans(PlannedCluster::one_datacenter(3, "1"), Consistency::kOne),
              ElementsAre("min..0 x1 0 | ", "0..100 x1 1 | ", "100..200 x1 2 | ", "200..max x1 0 | "));
}

// Three replicas of four: neighbours share two of them.
TEST(RangePlanTest, JoinsPartsThatTheSameReplicasCanAnswer) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(4, "3");  // the part to 0 is of 0 1 2, to 100 of 1 2 3
  EXPECT_THAT(plans(cluster, Consistency::kOne), ElementsAre("min..200 x3 2 | ", "200..max x2 0 | 1"));
  EXPECT_THAT(plans(cluster, Consistency::kQuorum),
              ElementsAre("min..100 x2 1 2 | ", "100..300 x2 0 3 | ", "300..max x1 0 1 | 2"));
  EXPECT_THAT(plans(cluster, Consistency::kAll),
              ElementsAre("min..0 x1 0 1 2 | ", "0..100 x1 1 2 3 | ", "100..200 x1 0 2 3 | ", "200..300 x1 0 1 3 | ",
                          "300..max x1 0 1 2 | "));
  EXPECT_THAT(plans(PlannedCluster::one_datacenter(3, "3"), Consistency::kQuorum), ElementsAre("min..max x4 0 1 | 2"));
}

// There are two datacenters with a replica in each. Only the one of this node is asked while that suffices.
TEST(RangePlanTest, DoesNotJoinPartsWhenThatAsksAnotherDatacenterInstead) {
  PlannedCluster cluster({{"dc1", "r1", 0}, {"dc1", "r1", 100}, {"dc2", "r1", 50}},
                         {{"class", "NetworkTopologyStrategy"}, {"dc1", "1"}, {"dc2", "1"}});
  NearestFirst order({0, 1, 2});
  EXPECT_THAT(plans(cluster, Consistency::kOne, {}, order),
              ElementsAre("min..0 x1 0 | 2", "0..100 x2 1 | 2", "100..max x1 0 | 2"));
  NearestFirst remote_first({2, 0, 1});
  EXPECT_THAT(plans(cluster, Consistency::kOne, {}, remote_first), ElementsAre("min..max x4 2 | "));
}

TEST(RangePlanTest, IsUnavailableFromThePartOnThatTooFewReplicasHold) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(4, "2");  // to 0 of 0 1, to 100 of 1 2, to 200 of 2 3
  cluster.down({3});
  EXPECT_THAT(plans(cluster, Consistency::kAll),
              ElementsAre("min..0 x1 0 1 | ", "Cannot achieve consistency level ALL [ALL 1/2]"));
}

TEST(RangePlanTest, TheReplicasOfAPartAreThoseOfItsEnd) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "1");
  EXPECT_THAT(plans(cluster, Consistency::kOne, between(RingPosition::before(10), RingPosition::before(20))),
              ElementsAre("10-..20- x1 1 | "));
}

TEST(RangeConcurrencyTest, AsksMorePartsWhenTheFirstOnesBringLittle) {
  constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(RangeConcurrency::first(0, 100, 48, 20), 1);    // nothing is known
  EXPECT_EQ(RangeConcurrency::first(10, 100, 48, 20), 12);  // 100 rows of 9 each
  EXPECT_EQ(RangeConcurrency::first(1, 100, 48, 20), 20);   // no more than allowed
  EXPECT_EQ(RangeConcurrency::first(1, 100, 5, 20), 5);     // no more than there are
  EXPECT_EQ(RangeConcurrency::first(1000, 100, 48, 20), 1);
  EXPECT_EQ(RangeConcurrency::first(1000, kNoLimit, 48, 20), 20);

  EXPECT_EQ(RangeConcurrency::next(0, 100, 1, 48, 20), 20);  // no rows: as many as allowed
  EXPECT_EQ(RangeConcurrency::next(0, 100, 40, 48, 20), 8);  // as there are left
  EXPECT_EQ(RangeConcurrency::next(20, 100, 2, 48, 20), 8);  // 80 rows are missing, 10 of each part
  EXPECT_EQ(RangeConcurrency::next(99, 100, 2, 48, 20), 1);
  EXPECT_EQ(RangeConcurrency::next(100, 100, 2, 48, 20), 1);
  EXPECT_EQ(RangeConcurrency::next(1, kNoLimit, 2, 48, 20), 20);
}

// ---- The batchlog's endpoints

std::string batchlog(const PlannedCluster& cluster, const BatchlogStrategy& strategy = {}, bool is_any = false) {
  auto first = [](size_t) { return size_t{0}; };
  NearestFirst farthest_number({9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  Result<WritePlan> plan = plan_batchlog(cluster.topology(), strategy, is_any, farthest_number, first);
  if (!plan.ok()) return text(plan.error());
  return std::string(consistency_name(plan->consistency)) + " " + text(plan);
}

const StringPairs kOneReplica = {{"class", "SimpleStrategy"}, {"replication_factor", "1"}};

TEST(BatchlogEndpointsTest, AreAllOfASmallDatacenterLiveOrNot) {
  PlannedCluster one({{"dc1", "r1", 0}, {"dc2", "r1", 100}}, kOneReplica);
  EXPECT_EQ(batchlog(one), "ONE 1 of 0");
  PlannedCluster two({{"dc1", "r1", 0}, {"dc1", "r1", 100}, {"dc2", "r1", 200}}, kOneReplica);
  EXPECT_EQ(batchlog(two), "TWO 2 of 0 1");
  EXPECT_EQ(batchlog(two.down({1})), "TWO 2 of 0 1");
}

TEST(BatchlogEndpointsTest, AreTwoOthersThatLive) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(4, "1");
  EXPECT_EQ(batchlog(cluster.down({2})), "TWO 2 of 1 3");
  EXPECT_EQ(batchlog(cluster.down({1, 2})), "ONE 1 of 3");
  EXPECT_EQ(batchlog(cluster.down({1, 2, 3})),
            "Cannot achieve consistency level TWO for batchlog in local DC, required:2, available:0 [TWO 0/2]");
  EXPECT_EQ(batchlog(cluster, {}, true), "ONE 1 of 0");
}

TEST(BatchlogEndpointsTest, AreOfTwoRacksAndNotOfThisNodesWhileOthersSuffice) {
  PlannedCluster cluster({{"dc1", "r1", 0},
                          {"dc1", "r1", 100},
                          {"dc1", "r2", 200},
                          {"dc1", "r2", 300},
                          {"dc1", "r3", 400},
                          {"dc1", "r3", 500}},
                         kOneReplica);
  EXPECT_EQ(batchlog(cluster), "TWO 2 of 2 4");
  EXPECT_EQ(batchlog(cluster, {true, false}), "TWO 2 of 1 2");
  EXPECT_EQ(batchlog(cluster, {false, true}), "TWO 2 of 5 3");
  EXPECT_EQ(batchlog(cluster, {true, true}), "TWO 2 of 5 3");
  EXPECT_EQ(batchlog(cluster.down({2, 3, 4})), "TWO 2 of 1 5");
  EXPECT_EQ(batchlog(cluster.down({1, 2, 3})), "TWO 2 of 4 5");
}

TEST(BatchlogEndpointsTest, AreTheNearestOfOneRackWhenThereIsNoOther) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(5, "1");
  EXPECT_EQ(batchlog(cluster, {false, true}), "TWO 2 of 4 3");
}

}  // namespace
}  // namespace cassandra_like::test::quorum_range_plan_test
