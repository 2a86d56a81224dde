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
  SchemaPtr schema;                 // the next one
  std::vector<SchemaEvent> events;  // empty: nothing changed
  // The mutations of system_schema, each as MutationSerializer writes it: for other nodes.
  std::vector<Bytes> mutations;
};

// Whether the tables are the same in all that system_schema keeps of them.
bool is_same_table(const TableMetadata& a, const TableMetadata& b);

// In the order in which Cassandra's SchemaChangeNotifier tells them: of each keyspace the tables and types dropped, then
// those created, then what was altered. Empty: nothing changed.
std::vector<SchemaEvent> schema_events(const Schema& before, const Schema& after);

// Keyspace and name of each index that is no longer there.
std::vector<std::pair<std::string, std::string>> dropped_indexes(const Schema& before, const Schema& after);

// Calls removed(old), added(new) and kept(old, new) for what two sorted maps of pointers have; equal pointers are passed
// over.
template <class Map, class Removed, class Added, class Kept>
void compare_maps(const Map& before, const Map& after, Removed removed, Added added, Kept kept) {
  auto old = before.begin();
  auto now = after.begin();
  while (old != before.end() || now != after.end()) {
    const int order = old == before.end() ? 1 : now == after.end() ? -1 : old->first.compare(now->first);
    if (order < 0) {
      removed(*old++->second);
    } else if (order > 0) {
      added(*now++->second);
    } else {
      if (old->second != now->second) kept(*old->second, *now->second);
      ++old, ++now;
    }
  }
}

}  // namespace cassandra_like
