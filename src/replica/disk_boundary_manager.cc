#include "replica/disk_boundary_manager.h"

#include <algorithm>

namespace cassandra_like {

namespace {

// Range.sort: ascending, and none around the end of the ring.
std::vector<OwnedRange> sorted(const std::vector<TokenRange>& ranges) {
  std::vector<OwnedRange> out;
  for (const TokenRange& range : ranges) {
    const bool is_wrapped = range.right <= range.left && range.right != kMinimumToken;
    out.push_back({range.left, is_wrapped ? kMinimumToken : range.right});
    if (is_wrapped) out.push_back({kMinimumToken, range.right});
  }
  std::sort(out.begin(), out.end(), [](const OwnedRange& a, const OwnedRange& b) { return a.left < b.left; });
  return out;
}

DiskBoundaries boundaries_in(const Topology& topology, const ReplicationParams& replication, size_t directories) {
  auto strategy = ReplicationStrategy::make(replication);
  if (!strategy.ok() || strategy->is_local()) return DiskBoundaries::divide({}, directories, false);
  const bool has_vnodes = topology.local().tokens.size() > 1;
  const ReplicaMap replicas(topology.ring(), *strategy);
  return DiskBoundaries::divide(sorted(replicated_ranges(replicas, topology.ring()->local())), directories, has_vnodes);
}

}  // namespace

const DiskBoundaries& DiskBoundaryManager::of(const TopologyPtr& topology, const ReplicationParams& replication,
                                              size_t directories) {
  const std::shared_ptr<const TokenRing> ring = topology == nullptr ? nullptr : topology->ring();
  if (ring != ring_) by_options_.clear();
  ring_ = ring;
  const auto found = by_options_.find(replication.options);
  if (found != by_options_.end()) return found->second;
  DiskBoundaries made = ring == nullptr ? DiskBoundaries::divide({}, directories, false)
                                        : boundaries_in(*topology, replication, directories);
  return by_options_.emplace(replication.options, std::move(made)).first->second;
}

}  // namespace cassandra_like
