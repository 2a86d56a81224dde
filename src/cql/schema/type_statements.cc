// CREATE, ALTER and DROP TYPE. A type that changes changes with it every type and column that it is part of.
#include <algorithm>

#include "cql/schema/schema_statement.h"
#include "cql/syntax/type_name.h"
#include "model/schema_text.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using Alter = SchemaChange<ast::AlterType>;

std::string display(const UserType& type) {
  return quote_identifier(type.keyspace()) + "." + quote_identifier(type.name());
}

bool is_counter(const ast::TypeName& type) {
  return type.kind == ast::TypeName::Kind::kNative && type.name == "counter";
}

Status check_field_type(const ast::TypeName& type) {
  if (is_counter(type)) return invalid("A user type cannot contain counters");
  if (type.kind == ast::TypeName::Kind::kUdt && !type.frozen) {
    return invalid("A user type cannot contain non-frozen UDTs");
  }
  return {};
}

// --- A type in place of its former version ---

TypePtr replace(const TypePtr& type, const UserType& updated);

TypePtr rebuild(const Type& type, std::vector<TypePtr> elements) {
  switch (type.kind()) {
    case TypeKind::kList:
      return types::list(elements[0], type.is_multi_cell());
    case TypeKind::kSet:
      return types::set(elements[0], type.is_multi_cell());
    case TypeKind::kMap:
      return types::map(elements[0], elements[1], type.is_multi_cell());
    case TypeKind::kTuple:
      return types::tuple(std::move(elements));
    case TypeKind::kVector:
      return types::vector(elements[0], static_cast<const VectorType&>(type).dimension());
    case TypeKind::kUdt: {
      const auto& udt = static_cast<const UserType&>(type);
      return types::udt(udt.keyspace(), udt.name(), udt.field_names(), std::move(elements), udt.is_multi_cell());
    }
    default:  // composites have no user types in them
      return nullptr;
  }
}

TypePtr replace(const TypePtr& type, const UserType& updated) {
  if (!type->references_udt(updated.keyspace(), updated.name())) return type;
  const Type& base = type->base();
  TypePtr replaced;
  bool is_itself = base.is_udt() && static_cast<const UserType&>(base).name() == updated.name();
  if (is_itself) {
    replaced =
        types::udt(updated.keyspace(), updated.name(), updated.field_names(), updated.elements(), base.is_multi_cell());
  } else {
    std::vector<TypePtr> elements;
    for (const TypePtr& element : base.elements()) elements.push_back(replace(element, updated));
    replaced = rebuild(base, std::move(elements));
    if (replaced == nullptr) return type;
  }
  return type->is_reversed() ? types::reversed(replaced) : replaced;
}

TablePtr replace(const TablePtr& table, const UserType& updated) {
  TableBuilder builder(*table);
  bool changed = false;
  for (auto* columns : {&builder.partition_key, &builder.clustering, &builder.others}) {
    for (ColumnPtr& column : *columns) {
      TypePtr type = replace(column->type, updated);
      if (type == column->type) continue;
      auto copy = std::make_shared<Column>(*column);
      copy->type = std::move(type);
      column = std::move(copy);
      changed = true;
    }
  }
  return changed ? builder.build() : table;
}

KeyspacePtr with_updated_type(const KeyspaceMetadata& keyspace, const UserType& updated) {
  auto copy = std::make_shared<KeyspaceMetadata>(keyspace);
  for (auto& [name, type] : copy->types) {
    type = std::static_pointer_cast<const UserType>(replace(TypePtr(type), updated));
  }
  for (const auto& [name, table] : keyspace.tables) {
    if (TablePtr replaced = replace(table, updated); replaced != table) copy->tables.set(name, std::move(replaced));
  }
  return copy;
}

// --- The three changes ---

using Fields = std::pair<std::vector<std::string>, std::vector<TypePtr>>;

std::string tables_with_type_in_partition_key(const KeyspaceMetadata& keyspace, const UserType& type) {
  std::string names;
  for (const auto& [name, table] : keyspace.tables) {
    bool used = std::any_of(table->partition_key.begin(), table->partition_key.end(), [&](const ColumnPtr& column) {
      return column->type->references_udt(type.keyspace(), type.name());
    });
    if (used) names += (names.empty() ? "" : ", ") + qualified_table_text(*table);
  }
  return names;
}

Result<Fields> alter(const Alter& c, const UserType& type, const ast::AddField& change) {
  TRY(check_field_type(change.type));
  Fields fields{type.field_names(), type.elements()};
  if (type.field_index(change.field)) {
    if (change.if_not_exists) return fields;
    return invalid("Cannot add field " + change.field + " to type " + display(type) + ": a field with name " +
                   change.field + " already exists");
  }
  ASSIGN_OR_RETURN(TypePtr field, resolve_column_type(change.type, c.keyspace, c.schema, c.input));
  std::string what = "Cannot add new field " + change.field + " of type " + type_name_text(change.type, c.keyspace) +
                     " to user type " + display(type) + " as ";
  if (field->references_udt(type.keyspace(), type.name())) {
    return invalid(what + "it would create a circular reference");
  }
  std::string tables = tables_with_type_in_partition_key(*c.schema->keyspace(c.keyspace), type);
  if (!tables.empty()) {
    return invalid(what + "the type is being used in partition key by the following tables: " + tables);
  }
  fields.first.push_back(change.field);
  fields.second.push_back(std::move(field));
  return fields;
}

Result<Fields> alter(const Alter& c, const UserType& type, const ast::RenameColumns& change) {
  Fields fields{type.field_names(), type.elements()};
  for (const auto& [from, to] : change.renames) {
    auto index = type.field_index(from);
    if (index) {
      fields.first[*index] = to;
    } else if (!change.if_exists) {
      return invalid("Unkown field " + from + " in user type " + display(type));
    }
  }
  for (const std::string& name : fields.first) {
    if (std::count(fields.first.begin(), fields.first.end(), name) > 1) {
      return invalid("Duplicate field name " + name + " in type " + c.keyspace);
    }
  }
  return fields;
}

Result<Fields> alter(const Alter&, const UserType&, const ast::AlterColumnType&) {
  return invalid("Altering field types is no longer supported");
}

template <class Items>
std::string names_of(const Items& items) {
  std::string text;
  for (const std::string& name : items) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

SchemaResult apply_change(SchemaChange<ast::CreateType> c) {
  KeyspacePtr keyspace = c.schema->keyspace(c.keyspace);
  if (keyspace == nullptr) return keyspace_does_not_exist(c.keyspace);
  const std::string& name = c.change.type.name;
  if (keyspace->type(name) != nullptr) {
    if (c.change.if_not_exists) return c.schema;
    return invalid("A user type with name '" + name + "' already exists");
  }
  std::vector<std::string> names;
  for (const auto& [field, type] : c.change.fields) {
    if (std::find(names.begin(), names.end(), field) != names.end()) {
      return invalid("Duplicate field name '" + field + "' in type '" + name + "'");
    }
    names.push_back(field);
  }
  for (const auto& [field, type] : c.change.fields) TRY(check_field_type(type));
  std::vector<TypePtr> fields;
  for (const auto& [field, written] : c.change.fields) {
    ASSIGN_OR_RETURN(TypePtr type, resolve_column_type(written, c.keyspace, c.schema, c.input));
    fields.push_back(std::move(type));
  }
  UserTypePtr type = types::udt(c.keyspace, name, std::move(names), std::move(fields), true);
  return SchemaPtr(c.schema->with_keyspace(with_type(*keyspace, std::move(type))));
}

SchemaResult apply_change(SchemaChange<ast::AlterType> c) {
  KeyspacePtr keyspace = c.schema->keyspace(c.keyspace);
  UserTypePtr type = keyspace == nullptr ? nullptr : keyspace->type(c.change.type.name);
  if (type == nullptr) {
    if (c.change.if_exists) return c.schema;
    return invalid("Type " + c.keyspace + "." + c.change.type.name + " doesn't exist");
  }
  auto fields = std::visit([&](const auto& change) { return alter(c, *type, change); }, c.change.change);
  TRY(fields);
  UserTypePtr updated = types::udt(c.keyspace, type->name(), std::move(fields->first), std::move(fields->second), true);
  if (updated->equals(*type)) return c.schema;
  return SchemaPtr(c.schema->with_keyspace(with_updated_type(*keyspace, *updated)));
}

SchemaResult apply_change(SchemaChange<ast::DropType> c) {
  KeyspacePtr keyspace = c.schema->keyspace(c.keyspace);
  const std::string& name = c.change.type.name;
  if (keyspace == nullptr || keyspace->type(name) == nullptr) {
    if (c.change.if_exists) return c.schema;
    return invalid("Type '" + c.keyspace + "." + name + "' doesn't exist");
  }
  std::vector<std::string> types, tables;
  for (const auto& [other, type] : keyspace->types) {
    if (other != name && type->references_udt(c.keyspace, name)) types.push_back(other);
  }
  for (const auto& [table_name, table] : keyspace->tables) {
    auto columns = table->all_columns_in_select_order();
    bool used = std::any_of(columns.begin(), columns.end(),
                            [&](const Column* column) { return column->type->references_udt(c.keyspace, name); });
    if (used) tables.push_back(table_name);
  }
  std::string still_used = "Cannot drop user type '" + c.keyspace + "." + name + "' as it is still used by ";
  if (!types.empty()) return invalid(still_used + "user types " + names_of(types));
  if (!tables.empty()) return invalid(still_used + "tables " + names_of(tables));
  return SchemaPtr(c.schema->with_keyspace(without_type(*keyspace, name)));
}

}  // namespace cassandra_like
