// CREATE and DROP TABLE, and what a table must be in any case.
#include <algorithm>

#include "cql/schema/schema_statement.h"
#include "cql/schema/table_options.h"
#include "model/schema_names.h"
#include "model/schema_text.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

struct NewColumn {
  TypePtr type;
  bool is_static = false;
  bool is_counter = false;  // written as `counter`; a column with the class name makes no counter table
};
using NewColumns = std::map<std::string, NewColumn>;

Status check_masks(const ast::CreateTable& change) {
  bool masked = std::any_of(change.columns.begin(), change.columns.end(),
                            [](const ast::ColumnDefinition& column) { return column.mask.has_value(); });
  return masked ? Status(masking_disabled()) : Status();
}

Result<NewColumns> resolve_columns(const SchemaChange<ast::CreateTable>& c) {
  NewColumns columns;
  for (const ast::ColumnDefinition& column : c.change.columns) {
    ASSIGN_OR_RETURN(TypePtr type, resolve_column_type(column.type, c.keyspace, c.schema, c.input));
    const bool is_counter = column.type.kind == ast::TypeName::Kind::kNative && type->is_counter();
    columns[column.name] = {std::move(type), column.is_static, is_counter};
  }
  for (const auto& [name, column] : columns) {
    if (has_nested_multi_cell(*column.type)) {
      return invalid("Non-frozen UDTs with nested non-frozen collections are not supported");
    }
  }
  return columns;
}

Status check_key_column(const std::string& name, const NewColumn& column) {
  const Type& type = *column.type;
  std::string of_column = " for PRIMARY KEY column '" + name + "'";
  if (type.is_multi_cell()) {
    if (type.is_collection()) return invalid("Invalid non-frozen collection type " + type.cql_name() + of_column);
    const auto& udt = static_cast<const UserType&>(type);
    return invalid("Invalid non-frozen user-defined type " + quote_identifier(udt.keyspace() + "." + udt.name()) +
                   of_column);
  }
  if (type.is_counter()) return invalid("counter type is not supported" + of_column);
  if (contains_duration(type)) return invalid("duration type is not supported" + of_column);
  if (column.is_static) return invalid("Static column '" + name + "' cannot be part of the PRIMARY KEY");
  return {};
}

Status check_key(const ast::CreateTable& change, const NewColumns& columns) {
  std::vector<std::string> key = change.partition_key;
  key.insert(key.end(), change.clustering.begin(), change.clustering.end());
  for (size_t i = 0; i < key.size(); ++i) {
    auto column = columns.find(key[i]);
    if (column == columns.end()) {
      return invalid("Unknown column '" + key[i] + "' referenced in PRIMARY KEY for table '" + change.table.name + "'");
    }
    if (std::find(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(i), key[i]) !=
        key.begin() + static_cast<std::ptrdiff_t>(i)) {
      return invalid("Duplicate column '" + key[i] + "' in PRIMARY KEY clause for table '" + change.table.name + "'");
    }
    TRY(check_key_column(key[i], column->second));
  }
  return {};
}

// CLUSTERING ORDER BY names the first clustering columns, in their order.
Status check_clustering_order(const ast::CreateTable& change) {
  const auto& clustering = change.clustering;
  const auto& order = change.clustering_order;
  std::string others;
  for (const auto& [column, descending] : order) {
    if (std::find(clustering.begin(), clustering.end(), column) != clustering.end()) continue;
    others += (others.empty() ? "" : ", ") + column;
  }
  if (!others.empty()) {
    return invalid("Only clustering key columns can be defined in CLUSTERING ORDER directive: [" + others +
                   "] are not clustering columns");
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string& expected = clustering[i];
    if (order[i].column == expected) continue;
    bool later = std::any_of(order.begin(), order.end(), [&](const auto& o) { return o.column == expected; });
    if (!later) return invalid("Missing CLUSTERING ORDER for column " + expected);
    return invalid(
        "The order of columns in the CLUSTERING ORDER directive must match that of the clustering columns (" +
        expected + " must appear before " + order[i].column + ")");
  }
  return {};
}

bool is_in_key(const ast::CreateTable& change, const std::string& column) {
  const auto has = [&column](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), column) != names.end();
  };
  return has(change.partition_key) || has(change.clustering);
}

// The tables that the engine of Cassandra 2 could keep without its markers.
Status check_compact_storage(const ast::CreateTable& change, const NewColumns& columns) {
  std::string names;
  size_t count = 0;
  bool any_static = false;
  for (const auto& [name, column] : columns) {
    any_static |= column.is_static;
    if (is_in_key(change, name)) continue;
    if (column.type->is_multi_cell()) {
      return invalid("Non-frozen collections and UDTs are not supported with COMPACT STORAGE");
    }
    names += (count++ == 0 ? "" : ", ") + name;
  }
  if (any_static) return invalid("Static columns are not supported in COMPACT STORAGE tables");
  if (count == 0 && change.clustering.empty()) {
    return invalid("No definition found that is not part of the PRIMARY KEY");
  }
  if (count > 1 && !change.clustering.empty()) {
    return invalid(
        "COMPACT STORAGE with composite PRIMARY KEY allows no more than one column not part of the PRIMARY KEY (got: " +
        names + ")");
  }
  return {};
}

bool is_descending(const ast::CreateTable& change, const std::string& column) {
  return std::any_of(change.clustering_order.begin(), change.clustering_order.end(),
                     [&](const auto& order) { return order.column == column && order.descending; });
}

// The rules that the columns outside of the primary key share.
Status check_other_columns(const ast::CreateTable& change, const TableBuilder& table) {
  bool any_static = std::any_of(table.others.begin(), table.others.end(),
                                [](const ColumnPtr& column) { return column->kind == ColumnKind::kStatic; });
  if (any_static && change.clustering.empty() && !change.compact_storage) {
    return invalid("Static columns are only useful (and thus allowed) if the table has at least one clustering column");
  }
  if (!table.flags.counter) return {};
  bool all_counters =
      std::all_of(table.others.begin(), table.others.end(), [](const auto& c) { return c->type->is_counter(); });
  if (!all_counters) return invalid("Cannot mix counter and non counter columns in the same table");
  if (table.params.default_time_to_live > 0) return invalid("Cannot set default_time_to_live on a table with counters");
  return {};
}

// Without clustering columns, the others are static.
void add_columns(const ast::CreateTable& change, NewColumns columns, TableBuilder& table) {
  const bool all_static = change.compact_storage && change.clustering.empty();
  auto take = [&columns](const std::string& name) {
    auto node = columns.extract(name);
    return std::move(node.mapped().type);
  };
  for (const std::string& name : change.partition_key) table.add(name, take(name), ColumnKind::kPartitionKey);
  for (const std::string& name : change.clustering) {
    TypePtr type = take(name);
    table.add(name, is_descending(change, name) ? types::reversed(type) : type, ColumnKind::kClustering);
  }
  for (auto& [name, column] : columns) {
    if (column.is_counter) table.flags.counter = true;
    table.add(name, column.type, column.is_static || all_static ? ColumnKind::kStatic : ColumnKind::kRegular);
  }
}

// Each table with COMPACT STORAGE has a clustering and one value. Nobody sees those that its statement does not name.
void add_hidden_columns(TableBuilder& table) {
  const auto unused = [&table](const std::string& name, size_t first) {
    for (size_t i = first;; ++i) {
      std::string candidate = i == 0 ? name : name + std::to_string(i);
      if (table.column(candidate) == nullptr) return candidate;
    }
  };
  const bool is_dense = !table.clustering.empty();
  table.flags.dense = is_dense;
  table.flags.compound = table.clustering.size() > 1;
  if (!is_dense) {
    table.add(unused("column", 1), types::text(), ColumnKind::kClustering);
    table.add(unused("value", 0), table.flags.counter ? types::counter() : types::blob(), ColumnKind::kRegular);
  } else if (table.others.empty()) {
    table.add(unused("value", 0), types::by_cql_name("empty"), ColumnKind::kRegular);
  }
}

Error already_exists(const std::string& keyspace, const std::string& table) {
  ErrorInfo info;
  info.code = ErrorCode::kAlreadyExists;
  info.message = "Cannot add already existing table \"" + table + "\" to keyspace \"" + keyspace + "\"";
  info.keyspace = keyspace;
  info.table = table;
  return Error(std::move(info));
}

Status check_counters(const TableMetadata& table) {
  for (const auto* columns : {&table.static_columns, &table.regular_columns}) {
    for (const ColumnPtr& column : *columns) {
      if (column->type->is_counter() == table.is_counter()) continue;
      return config_error(table.qualified_name() + ": Cannot have a " +
                          (table.is_counter() ? "non counter" : "counter") + " column (\"" + column->name +
                          "\") in a " + (table.is_counter() ? "counter table" : "non counter table"));
    }
  }
  return {};
}

}  // namespace

SchemaResult apply_change(SchemaChange<ast::CreateTable> c) {
  TRY(check_masks(c.change));
  const ast::Properties properties = without(c.change.properties, c.input.ignored_properties);
  TableBuilder table;
  ASSIGN_OR_RETURN(table.params, new_table_params(properties, *c.input.options));
  KeyspacePtr keyspace = c.schema->keyspace(c.keyspace);
  if (keyspace == nullptr) return keyspace_does_not_exist(c.keyspace);
  if (keyspace->table(c.change.table.name) != nullptr || keyspace->view(c.change.table.name) != nullptr) {
    if (c.change.if_not_exists) return c.schema;
    return already_exists(c.keyspace, c.change.table.name);
  }
  TRY(check_table_options(properties, *c.input.options));
  ASSIGN_OR_RETURN(NewColumns columns, resolve_columns(c));
  TRY(check_key(c.change, columns));
  TRY(check_clustering_order(c.change));
  if (c.change.compact_storage) TRY(check_compact_storage(c.change, columns));
  table.keyspace = c.keyspace;
  table.name = c.change.table.name;
  add_columns(c.change, std::move(columns), table);
  TRY(check_other_columns(c.change, table));
  if (c.change.compact_storage) add_hidden_columns(table);
  ASSIGN_OR_RETURN(auto id, table_id_option(properties));
  table.id = id.value_or(c.input.table_id);
  TablePtr built = table.build();
  TRY(validate_table(*built));
  return SchemaPtr(c.schema->with_keyspace(with_table(*keyspace, std::move(built))));
}

SchemaResult apply_change(SchemaChange<ast::DropTable> c) {
  KeyspacePtr keyspace = c.schema->keyspace(c.keyspace);
  const std::string& name = c.change.table.name;
  if (keyspace != nullptr && keyspace->view(name) != nullptr) {
    return invalid("Cannot use DROP TABLE on a materialized view. Please use DROP MATERIALIZED VIEW instead.");
  }
  TablePtr table = keyspace == nullptr ? nullptr : keyspace->table(name);
  if (table == nullptr) {
    if (c.change.if_exists) return c.schema;
    return table_does_not_exist(c.keyspace, name);
  }
  if (!keyspace->views_of(*table).empty()) {
    // Cassandra means to name the views here, and names the keyspace.
    return invalid("Cannot drop a table when materialized views still depend on it (" + c.keyspace + ")");
  }
  return SchemaPtr(c.schema->with_keyspace(without_table(*keyspace, name)));
}

Error table_does_not_exist(const std::string& keyspace, const std::string& table) {
  return invalid("Table '" + keyspace + "." + table + "' doesn't exist");
}

Error masking_disabled() {
  return invalid(
      "Cannot mask columns because dynamic data masking is not enabled. You can enable it with the "
      "dynamic_data_masking_enabled property on cassandra.yaml");
}

bool has_nested_multi_cell(const Type& type) {
  if (!type.is_udt() || !type.is_multi_cell()) return false;
  return std::any_of(type.elements().begin(), type.elements().end(),
                     [](const TypePtr& field) { return field->is_multi_cell(); });
}

TableBuilder::TableBuilder(const TableMetadata& table)
    : keyspace(table.keyspace),
      name(table.name),
      id(table.id),
      flags(table.flags),
      params(table.params),
      partition_key(table.partition_key),
      clustering(table.clustering),
      others(table.static_columns),
      dropped_columns(table.dropped_columns),
      indexes(table.indexes) {
  others.insert(others.end(), table.regular_columns.begin(), table.regular_columns.end());
}

const Column* TableBuilder::column(std::string_view wanted) const {
  for (const auto* columns : {&partition_key, &clustering, &others}) {
    for (const ColumnPtr& column : *columns) {
      if (column->name == wanted) return column.get();
    }
  }
  return nullptr;
}

void TableBuilder::add(std::string column_name, TypePtr type, ColumnKind kind) {
  auto& columns = kind == ColumnKind::kPartitionKey ? partition_key
                  : kind == ColumnKind::kClustering ? clustering
                                                    : others;
  auto column = std::make_shared<Column>();
  column->name = std::move(column_name);
  column->type = std::move(type);
  column->kind = kind;
  column->position = column->is_primary_key() ? static_cast<int>(columns.size()) : -1;
  columns.push_back(std::move(column));
}

TablePtr TableBuilder::build() const {
  auto table = std::make_shared<TableMetadata>(keyspace, name, id, partition_key, clustering, others);
  table->flags = flags;
  table->params = params;
  table->dropped_columns = dropped_columns;
  table->indexes = indexes;
  return table;
}

Status validate_table(const TableMetadata& table) {
  TRY(check_table_names(table));
  TRY(validate_table_params(table.params));
  return check_counters(table);
}

}  // namespace cassandra_like
