// The shards' SchemaStores and what they have in common: the queue of changes, which runs on shard 0.
#pragma once

#include <deque>

#include "replica/replica.h"

namespace cassandra_like {

class SchemaStoreImpl;

// Node-wide; touched on shard 0 only, but for `stores`, which is filled before any use.
struct SchemaChanges {
  explicit SchemaChanges(Runtime& r) : runtime(r) {}

  Task<Result<SchemaDiff>> run(SchemaTransformation transformation);
  // Hands the snapshot to every engine and shard.
  Task<Status> publish(SchemaDiff diff);

  Runtime& runtime;
  std::vector<SchemaStoreImpl*> stores;  // by shard
  std::vector<Engine*> engines;          // by shard
  Verbs* verbs = nullptr;                // of shard 0
  // Keeps system.local's schema_version; runs on shard 0.
  std::function<Task<Status>(Uuid version)> save_version;

 private:
  Task<Status> write(const SchemaPtr* before, const SchemaPtr* after);

  bool busy_ = false;
  std::deque<Promise<bool>*> waiting_;
  int64_t last_timestamp_ = 0;
};

class SchemaStoreImpl : public SchemaStore {
 public:
  SchemaStoreImpl(SchemaChanges& changes, unsigned shard) : changes_(changes), shard_(shard) {}
  const SchemaPtr& current() const override { return current_; }
  Task<Result<SchemaDiff>> change(SchemaTransformation transformation) override;
  void add_listener(Listener listener) override { listeners_.push_back(std::move(listener)); }

  void set(SchemaPtr schema) { current_ = std::move(schema); }
  void set_and_tell(const SchemaDiff& diff) {
    current_ = diff.schema;
    for (auto& listener : listeners_) listener(diff);
  }

 private:
  SchemaChanges& changes_;
  unsigned shard_;
  SchemaPtr current_;
  std::vector<Listener> listeners_;
};

}  // namespace cassandra_like
