// The difference between two schemas as mutations of system_schema (schema.SchemaKeyspace.convertSchemaDiffToMutations),
// and what such mutations touch.
//
// The rows and cells are exactly those that Cassandra writes for the same difference, since their write times enter the
// schema's version: the row of `keyspaces` each time, the whole row of a table of which anything changed, of its columns
// and indexes only those that did.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/mutation.h"
#include "schema/schema_rows.h"

namespace cassandra_like {

struct SchemaWriteOptions {
  int64_t timestamp_micros = 0;
  bool cdc_enabled = false;  // then each table says whether it has change data capture
};

// Updates of one partition, that of the keyspace. Either side may be nullptr, not both; empty: no difference. `tables`
// has system_schema's tables. The updates point into the arena and into `tables`.
std::vector<PartitionUpdate> schema_updates(const Schema& tables, const KeyspaceMetadata* before,
                                            const KeyspaceMetadata* after, const SchemaWriteOptions& options,
                                            Arena& arena);

// The parts of a keyspace that a mutation of system_schema may have changed.
SchemaScope touched(const Mutation& mutation);

// The tables that it drops, if nothing later is written: it deletes their definitions, or gives their names to others.
std::vector<Uuid> dropped_tables(const Schema& before, const Mutation& mutation);
// The tables that are gone when a whole schema takes the place of this one. A node's own keyspaces stay as they are.
std::vector<Uuid> missing_tables(const Schema& before, std::span<const Mutation> whole);

// The latest write or deletion in it; kNoTimestamp when there is nothing in it.
int64_t max_timestamp(const PartitionUpdate& update);

}  // namespace cassandra_like
