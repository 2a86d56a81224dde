// Writes of several replicas: what a client is told at each level, and which replicas and hints have the write then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "cluster_fixture.h"
#include "quorum_fixture.h"

namespace cassandra_like::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// The names of the nodes that hints are for: "2 1".
std::string hinted(CoordinatorCluster& cluster, size_t by = 0) {
  std::string out;
  for (const RecordedHints::Hint& hint : cluster.node(by).hints()) {
    for (const Uuid& id : hint.nodes) {
      for (size_t i = 0; i < cluster.size(); ++i) {
        if (cluster.node(i).host_id == id) out += (out.empty() ? "" : " ") + std::to_string(i);
      }
    }
  }
  return out;
}

void settle(CoordinatorCluster& cluster) { cluster.world().run_for(std::chrono::seconds(10)); }

TEST(ReplicatedWrites, ReachAllReplicas) {
  CoordinatorCluster cluster(3);
  for (Consistency level : write_levels()) {
    const std::string key = fmt::format("key of {}", consistency_name(level));
    EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), level)), "ok");
    settle(cluster);
    EXPECT_EQ(cluster.having(key), "0 1 2") << consistency_name(level);
  }
  EXPECT_EQ(hinted(cluster), "");
}

}  // namespace
}  // namespace cassandra_like::test
