// UnifiedCompactionStrategy: SSTables are put in levels by their density, which is their size divided by the share of the
// shard's ring that they span. A level whose SSTables overlap too often at some key is compacted there.
//
// With scaling parameter W of a level, its fan factor is f = 2 + |W|, and its threshold t is 2 for W <= 0 (leveled) and
// f for W > 0 (tiered). A level has SSTables of f times the density of the level below. Reads look at t - 1 SSTables of
// a level at most when compaction keeps up; a cell is rewritten f - 1 times a level when leveled and once when tiered.
//
// Outputs are cut into as many equal shares of the ring as make SSTables of the target size, a power of two times
// base_shard_count. The ends of the shares of a lower density are also ends for a higher one, so later compactions fall
// into independent parts.
#include <bit>
#include <cmath>

#include "storage/compaction/strategy/overlap_sets.h"
#include "storage/compaction/strategy/strategies.h"
#include "storage/compaction/strategy/unified.h"

namespace cassandra_like {
namespace {

// Smaller shares of the ring are of a few partitions, or of none that the shard owns: their density says nothing.
constexpr double kMinCoverage = 0x1p-48;
constexpr int kMaxShardShift = 20;
constexpr double kMaxShardSplit = 1 << kMaxShardShift;

// 0x80 of 0xFF; 1 of 0 and 1.
uint32_t highest_bit_or_one(double count) {
  const auto whole = count >= 0x1p31 ? uint32_t{0x7FFFFFFF} : count > 0 ? static_cast<uint32_t>(count) : 0;
  return std::bit_floor(whole | 1);
}

double sane_coverage(double coverage) { return coverage >= kMinCoverage ? coverage : 1; }

double density_of(const CompactionCandidate& candidate, const OwnedRanges& ranges) {
  const double coverage = candidate.token_coverage > 0 ? candidate.token_coverage
                                                       : ranges.spanned(candidate.first.token, candidate.last.token);
  return static_cast<double>(candidate.data_bytes) / sane_coverage(coverage);
}

double combined_density(const Candidates& inputs, const OwnedRanges& ranges) {
  if (inputs.empty()) return 0;
  Token first = inputs[0]->first.token, last = inputs[0]->last.token;
  for (const CompactionCandidate* input : inputs) {
    first = std::min(first, input->first.token);
    last = std::max(last, input->last.token);
  }
  return static_cast<double>(data_bytes_of(inputs)) / sane_coverage(ranges.spanned(first, last));
}

// The size of a flush in whole megabytes. The figure is kept until it is wrong by half: levels must not move about.
int64_t flush_bytes(const CompactionView& view, const UnifiedOptions& options, int64_t& kept) {
  if (options.flush_size_override > 0) return options.flush_size_override;
  const double seen = view.flush_bytes;
  if (kept == 0 || std::abs(1 - static_cast<double>(kept) / seen) > 0.5) {
    kept = static_cast<int64_t>(std::ceil(std::scalbn(seen, -20))) << 20;
  }
  return kept;
}

int32_t scaling_parameter(const UnifiedOptions& options, size_t level) {
  return options.scaling_parameters[std::min(level, options.scaling_parameters.size() - 1)];
}

int64_t fan_factor(const UnifiedOptions& options, size_t level) {
  return 2 + std::abs(static_cast<int64_t>(scaling_parameter(options, level)));
}

size_t threshold_of(const UnifiedOptions& options, size_t level) {
  return static_cast<size_t>(2 + std::max(scaling_parameter(options, level), 0));
}

struct DensityLevel {
  size_t index = 0;
  Candidates sstables;
};

// Ascending; levels without SSTables are left out.
std::vector<DensityLevel> form_levels(const Candidates& candidates, const UnifiedOptions& options,
                                      const OwnedRanges& ranges, int64_t flush) {
  std::vector<std::pair<double, const CompactionCandidate*>> sorted;
  for (const CompactionCandidate* candidate : candidates)
    sorted.emplace_back(density_of(*candidate, ranges), candidate);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  auto next_max = [&options](size_t level, double min) {
    return std::floor(min * static_cast<double>(fan_factor(options, level)));
  };
  const double leeway = 1.0 - 0.9 / static_cast<double>(fan_factor(options, 0));
  const double base = static_cast<double>(std::max<int64_t>(1 << 20, flush)) * leeway;
  size_t index = 0;
  double max = next_max(0, base / ranges.coverage());
  std::vector<DensityLevel> levels;
  for (const auto& [density, candidate] : sorted) {
    while (density >= max) max = next_max(++index, max);
    if (levels.empty() || levels.back().index != index) levels.push_back({index, {}});
    levels.back().sstables.push_back(candidate);
  }
  return levels;
}

// A part of a level: its SSTables with the oldest writes last, and how many of them overlap at most.
struct Bucket {
  Candidates sorted;
  std::span<const Candidates> sections;
  size_t overlap = 0;
};

Bucket make_bucket(const std::vector<Candidates>& sections, SectionRun run) {
  Bucket bucket;
  bucket.sections = std::span(sections).subspan(run.begin, run.end - run.begin);
  for (const Candidates& section : bucket.sections) {
    bucket.overlap = std::max(bucket.overlap, section.size());
    bucket.sorted.insert(bucket.sorted.end(), section.begin(), section.end());
  }
  std::sort(bucket.sorted.begin(), bucket.sorted.end());
  bucket.sorted.erase(std::unique(bucket.sorted.begin(), bucket.sorted.end()), bucket.sorted.end());
  std::sort(bucket.sorted.begin(), bucket.sorted.end(), [](const CompactionCandidate* a, const CompactionCandidate* b) {
    return std::pair(a->max_timestamp, a->id) > std::pair(b->max_timestamp, b->id);
  });
  return bucket;
}

// So many as bring the result to a level that it would have reached had compaction kept up.
size_t late_pick_size(const UnifiedOptions& options, size_t level, size_t overlap, size_t most) {
  const size_t limit = std::min(most, overlap);
  size_t size = 0, step = static_cast<size_t>(fan_factor(options, level));
  for (size_t at = level; size == 0 || step <= limit;) {
    size = step;
    step *= static_cast<size_t>(fan_factor(options, ++at));
  }
  if (scaling_parameter(options, level) < 0) size *= limit / size;
  return size;
}

Candidates construct_pick(const UnifiedOptions& options, size_t level, const Bucket& bucket) {
  const auto fan = static_cast<size_t>(fan_factor(options, level));
  const size_t most = std::max(fan, static_cast<size_t>(options.max_sstables_to_compact));
  if (bucket.overlap <= fan) return bucket.sorted;
  const bool a_bit_late = bucket.overlap <= fan * static_cast<size_t>(fan_factor(options, level + 1)) || most == fan;
  if (a_bit_late && bucket.overlap <= most) return bucket.sorted;
  const size_t size = a_bit_late ? most : late_pick_size(options, level, bucket.overlap, most);
  return last_within_overlap(bucket.sorted, bucket.sections, size);
}

uint64_t next_random(uint64_t& state) {  // splitmix64
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

struct LevelPick {
  size_t overlap = 0;  // of the level
  size_t tasks = 0;
  Candidates sstables;  // empty: the level needs no compaction
};

LevelPick pick_level(const UnifiedOptions& options, const DensityLevel& level, uint64_t& random) {
  LevelPick pick;
  const std::vector<Candidates> sections = overlap_sections(level.sstables);
  for (const Candidates& section : sections) pick.overlap = std::max(pick.overlap, section.size());
  const size_t threshold = threshold_of(options, level.index);
  if (pick.overlap < threshold) return pick;
  Bucket selected;
  uint64_t alike = 0;
  for (const SectionRun& run : bucket_sections(sections, threshold, options.overlap)) {
    Bucket bucket = make_bucket(sections, run);
    pick.tasks += bucket.overlap / threshold;
    // Each of the buckets with the highest overlap is as likely as another.
    if (bucket.overlap == pick.overlap && next_random(random) % ++alike == 0) selected = std::move(bucket);
  }
  pick.sstables = construct_pick(options, level.index, selected);
  return pick;
}

struct UnifiedPick {
  size_t tasks = 0;
  Candidates sstables;
};

// The lowest level among those with the highest overlap.
UnifiedPick pick_task(const CompactionView& view, const UnifiedOptions& options, const Candidates& candidates,
                      int64_t& kept_flush_bytes, uint64_t& random) {
  UnifiedPick result;
  size_t overlap = 0;
  const int64_t flush = flush_bytes(view, options, kept_flush_bytes);
  for (const DensityLevel& level : form_levels(candidates, options, *view.ranges, flush)) {
    LevelPick pick = pick_level(options, level, random);
    result.tasks += pick.tasks;
    if (pick.overlap <= overlap) continue;
    overlap = pick.overlap;
    result.sstables = std::move(pick.sstables);
  }
  return result;
}

}  // namespace

uint32_t unified_shard_count(const UnifiedOptions& options, double density) {
  const auto base = static_cast<uint32_t>(options.base_shard_count);
  if (options.min_sstable_size > 0) {
    const double count = density / static_cast<double>(options.min_sstable_size);
    // Where the base count would make SSTables below the minimum: a power of two that divides the base count.
    if (!(count >= base)) return std::min(highest_bit_or_one(count), base & (~base + 1));
  }
  if (options.sstable_growth == 1) return base;
  const double target = static_cast<double>(options.target_sstable_size);
  if (options.sstable_growth == 0) {
    const double count = density / (target * std::sqrt(0.5) * base);
    return base * highest_bit_or_one(std::min(count, kMaxShardSplit));
  }
  const double power = std::log(density / (target * base)) * (1.0 / std::log(2.0)) * (1 - options.sstable_growth) + 0.5;
  if (power >= kMaxShardShift) return base << kMaxShardShift;
  return power >= 0 ? base << static_cast<int>(power) : base;
}

OutputLimits unified_limits(const CompactionView& view, const UnifiedOptions& options, const Candidates& inputs) {
  OutputLimits limits;
  const double density = combined_density(inputs, *view.ranges) * view.ranges->coverage();
  limits.boundaries = view.ranges->boundaries(unified_shard_count(options, density));
  limits.tells_coverage = true;
  return limits;
}

std::optional<CompactionTask> UnifiedCompaction::next(const CompactionView& view, CompactionState& state) const {
  if (!state.begun) state.last_expired_check_millis = view.now_millis;
  state.begun = true;
  Candidates candidates = pickable(view);
  Candidates expired;
  if (view.now_millis - state.last_expired_check_millis > options_.unified.expired_check_millis) {
    state.last_expired_check_millis = view.now_millis;
    expired = fully_expired(view, candidates, options_);
    remove_from(candidates, expired);
  }
  Candidates picked = pick_task(view, options_.unified, candidates, state.flush_bytes, state.random).sstables;
  if (picked.empty() && expired.empty()) return std::nullopt;
  CompactionTask task;
  if (picked.empty()) task.kind = CompactionTask::Kind::kExpired;
  task.limits = unified_limits(view, options_.unified, picked);
  picked.insert(picked.end(), expired.begin(), expired.end());
  task.inputs = ids_of(picked);
  return task;
}

uint32_t UnifiedCompaction::estimated_tasks(const CompactionView& view, const CompactionState& state) const {
  int64_t kept = state.flush_bytes;
  uint64_t random = state.random;
  return static_cast<uint32_t>(pick_task(view, options_.unified, pickable(view), kept, random).tasks);
}

// Parts of the ring whose SSTables do not overlap are tasks of their own, which may run at the same time.
std::vector<CompactionTask> UnifiedCompaction::major(const CompactionView& view, bool /*split_output*/) const {
  const std::vector<Candidates> sections = overlap_sections(pickable(view));
  std::vector<CompactionTask> tasks;
  for (const SectionRun& run : bucket_sections(sections, 1, UnifiedOptions::Overlap::kTransitive)) {
    const Candidates inputs = make_bucket(sections, run).sorted;
    CompactionTask task;
    task.inputs = ids_of(inputs);
    task.limits = unified_limits(view, options_.unified, inputs);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

CompactionTask UnifiedCompaction::user_defined(const CompactionView& view, std::vector<uint64_t> inputs) const {
  CompactionTask task = SimpleCompaction::user_defined(view, std::move(inputs));
  task.limits = unified_limits(view, options_.unified, named(view, task.inputs));
  return task;
}

// UnifiedCompactionStrategy.createSSTableMultiWriter. Only levels heed flush_size_override.
OutputLimits UnifiedCompaction::flush_limits(const OwnedRanges& ranges, double flush_bytes) const {
  OutputLimits limits;
  limits.boundaries = ranges.boundaries(unified_shard_count(options_.unified, flush_bytes));
  limits.tells_coverage = true;
  return limits;
}

}  // namespace cassandra_like
