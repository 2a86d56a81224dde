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
// The rows that one of the two tables has of a table.
using Rows = std::map<RowName, Numbers>;

struct TableName {
  std::string keyspace, table;
  auto operator<=>(const TableName&) const = default;
};

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

Task<Result<Rows>> read_rows(Replica* replica, TablePtr table, TableName of, int64_t now_micros) {
  const BytesView prefix[] = {of.table};
  ReadCommand command;
  command.table = table;
  command.keys.push_back(DecoratedKey::of(of.keyspace));
  command.slices.push_back(Slice::of_prefix(*table, prefix));
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
    rows[std::move(name)] = {number("mean_partition_size"), number("partitions_count")};
  }
  co_return rows;
}

// The tables that have rows, each once.
class NamesOfTables final : public RowSink {
 public:
  Next begin_partition(const DecoratedKey& key, const Row&) override {
    keyspace_ = key.key;
    return Next::kContinue;
  }
  Next row(const Row& row) override {
    const BytesView table = row.clustering.values[0];
    const bool is_same = !names.empty() && names.back().keyspace == keyspace_ && names.back().table == table;
    if (!is_same) names.push_back({keyspace_, std::string(table)});
    return Next::kContinue;
  }

  std::vector<TableName> names;

 private:
  std::string keyspace_;
};

struct RowChange {
  RowName name;
  std::optional<Numbers> numbers;  // nullopt: the row goes
};

std::vector<RowChange> difference(const Rows& before, const Rows& after) {
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

Task<Status> replace_rows(Replica* replica, TablePtr table, TableName of, const Rows* wanted, int64_t now_micros) {
  Task<Result<Rows>> read = read_rows(replica, table, of, now_micros);
  CO_ASSIGN_OR_RETURN(const Rows before, co_await read);
  Task<Status> written = write_changes(replica, table, of.keyspace, difference(before, *wanted), now_micros);
  co_return co_await written;
}

// A table may have gone without its rows, when the node stopped in between.
Task<Status> forget_gone(Replica* replica, TablePtr table, SchemaPtr schema, int64_t now_micros) {
  ReadCommand command;
  command.table = table;
  command.range = KeyRange{};
  command.now_seconds = now_micros / kMicros;
  NamesOfTables found;
  Task<Result<ReadStatistics>> read = replica->read(command, found);
  Result<ReadStatistics> done = co_await read;
  if (!done.ok()) co_return std::move(done.error());
  for (const TableName& name : found.names) {
    if (schema->table(name.keyspace, name.table) != nullptr) continue;
    Task<Status> forgotten = forget_size_estimates(replica, name.keyspace, name.table, now_micros);
    CO_TRY(co_await forgotten);
  }
  co_return Status();
}

Numbers numbers_of(const SizeEstimate& estimate) {
  const uint64_t mean = estimate.counted == 0 ? 0 : estimate.partition_bytes / estimate.counted;
  return {static_cast<int64_t>(mean), static_cast<int64_t>(estimate.partitions)};
}

}  // namespace

Task<Status> record_size_estimates(Runtime* runtime, std::vector<Replica*> replicas) {
  Replica* replica = replicas[0];
  const SchemaPtr schema = replica->schema().current();
  const TablePtr sizes = schema->table("system", "size_estimates"), tables = schema->table("system", "table_estimates");
  const std::vector<UnwrappedRange> ranges = primary_ranges(*replica->topology().current()->ring());
  const int64_t now = runtime->shard(0).clock.wall_micros();
  for (const auto& [name, keyspace] : schema->keyspaces()) {
    if (keyspace->is_virtual || keyspace->replication.short_class() == "LocalStrategy") continue;
    for (const auto& [table_name, table] : keyspace->tables) {
      Task<Result<Estimates>> estimated = estimate(runtime, &replicas, table->id, &ranges);
      CO_ASSIGN_OR_RETURN(const Estimates estimates, co_await estimated);
      Rows of_sizes, of_tables;
      for (size_t i = 0; i < ranges.size(); ++i) {
        const Numbers numbers = numbers_of(estimates[i]);
        of_sizes[{table_name, ranges[i].start, ranges[i].end}] = numbers;
        for (const char* type : {"primary", "local_primary"}) {
          of_tables[{table_name, type, ranges[i].start, ranges[i].end}] = numbers;
        }
      }
      Task<Status> first = replace_rows(replica, sizes, {name, table_name}, &of_sizes, now);
      CO_TRY(co_await first);
      Task<Status> second = replace_rows(replica, tables, {name, table_name}, &of_tables, now);
      CO_TRY(co_await second);
    }
  }
  Task<Status> first = forget_gone(replica, sizes, schema, now);
  CO_TRY(co_await first);
  Task<Status> second = forget_gone(replica, tables, schema, now);
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
