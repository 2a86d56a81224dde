// CREATE and DROP INDEX.
#include <algorithm>

#include "base/ascii.h"
#include "cql/context/named_column.h"
#include "cql/schema/schema_statement.h"
#include "cql/schema/table_options.h"
#include "model/schema_names.h"
#include "model/schema_text.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using TargetKind = ast::IndexTarget::Kind;

// The class of a CUSTOM index; empty for the one kind that there is.
std::string custom_class(const ast::CreateIndex& change, const CqlOptions& options) {
  const std::string& name = change.using_class ? *change.using_class : options.default_secondary_index;
  return !change.custom && equals_ignoring_case(name, "legacy_local_table") ? "" : name;
}

Error custom_index_error(const std::string& class_name) {
  std::string_view name = class_name;
  name.remove_prefix(name.rfind('.') + 1);
  if (equals_ignoring_case(name, "sai") || equals_ignoring_case(name, "StorageAttachedIndex")) {
    return invalid("Storage-attached indexes (SAI) are not supported yet");
  }
  if (equals_ignoring_case(name, "SASIIndex")) return invalid("SASI indexes are not supported yet");
  return config_error("Unable to find custom indexer class '" + class_name + "'");
}

Status check_attributes(const ast::Properties& properties, bool custom) {
  TRY(PropertyReader(properties).check_names({"options"}));
  if (custom || properties.empty()) return {};
  return invalid("Cannot specify options for a non-CUSTOM index");
}

const char* function_name(TargetKind kind) {
  static const char* const kNames[] = {"", "values", "keys", "entries", "full"};
  return kNames[static_cast<size_t>(kind)];
}

// An index on a collection is one on its values, unless it says otherwise.
Result<ast::IndexTarget> prepare_target(const TableMetadata& table, const ast::IndexTarget& target) {
  ASSIGN_OR_RETURN(const Column* column, named_column(table, target.column));
  bool values = target.kind == TargetKind::kSimple && column->type->is_collection();
  return ast::IndexTarget{values ? TargetKind::kValues : target.kind, target.column};
}

Status check_duration(const Type& type) {
  if (!contains_duration(type)) return {};
  std::string prefix = "Secondary indexes are not supported on ";
  if (type.is_collection()) return invalid(prefix + "collections containing durations");
  if (type.is_udt()) return invalid(prefix + "UDTs containing durations");
  if (type.is_tuple()) return invalid(prefix + "tuples containing durations");
  return invalid(prefix + "duration columns");
}

Status check_compact(const TableMetadata& table, const Column& column) {
  if (!table.flags.is_compact_table()) return {};
  if (column.is_primary_key()) {
    return invalid("Secondary indexes are not supported on PRIMARY KEY columns in COMPACT STORAGE tables");
  }
  if (column.kind != ColumnKind::kRegular) return {};
  return invalid("Secondary indexes are not supported on compact value column of COMPACT STORAGE tables");
}

Status check_target(const TableMetadata& table, const ast::IndexTarget& target) {
  const Column& column = *table.column(target.column);
  const Type& type = column.type->base();
  std::string function = function_name(target.kind);
  TRY(check_duration(type));
  TRY(check_compact(table, column));
  if (column.kind == ColumnKind::kPartitionKey && table.partition_key.size() == 1) {
    return invalid("Cannot create secondary index on the only partition key column " + column.name);
  }
  bool frozen_collection = type.is_collection() && !type.is_multi_cell();
  if (frozen_collection && target.kind != TargetKind::kFull) {
    return invalid("Cannot create " + function + "() index on frozen column " + column.name +
                   ". Frozen collections are immutable and must be fully indexed by using the 'full(" +
                   quote_identifier(column.name) + ")' modifier");
  }
  if (!frozen_collection && target.kind == TargetKind::kFull) {
    return invalid("full() indexes can only be created on frozen collections");
  }
  if (!type.is_collection() && target.kind != TargetKind::kSimple) {
    return invalid("Cannot create " + function + "() index on " + column.name +
                   ". Non-collection columns only support simple indexes");
  }
  bool of_map = target.kind == TargetKind::kKeys || target.kind == TargetKind::kEntries;
  if (of_map && type.kind() != TypeKind::kMap) {
    return invalid("Cannot create index on " + function + " of column " + column.name + " with non-map type");
  }
  if (type.is_udt() && type.is_multi_cell()) {
    return invalid("Cannot create index on non-frozen UDT column " + column.name);
  }
  return {};
}

// nullptr: no table of the keyspace has it.
TablePtr indexed_table(const KeyspaceMetadata& keyspace, const std::string& index) {
  for (const auto& [name, table] : keyspace.tables) {
    if (table->indexes.contains(index)) return table;
  }
  return nullptr;
}

std::string default_name(const KeyspaceMetadata& keyspace, const std::string& table, const std::string& column) {
  std::string base = table + "_" + column + "_idx";
  std::erase_if(base, [](char c) { return !is_word(std::string_view(&c, 1)); });
  std::string name = base;
  for (int i = 1; indexed_table(keyspace, name) != nullptr; ++i) name = base + "_" + std::to_string(i);
  return name;
}

IndexMetadata make_index(std::string name, const ast::IndexTarget& target) {
  std::string column = quote_identifier(target.column);
  IndexMetadata index;
  index.name = std::move(name);
  index.kind = IndexKind::kComposites;
  index.options["target"] =
      target.kind == TargetKind::kSimple ? column : std::string(function_name(target.kind)) + "(" + column + ")";
  index.id = Uuid::name_based(index.name);
  return index;
}

Result<std::vector<ast::IndexTarget>> prepare_targets(const ast::CreateIndex& change, const TableMetadata& table) {
  std::vector<ast::IndexTarget> targets;
  for (const ast::IndexTarget& written : change.targets) {
    ASSIGN_OR_RETURN(ast::IndexTarget target, prepare_target(table, written));
    targets.push_back(std::move(target));
  }
  return targets;
}

Status check_targets(const TableMetadata& table, const std::vector<ast::IndexTarget>& targets) {
  if (targets.empty()) return invalid("Only CUSTOM indexes can be created without specifying a target column");
  if (targets.size() > 1) return invalid("Only CUSTOM indexes support multiple columns");
  return check_target(table, targets[0]);
}

}  // namespace

SchemaResult apply_change(SchemaChange<ast::CreateIndex> c) {
  std::string class_name = custom_class(c.change, *c.input.options);
  TRY(check_attributes(c.change.properties, !class_name.empty()));
  KeyspacePtr keyspace = c.schema->keyspace(c.keyspace);
  if (keyspace == nullptr) return keyspace_does_not_exist(c.keyspace);
  TablePtr table = keyspace->table(c.change.table.name);
  if (table == nullptr) return invalid("Table '" + c.change.table.name + "' doesn't exist");
  if (!c.change.name.empty() && indexed_table(*keyspace, c.change.name) != nullptr) {
    if (c.change.if_not_exists) return c.schema;
    return invalid("Index '" + c.change.name + "' already exists");
  }
  if (table->is_counter()) return invalid("Secondary indexes on counter tables aren't supported");
  ASSIGN_OR_RETURN(auto targets, prepare_targets(c.change, *table));
  if (!class_name.empty()) {
    for (const ast::IndexTarget& target : targets) TRY(check_target(*table, target));
    return custom_index_error(class_name);
  }
  TRY(check_targets(*table, targets));
  const ast::IndexTarget& target = targets[0];
  IndexMetadata index =
      make_index(c.change.name.empty() ? default_name(*keyspace, table->name, target.column) : c.change.name, target);
  for (const auto& [name, other] : table->indexes) {
    if (other.kind != index.kind || other.options != index.options) continue;
    if (c.change.if_not_exists) return c.schema;
    return invalid("Index " + index.name + " is a duplicate of existing index " + name);
  }
  TableBuilder builder(*table);
  builder.indexes.emplace(index.name, std::move(index));
  TablePtr built = builder.build();
  TRY(validate_table(*built));
  return SchemaPtr(c.schema->with_keyspace(with_table(*keyspace, std::move(built))));
}

SchemaResult apply_change(SchemaChange<ast::DropIndex> c) {
  KeyspacePtr keyspace = c.schema->keyspace(c.keyspace);
  const std::string& name = c.change.index.name;
  TablePtr table = keyspace == nullptr ? nullptr : indexed_table(*keyspace, name);
  if (table == nullptr) {
    if (c.change.if_exists) return c.schema;
    return invalid("Index '" + c.keyspace + "." + name + "' doesn't exist'");
  }
  TableBuilder builder(*table);
  builder.indexes.erase(name);
  return SchemaPtr(c.schema->with_keyspace(with_table(*keyspace, builder.build())));
}

}  // namespace cassandra_like
