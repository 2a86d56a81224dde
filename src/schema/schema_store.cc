#include "schema/schema_store.h"

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

void SchemaStore::publish(const SchemaDiff& diff) {
  current_ = diff.schema;
  for (auto& listener : listeners_) listener(diff);
}

}  // namespace cassandra_like
