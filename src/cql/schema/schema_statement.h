// CREATE, ALTER and DROP of keyspaces, tables, types and indexes.
//
// The schema that follows is a function of the given schema and a SchemaChangeInput alone. So a statement runs on shard 0
// inside SchemaStore::change() whatever shard the client talks to, and can be tried without a node.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cql/context/statement.h"
#include "ring/replication.h"

namespace cassandra_like {

// The input of the functions below besides the schema, and their output besides the next schema.
struct SchemaChangeInput {
  const CqlOptions* options = nullptr;
  std::shared_ptr<const TokenRing> ring;
  int64_t write_micros = 0;  // the write time of data that is written now
  Uuid table_id;             // of a table that is created without an id of its own
  std::vector<std::string> warnings;
  std::set<std::string> ignored_properties;  // of tables, by guardrail
  int64_t dropped_until_micros = 0;  // what was written to a dropped column until then is gone; 0: none was dropped
};

// A prepared one.
class SchemaStatement : public Statement {
 public:
  // Refuses, before anything is read, clients that may not do this and features that this node does not have.
  virtual Status check(bool is_internal, const Schema& schema) const = 0;
  // The next schema; the given one when there is nothing to do.
  virtual Result<SchemaPtr> apply(const SchemaPtr& schema, SchemaChangeInput& input) const = 0;
  // Puts the event that the statement is about, its answer, before all others.
  virtual void put_own_first(std::vector<SchemaEvent>& events) const = 0;
};

// --- Each statement: the next schema; the given one when there is nothing to do ---

using SchemaResult = Result<SchemaPtr>;
template <class Change>
struct SchemaChange {
  const Change& change;
  const std::string& keyspace;  // the statement's or the session's
  const SchemaPtr& schema;
  SchemaChangeInput& input;
};

SchemaResult apply_change(SchemaChange<ast::CreateKeyspace> c);  // keyspace_statements.cc
SchemaResult apply_change(SchemaChange<ast::AlterKeyspace> c);
SchemaResult apply_change(SchemaChange<ast::DropKeyspace> c);
SchemaResult apply_change(SchemaChange<ast::CreateTable> c);  // table_statements.cc
SchemaResult apply_change(SchemaChange<ast::DropTable> c);
SchemaResult apply_change(SchemaChange<ast::AlterTable> c);  // alter_table.cc
SchemaResult apply_change(SchemaChange<ast::CreateType> c);  // type_statements.cc
SchemaResult apply_change(SchemaChange<ast::AlterType> c);
SchemaResult apply_change(SchemaChange<ast::DropType> c);
SchemaResult apply_change(SchemaChange<ast::CreateIndex> c);  // index_statements.cc
SchemaResult apply_change(SchemaChange<ast::DropIndex> c);
SchemaResult apply_change(SchemaChange<ast::DropView> c);  // drop_foreign.cc
// This node never has triggers and functions: only IF EXISTS can succeed.
SchemaResult apply_change(SchemaChange<ast::DropTrigger> c);
SchemaResult apply_change(SchemaChange<ast::DropFunction> c);

// --- What several of them need ---

Error keyspace_does_not_exist(const std::string& keyspace);
Error table_does_not_exist(const std::string& keyspace, const std::string& table);
Error masking_disabled();
Result<TypePtr> resolve_column_type(const ast::TypeName& type, const std::string& keyspace, const SchemaPtr& schema,
                                    const SchemaChangeInput& input);
// A user type with cells of its own, one of whose fields would have such too.
bool has_nested_multi_cell(const Type& type);

// The parts of a table that a statement may change; build() sorts them again.
struct TableBuilder {
  TableBuilder() = default;
  explicit TableBuilder(const TableMetadata& table);

  const Column* column(std::string_view name) const;
  void add(std::string name, TypePtr type, ColumnKind kind);
  TablePtr build() const;

  std::string keyspace, name;
  Uuid id;
  TableFlags flags;
  TableParams params;
  std::vector<ColumnPtr> partition_key, clustering, others;
  std::map<std::string, DroppedColumn> dropped_columns;
  std::map<std::string, IndexMetadata> indexes;
};
// TableMetadata.validate: kConfigError "ks.table: …".
Status validate_table(const TableMetadata& table);

}  // namespace cassandra_like
