// CREATE, ALTER and DROP KEYSPACE. The options of replication are ring/replication.h's.
#include "cql/schema/schema_statement.h"
#include "cql/schema/table_options.h"

namespace cassandra_like {
namespace {

// The replication that the statement gives; none: it gives none.
Result<std::optional<StringPairs>> read_replication(const ast::Properties& properties) {
  PropertyReader in(properties);
  TRY(in.check_names({"durable_writes", "replication"}));
  if (!in.has("replication")) return std::optional<StringPairs>();
  ASSIGN_OR_RETURN(StringPairs replication, in.map("replication"));
  if (!replication.empty() && !replication.contains("class")) {
    return config_error("Missing replication strategy class");
  }
  return std::optional<StringPairs>(std::move(replication));
}

Result<bool> read_durable_writes(const ast::Properties& properties, bool otherwise) {
  PropertyReader in(properties);
  if (!in.has("durable_writes")) return otherwise;
  return in.boolean("durable_writes");
}

// The options to be stored: the written ones, completed and checked.
Result<StringPairs> prepare_options(const std::string& keyspace, StringPairs written, const StringPairs& previous,
                                    const SchemaChangeInput& input) {
  ReplicationRequest request;
  request.keyspace = keyspace;
  request.options = std::move(written);
  request.options.emplace("class", "");
  request.previous = previous;
  for (const auto& [name, nodes] : input.ring->datacenters()) request.datacenters.push_back(name);
  request.default_replication_factor = input.options->default_keyspace_rf;
  return prepare_replication(request);
}

// The number of replicas in all; the warnings that it deserves are in the input.
Result<int> check_factor(const std::string& keyspace, const ReplicationParams& replication, SchemaChangeInput& input) {
  ASSIGN_OR_RETURN(const ReplicationStrategy strategy, ReplicationStrategy::make(replication));
  for (const std::string& warning : replication_warnings(keyspace, strategy, *input.ring)) {
    input.warnings.push_back(warning);
  }
  return strategy.replication_factor();
}

int factor_of(const ReplicationParams& replication) {
  auto strategy = ReplicationStrategy::make(replication);
  return strategy.ok() ? strategy->replication_factor() : 0;
}

}  // namespace

SchemaResult apply_change(SchemaChange<ast::CreateKeyspace> c) {
  ASSIGN_OR_RETURN(auto written, read_replication(c.change.properties));
  if (!written) return invalid("Missing mandatory option 'replication'");
  if (c.schema->keyspace(c.keyspace) != nullptr) {
    if (c.change.if_not_exists) return c.schema;
    ErrorInfo info;
    info.code = ErrorCode::kAlreadyExists;
    info.message = "Cannot add existing keyspace \"" + c.keyspace + "\"";
    info.keyspace = c.keyspace;
    return Error(std::move(info));
  }
  auto keyspace = std::make_shared<KeyspaceMetadata>();
  keyspace->name = c.keyspace;
  ASSIGN_OR_RETURN(keyspace->replication.durable_writes, read_durable_writes(c.change.properties, true));
  ASSIGN_OR_RETURN(keyspace->replication.options, prepare_options(c.keyspace, *written, {}, c.input));
  TRY(check_factor(c.keyspace, keyspace->replication, c.input));
  return SchemaPtr(c.schema->with_keyspace(std::move(keyspace)));
}

SchemaResult apply_change(SchemaChange<ast::AlterKeyspace> c) {
  ASSIGN_OR_RETURN(auto written, read_replication(c.change.properties));
  KeyspacePtr old = c.schema->keyspace(c.keyspace);
  if (old == nullptr) {
    if (c.change.if_exists) return c.schema;
    return keyspace_does_not_exist(c.keyspace);
  }
  auto keyspace = std::make_shared<KeyspaceMetadata>(*old);
  ReplicationParams& replication = keyspace->replication;
  ASSIGN_OR_RETURN(replication.durable_writes, read_durable_writes(c.change.properties, replication.durable_writes));
  const StringPairs& before = old->replication.options;
  const bool is_given = written && !written->empty();
  ASSIGN_OR_RETURN(replication.options, prepare_options(c.keyspace, is_given ? *written : before, before, c.input));
  ASSIGN_OR_RETURN(int factor, check_factor(c.keyspace, replication, c.input));
  if (replication == old->replication) return c.schema;
  if (factor > factor_of(old->replication)) {
    c.input.warnings.push_back(
        "When increasing replication factor you need to run a full (-full) repair to distribute the data.");
  }
  return SchemaPtr(c.schema->with_keyspace(std::move(keyspace)));
}

SchemaResult apply_change(SchemaChange<ast::DropKeyspace> c) {
  if (c.schema->keyspace(c.keyspace) != nullptr) return SchemaPtr(c.schema->without_keyspace(c.keyspace));
  if (c.change.if_exists) return c.schema;
  return keyspace_does_not_exist(c.keyspace);
}

}  // namespace cassandra_like
