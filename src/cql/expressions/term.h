// Values in statements: literals, markers, function calls and arithmetic, checked against the type they are for.
//
// prepare_term() does all checking that needs no values; what comes of it is bound once per execution. A constant term
// is serialized when it is prepared, a marker is handed through, so that binding either allocates nothing.
#pragma once

#include <memory>

#include "cql/context/statement.h"

namespace cassandra_like {

class Term {
 public:
  virtual ~Term() = default;
  // The serialized value; kNull, or kUnset for an unset marker. The view lives as long as the context (its arena, the
  // request's frame) or the statement. Errors: validation of the marker's value ("Invalid … constant"), functions.
  virtual Result<BytesView> bind(ExecutionContext& context) const = 0;
  // The value when it is the same for every execution (a literal, null), else nullptr.
  virtual const BytesView* constant() const { return nullptr; }
  bool is_constant() const { return constant() != nullptr; }
  virtual bool is_null_literal() const { return false; }
  // The marker's index when the term is a marker and nothing else, else -1.
  virtual int marker_index() const { return -1; }
  // Whether a marker is in it, at any depth but that of a collection's elements, where none can be.
  virtual bool contains_marker() const { return marker_index() >= 0; }
  // Whether a function that differs from call to call (now, uuid) is inside.
  virtual bool is_pure() const { return true; }
};
using TermPtr = std::unique_ptr<Term>;

// receiver: what the value is for; its name and type occur in error messages. Multi-cell collections bind to their
// frozen serialization.
Result<TermPtr> prepare_term(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context);
// The type a term has by itself (for function arguments and SELECT's literals); nullptr when it has none (a marker, null).
Result<TypePtr> inferred_type(const ast::Term& term, PrepareContext& context);
// IN's right side: each bound to receiver's type; a marker binds to a list of it (its spec is named `in(name)`).
class InTerm {
 public:
  virtual ~InTerm() = default;
  virtual Result<std::vector<BytesView>> bind(ExecutionContext& context) const = 0;
};
// of_columns: the values are tuples for several columns.
Result<std::unique_ptr<InTerm>> prepare_in(const ast::InValues& values, const ColumnSpec& receiver,
                                           PrepareContext& context, bool of_columns = false);

// USING TIMESTAMP/TTL and LIMIT: integers by literal or marker, checked as Cassandra's Attributes and Limits do.
struct PreparedAttributes {
  TermPtr timestamp, ttl;
  Result<int64_t> bind_timestamp(ExecutionContext& context) const;             // default: the request's
  Result<int32_t> bind_ttl(ExecutionContext& context, int default_ttl) const;  // 0: none
};
Result<PreparedAttributes> prepare_attributes(const ast::Attributes& attributes, const TableMetadata& table,
                                              PrepareContext& context);

// A literal in the schema's text form (system_schema, DESCRIBE) to its value: constants only.
Result<Bytes> evaluate_constant(const ast::Term& term, const TypePtr& type, PrepareContext& context);

}  // namespace cassandra_like
