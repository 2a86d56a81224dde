// system_virtual_schema: the virtual keyspaces as tables.
#pragma once

#include "replica/replica.h"

namespace cassandra_like {

void add_virtual_schema_tables(Replica& replica);

}  // namespace cassandra_like
