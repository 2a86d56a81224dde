// The tables that a command names, and work on them on every shard.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "admin/api.h"

namespace cassandra_like::admin {

using Selections = std::vector<TableSelection>;

// Fills in the tables that `keyspace` and `table…` name, or says why there are none. Most of Cassandra's commands meet an
// unknown table as a failure; where it is a bad argument, unknown_table is 400.
std::optional<Answer> select(const Schema& schema, const Parameters& parameters, Selections& selections,
                             int unknown_table = 404);

// The tables of the selections that are stored, in the schema's order.
std::vector<TablePtr> tables_of(const Schema& schema, const Selections& selections);

// Takes a snapshot of a table on one shard after the other. The request has no schema yet.
Task<Status> snapshot_table(AdminContextPtr context, TablePtr table, SnapshotRequest request);

// Called on each shard.
using TableWork = std::function<Task<Status>(Maintenance& maintenance, const TableSelection& selection)>;
Task<Answer> on_selections(AdminContextPtr context, Selections selections, TableWork work);
// The tables of `keyspace` and `table…`.
Task<Answer> on_named_tables(AdminContextPtr context, Parameters parameters, TableWork work, int unknown_table = 404);

}  // namespace cassandra_like::admin
