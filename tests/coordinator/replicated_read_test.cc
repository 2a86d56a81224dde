// Reads from several replicas of simulated machines: levels, differences and their repair, short reads, ranges.
#include "replicated_read_fixture.h"

namespace cassandra_like::test {
namespace {

using namespace std::chrono_literals;

constexpr Consistency kQuorum = Consistency::kQuorum;

TEST(ReplicatedRead, AsksForTheDataOfOneAndDigestsOfTheOthers) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  EXPECT_EQ(cluster.read(0, "a", kQuorum), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(cluster.asked(), 1);  // the digest of one other node
  EXPECT_EQ(cluster.read(0, "a", Consistency::kAll), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(cluster.asked(), 3);
}

TEST(ReplicatedRead, OfAnotherNodesKeyAtOneAsksThatNodeAlone) {
  ReadCluster cluster(3, 1);
  const std::string key = cluster.key_of(1);
  cluster.put({1}, cluster.row(key, "x"));
  EXPECT_EQ(cluster.read(0, key, Consistency::kOne), (Lines{key, "  1: v=x@10"}));
  EXPECT_EQ(cluster.node(1).received(Verb::kReadReq), 1);
  EXPECT_EQ(cluster.asked(), 1);
}

TEST(ReplicatedRead, OfStaleReplicasFindsTheNewestAndRepairsThem) {
  ReadCluster cluster(3);
  cluster.put({0, 1}, cluster.row("a", "old", 10));
  cluster.put({1, 2}, cluster.update("a").at(20).row(2).live().cell("v", "new"));
  cluster.put({1}, cluster.update("a").at(30).static_row().cell("s", "st"));
  cluster.put({2}, cluster.update("a").at(15).row(1).tombstone("v"));
  const Lines merged{"a [s=st@30]", "  2: @20 v=new@20"};
  EXPECT_EQ(cluster.read(0, "a", Consistency::kAll), merged);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster.lines(i, "t", "a"), merged) << i;
  const int asked = cluster.asked();
  EXPECT_EQ(cluster.read(0, "a", Consistency::kAll), merged);
  EXPECT_EQ(cluster.asked(), asked + 2);  // the digests are the same now
}

TEST(ReplicatedRead, TellsOfTooFewLiveReplicasBeforeAnythingIsSent) {
  ReadCluster cluster(3);
  cluster.down({1, 2});
  EXPECT_EQ(cluster.read(0, "a", kQuorum), (Lines{"Cannot achieve consistency level QUORUM [QUORUM 1/2]"}));
  EXPECT_EQ(cluster.asked(), 0);
}

}  // namespace
}  // namespace cassandra_like::test
