// A statement that was checked against the schema and can be executed any number of times.
//
// The path of a request: QueryProcessor finds or prepares the Statement, wraps what comes with the request in an
// ExecutionContext, and calls execute(). A Statement is immutable, belongs to one shard, and holds the TablePtr it was
// prepared against; QueryProcessor drops it when that table changes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "coordinator/coordinator.h"
#include "cql/context/client_state.h"
#include "cql/context/guardrails.h"
#include "cql/context/query_options.h"
#include "cql/context/query_services.h"
#include "cql/context/result.h"
#include "cql/context/statement_kind.h"
#include "cql/syntax/ast.h"

namespace cassandra_like {

class TraceSession;  // cql/tracing.h
class Modification;  // cql/modification.h
class Function;      // cql/function.h

// Lives as long as the request. Memory of the arena is freed when the request ends.
struct ExecutionContext {
  QueryServices& services;
  Coordinator& coordinator;
  ShardRuntime& runtime;
  const CqlOptions& config;
  ClientState& client;
  const QueryOptions& options;
  Arena& arena;
  TraceSession* trace = nullptr;  // nullptr: not traced
  std::vector<std::string> warnings;
  int64_t timestamp_micros = 0;  // the request's default; strictly increasing on a connection's shard
  int64_t now_seconds = 0;
  RequestShare* memory = nullptr;  // of the request's statements; nullptr: unbounded

  Status add_values(uint64_t count) const { return memory == nullptr ? Status() : memory->add_values(count); }
};

class Statement {
 public:
  virtual ~Statement() = default;

  // Ready at once when no waiting is needed. The context and all it refers to live until completion.
  virtual Task<Result<QueryResult>> execute(ExecutionContext& context) const = 0;

  // Refuses this client before any value is bound, already when it prepares the statement.
  virtual Status validate(const ClientState&) const { return {}; }

  virtual StatementKind kind() const = 0;
  // nullptr for statements without result rows, or whose columns are known only when they run.
  virtual ResultMetadataPtr result_metadata() const { return nullptr; }
  // The tables whose change makes this statement stale.
  virtual std::vector<Uuid> depends_on() const { return {}; }

  // The table whose partition key clients may compute from the bound values; nullptr: none.
  virtual const TableMetadata* key_table() const { return nullptr; }
  // Only for INSERT, UPDATE and DELETE, which can be part of a batch.
  virtual const Modification* as_modification() const { return nullptr; }

  const std::vector<ColumnSpec>& bind_variables() const { return bind_variables_; }
  const std::vector<uint16_t>& partition_key_indexes() const { return partition_key_indexes_; }
  const StatementGuard* guard() const { return guard_.get(); }  // nullptr: no guardrail looks at it
  void set_guard(std::shared_ptr<const StatementGuard> guard) { guard_ = std::move(guard); }

 protected:
  friend class PrepareContext;
  std::vector<ColumnSpec> bind_variables_;
  std::vector<uint16_t> partition_key_indexes_;
  std::shared_ptr<const StatementGuard> guard_;
};
using StatementPtr = std::shared_ptr<const Statement>;

// Collects the facts about bind markers while a statement is prepared.
class PrepareContext {
 public:
  PrepareContext(SchemaPtr schema, std::string keyspace, std::string_view text, const std::vector<std::string>& names,
                 const CqlOptions& config, bool is_internal = false);

  const SchemaPtr& schema() const { return schema_; }
  const CqlOptions& config() const { return *config_; }
  std::string_view text() const { return text_; }
  const std::string& session_keyspace() const { return keyspace_; }
  bool is_internal() const { return is_internal_; }
  // The statement is prepared to run later, when guardrails may be others.
  bool is_kept() const { return is_kept_; }
  void set_kept() { is_kept_ = true; }
  // The given keyspace or the session's; kInvalid "No keyspace has been specified. USE a keyspace, or explicitly specify
  // keyspace.tablename" when there is neither.
  Result<std::string> keyspace_of(const std::string& given) const;
  // kInvalid "keyspace x does not exist", "table y does not exist" (Cassandra's words).
  Result<TablePtr> table(const ast::QualifiedName& name) const;
  Result<TypePtr> type(const ast::TypeName& name, const std::string& keyspace) const;

  // The functions that calls were found to mean, by the call and what receives its result.
  using ResolvedCalls = std::map<std::pair<const ast::Term*, std::string>, Result<std::shared_ptr<const Function>>>;
  ResolvedCalls& resolved_calls() { return resolved_calls_; }

  // An array was tested against a type that no array fits. Cassandra fails at once, whatever the test was for. So this is
  // the statement's error, unless all its parts fit in the end.
  void refuse_array(const Type& type);

  // Whether an unqualified name was resolved by the session's keyspace.
  bool used_session_keyspace() const { return used_session_keyspace_; }

  // The column (or pseudo-column, such as `[limit]`, `[ttl]`) that marker `index` is assigned to.
  void bind(uint32_t index, ColumnSpec column);
  size_t bind_count() const { return variables_.size(); }
  // Fills in the Statement's bind variables; kInvalid for a marker that was never assigned. prepare_statement() calls it.
  Status finish(Statement& statement) const;
  // The error of a statement that cannot be prepared.
  Error failure(Error found) const {
    if (refused_array_) return *refused_array_;
    return found;
  }

 private:
  SchemaPtr schema_;
  std::string keyspace_;
  std::string_view text_;
  const CqlOptions* config_;
  bool is_internal_;
  bool is_kept_ = false;
  mutable bool used_session_keyspace_ = false;
  std::vector<std::string> names_;
  std::vector<ColumnSpec> variables_;
  ResolvedCalls resolved_calls_;
  std::optional<Error> refused_array_;
  std::vector<std::string> targets_;  // the column, or what stands for one, that each marker is for
};

// One function for each family of statements; QueryProcessor chooses.
using PrepareResult = Result<std::unique_ptr<Statement>>;
PrepareResult prepare_statement(const ast::Statement& statement, PrepareContext& context);  // prepare_statement.cc
PrepareResult prepare_select(const ast::Select& select, PrepareContext& context);           // select.cc
PrepareResult prepare_insert(const ast::Insert& insert, PrepareContext& context);           // modification.cc
PrepareResult prepare_insert_json(const ast::InsertJson& insert, PrepareContext& context);
PrepareResult prepare_update(const ast::Update& update, PrepareContext& context);
PrepareResult prepare_delete(const ast::Delete& deletion, PrepareContext& context);
PrepareResult prepare_batch(const ast::Batch& batch, PrepareContext& context);  // batch.cc
PrepareResult prepare_truncate(const ast::Truncate& truncate, PrepareContext& context);
PrepareResult prepare_schema_statement(const ast::Statement& statement,
                                       PrepareContext& context);                                 // schema_statements.cc
PrepareResult prepare_describe(const ast::Describe& describe, PrepareContext& context);          // describe.cc
PrepareResult prepare_role_statement(const ast::Statement& statement, PrepareContext& context);  // roles.cc

// One statement of a BATCH with the values it is run with.
struct BatchItem {
  StatementPtr statement;
  std::span<const BytesView> values;
};
// The BATCH opcode; type: 0 logged, 1 unlogged, 2 counter. The context's options carry no values of their own.
Task<Result<QueryResult>> execute_batch(uint8_t type, std::span<const BatchItem> items, ExecutionContext& context);

}  // namespace cassandra_like
