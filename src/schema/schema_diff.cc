#include "schema/schema_diff.h"

#include <algorithm>

namespace cassandra_like {
namespace {

bool is_same_columns(const std::vector<ColumnPtr>& a, const std::vector<ColumnPtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ColumnPtr& x, const ColumnPtr& y) { return x == y || (*x == *y && x->mask == y->mask); });
}

bool is_same_dropped(const std::map<std::string, DroppedColumn>& a, const std::map<std::string, DroppedColumn>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.dropped_micros == y.second.dropped_micros &&
           *x.second.column == *y.second.column;
  });
}

// The names that only `in` has, or that both have with unequal values.
template <class Map, class Same>
void compare(const Map& in, const Map& other, Same same, std::vector<std::string>* only,
             std::vector<std::string>* both) {
  for (const auto& [name, value] : in) {
    auto it = other.find(name);
    if (it == other.end()) {
      only->push_back(name);
    } else if (both != nullptr && value != it->second && !same(*value, *it->second)) {
      both->push_back(name);
    }
  }
}

struct KeyspaceDiff {
  std::vector<std::string> dropped_tables, dropped_types, created_tables, created_types, altered_tables, altered_types;
};

KeyspaceDiff diff_of(const KeyspaceMetadata& before, const KeyspaceMetadata& after) {
  auto same_type = [](const UserType& a, const UserType& b) { return a.equals(b); };
  KeyspaceDiff diff;
  compare(before.tables, after.tables, is_same_table, &diff.dropped_tables, &diff.altered_tables);
  compare(after.tables, before.tables, is_same_table, &diff.created_tables, nullptr);
  compare(before.types, after.types, same_type, &diff.dropped_types, &diff.altered_types);
  compare(after.types, before.types, same_type, &diff.created_types, nullptr);
  return diff;
}

void append_keyspace_events(const KeyspaceMetadata* before, const KeyspaceMetadata* after,
                            std::vector<SchemaEvent>* out) {
  const std::string& keyspace = (after != nullptr ? after : before)->name;
  auto tell = [&](const char* change, const char* target, const std::vector<std::string>& names) {
    for (const std::string& name : names) out->push_back({change, target, keyspace, name, {}});
  };
  auto tell_keyspace = [&](const char* change) { out->push_back({change, "KEYSPACE", keyspace, "", {}}); };
  if (before == nullptr) tell_keyspace("CREATED");
  KeyspaceMetadata none;
  none.name = keyspace;
  KeyspaceDiff diff = diff_of(before != nullptr ? *before : none, after != nullptr ? *after : none);
  tell("DROPPED", "TABLE", diff.dropped_tables);
  tell("DROPPED", "TYPE", diff.dropped_types);
  tell("CREATED", "TYPE", diff.created_types);
  tell("CREATED", "TABLE", diff.created_tables);
  if (before != nullptr && after != nullptr && !(before->replication == after->replication)) tell_keyspace("UPDATED");
  tell("UPDATED", "TYPE", diff.altered_types);
  tell("UPDATED", "TABLE", diff.altered_tables);
  if (after == nullptr) tell_keyspace("DROPPED");
}

}  // namespace

bool is_same_table(const TableMetadata& a, const TableMetadata& b) {
  return a.keyspace == b.keyspace && a.name == b.name && a.id == b.id && a.flags == b.flags && a.params == b.params &&
         a.indexes == b.indexes && is_same_columns(a.partition_key, b.partition_key) &&
         is_same_columns(a.clustering, b.clustering) && is_same_columns(a.static_columns, b.static_columns) &&
         is_same_columns(a.regular_columns, b.regular_columns) && is_same_dropped(a.dropped_columns, b.dropped_columns);
}

std::vector<SchemaEvent> schema_events(const Schema& before, const Schema& after) {
  std::vector<SchemaEvent> events;
  for (const auto& [name, keyspace] : before.keyspaces()) {
    if (after.keyspace(name) == nullptr) append_keyspace_events(keyspace.get(), nullptr, &events);
  }
  for (const auto& [name, keyspace] : after.keyspaces()) {
    KeyspacePtr old = before.keyspace(name);
    if (old != keyspace) append_keyspace_events(old.get(), keyspace.get(), &events);
  }
  return events;
}

std::vector<std::pair<std::string, std::string>> dropped_indexes(const Schema& before, const Schema& after) {
  std::vector<std::pair<std::string, std::string>> dropped;
  for (const auto& [keyspace_name, keyspace] : before.keyspaces()) {
    if (after.keyspace(keyspace_name) == keyspace) continue;
    for (const auto& [table_name, table] : keyspace->tables) {
      TablePtr now = after.table(keyspace_name, table_name);
      for (const auto& [name, index] : table->indexes) {
        if (now == nullptr || !now->indexes.contains(name)) dropped.emplace_back(keyspace_name, name);
      }
    }
  }
  return dropped;
}

}  // namespace cassandra_like
