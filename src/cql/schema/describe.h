// DESCRIBE: which parts of a schema each form lists, as a function of the schema.
#pragma once

#include <string>
#include <vector>

#include "cql/context/query_options.h"
#include "cql/context/result.h"
#include "cql/syntax/ast.h"
#include "model/schema.h"

namespace cassandra_like {

// A keyspace, a type of it, a table of it, or an index of a table: the most particular of the pointers. They are good as
// long as the schema is.
struct SchemaElement {
  const KeyspaceMetadata* keyspace = nullptr;
  const UserType* type = nullptr;
  const TableMetadata* table = nullptr;
  const IndexMetadata* index = nullptr;

  const char* type_name() const;  // keyspace, type, table, index
  const std::string& name() const;
  std::string create_statement(bool with_internals) const;
};

// All but kCluster, in the order of the rows.
Result<std::vector<SchemaElement>> described_elements(const ast::Describe& describe, const Schema& schema,
                                                      const std::string& session_keyspace);

// The rows of one page of them, and the state that the next page starts from. options.page_size <= 0: all in one.
Result<RowsResult> describe_page(const ast::Describe& describe, const Schema& schema,
                                 const std::string& session_keyspace, const QueryOptions& options);

}  // namespace cassandra_like
