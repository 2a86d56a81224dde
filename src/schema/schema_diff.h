// The difference between one schema and the next, as events.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/schema.h"

namespace cassandra_like {

// The names of a SCHEMA_CHANGE event.
struct SchemaEvent {
  std::string change;  // CREATED UPDATED DROPPED
  std::string target;  // KEYSPACE TABLE TYPE FUNCTION AGGREGATE
  std::string keyspace;
  std::string name;  // empty for KEYSPACE
  std::vector<std::string> arg_types;

  bool operator==(const SchemaEvent&) const = default;
};

struct SchemaDiff {
  SchemaPtr schema;                  // the next one
  std::vector<SchemaEvent> events;   // empty: nothing changed
  std::vector<Uuid> changed_tables;  // for listeners: tables that the shard had and that are gone or altered
  // The mutations of system_schema, each as MutationSerializer writes it: for other nodes.
  std::vector<Bytes> mutations;
};

// Whether the tables are the same in all that system_schema keeps of them.
bool is_same_table(const TableMetadata& a, const TableMetadata& b);

// In the order in which Cassandra's SchemaChangeNotifier tells them: of each keyspace the tables and types dropped, then
// those created, then what was altered. Empty: nothing changed.
std::vector<SchemaEvent> schema_events(const Schema& before, const Schema& after);

// The ids of the tables of `before` that are gone or altered.
std::vector<Uuid> changed_tables(const Schema& before, const Schema& after);

// Keyspace and name of each view that is no longer there.
std::vector<std::pair<std::string, std::string>> dropped_views(const Schema& before, const Schema& after);
// Keyspace and name of each index that is no longer there.
std::vector<std::pair<std::string, std::string>> dropped_indexes(const Schema& before, const Schema& after);
// Table and name of each index that was not there, of the kind that this node has.
std::vector<std::pair<TablePtr, std::string>> created_indexes(const Schema& before, const Schema& after);

}  // namespace cassandra_like
