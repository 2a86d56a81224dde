// Shared by the files that implement terms: term.cc (literals, markers), structured_term.cc (collections, tuples, UDTs)
// and call_term.cc (functions, casts, arithmetic).
#pragma once

#include "cql/expressions/function.h"
#include "cql/expressions/term.h"

namespace cassandra_like {

class ConstantTerm : public Term {
 public:
  explicit ConstantTerm(Bytes value) : value_(std::move(value)), view_(value_) {}
  Result<BytesView> bind(ExecutionContext&) const override { return view_; }
  const BytesView* constant() const override { return &view_; }

 private:
  Bytes value_;
  BytesView view_;
};
TermPtr constant_term(Bytes value);

Assignable assignable_type(const Type& from, const Type& to);
Assignable assignable(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context);
Assignable assignable_call(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context);

// The type that a literal fits best (Constants.Literal's preferred type): what it is without a receiver.
TypePtr preferred_type(const ast::Literal& literal);

// A term as error messages show it. `keyspace` stands before the names of user types, if it is not empty: Cassandra names it as
// soon as it has prepared the term.
std::string source(const ast::Term& term, const PrepareContext& context);
std::string source(const ast::Term& term, const PrepareContext& context, const std::string& keyspace);

Result<TermPtr> prepare_structured(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context);
Result<TermPtr> prepare_call(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context);

}  // namespace cassandra_like
