// One restriction of WHERE: relations of the same columns, merged (cql3.restrictions.SingleColumnRestriction,
// MultiColumnRestriction). A restriction of a single column is one of a tuple of one.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "cql/expressions/term.h"
#include "read/read_command.h"

namespace cassandra_like {

// Mostly one value, and one tuple of them: then nothing is allocated.
using Values = absl::InlinedVector<BytesView, 2>;
using Tuples = absl::InlinedVector<Values, 1>;

// A value for each of some columns: terms one by one, or a marker for the whole tuple.
struct TupleValue {
  std::vector<TermPtr> elements;
  TermPtr tuple;
  std::string name;  // of the columns, as errors name the tuple

  // One for each of `count` columns. Nulls and unset values are passed on; fields at the end that a bound tuple lacks are null.
  Result<Values> bind(ExecutionContext& context, size_t count) const;
  // The same without those fields: what a bound of a slice consists of.
  Result<Values> bind_prefix(ExecutionContext& context, size_t count) const;
};

struct Restriction {
  enum class Kind { kEq, kIn, kSlice, kContains };
  struct Bound {
    TupleValue value;
    bool inclusive = false;
  };
  // CONTAINS value, CONTAINS KEY value, map[key] = value.
  struct Containment {
    Operator op = Operator::kContains;
    TermPtr key, value;
  };

  Kind kind = Kind::kEq;
  bool is_multi_column = false;
  std::vector<const Column*> columns;
  TupleValue eq;
  std::vector<TupleValue> in;
  std::unique_ptr<InTerm> in_marker;
  std::optional<Bound> start, end;  // in the order of values, not of a reversed clustering
  std::vector<Containment> contains;

  const Column* first() const { return columns.front(); }
  // Position behind the last of the columns.
  size_t end_position() const { return static_cast<size_t>(columns.back()->position) + 1; }
  bool is_slice() const { return kind == Kind::kSlice; }
  bool covers(const Column* column) const;

  // For kEq and kIn: the allowed tuples, checked for unset, and for null unless that may pass. Without repetition is the
  // caller's business.
  enum class Nulls { kRefuse, kPass };
  Result<Tuples> bind_tuples(ExecutionContext& context, Nulls nulls = Nulls::kRefuse) const;
  // For kEq on one column: its value, checked as bind_tuples() does.
  Result<BytesView> bind_value(ExecutionContext& context) const;
  bool is_one_value() const { return kind == Kind::kEq && !is_multi_column; }
  Status check_tuple(const Values& values, Nulls nulls) const;
  Result<Values> bind_bound(const Bound& bound, ExecutionContext& context) const;
  // The relation as conditions on rows.
  Status add_to_filter(RowFilter& filter, ExecutionContext& context) const;
  // The index that answers it, among the table's.
  const IndexMetadata* supporting_index(const TableMetadata& table) const;
};

// Checks one relation against the table. Not for token().
Result<Restriction> prepare_relation(const TableMetadata& table, const ast::Relation& relation,
                                     PrepareContext& context);
// Joins a further relation of some of the same columns into `to`; Cassandra's errors when they clash.
Status merge_restriction(Restriction& to, Restriction from);

}  // namespace cassandra_like
