// Clusters described by a line for each node, and plans as text.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "coordinator/quorum/replica_plan.h"
#include "coordinator/quorum/write_quorum.h"

namespace cassandra_like::test {

struct ClusterNode {
  std::string datacenter = "dc1";
  std::string rack = "r1";
  Token token = 0;
  EndpointStatus status = EndpointStatus::kNormal;
};

// Nodes have the addresses 127.0.0.1 and so on; the first is this one.
class PlannedCluster {
 public:
  PlannedCluster(const std::vector<ClusterNode>& nodes, StringPairs options) {
    std::vector<Endpoint> endpoints;
    for (const ClusterNode& node : nodes) {
      Endpoint& endpoint = endpoints.emplace_back();
      endpoint.address = fmt::format("127.0.0.{}", endpoints.size());
      endpoint.datacenter = node.datacenter;
      endpoint.rack = node.rack;
      endpoint.tokens = {node.token};
      endpoint.state = node.status;
    }
    alive_.assign(nodes.size(), true);
    ring_ = std::make_shared<TokenRing>(std::move(endpoints), 0);
    params_.options = std::move(options);
    change();
  }

  // The tokens of the nodes are 0, 100, 200 and so on.
  static PlannedCluster one_datacenter(size_t nodes, const std::string& factor) {
    std::vector<ClusterNode> all;
    for (size_t i = 0; i < nodes; ++i) all.push_back({"dc1", "r1", static_cast<Token>(i) * 100});
    return {all, {{"class", "SimpleStrategy"}, {"replication_factor", factor}}};
  }
  // Nodes 0 to 2 are dc1, which is this node's, 3 to 5 are dc2; the rest comes in addition.
  static PlannedCluster two_datacenters(const std::vector<ClusterNode>& rest = {}) {
    std::vector<ClusterNode> all;
    for (int i = 0; i < 6; ++i) all.push_back({i < 3 ? "dc1" : "dc2", "r1", i * 100});
    all.insert(all.end(), rest.begin(), rest.end());
    return {all, {{"class", "NetworkTopologyStrategy"}, {"dc1", "3"}, {"dc2", "3"}}};
  }

  // All others live. This node always does.
  PlannedCluster& down(const std::vector<EndpointIndex>& endpoints) {
    alive_.assign(alive_.size(), true);
    for (EndpointIndex endpoint : endpoints) alive_[endpoint] = false;
    change();
    return *this;
  }

  // These live, but do not serve clients.
  PlannedCluster& not_serving(const std::vector<EndpointIndex>& endpoints) {
    serving_.assign(alive_.size(), true);
    for (EndpointIndex endpoint : endpoints) serving_[endpoint] = false;
    change();
    return *this;
  }

  Placement placement() const { return {*topology_, *replicas_}; }
  const Topology& topology() const { return *topology_; }
  const TokenRing& ring() const { return *ring_; }

 private:
  void change() {
    topology_ = std::make_shared<Topology>(ring_, alive_, serving_);
    replicas_ = std::make_shared<KeyspaceReplicas>(*topology_, *ReplicationStrategy::make(params_));
  }

  std::shared_ptr<const TokenRing> ring_;
  std::vector<bool> alive_, serving_;
  ReplicationParams params_;
  TopologyPtr topology_;
  std::shared_ptr<const KeyspaceReplicas> replicas_;
};

// Sorts endpoints as this list does.
class NearestFirst {
 public:
  explicit NearestFirst(std::vector<EndpointIndex> order) : order_(std::move(order)) {}
  void operator()(std::span<EndpointIndex> endpoints) const {
    auto place = [this](EndpointIndex e) { return std::find(order_.begin(), order_.end(), e) - order_.begin(); };
    std::sort(endpoints.begin(), endpoints.end(),
              [&](EndpointIndex a, EndpointIndex b) { return place(a) < place(b); });
  }

 private:
  std::vector<EndpointIndex> order_;
};

inline std::string text(const Error& error) {
  const ErrorInfo& info = error.info();
  return fmt::format("{} [{} {}/{}]", info.message, consistency_name(static_cast<Consistency>(info.consistency)),
                     info.received, info.required);
}

template <class List>
std::string numbers(const List& endpoints) {
  return fmt::format("{}", fmt::join(endpoints.begin(), endpoints.end(), " "));
}

// "2 of 1 2! 0 3+": waits for two; the second one is down, the last one is pending.
inline std::string text(const Result<WritePlan>& plan) {
  if (!plan.ok()) return text(plan.error());
  std::string out = fmt::format("{} of", plan->block_for);
  for (const WriteReplica& replica : plan->replicas) {
    out += fmt::format(" {}{}{}", replica.endpoint, replica.is_pending ? "+" : "", replica.is_alive ? "" : "!");
  }
  return out;
}

// "2: 1 2 | 0": waits for two, asks two, and the third one if they are slow.
inline std::string text(const Result<ReadPlan>& plan) {
  if (!plan.ok()) return text(plan.error());
  const std::span<const EndpointIndex> all(plan->candidates.data(), plan->candidates.size());
  return fmt::format("{}: {} | {}", plan->block_for, numbers(plan->contacted()), numbers(all.subspan(plan->contacts)));
}

inline const std::vector<Consistency>& write_levels() {
  static const std::vector<Consistency> levels = {
      Consistency::kAny,         Consistency::kOne,        Consistency::kTwo,
      Consistency::kThree,       Consistency::kQuorum,     Consistency::kAll,
      Consistency::kLocalQuorum, Consistency::kEachQuorum, Consistency::kLocalOne};
  return levels;
}

inline std::string text(QuorumState state) {
  constexpr const char* kNames[] = {"waiting", "done", "failed", "timed out"};
  return kNames[static_cast<size_t>(state)];
}

// Everything that a client is told.
inline std::string whole_text(const Error& error) {
  const ErrorInfo& info = error.info();
  std::string out = text(error);
  if (!info.write_type.empty()) out += " " + info.write_type;
  if (info.data_present) out += " data";
  for (const auto& [address, reason] : info.failure_reasons) {
    out += fmt::format(" .{}={}", static_cast<int>(address.back()), reason);
  }
  return out;
}

// Where a request stands, and what its client is told when it has failed.
template <class Quorum>
std::string outcome(const Quorum& quorum, const TokenRing& ring) {
  std::string out = text(quorum.state());
  if (quorum.state() == QuorumState::kFailed || quorum.state() == QuorumState::kTimedOut) {
    out += ": " + whole_text(quorum.error(ring));
  }
  return out;
}

}  // namespace cassandra_like::test
