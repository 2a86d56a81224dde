#include <algorithm>

#include "cql/context/statement.h"
#include "cql/syntax/parser.h"
#include "cql/syntax/type_name.h"

namespace cassandra_like {
namespace {

Result<TypePtr> resolve_type(const ast::TypeName& name, const std::string& keyspace, const Schema& schema);

Result<std::vector<TypePtr>> resolve_parameters(const ast::TypeName& name, const std::string& keyspace,
                                                const Schema& schema) {
  std::vector<TypePtr> parameters;
  for (const ast::TypeName& parameter : name.parameters) {
    ASSIGN_OR_RETURN(TypePtr type, resolve_type(parameter, keyspace, schema));
    parameters.push_back(std::move(type));
  }
  return parameters;
}

Result<TypePtr> resolve_user_type(const ast::TypeName& name, const std::string& keyspace, const Schema& schema) {
  const std::string& owner = name.keyspace.empty() ? keyspace : name.keyspace;
  if (owner != keyspace) {
    return invalid("Statement on keyspace " + keyspace + " cannot refer to a user type in keyspace " + owner +
                   "; user types can only be used in the keyspace they are defined in");
  }
  KeyspacePtr found = schema.keyspace(owner);
  UserTypePtr type = found == nullptr ? nullptr : found->type(name.name);
  if (type == nullptr) return invalid("Unknown type " + owner + "." + name.name);
  return TypePtr(type);
}

bool is_native(const ast::TypeName& type, std::string_view name) {
  return type.kind == ast::TypeName::Kind::kNative && type.name == name;
}

// Inside of a collection that is not frozen, whatever can be frozen must be. Vectors and tuples always are.
Status check_frozen(const ast::TypeName& outer, const ast::TypeName& inner) {
  using Kind = ast::TypeName::Kind;
  if (outer.frozen || inner.frozen) return {};
  switch (inner.kind) {
    case Kind::kList:
    case Kind::kSet:
    case Kind::kMap:
      return invalid("Non-frozen collections are not allowed inside collections: " + type_name_text(outer));
    case Kind::kUdt:
      return invalid("Non-frozen UDTs are not allowed inside collections: " + type_name_text(outer));
    default:
      return {};
  }
}

// Element types that a list, set or map may not have, in the order in which Cassandra complains.
Status check_collection(const ast::TypeName& type) {
  const ast::TypeName& value = type.parameters.back();
  const ast::TypeName* key = type.kind == ast::TypeName::Kind::kMap ? &type.parameters.front() : nullptr;
  TRY(check_frozen(type, value));
  if (is_native(value, "counter") || (key != nullptr && is_native(*key, "counter"))) {
    return invalid("Counters are not allowed inside collections: " + type_name_text(type));
  }
  if (type.kind == ast::TypeName::Kind::kSet && is_native(value, "duration")) {
    return invalid("Durations are not allowed inside sets: " + type_name_text(type));
  }
  if (key == nullptr) return {};
  if (is_native(*key, "duration")) return invalid("Durations are not allowed as map keys: " + type_name_text(type));
  return check_frozen(type, *key);
}

Status check_parameters(const ast::TypeName& type) {
  using Kind = ast::TypeName::Kind;
  if (type.kind == Kind::kList || type.kind == Kind::kSet || type.kind == Kind::kMap) return check_collection(type);
  if (type.kind != Kind::kTuple) return {};
  for (const ast::TypeName& field : type.parameters) {
    if (is_native(field, "counter")) return invalid("Counters are not allowed inside tuples");
  }
  return {};
}

Result<TypePtr> resolve_unfrozen(const ast::TypeName& name, const std::string& keyspace, const Schema& schema) {
  using Kind = ast::TypeName::Kind;
  TRY(check_parameters(name));
  ASSIGN_OR_RETURN(auto parameters, resolve_parameters(name, keyspace, schema));
  switch (name.kind) {
    case Kind::kNative: {
      TypePtr type = types::by_cql_name(name.name);
      if (type == nullptr) return invalid("Unknown type " + name.name);
      return type;
    }
    case Kind::kUdt:
      return resolve_user_type(name, keyspace, schema);
    case Kind::kCustom:
      return types::parse_class(name.name);
    case Kind::kList:
      return types::list(types::freeze(parameters[0]), true);
    case Kind::kSet:
      return types::set(types::freeze(parameters[0]), true);
    case Kind::kMap:
      return types::map(types::freeze(parameters[0]), types::freeze(parameters[1]), true);
    case Kind::kTuple: {
      for (TypePtr& parameter : parameters) parameter = types::freeze(parameter);
      return types::tuple(std::move(parameters));
    }
    case Kind::kVector:
      if (name.dimension <= 0) {
        return invalid("vectors may only have positive dimensions; given " + std::to_string(name.dimension));
      }
      return types::vector(parameters[0], static_cast<size_t>(name.dimension));
  }
  return invalid("Unknown type " + name.name);
}

Result<TypePtr> resolve_type(const ast::TypeName& name, const std::string& keyspace, const Schema& schema) {
  ASSIGN_OR_RETURN(TypePtr type, resolve_unfrozen(name, keyspace, schema));
  TRY(types::check_extent(*type));
  return name.frozen ? types::freeze(type) : type;
}

}  // namespace

PrepareContext::PrepareContext(SchemaPtr schema, std::string keyspace, std::string_view text,
                               const std::vector<std::string>& names, const CqlOptions& config, bool is_internal)
    : schema_(std::move(schema)),
      keyspace_(std::move(keyspace)),
      text_(text),
      config_(&config),
      is_internal_(is_internal),
      names_(names),
      variables_(names.size()),
      targets_(names.size()) {}

Result<std::string> PrepareContext::keyspace_of(const std::string& given) const {
  if (!given.empty()) return given;
  used_session_keyspace_ = true;
  if (!keyspace_.empty()) return keyspace_;
  return invalid("No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename");
}

Result<TablePtr> PrepareContext::table(const ast::QualifiedName& name) const {
  ASSIGN_OR_RETURN(std::string keyspace, keyspace_of(name.keyspace));
  if (schema_->keyspace(keyspace) == nullptr) return invalid("keyspace " + keyspace + " does not exist");
  TablePtr table = schema_->table(keyspace, name.name);
  if (table == nullptr) return invalid("table " + name.name + " does not exist");
  // With a count of the statement's own: every shard's executions copy the pointer, and the schema's count would have
  // them fight for one cache line.
  const TableMetadata* metadata = table.get();
  return TablePtr(std::make_shared<TablePtr>(std::move(table)), metadata);
}

Result<TypePtr> PrepareContext::type(const ast::TypeName& name, const std::string& keyspace) const {
  return resolve_type(name, keyspace, *schema_);
}

void PrepareContext::refuse_array(const Type& type) {
  if (!refused_array_) {
    refused_array_ = invalid("Unexpected receiver type '" + type.cql_name() + "'; only list and vector are expected");
  }
}

void PrepareContext::bind(uint32_t index, ColumnSpec column) {
  targets_[index] = column.name;
  // A marker's own name (`:name`) is what clients bind by.
  if (!names_[index].empty()) column.name = names_[index];
  variables_[index] = std::move(column);
}

Status PrepareContext::finish(Statement& statement) const {
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].type == nullptr) return invalid("Cannot determine the type of bind marker " + std::to_string(i));
  }
  statement.bind_variables_ = variables_;
  const TableMetadata* primary_table = statement.key_table();
  if (primary_table == nullptr) return {};
  std::vector<uint16_t> indexes;
  for (const ColumnPtr& column : primary_table->partition_key) {
    // Cassandra reports the last of several markers for one column.
    auto last = std::find(targets_.rbegin(), targets_.rend(), column->name);
    if (last == targets_.rend()) return {};
    indexes.push_back(static_cast<uint16_t>(targets_.rend() - last - 1));
  }
  statement.partition_key_indexes_ = std::move(indexes);
  return {};
}

}  // namespace cassandra_like
