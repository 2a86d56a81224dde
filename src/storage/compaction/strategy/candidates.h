// Choosing among candidates: the parts that several strategies share.
#pragma once

#include <algorithm>
#include <vector>

#include "storage/compaction/strategy/strategy.h"

namespace cassandra_like {

using Candidates = std::vector<const CompactionCandidate*>;

// The candidates of the view's group that a task may have as inputs, in the order of the view.
Candidates pickable(const CompactionView& view);
// The same with damaged ones.
Candidates free_candidates(const CompactionView& view);
std::vector<uint64_t> ids_of(const Candidates& candidates);
uint64_t data_bytes_of(const Candidates& candidates);
// The ones that the ids name, in the order of the view.
Candidates named(const CompactionView& view, std::span<const uint64_t> ids);
// The live SSTables outside of the inputs that may have a key between the first and the last one of an input, whatever
// their group (ColumnFamilyStore.getOverlappingLiveSSTables).
Candidates overlapping(const CompactionView& view, const Candidates& inputs);
Candidates fully_expired(const CompactionView& view, const Candidates& inputs, const CompactionOptions& options);
void remove_from(Candidates& candidates, const Candidates& gone);

// Whether a compaction of this SSTable alone is expected to drop more tombstones than tombstone_threshold allows
// (AbstractCompactionStrategy.worthDroppingTombstones).
bool worth_dropping_tombstones(const CompactionView& view, const CompactionCandidate& candidate,
                               const CompactionOptions& options);
Candidates worth_dropping_tombstones(const CompactionView& view, const Candidates& candidates,
                                     const CompactionOptions& options);

// Groups of a similar size, ascending (SizeTieredCompactionStrategy.getBuckets).
std::vector<Candidates> size_buckets(Candidates candidates, const SizeTieredOptions& options);
// The bucket that is read most among those with at least min_threshold SSTables, cut to the max_threshold ones that are
// read most; empty: none. Where nothing is known of reads: the bucket of the largest mean size.
Candidates most_interesting_bucket(std::vector<Candidates> buckets, int32_t min_threshold, int32_t max_threshold);

}  // namespace cassandra_like
