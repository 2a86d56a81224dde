#include "storage/compaction/strategy/strategy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/result.h"
#include "storage/compaction/strategy/candidates.h"
#include "storage/compaction/strategy/leveled_bytes.h"
#include "storage/compaction/strategy/strategies.h"

namespace cassandra_like {

CompactionTask SimpleCompaction::user_defined(const CompactionView& /*view*/, std::vector<uint64_t> inputs) const {
  CompactionTask task;
  task.inputs = std::move(inputs);
  task.shrink = CompactionTask::Shrink::kNever;
  return task;
}

OutputLimits SimpleCompaction::flush_limits(const OwnedRanges& /*ranges*/, double /*flush_bytes*/) const { return {}; }

void SimpleCompaction::ended(const CompactionView& /*before*/, const CompactionTask& /*task*/,
                             std::span<const CompactionCandidate> /*outputs*/, CompactionState& /*state*/) const {}

std::unique_ptr<CompactionStrategy> make_compaction_strategy(const CompactionOptions& options) {
  switch (options.strategy) {
    case CompactionOptions::Strategy::kLeveled:
      return std::make_unique<LeveledCompaction>(options);
    case CompactionOptions::Strategy::kTimeWindow:
      return std::make_unique<TimeWindowCompaction>(options);
    case CompactionOptions::Strategy::kUnified:
      return std::make_unique<UnifiedCompaction>(options);
    case CompactionOptions::Strategy::kSizeTiered:
      break;
  }
  return std::make_unique<SizeTieredCompaction>(options);
}

bool without_largest(const CompactionView& view, CompactionTask& task) {
  using Shrink = CompactionTask::Shrink;
  if (task.shrink == Shrink::kNever || task.inputs.size() < 2) return false;
  Candidates choice = named(view, task.inputs);
  if (task.shrink == Shrink::kLargestOfLevel0) {
    std::erase_if(choice, [](const CompactionCandidate* candidate) { return candidate->level != 0; });
    if (choice.size() < 2) return false;
  }
  const auto largest = std::max_element(
      choice.begin(), choice.end(),
      [](const CompactionCandidate* a, const CompactionCandidate* b) { return a->data_bytes < b->data_bytes; });
  if (largest == choice.end()) return false;
  std::erase(task.inputs, (*largest)->id);
  return true;
}

namespace {

// The sizes of outputs that each have half of what is left, until one would have less than 50 MB.
std::vector<uint64_t> halves_of(uint64_t total) {
  constexpr double kSmallest = 50'000'000;
  constexpr size_t kMost = 20;
  std::vector<uint64_t> sizes;
  double bytes = static_cast<double>(total);
  do {
    bytes /= 2;
    sizes.push_back(static_cast<uint64_t>(std::llround(bytes)));
  } while (bytes >= kSmallest && sizes.size() < kMost);
  return sizes;
}

}  // namespace

OutputCutter::OutputCutter(OutputLimits limits) : limits_(std::move(limits)), level_(limits_.level) {
  if (limits_.shape == OutputLimits::Shape::kHalves) halves_ = halves_of(limits_.total_bytes);
}

bool OutputCutter::ends_before(Token token, uint64_t bytes) {
  bool crossed = false;
  while (next_boundary_ < limits_.boundaries.size() && token > limits_.boundaries[next_boundary_]) {
    ++next_boundary_;
    crossed = true;
  }
  if (bytes == 0) return false;
  return crossed || full(bytes);
}

// Boundaries divide the tokens evenly (owned_ranges.h), and so the partitions.
double OutputCutter::share_of_output(Token token, Token last, uint64_t bytes) const {
  const auto next = std::lower_bound(limits_.boundaries.begin(), limits_.boundaries.end(), token);
  const auto behind = std::lower_bound(next, limits_.boundaries.end(), last);
  const double by_boundaries = 1.0 / static_cast<double>(1 + (behind - next));
  uint64_t most = limits_.max_bytes;
  if (limits_.shape == OutputLimits::Shape::kHalves) {
    most = half_ + 1 == halves_.size() ? std::numeric_limits<uint64_t>::max() : halves_[half_];
  }
  if (bytes <= most) return by_boundaries;
  return std::min(by_boundaries, static_cast<double>(most) / static_cast<double>(bytes));
}

bool OutputCutter::full(uint64_t bytes) {
  if (limits_.shape == OutputLimits::Shape::kHalves) {
    if (bytes <= halves_[half_] || half_ + 1 == halves_.size()) return false;
    ++half_;
    return true;
  }
  if (bytes <= limits_.max_bytes) return false;
  if (limits_.shape == OutputLimits::Shape::kLevels) {
    level_bytes_ += bytes;
    if (level_bytes_ > max_bytes_of_level(level_, limits_.fanout, limits_.max_bytes)) {
      level_bytes_ = 0;
      ++level_;
    }
  }
  return true;
}

}  // namespace cassandra_like
