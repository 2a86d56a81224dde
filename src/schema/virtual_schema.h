// system_virtual_schema: the virtual keyspaces as tables.
#pragma once

#include "schema/schema_store.h"
#include "schema/virtual_table.h"

namespace cassandra_like {

// The store must outlive the tables.
void add_virtual_schema_tables(const SchemaStore& store, VirtualTables& tables);

}  // namespace cassandra_like
