// CQL text in, syntax tree out. Knows the grammar of CQL 3.4.7 and nothing of the schema.
//
// Errors are Cassandra's: kSyntaxError with the line, column and snippet its parser gives, and kInvalid for
// the few things which its grammar already refuses as such (a table with two primary keys).
#pragma once

#include <string_view>

#include "base/result.h"
#include "cql/syntax/ast.h"

namespace cassandra_like {

// Terms, selectables, types and relations nest at most this deep, and one term or selectable has at most so many
// operators, fields and elements in all. More is a syntax error.
inline constexpr int kMaxNesting = 256;
inline constexpr int kMaxOperators = 1000;
// Extensions of Cassandra's grammar.
struct Dialect {
  // SELECT … USING TIMEOUT 2s: ScyllaDB's drivers write so to a server that tells them its shards.
  bool using_timeout = false;
  // A statement has at most so many terms, selectables and markers: each takes a hundred times its text.
  size_t max_terms = 1'000'000;
};

// One statement, with any number of semicolons after it.
Result<ast::Statement> parse_statement(std::string_view text, Dialect dialect = {});

// Pieces of CQL as they stand in schema tables: a type (`frozen<list<int>>`), a term (`{'a': 1}`).
Result<ast::TypeName> parse_type(std::string_view text);
Result<ast::Term> parse_term(std::string_view text);

// The conditions of a view's WHERE clause, as system_schema.views keeps it.
Result<ast::WhereClause> parse_where_clause(std::string_view text);

}  // namespace cassandra_like
