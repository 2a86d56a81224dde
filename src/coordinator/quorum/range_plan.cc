#include "coordinator/quorum/range_plan.h"

#include <algorithm>
#include <cmath>

namespace cassandra_like {

namespace {

bool is_empty(const KeyRange& range) {
  const int order = range.start.compare(range.end);
  const bool is_one_key = range.start.kind == RingPosition::Kind::kKey && range.start_inclusive && range.end_inclusive;
  return order > 0 || (order == 0 && !is_one_key);
}

}  // namespace

std::vector<KeyRange> split_by_replicas(const KeyRange& range, const Placement& placement) {
  std::vector<KeyRange> parts;
  if (is_empty(range)) return parts;
  KeyRange rest = range;
  const bool is_cut = !placement.replicas.strategy.is_local();
  for (const TokenRing::Entry& entry : placement.ring().entries()) {
    RingPosition cut = RingPosition::after(entry.token);
    if (!is_cut || cut.compare(range.start) <= 0) continue;
    if (cut.compare(range.end) >= 0) break;
    KeyRange& part = parts.emplace_back(rest);
    part.end = cut;
    rest.start = std::move(cut);
  }
  parts.push_back(std::move(rest));
  return parts;
}

RangePlans::RangePlans(const KeyRange& range, const Placement& placement, Consistency consistency,
                       ProximityOrder nearest_first)
    : placement_(placement),
      consistency_(consistency),
      nearest_first_(nearest_first),
      parts_(split_by_replicas(range, placement)) {}

Result<std::optional<RangePlan>> RangePlans::plan_part() {
  if (planned_ == parts_.size()) return std::optional<RangePlan>();
  const KeyRange& range = parts_[planned_];
  ASSIGN_OR_RETURN(ReadPlan replicas, plan_read(placement_, range.end.token, consistency_, nearest_first_, false));
  ++planned_;
  return std::optional<RangePlan>(RangePlan{range, std::move(replicas), 1});
}

Result<std::optional<RangePlan>> RangePlans::next() {
  std::optional<RangePlan> current = std::move(ahead_);
  ahead_.reset();
  if (!current) {
    ASSIGN_OR_RETURN(current, plan_part());
  }
  while (current) {
    ASSIGN_OR_RETURN(ahead_, plan_part());
    if (!ahead_) break;
    std::optional<RangePlan> joined = join(*current, *ahead_);
    if (!joined) break;
    current = std::move(joined);
    ahead_.reset();
  }
  return current;
}

// ReplicaPlans.maybeMerge.
std::optional<RangePlan> RangePlans::join(const RangePlan& left, const RangePlan& right) const {
  EndpointList shared;
  const EndpointList& others = right.replicas.candidates;
  for (EndpointIndex endpoint : left.replicas.candidates) {
    if (std::find(others.begin(), others.end(), endpoint) != others.end()) shared.push_back(endpoint);
  }
  if (!check_readable(placement_, consistency_, {shared.data(), shared.size()}).ok()) return std::nullopt;
  Result<ReadPlan> replicas = plan_read_of(placement_, consistency_, std::move(shared), false);
  if (!replicas.ok()) return std::nullopt;
  // Two questions within the datacenter are asked sooner than one to another datacenter.
  if (has_remote(replicas->contacted()) && !has_remote(left.replicas.contacted()) &&
      !has_remote(right.replicas.contacted())) {
    return std::nullopt;
  }
  RangePlan joined{left.range, std::move(*replicas), left.vnodes + right.vnodes};
  joined.range.end = right.range.end;
  joined.range.end_inclusive = right.range.end_inclusive;
  return joined;
}

bool RangePlans::has_remote(std::span<const EndpointIndex> endpoints) const {
  return std::any_of(endpoints.begin(), endpoints.end(),
                     [&](EndpointIndex endpoint) { return !placement_.is_local_datacenter(endpoint); });
}

namespace {

int at_least_one(double wanted, int most) {
  return wanted >= most ? std::max(1, most) : std::max(1, static_cast<int>(wanted));
}

}  // namespace

int RangeConcurrency::first(double rows_per_part, uint64_t row_limit, int parts, int most) {
  // Fewer rows than estimated are less of a loss than a second round.
  const double expected = rows_per_part * 0.9;
  if (expected == 0) return 1;
  return at_least_one(std::ceil(static_cast<double>(row_limit) / expected), std::min(parts, most));
}

int RangeConcurrency::next(uint64_t rows, uint64_t row_limit, int asked, int parts, int most) {
  const int left = std::max(1, std::min(std::min(most, parts), parts - asked));
  if (rows == 0) return left;
  const double wanted = row_limit > rows ? static_cast<double>(row_limit - rows) : 0;
  const double rows_per_part = static_cast<double>(rows) / asked;
  return at_least_one(std::floor(wanted / rows_per_part + 0.5), left);
}

}  // namespace cassandra_like
