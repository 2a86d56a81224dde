#include <algorithm>

#include "replica/gather.h"
#include "replica/schema_store_impl.h"
#include "replica/schema_tables.h"

namespace cassandra_like {
namespace {

Task<Result<SchemaDiff>> run_change(SchemaChanges* changes, SchemaTransformation transformation) {
  return changes->run(std::move(transformation));
}

Task<Status> publish_on_shard(SchemaChanges* changes, unsigned shard, const SchemaDiff* diff, int64_t at_millis) {
  CO_TRY(co_await changes->engines[shard]->set_schema(diff->schema, at_millis));
  changes->stores[shard]->set_and_tell(*diff);
  co_return Status();
}

}  // namespace

Task<Result<SchemaDiff>> SchemaStoreImpl::change(SchemaTransformation transformation) {
  Executor& here = changes_.runtime.shard(shard_).executor;
  auto* changes = &changes_;
  auto change = [changes, transformation = std::move(transformation)] { return run_change(changes, transformation); };
  co_return co_await run_on<Result<SchemaDiff>>(here, changes_.runtime.shard(0).executor, std::move(change));
}

Task<Result<SchemaDiff>> SchemaChanges::run(SchemaTransformation transformation) {
  if (busy_) {
    Promise<bool> turn;
    waiting_.push_back(&turn);
    co_await turn;
  }
  busy_ = true;
  SchemaPtr before = stores[0]->current();
  Result<SchemaDiff> diff = transformation(before);
  if (diff.ok() && diff->schema != before) {
    diff->schema = diff->schema->with_version(schema_version(*diff->schema));
    Status status = co_await write(&before, &diff->schema);
    if (status.ok()) status = co_await publish(*diff);
    if (!status.ok()) diff = std::move(status.error());
  }
  busy_ = false;
  if (!waiting_.empty()) {
    auto* next = waiting_.front();
    waiting_.pop_front();
    busy_ = true;
    runtime.shard(0).executor.post([next] { next->set(true); });
  }
  co_return diff;
}

Task<Status> SchemaChanges::write(const SchemaPtr* before, const SchemaPtr* after) {
  // Two changes in one microsecond must not tie: the later one has to win.
  last_timestamp_ = std::max(last_timestamp_ + 2, runtime.shard(0).clock.wall_micros());
  Arena arena;
  std::vector<std::string> names;
  for (const auto& [name, keyspace] : (*before)->keyspaces()) names.push_back(name);
  for (const auto& [name, keyspace] : (*after)->keyspaces()) {
    if ((*before)->keyspace(name) == nullptr) names.push_back(name);
  }
  for (const std::string& name : names) {
    KeyspacePtr old_keyspace = (*before)->keyspace(name), new_keyspace = (*after)->keyspace(name);
    if (old_keyspace == new_keyspace) continue;
    auto updates = schema_updates(**before, old_keyspace.get(), new_keyspace.get(), last_timestamp_, arena);
    if (updates.empty()) continue;
    Mutation mutation{"system_schema", updates[0].key, updates};
    CO_TRY(co_await verbs->mutate(mutation));
  }
  CO_TRY(co_await save_version((*after)->version()));
  auto engines_of_node = &engines;
  auto sync = [engines_of_node](unsigned shard) { return (*engines_of_node)[shard]->sync_commitlog(); };
  auto synced = co_await gather<Status>(runtime, runtime.shard(0).executor, sync);
  co_return first_error(std::move(synced));
}

Task<Status> SchemaChanges::publish(SchemaDiff diff) {
  auto* self = this;
  auto* d = &diff;
  int64_t at_millis = runtime.shard(0).clock.wall_millis();
  auto publish_one = [self, d, at_millis](unsigned shard) { return publish_on_shard(self, shard, d, at_millis); };
  auto statuses = co_await gather<Status>(runtime, runtime.shard(0).executor, publish_one);
  co_return first_error(std::move(statuses));
}

}  // namespace cassandra_like
