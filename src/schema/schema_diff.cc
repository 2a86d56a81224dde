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

struct KeyspaceDiff {
  std::vector<std::string> dropped_tables, dropped_types, created_tables, created_types, altered_tables, altered_types;
  std::vector<std::string> dropped_views, created_views, altered_views;  // told as tables
};

KeyspaceDiff diff_of(const KeyspaceMetadata& before, const KeyspaceMetadata& after) {
  KeyspaceDiff diff;
  compare_maps(
      before.tables, after.tables, [&](const TableMetadata& table) { diff.dropped_tables.push_back(table.name); },
      [&](const TableMetadata& table) { diff.created_tables.push_back(table.name); },
      [&](const TableMetadata& old, const TableMetadata& table) {
        if (!is_same_table(old, table)) diff.altered_tables.push_back(table.name);
      });
  compare_maps(
      before.types, after.types, [&](const UserType& type) { diff.dropped_types.push_back(type.name()); },
      [&](const UserType& type) { diff.created_types.push_back(type.name()); },
      [&](const UserType& old, const UserType& type) {
        if (!old.equals(type)) diff.altered_types.push_back(type.name());
      });
  compare_maps(
      before.views, after.views, [&](const ViewMetadata& view) { diff.dropped_views.push_back(view.table->name); },
      [&](const ViewMetadata& view) { diff.created_views.push_back(view.table->name); },
      [&](const ViewMetadata&, const ViewMetadata& view) { diff.altered_views.push_back(view.table->name); });
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
  tell("DROPPED", "TABLE", diff.dropped_views);
  tell("DROPPED", "TABLE", diff.dropped_tables);
  tell("DROPPED", "TYPE", diff.dropped_types);
  tell("CREATED", "TYPE", diff.created_types);
  tell("CREATED", "TABLE", diff.created_tables);
  tell("CREATED", "TABLE", diff.created_views);
  if (before != nullptr && after != nullptr && !(before->replication == after->replication)) tell_keyspace("UPDATED");
  tell("UPDATED", "TYPE", diff.altered_types);
  tell("UPDATED", "TABLE", diff.altered_tables);
  tell("UPDATED", "TABLE", diff.altered_views);
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
  compare_maps(
      before.keyspaces(), after.keyspaces(),
      [&](const KeyspaceMetadata& keyspace) { append_keyspace_events(&keyspace, nullptr, &events); },
      [](const KeyspaceMetadata&) {}, [](const KeyspaceMetadata&, const KeyspaceMetadata&) {});
  compare_maps(
      before.keyspaces(), after.keyspaces(), [](const KeyspaceMetadata&) {},
      [&](const KeyspaceMetadata& keyspace) { append_keyspace_events(nullptr, &keyspace, &events); },
      [&](const KeyspaceMetadata& old, const KeyspaceMetadata& keyspace) {
        append_keyspace_events(&old, &keyspace, &events);
      });
  return events;
}

std::vector<Uuid> changed_tables(const Schema& before, const Schema& after) {
  std::vector<Uuid> changed;
  for_changed_tables(before, after, [&](const TableMetadata* old, const TableMetadata*) {
    if (old != nullptr) changed.push_back(old->id);
  });
  return changed;
}

std::vector<std::pair<std::string, std::string>> dropped_views(const Schema& before, const Schema& after) {
  std::vector<std::pair<std::string, std::string>> dropped;
  static const KeyspaceMetadata kNone;
  auto compare = [&](const KeyspaceMetadata& old, const KeyspaceMetadata& now) {
    for (const auto& [name, view] : old.views) {
      if (now.view(name) == nullptr) dropped.emplace_back(old.name, name);
    }
  };
  compare_maps(
      before.keyspaces(), after.keyspaces(), [&](const KeyspaceMetadata& gone) { compare(gone, kNone); },
      [](const KeyspaceMetadata&) {}, compare);
  return dropped;
}

std::vector<std::pair<std::string, std::string>> dropped_indexes(const Schema& before, const Schema& after) {
  std::vector<std::pair<std::string, std::string>> dropped;
  for_changed_tables(before, after, [&](const TableMetadata* old, const TableMetadata* now) {
    if (old == nullptr) return;
    for (const auto& [name, index] : old->indexes) {
      if (now == nullptr || !now->indexes.contains(name)) dropped.emplace_back(old->keyspace, name);
    }
  });
  return dropped;
}

std::vector<std::pair<TablePtr, std::string>> created_indexes(const Schema& before, const Schema& after) {
  std::vector<std::pair<TablePtr, std::string>> created;
  for_changed_tables(before, after, [&](const TableMetadata* old, const TableMetadata* now) {
    if (now == nullptr) return;
    for (const auto& [name, index] : now->indexes) {
      const bool is_known = old != nullptr && old->id == now->id && old->indexes.contains(name);
      if (index.kind == IndexKind::kComposites && !is_known) {
        created.emplace_back(after.table(now->keyspace, now->name), name);
      }
    }
  });
  return created;
}

}  // namespace cassandra_like
