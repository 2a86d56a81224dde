// Changes of the node's schema (schema.DefaultSchemaUpdateHandler): one after the other, on shard 0.
//
// A change is mutations of system_schema: they are written and synced, what they touch is read again, the next snapshot
// goes to every shard, the difference to its listeners. A change that fails before the write changes nothing.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "model/mutation.h"
#include "read/read_command.h"
#include "runtime/runtime.h"
#include "schema/schema_store.h"

namespace cassandra_like {

// What the handler asks of the node that it is part of. All but use_schema run on shard 0.
struct SchemaNode {
  // Borrows the mutation until the Task is done.
  std::function<Task<Status>(const Mutation&)> write;
  std::function<Task<Result<ReadStatistics>>(const ReadCommand&, RowSink&)> read;
  // What was written is on the disks of all shards.
  std::function<Task<Status>()> sync;
  // system.local has this schema_version.
  std::function<Task<Status>(Uuid version)> save_version;
  // Runs on the shard: its engine opens and drops tables. `at_millis` names the snapshots of dropped tables.
  std::function<Task<Status>(unsigned shard, SchemaPtr schema, int64_t at_millis)> use_schema;
};

class SchemaUpdateHandler {
 public:
  explicit SchemaUpdateHandler(Runtime& runtime) : runtime_(runtime) {}
  // Before anything else. The stores, by shard, must live as long as the handler.
  void attach(SchemaNode node, std::vector<SchemaStore*> stores);

  // Runs the transformation on the latest schema, and makes what it returns the schema.
  Task<Result<SchemaDiff>> change(SchemaTransformation transformation);
  // The same, for a caller on another shard; the result is brought back there.
  Task<Result<SchemaDiff>> change_from(unsigned shard, SchemaTransformation transformation);

 private:
  Task<Result<SchemaDiff>> apply(SchemaPtr next);
  Task<Status> write(const SchemaPtr* before, const SchemaPtr* after);
  Task<Status> publish(const SchemaDiff* diff);

  Runtime& runtime_;
  SchemaNode node_;
  std::vector<SchemaStore*> stores_;
  bool busy_ = false;
  std::deque<Promise<bool>*> waiting_;
  int64_t last_timestamp_ = 0;
};

}  // namespace cassandra_like
