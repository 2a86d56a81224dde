#include "storage/compaction/strategy/overlap_sets.h"

#include <set>

namespace cassandra_like {
namespace {

using CandidateSet = std::set<const CompactionCandidate*>;

bool intersect(const Candidates& section, const CandidateSet& set) {
  return std::any_of(section.begin(), section.end(),
                     [&set](const CompactionCandidate* candidate) { return set.contains(candidate); });
}

}  // namespace

std::vector<Candidates> overlap_sections(Candidates candidates) {
  std::vector<Candidates> sections;
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const CompactionCandidate* a, const CompactionCandidate* b) { return a->first < b->first; });
  Candidates active;
  for (const CompactionCandidate* candidate : candidates) {
    auto ended = [candidate](const CompactionCandidate* other) { return other->last < candidate->first; };
    if (std::any_of(active.begin(), active.end(), ended)) {
      sections.push_back(active);
      std::erase_if(active, ended);
    }
    active.push_back(candidate);
  }
  if (!active.empty()) sections.push_back(std::move(active));
  return sections;
}

std::vector<SectionRun> bucket_sections(const std::vector<Candidates>& sections, size_t threshold,
                                        UnifiedOptions::Overlap inclusion) {
  std::vector<SectionRun> runs;
  size_t taken = 0;  // sections before belong to a run
  for (size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].size() < threshold) continue;
    SectionRun run{i, i + 1};
    if (inclusion != UnifiedOptions::Overlap::kNone) {
      CandidateSet reach(sections[i].begin(), sections[i].end());
      const bool transitive = inclusion == UnifiedOptions::Overlap::kTransitive;
      auto include = [&reach, transitive](const Candidates& section) {
        if (!intersect(section, reach)) return false;
        if (transitive) reach.insert(section.begin(), section.end());
        return true;
      };
      while (run.begin > taken && include(sections[run.begin - 1])) --run.begin;
      while (run.end < sections.size() && include(sections[run.end])) ++run.end;
    }
    runs.push_back(run);
    taken = run.end;
    i = run.end - 1;
  }
  return runs;
}

Candidates last_within_overlap(const Candidates& sorted, std::span<const Candidates> sections, size_t limit) {
  std::vector<size_t> selected(sections.size());
  std::vector<CandidateSet> sets;
  for (const Candidates& section : sections) sets.emplace_back(section.begin(), section.end());
  Candidates result;
  for (auto it = sorted.rbegin(); it != sorted.rend(); ++it) {
    for (size_t i = 0; i < sets.size(); ++i) {
      if (sets[i].contains(*it) && ++selected[i] > limit) return result;
    }
    result.push_back(*it);
  }
  return result;
}

}  // namespace cassandra_like
