#include "model/counter.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace cassandra_like {

namespace {

constexpr size_t kIdSize = 16;
constexpr size_t kShardSize = kIdSize + 8 + 8;
// CounterId.fromInt(0), CounterContext's UPDATE_CLOCK_ID.
constexpr BytesView kUpdateId("\0\0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", kIdSize);
constexpr int16_t kGlobalFlag = std::numeric_limits<int16_t>::min();

// The sum of two Java longs: one that is too large begins again at the least.
int64_t wrapping_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// The whole context when it is too short for what it says, so that nothing is read past its end.
size_t header_size(BytesView context) {
  if (context.size() < 2) return context.size();
  return std::min(context.size(), 2 + 2 * static_cast<size_t>(std::abs(load_be<int16_t>(context.data()))));
}

enum class ShardKind { kGlobal, kLocal, kRemote };

// Walks the shards of a context. The header lists the indexes of those that are not remote, in order, global ones with
// the sign bit set.
class Shards {
 public:
  explicit Shards(BytesView context)
      : header_(context.data() + std::min<size_t>(2, context.size())),
        header_end_(context.data() + header_size(context)),
        p_(header_end_),
        end_(context.data() + context.size()) {}

  bool has() const { return end_ - p_ >= static_cast<ptrdiff_t>(kShardSize); }
  BytesView id() const { return BytesView(p_, kIdSize); }
  int64_t clock() const { return load_be<int64_t>(p_ + kIdSize); }
  int64_t count() const { return load_be<int64_t>(p_ + kIdSize + 8); }
  BytesView bytes() const { return BytesView(p_, kShardSize); }
  ShardKind kind() const {
    if (header_ == header_end_) return ShardKind::kRemote;
    int16_t element = load_be<int16_t>(header_);
    if (element == static_cast<int16_t>(index_ + kGlobalFlag)) return ShardKind::kGlobal;
    return element == index_ ? ShardKind::kLocal : ShardKind::kRemote;
  }
  void next() {
    if (kind() != ShardKind::kRemote) header_ += 2;
    p_ += kShardSize;
    ++index_;
  }

 private:
  const char* header_;
  const char* header_end_;
  const char* p_;
  const char* end_;
  int index_ = 0;
};

// The one of two shards of the same id that survives; kBoth: two local shards, which add up.
enum class Winner { kLeft, kRight, kEqual, kBoth };

Winner by_count(int64_t left, int64_t right) {
  return left > right ? Winner::kLeft : left == right ? Winner::kEqual : Winner::kRight;
}

Winner pick(const Shards& left, const Shards& right) {
  ShardKind l = left.kind(), r = right.kind();
  if (l != r) return l < r ? Winner::kLeft : Winner::kRight;  // global over local over remote
  if (l == ShardKind::kLocal) return Winner::kBoth;
  int64_t lc = left.clock(), rc = right.clock();
  if (lc == rc) return by_count(left.count(), right.count());
  if (l == ShardKind::kGlobal) return lc > rc ? Winner::kLeft : Winner::kRight;
  // Remote shards' clocks may be negative: they were once reset, and then the lower one is the later.
  bool left_wins = (lc >= 0 && rc > 0 && lc >= rc) || (lc < 0 && (rc > 0 || lc < rc));
  return left_wins ? Winner::kLeft : Winner::kRight;
}

// Calls shard(kind, 32 bytes) for each shard of the union, in order; returns whether left and right contain it.
template <class F>
std::pair<bool, bool> merge_shards(BytesView a, BytesView b, F shard) {
  bool left_has_all = true, right_has_all = true;
  Shards left(a), right(b);
  while (left.has() || right.has()) {
    int c = !right.has() ? -1 : !left.has() ? 1 : left.id().compare(right.id());
    if (c != 0) {
      (c < 0 ? right_has_all : left_has_all) = false;
      Shards& only = c < 0 ? left : right;
      shard(only.kind(), only.bytes());
      only.next();
      continue;
    }
    Winner winner = pick(left, right);
    if (winner == Winner::kBoth) {
      left_has_all = right_has_all = false;
      char sum[kShardSize];
      std::memcpy(sum, left.id().data(), kIdSize);
      store_be(sum + kIdSize, wrapping_sum(left.clock(), right.clock()));
      store_be(sum + kIdSize + 8, wrapping_sum(left.count(), right.count()));
      shard(ShardKind::kLocal, BytesView(sum, kShardSize));
    } else {
      if (winner == Winner::kLeft) right_has_all = false;
      if (winner == Winner::kRight) left_has_all = false;
      Shards& kept = winner == Winner::kLeft ? left : right;
      shard(kept.kind(), kept.bytes());
    }
    left.next();
    right.next();
  }
  return {left_has_all, right_has_all};
}

Bytes one_shard(int16_t header_element, BytesView id, int64_t clock, int64_t count) {
  Bytes out;
  append_be(out, int16_t{1});
  append_be(out, header_element);
  out.append(id);
  append_be(out, clock);
  append_be(out, count);
  return out;
}

}  // namespace

bool is_counter_context(BytesView context) {
  if (context.size() < 2) return false;
  size_t header = 2 + 2 * static_cast<size_t>(std::abs(load_be<int16_t>(context.data())));
  if (context.size() < header || (context.size() - header) % kShardSize != 0) return false;
  return (header - 2) / 2 <= (context.size() - header) / kShardSize;
}

Bytes make_counter_context(const Uuid& id, int64_t clock, int64_t count) {
  return one_shard(kGlobalFlag, id.view(), clock, count);
}

Bytes make_counter_update(int64_t delta) { return one_shard(0, kUpdateId, 1, delta); }

bool is_counter_update(BytesView context) {
  return context.size() >= header_size(context) + kIdSize && context.substr(header_size(context), kIdSize) == kUpdateId;
}

Bytes add_to_counter(BytesView context, const Uuid& id, int64_t delta, int64_t clock) {
  if (context.empty()) return make_counter_context(id, clock, delta);
  Bytes own = make_counter_context(id, clock, wrapping_sum(counter_count(context, id), delta));
  Arena arena(256);
  return Bytes(merge_counter_contexts(context, own, arena));
}

BytesView merge_counter_contexts(BytesView a, BytesView b, Arena& arena) {
  size_t shards = 0, listed = 0;
  auto [a_has_all, b_has_all] = merge_shards(a, b, [&](ShardKind kind, BytesView) {
    ++shards;
    listed += kind != ShardKind::kRemote;
  });
  if (a_has_all) return a;
  if (b_has_all) return b;
  size_t size = 2 + 2 * listed + shards * kShardSize;
  char* out = static_cast<char*>(arena.allocate(size, 1));
  store_be(out, static_cast<int16_t>(listed));
  char* header = out + 2;
  char* body = header + 2 * listed;
  int16_t index = 0;
  merge_shards(a, b, [&](ShardKind kind, BytesView shard) {
    if (kind != ShardKind::kRemote) {
      store_be(header, static_cast<int16_t>(kind == ShardKind::kGlobal ? index + kGlobalFlag : index));
      header += 2;
    }
    std::memcpy(body, shard.data(), kShardSize);
    body += kShardSize;
    ++index;
  });
  return BytesView(out, size);
}

int64_t counter_total(BytesView context) {
  uint64_t total = 0;
  for (Shards s(context); s.has(); s.next()) total += static_cast<uint64_t>(s.count());
  return static_cast<int64_t>(total);
}

int64_t counter_clock(BytesView context, const Uuid& id) {
  for (Shards s(context); s.has(); s.next()) {
    if (s.id() == id.view()) return s.clock();
  }
  return 0;
}

int64_t counter_count(BytesView context, const Uuid& id) {
  for (Shards s(context); s.has(); s.next()) {
    if (s.id() == id.view()) return s.count();
  }
  return 0;
}

}  // namespace cassandra_like
