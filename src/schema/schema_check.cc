#include "schema/schema_check.h"

#include <map>

#include <fmt/format.h>

#include "model/schema_names.h"

namespace cassandra_like {
namespace {

// Whether system_schema and the headers of SSTables can have the type and give it back.
Status check_type(const Type& type, const KeyspaceMetadata& keyspace) {
  TRY(types::check_extent(type));
  auto find = [&](std::string_view, std::string_view name) { return keyspace.type(name); };
  ASSIGN_OR_RETURN(TypePtr again, types::parse_cql(type.cql_name(), keyspace.name, find));
  if (again->equals(type.base())) return {};
  return invalid("The type " + type.base().class_name() + " would be read again as " + again->class_name());
}

}  // namespace

Status check_types(const KeyspaceMetadata& before, const KeyspaceMetadata& after) {
  Status status;
  auto check = [&](std::string_view kind, const std::string& name, const Type& type) {
    if (!status.ok()) return;
    status = check_type(type, after);
    if (!status.ok()) {
      status = invalid(fmt::format("{} {}.{}: {}", kind, after.name, name, status.error().message()));
    }
  };
  auto check_user_type = [&](const UserType& type) {
    check("Type", type.name(), type);
    for (const TypePtr& field : type.elements()) check("Type", type.name(), *field);
  };
  auto check_table = [&](const TableMetadata& table) {
    for (const auto* list : {&table.partition_key, &table.clustering, &table.static_columns, &table.regular_columns}) {
      for (const ColumnPtr& column : *list) check("Column", table.name + "." + column->name, *column->type);
    }
  };
  compare_maps(
      before.types, after.types, [](const UserType&) {}, check_user_type,
      [&](const UserType&, const UserType& now) { check_user_type(now); });
  compare_maps(
      before.tables, after.tables, [](const TableMetadata&) {}, check_table,
      [&](const TableMetadata&, const TableMetadata& now) { check_table(now); });
  return status;
}

Status check_names(const KeyspaceMetadata& before, const KeyspaceMetadata& after) {
  Status status = check_keyspace_name(after.name);
  auto check = [&](const TableMetadata& table) {
    if (status.ok()) status = check_table_names(table);
  };
  compare_maps(
      before.tables, after.tables, [](const TableMetadata&) {}, check,
      [&](const TableMetadata&, const TableMetadata& now) { check(now); });
  return status;
}

Status check_ids(const Schema& others, const KeyspaceMetadata& after) {
  static const KeyspaceMetadata kNone;
  const KeyspacePtr before = others.keyspace(after.name);
  std::map<Uuid, const TableMetadata*> made;
  Status status;
  auto check = [&](const TableMetadata& table) {
    const TableMetadata* other = made.emplace(table.id, &table).first->second;
    if (other == &table) other = others.table(table.id).get();
    if (!status.ok() || other == nullptr) return;
    // The change may have dropped the other one.
    const TablePtr kept = other->keyspace == after.name ? after.table(other->name) : nullptr;
    if (other->keyspace == after.name && (kept == nullptr || kept->id != table.id)) return;
    status = invalid(fmt::format("Table {} has the id of table {}: {}", table.qualified_name(), other->qualified_name(),
                                 table.id.to_string()));
  };
  compare_maps(
      before == nullptr ? kNone.tables : before->tables, after.tables, [](const TableMetadata&) {}, check,
      [&](const TableMetadata& old, const TableMetadata& now) {
        if (old.id != now.id) check(now);
      });
  return status;
}

}  // namespace cassandra_like
