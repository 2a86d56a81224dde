// Finds the part of this folder that a statement belongs to.
#include "cql/context/statement.h"

namespace cassandra_like {
namespace {

class UseStatement : public Statement {
 public:
  explicit UseStatement(std::string keyspace) : keyspace_(std::move(keyspace)) {}
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    if (!context.config.guardrails.use_statements_enabled) {
      return Result<QueryResult>(invalid("USE statements prohibited. (see use_statements_enabled in cassandra.yaml)"));
    }
    if (context.coordinator.schema().current()->keyspace(keyspace_) == nullptr) {
      return Result<QueryResult>(invalid("Keyspace '" + keyspace_ + "' does not exist"));
    }
    context.client.keyspace = keyspace_;
    return Result<QueryResult>(QueryResult{SetKeyspaceResult{keyspace_}, {}, {}});
  }
  StatementKind kind() const override { return StatementKind::kUse; }

 private:
  std::string keyspace_;
};

struct Prepare {
  const ast::Statement& statement;
  PrepareContext& context;

  PrepareResult operator()(const ast::Select& s) const { return prepare_select(s, context); }
  PrepareResult operator()(const ast::Insert& s) const { return prepare_insert(s, context); }
  PrepareResult operator()(const ast::InsertJson& s) const { return prepare_insert_json(s, context); }
  PrepareResult operator()(const ast::Update& s) const { return prepare_update(s, context); }
  PrepareResult operator()(const ast::Delete& s) const { return prepare_delete(s, context); }
  PrepareResult operator()(const ast::Batch& s) const { return prepare_batch(s, context); }
  PrepareResult operator()(const ast::Truncate& s) const { return prepare_truncate(s, context); }
  PrepareResult operator()(const ast::Use& s) const {
    return PrepareResult(std::make_unique<UseStatement>(s.keyspace));
  }
  PrepareResult operator()(const ast::Describe& s) const { return prepare_describe(s, context); }
  PrepareResult operator()(const ast::CreateRole&) const { return role(); }
  PrepareResult operator()(const ast::AlterRole&) const { return role(); }
  PrepareResult operator()(const ast::DropRole&) const { return role(); }
  PrepareResult operator()(const ast::AddIdentity&) const { return role(); }
  PrepareResult operator()(const ast::DropIdentity&) const { return role(); }
  PrepareResult operator()(const ast::GrantRole&) const { return role(); }
  PrepareResult operator()(const ast::RevokeRole&) const { return role(); }
  PrepareResult operator()(const ast::ListRoles&) const { return role(); }
  PrepareResult operator()(const ast::GrantPermissions&) const { return role(); }
  PrepareResult operator()(const ast::ListPermissions&) const { return role(); }
  template <class S>
  PrepareResult operator()(const S&) const {
    return prepare_schema_statement(statement, context);
  }

 private:
  PrepareResult role() const { return prepare_role_statement(statement, context); }
};

}  // namespace

PrepareResult prepare_statement(const ast::Statement& statement, PrepareContext& context) {
  auto result = std::visit(Prepare{statement, context}, statement.body);
  if (!result.ok()) return context.failure(std::move(result.error()));
  auto prepared = std::move(result).value();
  TRY(context.finish(*prepared));
  prepared->set_guard(guard_of(statement, context));
  return prepared;
}

}  // namespace cassandra_like
