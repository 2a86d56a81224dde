#include "coordinator/quorum/batchlog_endpoints.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

namespace cassandra_like {
namespace {

constexpr size_t kBatchlogReplicas = 2;

using Racks = std::map<std::string_view, std::vector<EndpointIndex>>;

size_t count_of(const Racks& racks) {
  return std::accumulate(racks.begin(), racks.end(), size_t{0},
                         [](size_t sum, const auto& rack) { return sum + rack.second.size(); });
}

EndpointList all_of_racks(const Racks& racks) {
  EndpointList out;
  for (const auto& [rack, endpoints] : racks) out.insert(out.end(), endpoints.begin(), endpoints.end());
  return out;
}

template <class List>
void shuffle_with(List& list, RandomBelow random) {
  for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random(i)]);
}

// Endpoints of this datacenter that may keep a batch.
Racks eligible(const Topology& topology, const BatchlogStrategy& strategy) {
  const TokenRing& ring = *topology.ring();
  Racks all, others;
  for (EndpointIndex i = 0; i < ring.endpoints().size(); ++i) {
    const Endpoint& endpoint = ring.endpoint(i);
    if (!endpoint.owns_tokens() || endpoint.datacenter != topology.local().datacenter) continue;
    all[endpoint.rack].push_back(i);
    if (i != ring.local() && topology.is_alive(i)) others[endpoint.rack].push_back(i);
  }
  if (count_of(all) <= kBatchlogReplicas) return all;
  const size_t count = count_of(others);
  auto local = others.find(topology.local().rack);
  if (count <= kBatchlogReplicas || strategy.prefers_local_rack || local == others.end()) return others;
  if (count - local->second.size() >= kBatchlogReplicas) others.erase(local);
  return others;
}

// One of each of two racks.
EndpointList random_two(const Racks& racks, const Topology& topology, const BatchlogStrategy& strategy,
                        RandomBelow random) {
  if (racks.size() == 1) {
    EndpointList rack = all_of_racks(racks);
    shuffle_with(rack, random);
    rack.resize(kBatchlogReplicas);
    return rack;
  }
  std::vector<std::string_view> chosen;
  for (const auto& [rack, endpoints] : racks) chosen.push_back(rack);
  if (chosen.size() > kBatchlogReplicas) {
    auto local = std::find(chosen.begin(), chosen.end(), std::string_view(topology.local().rack));
    if (strategy.prefers_local_rack && local != chosen.end()) {
      std::rotate(chosen.begin(), local, local + 1);
      std::swap(chosen[1], chosen[1 + random(chosen.size() - 1)]);
    } else {
      shuffle_with(chosen, random);
    }
  }
  EndpointList out;
  for (size_t i = 0; i < kBatchlogReplicas; ++i) {
    const std::vector<EndpointIndex>& endpoints = racks.find(chosen[i])->second;
    out.push_back(endpoints[random(endpoints.size())]);
  }
  return out;
}

// The nearest one of each of two racks, or the two nearest of a single one.
EndpointList nearest_two(const Racks& racks, const Topology& topology, ProximityOrder nearest_first) {
  EndpointList sorted = all_of_racks(racks);
  nearest_first({sorted.data(), sorted.size()});
  auto rack_of = [&](EndpointIndex endpoint) -> const std::string& { return topology.ring()->endpoint(endpoint).rack; };
  auto second = std::find_if(sorted.begin() + 1, sorted.end(),
                             [&](EndpointIndex endpoint) { return rack_of(endpoint) != rack_of(sorted[0]); });
  return {sorted[0], second == sorted.end() ? sorted[1] : *second};
}

EndpointList choose(const Topology& topology, const BatchlogStrategy& strategy, ProximityOrder nearest_first,
                    RandomBelow random) {
  const Racks racks = eligible(topology, strategy);
  if (count_of(racks) <= kBatchlogReplicas) return all_of_racks(racks);
  return strategy.takes_nearest ? nearest_two(racks, topology, nearest_first)
                                : random_two(racks, topology, strategy, random);
}

Error no_batchlog_endpoint() {
  ErrorInfo info;
  info.code = ErrorCode::kUnavailable;
  info.message = "Cannot achieve consistency level TWO for batchlog in local DC, required:2, available:0";
  info.consistency = static_cast<uint16_t>(Consistency::kTwo);
  info.required = static_cast<int>(kBatchlogReplicas);
  return Error(std::move(info));
}

}  // namespace

Result<WritePlan> plan_batchlog(const Topology& topology, const BatchlogStrategy& strategy, bool is_any,
                                ProximityOrder nearest_first, RandomBelow random) {
  EndpointList chosen = choose(topology, strategy, nearest_first, random);
  const size_t count = chosen.size();
  if (count == 0) {
    if (!is_any) return no_batchlog_endpoint();
    chosen.push_back(topology.ring()->local());
  }
  WritePlan plan;
  // ANY with this node alone is TWO in Cassandra, which a single node never reaches; ONE is what it means.
  plan.consistency = chosen.size() == 1 ? Consistency::kOne : Consistency::kTwo;
  plan.block_for = static_cast<int>(chosen.size());
  for (EndpointIndex endpoint : chosen) plan.replicas.emplace_back().endpoint = endpoint;
  return plan;
}

}  // namespace cassandra_like
