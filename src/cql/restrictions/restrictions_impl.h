// The one implementation of Restrictions: made by RestrictionsBuilder (restrictions.cc), bound in bind_restrictions.cc.
#pragma once

#include <algorithm>
#include <list>

#include "cql/restrictions/relation.h"
#include "cql/restrictions/restrictions.h"

namespace cassandra_like {

// token(k) relations.
struct TokenRestriction {
  struct Bound {
    TermPtr value;
    bool inclusive = false;
  };
  std::optional<Bound> start, end;  // both, from the same term, for =
  TermPtr equal;
  bool empty() const { return !start && !end && equal == nullptr; }
};

class RestrictionsImpl : public Restrictions {
 public:
  explicit RestrictionsImpl(TablePtr table) : table_(std::move(table)), key_(table_->partition_key.size()) {}

  bool has_partition_keys() const override { return !is_key_range_; }
  bool key_has_in() const override;
  bool restricts_partition_key() const override {
    auto is_given = [](const auto& restriction) { return restriction.has_value(); };
    return !token_.empty() || std::any_of(key_.begin(), key_.end(), is_given);
  }
  Result<std::span<const BytesView>> partition_keys(ExecutionContext& context) const override;
  Result<KeyRange> key_range(ExecutionContext& context) const override;
  bool has_clustering_restrictions() const override { return !clustering_.empty(); }
  bool has_full_clusterings() const override;
  bool clustering_has_in() const override;
  Result<std::vector<std::span<const BytesView>>> clusterings(ExecutionContext& context) const override;
  Result<Slices> slices(ExecutionContext& context) const override;
  Result<BoundPairs> bounds(ExecutionContext& context) const override;
  Status check_filtering() const override;
  bool needs_filtering() const override { return needs_filtering_; }
  Result<RowFilter> filter(ExecutionContext& context) const override;
  const IndexMetadata* index() const override { return index_ == nullptr ? nullptr : index_; }
  size_t index_expression() const override { return 0; }
  bool is_restricted_by_equality(const Column* column) const override;

 private:
  friend class RestrictionsBuilder;
  // Whether a clustering restriction does not continue the prefix that ends at `position`, so that it is for the filter.
  static bool in_filter(const Restriction& r, size_t position) {
    return r.kind == Restriction::Kind::kContains || static_cast<size_t>(r.first()->position) != position;
  }
  bool clustering_needs_filtering() const;
  Result<std::span<BytesView>> keep_tokens(ExecutionContext& context, std::span<BytesView> keys) const;
  Result<Tuples> clustering_prefixes(ExecutionContext& context, const Restriction** slice) const;
  Result<BoundPairs> slice_bounds(ExecutionContext& context, const Values& prefix, const Restriction& slice) const;

  TablePtr table_;
  std::vector<std::optional<Restriction>> key_;  // by position
  TokenRestriction token_;
  std::list<Restriction> clustering_;  // by first column
  std::list<Restriction> others_;      // in order of first mention
  Use use_ = Use::kSelect;
  bool is_key_range_ = false;
  bool needs_filtering_ = false;
  bool lacks_allow_filtering_ = false;
  bool key_in_filter_ = false;  // of a key range with some key columns restricted
  const IndexMetadata* index_ = nullptr;
  const Restriction* indexed_ = nullptr;
};

}  // namespace cassandra_like
