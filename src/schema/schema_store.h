// The node's schema as one shard sees it: an immutable snapshot, and listeners for the next one.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "runtime/task.h"
#include "schema/schema_diff.h"

namespace cassandra_like {

class SchemaUpdateHandler;

// The next schema, as a function of the latest and of the clock's time, in microseconds. The write time of the change's
// mutations may be later. It returns the schema that it was given when there is nothing to do (IF NOT EXISTS). Runs on shard 0.
using SchemaTransformation = std::function<Result<SchemaPtr>(const SchemaPtr& latest, int64_t wall_micros)>;

class SchemaStore {
 public:
  // Without a handler, nothing can be changed here: kInvalid.
  explicit SchemaStore(SchemaUpdateHandler* handler = nullptr, unsigned shard = 0) : handler_(handler), shard_(shard) {}

  const SchemaPtr& current() const { return current_; }
  // SchemaUpdateHandler::change() and merge(), from this shard.
  Task<Result<SchemaDiff>> change(SchemaTransformation transformation);
  Task<Result<SchemaDiff>> merge(std::vector<Bytes> mutations);
  // SchemaUpdateHandler::read_between_changes(), of and from this shard.
  Task<Status> read_between_changes(std::function<Task<Status>()> read);
  // SchemaUpdateHandler::reload() and replace(), from shard 0.
  Task<Result<SchemaDiff>> reload();
  Task<Result<SchemaDiff>> replace(std::vector<Bytes> mutations);

  // Called on this shard after the snapshot changed here. Listeners live as long as the store.
  using Listener = std::function<void(const SchemaDiff&)>;
  void add_listener(Listener listener) { listeners_.push_back(std::move(listener)); }
  // On shard 0 alone: told of each change that was made on this node, on any shard, with its mutations. Merged ones
  // are other nodes' own.
  void add_change_listener(Listener listener);

  // At the start: listeners are told nothing.
  void use(SchemaPtr schema) { current_ = std::move(schema); }
  void publish(const SchemaDiff& diff);
  void announce(const SchemaDiff& diff);

 private:
  SchemaUpdateHandler* handler_;
  unsigned shard_;
  SchemaPtr current_;
  std::vector<Listener> listeners_, change_listeners_;
};

}  // namespace cassandra_like
