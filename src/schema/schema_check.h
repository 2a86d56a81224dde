// Checks of a keyspace before its rows are written to system_schema: once they are there, a node that cannot use them cannot
// start.
#pragma once

#include "model/schema.h"

namespace cassandra_like {

// Whether system_schema and the headers of SSTables can have the types that differ and give them back. A type that changes may
// make others deeper that consist of it: these are in the difference, too.
Status check_types(const KeyspaceMetadata& before, const KeyspaceMetadata& after);

// Whether the names of the keyspace and of the tables that differ can be names of folders.
Status check_names(const KeyspaceMetadata& before, const KeyspaceMetadata& after);

// Whether each table of the keyspace has an id of its own. `others` is the schema without the change, in which ids are unique.
// kInvalid names both tables. Cassandra's Keyspaces.Builder throws.
Status check_ids(const Schema& others, const KeyspaceMetadata& after);

}  // namespace cassandra_like
