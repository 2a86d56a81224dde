// The arithmetic of Splitter, whose numbers are BigIntegers there.
#include "storage/table/disk_boundaries.h"

#include <algorithm>
#include <limits>

#include "absl/numeric/int128.h"
#include "base/dcheck.h"

namespace cassandra_like {

namespace {

constexpr Token kGreatest = std::numeric_limits<Token>::max();

// Splitter.WeightedRange
struct WeightedRange {
  explicit WeightedRange(const OwnedRange& range)
      : left(range.left), right(range.right == kMinimumToken ? kGreatest : range.right) {
    const auto wanted = static_cast<int64_t>(1 / range.weight);
    factor = std::max<int64_t>(1, wanted);
    tokens = (absl::int128(right) - left) / factor;
  }

  Token left, right;
  int64_t factor;
  absl::int128 tokens;
};

std::vector<Token> split_between_ranges(const std::vector<WeightedRange>& ranges, absl::int128 per_part, size_t parts) {
  std::vector<Token> ends;
  auto distance = [per_part](absl::int128 sum) { return sum > per_part ? sum - per_part : per_part - sum; };
  absl::int128 sum = 0;
  for (size_t i = 0; ends.size() + 1 < parts && i + 1 < ranges.size(); ++i) {
    sum += ranges[i].tokens;
    const absl::int128 with_next = sum + ranges[i + 1].tokens;
    if (with_next <= per_part || distance(with_next) < distance(sum)) continue;
    sum = 0;
    ends.push_back(ranges[i].right);
  }
  return ends;
}

std::vector<Token> split_anywhere(const std::vector<WeightedRange>& ranges, absl::int128 total, size_t parts) {
  std::vector<Token> ends;
  absl::int128 per_part = total / absl::int128(parts), left_over = total, sum = 0;
  for (const WeightedRange& range : ranges) {
    absl::int128 width = range.tokens, left = range.left;
    while (ends.size() < parts && sum + width >= per_part) {
      const absl::int128 within = per_part - sum;
      left += within * range.factor;
      ends.push_back(static_cast<Token>(left));
      left_over -= per_part;
      width -= within;
      sum = 0;
      if (ends.size() + 1 == parts) per_part = left_over;
    }
    sum += width;
  }
  if (!ends.empty()) ends.pop_back();  // the last part goes on to the end of the ring
  return ends;
}

}  // namespace

DiskBoundaries DiskBoundaries::divide(std::span<const OwnedRange> owned, size_t directories, bool keeps_ranges) {
  DCHECK(directories > 0);
  const OwnedRange whole_ring;
  if (owned.empty()) owned = {&whole_ring, 1};
  std::vector<WeightedRange> ranges(owned.begin(), owned.end());
  absl::int128 total = 0;
  for (const WeightedRange& range : ranges) total += range.tokens;
  const absl::int128 per_part = total / absl::int128(directories);
  if (directories == 1 || per_part == 0) return DiskBoundaries();
  if (keeps_ranges) {
    std::vector<Token> ends = split_between_ranges(ranges, per_part, directories);
    if (ends.size() + 1 == directories) return DiskBoundaries(std::move(ends));
  }
  return DiskBoundaries(split_anywhere(ranges, total, directories));
}

size_t DiskBoundaries::directory_of(Token token) const {
  return static_cast<size_t>(std::lower_bound(ends_.begin(), ends_.end(), token) - ends_.begin());
}

void OutputPlacement::cut(OutputLimits* limits) const {
  std::vector<Token>& all = limits->boundaries;
  all.insert(all.end(), boundaries_.ends().begin(), boundaries_.ends().end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace cassandra_like
