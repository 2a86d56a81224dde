// Guardrails on what a modification writes: column_value_size, collection_size, items_per_collection, maximum_timestamp,
// minimum_timestamp, read_before_write_list_operations (UpdateParameters, Lists, Sets, Maps, ModificationStatement).
//
// Collections are compared as the statement has them, whatever the row had before: an SSTable's are compared when it is written.
#pragma once

#include <span>

#include "cql/modification/operation.h"
#include "model/mutation.h"

namespace cassandra_like {

// Whether any of them is set and holds for the client.
inline bool guards_values(const ExecutionContext& context) {
  return context.config.guardrail_use.values && is_ordinary(context.client);
}

// The timestamp that a client has given.
Status guard_timestamp(const std::string& table, int64_t micros, ExecutionContext& context);
// Refuses writes whose replica tells that its disks are full (ModificationStatement.validateDiskUsage); for use where some
// node tells it. Nodes that will be replicas when they have joined are not asked.
Status guard_disk_usage(std::span<const Mutation> mutations, ExecutionContext& context);
// operation.apply(), with all that guards it.
Status apply_guarded(const Operation& operation, RowBuilder& row);

}  // namespace cassandra_like
