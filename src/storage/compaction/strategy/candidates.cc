#include "storage/compaction/strategy/candidates.h"

#include <numeric>
#include <set>

namespace cassandra_like {
namespace {

struct KeyBounds {
  DecoratedKey first, last;
};

// The places that the candidates cover, in as few bounds as possible, ascending.
std::vector<KeyBounds> covered_bounds(Candidates candidates) {
  std::sort(candidates.begin(), candidates.end(),
            [](const CompactionCandidate* a, const CompactionCandidate* b) { return a->first < b->first; });
  std::vector<KeyBounds> bounds;
  for (const CompactionCandidate* candidate : candidates) {
    if (bounds.empty() || bounds.back().last < candidate->first) {
      bounds.push_back({candidate->first, candidate->last});
    } else if (bounds.back().last < candidate->last) {
      bounds.back().last = candidate->last;
    }
  }
  return bounds;
}

// Partitions of a candidate with left <= token < right.
uint64_t partitions_between(const CompactionCandidate& candidate, Token left, Token right) {
  const bool from_start = left <= candidate.first.token, to_end = right > candidate.last.token;
  if (from_start && to_end) return candidate.partitions;
  if (left > candidate.last.token || right <= candidate.first.token) return 0;
  if (candidate.partitions_between) return candidate.partitions_between(left, right);
  auto width = [](Token from, Token to) {
    return static_cast<double>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
  };
  const Token from = std::max(left, candidate.first.token), to = std::min(right, candidate.last.token);
  const double share = width(from, to) / width(candidate.first.token, candidate.last.token);
  return static_cast<uint64_t>(static_cast<double>(candidate.partitions) * share);
}

// Partitions of a candidate in the token ranges that others cover. An SSTable with one token only stands for the whole
// ring there, as a range from a token to itself does in Cassandra.
uint64_t partitions_covered(const CompactionCandidate& candidate, const Candidates& others) {
  std::vector<std::pair<Token, Token>> ranges;
  for (const CompactionCandidate* other : others) {
    if (other->first.token == other->last.token) return candidate.partitions;
    ranges.emplace_back(other->first.token, other->last.token);
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t covered = 0;
  for (size_t i = 0; i < ranges.size();) {
    auto [left, right] = ranges[i];
    for (++i; i < ranges.size() && ranges[i].first <= right; ++i) right = std::max(right, ranges[i].second);
    covered += partitions_between(candidate, left, right);
  }
  return std::min(covered, candidate.partitions);
}

}  // namespace

Candidates free_candidates(const CompactionView& view) {
  Candidates result;
  for (const CompactionCandidate& candidate : view.sstables) {
    if (!candidate.busy && !candidate.shared && candidate.group == view.group) result.push_back(&candidate);
  }
  return result;
}

Candidates pickable(const CompactionView& view) {
  Candidates result = free_candidates(view);
  std::erase_if(result, [](const CompactionCandidate* candidate) { return candidate->suspect; });
  return result;
}

std::vector<uint64_t> ids_of(const Candidates& candidates) {
  std::vector<uint64_t> ids;
  ids.reserve(candidates.size());
  for (const CompactionCandidate* candidate : candidates) ids.push_back(candidate->id);
  return ids;
}

uint64_t data_bytes_of(const Candidates& candidates) {
  return std::accumulate(candidates.begin(), candidates.end(), uint64_t{0},
                         [](uint64_t sum, const CompactionCandidate* c) { return sum + c->data_bytes; });
}

Candidates named(const CompactionView& view, std::span<const uint64_t> ids) {
  const std::set<uint64_t> wanted(ids.begin(), ids.end());
  Candidates result;
  for (const CompactionCandidate& candidate : view.sstables) {
    if (wanted.contains(candidate.id)) result.push_back(&candidate);
  }
  return result;
}

Candidates overlapping(const CompactionView& view, const Candidates& inputs) {
  const std::vector<KeyBounds> bounds = covered_bounds(inputs);
  const std::set<const CompactionCandidate*> own(inputs.begin(), inputs.end());
  Candidates result;
  for (const CompactionCandidate& other : view.sstables) {
    if (own.contains(&other)) continue;
    // The first bounds that do not end before the other begins.
    const auto found = std::partition_point(bounds.begin(), bounds.end(),
                                            [&other](const KeyBounds& b) { return b.last < other.first; });
    if (found != bounds.end() && found->first <= other.last) result.push_back(&other);
  }
  return result;
}

Candidates fully_expired(const CompactionView& view, const Candidates& inputs, const CompactionOptions& options) {
  Candidates expired;
  if (view.never_purge) return expired;
  auto is_repaired = [](const CompactionCandidate* candidate) { return candidate->repaired; };
  if (options.only_purge_repaired_tombstones && !std::all_of(inputs.begin(), inputs.end(), is_repaired)) {
    return expired;
  }
  int64_t least_timestamp = view.min_memtable_timestamp;  // of what is live
  for (const CompactionCandidate* other : overlapping(view, inputs)) {
    if (other->max_local_deletion_time >= view.gc_before) {
      least_timestamp = std::min(least_timestamp, other->min_timestamp);
    }
  }
  for (const CompactionCandidate* input : inputs) {
    if (input->max_local_deletion_time < view.gc_before)
      expired.push_back(input);
    else
      least_timestamp = std::min(least_timestamp, input->min_timestamp);
  }
  std::erase_if(expired, [&](const CompactionCandidate* input) { return input->max_timestamp >= least_timestamp; });
  return expired;
}

std::vector<uint64_t> fully_expired(const CompactionView& view, std::span<const uint64_t> inputs,
                                    const CompactionOptions& options) {
  return ids_of(fully_expired(view, named(view, inputs), options));
}

void remove_from(Candidates& candidates, const Candidates& gone) {
  const std::set<const CompactionCandidate*> all(gone.begin(), gone.end());
  std::erase_if(candidates, [&all](const CompactionCandidate* candidate) { return all.contains(candidate); });
}

bool worth_dropping_tombstones(const CompactionView& view, const CompactionCandidate& candidate,
                               const CompactionOptions& options) {
  if (!options.tombstone_compactions || view.never_purge) return false;
  // The ratio is an estimate: without a pause an SSTable whose tombstones stay would be compacted again and again.
  const double age_millis = static_cast<double>(view.now_millis) - static_cast<double>(candidate.created_millis);
  if (age_millis < static_cast<double>(options.tombstone_compaction_interval) * 1000) return false;
  const double threshold = static_cast<double>(options.tombstone_threshold);
  if (!(candidate.droppable_ratio > threshold)) return false;
  if (options.unchecked_tombstone_compaction) return true;
  const Candidates alone{&candidate};
  const Candidates others = overlapping(view, alone);
  if (others.empty() || !fully_expired(view, alone, options).empty()) return true;
  if (candidate.partitions == 0) return false;
  const double covered = static_cast<double>(partitions_covered(candidate, others));
  const double partitions = static_cast<double>(candidate.partitions);
  return (partitions - covered) / partitions * candidate.droppable_ratio > threshold;
}

Candidates worth_dropping_tombstones(const CompactionView& view, const Candidates& candidates,
                                     const CompactionOptions& options) {
  Candidates worth;
  for (const CompactionCandidate* candidate : candidates) {
    if (worth_dropping_tombstones(view, *candidate, options)) worth.push_back(candidate);
  }
  return worth;
}

}  // namespace cassandra_like
