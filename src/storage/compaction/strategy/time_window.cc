// TimeWindowCompactionStrategy: data of one window of time ends in one SSTable, which is dropped whole once all of it has
// expired. Within the window under way SSTables are compacted by size.
#include <cmath>
#include <map>

#include "storage/compaction/strategy/candidates.h"
#include "storage/compaction/strategy/strategies.h"

namespace cassandra_like {
namespace {

// By the start of the window, milliseconds.
using Windows = std::map<int64_t, Candidates>;

int64_t saturated_thousandfold(int64_t value) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(value, int64_t{1000}, &product)) return product;
  return value < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

int64_t timestamp_millis(int64_t timestamp, TimeWindowOptions::Resolution resolution) {
  using Resolution = TimeWindowOptions::Resolution;
  switch (resolution) {
    case Resolution::kSeconds:
      return saturated_thousandfold(timestamp);
    case Resolution::kMilliseconds:
      return timestamp;
    case Resolution::kMicroseconds:
      return timestamp / 1000;
    case Resolution::kNanoseconds:
      break;
  }
  return timestamp / 1'000'000;
}

int64_t window_start_millis(int64_t millis, int64_t window_seconds) {
  const int64_t seconds = millis / 1000;
  return saturated_thousandfold(seconds - seconds % window_seconds);
}

Windows windows_of(const Candidates& candidates, const TimeWindowOptions& options) {
  Windows windows;
  for (const CompactionCandidate* candidate : candidates) {
    const int64_t millis = timestamp_millis(candidate->max_timestamp, options.timestamp_resolution);
    windows[window_start_millis(millis, options.window_seconds)].push_back(candidate);
  }
  return windows;
}

Candidates smallest(Candidates bucket, int32_t most) {
  std::stable_sort(bucket.begin(), bucket.end(), [](const CompactionCandidate* a, const CompactionCandidate* b) {
    return a->data_bytes < b->data_bytes;
  });
  if (bucket.size() > static_cast<size_t>(most)) bucket.resize(static_cast<size_t>(most));
  return bucket;
}

struct WindowPick {
  Candidates sstables;
  uint32_t tasks = 0;
};

// The newest window that has work. A window before the newest one that was ever seen needs two SSTables; the newest
// needs what a size-tiered compaction does.
WindowPick pick_window(const Windows& windows, const CompactionOptions& options, int64_t newest) {
  WindowPick pick;
  for (auto it = windows.rbegin(); it != windows.rend(); ++it) {
    const auto& [start, bucket] = *it;
    Candidates chosen;
    if (start >= newest && bucket.size() >= static_cast<size_t>(options.min_threshold)) {
      chosen = most_interesting_bucket(size_buckets(bucket, options.size_tiered), options.min_threshold,
                                       options.max_threshold);
    } else if (start < newest && bucket.size() >= 2) {
      chosen = smallest(bucket, options.max_threshold);
    }
    if (chosen.empty()) continue;
    const double most = options.max_threshold, remaining = static_cast<double>(bucket.size()) - most;
    pick.tasks += 1 + (remaining > options.min_threshold ? static_cast<uint32_t>(std::ceil(remaining / most)) : 0);
    if (pick.sstables.empty()) pick.sstables = std::move(chosen);
  }
  return pick;
}

int64_t newest_window(const Windows& windows, int64_t seen) {
  return windows.empty() ? seen : std::max(seen, windows.rbegin()->first);
}

}  // namespace

std::optional<CompactionTask> TimeWindowCompaction::next(const CompactionView& view, CompactionState& state) const {
  Candidates candidates = pickable(view);
  Candidates expired;
  if (view.now_millis - state.last_expired_check_millis > options_.time_window.expired_check_millis) {
    state.last_expired_check_millis = view.now_millis;
    // A damaged SSTable, too: it goes unread.
    expired = fully_expired(view, free_candidates(view), options_);
    remove_from(candidates, expired);
  }
  const Windows windows = windows_of(candidates, options_.time_window);
  state.highest_window_millis = newest_window(windows, state.highest_window_millis);
  CompactionTask task;
  Candidates inputs = pick_window(windows, options_, state.highest_window_millis).sstables;
  if (inputs.empty()) {
    const Candidates worth = worth_dropping_tombstones(view, candidates, options_);
    const auto least = std::min_element(
        worth.begin(), worth.end(),
        [](const CompactionCandidate* a, const CompactionCandidate* b) { return a->data_bytes < b->data_bytes; });
    if (least != worth.end()) {
      inputs.push_back(*least);
      task.kind = CompactionTask::Kind::kTombstones;
    } else if (expired.empty()) {
      return std::nullopt;
    } else {
      task.kind = CompactionTask::Kind::kExpired;
    }
  }
  inputs.insert(inputs.end(), expired.begin(), expired.end());
  task.inputs = ids_of(inputs);
  return task;
}

uint32_t TimeWindowCompaction::estimated_tasks(const CompactionView& view, const CompactionState& state) const {
  const Windows windows = windows_of(pickable(view), options_.time_window);
  return pick_window(windows, options_, newest_window(windows, state.highest_window_millis)).tasks;
}

std::vector<CompactionTask> TimeWindowCompaction::major(const CompactionView& view, bool /*split_output*/) const {
  const Candidates all = pickable(view);
  if (all.empty()) return {};
  CompactionTask task;
  task.inputs = ids_of(all);
  return {std::move(task)};
}

}  // namespace cassandra_like
