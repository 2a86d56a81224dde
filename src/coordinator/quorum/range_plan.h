// Who is asked for a range of the ring (service.reads.range.ReplicaPlanIterator, ReplicaPlanMerger,
// RangeCommandIterator): the range is cut where replicas change, parts that the same replicas can answer become one
// again, and several parts are asked at once.
//
// Plans are made one after the other, in ring order, as the read goes on. The topology is that of the read's beginning.
#pragma once

#include <optional>
#include <vector>

#include "coordinator/quorum/replica_plan.h"
#include "model/key.h"

namespace cassandra_like {

struct RangePlan {
  KeyRange range;
  ReadPlan replicas;
  int vnodes = 1;  // parts of the ring that it has
};

// Cuts behind each token of the ring. A keyspace of LocalStrategy is not cut.
std::vector<KeyRange> split_by_replicas(const KeyRange& range, const Placement& placement);

class RangePlans {
 public:
  // The objects that the placement and the order refer to outlive this.
  RangePlans(const KeyRange& range, const Placement& placement, Consistency consistency, ProximityOrder nearest_first);

  // Nothing at the end. kUnavailable when the replicas of a part, or of the part behind it, do not reach the level.
  Result<std::optional<RangePlan>> next();
  // The parts before any were joined.
  size_t parts() const { return parts_.size(); }

 private:
  Result<std::optional<RangePlan>> plan_part();
  std::optional<RangePlan> join(const RangePlan& left, const RangePlan& right) const;
  bool has_remote(std::span<const EndpointIndex> endpoints) const;

  Placement placement_;
  Consistency consistency_;
  ProximityOrder nearest_first_;
  std::vector<KeyRange> parts_;
  size_t planned_ = 0;
  std::optional<RangePlan> ahead_;  // planned but not yet given
};

// How many parts of the ring are asked at once.
struct RangeConcurrency {
  // At first. rows_per_part: the rows that this node is estimated to have of the table, divided by num_tokens and by the
  // replication factor. `most` is what the node allows: ten for each core.
  static int first(double rows_per_part, uint64_t row_limit, int parts, int most);
  // After `asked` of all parts brought `rows`.
  static int next(uint64_t rows, uint64_t row_limit, int asked, int parts, int most);
};

}  // namespace cassandra_like
