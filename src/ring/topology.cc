#include "ring/topology.h"

#include <algorithm>
#include <optional>

#include "base/result.h"

namespace cassandra_like {
namespace {

__extension__ using Uint128 = unsigned __int128;

bool has(std::span<const EndpointIndex> replicas, EndpointIndex endpoint) {
  return std::find(replicas.begin(), replicas.end(), endpoint) != replicas.end();
}

}  // namespace

Topology::Topology(std::shared_ptr<const TokenRing> ring, std::vector<bool> alive, std::vector<bool> serving,
                   std::vector<DiskUsage> usage)
    : ring_(std::move(ring)), alive_(std::move(alive)), serving_(std::move(serving)), usage_(std::move(usage)) {
  CHECK(usage_.empty() || usage_.size() == alive_.size());
  has_stuffed_disks_ = std::any_of(usage_.begin(), usage_.end(), [](DiskUsage u) { return u >= DiskUsage::kStuffed; });
  CHECK(alive_.size() == ring_->endpoints().size());
  CHECK(serving_.empty() || serving_.size() == alive_.size());
  CHECK(alive_[ring_->local()]);
}

TopologyPtr Topology::of_one(Endpoint local) {
  std::vector<Endpoint> endpoints;
  endpoints.push_back(std::move(local));
  return std::make_shared<Topology>(std::make_shared<TokenRing>(std::move(endpoints), 0), std::vector<bool>{true});
}

TopologyPtr Topology::with_liveness(std::vector<bool> alive, std::vector<bool> serving,
                                    std::vector<DiskUsage> usage) const {
  return std::make_shared<Topology>(ring_, std::move(alive), std::move(serving), std::move(usage));
}

PendingReplicas::PendingReplicas(const TokenRing& ring, const ReplicationStrategy& strategy) {
  if (strategy.is_local()) return;
  std::vector<Endpoint> remaining(ring.endpoints().begin(), ring.endpoints().end());
  std::vector<EndpointIndex> arriving;
  bool anybody_leaves = false;
  for (EndpointIndex i = 0; i < remaining.size(); ++i) {
    EndpointStatus& state = remaining[i].state;
    anybody_leaves = anybody_leaves || state == EndpointStatus::kLeaving;
    if (state == EndpointStatus::kJoining || state == EndpointStatus::kMoving) arriving.push_back(i);
    if (state == EndpointStatus::kLeaving) state = EndpointStatus::kLeft;
  }
  if (!anybody_leaves && arriving.empty()) return;

  // Who else becomes a replica in each of these futures counts only for whom the future is made.
  struct Future {
    TokenRing ring;
    std::optional<EndpointIndex> only;
  };
  std::vector<Future> futures;
  if (anybody_leaves) futures.push_back({TokenRing(remaining, ring.local()), std::nullopt});
  for (EndpointIndex i : arriving) {
    std::vector<Endpoint> with = remaining;
    if (with[i].state == EndpointStatus::kMoving) with[i].tokens = with[i].moving_to;
    with[i].state = EndpointStatus::kNormal;
    futures.push_back({TokenRing(std::move(with), ring.local()), i});
  }
  for (const TokenRing::Entry& entry : ring.entries()) boundaries_.push_back(entry.token);
  for (const Future& future : futures) {
    for (const TokenRing::Entry& entry : future.ring.entries()) boundaries_.push_back(entry.token);
  }
  std::sort(boundaries_.begin(), boundaries_.end());
  boundaries_.erase(std::unique(boundaries_.begin(), boundaries_.end()), boundaries_.end());
  for (Token boundary : boundaries_) {
    std::vector<EndpointIndex> now = strategy.replicas(ring, boundary), pending;
    for (const Future& future : futures) {
      for (EndpointIndex e : strategy.replicas(future.ring, boundary)) {
        if (future.only && e != *future.only) continue;
        if (!has(now, e) && !has(pending, e)) pending.push_back(e);
      }
    }
    pending_.push_back(std::move(pending));
  }
}

std::vector<TokenRange> PendingReplicas::ranges_of(EndpointIndex endpoint) const {
  std::vector<TokenRange> ranges;
  for (size_t i = 0; i < boundaries_.size(); ++i) {
    const Token left = boundaries_[i == 0 ? boundaries_.size() - 1 : i - 1];
    if (has(pending_[i], endpoint)) ranges.push_back({left, boundaries_[i]});
  }
  return ranges;
}

std::span<const EndpointIndex> PendingReplicas::of(Token token) const {
  if (boundaries_.empty()) return {};
  auto at = std::lower_bound(boundaries_.begin(), boundaries_.end(), token);
  return pending_[at == boundaries_.end() ? 0 : static_cast<size_t>(at - boundaries_.begin())];
}

std::shared_ptr<const KeyspaceReplicas> ReplicaMaps::of(const Topology& topology,
                                                        const ReplicationParams& replication) {
  auto found = by_options_.find(replication.options);
  if (found != by_options_.end()) return found->second;
  auto strategy = ReplicationStrategy::make(replication);
  std::shared_ptr<const KeyspaceReplicas> made;
  if (strategy.ok()) made = std::make_shared<KeyspaceReplicas>(topology, std::move(*strategy));
  by_options_.emplace(replication.options, made);
  return made;
}

void TopologyStore::set(TopologyPtr topology) {
  current_ = std::move(topology);
  for (const Listener& listener : listeners_) listener(current_);
}

std::vector<TokenRange> replicated_ranges(const ReplicaMap& replicas, EndpointIndex endpoint) {
  std::vector<TokenRange> ranges;
  for (size_t i = 0; i < replicas.ring().entries().size(); ++i) {
    const TokenRange range = replicas.ring().range_of(i);
    if (has(replicas.replicas(range.right), endpoint)) ranges.push_back(range);
  }
  return ranges;
}

double ownership(const ReplicaMap& replicas, EndpointIndex endpoint) {
  constexpr auto kWholeRing = static_cast<Uint128>(1) << 64;  // tokens
  Uint128 owned = 0;
  for (const TokenRange& range : replicated_ranges(replicas, endpoint)) {
    uint64_t width = static_cast<uint64_t>(range.right) - static_cast<uint64_t>(range.left);
    owned += width == 0 ? kWholeRing : width;
  }
  return static_cast<double>(owned) / static_cast<double>(kWholeRing);
}

}  // namespace cassandra_like
