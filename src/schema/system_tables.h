// The definitions of the system keyspaces' tables: real ones (system, system_schema, system_auth, system_distributed,
// system_traces) and virtual ones (system_views, system_virtual_schema).
#pragma once

#include <span>

#include "model/schema.h"

namespace cassandra_like {

struct SystemTableText {
  const char* keyspace;
  const char* name;
  const char* comment;
  int gc_grace_seconds;
  int default_time_to_live;
  const char* columns;
  const char* compaction = "";  // `class name=value ...`, where it is not the default
};
std::span<const SystemTableText> system_table_texts();

// TableId of a system table: name-based on keyspace and name together, so the same on every node.
Uuid system_table_id(std::string_view keyspace, std::string_view name);

// The configuration of the system keyspaces. Nodes of one cluster must agree on it, or their versions differ.
struct SystemKeyspaceOptions {
  StringPairs default_compaction;  // empty: SizeTieredCompactionStrategy
  int default_keyspace_rf = 1;     // the replicated ones have at least this many replicas

  bool operator==(const SystemKeyspaceOptions&) const = default;
};

// The snapshot that every node starts from: all system keyspaces, real and virtual.
SchemaPtr builtin_schema(const SystemKeyspaceOptions& options = {});

}  // namespace cassandra_like
