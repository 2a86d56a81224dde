// One shard's front door to CQL: texts in, results out; keeps the prepared statements.
//
// Prepared ids are MD5(keyspace + text), as Cassandra's, so they are the same on every node and shard. A statement
// prepared on one shard is announced to the others of this node, and kept in system.prepared_statements: but not when it
// has a literal of a collection, a tuple or a user type. Cassandra throws exceptions at some that are right here, and does
// not start on a directory with such a statement. After a restart drivers prepare it again.
#pragma once

#include <memory>
#include <span>

#include "cql/context/statement.h"

namespace cassandra_like {

struct QueryStatistics {
  uint64_t regular_statements = 0;
  uint64_t prepared_statements_executed = 0;
  uint64_t prepared_statements = 0;  // in the cache
  uint64_t prepared_evicted = 0;
};

// One entry of a BATCH frame: a prepared id or a text, with its own values.
struct BatchEntry {
  bool is_prepared = false;
  BytesView id_or_text;
  std::span<const BytesView> values;
};

// An EXECUTE that is there but not yet served. Its values are as on the wire: an int32 size and as many bytes each.
struct PendingExecution {
  BytesView id;
  BytesView values;
};

struct QueryState {
  ClientState& client;
  TraceSession* trace = nullptr;
};

class QueryProcessor : public QueryServices {
 public:
  static std::unique_ptr<QueryProcessor> create(ShardRuntime& runtime, Coordinator& coordinator, CqlOptions options);

  // Everything passed by reference or view is borrowed until the Task completes.
  virtual Task<Result<QueryResult>> query(std::string_view text, const QueryOptions& options, QueryState request) = 0;
  // In the keyspace that came with the request, or, when that is empty, in the connection's.
  virtual Task<Result<QueryResult>> prepare(std::string_view text, std::string_view keyspace, QueryState request) = 0;
  // kUnprepared with the id when it is not known.
  virtual Task<Result<QueryResult>> execute(BytesView id, const QueryOptions& options, QueryState request) = 0;
  // A hint: these are about to be executed, so the partitions that they name are brought into the processor's caches.
  virtual void prefetch(std::span<const PendingExecution> executions) = 0;
  // type: 0 logged, 1 unlogged, 2 counter.
  virtual Task<Result<QueryResult>> batch(uint8_t type, std::span<const BatchEntry> entries,
                                          const QueryOptions& options, QueryState request) = 0;

  // Keyspaces that are made from now on have so many replicas where they do not say it.
  virtual void set_default_keyspace_rf(int factor) = 0;
  // They hold for what begins from now on, for prepared statements, too.
  virtual void set_guardrails(const Guardrails& guardrails) = 0;
  // Every shard's processor, set once at start: prepared statements are announced to them.
  virtual void set_peers(std::vector<QueryProcessor*> peers) = 0;
  // Loads system.prepared_statements.
  virtual Task<Status> load_prepared() = 0;
  // nullptr when the id is not known. For transport, which needs the statement's result metadata id (v5).
  virtual StatementPtr prepared(BytesView id) const = 0;
  // The text that the client sent to prepare it; empty when the id is not known.
  virtual std::string prepared_text(BytesView id) const = 0;

  virtual const QueryStatistics& statistics() const = 0;
};

}  // namespace cassandra_like
