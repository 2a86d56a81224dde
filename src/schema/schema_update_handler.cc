#include "schema/schema_update_handler.h"

#include <algorithm>

#include "runtime/gather.h"
#include "schema/schema_tables.h"

namespace cassandra_like {
namespace {

Task<Result<SchemaDiff>> run_change(SchemaUpdateHandler* handler, SchemaTransformation transformation) {
  return handler->change(std::move(transformation));
}

Task<Status> publish_on_shard(const SchemaNode* node, SchemaStore* store, unsigned shard, const SchemaDiff* diff,
                              int64_t at_millis) {
  Task<Status> used = node->use_schema(shard, diff->schema, at_millis);
  CO_TRY(co_await used);
  store->publish(*diff);
  co_return Status();
}

}  // namespace

void SchemaUpdateHandler::attach(SchemaNode node, std::vector<SchemaStore*> stores) {
  node_ = std::move(node);
  stores_ = std::move(stores);
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::change_from(unsigned shard, SchemaTransformation transformation) {
  auto* self = this;
  auto change = [self, transformation = std::move(transformation)] { return run_change(self, transformation); };
  co_return co_await run_on<Result<SchemaDiff>>(runtime_.shard(shard).executor, runtime_.shard(0).executor,
                                                std::move(change));
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::change(SchemaTransformation transformation) {
  if (busy_) {
    Promise<bool> turn;
    waiting_.push_back(&turn);
    co_await turn;
  }
  busy_ = true;
  // Two changes in one microsecond must not tie: the later one has to win.
  last_timestamp_ = std::max(last_timestamp_ + 2, runtime_.shard(0).clock.wall_micros());
  Result<SchemaPtr> next = transformation(stores_[0]->current(), last_timestamp_);
  Result<SchemaDiff> diff = SchemaDiff{stores_[0]->current(), {}, {}};
  if (!next.ok()) {
    diff = std::move(next.error());
  } else if (*next != stores_[0]->current()) {
    diff = co_await apply(*next);
  }
  busy_ = false;
  if (!waiting_.empty()) {
    auto* waiter = waiting_.front();
    waiting_.pop_front();
    busy_ = true;
    runtime_.shard(0).executor.post([waiter] { waiter->set(true); });
  }
  co_return diff;
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::apply(SchemaPtr next) {
  SchemaPtr before = stores_[0]->current();
  SchemaDiff diff{next, schema_events(*before, *next), {}};
  if (diff.events.empty()) co_return SchemaDiff{before, {}, {}};
  diff.schema = next->with_version(schema_version(*next));
  CO_TRY(co_await write(&before, &diff.schema));
  CO_TRY(co_await publish(&diff));
  co_return diff;
}

Task<Status> SchemaUpdateHandler::write(const SchemaPtr* before, const SchemaPtr* after) {
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
    CO_TRY(co_await node_.write(mutation));
  }
  CO_TRY(co_await node_.save_version((*after)->version()));
  co_return co_await node_.sync();
}

Task<Status> SchemaUpdateHandler::publish(const SchemaDiff* diff) {
  auto* self = this;
  int64_t at_millis = runtime_.shard(0).clock.wall_millis();
  auto publish_one = [self, diff, at_millis](unsigned shard) {
    return publish_on_shard(&self->node_, self->stores_[shard], shard, diff, at_millis);
  };
  auto statuses = co_await gather<Status>(runtime_, runtime_.shard(0).executor, publish_one);
  co_return first_error(std::move(statuses));
}

}  // namespace cassandra_like
