#include "schema/schema_mutations.h"

#include <algorithm>

#include "model/values.h"
#include "schema/schema_diff.h"
#include "schema/schema_digest.h"

namespace cassandra_like {
namespace {

const char* kind_name(ColumnKind kind) {
  static const char* const kNames[] = {"partition_key", "clustering", "static", "regular"};
  return kNames[static_cast<size_t>(kind)];
}

const char* index_kind_name(IndexKind kind) {
  return kind == IndexKind::kKeys ? "KEYS" : kind == IndexKind::kCustom ? "CUSTOM" : "COMPOSITES";
}

const char* order_name(const Column& column) {
  if (column.kind != ColumnKind::kClustering) return "none";
  return column.type->is_reversed() ? "desc" : "asc";
}

std::vector<std::string> flag_names(const TableFlags& flags) {
  std::vector<std::string> names;
  if (flags.compound) names.push_back("compound");
  if (flags.counter) names.push_back("counter");
  if (flags.dense) names.push_back("dense");
  if (flags.super) names.push_back("super");
  return names;
}

std::vector<std::string> field_types(const UserType& type) {
  std::vector<std::string> names;
  for (const auto& field : type.elements()) names.push_back(field->cql_name());
  return names;
}

// Whether the rows of both are the same. A user type that changed within a column's type makes no difference here.
bool is_same_row(const Column& a, const Column& b) {
  return a.kind == b.kind && a.position == b.position && std::string_view(order_name(a)) == order_name(b) &&
         (a.type == b.type || a.type->cql_name() == b.type->cql_name());
}

bool is_same_row(const DroppedColumn& a, const DroppedColumn& b) {
  return a.dropped_micros / 1000 == b.dropped_micros / 1000 && is_same_row(*a.column, *b.column);
}

bool is_same_row(const IndexMetadata& a, const IndexMetadata& b) { return a.kind == b.kind && a.options == b.options; }

bool is_same_row(const UserType& a, const UserType& b) {
  return a.field_names() == b.field_names() && field_types(a) == field_types(b);
}

// One builder a table of system_schema, made when first needed.
class Writer {
 public:
  Writer(const Schema& tables, const std::string& keyspace, const SchemaWriteOptions& options, Arena& arena)
      : tables_(tables), keyspace_(keyspace), options_(options), arena_(arena) {}

  void drop_keyspace() {
    for (const char* name : schema_tables_in_digest_order()) table(name).delete_partition();
  }
  void write_keyspace(const ReplicationParams& replication) {
    table("keyspaces")
        .row()
        .set("durable_writes", encode_boolean(replication.durable_writes))
        .set("replication", encode_text_map(replication.options));
  }
  void write_type(const UserType& type) {
    table("types")
        .row({type.name()})
        .set("field_names", encode_text_list(type.field_names()))
        .set("field_types", encode_text_list(field_types(type)));
  }
  void drop_type(const std::string& name) { table("types").delete_prefix({name}); }

  void write_table(const TableMetadata* before, const TableMetadata& after);
  void drop_table(const TableMetadata& before);
  void drop_view(const TableMetadata& view) {
    table("views").delete_prefix({view.name});
    for (const Column* column : view.all_columns_in_select_order()) drop_column(view.name, *column);
  }

  std::vector<PartitionUpdate> build() {
    std::vector<PartitionUpdate> updates;
    for (auto& [name, builder] : builders_) updates.push_back(builder.build());
    return updates;
  }

 private:
  UpdateBuilder& table(const std::string& name) {
    auto it = builders_.find(name);
    if (it == builders_.end()) {
      TablePtr metadata = tables_.table("system_schema", name);
      it = builders_.emplace(name, UpdateBuilder(metadata, {keyspace_}, options_.timestamp_micros, arena_)).first;
    }
    return it->second;
  }
  void write_params(UpdateBuilder& row, const TableParams& p);
  void write_column(const TableMetadata& table, const Column& column);
  void drop_column(const std::string& table_name, const Column& column);
  void write_dropped(const std::string& table_name, const DroppedColumn& dropped);
  void write_index(const std::string& table_name, const IndexMetadata& index);

  const Schema& tables_;
  const std::string& keyspace_;
  const SchemaWriteOptions& options_;
  Arena& arena_;
  std::map<std::string, UpdateBuilder> builders_;
};

void Writer::write_params(UpdateBuilder& row, const TableParams& p) {
  row.set("additional_write_policy", p.additional_write_policy)
      .set("bloom_filter_fp_chance", encode_double(p.bloom_filter_fp_chance))
      .set("caching", encode_text_map(p.caching))
      .set("comment", p.comment)
      .set("compaction", encode_text_map(p.compaction))
      .set("compression", encode_text_map(p.compression))
      .set("crc_check_chance", encode_double(p.crc_check_chance))
      .set("dclocal_read_repair_chance", encode_double(0))
      .set("default_time_to_live", encode_int(p.default_time_to_live))
      .set("extensions", encode_text_map(p.extensions))
      .set("gc_grace_seconds", encode_int(p.gc_grace_seconds))
      .set("max_index_interval", encode_int(p.max_index_interval))
      .set("memtable_flush_period_in_ms", encode_int(p.memtable_flush_period_in_ms))
      .set("min_index_interval", encode_int(p.min_index_interval))
      .set("read_repair", p.read_repair)
      .set("read_repair_chance", encode_double(0))
      .set("speculative_retry", p.speculative_retry);
  // Cassandra leaves these out at their defaults, so that older nodes of a cluster understand the rows.
  if (options_.cdc_enabled) row.set("cdc", encode_boolean(p.cdc));
  if (!p.allow_auto_snapshot) row.set("allow_auto_snapshot", encode_boolean(false));
  if (!p.incremental_backups) row.set("incremental_backups", encode_boolean(false));
  if (p.memtable != "default") row.set("memtable", p.memtable);
}

void Writer::write_column(const TableMetadata& of, const Column& column) {
  table("columns")
      .row({of.name, column.name})
      .set("clustering_order", order_name(column))
      .set("column_name_bytes", column.name)
      .set("kind", kind_name(column.kind))
      .set("position", encode_int(column.position))
      .set("type", column.type->cql_name());
  // A mask that a column of the same name had is gone. The replicated system keyspaces have none.
  if (!is_system_keyspace(keyspace_) || is_local_system_keyspace(keyspace_)) {
    table("column_masks").delete_prefix({of.name, column.name});
  }
}

void Writer::drop_column(const std::string& table_name, const Column& column) {
  table("columns").delete_prefix({table_name, column.name});
}

void Writer::write_dropped(const std::string& table_name, const DroppedColumn& dropped) {
  table("dropped_columns")
      .row({table_name, dropped.column->name})
      .set("dropped_time", encode_bigint(dropped.dropped_micros / 1000))
      .set("kind", kind_name(dropped.column->kind))
      .set("type", dropped.column->type->cql_name());
}

void Writer::write_index(const std::string& table_name, const IndexMetadata& index) {
  table("indexes")
      .row({table_name, index.name})
      .set("kind", index_kind_name(index.kind))
      .set("options", encode_text_map(index.options));
}

void Writer::write_table(const TableMetadata* before, const TableMetadata& after) {
  auto& row = table("tables").row({after.name}).delete_previous();
  row.set("id", after.id.view()).set("flags", encode_text_list(flag_names(after.flags)));
  write_params(row, after.params);
  for (const Column* column : after.all_columns_in_select_order()) {
    const Column* old = before == nullptr ? nullptr : before->column(column->name);
    if (old == nullptr || !is_same_row(*old, *column)) write_column(after, *column);
  }
  for (const auto& [name, dropped] : after.dropped_columns) {
    auto same = [&, n = &name, d = &dropped] {
      auto old = before->dropped_columns.find(*n);
      return old != before->dropped_columns.end() && is_same_row(old->second, *d);
    };
    if (before == nullptr || !same()) write_dropped(after.name, dropped);
  }
  for (const auto& [name, index] : after.indexes) {
    auto same = [&, n = &name, i = &index] {
      auto old = before->indexes.find(*n);
      return old != before->indexes.end() && is_same_row(old->second, *i);
    };
    if (before == nullptr || !same()) write_index(after.name, index);
  }
  if (before == nullptr) return;
  for (const Column* column : before->all_columns_in_select_order()) {
    if (after.column(column->name) == nullptr) drop_column(after.name, *column);
  }
  for (const auto& [name, dropped] : before->dropped_columns) {
    if (!after.dropped_columns.contains(name)) table("dropped_columns").delete_prefix({after.name, name});
  }
  for (const auto& [name, index] : before->indexes) {
    if (!after.indexes.contains(name)) table("indexes").delete_prefix({after.name, name});
  }
}

void Writer::drop_table(const TableMetadata& before) {
  table("tables").delete_prefix({before.name});
  for (const Column* column : before.all_columns_in_select_order()) drop_column(before.name, *column);
  // Whoever creates a table of this name again starts without them. Cassandra knows the table's triggers by name; here
  // they are only kept.
  table("triggers").delete_prefix({before.name});
  for (const auto& [name, dropped] : before.dropped_columns) {
    table("dropped_columns").delete_prefix({before.name, name});
  }
  for (const auto& [name, index] : before.indexes) table("indexes").delete_prefix({before.name, name});
}

// The rows, not the objects: a user type that a column is of may have changed.
bool is_same_rows(const TableMetadata& a, const TableMetadata& b) {
  auto same_columns = [&] {
    auto x = a.all_columns_in_select_order(), y = b.all_columns_in_select_order();
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Column* c, const Column* d) { return c->name == d->name && is_same_row(*c, *d); });
  };
  auto same = [](const auto& x, const auto& y) { return x.first == y.first && is_same_row(x.second, y.second); };
  return &a == &b || (a.id == b.id && a.flags == b.flags && a.params == b.params && same_columns() &&
                      std::equal(a.dropped_columns.begin(), a.dropped_columns.end(), b.dropped_columns.begin(),
                                 b.dropped_columns.end(), same) &&
                      std::equal(a.indexes.begin(), a.indexes.end(), b.indexes.begin(), b.indexes.end(), same));
}

}  // namespace

std::vector<PartitionUpdate> schema_updates(const Schema& tables, const KeyspaceMetadata* before,
                                            const KeyspaceMetadata* after, const SchemaWriteOptions& options,
                                            Arena& arena) {
  if (before == after) return {};
  Writer out(tables, (after != nullptr ? after : before)->name, options, arena);
  if (after == nullptr) {
    out.drop_keyspace();
    return out.build();
  }
  static const KeyspaceMetadata kEmpty;
  const KeyspaceMetadata& old = before == nullptr ? kEmpty : *before;
  bool changed = before == nullptr || !(before->replication == after->replication);
  compare_maps(
      old.types, after->types,
      [&](const UserType& type) {
        out.drop_type(type.name());
        changed = true;
      },
      [&](const UserType& type) {
        out.write_type(type);
        changed = true;
      },
      [&](const UserType& from, const UserType& to) {
        if (is_same_row(from, to)) return;
        out.write_type(to);
        changed = true;
      });
  for (const auto& [name, view] : old.views) {  // this node makes none
    if (after->views.contains(name)) continue;
    out.drop_view(*view->table);
    changed = true;
  }
  compare_maps(
      old.tables, after->tables,
      [&](const TableMetadata& table) {
        out.drop_table(table);
        changed = true;
      },
      [&](const TableMetadata& table) {
        out.write_table(nullptr, table);
        changed = true;
      },
      [&](const TableMetadata& from, const TableMetadata& to) {
        if (is_same_rows(from, to)) return;
        out.write_table(&from, to);
        changed = true;
      });
  if (!changed) return {};
  out.write_keyspace(after->replication);
  return out.build();
}

SchemaScope touched(const Mutation& mutation) {
  SchemaScope scope;
  for (const PartitionUpdate& update : mutation.updates) {
    const std::string& table = update.table->name;
    if (!update.partition_deletion.is_live()) scope.whole = true;
    if (table == "keyspaces") continue;
    auto& names = table == "types"                                ? scope.types
                  : table == "functions" || table == "aggregates" ? scope.others
                                                                  : scope.tables;
    for (const Row& row : update.rows) names.emplace(row.clustering.values[0]);
    for (const RangeTombstone& range : update.range_tombstones) {
      const auto &start = range.start.values, &end = range.end.values;
      if (!start.empty() && !end.empty() && start[0] == end[0]) {
        names.emplace(start[0]);
      } else {
        scope.whole = true;
      }
    }
  }
  return scope;
}

std::vector<Uuid> dropped_tables(const Schema& before, const Mutation& mutation) {
  std::vector<Uuid> out;
  const KeyspacePtr keyspace = before.keyspace(std::string(mutation.key.key));
  if (keyspace == nullptr) return out;
  bool all = false;
  for (const PartitionUpdate& update : mutation.updates) {
    if (update.table->name != "keyspaces" && update.table->name != "tables") continue;
    all |= !update.partition_deletion.is_live() || !update.range_tombstones.empty();
    if (update.table->name == "keyspaces") continue;
    for (const Row& row : update.rows) {
      const TablePtr table = keyspace->table(std::string(row.clustering.values[0]));
      if (table == nullptr) continue;
      const bool is_another = std::any_of(row.cells.begin(), row.cells.end(), [&](const Cell& cell) {
        return cell.column->name == "id" && cell.value != table->id.view();
      });
      if (row.liveness.is_empty() || is_another) out.push_back(table->id);
    }
  }
  if (!all) return out;
  out.clear();
  for (const auto& [name, table] : keyspace->tables) out.push_back(table->id);
  return out;
}

std::vector<Uuid> missing_tables(const Schema& before, std::span<const Mutation> whole) {
  std::set<Bytes> ids;
  for (const Mutation& mutation : whole) {
    for (const PartitionUpdate& update : mutation.updates) {
      if (update.table->name != "tables") continue;
      for (const Row& row : update.rows) {
        for (const Cell& cell : row.cells) {
          if (cell.column->name == "id") ids.emplace(cell.value);
        }
      }
    }
  }
  std::vector<Uuid> out;
  for (const auto& [name, keyspace] : before.keyspaces()) {
    if (is_local_system_keyspace(name) || is_virtual_keyspace(name)) continue;
    for (const auto& [table_name, table] : keyspace->tables) {
      if (!ids.contains(Bytes(table->id.view()))) out.push_back(table->id);
    }
  }
  return out;
}

int64_t max_timestamp(const PartitionUpdate& update) {
  int64_t latest = update.partition_deletion.marked_for_delete_at;
  auto note = [&latest](int64_t timestamp) { latest = std::max(latest, timestamp); };
  for (const Row& row : update.rows) {
    note(row.liveness.timestamp);
    note(row.deletion.marked_for_delete_at);
    for (const Cell& cell : row.cells) note(cell.timestamp);
    for (const ComplexDeletion& deletion : row.complex_deletions) note(deletion.deletion.marked_for_delete_at);
  }
  for (const RangeTombstone& range : update.range_tombstones) note(range.deletion.marked_for_delete_at);
  return latest;
}

}  // namespace cassandra_like
