#include "replica/size_estimates.h"

#include <algorithm>
#include <map>

#include "model/values.h"
#include "ring/token_ring.h"
#include "runtime/gather.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

constexpr size_t kRowsOfMutation = 1000;
constexpr int64_t kMicros = 1'000'000;

// The key of a row behind its keyspace: table, in table_estimates the kind of range, the range's ends.
using RowName = std::vector<Bytes>;
struct Numbers {
  int64_t mean_partition_size = 0, partitions_count = 0;
  bool operator==(const Numbers&) const = default;
};
// The rows of one of the two tables, by keyspace.
using Rows = std::map<std::string, std::map<RowName, Numbers>>;

struct UnwrappedRange {
  KeyRange keys;
  std::string start, end;  // as Cassandra prints tokens; the ring's end is its smallest token
};

// This node's primary ranges, without those that wrap around.
std::vector<UnwrappedRange> primary_ranges(const TokenRing& ring) {
  std::vector<UnwrappedRange> out;
  auto add = [&out](Token left, RingPosition start, Token right, RingPosition end) {
    out.push_back({{std::move(start), std::move(end)}, std::to_string(left), std::to_string(right)});
  };
  for (const TokenRange& range : ring.primary_ranges(ring.local())) {
    if (range.left < range.right) {
      add(range.left, RingPosition::after(range.left), range.right, RingPosition::after(range.right));
    } else {
      add(range.left, RingPosition::after(range.left), kMinimumToken, RingPosition::maximum());
      add(kMinimumToken, RingPosition::minimum(), range.right, RingPosition::after(range.right));
    }
  }
  return out;
}

using Estimates = std::vector<SizeEstimate>;  // in order of the ranges

// One range a turn: each looks into every SSTable.
Task<Result<Estimates>> estimate_on(Executor* executor, Replica* replica, Uuid table,
                                    const std::vector<UnwrappedRange>* ranges) {
  Estimates out;
  for (const UnwrappedRange& range : *ranges) {
    CO_ASSIGN_OR_RETURN(const SizeEstimate estimate, replica->maintenance().estimate_size(table, range.keys));
    out.push_back(estimate);
    co_await executor->yield();
  }
  co_return out;
}

// The estimate of all shards together.
Task<Result<Estimates>> estimate(Runtime* runtime, const std::vector<Replica*>* replicas, Uuid table,
                                 const std::vector<UnwrappedRange>* ranges) {
  auto ask = [runtime, replicas, table, ranges](unsigned shard) {
    return estimate_on(&runtime->shard(shard).executor, (*replicas)[shard], table, ranges);
  };
  auto parts = co_await gather<Result<Estimates>>(*runtime, runtime->shard(0).executor, ask);
  Estimates sum(ranges->size());
  for (Result<Estimates>& part : parts) {
    if (!part.ok()) co_return std::move(part.error());
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i].partitions += (*part)[i].partitions;
      sum[i].partition_bytes += (*part)[i].partition_bytes;
      sum[i].counted += (*part)[i].counted;
    }
  }
  co_return sum;
}

Task<Result<Rows>> read_rows(Replica* replica, TablePtr table, int64_t now_micros) {
  ReadCommand command;
  command.table = table;
  command.range = KeyRange{};
  command.now_seconds = now_micros / kMicros;
  InternalRows found(table);
  Task<Result<ReadStatistics>> read = replica->read(command, found);
  Result<ReadStatistics> done = co_await read;
  if (!done.ok()) co_return std::move(done.error());
  Rows rows;
  for (const InternalRow& row : found.rows) {
    RowName name;
    for (const ColumnPtr& column : table->clustering) name.push_back(row.get(column->name));
    auto number = [&row](const char* column) {
      const Bytes& value = row.get(column);
      return value.size() == 8 ? load_be<int64_t>(value.data()) : int64_t{-1};
    };
    rows[row.text("keyspace_name")][std::move(name)] = {number("mean_partition_size"), number("partitions_count")};
  }
  co_return rows;
}

struct RowChange {
  RowName name;
  std::optional<Numbers> numbers;  // nullopt: the row goes
};

std::vector<RowChange> difference(const std::map<RowName, Numbers>& before, const std::map<RowName, Numbers>& after) {
  std::vector<RowChange> changes;
  for (const auto& [name, numbers] : after) {
    auto old = before.find(name);
    if (old == before.end() || old->second != numbers) changes.push_back({name, numbers});
  }
  for (const auto& [name, numbers] : before) {
    if (!after.contains(name)) changes.push_back({name, std::nullopt});
  }
  return changes;
}

Task<Status> write_changes(Replica* replica, TablePtr table, std::string keyspace, std::vector<RowChange> changes,
                           int64_t now_micros) {
  for (size_t from = 0; from < changes.size(); from += kRowsOfMutation) {
    Arena arena;
    UpdateBuilder update(table, {keyspace}, now_micros, arena);
    for (size_t i = from; i < std::min(changes.size(), from + kRowsOfMutation); ++i) {
      const RowChange& change = changes[i];
      if (!change.numbers) {
        update.delete_prefix(change.name);
        continue;
      }
      update.row(change.name)
          .set("mean_partition_size", encode_bigint(change.numbers->mean_partition_size))
          .set("partitions_count", encode_bigint(change.numbers->partitions_count));
    }
    std::vector<PartitionUpdate> updates{update.build()};
    const Mutation mutation{table->keyspace, updates[0].key, updates};
    Task<Status> written = replica->mutate(mutation);
    Status status = co_await written;
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Task<Status> replace_rows(Replica* replica, TablePtr table, const Rows* wanted, int64_t now_micros) {
  Task<Result<Rows>> read = read_rows(replica, table, now_micros);
  Result<Rows> before = co_await read;
  if (!before.ok()) co_return std::move(before.error());
  static const std::map<RowName, Numbers> kNone;
  std::map<std::string, std::vector<RowChange>> changes;
  for (const auto& [keyspace, rows] : *wanted) changes[keyspace] = difference((*before)[keyspace], rows);
  for (const auto& [keyspace, rows] : *before) {
    if (!wanted->contains(keyspace)) changes[keyspace] = difference(rows, kNone);
  }
  for (auto& [keyspace, of_keyspace] : changes) {
    Task<Status> task = write_changes(replica, table, keyspace, std::move(of_keyspace), now_micros);
    Status status = co_await task;
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace

Task<Status> record_size_estimates(Runtime* runtime, std::vector<Replica*> replicas) {
  Replica* replica = replicas[0];
  const SchemaPtr schema = replica->schema().current();
  const std::vector<UnwrappedRange> ranges = primary_ranges(*replica->topology().current()->ring());
  Rows sizes, tables;
  for (const auto& [name, keyspace] : schema->keyspaces()) {
    if (keyspace->is_virtual || keyspace->replication.short_class() == "LocalStrategy") continue;
    for (const auto& [table_name, table] : keyspace->tables) {
      Task<Result<Estimates>> task = estimate(runtime, &replicas, table->id, &ranges);
      Result<Estimates> estimates = co_await task;
      if (!estimates.ok()) co_return std::move(estimates.error());
      for (size_t i = 0; i < ranges.size(); ++i) {
        const SizeEstimate& e = (*estimates)[i];
        const Numbers numbers{static_cast<int64_t>(e.counted == 0 ? 0 : e.partition_bytes / e.counted),
                              static_cast<int64_t>(e.partitions)};
        sizes[name][{table_name, ranges[i].start, ranges[i].end}] = numbers;
        for (const char* type : {"primary", "local_primary"}) {
          tables[name][{table_name, type, ranges[i].start, ranges[i].end}] = numbers;
        }
      }
    }
  }
  const int64_t now = runtime->shard(0).clock.wall_micros();
  Task<Status> first = replace_rows(replica, schema->table("system", "size_estimates"), &sizes, now);
  Status status = co_await first;
  if (!status.ok()) co_return status;
  Task<Status> second = replace_rows(replica, schema->table("system", "table_estimates"), &tables, now);
  co_return co_await second;
}

Task<Status> forget_size_estimates(Replica* replica, std::string keyspace, std::string table, int64_t now_micros) {
  const SchemaPtr schema = replica->schema().current();
  for (const char* name : {"size_estimates", "table_estimates"}) {
    Arena arena;
    UpdateBuilder update(schema->table("system", name), {keyspace}, now_micros, arena);
    if (table.empty()) {
      update.delete_partition();
    } else {
      update.delete_prefix({table});
    }
    std::vector<PartitionUpdate> updates{update.build()};
    const Mutation mutation{"system", updates[0].key, updates};
    Task<Status> written = replica->mutate(mutation);
    Status status = co_await written;
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace cassandra_like
