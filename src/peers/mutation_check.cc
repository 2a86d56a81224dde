#include "peers/mutation_check.h"

#include <algorithm>

#include "base/dcheck.h"
#include "model/counter.h"

namespace cassandra_like {

namespace {

bool are_in_order(const PartitionUpdate& update) {
  for (size_t i = 1; i < update.rows.size(); ++i) {
    if (update.rows[i - 1].clustering.comparable >= update.rows[i].clustering.comparable) return false;
  }
  for (size_t i = 1; i < update.range_tombstones.size(); ++i) {
    if (update.range_tombstones[i - 1].end.comparable > update.range_tombstones[i].start.comparable) return false;
  }
  return true;
}

bool are_counters(const Row& row) {
  return std::ranges::all_of(row.cells, [](const Cell& cell) {
    return cell.is_tombstone() || !cell.column->type->is_counter() || is_counter_context(cell.value);
  });
}

// A context that is none would be merged as an empty one: what the counter had would be gone.
bool has_whole_counters(const PartitionUpdate& update) {
  if (!update.table->is_counter()) return true;
  return are_counters(update.static_row) && std::ranges::all_of(update.rows, are_counters);
}

bool has_valid_values(const TableMetadata& table, const Row& row) {
  for (size_t i = 0; i < row.clustering.values.size(); ++i) {
    const BytesView value = row.clustering.values[i];
    if (is_null(value) || !table.clustering[i]->type->validate(value).ok()) return false;
  }
  return std::ranges::all_of(row.cells, [](const Cell& cell) {
    DCHECK(!cell.column->type->is_multi_cell());
    return cell.is_tombstone() || cell.column->type->validate(cell.value).ok();
  });
}

}  // namespace

const char* flaw_of_parts(const Mutation& mutation) {
  for (const PartitionUpdate& update : mutation.updates) {
    if (update.key.key != mutation.key.key) return "its parts are of different partitions";
    if (update.table->keyspace != mutation.keyspace) return "its parts are of different keyspaces";
    if (!are_in_order(update)) return "its rows are not in order";
    if (!has_whole_counters(update)) return "a counter of it is damaged";
  }
  return nullptr;
}

const char* flaw_of_write(const Mutation& mutation) {
  for (const PartitionUpdate& update : mutation.updates) {
    if (update.table->local_only || update.table->is_virtual) return "it writes to a table of the node's own";
  }
  return flaw_of_parts(mutation);
}

const char* flaw_of_schema(const Mutation& mutation) {
  if (const char* flaw = flaw_of_parts(mutation)) return flaw;
  for (const PartitionUpdate& update : mutation.updates) {
    const auto has_valid = [&](const Row& row) { return has_valid_values(*update.table, row); };
    if (!update.table->partition_key_type()->validate(update.key.key).ok() ||
        !std::ranges::all_of(update.rows, has_valid)) {
      return "a value of it is none of its column's type";
    }
  }
  return nullptr;
}

}  // namespace cassandra_like
