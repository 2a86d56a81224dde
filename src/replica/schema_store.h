// The node's schema: kept in the tables of system_schema, held by every shard as an immutable snapshot.
//
// Changes run one after the other on shard 0: compute the next snapshot, write the difference to system_schema, sync the
// commit log, publish to every shard, then tell the listeners. A change that fails before the write changes nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/schema.h"
#include "runtime/task.h"

namespace cassandra_like {

// The names of a SCHEMA_CHANGE event.
struct SchemaEvent {
  std::string change;  // CREATED UPDATED DROPPED
  std::string target;  // KEYSPACE TABLE TYPE FUNCTION AGGREGATE
  std::string keyspace;
  std::string name;  // empty for KEYSPACE
  std::vector<std::string> arg_types;

  bool operator==(const SchemaEvent&) const = default;
};

struct SchemaDiff {
  SchemaPtr schema;                 // equal to the old one: nothing to do (IF NOT EXISTS)
  std::vector<SchemaEvent> events;  // the first is the statement's own result
};

// Pure; runs on shard 0 against the latest snapshot.
using SchemaTransformation = std::function<Result<SchemaDiff>(const SchemaPtr&)>;

// One shard's view.
class SchemaStore {
 public:
  virtual ~SchemaStore() = default;
  virtual const SchemaPtr& current() const = 0;
  virtual Task<Result<SchemaDiff>> change(SchemaTransformation transformation) = 0;
  // Called on this shard after the snapshot changed here. Listeners live as long as the store.
  using Listener = std::function<void(const SchemaDiff&)>;
  virtual void add_listener(Listener listener) = 0;
};

// The snapshot that every node starts from: all system keyspaces, real and virtual.
SchemaPtr builtin_schema();

}  // namespace cassandra_like
