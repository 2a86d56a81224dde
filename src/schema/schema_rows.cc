#include "schema/schema_rows.h"

#include <algorithm>

#include "model/values.h"
#include "schema/schema_diff.h"

namespace cassandra_like {
namespace {

ColumnKind kind_of(std::string_view name) {
  if (name == "partition_key") return ColumnKind::kPartitionKey;
  if (name == "clustering") return ColumnKind::kClustering;
  return name == "static" ? ColumnKind::kStatic : ColumnKind::kRegular;
}

IndexKind index_kind_of(std::string_view name) {
  return name == "KEYS" ? IndexKind::kKeys : name == "CUSTOM" ? IndexKind::kCustom : IndexKind::kComposites;
}

Error broken(const std::string& what, const Error& cause) {
  return Error(ErrorCode::kCorruption, "system_schema: " + what + ": " + cause.message());
}

void read_params(const InternalRow& row, TableParams& p) {
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

TableFlags read_flags(const InternalRow& row) {
  auto flags = row.text_list("flags");
  auto has = [&](const char* flag) { return std::find(flags.begin(), flags.end(), flag) != flags.end(); };
  return {.compound = has("compound"), .counter = has("counter"), .dense = has("dense"), .super = has("super")};
}

class KeyspaceReader {
 public:
  KeyspaceReader(const std::string& keyspace, const SchemaRows& rows) : keyspace_(keyspace), rows_(rows) {}

  Result<KeyspacePtr> read(const SchemaScope& scope, const KeyspacePtr& before) {
    const auto& head = rows_of("keyspaces", "");
    if (head.empty()) return KeyspacePtr();
    auto result =
        before != nullptr ? std::make_shared<KeyspaceMetadata>(*before) : std::make_shared<KeyspaceMetadata>();
    result->name = keyspace_;
    result->replication.options = head[0].text_map("replication");
    result->replication.durable_writes = head[0].boolean("durable_writes");
    if (scope.whole) {
      result->types.clear();
      result->tables.clear();
      result->views.clear();
    }
    types_ = &result->types;
    for (const std::string& name : names(scope.whole, scope.types, "types")) {
      if (rows_of("types", name).empty()) result->types.erase(name);
      TRY(read_type(name, {}));
    }
    for (const std::string& name : names(scope.whole, scope.tables, "tables")) {
      const TablePtr old = before == nullptr ? nullptr : before->table(name);
      ASSIGN_OR_RETURN(TablePtr table, read_table("tables", name, old));
      if (table == nullptr) {
        result->tables.erase(name);
      } else if (scope.whole || table != old) {
        result->tables.set(name, std::move(table));
      }
    }
    for (const std::string& name : names(scope.whole, scope.tables, "views")) {
      TRY(read_view(name, before == nullptr ? nullptr : before->view(name), result->views));
    }
    const bool same = before != nullptr && before->replication == result->replication &&
                      before->tables == result->tables && before->views == result->views &&
                      is_same_types(*before, *result);
    return same ? before : KeyspacePtr(std::move(result));
  }

 private:
  const std::vector<InternalRow>& rows_of(std::string_view table, const std::string& name) const {
    static const std::vector<InternalRow> kNone;
    auto rows = rows_.find(table);
    if (rows == rows_.end()) return kNone;
    auto named = rows->second.find(name);
    return named == rows->second.end() ? kNone : named->second;
  }

  std::vector<std::string> names(bool whole, const std::set<std::string>& given, std::string_view table) const {
    if (!whole) return {given.begin(), given.end()};
    std::vector<std::string> all;
    if (auto rows = rows_.find(table); rows != rows_.end()) {
      for (const auto& [name, unused] : rows->second) all.push_back(name);
    }
    return all;
  }

  static bool is_same_types(const KeyspaceMetadata& a, const KeyspaceMetadata& b) {
    return std::equal(a.types.begin(), a.types.end(), b.types.begin(), b.types.end(),
                      [](const auto& x, const auto& y) { return x.first == y.first && x.second->equals(*y.second); });
  }

  UserTypePtr find_type(std::string_view name) const {
    auto it = types_->find(std::string(name));
    return it == types_->end() ? nullptr : it->second;
  }
  types::UdtLookup lookup() const {
    return [this](std::string_view, std::string_view name) { return find_type(name); };
  }

  // A type's fields may be of types that come later by name: those are read first. `open` guards against a cycle.
  Status read_type(const std::string& name, std::set<std::string> open) {
    const auto& rows = rows_of("types", name);
    if (rows.empty() || done_.contains(name) || !open.insert(name).second) return {};
    std::vector<TypePtr> fields;
    for (const std::string& text : rows[0].text_list("field_types")) {
      auto find = [&](std::string_view, std::string_view used) -> UserTypePtr {
        if (!read_type(std::string(used), open).ok()) return nullptr;
        return find_type(used);
      };
      auto type = types::parse_cql(text, keyspace_, find);
      if (!type.ok()) return broken("type " + keyspace_ + "." + name, type.error());
      fields.push_back(*type);
    }
    (*types_)[name] = types::udt(keyspace_, name, rows[0].text_list("field_names"), std::move(fields), true);
    done_.insert(name);
    return {};
  }

  // `old`: a column of the same table before; it is taken when nothing changed.
  Result<ColumnPtr> read_column(const InternalRow& row, const std::vector<ColumnPtr>& old) {
    auto column = std::make_shared<Column>();
    column->name = row.text("column_name");
    auto type = types::parse_cql(row.text("type"), keyspace_, lookup());
    if (!type.ok()) {
      return broken("column " + keyspace_ + "." + row.text("table_name") + "." + column->name, type.error());
    }
    column->type = row.text("clustering_order") == "desc" ? types::reversed(*type) : *type;
    column->kind = kind_of(row.text("kind"));
    column->position = column->is_primary_key() ? row.integer("position") : -1;
    for (const ColumnPtr& candidate : old) {
      if (*candidate == *column && candidate->mask == column->mask) return candidate;
    }
    return ColumnPtr(std::move(column));
  }

  Status read_columns(const std::string& name, const TablePtr& old, std::vector<ColumnPtr>* key,
                      std::vector<ColumnPtr>* clustering, std::vector<ColumnPtr>* others) {
    std::vector<ColumnPtr> before;
    if (old != nullptr) {
      for (const auto* list : {&old->partition_key, &old->clustering, &old->static_columns, &old->regular_columns}) {
        before.insert(before.end(), list->begin(), list->end());
      }
    }
    for (const InternalRow& row : rows_of("columns", name)) {
      ASSIGN_OR_RETURN(ColumnPtr column, read_column(row, before));
      auto& list = column->kind == ColumnKind::kPartitionKey ? key
                   : column->kind == ColumnKind::kClustering ? clustering
                                                             : others;
      list->push_back(std::move(column));
    }
    auto by_position = [](const ColumnPtr& a, const ColumnPtr& b) { return a->position < b->position; };
    std::sort(key->begin(), key->end(), by_position);
    std::sort(clustering->begin(), clustering->end(), by_position);
    return {};
  }

  // From the rows of `tables` or `views`. nullptr: it is not there. An ALTER that comes before the CREATE leaves a table without
  // its id or its key, and so does one that another node made while the table was dropped. With the rest of the rows it is
  // there, on all nodes alike.
  Result<TablePtr> read_table(std::string_view table_of_rows, const std::string& name, const TablePtr& old) {
    const auto& rows = rows_of(table_of_rows, name);
    if (rows.empty()) return TablePtr();
    const InternalRow& row = rows[0];
    std::vector<ColumnPtr> key, clustering, others;
    TRY(read_columns(name, old, &key, &clustering, &others));
    auto id = row.uuid("id");
    if (!id || key.empty()) return TablePtr();
    auto table =
        std::make_shared<TableMetadata>(keyspace_, name, *id, std::move(key), std::move(clustering), std::move(others));
    if (table_of_rows == "tables") table->flags = read_flags(row);
    read_params(row, table->params);
    for (const InternalRow& dropped : rows_of("dropped_columns", name)) {
      ASSIGN_OR_RETURN(ColumnPtr column, read_column(dropped, {}));
      const Bytes& time = dropped.get("dropped_time");
      table->dropped_columns[column->name] = {column, (time.size() == 8 ? decode_bigint(time) : 0) * 1000};
    }
    for (const InternalRow& index_row : rows_of("indexes", name)) {
      IndexMetadata index;
      index.name = index_row.text("index_name");
      index.kind = index_kind_of(index_row.text("kind"));
      index.options = index_row.text_map("options");
      index.id = Uuid::name_based(index.name);
      table->indexes.emplace(index.name, index);
    }
    table->local_only = is_local_system_keyspace(keyspace_);
    return old != nullptr && is_same_table(*old, *table) ? old : TablePtr(std::move(table));
  }

  // Removes it when it is not there; leaves the object that is there when nothing changed.
  Status read_view(const std::string& name, const ViewPtr& old, std::map<std::string, ViewPtr>& views) {
    ASSIGN_OR_RETURN(TablePtr table, read_table("views", name, old == nullptr ? nullptr : old->table));
    if (table == nullptr) {
      views.erase(name);
      return {};
    }
    const InternalRow& row = rows_of("views", name)[0];
    auto view = std::make_shared<ViewMetadata>();
    view->table = std::move(table);
    view->base_table_id = row.uuid("base_table_id").value_or(Uuid());
    view->includes_all_columns = row.has("include_all_columns") && row.boolean("include_all_columns");
    const bool same = old != nullptr && old->table == view->table && old->base_table_id == view->base_table_id &&
                      old->includes_all_columns == view->includes_all_columns;
    views[name] = same ? old : ViewPtr(std::move(view));
    return {};
  }

  const std::string& keyspace_;
  const SchemaRows& rows_;
  std::map<std::string, UserTypePtr>* types_ = nullptr;
  std::set<std::string> done_;
};

}  // namespace

void SchemaScope::add(const SchemaScope& other) {
  whole = whole || other.whole;
  tables.insert(other.tables.begin(), other.tables.end());
  types.insert(other.types.begin(), other.types.end());
  others.insert(other.others.begin(), other.others.end());
}

Result<KeyspacePtr> keyspace_from_rows(const std::string& keyspace, const SchemaRows& rows, const SchemaScope& scope,
                                       const KeyspacePtr& before) {
  return KeyspaceReader(keyspace, rows).read(scope, before);
}

}  // namespace cassandra_like
