#include "storage/compaction/strategy/owned_ranges.h"

#include <algorithm>
#include <cmath>

#include "base/result.h"

namespace cassandra_like {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr Token kMaximumToken = std::numeric_limits<Token>::max();

// Whether a place is before the end of a range; the minimum token as an end is the end of the ring.
bool is_before_end(Token place, Token end) { return end == kMinimumToken || place < end; }

// The share of the ring in left < t <= right: LongToken.size().
double share_of(Token left, Token right) {
  const auto width = static_cast<int64_t>(static_cast<uint64_t>(right) - static_cast<uint64_t>(left));
  const double share = std::scalbn(static_cast<double>(width), -64);
  return share > 0 ? share : share + 1;
}

// The share of a range that lies in left < t <= right.
double share_within(const OwnedRange& range, Token left, Token right) {
  const Token from = std::max(range.left, left);
  const Token to = range.right == kMinimumToken ? right
                   : right == kMinimumToken     ? range.right
                                                : std::min(range.right, right);
  return is_before_end(from, to) ? share_of(from, to) * range.weight : 0;
}

// The token that has `ratio` (0 to 1) of the range before it: Murmur3Partitioner.split.
Token split(const OwnedRange& range, double ratio) {
  const Token right = range.right == kMinimumToken ? kMaximumToken : range.right;
  const uint64_t width = static_cast<uint64_t>(right) - static_cast<uint64_t>(range.left);
  int exponent = 0;
  const auto mantissa = static_cast<uint64_t>(std::ldexp(std::frexp(ratio, &exponent), 53));
  const int shift = 53 - exponent;  // ratio = mantissa / 2^shift
  if (shift > 127) return range.left;
  const Wide product = static_cast<Wide>(width) * mantissa;
  const auto offset = static_cast<uint64_t>(product >> shift);
  const bool exact = product == static_cast<Wide>(offset) << shift;
  const auto token = static_cast<Token>(static_cast<uint64_t>(range.left) + offset);
  return token < 0 && !exact ? token + 1 : token;  // Java cuts towards zero
}

}  // namespace

OwnedRanges::OwnedRanges(std::vector<OwnedRange> ranges) : ranges_(std::move(ranges)) {
  CHECK(!ranges_.empty());
  double position = 0;
  for (const OwnedRange& range : ranges_) {
    position += share_of(range.left, range.right) * range.weight;
    positions_.push_back(position);
  }
}

OwnedRanges OwnedRanges::of_shard(std::span<const OwnedRange> node, unsigned shard, unsigned shard_count) {
  if (shard_count <= 1) return OwnedRanges(std::vector<OwnedRange>(node.begin(), node.end()));
  constexpr unsigned kBits = 64 - kShardingIgnoreMsb;
  auto sliver_start = [shard_count](unsigned of) {
    return static_cast<uint64_t>(((static_cast<Wide>(of) << kBits) + shard_count - 1) / shard_count);
  };
  const uint64_t start = sliver_start(shard), end = sliver_start(shard + 1);
  constexpr uint64_t kBias = uint64_t{1} << 63;
  std::vector<OwnedRange> owned;
  for (const OwnedRange& range : node) {
    const uint64_t first_block = (static_cast<uint64_t>(range.left) + kBias) >> kBits;
    const Token last = range.right == kMinimumToken ? kMaximumToken : range.right;
    const uint64_t last_block = (static_cast<uint64_t>(last) + kBias) >> kBits;
    for (uint64_t block = first_block; block <= last_block; ++block) {
      const uint64_t base = block << kBits;
      // No key has the minimum token, so nothing lies before the first sliver.
      const auto left = base + start == 0 ? kMinimumToken : static_cast<Token>(base + start - 1 - kBias);
      const auto right = static_cast<Token>(base + end - 1 - kBias);
      const OwnedRange sliver{std::max(left, range.left), std::min(right, last), range.weight};
      if (sliver.left < sliver.right) owned.push_back(sliver);
    }
  }
  // A node that owns less than a sliver of this shard: the shard's own slivers have the right shape.
  if (owned.empty()) return of_shard(std::vector<OwnedRange>{OwnedRange{}}, shard, shard_count);
  return OwnedRanges(std::move(owned));
}

double OwnedRanges::spanned(Token first, Token last) const {
  // ShardManager.coveringRange: first < t <= last + 1.
  const auto right = static_cast<Token>(static_cast<uint64_t>(last) + 1);
  const auto begin = std::partition_point(
      ranges_.begin(), ranges_.end(), [first](const OwnedRange& range) { return !is_before_end(first, range.right); });
  const auto end = std::partition_point(begin, ranges_.end(),
                                        [right](const OwnedRange& range) { return is_before_end(range.left, right); });
  if (begin == end) return 0;
  double share = share_within(*begin, first, right);
  if (end - begin == 1) return share;
  if (end - begin > 2) {
    share += positions_[static_cast<size_t>(end - ranges_.begin()) - 2] -
             positions_[static_cast<size_t>(begin - ranges_.begin())];
  }
  return share + share_within(*(end - 1), first, right);
}

std::vector<Token> OwnedRanges::boundaries(uint32_t count) const {
  std::vector<Token> ends;
  const double step = coverage() / count;
  size_t range = 0;
  for (uint32_t i = 1; i < count; ++i) {
    const double position = step * i;
    while (position > positions_[range] && range + 1 < ranges_.size()) ++range;
    const double left = range > 0 ? positions_[range - 1] : 0;
    ends.push_back(split(ranges_[range], (position - left) / (positions_[range] - left)));
  }
  return ends;
}

}  // namespace cassandra_like
