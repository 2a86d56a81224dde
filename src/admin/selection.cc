// One selection after the other, each on all shards at the same time.
#include "admin/selection.h"

#include "admin/statistics.h"
#include "runtime/gather.h"

namespace cassandra_like::admin {

std::optional<Answer> select(const Schema& schema, const Parameters& parameters, Selections& selections,
                             int unknown_table) {
  const std::string& keyspace = parameters.get("keyspace");
  std::vector<std::string> names = parameters.all("table");
  if (keyspace.empty()) {
    if (!names.empty()) return refuse(400, "A table needs its keyspace");
    selections.push_back({});
    return std::nullopt;
  }
  KeyspacePtr found = schema.keyspace(keyspace);
  if (found == nullptr || found->is_virtual) return refuse(400, "Keyspace [" + keyspace + "] does not exist.");
  for (const std::string& name : names) {
    if (found->table(name) == nullptr) {
      return refuse(unknown_table, "Unknown keyspace/cf pair (" + keyspace + "." + name + ")");
    }
    selections.push_back({keyspace, name});
  }
  if (names.empty()) selections.push_back({keyspace, {}});
  return std::nullopt;
}

std::vector<TablePtr> tables_of(const Schema& schema, const Selections& selections) {
  std::vector<TablePtr> tables = stored_tables(schema);
  std::erase_if(tables, [&selections](const TablePtr& table) {
    return std::none_of(selections.begin(), selections.end(), [&table](const TableSelection& selection) {
      return (selection.keyspace.empty() || selection.keyspace == table->keyspace) &&
             (selection.table.empty() || selection.table == table->name);
    });
  });
  return tables;
}

Task<Answer> on_selections(AdminContextPtr context, Selections selections, TableWork work) {
  for (const TableSelection& selection : selections) {
    if (context->stopped) break;
    auto* node = &context->node;
    std::function<Task<Status>(unsigned)> on_shard = [node, selection, work](unsigned shard) {
      return work(node->replicas[shard]->maintenance(), selection);
    };
    Task<std::vector<Status>> task = gather<Status>(*node->runtime, context->here(), std::move(on_shard));
    Status status = first_error(co_await task);
    if (!status.ok()) co_return failure(status.error());
  }
  co_return Answer{};
}

Task<Answer> on_named_tables(AdminContextPtr context, Parameters parameters, TableWork work, int unknown_table) {
  Selections selections;
  if (auto refusal = select(*context->schema(), parameters, selections, unknown_table)) return std::move(*refusal);
  return on_selections(std::move(context), std::move(selections), std::move(work));
}

}  // namespace cassandra_like::admin
