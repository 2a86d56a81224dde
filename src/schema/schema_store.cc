#include "schema/schema_store.h"

#include "base/dcheck.h"
#include "schema/schema_update_handler.h"

namespace cassandra_like {

Task<Result<SchemaDiff>> SchemaStore::change(SchemaTransformation transformation) {
  if (handler_ == nullptr) return Result<SchemaDiff>(invalid("This schema cannot be changed"));
  return handler_->change_from(shard_, std::move(transformation));
}

Task<Result<SchemaDiff>> SchemaStore::merge(std::vector<Bytes> mutations) {
  if (handler_ == nullptr) return Result<SchemaDiff>(invalid("This schema cannot be changed"));
  return handler_->merge_from(shard_, std::move(mutations));
}

Task<Status> SchemaStore::read_between_changes(std::function<Task<Status>()> read) {
  if (handler_ == nullptr) return read();
  return handler_->read_between_changes_from(shard_, std::move(read));
}

Task<Result<SchemaDiff>> SchemaStore::reload() {
  DCHECK(shard_ == 0);
  if (handler_ == nullptr) return Result<SchemaDiff>(invalid("This schema cannot be changed"));
  return handler_->reload();
}

Task<Result<SchemaDiff>> SchemaStore::replace(std::vector<Bytes> mutations) {
  DCHECK(shard_ == 0);
  if (handler_ == nullptr) return Result<SchemaDiff>(invalid("This schema cannot be changed"));
  return handler_->replace(std::move(mutations));
}

void SchemaStore::add_change_listener(Listener listener) {
  DCHECK(shard_ == 0);
  change_listeners_.push_back(std::move(listener));
}

void SchemaStore::publish(const SchemaDiff& diff) {
  // A shard that missed a change learns of both now.
  SchemaDiff here{diff.schema, diff.events, {}, {}};
  if (current_ != nullptr) here.changed_tables = changed_tables(*current_, *diff.schema);
  current_ = diff.schema;
  for (auto& listener : listeners_) listener(here);
}

void SchemaStore::announce(const SchemaDiff& diff) {
  DCHECK(shard_ == 0 && !diff.mutations.empty());
  for (auto& listener : change_listeners_) listener(diff);
}

}  // namespace cassandra_like
