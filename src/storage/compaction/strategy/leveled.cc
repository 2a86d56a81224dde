// LeveledCompactionStrategy: SSTables of one size in levels of which each holds fanout_size times the level below. The
// SSTables of a level from 1 on do not overlap. Level 0 takes what flushes write. A level that is too large gives an
// SSTable to the next one, which is merged with those that it overlaps there.
//
// Levels of several shards overlap in Cassandra's eyes: each shard writes the level that an SSTable has among its own, and
// Cassandra sends SSTables that overlap others of their level to level 0 when it opens the directory. The same is done
// here for SSTables that overlap others of their level.
#include <set>

#include "storage/compaction/strategy/candidates.h"
#include "storage/compaction/strategy/leveled_bytes.h"
#include "storage/compaction/strategy/strategies.h"

namespace cassandra_like {
namespace {

constexpr size_t kLevels = CompactionState::kLevels;
// With more SSTables in level 0, size-tiered compactions of it come first.
constexpr size_t kMaxCompactingL0 = 32;
// After so many compactions below the highest level, SSTables of that level are taken along.
constexpr uint32_t kMaxRoundsWithout = 25;

struct TokenBounds {
  Token first = std::numeric_limits<Token>::max();
  Token last = std::numeric_limits<Token>::min();
};

TokenBounds bounds_of(const Candidates& candidates) {
  TokenBounds bounds;
  for (const CompactionCandidate* candidate : candidates) {
    bounds.first = std::min(bounds.first, candidate->first.token);
    bounds.last = std::max(bounds.last, candidate->last.token);
  }
  return bounds;
}

bool overlaps(const CompactionCandidate& candidate, const TokenBounds& bounds) {
  return candidate.first.token <= bounds.last && bounds.first <= candidate.last.token;
}

Candidates overlapping_tokens(const TokenBounds& bounds, const Candidates& others) {
  Candidates result;
  for (const CompactionCandidate* other : others) {
    if (overlaps(*other, bounds)) result.push_back(other);
  }
  return result;
}

bool any_busy(const Candidates& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const CompactionCandidate* c) { return c->busy; });
}

bool any_suspect(const Candidates& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const CompactionCandidate* c) { return c->suspect; });
}

void sort_by_age(Candidates& candidates) {
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const CompactionCandidate* a, const CompactionCandidate* b) { return a->max_timestamp < b->max_timestamp; });
}

struct LeveledPick {
  Candidates inputs;
  int32_t level = 0;  // of the outputs
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();
};

// The levels of one group (LeveledManifest), also with SSTables that may not be picked.
class Manifest {
 public:
  Manifest(const CompactionView& view, const CompactionOptions& options)
      : options_(options), sstable_bytes_(static_cast<uint64_t>(options.leveled.sstable_size_in_mb) << 20) {
    Candidates all;
    for (const CompactionCandidate& candidate : view.sstables) {
      if (candidate.group == view.group && !candidate.shared) all.push_back(&candidate);
    }
    std::sort(all.begin(), all.end(),
              [](const CompactionCandidate* a, const CompactionCandidate* b) { return a->id < b->id; });
    for (const CompactionCandidate* candidate : all) add(candidate);
  }

  uint64_t sstable_bytes() const { return sstable_bytes_; }
  const Candidates& level(size_t i) const { return levels_[i]; }
  // Where compactions of each level ended, as far as creation times tell.
  void find_last_compacted(CompactionState& state) const;
  std::optional<LeveledPick> pick(CompactionState& state) const;
  // Null: none is worth it.
  const CompactionCandidate* droppable(const CompactionView& view) const;
  // The level that this SSTable has here.
  int32_t level_of(const CompactionCandidate* candidate) const {
    return sent_down_.contains(candidate) ? 0 : candidate->level;
  }
  uint64_t estimated_tasks() const;

 private:
  void add(const CompactionCandidate* candidate);
  uint64_t max_bytes(size_t level) const {
    return max_bytes_of_level(static_cast<int32_t>(level), options_.leveled.fanout_size, sstable_bytes_);
  }
  std::optional<LeveledPick> pick_by_size_in_level_0() const;
  Candidates candidates_for_level_0() const;
  Candidates candidates_for(size_t level, const CompactionState& state) const;
  Candidates with_starved(int32_t target, Candidates candidates, CompactionState& state) const;
  const CompactionCandidate* starved_within(const Candidates& candidates, size_t level) const;
  int32_t next_level(const Candidates& candidates) const;

  const CompactionOptions& options_;
  const uint64_t sstable_bytes_;
  std::array<Candidates, kLevels> levels_;  // from 1 on in ring order, disjoint
  std::set<const CompactionCandidate*> sent_down_;
};

void Manifest::add(const CompactionCandidate* candidate) {
  const auto wanted = static_cast<size_t>(std::clamp<int32_t>(candidate->level, 0, kLevels - 1));
  if (wanted == 0) {
    levels_[0].push_back(candidate);
    return;
  }
  Candidates& level = levels_[wanted];
  const auto after = std::partition_point(level.begin(), level.end(), [candidate](const CompactionCandidate* other) {
    return other->first < candidate->first;
  });
  const bool overlaps_after = after != level.end() && (*after)->first <= candidate->last;
  const bool overlaps_before = after != level.begin() && (*(after - 1))->last >= candidate->first;
  if (overlaps_after || overlaps_before) {
    levels_[0].push_back(candidate);
    sent_down_.insert(candidate);
  } else {
    level.insert(after, candidate);
  }
}

void Manifest::find_last_compacted(CompactionState& state) const {
  for (size_t i = 0; i + 1 < kLevels; ++i) {
    const CompactionCandidate* newest = nullptr;
    for (const CompactionCandidate* candidate : levels_[i + 1]) {
      if (newest == nullptr || candidate->created_millis >= newest->created_millis) newest = candidate;
    }
    if (newest != nullptr) {
      state.last_compacted[i] = CompactionState::Key{newest->last.token, Bytes(newest->last.key)};
    }
  }
}

std::optional<LeveledPick> Manifest::pick_by_size_in_level_0() const {
  if (levels_[0].size() <= kMaxCompactingL0) return std::nullopt;
  Candidates free;
  for (const CompactionCandidate* candidate : levels_[0]) {
    if (!candidate->busy && !candidate->suspect) free.push_back(candidate);
  }
  LeveledPick pick;
  pick.inputs = most_interesting_bucket(size_buckets(std::move(free), options_.size_tiered), options_.min_threshold,
                                        options_.max_threshold);
  if (pick.inputs.empty()) return std::nullopt;
  return pick;
}

// The highest level that is too large goes first: what is below would be merged into too much. A level 0 that is far
// behind is compacted by size before that, so that reads look at fewer SSTables.
std::optional<LeveledPick> Manifest::pick(CompactionState& state) const {
  std::optional<LeveledPick> by_size = pick_by_size_in_level_0();
  // The highest level has nowhere to go.
  for (size_t i = kLevels - 2; i > 0; --i) {
    uint64_t free_bytes = 0;
    for (const CompactionCandidate* candidate : levels_[i]) free_bytes += candidate->busy ? 0 : candidate->data_bytes;
    if (static_cast<double>(free_bytes) / static_cast<double>(max_bytes(i)) <= 1.001) continue;
    if (by_size) return by_size;
    Candidates candidates = candidates_for(i, state);
    if (candidates.empty()) continue;
    const int32_t target = next_level(candidates);
    return LeveledPick{with_starved(target, std::move(candidates), state), target, sstable_bytes_};
  }
  if (levels_[0].empty()) return std::nullopt;
  Candidates candidates = candidates_for_level_0();
  if (candidates.empty()) return by_size;
  const int32_t target = next_level(candidates);
  return LeveledPick{std::move(candidates), target, sstable_bytes_};
}

// The oldest SSTables of level 0 with all that overlap them there, at most max_threshold, and what they overlap in
// level 1 when they make more than one SSTable.
Candidates Manifest::candidates_for_level_0() const {
  Candidates busy, remaining;
  for (const CompactionCandidate* candidate : levels_[0]) {
    if (candidate->busy) busy.push_back(candidate);
    if (!candidate->suspect) remaining.push_back(candidate);
  }
  const TokenBounds busy_bounds = bounds_of(busy);
  sort_by_age(remaining);
  Candidates candidates;
  std::set<const CompactionCandidate*> seen, chosen;
  const auto most = static_cast<size_t>(options_.max_threshold);
  for (const CompactionCandidate* oldest : remaining) {
    if (chosen.contains(oldest)) continue;
    Candidates around{oldest};
    for (const CompactionCandidate* other : overlapping_tokens(bounds_of({oldest}), remaining)) {
      if (other != oldest && !seen.contains(other)) around.push_back(other);
    }
    if (any_busy(around)) continue;
    for (const CompactionCandidate* candidate : around) {
      seen.insert(candidate);
      const bool beside_busy = !busy.empty() && overlaps(*candidate, busy_bounds);
      if (!beside_busy && chosen.insert(candidate).second) candidates.push_back(candidate);
    }
    if (candidates.size() <= most) continue;
    sort_by_age(candidates);
    candidates.resize(most);
    break;
  }
  if (data_bytes_of(candidates) > sstable_bytes_) {
    const TokenBounds bounds = bounds_of(candidates);
    const Candidates above = overlapping_tokens(bounds, levels_[1]);
    if (any_busy(above) || !overlapping_tokens(bounds, busy).empty()) return {};
    candidates.insert(candidates.end(), above.begin(), above.end());
  }
  if (candidates.size() < 2) candidates.clear();
  return candidates;
}

// The first SSTable behind the place where the last compaction of the level ended that is free, with what it overlaps in
// the next level.
Candidates Manifest::candidates_for(size_t level, const CompactionState& state) const {
  const Candidates& all = levels_[level];
  size_t start = 0;
  if (const auto& last = state.last_compacted[level]) {
    const DecoratedKey key{last->token, last->key};
    start = static_cast<size_t>(
        std::partition_point(all.begin(), all.end(), [&key](const CompactionCandidate* c) { return c->first <= key; }) -
        all.begin());
    if (start == all.size()) start = 0;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const CompactionCandidate* candidate = all[(start + i) % all.size()];
    Candidates inputs{candidate};
    const Candidates above = overlapping_tokens(bounds_of(inputs), levels_[level + 1]);
    inputs.insert(inputs.end(), above.begin(), above.end());
    if (!any_suspect(inputs) && !any_busy(inputs)) return inputs;
  }
  return {};
}

// A level that shrank (by cleanup, or by another SSTable size) would never be too large again. So after many rounds an
// SSTable of the highest level that lies within the candidates comes along.
Candidates Manifest::with_starved(int32_t target, Candidates candidates, CompactionState& state) const {
  for (size_t i = 1; i < kLevels; ++i) ++state.rounds_without[i];
  state.rounds_without[static_cast<size_t>(target)] = 0;
  size_t highest = kLevels - 1;
  while (highest > 0 && levels_[highest].empty()) --highest;
  if (highest == 0 || state.rounds_without[highest] <= kMaxRoundsWithout) return candidates;
  const CompactionCandidate* starved = starved_within(candidates, highest);
  const bool is_new =
      starved != nullptr && std::find(candidates.begin(), candidates.end(), starved) == candidates.end();
  if (is_new) candidates.push_back(starved);
  return candidates;
}

const CompactionCandidate* Manifest::starved_within(const Candidates& candidates, size_t level) const {
  DecoratedKey first = candidates[0]->first, last = candidates[0]->last;
  for (const CompactionCandidate* candidate : candidates) {
    first = std::min(first, candidate->first);
    last = std::max(last, candidate->last);
  }
  if (first == last) return nullptr;
  for (const CompactionCandidate* candidate : levels_[level]) {
    const bool within = first <= candidate->first && candidate->last <= last && candidate->first != candidate->last;
    if (within && !candidate->busy) return candidate;
  }
  return nullptr;
}

int32_t Manifest::next_level(const Candidates& candidates) const {
  int32_t lowest = kLevels, highest = 0;
  for (const CompactionCandidate* candidate : candidates) {
    lowest = std::min(lowest, level_of(candidate));
    highest = std::max(highest, level_of(candidate));
  }
  if (highest == 0 && data_bytes_of(candidates) < sstable_bytes_) return 0;
  return lowest == highest ? highest + 1 : highest;
}

const CompactionCandidate* Manifest::droppable(const CompactionView& view) const {
  for (size_t i = kLevels; i-- > 0;) {
    Candidates sorted = levels_[i];
    std::stable_sort(sorted.begin(), sorted.end(), [](const CompactionCandidate* a, const CompactionCandidate* b) {
      return a->droppable_ratio > b->droppable_ratio;
    });
    for (const CompactionCandidate* candidate : sorted) {
      if (candidate->droppable_ratio <= static_cast<double>(options_.tombstone_threshold)) break;
      const bool free = !candidate->busy && !candidate->suspect;
      if (free && worth_dropping_tombstones(view, *candidate, options_)) return candidate;
    }
  }
  return nullptr;
}

uint64_t Manifest::estimated_tasks() const {
  uint64_t tasks = 0;
  for (size_t i = 0; i < kLevels; ++i) {
    const uint64_t bytes = data_bytes_of(levels_[i]);
    const auto allowed = static_cast<uint64_t>(static_cast<double>(max_bytes(i)) * 1.001);
    if (bytes > allowed) tasks += (bytes - allowed + sstable_bytes_ - 1) / sstable_bytes_;
  }
  const auto most = static_cast<size_t>(options_.max_threshold);
  if (levels_[0].size() > most) tasks += levels_[0].size() / most;
  return tasks;
}

}  // namespace

std::optional<CompactionTask> LeveledCompaction::next(const CompactionView& view, CompactionState& state) const {
  const Manifest manifest(view, options_);
  if (!state.begun) manifest.find_last_compacted(state);
  state.begun = true;
  CompactionTask task;
  task.shrink = CompactionTask::Shrink::kNever;
  if (const std::optional<LeveledPick> pick = manifest.pick(state)) {
    const bool moves = options_.leveled.single_sstable_uplevel && pick->inputs.size() == 1;
    task.kind = moves ? CompactionTask::Kind::kLevelMove : CompactionTask::Kind::kCompaction;
    task.inputs = ids_of(pick->inputs);
    task.limits.level = pick->level;
    task.limits.max_bytes = pick->max_bytes;
    if (pick->level <= 1) task.shrink = CompactionTask::Shrink::kLargestOfLevel0;
    return task;
  }
  const CompactionCandidate* droppable = manifest.droppable(view);
  if (droppable == nullptr) return std::nullopt;
  task.kind = CompactionTask::Kind::kTombstones;
  task.inputs = {droppable->id};
  task.limits.level = manifest.level_of(droppable);
  task.limits.max_bytes = manifest.sstable_bytes();
  return task;
}

uint32_t LeveledCompaction::estimated_tasks(const CompactionView& view, const CompactionState& /*state*/) const {
  return static_cast<uint32_t>(Manifest(view, options_).estimated_tasks());
}

std::vector<CompactionTask> LeveledCompaction::major(const CompactionView& view, bool /*split_output*/) const {
  const Candidates all = pickable(view);
  if (all.empty()) return {};
  CompactionTask task;
  task.inputs = ids_of(all);
  task.limits.shape = OutputLimits::Shape::kLevels;
  task.limits.level = 1;
  task.limits.fanout = options_.leveled.fanout_size;
  task.limits.max_bytes = Manifest(view, options_).sstable_bytes();
  task.shrink = CompactionTask::Shrink::kLargestOfLevel0;
  return {std::move(task)};
}

CompactionTask LeveledCompaction::user_defined(const CompactionView& view, std::vector<uint64_t> inputs) const {
  CompactionTask task = SimpleCompaction::user_defined(view, std::move(inputs));
  const Manifest manifest(view, options_);
  const Candidates candidates = named(view, task.inputs);
  if (candidates.size() == 1) task.limits.level = manifest.level_of(candidates[0]);
  if (task.limits.level > 0) task.limits.max_bytes = manifest.sstable_bytes();
  return task;
}

// The next compaction of the level begins behind the last output.
void LeveledCompaction::ended(const CompactionView& before, const CompactionTask& task,
                              std::span<const CompactionCandidate> outputs, CompactionState& state) const {
  if (outputs.empty()) return;
  const Manifest manifest(before, options_);
  int32_t lowest = kLevels - 1;
  for (const CompactionCandidate* input : named(before, task.inputs)) {
    lowest = std::min(lowest, manifest.level_of(input));
  }
  const auto last =
      std::max_element(outputs.begin(), outputs.end(),
                       [](const CompactionCandidate& a, const CompactionCandidate& b) { return a.first < b.first; });
  state.last_compacted[static_cast<size_t>(lowest)] = CompactionState::Key{last->last.token, Bytes(last->last.key)};
}

std::vector<uint64_t> sent_to_level_0(std::span<const CompactionCandidate> sstables) {
  CompactionView view;
  view.sstables = sstables;
  const CompactionOptions options;
  const Manifest manifest(view, options);
  std::vector<uint64_t> ids;
  for (const CompactionCandidate& candidate : sstables) {
    if (manifest.level_of(&candidate) != candidate.level) ids.push_back(candidate.id);
  }
  return ids;
}

}  // namespace cassandra_like
