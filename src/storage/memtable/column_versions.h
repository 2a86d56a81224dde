// Rows that were written with another version of their table, as the current one has them: columns are found by name,
// those that it dropped are left out with all that is not newer than the drop.
#pragma once

#include "model/mutation.h"

namespace cassandra_like {

// True when every row of the table may be taken as it is, provided that it was written with this version.
bool hides_nothing(const TableMetadata& table);

// The same row when nothing changes; else cells are in the arena.
Row with_current_columns(const Row& row, const TableMetadata& table, Arena& arena);
PartitionUpdate with_current_columns(const PartitionUpdate& update, const TableMetadata& table, Arena& arena);

}  // namespace cassandra_like
