// WHERE: which partitions, which rows of them, and what is left to filter (cql3.restrictions.StatementRestrictions).
//
// Relations are checked when the statement is prepared, with Cassandra's messages; values are bound once per execution
// (bind_restrictions.cc).
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "cql/expressions/term.h"
#include "cql/restrictions/relation.h"
#include "read/read_command.h"

namespace cassandra_like {

// Errors: the key is empty, or longer than Cassandra's files allow.
Status check_partition_key(const TableMetadata& table, BytesView key);
// The values of a partition key, or all values of a clustering.
Status check_key_length(size_t length);

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

class Restrictions {
 public:
  enum class Use { kSelect, kUpdate, kDelete };
  struct Options {
    Use use = Use::kSelect;
    bool allow_filtering = false;
    bool selects_only_static_columns = false;  // also of an UPDATE or DELETE of static columns only
    bool is_distinct = false;
    bool has_ann_ordering = false;
  };
  static Result<std::unique_ptr<Restrictions>> prepare(const TablePtr& table, const ast::WhereClause& where,
                                                       const Options& options, PrepareContext& context);

  // --- Partitions ---
  // All partition key columns are restricted by = or IN: partition_keys() says which; else key_range() does.
  bool has_partition_keys() const { return !is_key_range_; }
  bool key_has_in() const;
  // Some partition key column is restricted, if only by its token.
  bool restricts_partition_key() const {
    auto is_given = [](const auto& restriction) { return restriction.has_value(); };
    return !token_.empty() || std::any_of(key_.begin(), key_.end(), is_given);
  }
  // Serialized keys, allocated in the context's arena, in ring order without repetition for SELECT, in the order of the
  // statement for writes. Empty when a restriction can match nothing (IN ()). kInvalid for null and unset components.
  Result<std::span<const BytesView>> partition_keys(ExecutionContext& context) const;
  Result<KeyRange> key_range(ExecutionContext& context) const;

  // --- Rows ---
  bool has_clustering_restrictions() const { return !clustering_.empty(); }
  // Every clustering column is restricted by = or IN.
  bool has_full_clusterings() const;
  bool clustering_has_in() const;
  // For has_full_clusterings(): the values of each row, in clustering order without repetition.
  Result<std::vector<std::span<const BytesView>>> clusterings(ExecutionContext& context) const;
  // The slices that the clustering columns allow; one slice, all(), when they are not restricted (or only by filtering).
  Result<Slices> slices(ExecutionContext& context) const;
  // For DELETE of ranges: the bounds of the same slices with their kinds, in clustering order.
  struct BoundPair {
    ClusteringPrefix start, end;
  };
  using BoundPairs = absl::InlinedVector<BoundPair, 1>;
  Result<BoundPairs> bounds(ExecutionContext& context) const;

  // --- The rest ---
  // kInvalid when the statement filters without ALLOW FILTERING. This error comes last, when all else of a
  // SELECT is right.
  Status check_filtering() const;
  bool needs_filtering() const { return needs_filtering_; }
  Result<RowFilter> filter(ExecutionContext& context) const;
  // The index that answers the first condition of filter(); nullptr: none.
  const IndexMetadata* index() const { return index_; }
  // Columns restricted to one value by = (for ORDER BY and GROUP BY).
  bool is_restricted_by_equality(const Column* column) const;

 private:
  explicit Restrictions(TablePtr table) : table_(std::move(table)), key_(table_->partition_key.size()) {}
  friend class RestrictionsBuilder;
  // Whether a clustering restriction does not continue the prefix that ends at `position`, so that it is for the filter.
  static bool in_filter(const Restriction& r, size_t position) {
    return r.kind == Restriction::Kind::kContains || static_cast<size_t>(r.first()->position) != position;
  }
  bool clustering_needs_filtering() const;
  Result<std::span<const BytesView>> only_partition_key(ExecutionContext& context) const;
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
  bool has_only_partition_key_ = false;  // each of its columns is restricted by =, and no token
  bool needs_filtering_ = false;
  bool lacks_allow_filtering_ = false;
  bool key_in_filter_ = false;  // of a key range with some key columns restricted
  const IndexMetadata* index_ = nullptr;
  const Restriction* indexed_ = nullptr;
};

}  // namespace cassandra_like
