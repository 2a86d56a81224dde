// ALTER TABLE: columns added, dropped and renamed, and options.
#include <algorithm>

#include "cql/schema/schema_statement.h"
#include "cql/schema/table_options.h"
#include "model/schema_text.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using Change = SchemaChange<ast::AlterTable>;
// The altered table; nullptr: nothing to do.
using Altered = Result<TablePtr>;

std::vector<ViewPtr> views_of(const Change& c, const TableMetadata& table) {
  return c.schema->keyspace(c.keyspace)->views_of(table);
}

// Names of the table's indexes on the column, as a list; empty: there are none.
std::string dependent_indexes(const TableMetadata& table, const std::string& column) {
  std::string names;
  for (const auto& [name, index] : table.indexes) {
    auto target = index.options.find("target");
    if (target == index.options.end() || parse_index_target(target->second).column != column) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

// The type with user types replaced by tuples, as dropped columns keep it: the user type may be dropped too.
TypePtr expand_user_types(const TypePtr& type) {
  std::vector<TypePtr> elements;
  for (const TypePtr& element : type->elements()) elements.push_back(expand_user_types(element));
  switch (type->kind()) {
    case TypeKind::kList:
      return types::list(elements[0], type->is_multi_cell());
    case TypeKind::kSet:
      return types::set(elements[0], type->is_multi_cell());
    case TypeKind::kMap:
      return types::map(elements[0], elements[1], type->is_multi_cell());
    case TypeKind::kTuple:
    case TypeKind::kUdt:
      return types::tuple(std::move(elements));
    case TypeKind::kVector:
      return types::vector(elements[0], static_cast<const VectorType&>(*type).dimension());
    default:
      return type;
  }
}

// --- ADD ---

const char* kind_text(bool is_static) { return is_static ? "STATIC" : "REGULAR"; }

// Values that were written before the column was dropped may still be there.
Status check_dropped(const TableMetadata& table, const ast::ColumnDefinition& column, const Type& type) {
  auto dropped = table.dropped_columns.find(column.name);
  if (dropped == table.dropped_columns.end()) return {};
  const Column& before = *dropped->second.column;
  if (!type.is_serialization_compatible_with(*before.type)) {
    return invalid("Cannot add a column '" + column.name + "' of type " + type.cql_name() +
                   ", incompatible with previously dropped column '" + column.name + "' of type " +
                   before.type->cql_name());
  }
  bool was_static = before.kind == ColumnKind::kStatic;
  if (was_static != column.is_static) {
    return invalid("Cannot re-add previously dropped column '" + column.name + "' of kind " +
                   kind_text(column.is_static) + ", incompatible with previous kind " + kind_text(was_static));
  }
  if (table.is_counter()) return invalid("Cannot re-add previously dropped counter column " + column.name);
  return {};
}

Status add_column(const Change& c, const TableMetadata& table, const ast::AddColumns& change,
                  const ast::ColumnDefinition& column, TableBuilder& builder) {
  ASSIGN_OR_RETURN(TypePtr type, resolve_column_type(column.type, c.keyspace, c.schema, c.input));
  if (column.mask) return masking_disabled();
  if (builder.column(column.name) != nullptr) {
    if (change.if_not_exists) return {};
    return invalid("Column with name '" + column.name + "' already exists");
  }
  if (table.flags.is_compact_table()) return invalid("Cannot add new column to a COMPACT STORAGE table");
  if (column.is_static && table.clustering.empty()) {
    return invalid("Static columns are only useful (and thus allowed) if the table has at least one clustering column");
  }
  if (has_nested_multi_cell(*type)) {
    return invalid("Non-frozen UDTs with nested non-frozen collections are not supported for column " + column.name);
  }
  TRY(check_dropped(table, column, *type));
  builder.add(column.name, std::move(type), column.is_static ? ColumnKind::kStatic : ColumnKind::kRegular);
  return {};
}

// SELECT * of a view includes the columns that its base table gets.
Status check_views_of_added(const Change& c, const TableMetadata& table, const TableBuilder& builder) {
  const auto is_added = [&](const ColumnPtr& column) {
    return column->kind == ColumnKind::kRegular && table.column(column->name) == nullptr;
  };
  if (std::none_of(builder.others.begin(), builder.others.end(), is_added)) return {};
  for (const ViewPtr& view : views_of(c, table)) {
    if (view->includes_all_columns) return invalid("Adding columns to a materialized view is not supported yet");
  }
  return {};
}

Altered alter(const Change& c, const TableMetadata& table, const ast::AddColumns& change) {
  TableBuilder builder(table);
  for (const ast::ColumnDefinition& column : change.columns) TRY(add_column(c, table, change, column, builder));
  TablePtr built = builder.build();
  TRY(validate_table(*built));
  TRY(check_views_of_added(c, table, builder));
  return built;
}

// --- DROP ---

Altered alter(const Change& c, const TableMetadata& table, const ast::DropColumns& change) {
  TableBuilder builder(table);
  for (const std::string& name : change.columns) {
    const Column* column = table.column(name);
    if (column == nullptr) {
      if (change.if_exists) continue;
      return invalid("Column " + name + " was not found in table '" + qualified_table_text(table) + "'");
    }
    if (column->is_primary_key()) return invalid("Cannot drop PRIMARY KEY column " + name);
    if (column->type->is_udt() && column->type->is_multi_cell()) {
      return invalid("Cannot drop non-frozen column " + name + " of user type " + column->type->cql_name());
    }
    std::string indexes = dependent_indexes(table, name);
    if (!indexes.empty()) {
      return invalid("Cannot drop column " + name + " because it has dependent secondary indexes (" + indexes + ")");
    }
    if (!views_of(c, table).empty()) {
      return invalid("Cannot drop column " + name + " on base table " + table.name + " with materialized views");
    }
    // Cassandra fails in the middle of it, and so does each node that learns of such a table.
    if (table.flags.is_compact_table() && table.flags.dense) {
      return invalid("Cannot drop column " + name + ", the only value of a COMPACT STORAGE table");
    }
    auto dropped = std::make_shared<Column>(*column);
    dropped->type = expand_user_types(column->type);
    // The clock of data: that of the schema may be far ahead of it, after a clock that was wrong. system_schema keeps whole
    // milliseconds: rounded up, so that all that was written before stays dropped.
    const int64_t now = (c.input.write_micros + 999) / 1000 * 1000;
    c.input.dropped_until_micros = now;
    builder.dropped_columns[name] = {std::move(dropped), change.timestamp.value_or(now)};
    std::erase_if(builder.others, [&](const ColumnPtr& other) { return other->name == name; });
  }
  return builder.build();
}

// --- RENAME ---

void rename(std::vector<ColumnPtr>& columns, const std::string& from, const std::string& to) {
  for (ColumnPtr& column : columns) {
    if (column->name != from) continue;
    auto renamed = std::make_shared<Column>(*column);
    renamed->name = to;
    column = std::move(renamed);
  }
}

Altered alter(const Change& c, const TableMetadata& table, const ast::RenameColumns& change) {
  TableBuilder builder(table);
  for (const auto& [from, to] : change.renames) {
    const Column* column = table.column(from);
    if (column == nullptr) {
      return invalid("Undefined column name " + quote_identifier(from) + " in table " + qualified_table_text(table));
    }
    if (!column->is_primary_key()) return invalid("Cannot rename non PRIMARY KEY column " + from);
    if (table.column(to) != nullptr || builder.column(to) != nullptr) {
      return invalid("Cannot rename column " + from + " to " + to + " in table '" + qualified_table_text(table) +
                     "'; another column with that name already exists");
    }
    std::string indexes = dependent_indexes(table, from);
    if (!indexes.empty()) {
      return invalid("Can't rename column " + from + " because it has dependent secondary indexes (" + indexes + ")");
    }
    for (const ViewPtr& view : views_of(c, table)) {
      if (view->table->column(from) != nullptr) {
        return invalid("Renaming columns of a materialized view is not supported yet");
      }
    }
    rename(builder.partition_key, from, to);
    rename(builder.clustering, from, to);
  }
  return builder.build();
}

// --- WITH and the rest ---

Altered alter(const Change& c, const TableMetadata& table, const ast::Properties& given) {
  const ast::Properties properties = without(given, c.input.ignored_properties);
  TRY(check_table_options(properties, *c.input.options));
  ASSIGN_OR_RETURN(auto id, table_id_option(properties));
  if (id) return config_error("Cannot alter table id.");
  TableBuilder builder(table);
  ASSIGN_OR_RETURN(builder.params, apply_table_options(properties, table.params, *c.input.options));
  if (table.is_counter() && builder.params.default_time_to_live > 0) {
    return invalid("Cannot set default_time_to_live on a table with counters");
  }
  if (builder.params.gc_grace_seconds == 0 && !views_of(c, table).empty()) {
    return invalid(
        "Cannot alter gc_grace_seconds of the base table of a materialized view to 0, since this value is used to TTL "
        "undelivered updates. Setting gc_grace_seconds too low might cause undelivered updates to expire before being "
        "replayed.");
  }
  TRY(validate_table_params(builder.params));
  return builder.build();
}

Altered alter(const Change&, const TableMetadata&, const ast::AlterColumnType&) {
  return invalid("Altering column types is no longer supported");
}

Altered alter(const Change&, const TableMetadata& table, const ast::AlterColumnMask& change) {
  if (change.mask) return masking_disabled();
  if (table.column(change.column) != nullptr || change.if_exists) return TablePtr();
  return invalid("Column with name '" + change.column + "' doesn't exist on table '" + table.name + "'");
}

Altered alter(const Change&, const TableMetadata&, const ast::DropCompactStorage&) {
  return invalid("DROP COMPACT STORAGE is disabled. Enable in cassandra.yaml to use.");
}

}  // namespace

SchemaResult apply_change(SchemaChange<ast::AlterTable> c) {
  // Values that are malformed are told before anything else, also before a name that nobody knows.
  if (const auto* given = std::get_if<ast::Properties>(&c.change.change)) {
    TRY(new_table_params(without(*given, c.input.ignored_properties), *c.input.options));
  }
  KeyspacePtr keyspace = c.schema->keyspace(c.keyspace);
  TablePtr table = keyspace == nullptr ? nullptr : keyspace->table(c.change.table.name);
  if (keyspace != nullptr && keyspace->view(c.change.table.name) != nullptr) {
    return invalid("Cannot use ALTER TABLE on a materialized view; use ALTER MATERIALIZED VIEW instead");
  }
  if (table == nullptr) {
    if (c.change.if_exists) return c.schema;
    return table_does_not_exist(c.keyspace, c.change.table.name);
  }
  Altered altered = std::visit([&](const auto& change) { return alter(c, *table, change); }, c.change.change);
  TRY(altered);
  if (*altered == nullptr) return c.schema;
  return SchemaPtr(c.schema->with_keyspace(with_table(*keyspace, *altered)));
}

}  // namespace cassandra_like
