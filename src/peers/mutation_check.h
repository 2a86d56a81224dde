// Checks of a peer's mutations that neither the decoders nor the storage make.
#pragma once

#include "model/mutation.h"

namespace cassandra_like {

// Says what is wrong with it; nullptr: nothing. All parts have to be of one partition and one keyspace, rows and range tombstones in
// order.
const char* flaw_of_parts(const Mutation& mutation);
// The same for a write of another node, which has no business in a node's own tables.
const char* flaw_of_write(const Mutation& mutation);
// The same for a change of the schema, whose values drivers read as soon as they connect: all have to be of their columns' types.
const char* flaw_of_schema(const Mutation& mutation);

}  // namespace cassandra_like
