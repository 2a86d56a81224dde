// DROP of what this node never makes: materialized views, which a Cassandra may have left, triggers, functions and aggregates.
#include "cql/schema/schema_statement.h"
#include "cql/syntax/type_name.h"

namespace cassandra_like {

SchemaResult apply_change(SchemaChange<ast::DropView> c) {
  KeyspacePtr keyspace = c.schema->keyspace(c.keyspace);
  if (keyspace != nullptr && keyspace->view(c.change.view.name) != nullptr) {
    return SchemaPtr(c.schema->with_keyspace(without_view(*keyspace, c.change.view.name)));
  }
  if (c.change.if_exists) return c.schema;
  return invalid("Materialized view '" + c.keyspace + "." + c.change.view.name + "' doesn't exist");
}

SchemaResult apply_change(SchemaChange<ast::DropTrigger> c) {
  if (c.change.if_exists) return c.schema;
  return invalid("Trigger '" + c.change.name + "' on '" + c.keyspace + "." + c.change.table.name + "' doesn't exist");
}

SchemaResult apply_change(SchemaChange<ast::DropFunction> c) {
  if (c.change.if_exists) return c.schema;
  std::string name = c.keyspace + "." + c.change.function.name;
  if (c.change.argument_types) {
    name += "(";
    for (const ast::TypeName& type : *c.change.argument_types) {
      name += (name.ends_with('(') ? "" : ", ") + type_name_text(type);
    }
    name += ")";
  }
  return invalid(std::string(c.change.aggregate ? "Aggregate" : "Function") + " '" + name + "' doesn't exist");
}

}  // namespace cassandra_like
