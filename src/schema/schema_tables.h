// system_schema: a keyspace as rows of its tables, and back (schema.SchemaKeyspace).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schema/internal_table.h"

namespace cassandra_like {

// The changes that make system_schema hold `after` where it holds `before`; either may be nullptr. One update a table,
// all with the keyspace's name as key. Of `schema` only system_schema's tables are used.
std::vector<PartitionUpdate> schema_updates(const Schema& schema, const KeyspaceMetadata* before,
                                            const KeyspaceMetadata* after, int64_t timestamp_micros, Arena& arena);

// The rows of system_schema by table name, as read, to keyspaces. Errors name keyspace, table and column.
using SchemaRows = std::map<std::string, std::vector<InternalRow>>;
Result<std::map<std::string, KeyspacePtr>> keyspaces_from_rows(const SchemaRows& rows);

// The names of the tables that SchemaRows needs.
std::vector<std::string> schema_table_names();

// Content-based: the same keyspaces give the same version on every node.
Uuid schema_version(const Schema& schema);

}  // namespace cassandra_like
