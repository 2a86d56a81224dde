// SizeTieredCompactionStrategy: SSTables of a similar size are compacted together, so that each cell is rewritten once
// for each power of min_threshold that the table's size is of a flush's.
#include <cmath>

#include "storage/compaction/strategy/candidates.h"
#include "storage/compaction/strategy/strategies.h"

namespace cassandra_like {
namespace {

struct SizeBucket {
  uint64_t mean = 0;  // bytes
  Candidates sstables;
};

bool belongs_to(const SizeBucket& bucket, uint64_t size, const SizeTieredOptions& options) {
  const double bytes = static_cast<double>(size), mean = static_cast<double>(bucket.mean);
  if (bytes > mean * options.bucket_low && bytes < mean * options.bucket_high) return true;
  return size < options.min_sstable_size && bucket.mean < options.min_sstable_size;
}

double reads_of(const Candidates& bucket) {
  double reads = 0;
  for (const CompactionCandidate* candidate : bucket) reads += candidate->read_rate;
  return reads;
}

uint64_t mean_total_bytes(const Candidates& bucket) {
  uint64_t bytes = 0;
  for (const CompactionCandidate* candidate : bucket) bytes += candidate->total_bytes;
  return bytes / bucket.size();
}

}  // namespace

std::vector<Candidates> size_buckets(Candidates candidates, const SizeTieredOptions& options) {
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const CompactionCandidate* a, const CompactionCandidate* b) { return a->data_bytes < b->data_bytes; });
  std::vector<SizeBucket> buckets;
  for (const CompactionCandidate* candidate : candidates) {
    const uint64_t size = candidate->data_bytes;
    const auto found = std::find_if(buckets.begin(), buckets.end(), [size, &options](const SizeBucket& bucket) {
      return belongs_to(bucket, size, options);
    });
    if (found == buckets.end()) {
      buckets.push_back({size, {candidate}});
    } else {
      const uint64_t count = found->sstables.size();
      found->mean = (count * found->mean + size) / (count + 1);
      found->sstables.push_back(candidate);
    }
  }
  std::vector<Candidates> result;
  for (SizeBucket& bucket : buckets) result.push_back(std::move(bucket.sstables));
  return result;
}

Candidates most_interesting_bucket(std::vector<Candidates> buckets, int32_t min_threshold, int32_t max_threshold) {
  Candidates best;
  std::pair<double, uint64_t> best_rank;
  for (Candidates& bucket : buckets) {
    std::stable_sort(bucket.begin(), bucket.end(), [](const CompactionCandidate* a, const CompactionCandidate* b) {
      return a->read_rate > b->read_rate;
    });
    if (bucket.size() > static_cast<size_t>(max_threshold)) bucket.resize(static_cast<size_t>(max_threshold));
    if (bucket.size() < static_cast<size_t>(min_threshold)) continue;
    const std::pair<double, uint64_t> rank{reads_of(bucket), mean_total_bytes(bucket)};
    if (!best.empty() && rank <= best_rank) continue;
    best = std::move(bucket);
    best_rank = rank;
  }
  return best;
}

std::optional<CompactionTask> SizeTieredCompaction::next(const CompactionView& view, CompactionState& /*state*/) const {
  const Candidates candidates = pickable(view);
  const Candidates bucket = most_interesting_bucket(size_buckets(candidates, options_.size_tiered),
                                                    options_.min_threshold, options_.max_threshold);
  CompactionTask task;
  if (!bucket.empty()) {
    task.inputs = ids_of(bucket);
    return task;
  }
  const Candidates worth = worth_dropping_tombstones(view, candidates, options_);
  if (worth.empty()) return std::nullopt;
  const auto largest = std::max_element(
      worth.begin(), worth.end(),
      [](const CompactionCandidate* a, const CompactionCandidate* b) { return a->data_bytes < b->data_bytes; });
  task.kind = CompactionTask::Kind::kTombstones;
  task.inputs = {(*largest)->id};
  return task;
}

uint32_t SizeTieredCompaction::estimated_tasks(const CompactionView& view, const CompactionState& /*state*/) const {
  uint32_t tasks = 0;
  const auto min = static_cast<size_t>(options_.min_threshold), max = static_cast<size_t>(options_.max_threshold);
  for (const Candidates& bucket : size_buckets(pickable(view), options_.size_tiered)) {
    if (bucket.size() >= min) tasks += static_cast<uint32_t>((bucket.size() + max - 1) / max);
  }
  return tasks;
}

std::vector<CompactionTask> SizeTieredCompaction::major(const CompactionView& view, bool split_output) const {
  const Candidates all = pickable(view);
  if (all.empty()) return {};
  CompactionTask task;
  task.inputs = ids_of(all);
  if (split_output) {
    task.limits.shape = OutputLimits::Shape::kHalves;
    task.limits.total_bytes = data_bytes_of(all);
  }
  return {std::move(task)};
}

}  // namespace cassandra_like
