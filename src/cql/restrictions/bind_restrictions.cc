// Restrictions with their values: keys, ranges of keys, slices and bounds, conditions.
#include <algorithm>

#include "cql/restrictions/restrictions.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr size_t kMaxKeyLength = 65535;

// Extends every prefix by every tuple. One IN has no more values than there is room for in a request; two multiply.
Result<Tuples> extend(const ExecutionContext& context, const Tuples& prefixes, const Tuples& tuples) {
  Tuples result;
  const uint64_t most = context.config.max_values();
  if (prefixes.size() > 1 && tuples.size() > most / prefixes.size()) {
    return invalid("The IN restrictions of a statement may name " + std::to_string(most) +
                   " combinations of values at most");
  }
  TRY(context.add_values(prefixes.size() * tuples.size()));
  result.reserve(prefixes.size() * tuples.size());
  for (const Values& prefix : prefixes) {
    for (const Values& tuple : tuples) {
      result.push_back(prefix);
      result.back().insert(result.back().end(), tuple.begin(), tuple.end());
    }
  }
  return result;
}

std::span<const BytesView> copy(const Values& values, Arena& arena) {
  auto span = arena.make_span<BytesView>(values.size());
  std::copy(values.begin(), values.end(), span.begin());
  return span;
}

// The intersection of two lists of sorted, disjoint bounds.
using BoundPair = Restrictions::BoundPair;
using BoundPairs = Restrictions::BoundPairs;
BoundPairs intersect(const BoundPairs& a, const BoundPairs& b) {
  BoundPairs result;
  for (const BoundPair& x : a) {
    for (const BoundPair& y : b) {
      BoundPair both{x.start.comparable < y.start.comparable ? y.start : x.start,
                     y.end.comparable < x.end.comparable ? y.end : x.end};
      if (both.start.comparable < both.end.comparable) result.push_back(both);
    }
  }
  return result;
}

}  // namespace

bool Restrictions::key_has_in() const {
  return std::any_of(key_.begin(), key_.end(), [](const auto& r) { return r && r->kind == Restriction::Kind::kIn; });
}

bool Restrictions::is_restricted_by_equality(const Column* column) const {
  auto equal = [column](const Restriction& r) { return r.kind == Restriction::Kind::kEq && r.covers(column); };
  return std::any_of(key_.begin(), key_.end(), [&](const auto& r) { return r && equal(*r); }) ||
         std::any_of(clustering_.begin(), clustering_.end(), equal) ||
         std::any_of(others_.begin(), others_.end(), equal);
}

// --- Partitions ---

Status check_partition_key(const TableMetadata& table, BytesView key) {
  if (key.empty() && table.partition_key.size() == 1) return invalid("Key may not be empty");
  // First without what a key of several columns has between them.
  const size_t columns = table.partition_key.size();
  if (columns > 1) TRY(check_key_length(key.size() - 3 * columns));
  return check_key_length(key.size());
}

Status check_key_length(size_t length) {
  if (length <= kMaxKeyLength) return {};
  return invalid("Key length of " + std::to_string(length) + " is longer than maximum of " +
                 std::to_string(kMaxKeyLength));
}

namespace {

Result<Token> bind_token(const TermPtr& term, ExecutionContext& context) {
  ASSIGN_OR_RETURN(BytesView value, term->bind(context));
  if (is_null(value)) return invalid("Invalid null token value");
  if (is_unset(value)) return invalid("Invalid unset token value");
  if (value.empty()) return invalid("Invalid empty token value");
  return decode_bigint(value);
}

}  // namespace

// The given keys that the relations on the token allow. A range may go around the ring's end.
Result<std::span<BytesView>> Restrictions::keep_tokens(ExecutionContext& context, std::span<BytesView> keys) const {
  if (token_.empty()) return keys;
  Token start = 0, end = 0;
  if (token_.equal != nullptr || token_.start) {
    ASSIGN_OR_RETURN(start, bind_token(token_.equal != nullptr ? token_.equal : token_.start->value, context));
  }
  if (token_.end) {
    ASSIGN_OR_RETURN(end, bind_token(token_.end->value, context));
  }
  auto fits = [&](Token token) {
    if (token_.equal != nullptr) return token == start;
    bool behind = !token_.start || token > start || (token == start && token_.start->inclusive);
    bool before = !token_.end || token < end || (token == end && token_.end->inclusive);
    return token_.start && token_.end && start > end ? behind || before : behind && before;
  };
  auto kept =
      std::remove_if(keys.begin(), keys.end(), [&](BytesView key) { return !fits(DecoratedKey::of(key).token); });
  return keys.first(static_cast<size_t>(kept - keys.begin()));
}

// The values of = lie where the request has them, and need no product.
Result<std::span<const BytesView>> Restrictions::only_partition_key(ExecutionContext& context) const {
  const auto components = context.arena.make_span<BytesView>(key_.size());
  for (size_t i = 0; i < key_.size(); ++i) {
    ASSIGN_OR_RETURN(components[i], key_[i]->bind_value(context));
  }
  if (components.size() > 1) components[0] = context.arena.copy(serialize_partition_key(components));
  return std::span<const BytesView>(components.first(1));
}

Result<std::span<const BytesView>> Restrictions::partition_keys(ExecutionContext& context) const {
  if (has_only_partition_key_) return only_partition_key(context);
  Tuples keys(1);
  for (const auto& restriction : key_) {
    ASSIGN_OR_RETURN(auto tuples, restriction->bind_tuples(context));
    ASSIGN_OR_RETURN(keys, extend(context, keys, tuples));
  }
  auto result = context.arena.make_span<BytesView>(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    result[i] = keys[i].size() == 1 ? keys[i][0] : context.arena.copy(serialize_partition_key(keys[i]));
  }
  if (result.size() <= 1) {
    ASSIGN_OR_RETURN(result, keep_tokens(context, result));
    return std::span<const BytesView>(result);
  }
  // Cassandra walks the keys of an IN in the order of their components, and of those that are equal (the decimals 1 and
  // 1.0 are) the first.
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  auto less = [&](size_t a, size_t b) {
    for (size_t c = 0; c < key_.size(); ++c) {
      int order_of = table_->partition_key[c]->type->compare(keys[a][c], keys[b][c]);
      if (order_of != 0) return order_of < 0;
    }
    return false;
  };
  std::stable_sort(order.begin(), order.end(), less);
  auto sorted = context.arena.make_span<BytesView>(keys.size());
  size_t count = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || less(order[i - 1], order[i])) sorted[count++] = result[order[i]];
  }
  ASSIGN_OR_RETURN(sorted, keep_tokens(context, sorted.first(count)));
  return std::span<const BytesView>(sorted);
}

Result<KeyRange> Restrictions::key_range(ExecutionContext& context) const {
  KeyRange range;
  if (token_.equal != nullptr) {
    ASSIGN_OR_RETURN(Token token, bind_token(token_.equal, context));
    range.start = RingPosition::before(token);
    range.end = RingPosition::after(token);
    return range;
  }
  if (token_.start) {
    ASSIGN_OR_RETURN(Token token, bind_token(token_.start->value, context));
    range.start = token_.start->inclusive ? RingPosition::before(token) : RingPosition::after(token);
  }
  if (token_.end) {
    ASSIGN_OR_RETURN(Token token, bind_token(token_.end->value, context));
    // The minimum token as an end means the end of the ring.
    if (token != kMinimumToken) {
      range.end = token_.end->inclusive ? RingPosition::after(token) : RingPosition::before(token);
    }
  }
  return range;
}

// --- Rows ---

bool Restrictions::clustering_needs_filtering() const {
  size_t position = 0;
  for (const Restriction& restriction : clustering_) {
    if (in_filter(restriction, position)) return true;
    if (!restriction.is_slice()) position = restriction.end_position();
  }
  return false;
}

bool Restrictions::has_full_clusterings() const {
  size_t position = 0;
  for (const Restriction& restriction : clustering_) {
    if (restriction.is_slice() || in_filter(restriction, position)) return false;
    position = restriction.end_position();
  }
  return position == table_->clustering.size();
}

bool Restrictions::clustering_has_in() const {
  return std::any_of(clustering_.begin(), clustering_.end(),
                     [](const Restriction& r) { return r.kind == Restriction::Kind::kIn; });
}

// The values that = and IN give the first clustering columns; *slice is the slice that continues them, if one does.
Result<Tuples> Restrictions::clustering_prefixes(ExecutionContext& context, const Restriction** slice) const {
  Tuples prefixes(1);
  size_t position = 0;
  *slice = nullptr;
  for (const Restriction& restriction : clustering_) {
    if (in_filter(restriction, position)) break;
    if (restriction.is_slice()) {
      *slice = &restriction;
      break;
    }
    ASSIGN_OR_RETURN(auto tuples, restriction.bind_tuples(context));
    ASSIGN_OR_RETURN(prefixes, extend(context, prefixes, tuples));
    position = restriction.end_position();
  }
  return prefixes;
}

Result<std::vector<std::span<const BytesView>>> Restrictions::clusterings(ExecutionContext& context) const {
  const Restriction* slice = nullptr;
  ASSIGN_OR_RETURN(auto prefixes, clustering_prefixes(context, &slice));
  std::vector<std::pair<Bytes, std::span<const BytesView>>> rows;
  for (const Values& values : prefixes) {
    Bytes comparable;
    append_comparable(comparable, *table_, values, ClusteringKind::kClustering);
    rows.emplace_back(std::move(comparable), copy(values, context.arena));
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::span<const BytesView>> result;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i].first != rows[i - 1].first) result.push_back(rows[i].second);
  }
  return result;
}

// One side of a slice, over columns whose directions may differ: (a, b) > (1, 2) with b descending is a > 1, or a = 1
// and b before 2. Each run of the same direction is one pair of bounds.
Result<BoundPairs> Restrictions::slice_bounds(ExecutionContext& context, const Values& prefix,
                                              const Restriction& slice) const {
  auto make = [&](const Values& values, ClusteringKind kind) {
    return make_clustering(*table_, copy(values, context.arena), kind, context.arena);
  };
  BoundPairs result{{make(prefix, ClusteringKind::kInclStartBound), make(prefix, ClusteringKind::kInclEndBound)}};
  for (bool lower : {true, false}) {
    const auto& bound = lower ? slice.start : slice.end;
    if (!bound) continue;
    ASSIGN_OR_RETURN(Values values, slice.bind_bound(*bound, context));
    if (values.empty()) continue;
    BoundPairs side;
    size_t first = prefix.size();
    // From the longest run of columns to the shortest: all but the longest exclude their own value.
    for (size_t run_end = values.size(); run_end > 0;) {
      bool reversed = table_->clustering[first + run_end - 1]->type->is_reversed();
      size_t run_start = run_end - 1;
      while (run_start > 0 && table_->clustering[first + run_start - 1]->type->is_reversed() == reversed) --run_start;
      Values fixed = prefix, full = prefix;
      fixed.insert(fixed.end(), values.begin(), values.begin() + static_cast<ptrdiff_t>(run_start));
      full.insert(full.end(), values.begin(), values.begin() + static_cast<ptrdiff_t>(run_end));
      bool inclusive = run_end == values.size() && bound->inclusive;
      // A lower bound of a descending column is an upper bound in the partition's order.
      if (lower != reversed) {
        side.push_back({make(full, inclusive ? ClusteringKind::kInclStartBound : ClusteringKind::kExclStartBound),
                        make(fixed, ClusteringKind::kInclEndBound)});
      } else {
        side.push_back({make(fixed, ClusteringKind::kInclStartBound),
                        make(full, inclusive ? ClusteringKind::kInclEndBound : ClusteringKind::kExclEndBound)});
      }
      run_end = run_start;
    }
    std::sort(side.begin(), side.end(),
              [](const BoundPair& a, const BoundPair& b) { return a.start.comparable < b.start.comparable; });
    result = intersect(result, side);
  }
  return result;
}

Result<BoundPairs> Restrictions::bounds(ExecutionContext& context) const {
  const Restriction* slice = nullptr;
  ASSIGN_OR_RETURN(auto prefixes, clustering_prefixes(context, &slice));
  BoundPairs result;
  for (const Values& prefix : prefixes) {
    if (slice != nullptr) {
      ASSIGN_OR_RETURN(auto pairs, slice_bounds(context, prefix, *slice));
      result.insert(result.end(), pairs.begin(), pairs.end());
    } else {
      auto values = copy(prefix, context.arena);
      result.push_back({make_clustering(*table_, values, ClusteringKind::kInclStartBound, context.arena),
                        make_clustering(*table_, values, ClusteringKind::kInclEndBound, context.arena)});
    }
  }
  std::sort(result.begin(), result.end(),
            [](const BoundPair& a, const BoundPair& b) { return a.start.comparable < b.start.comparable; });
  auto same = [](const BoundPair& a, const BoundPair& b) { return a.start.comparable == b.start.comparable; };
  result.erase(std::unique(result.begin(), result.end(), same), result.end());
  return result;
}

Result<Slices> Restrictions::slices(ExecutionContext& context) const {
  if (clustering_.empty()) return Slices(1);
  ASSIGN_OR_RETURN(auto pairs, bounds(context));
  Slices slices;
  for (const BoundPair& pair : pairs) {
    Slice slice;
    if (!pair.start.values.empty()) slice.start = Bytes(pair.start.comparable);
    if (!pair.end.values.empty()) slice.end = Bytes(pair.end.comparable);
    slices.push_back(std::move(slice));
  }
  return slices;
}

// --- The rest ---

// The condition that the index answers comes first.
Result<RowFilter> Restrictions::filter(ExecutionContext& context) const {
  RowFilter filter;
  if (index_ != nullptr) {
    TRY(indexed_->add_to_filter(filter, context));
    const IndexTarget target = parse_index_target(index_->options.at("target"));
    auto answered = std::find_if(filter.begin(), filter.end(), [&](const FilterExpression& condition) {
      if (condition.column->name != target.column) return false;
      if (target.type == IndexTargetType::kKeys) return condition.op == Operator::kContainsKey;
      if (target.type == IndexTargetType::kEntries) return condition.is_map_entry;
      return target.type != IndexTargetType::kValues || condition.op == Operator::kContains;
    });
    if (answered != filter.end()) std::iter_swap(filter.begin(), answered);
  }
  for (const auto& restriction : key_) {
    if (key_in_filter_ && restriction && &*restriction != indexed_) TRY(restriction->add_to_filter(filter, context));
  }
  size_t position = 0;
  for (const Restriction& restriction : clustering_) {
    if (in_filter(restriction, position)) {
      if (&restriction != indexed_) TRY(restriction.add_to_filter(filter, context));
      continue;
    }
    if (!restriction.is_slice()) position = restriction.end_position();
  }
  for (const Restriction& restriction : others_) {
    if (&restriction != indexed_) TRY(restriction.add_to_filter(filter, context));
  }
  return filter;
}

}  // namespace cassandra_like
