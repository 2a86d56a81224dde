#include "schema/virtual_schema.h"

#include "model/values.h"
#include "schema/system_tables.h"

namespace cassandra_like {
namespace {

const char* column_kind_name(ColumnKind kind) {
  static const char* const kNames[] = {"partition_key", "clustering", "static", "regular"};
  return kNames[static_cast<size_t>(kind)];
}

class VirtualSchemaTable : public VirtualTable {
 public:
  using Describe = void (*)(const KeyspaceMetadata&, VirtualRows&);
  VirtualSchemaTable(const SchemaStore& store, TablePtr metadata, Describe describe)
      : store_(store), metadata_(std::move(metadata)), describe_(describe) {}

  const TablePtr& metadata() const override { return metadata_; }
  Task<VirtualRows> rows() override {
    VirtualRows rows;
    for (const auto& [name, keyspace] : store_.current()->keyspaces()) {
      if (keyspace->is_virtual) describe_(*keyspace, rows);
    }
    return rows;
  }

 private:
  const SchemaStore& store_;
  TablePtr metadata_;
  Describe describe_;
};

void describe_keyspace(const KeyspaceMetadata& keyspace, VirtualRows& rows) { rows.push_back({keyspace.name}); }

void describe_tables(const KeyspaceMetadata& keyspace, VirtualRows& rows) {
  for (const auto& [name, table] : keyspace.tables) rows.push_back({keyspace.name, name, table->params.comment});
}

// keyspace_name, table_name, column_name, clustering_order, column_name_bytes, kind, position, type
void describe_columns(const KeyspaceMetadata& keyspace, VirtualRows& rows) {
  for (const auto& [name, table] : keyspace.tables) {
    for (const Column* column : table->all_columns_in_select_order()) {
      const char* order = column->kind != ColumnKind::kClustering ? "none"
                          : column->type->is_reversed()           ? "desc"
                                                                  : "asc";
      rows.push_back({keyspace.name, name, column->name, order, column->name, column_kind_name(column->kind),
                      encode_int(column->position), column->type->cql_name()});
    }
  }
}

}  // namespace

void add_virtual_schema_tables(const SchemaStore& store, VirtualTables& tables) {
  SchemaPtr schema = builtin_schema();
  auto add = [&](const char* name, VirtualSchemaTable::Describe describe) {
    auto metadata = schema->table("system_virtual_schema", name);
    tables.add(std::make_unique<VirtualSchemaTable>(store, metadata, describe));
  };
  add("keyspaces", describe_keyspace);
  add("tables", describe_tables);
  add("columns", describe_columns);
}

}  // namespace cassandra_like
