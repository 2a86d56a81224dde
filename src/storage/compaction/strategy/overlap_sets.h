// The SSTables that overlap one another (utils.Overlaps).
#pragma once

#include <vector>

#include "storage/compaction/strategy/candidates.h"

namespace cassandra_like {

// Sections of the ring, ascending: each is the set of SSTables that have one place in common, and no section is part of
// another. SSTables that do not overlap are in no section together; the sections of an SSTable follow one another.
std::vector<Candidates> overlap_sections(Candidates candidates);

// A run of sections that are compacted together: [begin, end).
struct SectionRun {
  size_t begin = 0;
  size_t end = 0;
};
// Runs around each section with at least `threshold` SSTables, widened to sections that share SSTables with it.
std::vector<SectionRun> bucket_sections(const std::vector<Candidates>& sections, size_t threshold,
                                        UnifiedOptions::Overlap inclusion);

// The last SSTables of `sorted`, up to the one that would make more than `limit` in one of the sections.
Candidates last_within_overlap(const Candidates& sorted, std::span<const Candidates> sections, size_t limit);

}  // namespace cassandra_like
