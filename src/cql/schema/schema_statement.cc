// The common part of all schema statements: who may run them, how they reach shard 0, and their answers.
#include "cql/schema/schema_statement.h"

#include <algorithm>

#include "base/log.h"
#include "cql/context/query_services.h"
#include "model/schema_names.h"
#include "schema/schema_diff.h"

namespace cassandra_like {
namespace {

// The subject of a statement, for its event and for the rights to run it.
struct Subject {
  enum class Resource : uint8_t { kNone, kKeyspace, kAllTables, kTable };

  StatementKind kind;
  const char* change;      // CREATED UPDATED DROPPED
  const char* target;      // KEYSPACE TABLE TYPE
  std::string name;        // of the table or type; empty: as the change tells
  const char* permission;  // CREATE ALTER DROP
  Resource resource;
};

using Resource = Subject::Resource;

Subject subject_of(const ast::CreateKeyspace&) {
  return {StatementKind::kCreateKeyspace, "CREATED", "KEYSPACE", "", "CREATE", Resource::kNone};
}
Subject subject_of(const ast::AlterKeyspace&) {
  return {StatementKind::kAlterKeyspace, "UPDATED", "KEYSPACE", "", "ALTER", Resource::kKeyspace};
}
Subject subject_of(const ast::DropKeyspace&) {
  return {StatementKind::kDropKeyspace, "DROPPED", "KEYSPACE", "", "DROP", Resource::kKeyspace};
}
Subject subject_of(const ast::CreateTable& s) {
  return {StatementKind::kCreateTable, "CREATED", "TABLE", s.table.name, "CREATE", Resource::kAllTables};
}
Subject subject_of(const ast::AlterTable& s) {
  return {StatementKind::kAlterTable, "UPDATED", "TABLE", s.table.name, "ALTER", Resource::kTable};
}
Subject subject_of(const ast::DropTable& s) {
  return {StatementKind::kDropTable, "DROPPED", "TABLE", s.table.name, "DROP", Resource::kTable};
}
Subject subject_of(const ast::CreateType& s) {
  return {StatementKind::kCreateType, "CREATED", "TYPE", s.type.name, "CREATE", Resource::kAllTables};
}
Subject subject_of(const ast::AlterType& s) {
  return {StatementKind::kAlterType, "UPDATED", "TYPE", s.type.name, "ALTER", Resource::kAllTables};
}
Subject subject_of(const ast::DropType& s) {
  return {StatementKind::kDropType, "DROPPED", "TYPE", s.type.name, "DROP", Resource::kAllTables};
}
Subject subject_of(const ast::CreateIndex& s) {
  return {StatementKind::kCreateIndex, "UPDATED", "TABLE", s.table.name, "ALTER", Resource::kTable};
}
Subject subject_of(const ast::DropIndex&) {
  return {StatementKind::kDropIndex, "UPDATED", "TABLE", "", "ALTER", Resource::kNone};
}
Subject subject_of(const ast::DropView& s) {
  return {StatementKind::kDropView, "DROPPED", "TABLE", s.view.name, "ALTER", Resource::kNone};
}
Subject subject_of(const ast::DropTrigger& s) {
  return {StatementKind::kDropTrigger, "UPDATED", "TABLE", s.table.name, "ALTER", Resource::kNone};
}
Subject subject_of(const ast::DropFunction& s) {
  return {s.aggregate ? StatementKind::kDropAggregate : StatementKind::kDropFunction,
          "DROPPED",
          "FUNCTION",
          s.function.name,
          "DROP",
          Resource::kNone};
}

// Nobody changes what every node relies on; only the replication of the replicated system keyspaces is theirs to set.
Status check_authorization(const Subject& subject, const std::string& keyspace) {
  if (subject.resource == Resource::kNone) return {};
  auto unauthorized = [](std::string message) { return Error(ErrorCode::kUnauthorized, std::move(message)); };
  if (is_local_system_keyspace(keyspace) || is_virtual_keyspace(keyspace)) {
    return unauthorized(keyspace + " keyspace is not user-modifiable.");
  }
  bool alters_keyspace = subject.resource == Resource::kKeyspace && std::string_view(subject.permission) == "ALTER";
  if (!is_system_keyspace(keyspace) || alters_keyspace) return {};
  std::string resource = subject.resource == Resource::kKeyspace    ? "<keyspace " + keyspace + ">"
                         : subject.resource == Resource::kAllTables ? "<all tables in " + keyspace + ">"
                                                                    : "<table " + keyspace + "." + subject.name + ">";
  return unauthorized(std::string("Cannot ") + subject.permission + " " + resource);
}

void put_first(std::vector<SchemaEvent>& events, const Subject& subject, const std::string& keyspace) {
  auto own = std::find_if(events.begin(), events.end(), [&](const SchemaEvent& event) {
    return event.change == subject.change && event.target == subject.target && event.keyspace == keyspace &&
           (subject.name.empty() || event.name == subject.name);
  });
  if (own != events.end()) std::rotate(events.begin(), own, own + 1);
}

SchemaChangeInput make_input(ExecutionContext& context) {
  SchemaChangeInput input;
  input.options = &context.config;
  input.ring = context.coordinator.replica().topology().current()->ring();
  input.write_micros = context.services.next_timestamp();
  input.table_id = context.services.next_time_uuid();
  input.ignored_properties = ignored_properties(context);
  return input;
}

// Later writes to a column of that name are newer than the drop. When the clock was set back, that cannot be
// waited for.
Task<Status> pass(ShardRuntime& runtime, int64_t wall_micros) {
  const int64_t ahead = wall_micros - runtime.clock.wall_micros();
  if (ahead >= 0 && ahead < 1000) co_await runtime.executor.sleep(std::chrono::microseconds(ahead + 1));
  co_return Status();
}

QueryResult result_of(const SchemaDiff& diff) {
  QueryResult result;
  if (!diff.events.empty()) result.value = SchemaChangeResult{diff.events.front()};
  return result;
}

// "CREATE TABLE shop.orders: done for cassandra at 127.0.0.1:50376, the schema's version is …".
void log_change(const SchemaStatement& statement, const SchemaDiff& diff, const ClientState& client) {
  if (diff.events.empty()) return;
  const SchemaEvent& event = diff.events.front();
  LOG_INFO("{} {}{}{}: done for {}, the schema has version {}", name(statement.kind()), event.keyspace,
           event.name.empty() ? "" : ".", event.name, client.to_string(), diff.schema->version().to_string());
}

Task<Result<QueryResult>> run(const SchemaStatement* statement, ExecutionContext* context) {
  SchemaStore& store = context->coordinator.schema();
  CO_TRY(statement->check(context->client.is_internal, *store.current()));
  SchemaChangeInput input = make_input(*context);
  auto* in = &input;
  SchemaTransformation transformation = [statement, in](const SchemaPtr& schema, int64_t wall_micros) {
    in->write_micros = std::max(in->write_micros, wall_micros);
    return statement->apply(schema, *in);
  };
  Result<SchemaDiff> diff = co_await store.change(std::move(transformation));
  if (!diff.ok()) co_return std::move(diff.error());
  statement->put_own_first(diff->events);
  CO_TRY(co_await pass(context->runtime, input.dropped_until_micros));
  log_change(*statement, *diff, context->client);
  for (std::string& warning : input.warnings) context->warnings.push_back(std::move(warning));
  CO_TRY(co_await context->services.remove_stale_prepared());
  co_return result_of(*diff);
}

template <class Change>
class ChangeStatement : public SchemaStatement {
 public:
  ChangeStatement(Change change, std::string keyspace)
      : change_(std::move(change)), keyspace_(std::move(keyspace)), subject_(subject_of(change_)) {}

  StatementKind kind() const override { return subject_.kind; }
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override { return run(this, &context); }

  Status check(bool is_internal, const Schema& schema) const override {
    if (!is_internal) TRY(check_authorization(subject_, keyspace_));
    if (is_local_system_keyspace(keyspace_) || is_virtual_keyspace(keyspace_)) {
      return invalid("System keyspace '" + keyspace_ + "' is not user-modifiable");
    }
    KeyspacePtr keyspace = schema.keyspace(keyspace_);
    if (keyspace != nullptr && keyspace->is_virtual) {
      return invalid("Virtual keyspace '" + keyspace_ + "' is not user-modifiable");
    }
    return check_keyspace_name(keyspace_);
  }

  Result<SchemaPtr> apply(const SchemaPtr& schema, SchemaChangeInput& input) const override {
    return apply_change(SchemaChange<Change>{change_, keyspace_, schema, input});
  }

  void put_own_first(std::vector<SchemaEvent>& events) const override { put_first(events, subject_, keyspace_); }

 private:
  Change change_;
  std::string keyspace_;
  Subject subject_;
};

struct PrepareChange {
  PrepareContext& context;

  template <class Change>
  PrepareResult make(const Change& change, const std::string& given_keyspace) const {
    ASSIGN_OR_RETURN(std::string keyspace, context.keyspace_of(given_keyspace));
    return PrepareResult(std::make_unique<ChangeStatement<Change>>(change, std::move(keyspace)));
  }
  static PrepareResult not_yet(const char* what) { return invalid(std::string(what) + " are not supported yet"); }

  PrepareResult operator()(const ast::CreateKeyspace& s) const { return make(s, s.keyspace); }
  PrepareResult operator()(const ast::AlterKeyspace& s) const { return make(s, s.keyspace); }
  PrepareResult operator()(const ast::DropKeyspace& s) const { return make(s, s.keyspace); }
  PrepareResult operator()(const ast::CreateTable& s) const {
    auto statement = make(s, s.table.keyspace);
    if (!statement.ok()) return statement;
    if (!s.partition_key.empty()) return statement;
    return invalid("No PRIMARY KEY specifed for table '" + (s.table.keyspace.empty() ? "" : s.table.keyspace + ".") +
                   s.table.name + "' (exactly one required)");
  }
  PrepareResult operator()(const ast::AlterTable& s) const { return make(s, s.table.keyspace); }
  PrepareResult operator()(const ast::DropTable& s) const { return make(s, s.table.keyspace); }
  PrepareResult operator()(const ast::CreateType& s) const { return make(s, s.type.keyspace); }
  PrepareResult operator()(const ast::AlterType& s) const { return make(s, s.type.keyspace); }
  PrepareResult operator()(const ast::DropType& s) const { return make(s, s.type.keyspace); }
  PrepareResult operator()(const ast::CreateIndex& s) const { return make(s, s.table.keyspace); }
  PrepareResult operator()(const ast::DropIndex& s) const { return make(s, s.index.keyspace); }
  PrepareResult operator()(const ast::DropView& s) const { return make(s, s.view.keyspace); }
  PrepareResult operator()(const ast::DropTrigger& s) const { return make(s, s.table.keyspace); }
  PrepareResult operator()(const ast::DropFunction& s) const { return make(s, s.function.keyspace); }
  PrepareResult operator()(const ast::CreateView&) const { return not_yet("Materialized views"); }
  PrepareResult operator()(const ast::AlterView&) const { return not_yet("Materialized views"); }
  PrepareResult operator()(const ast::CreateTrigger&) const { return not_yet("Triggers"); }
  PrepareResult operator()(const ast::CreateFunction&) const { return not_yet("User-defined functions"); }
  PrepareResult operator()(const ast::CreateAggregate&) const { return not_yet("User-defined aggregates"); }
  template <class Other>
  PrepareResult operator()(const Other&) const {
    return invalid("Not a schema statement");
  }
};

}  // namespace

PrepareResult prepare_schema_statement(const ast::Statement& statement, PrepareContext& context) {
  return std::visit(PrepareChange{context}, statement.body);
}

Error keyspace_does_not_exist(const std::string& keyspace) {
  return invalid("Keyspace '" + keyspace + "' doesn't exist");
}

Result<TypePtr> resolve_column_type(const ast::TypeName& type, const std::string& keyspace, const SchemaPtr& schema,
                                    const SchemaChangeInput& input) {
  return PrepareContext(schema, keyspace, "", {}, *input.options).type(type, keyspace);
}

}  // namespace cassandra_like
