// The whole schema as mutations of system_schema, and the bodies of the messages that carry such mutations.
#pragma once

#include <vector>

#include "replica/replica.h"

namespace cassandra_like {

// The answer to SCHEMA_PULL_REQ (schema.SchemaKeyspace.convertSchemaToMutations): all that system_schema holds, tombstones that
// have not been purged included, without the local system keyspaces. One mutation a keyspace, each as MutationSerializer
// writes it. Without change data capture the column cdc stays behind, as in Cassandra.
Task<Result<std::vector<Bytes>>> export_schema(ShardRuntime* runtime, Replica* replica);

// The mutations in the body of SCHEMA_PUSH_REQ or SCHEMA_PULL_RSP, each as SchemaStore::merge() takes it. kInvalid: it names a
// table or column that system_schema does not have here, or writes elsewhere; kCorruption.
Result<std::vector<Bytes>> split_schema_mutations(BytesView body, const Schema& schema);
SharedBytes join_schema_mutations(const std::vector<Bytes>& mutations);

}  // namespace cassandra_like
