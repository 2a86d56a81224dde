#include "schema/schema_tables.h"

#include <algorithm>
#include <set>

#include "model/values.h"

namespace cassandra_like {
namespace {

const char* kind_name(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kPartitionKey:
      return "partition_key";
    case ColumnKind::kClustering:
      return "clustering";
    case ColumnKind::kStatic:
      return "static";
    case ColumnKind::kRegular:
      return "regular";
  }
  return "";
}

ColumnKind kind_of(std::string_view name) {
  if (name == "partition_key") return ColumnKind::kPartitionKey;
  if (name == "clustering") return ColumnKind::kClustering;
  return name == "static" ? ColumnKind::kStatic : ColumnKind::kRegular;
}

const char* index_kind_name(IndexKind kind) {
  return kind == IndexKind::kKeys ? "KEYS" : kind == IndexKind::kCustom ? "CUSTOM" : "COMPOSITES";
}

IndexKind index_kind_of(std::string_view name) {
  return name == "KEYS" ? IndexKind::kKeys : name == "CUSTOM" ? IndexKind::kCustom : IndexKind::kComposites;
}

std::vector<std::string> flag_names(const TableFlags& flags) {
  std::vector<std::string> names;
  if (flags.compound) names.push_back("compound");
  if (flags.counter) names.push_back("counter");
  if (flags.dense) names.push_back("dense");
  if (flags.super) names.push_back("super");
  return names;
}

Bytes encode_extensions(const std::map<std::string, Bytes>& extensions) { return encode_text_map(extensions); }

// One builder a table of system_schema, made when first needed.
class Writer {
 public:
  Writer(const Schema& schema, const std::string& keyspace, int64_t timestamp, Arena& arena)
      : schema_(schema), keyspace_(keyspace), timestamp_(timestamp), arena_(arena) {}

  UpdateBuilder& table(const std::string& name) {
    auto it = builders_.find(name);
    if (it == builders_.end()) {
      auto metadata = schema_.table("system_schema", name);
      it = builders_.emplace(name, UpdateBuilder(metadata, {keyspace_}, timestamp_, arena_)).first;
    }
    return it->second;
  }
  std::vector<PartitionUpdate> build() {
    std::vector<PartitionUpdate> updates;
    for (auto& [name, builder] : builders_) updates.push_back(builder.build());
    return updates;
  }

 private:
  const Schema& schema_;
  const std::string& keyspace_;
  int64_t timestamp_;
  Arena& arena_;
  std::map<std::string, UpdateBuilder> builders_;
};

void write_keyspace(Writer& out, const KeyspaceMetadata& keyspace) {
  out.table("keyspaces")
      .row()
      .set("durable_writes", encode_boolean(keyspace.replication.durable_writes))
      .set("replication", encode_text_map(keyspace.replication.options));
}

void write_params(UpdateBuilder& row, const TableParams& p, bool is_local) {
  row.set("additional_write_policy", p.additional_write_policy)
      .set("bloom_filter_fp_chance", encode_double(p.bloom_filter_fp_chance))
      .set("caching", encode_text_map(p.caching))
      .set("comment", p.comment)
      .set("compaction", encode_text_map(p.compaction))
      .set("compression", encode_text_map(p.compression))
      .set("crc_check_chance", encode_double(p.crc_check_chance))
      .set("dclocal_read_repair_chance", encode_double(0))
      .set("default_time_to_live", encode_int(p.default_time_to_live))
      .set("extensions", encode_extensions(p.extensions))
      .set("gc_grace_seconds", encode_int(p.gc_grace_seconds))
      .set("max_index_interval", encode_int(p.max_index_interval))
      .set("memtable_flush_period_in_ms", encode_int(p.memtable_flush_period_in_ms))
      .set("min_index_interval", encode_int(p.min_index_interval))
      .set("read_repair", p.read_repair)
      .set("read_repair_chance", encode_double(0))
      .set("speculative_retry", p.speculative_retry);
  // Cassandra leaves these out at their defaults, so that older nodes of a cluster understand the rows.
  if (p.cdc && !is_local) row.set("cdc", encode_boolean(true));
  if (!p.allow_auto_snapshot) row.set("allow_auto_snapshot", encode_boolean(false));
  if (!p.incremental_backups) row.set("incremental_backups", encode_boolean(false));
  if (p.memtable != "default") row.set("memtable", p.memtable);
}

void write_column(Writer& out, const TableMetadata& table, const Column& column) {
  const char* order = column.kind != ColumnKind::kClustering ? "none" : column.type->is_reversed() ? "desc" : "asc";
  out.table("columns")
      .row({table.name, column.name})
      .set("clustering_order", order)
      .set("column_name_bytes", column.name)
      .set("kind", kind_name(column.kind))
      .set("position", encode_int(column.position))
      .set("type", column.type->cql_name());
}

std::vector<const Column*> columns_of(const TableMetadata* table) {
  return table == nullptr ? std::vector<const Column*>{} : table->all_columns_in_select_order();
}

void write_table(Writer& out, const TableMetadata* before, const TableMetadata& after) {
  auto& row = out.table("tables").row({after.name});
  row.set("id", after.id.view()).set("flags", encode_text_list(flag_names(after.flags)));
  write_params(row, after.params, after.local_only);
  for (const Column* column : columns_of(&after)) write_column(out, after, *column);
  for (const Column* column : columns_of(before)) {
    if (after.column(column->name) == nullptr) out.table("columns").delete_prefix({after.name, column->name});
  }
  for (const auto& [name, dropped] : after.dropped_columns) {
    out.table("dropped_columns")
        .row({after.name, name})
        .set("dropped_time", encode_bigint(dropped.dropped_micros / 1000))
        .set("kind", kind_name(dropped.column->kind))
        .set("type", dropped.column->type->cql_name());
  }
  for (const auto& [name, index] : after.indexes) {
    out.table("indexes")
        .row({after.name, name})
        .set("kind", index_kind_name(index.kind))
        .set("options", encode_text_map(index.options));
  }
  if (before == nullptr) return;
  for (const auto& [name, dropped] : before->dropped_columns) {
    if (!after.dropped_columns.contains(name)) out.table("dropped_columns").delete_prefix({after.name, name});
  }
  for (const auto& [name, index] : before->indexes) {
    if (!after.indexes.contains(name)) out.table("indexes").delete_prefix({after.name, name});
  }
}

void write_type(Writer& out, const UserType& type) {
  std::vector<std::string> names = type.field_names(), types;
  for (const auto& field : type.elements()) types.push_back(field->cql_name());
  out.table("types")
      .row({type.name()})
      .set("field_names", encode_text_list(names))
      .set("field_types", encode_text_list(types));
}

Error broken(const std::string& what, const Error& cause) {
  return Error(ErrorCode::kCorruption, "system_schema: " + what + ": " + cause.message());
}

// --- Rows to keyspaces ---

class KeyspaceReader {
 public:
  KeyspaceReader(const SchemaRows& rows, std::string keyspace) : rows_(rows), keyspace_(std::move(keyspace)) {}

  Result<KeyspacePtr> read(const InternalRow& row) {
    auto result = std::make_shared<KeyspaceMetadata>();
    result->name = keyspace_;
    result->replication.options = row.text_map("replication");
    result->replication.durable_writes = row.boolean("durable_writes");
    for (const InternalRow* type : rows_of("types")) TRY(read_type(type->text("type_name"), {}));
    result->types = types_;
    for (const InternalRow* table : rows_of("tables")) {
      ASSIGN_OR_RETURN(TablePtr metadata, read_table(*table));
      result->tables.emplace(metadata->name, metadata);
    }
    return KeyspacePtr(std::move(result));
  }

 private:
  std::vector<const InternalRow*> rows_of(const std::string& table, const std::string& table_name = "") const {
    std::vector<const InternalRow*> found;
    auto it = rows_.find(table);
    if (it == rows_.end()) return found;
    for (const InternalRow& row : it->second) {
      if (row.text("keyspace_name") != keyspace_) continue;
      if (table_name.empty() || row.text("table_name") == table_name) found.push_back(&row);
    }
    return found;
  }

  types::UdtLookup lookup() {
    return [this](std::string_view, std::string_view name) -> UserTypePtr {
      auto it = types_.find(std::string(name));
      return it == types_.end() ? nullptr : it->second;
    };
  }

  // A type's fields may be of types that come later by name: those are read first. `open` guards against a cycle.
  Status read_type(const std::string& name, std::set<std::string> open) {
    if (types_.contains(name) || !open.insert(name).second) return {};
    for (const InternalRow* row : rows_of("types")) {
      if (row->text("type_name") != name) continue;
      std::vector<TypePtr> fields;
      for (const std::string& text : row->text_list("field_types")) {
        auto find = [&](std::string_view, std::string_view used) -> UserTypePtr {
          if (!read_type(std::string(used), open).ok()) return nullptr;
          auto it = types_.find(std::string(used));
          return it == types_.end() ? nullptr : it->second;
        };
        auto type = types::parse_cql(text, keyspace_, find);
        if (!type.ok()) return broken("type " + keyspace_ + "." + name, type.error());
        fields.push_back(*type);
      }
      types_[name] = types::udt(keyspace_, name, row->text_list("field_names"), std::move(fields), true);
    }
    return {};
  }

  Result<ColumnPtr> read_column(const InternalRow& row) {
    auto column = std::make_shared<Column>();
    column->name = row.text("column_name");
    auto type = types::parse_cql(row.text("type"), keyspace_, lookup());
    if (!type.ok()) {
      return broken("column " + keyspace_ + "." + row.text("table_name") + "." + column->name, type.error());
    }
    column->type = row.text("clustering_order") == "desc" ? types::reversed(*type) : *type;
    column->kind = kind_of(row.text("kind"));
    column->position = column->is_primary_key() ? row.integer("position") : -1;
    return ColumnPtr(std::move(column));
  }

  static void read_params(const InternalRow& row, TableParams& p) {
    auto text = [&](const char* name, std::string& into) {
      if (row.has(name)) into = row.text(name);
    };
    auto integer = [&](const char* name, int& into) {
      if (row.has(name)) into = row.integer(name);
    };
    auto real = [&](const char* name, double& into) {
      if (row.has(name)) into = row.real(name);
    };
    text("additional_write_policy", p.additional_write_policy);
    text("comment", p.comment);
    text("memtable", p.memtable);
    text("read_repair", p.read_repair);
    text("speculative_retry", p.speculative_retry);
    real("bloom_filter_fp_chance", p.bloom_filter_fp_chance);
    real("crc_check_chance", p.crc_check_chance);
    integer("default_time_to_live", p.default_time_to_live);
    integer("gc_grace_seconds", p.gc_grace_seconds);
    integer("max_index_interval", p.max_index_interval);
    integer("memtable_flush_period_in_ms", p.memtable_flush_period_in_ms);
    integer("min_index_interval", p.min_index_interval);
    if (row.has("caching")) p.caching = row.text_map("caching");
    if (row.has("compaction")) p.compaction = row.text_map("compaction");
    if (row.has("compression")) p.compression = row.text_map("compression");
    if (row.has("extensions")) p.extensions = row.text_map("extensions");
    if (row.has("cdc")) p.cdc = row.boolean("cdc");
    if (row.has("allow_auto_snapshot")) p.allow_auto_snapshot = row.boolean("allow_auto_snapshot");
    if (row.has("incremental_backups")) p.incremental_backups = row.boolean("incremental_backups");
  }

  Result<TablePtr> read_table(const InternalRow& row) {
    std::string name = row.text("table_name");
    std::vector<ColumnPtr> key, clustering, others;
    for (const InternalRow* column_row : rows_of("columns", name)) {
      ASSIGN_OR_RETURN(ColumnPtr column, read_column(*column_row));
      auto& list = column->kind == ColumnKind::kPartitionKey ? key
                   : column->kind == ColumnKind::kClustering ? clustering
                                                             : others;
      list.push_back(std::move(column));
    }
    auto by_position = [](const ColumnPtr& a, const ColumnPtr& b) { return a->position < b->position; };
    std::sort(key.begin(), key.end(), by_position);
    std::sort(clustering.begin(), clustering.end(), by_position);
    auto id = row.uuid("id");
    if (!id || key.empty()) {
      return Error(ErrorCode::kCorruption,
                   "system_schema: table " + keyspace_ + "." + name + " has no id or no partition key column");
    }
    auto table =
        std::make_shared<TableMetadata>(keyspace_, name, *id, std::move(key), std::move(clustering), std::move(others));
    auto flags = row.text_list("flags");
    auto has = [&](const char* flag) { return std::find(flags.begin(), flags.end(), flag) != flags.end(); };
    table->flags = {
        .compound = has("compound"), .counter = has("counter"), .dense = has("dense"), .super = has("super")};
    read_params(row, table->params);
    for (const InternalRow* dropped : rows_of("dropped_columns", name)) {
      ASSIGN_OR_RETURN(ColumnPtr column, read_column(*dropped));
      int64_t millis = dropped->get("dropped_time").size() == 8 ? decode_bigint(dropped->get("dropped_time")) : 0;
      table->dropped_columns[column->name] = {column, millis * 1000};
    }
    for (const InternalRow* index_row : rows_of("indexes", name)) {
      IndexMetadata index;
      index.name = index_row->text("index_name");
      index.kind = index_kind_of(index_row->text("kind"));
      index.options = index_row->text_map("options");
      index.id = Uuid::name_based(index.name);
      table->indexes.emplace(index.name, index);
    }
    table->local_only = is_local_system_keyspace(keyspace_);
    return TablePtr(std::move(table));
  }

  const SchemaRows& rows_;
  std::string keyspace_;
  std::map<std::string, UserTypePtr> types_;
};

bool same_table(const TableMetadata& a, const TableMetadata& b) { return &a == &b; }

}  // namespace

std::vector<std::string> schema_table_names() {
  return {"keyspaces", "tables", "columns", "dropped_columns", "types", "indexes"};
}

std::vector<PartitionUpdate> schema_updates(const Schema& schema, const KeyspaceMetadata* before,
                                            const KeyspaceMetadata* after, int64_t timestamp_micros, Arena& arena) {
  Writer out(schema, (after != nullptr ? after : before)->name, timestamp_micros, arena);
  if (after == nullptr) {
    for (const std::string& name : schema_table_names()) {
      out.table(name).delete_partition();
    }
    return out.build();
  }
  if (before == nullptr || !(before->replication == after->replication)) write_keyspace(out, *after);
  for (const auto& [name, table] : after->tables) {
    TablePtr old = before == nullptr ? nullptr : before->table(name);
    if (old == nullptr || !same_table(*old, *table)) write_table(out, old.get(), *table);
  }
  for (const auto& [name, type] : after->types) {
    UserTypePtr old = before == nullptr ? nullptr : before->type(name);
    if (old != type) write_type(out, *type);
  }
  if (before == nullptr) return out.build();
  for (const auto& [name, table] : before->tables) {
    if (after->tables.contains(name)) continue;
    for (const char* per_table : {"tables", "columns", "dropped_columns", "indexes"}) {
      out.table(per_table).delete_prefix({name});
    }
  }
  for (const auto& [name, type] : before->types) {
    if (!after->types.contains(name)) out.table("types").delete_prefix({name});
  }
  return out.build();
}

Result<std::map<std::string, KeyspacePtr>> keyspaces_from_rows(const SchemaRows& rows) {
  std::map<std::string, KeyspacePtr> keyspaces;
  auto it = rows.find("keyspaces");
  if (it == rows.end()) return keyspaces;
  for (const InternalRow& row : it->second) {
    std::string name = row.text("keyspace_name");
    ASSIGN_OR_RETURN(KeyspacePtr keyspace, KeyspaceReader(rows, name).read(row));
    keyspaces.emplace(name, std::move(keyspace));
  }
  return keyspaces;
}

Uuid schema_version(const Schema& schema) {
  Bytes text;
  auto add = [&text](std::string_view part) { text.append(part).push_back('\n'); };
  auto add_map = [&add](const StringPairs& map) {
    for (const auto& [key, value] : map) add(key + "=" + value);
  };
  for (const auto& [name, keyspace] : schema.keyspaces()) {
    if (keyspace->is_virtual || is_local_system_keyspace(name)) continue;
    add(name);
    add_map(keyspace->replication.options);
    add(keyspace->replication.durable_writes ? "durable" : "volatile");
    for (const auto& [type_name, type] : keyspace->types) {
      add(type_name);
      add(type->class_name());
    }
    for (const auto& [table_name, table] : keyspace->tables) {
      Arena arena;
      // The rows of system_schema, at a fixed time, identify a table.
      KeyspaceMetadata only;
      only.name = name;
      only.tables.emplace(table_name, table);
      for (const auto& update : schema_updates(schema, nullptr, &only, 0, arena)) serialize_update(update, text);
    }
  }
  return Uuid::name_based(text);
}

}  // namespace cassandra_like
