// The schema of a node that is not running, as its files have it: the SSTables of system_schema, and what the commit log has
// of their tables. Nothing is written, so a node may run meanwhile; then what it changes may be missing.
//
// Cassandra's tools do not read the commit log (Schema.loadFromDisk), since Cassandra flushes system_schema at each change.
#pragma once

#include <functional>
#include <string>

#include "model/schema.h"
#include "runtime/runtime.h"
#include "storage/options.h"

namespace cassandra_like {

// With the system keyspaces as this version of the node defines them. on_damage is told of a segment of the commit log that
// cannot be read to its end: the schema may lack changes. kCorruption naming an SSTable that cannot be read. All pointers outlive
// the Task.
Task<Result<SchemaPtr>> read_stored_schema(Runtime* runtime, const EngineOptions* options,
                                           std::function<void(const Error&)> on_damage);

}  // namespace cassandra_like
