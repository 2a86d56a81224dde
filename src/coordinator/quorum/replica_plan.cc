#include "coordinator/quorum/replica_plan.h"

#include <algorithm>

#include "coordinator/quorum/request_errors.h"

namespace cassandra_like {
namespace {

bool holds(std::span<const EndpointIndex> endpoints, EndpointIndex endpoint) {
  return std::find(endpoints.begin(), endpoints.end(), endpoint) != endpoints.end();
}

// EACH_QUORUM asks each datacenter only where the strategy knows them.
bool is_by_datacenter(Consistency consistency, const ReplicationStrategy& strategy) {
  return consistency == Consistency::kEachQuorum && strategy.is_network_topology();
}

// A number for each datacenter.
class DatacenterCounts {
 public:
  void add(std::string_view datacenter, int count) { at(datacenter) += count; }
  int& at(std::string_view datacenter) {
    for (auto& [name, count] : counts_) {
      if (name == datacenter) return count;
    }
    return counts_.emplace_back(datacenter, 0).second;
  }
  // Takes one of what the datacenter has left; false: nothing was left.
  bool take(std::string_view datacenter) { return --at(datacenter) >= 0; }

 private:
  absl::InlinedVector<std::pair<std::string_view, int>, 4> counts_;
};

// ConsistencyLevel.eachQuorumForRead.
DatacenterCounts each_quorum(const Placement& placement) {
  const ReplicationStrategy& strategy = placement.replicas.strategy;
  DatacenterCounts out;
  if (!strategy.is_network_topology()) {
    out.add(placement.topology.local().datacenter, strategy.replication_factor() / 2 + 1);
  }
  for (const auto& [datacenter, factor] : strategy.datacenters()) out.add(datacenter, factor / 2 + 1);
  return out;
}

// Enough of them live (ReplicaPlans.assureSufficientLiveReplicas).
Status check_sufficient(const Placement& placement, Consistency consistency, int block_for,
                        std::span<const EndpointIndex> live) {
  if (consistency == Consistency::kAny) return {};
  if (is_by_datacenter(consistency, placement.replicas.strategy)) {
    DatacenterCounts alive;
    for (EndpointIndex endpoint : live) alive.add(placement.ring().endpoint(endpoint).datacenter, 1);
    for (const auto& [datacenter, factor] : placement.replicas.strategy.datacenters()) {
      const int quorum = factor / 2 + 1;
      // Cassandra tells that no replica lives.
      if (alive.at(datacenter) < quorum) return unavailable_error(consistency, quorum, 0, datacenter);
    }
    return {};
  }
  int alive = static_cast<int>(live.size());
  if (consistency == Consistency::kLocalOne || consistency == Consistency::kLocalQuorum) {
    alive = static_cast<int>(std::count_if(
        live.begin(), live.end(), [&](EndpointIndex endpoint) { return placement.is_local_datacenter(endpoint); }));
  }
  if (alive >= block_for) return {};
  return unavailable_error(consistency, consistency == Consistency::kLocalOne ? 1 : block_for, alive);
}

uint8_t datacenter_number(const ReplicationStrategy& strategy, const std::string& datacenter) {
  const auto& all = strategy.datacenters();
  return static_cast<uint8_t>(std::distance(all.begin(), all.find(datacenter)));
}

// Nothing is checked.
WritePlan write_to_all(const Placement& placement, Token token, Consistency consistency) {
  const ReplicationStrategy& strategy = placement.replicas.strategy;
  const bool is_local = is_datacenter_local(consistency);
  const bool by_datacenter = is_by_datacenter(consistency, strategy);
  WritePlan plan;
  plan.consistency = consistency;
  plan.block_for = block_for(consistency, strategy, placement.topology.local().datacenter);
  if (by_datacenter) {
    for (const auto& [datacenter, factor] : strategy.datacenters()) plan.quorums.push_back(factor / 2 + 1);
  }
  const std::span<const EndpointIndex> natural = placement.replicas.natural.replicas(token);
  auto add = [&](EndpointIndex endpoint, bool is_pending) {
    WriteReplica& replica = plan.replicas.emplace_back();
    replica.endpoint = endpoint;
    replica.is_pending = is_pending;
    replica.is_alive = placement.topology.is_alive(endpoint);
    replica.counts = !is_local || placement.is_local_datacenter(endpoint);
    if (by_datacenter) replica.datacenter = datacenter_number(strategy, placement.ring().endpoint(endpoint).datacenter);
    if (!is_pending) return;
    if (by_datacenter) ++plan.quorums[replica.datacenter];
    if (replica.counts && consistency != Consistency::kAny) ++plan.block_for;
  };
  for (EndpointIndex endpoint : natural) add(endpoint, false);
  for (EndpointIndex endpoint : placement.replicas.pending.of(token)) {
    if (!holds(natural, endpoint)) add(endpoint, true);
  }
  return plan;
}

EndpointList live_of(const WritePlan& plan) {
  EndpointList live;
  for (const WriteReplica& replica : plan.replicas) {
    if (replica.is_alive) live.push_back(replica.endpoint);
  }
  return live;
}

}  // namespace

// ---- Writes

int WritePlan::candidates() const {
  return static_cast<int>(
      std::count_if(replicas.begin(), replicas.end(), [](const WriteReplica& replica) { return replica.counts; }));
}

Result<WritePlan> plan_write(const Placement& placement, Token token, Consistency consistency) {
  WritePlan plan = write_to_all(placement, token, consistency);
  TRY(check_sufficient(placement, consistency, plan.block_for, live_of(plan)));
  return plan;
}

Result<EndpointIndex> counter_leader(const Placement& placement, Token token, Consistency consistency,
                                     ProximityOrder nearest_first, RandomBelow random) {
  EndpointList local, remote;
  for (EndpointIndex endpoint : placement.replicas.natural.replicas(token)) {
    if (!placement.topology.is_alive(endpoint) || !placement.topology.serves_clients(endpoint)) continue;
    (placement.is_local_datacenter(endpoint) ? local : remote).push_back(endpoint);
  }
  if (!local.empty()) return local[random(local.size())];
  if (remote.empty() || is_datacenter_local(consistency)) {
    const std::string& datacenter = placement.topology.local().datacenter;
    return unavailable_error(consistency, block_for(consistency, placement.replicas.strategy, datacenter), 0);
  }
  nearest_first({remote.data(), remote.size()});
  return remote[0];
}

// ---- Reads

Result<ReadPlan> plan_read(const Placement& placement, Token token, Consistency consistency,
                           ProximityOrder nearest_first, bool always_speculates) {
  EndpointList live;
  for (EndpointIndex endpoint : placement.replicas.natural.replicas(token)) {
    if (placement.topology.is_alive(endpoint)) live.push_back(endpoint);
  }
  nearest_first({live.data(), live.size()});
  return plan_read_of(placement, consistency, std::move(live), always_speculates);
}

Result<ReadPlan> plan_read_of(const Placement& placement, Consistency consistency, EndpointList candidates,
                              bool always_speculates) {
  ReadPlan plan;
  plan.consistency = consistency;
  plan.block_for = block_for(consistency, placement.replicas.strategy, placement.topology.local().datacenter);
  plan.candidates = std::move(candidates);
  EndpointList& asked = plan.candidates;
  if (is_datacenter_local(consistency)) {
    auto is_remote = [&](EndpointIndex endpoint) { return !placement.is_local_datacenter(endpoint); };
    asked.erase(std::remove_if(asked.begin(), asked.end(), is_remote), asked.end());
  }
  if (is_by_datacenter(consistency, placement.replicas.strategy)) {
    DatacenterCounts wanted = each_quorum(placement);
    EndpointList contacts, rest;
    for (EndpointIndex endpoint : asked) {
      (wanted.take(placement.ring().endpoint(endpoint).datacenter) ? contacts : rest).push_back(endpoint);
    }
    plan.contacts = contacts.size();
    contacts.insert(contacts.end(), rest.begin(), rest.end());
    asked = std::move(contacts);
  } else {
    const size_t wanted = static_cast<size_t>(plan.block_for) + (always_speculates ? 1 : 0);
    plan.contacts = std::min(wanted, asked.size());
  }
  TRY(check_sufficient(placement, consistency, plan.block_for, plan.contacted()));
  return plan;
}

Status check_readable(const Placement& placement, Consistency consistency, std::span<const EndpointIndex> live) {
  const int needed = block_for(consistency, placement.replicas.strategy, placement.topology.local().datacenter);
  return check_sufficient(placement, consistency, needed, live);
}

// ---- Read repair

bool ReadRepairPlan::needs_full_difference(std::span<const EndpointIndex> read_from) const {
  return std::any_of(contacts.begin(), contacts.end(),
                     [&](EndpointIndex endpoint) { return !holds(read_from, endpoint); });
}

int ReadRepairPlan::answers_to_wait_for(size_t repaired) const {
  return std::max(0, block_for - static_cast<int>(contacts.size() - repaired));
}

Result<ReadRepairPlan> plan_read_repair(const Placement& placement, Token token, Consistency consistency,
                                        std::span<const EndpointIndex> read_from) {
  const WritePlan write = write_to_all(placement, token, consistency);
  const EndpointList live = live_of(write);
  ReadRepairPlan plan;
  plan.consistency = consistency;
  plan.block_for = write.block_for;
  for (EndpointIndex endpoint : live) {
    if (holds(read_from, endpoint)) plan.contacts.push_back(endpoint);
  }
  const bool is_local = is_datacenter_local(consistency), is_each = consistency == Consistency::kEachQuorum;
  DatacenterCounts wanted = each_quorum(placement);
  auto datacenter = [&](EndpointIndex endpoint) -> std::string_view {
    return placement.ring().endpoint(endpoint).datacenter;
  };
  for (const WriteReplica& replica : write.replicas) {
    if (replica.is_pending) wanted.add(datacenter(replica.endpoint), 1);
  }
  for (EndpointIndex endpoint : plan.contacts) wanted.add(datacenter(endpoint), -1);
  int missing = plan.block_for - static_cast<int>(plan.contacts.size());
  for (EndpointIndex endpoint : live) {
    if (holds(read_from, endpoint) || (is_local && !placement.is_local_datacenter(endpoint))) continue;
    const bool is_wanted = is_each ? wanted.take(datacenter(endpoint)) : missing-- > 0;
    (is_wanted ? plan.contacts : plan.others).push_back(endpoint);
  }
  TRY(check_sufficient(placement, consistency, plan.block_for, live));
  return plan;
}

}  // namespace cassandra_like
