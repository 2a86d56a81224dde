// Tokens for joining nodes: those that Cassandra's own allocator chose for the same clusters, and how evenly they spread.
#include "ring/token_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "ring/topology.h"

namespace cassandra_like {
namespace {

struct RecordedNode {
  std::string datacenter, rack;
  std::vector<Token> tokens;  // as they were chosen
};
struct RecordedCluster {
  int replicas = 0;
  size_t num_tokens = 0;
  std::vector<RecordedNode> nodes;
};

std::vector<RecordedCluster> recorded_clusters() {
  std::vector<RecordedCluster> out;
  std::ifstream file(std::string(SOURCE_DIR) + "/tests/ring/data/allocations.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string kind;
    in >> kind;
    if (kind == "cluster") {
      in >> out.emplace_back().replicas >> out.back().num_tokens;
      continue;
    }
    RecordedNode& node = out.back().nodes.emplace_back();
    in >> node.datacenter >> node.rack;
    for (Token token; in >> token;) node.tokens.push_back(token);
  }
  return out;
}

void add_node(std::vector<Endpoint>& ring, const std::string& datacenter, const std::string& rack,
              std::vector<Token> tokens) {
  Endpoint e;
  e.address = "10.0.0." + std::to_string(ring.size() + 1);
  e.datacenter = datacenter;
  e.rack = rack;
  e.tokens = std::move(tokens);
  ring.push_back(std::move(e));
}

// The first node has no ring yet: it is in one of its own, without tokens.
TokenRing ring_of(std::vector<Endpoint> endpoints) {
  if (endpoints.empty()) {
    add_node(endpoints, "elsewhere", "elsewhere", {});
    endpoints[0].state = EndpointStatus::kLeft;
  }
  return TokenRing(std::move(endpoints), 0);
}

TEST(TokenAllocator, ChoosesWhatCassandraChooses) {
  const auto clusters = recorded_clusters();
  ASSERT_EQ(clusters.size(), 8u);
  for (size_t c = 0; c < clusters.size(); ++c) {
    std::vector<Endpoint> ring;
    for (const RecordedNode& node : clusters[c].nodes) {
      TokenRequest request{node.datacenter, node.rack, clusters[c].replicas, clusters[c].num_tokens, node.tokens[0]};
      auto tokens = allocate_tokens(ring_of(ring), request);
      ASSERT_TRUE(tokens.ok()) << tokens.error().message();
      std::vector<Token> theirs = node.tokens;
      std::sort(theirs.begin(), theirs.end());
      ASSERT_EQ(*tokens, theirs) << "cluster " << c << ", node " << ring.size();
      add_node(ring, node.datacenter, node.rack, theirs);
    }
  }
}

struct Spread {
  double most = 0, least = 1e9;  // of the mean
};

// A cluster that grows to so many nodes in so many racks; what its nodes replicate.
Spread spread_of(int nodes, int racks, int replicas, size_t num_tokens) {
  std::vector<Endpoint> ring;
  for (int n = 0; n < nodes; ++n) {
    const std::string rack = "r" + std::to_string(n % racks);
    auto tokens = allocate_tokens(ring_of(ring), {"dc1", rack, replicas, num_tokens, 4711});
    CHECK(tokens.ok());
    add_node(ring, "dc1", rack, *tokens);
  }
  auto strategy =
      *ReplicationStrategy::make({{{"class", "NetworkTopologyStrategy"}, {"dc1", std::to_string(replicas)}}});
  ReplicaMap replicas_of(std::make_shared<TokenRing>(ring, 0), strategy);
  Spread out;
  const double mean = static_cast<double>(replicas) / nodes;
  for (EndpointIndex i = 0; i < ring.size(); ++i) {
    const double owned = ownership(replicas_of, i) / mean;
    out.most = std::max(out.most, owned);
    out.least = std::min(out.least, owned);
  }
  std::printf("%d nodes, %d racks, rf %d, %zu tokens: %.2f to %.2f of the mean\n", nodes, racks, replicas, num_tokens,
              out.least, out.most);
  return out;
}

TEST(TokenAllocator, SpreadsOwnershipEvenly) {
  for (int nodes : {6, 12, 30}) {
    for (int racks : {1, 3, 5}) {
      const Spread spread = spread_of(nodes, racks, 3, 16);
      // Six nodes in five racks: the two of one rack have less.
      EXPECT_LT(spread.most, nodes == 6 && racks == 5 ? 1.15 : 1.05) << nodes << " nodes, " << racks << " racks";
      EXPECT_GT(spread.least, 0.9) << nodes << " nodes, " << racks << " racks";
    }
  }
}

TEST(TokenAllocator, FewerRacksThanReplicasAreRefused) {
  std::vector<Endpoint> ring;
  add_node(ring, "dc1", "r1", {1, 100});
  add_node(ring, "dc1", "r2", {50, 200});
  auto tokens = allocate_tokens(ring_of(ring), {"dc1", "r1", 3, 2});
  ASSERT_FALSE(tokens.ok());
  EXPECT_EQ(tokens.error().code(), ErrorCode::kConfigError);
  EXPECT_EQ(tokens.error().message(),
            "Token allocation failed: the number of racks 2 in datacenter dc1 is lower than its replication factor 3.");
}

TEST(TokenAllocator, ATokenThatAnotherDatacenterHasGoesToItsNeighbour) {
  std::vector<Endpoint> ring;
  add_node(ring, "dc2", "r1", {77, 78});
  auto tokens = allocate_tokens(ring_of(ring), {"dc1", "r1", 3, 1, 77});
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(*tokens, std::vector<Token>{79});
}

TEST(TokenAllocator, TokensOfNodesThatJoinCountAndThoseOfNodesThatLeftDoNot) {
  auto tokens_beside = [](EndpointStatus state) {
    std::vector<Endpoint> ring;
    add_node(ring, "dc1", "r1", {0});
    ring[0].state = state;
    return *allocate_tokens(ring_of(ring), {"dc1", "r1", 1, 1, 5});
  };
  EXPECT_EQ(tokens_beside(EndpointStatus::kLeft), std::vector<Token>{5});
  EXPECT_NE(tokens_beside(EndpointStatus::kJoining), std::vector<Token>{5});
  EXPECT_EQ(tokens_beside(EndpointStatus::kJoining), tokens_beside(EndpointStatus::kNormal));
}

}  // namespace
}  // namespace cassandra_like
