#include "cql/schema/describe.h"

#include <algorithm>

#include "cql/context/statement.h"
#include "model/schema_text.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using Kind = ast::Describe::Kind;
using Elements = std::vector<SchemaElement>;
using ElementsResult = Result<Elements>;

// --- The elements ---

// String.compareToIgnoreCase; names that only case tells apart are in the order of their bytes.
bool name_less(const SchemaElement& a, const SchemaElement& b) {
  auto fold = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const std::string &x = a.name(), &y = b.name();
  auto [i, j] =
      std::mismatch(x.begin(), x.end(), y.begin(), y.end(), [&](char c, char d) { return fold(c) == fold(d); });
  if (i == x.end() && j == y.end()) return x < y;
  return i == x.end() || (j != y.end() && fold(*i) < fold(*j));
}

Elements sorted(Elements elements) {
  std::sort(elements.begin(), elements.end(), name_less);
  return elements;
}

void append(Elements& to, Elements more) { to.insert(to.end(), more.begin(), more.end()); }

Elements keyspaces_of(const Schema& schema) {
  Elements elements;
  for (const auto& [name, keyspace] : schema.keyspaces()) elements.push_back({.keyspace = keyspace.get()});
  return sorted(std::move(elements));
}

Elements tables_of(const KeyspaceMetadata& keyspace) {
  Elements elements;
  for (const auto& [name, table] : keyspace.tables) elements.push_back({.keyspace = &keyspace, .table = table.get()});
  return sorted(std::move(elements));
}

Elements types_of(const KeyspaceMetadata& keyspace) {
  Elements elements;
  for (const auto& [name, type] : keyspace.types) elements.push_back({.keyspace = &keyspace, .type = type.get()});
  return sorted(std::move(elements));
}

Elements with_indexes(const KeyspaceMetadata& keyspace, const TableMetadata& table) {
  Elements indexes;
  for (const auto& [name, index] : table.indexes) {
    indexes.push_back({.keyspace = &keyspace, .table = &table, .index = &index});
  }
  Elements elements{{.keyspace = &keyspace, .table = &table}};
  append(elements, sorted(std::move(indexes)));
  return elements;
}

Elements all_of(const KeyspaceMetadata& keyspace) {
  Elements elements{{.keyspace = &keyspace}};
  for (const UserTypePtr& type : keyspace.types_in_dependency_order()) {
    elements.push_back({.keyspace = &keyspace, .type = type.get()});
  }
  for (const SchemaElement& table : tables_of(keyspace)) append(elements, with_indexes(keyspace, *table.table));
  return elements;
}

Elements all_of(const Schema& schema, bool with_system_keyspaces) {
  Elements elements;
  for (const SchemaElement& keyspace : keyspaces_of(schema)) {
    if (with_system_keyspaces || !is_system_keyspace(keyspace.name())) append(elements, all_of(*keyspace.keyspace));
  }
  return elements;
}

// --- What a statement names ---

Result<const KeyspaceMetadata*> find_keyspace(const Schema& schema, const std::string& name) {
  KeyspacePtr keyspace = schema.keyspace(name);
  if (keyspace == nullptr) return invalid("'" + name + "' not found in keyspaces");
  return keyspace.get();
}

ElementsResult find_table(const KeyspaceMetadata& keyspace, const std::string& name) {
  TablePtr table = keyspace.table(name);
  if (table == nullptr) return invalid("Table '" + name + "' not found in keyspace '" + keyspace.name + "'");
  return with_indexes(keyspace, *table);
}

ElementsResult find_index(const KeyspaceMetadata& keyspace, const std::string& name) {
  for (const auto& [table_name, table] : keyspace.tables) {
    auto index = table->indexes.find(name);
    if (index != table->indexes.end()) {
      return Elements{{.keyspace = &keyspace, .table = table.get(), .index = &index->second}};
    }
  }
  return invalid("Table for existing index '" + name + "' not found in '" + keyspace.name + "'");
}

ElementsResult find_type(const KeyspaceMetadata& keyspace, const std::string& name) {
  UserTypePtr type = keyspace.type(name);
  if (type == nullptr) return invalid("User defined type '" + name + "' not found in '" + keyspace.name + "'");
  return Elements{{.keyspace = &keyspace, .type = type.get()}};
}

// A keyspace, a table or an index, in this order.
ElementsResult find_any(const ast::QualifiedName& name, const Schema& schema, const std::string& session_keyspace) {
  std::string in = name.keyspace;
  if (in.empty()) {
    if (KeyspacePtr keyspace = schema.keyspace(name.name)) return all_of(*keyspace);
    in = session_keyspace.empty() ? name.name : session_keyspace;
  }
  ASSIGN_OR_RETURN(const KeyspaceMetadata* keyspace, find_keyspace(schema, in));
  if (keyspace->table(name.name) != nullptr) return find_table(*keyspace, name.name);
  auto index = find_index(*keyspace, name.name);
  if (index.ok()) return index;
  return invalid("'" + name.name + "' not found in keyspace '" + in + "'");
}

ElementsResult find_named(Kind kind, const KeyspaceMetadata& keyspace, const std::string& name) {
  auto not_found = [&](const char* what) -> ElementsResult {
    return invalid(std::string(what) + " '" + name + "' not found in '" + keyspace.name + "'");
  };
  switch (kind) {
    case Kind::kKeyspace:
      return all_of(keyspace);
    case Kind::kOnlyKeyspace:
      return Elements{{.keyspace = &keyspace}};
    case Kind::kTable:
      return find_table(keyspace, name);
    case Kind::kIndex:
      return find_index(keyspace, name);
    case Kind::kType:
      return find_type(keyspace, name);
    case Kind::kView:
      return not_found("Materialized view");
    case Kind::kFunction:
      return not_found("User defined function");
    default:
      return not_found("User defined aggregate");
  }
}

// Elements of the session's keyspace, or of all.
ElementsResult list(Elements (*of)(const KeyspaceMetadata&), const Schema& schema,
                    const std::string& session_keyspace) {
  if (!session_keyspace.empty()) {
    ASSIGN_OR_RETURN(const KeyspaceMetadata* keyspace, find_keyspace(schema, session_keyspace));
    return of(*keyspace);
  }
  Elements elements;
  for (const SchemaElement& keyspace : keyspaces_of(schema)) append(elements, of(*keyspace.keyspace));
  return elements;
}

}  // namespace

const char* SchemaElement::type_name() const {
  return index != nullptr ? "index" : table != nullptr ? "table" : type != nullptr ? "type" : "keyspace";
}

const std::string& SchemaElement::name() const {
  return index != nullptr   ? index->name
         : table != nullptr ? table->name
         : type != nullptr  ? type->name()
                            : keyspace->name;
}

std::string SchemaElement::create_statement(bool with_internals) const {
  if (index != nullptr) return index_text(*table, *index);
  if (table != nullptr) return table_text(*table, {.with_internals = with_internals, .if_not_exists = false});
  if (type != nullptr) return type_text(*type);
  return keyspace_text(*keyspace);
}

ElementsResult described_elements(const ast::Describe& describe, const Schema& schema,
                                  const std::string& session_keyspace) {
  switch (describe.kind) {
    case Kind::kSchema:
    case Kind::kFullSchema:
      return all_of(schema, describe.kind == Kind::kFullSchema);
    case Kind::kKeyspaces:
      return keyspaces_of(schema);
    case Kind::kTables:
      return list(tables_of, schema, session_keyspace);
    case Kind::kTypes:
      return list(types_of, schema, session_keyspace);
    case Kind::kFunctions:
    case Kind::kAggregates:
      return list([](const KeyspaceMetadata&) { return Elements(); }, schema, session_keyspace);
    case Kind::kGeneric:
      return find_any(describe.name, schema, session_keyspace);
    default:
      break;
  }
  bool of_keyspace = describe.kind == Kind::kKeyspace || describe.kind == Kind::kOnlyKeyspace;
  std::string in = of_keyspace ? describe.name.name : describe.name.keyspace;
  if (in.empty()) in = session_keyspace;
  if (in.empty()) return invalid("No keyspace specified and no current keyspace");
  ASSIGN_OR_RETURN(const KeyspaceMetadata* keyspace, find_keyspace(schema, in));
  return find_named(describe.kind, *keyspace, describe.name.name);
}

}  // namespace cassandra_like
