// Keyspaces, tables, types and indexes as the CQL that makes them, byte for byte as Cassandra's DESCRIBE prints it
// (KeyspaceMetadata, TableMetadata, UserType and IndexMetadata.toCqlString).
#pragma once

#include <string>

#include "model/schema.h"

namespace cassandra_like {

struct SchemaTextOptions {
  bool with_internals = false;  // of a table: its id, and the columns that it had
  bool if_not_exists = false;
};

std::string keyspace_text(const KeyspaceMetadata& keyspace, SchemaTextOptions options = {});
std::string table_text(const TableMetadata& table, SchemaTextOptions options = {});
std::string type_text(const UserType& type, SchemaTextOptions options = {});
std::string index_text(const TableMetadata& table, const IndexMetadata& index, SchemaTextOptions options = {});

// ks.table, each quoted if needed.
std::string qualified_table_text(const TableMetadata& table);

// The schema.cql of a snapshot: the types that the table uses, the table, and its indexes (SchemaCQLHelper).
std::string snapshot_schema_text(const KeyspaceMetadata& keyspace, const TableMetadata& table);

}  // namespace cassandra_like
