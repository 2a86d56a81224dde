// The order in which nodes are asked: by place, then by their latencies of late.
#include "coordinator/context/proximity.h"

#include <gtest/gtest.h>

#include "quorum_fixture.h"

namespace cassandra_like::test {
namespace {

class ManualClock final : public Clock {
 public:
  int64_t wall_micros() const override { return now / 1000; }
  int64_t monotonic_nanos() const override { return now; }
  int64_t now = 1'000'000'000;
};

// Node 0 is this one; 1 is of its rack, 2 of another one, 3 of another datacenter, 4 of its rack again.
class ProximityTest : public ::testing::Test {
 protected:
  ProximityTest() {
    std::vector<ClusterNode> nodes{
        {"dc1", "r1", 0}, {"dc1", "r1", 100}, {"dc1", "r2", 200}, {"dc2", "r1", 300}, {"dc1", "r1", 400}};
    cluster_.emplace(nodes, StringPairs{{"class", "SimpleStrategy"}, {"replication_factor", "3"}});
    for (const Endpoint& endpoint : cluster_->ring().endpoints()) {
      addresses_.push_back(*InetAddressAndPort::parse(endpoint.address));
    }
  }

  std::vector<EndpointIndex> sorted(std::vector<EndpointIndex> endpoints) {
    proximity_.sort(cluster_->topology(), addresses_, endpoints);
    return endpoints;
  }
  void answers(EndpointIndex endpoint, int millis, int times = 20) {
    for (int i = 0; i < times; ++i) proximity_.answered(addresses_[endpoint], int64_t{millis} * 1000);
  }
  void pass(Duration time) { clock_.now += time.count(); }

  CoordinatorOptions options_;
  ManualClock clock_;
  std::optional<PlannedCluster> cluster_;
  std::vector<InetAddressAndPort> addresses_;
  Proximity proximity_{options_, clock_};
};

using Order = std::vector<EndpointIndex>;

TEST_F(ProximityTest, IsThisNodeThenItsRackThenItsDatacenterThenTheRest) {
  EXPECT_EQ(sorted({3, 2, 1, 0}), (Order{0, 1, 2, 3}));
  EXPECT_EQ(sorted({4, 3, 1}), (Order{4, 1, 3}));  // nodes of one rack stay as they are
}

TEST_F(ProximityTest, AvoidsANodeThatIsTwiceAsSlow) {
  answers(1, 50);
  answers(2, 10);
  pass(std::chrono::milliseconds(100));
  EXPECT_EQ(sorted({0, 1, 2}), (Order{0, 2, 1}));
  EXPECT_DOUBLE_EQ(proximity_.score(addresses_[1]), 1);
}

TEST_F(ProximityTest, KeepsTheOrderWithinTheThreshold) {
  answers(1, 15);
  answers(2, 10);
  pass(std::chrono::milliseconds(100));
  EXPECT_EQ(sorted({1, 2}), (Order{1, 2}));
  options_.dynamic_snitch_badness = 0.1;
  EXPECT_EQ(sorted({1, 2}), (Order{2, 1}));
  options_.dynamic_snitch_badness = 0;
  EXPECT_EQ(sorted({1, 2}), (Order{2, 1}));
  options_.dynamic_snitch = false;
  EXPECT_EQ(sorted({2, 1}), (Order{1, 2}));
}

TEST_F(ProximityTest, LooksAtLatenciesOnceInAnInterval) {
  EXPECT_EQ(sorted({1, 2}), (Order{1, 2}));
  answers(1, 50);
  EXPECT_EQ(sorted({1, 2}), (Order{1, 2}));
  pass(std::chrono::milliseconds(100));
  EXPECT_EQ(sorted({1, 2}), (Order{2, 1}));
}

TEST_F(ProximityTest, ForgetsOldLatencies) {
  answers(1, 50);
  pass(std::chrono::milliseconds(100));
  EXPECT_EQ(sorted({1, 2}), (Order{2, 1}));
  pass(std::chrono::seconds(20));
  sorted({1, 2});
  answers(1, 0, 5);  // it is fast again
  pass(std::chrono::milliseconds(100));
  EXPECT_EQ(sorted({1, 2}), (Order{1, 2}));
}

TEST_F(ProximityTest, TriesAllAgainAfterAReset) {
  answers(1, 50);
  pass(std::chrono::milliseconds(100));
  EXPECT_EQ(sorted({1, 2}), (Order{2, 1}));
  pass(std::chrono::minutes(10));
  EXPECT_EQ(sorted({1, 2}), (Order{1, 2}));
  EXPECT_EQ(proximity_.score(addresses_[1]), 0);
}

}  // namespace
}  // namespace cassandra_like::test
