// WHERE: which partitions, which rows of them, and what is left to filter (cql3.restrictions.StatementRestrictions).
//
// Relations are checked when the statement is prepared, with Cassandra's messages; values are bound once per execution.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cql/expressions/term.h"
#include "read/read_command.h"

namespace cassandra_like {

// Errors: the key is empty, or longer than Cassandra's files allow.
Status check_partition_key(const TableMetadata& table, BytesView key);
// The values of a partition key, or all values of a clustering.
Status check_key_length(size_t length);

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
  virtual ~Restrictions() = default;

  // --- Partitions ---
  // All partition key columns are restricted by = or IN: partition_keys() says which; else key_range() does.
  virtual bool has_partition_keys() const = 0;
  virtual bool key_has_in() const = 0;
  // Some partition key column is restricted, if only by its token.
  virtual bool restricts_partition_key() const = 0;
  // Serialized keys, allocated in the context's arena, in ring order without repetition for SELECT, in the order of the
  // statement for writes. Empty when a restriction can match nothing (IN ()). kInvalid for null and unset components.
  virtual Result<std::span<const BytesView>> partition_keys(ExecutionContext& context) const = 0;
  virtual Result<KeyRange> key_range(ExecutionContext& context) const = 0;

  // --- Rows ---
  virtual bool has_clustering_restrictions() const = 0;
  // Every clustering column is restricted by = or IN.
  virtual bool has_full_clusterings() const = 0;
  virtual bool clustering_has_in() const = 0;
  // For has_full_clusterings(): the values of each row, in clustering order without repetition.
  virtual Result<std::vector<std::span<const BytesView>>> clusterings(ExecutionContext& context) const = 0;
  // The slices that the clustering columns allow; one slice, all(), when they are not restricted (or only by filtering).
  virtual Result<Slices> slices(ExecutionContext& context) const = 0;
  // For DELETE of ranges: the bounds of the same slices with their kinds, in clustering order.
  struct BoundPair {
    ClusteringPrefix start, end;
  };
  using BoundPairs = absl::InlinedVector<BoundPair, 1>;
  virtual Result<BoundPairs> bounds(ExecutionContext& context) const = 0;

  // --- The rest ---
  // kInvalid when the statement filters without ALLOW FILTERING. This error comes last, when all else of a
  // SELECT is right.
  virtual Status check_filtering() const = 0;
  virtual bool needs_filtering() const = 0;
  virtual Result<RowFilter> filter(ExecutionContext& context) const = 0;
  // The index that answers one of the conditions, and that condition's place in filter(); nullptr: none.
  virtual const IndexMetadata* index() const = 0;
  virtual size_t index_expression() const = 0;
  // Columns restricted to one value by = (for ORDER BY and GROUP BY).
  virtual bool is_restricted_by_equality(const Column* column) const = 0;
  virtual bool is_key_restricted_by_in_or_equality() const { return has_partition_keys(); }
};

}  // namespace cassandra_like
