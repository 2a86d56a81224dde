// The rows of system_schema as keyspaces: what a node's schema is made of (schema.SchemaKeyspace.fetchKeyspaces).
//
// Functions, aggregates, triggers and masks stay in their tables: they are part of the version, and nothing here reads them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "schema/internal_table.h"

namespace cassandra_like {

// One keyspace's rows: by table of system_schema, then by the value of the first clustering column (the name of a table
// or of a type; empty for the table `keyspaces`), in clustering order.
using SchemaRows = std::map<std::string, std::map<std::string, std::vector<InternalRow>>, std::less<>>;

// The part of a keyspace that is to be read again.
struct SchemaScope {
  bool whole = false;
  std::set<std::string> tables;  // names, of views too
  std::set<std::string> types;
  std::set<std::string> others;  // names of functions and aggregates

  void add(const SchemaScope& other);
};

// The keyspace as `rows` have it. They hold what the scope names, and the row of `keyspaces` in any case; what is out of
// scope is as in `before`. nullptr: there is no such keyspace. A table or column that did not change is the same object as
// before. kCorruption names keyspace, table and column.
Result<KeyspacePtr> keyspace_from_rows(const std::string& keyspace, const SchemaRows& rows, const SchemaScope& scope,
                                       const KeyspacePtr& before);

}  // namespace cassandra_like
