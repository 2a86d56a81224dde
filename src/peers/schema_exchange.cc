#include "peers/schema_exchange.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/dcheck.h"
#include "messaging/wire/mutation_codec.h"
#include "peers/mutation_check.h"
#include "schema/schema_digest.h"

namespace cassandra_like {

namespace {

// Partitions of one table as updates.
class PartitionCollector final : public UnfilteredSink {
 public:
  using Updates = std::map<Bytes, std::vector<PartitionUpdate>, std::less<>>;

  // `updates` by partition key. Everything outlives this.
  PartitionCollector(const TableMetadata& table, bool with_cdc, Arena& arena, Updates& updates)
      : table_(table), left_out_(with_cdc ? nullptr : table.column("cdc")), arena_(arena), updates_(updates) {}

  void begin_partition(const Partition& partition) override {
    is_wanted_ = !is_local_system_keyspace(partition.key.key);
    update_ = PartitionUpdate();
    update_.table = &table_;
    update_.key = {partition.key.token, arena_.copy(partition.key.key)};
    update_.partition_deletion = partition.deletion;
    rows_.clear();
    tombstones_.clear();
  }
  void unfiltered(const Unfiltered& unfiltered) override {
    if (!is_wanted_) return;
    if (unfiltered.is_row) return add(copy_row(unfiltered.row, arena_));
    const RangeTombstoneMarker& marker = unfiltered.marker;
    const ClusteringKind kind = marker.bound.kind;
    if (is_end(kind) || is_boundary(kind)) {
      DCHECK(!tombstones_.empty());
      tombstones_.back().end = copy(marker.bound, is_boundary(kind), false);
    }
    if (is_start(kind) || is_boundary(kind)) {
      tombstones_.push_back({copy(marker.bound, is_boundary(kind), true), {}, marker.open});
    }
  }
  bool end_partition() override {
    if (!is_wanted_) return true;
    auto rows = arena_.make_span<Row>(rows_.size());
    std::ranges::copy(rows_, rows.begin());
    auto tombstones = arena_.make_span<RangeTombstone>(tombstones_.size());
    std::ranges::copy(tombstones_, tombstones.begin());
    update_.rows = rows;
    update_.range_tombstones = tombstones;
    updates_[Bytes(update_.key.key)].push_back(update_);
    return true;
  }

 private:
  void add(Row row) {
    if (left_out_ != nullptr) {
      auto cells = arena_.make_span<Cell>(row.cells.size());
      const auto end = std::ranges::copy_if(row.cells, cells.begin(), [this](const Cell& cell) {
                         return cell.column->name != left_out_->name;
                       }).out;
      row.cells = cells.first(static_cast<size_t>(end - cells.begin()));
    }
    rows_.push_back(row);
  }
  // One side of a boundary is a bound of its own.
  ClusteringPrefix copy(const ClusteringPrefix& bound, bool is_boundary, bool is_start) {
    auto values = arena_.make_span<BytesView>(bound.values.size());
    std::ranges::transform(bound.values, values.begin(), [this](BytesView value) { return arena_.copy(value); });
    ClusteringPrefix out{bound.kind, values, arena_.copy(bound.comparable)};
    if (!is_boundary) return out;
    const bool end_is_open = bound.kind == ClusteringKind::kExclEndInclStartBoundary;
    if (is_start) {
      out.kind = end_is_open ? ClusteringKind::kInclStartBound : ClusteringKind::kExclStartBound;
    } else {
      out.kind = end_is_open ? ClusteringKind::kExclEndBound : ClusteringKind::kInclEndBound;
    }
    return out;
  }

  const TableMetadata& table_;
  const Column* const left_out_;
  Arena& arena_;
  Updates& updates_;
  bool is_wanted_ = false;
  PartitionUpdate update_;
  std::vector<Row> rows_;
  std::vector<RangeTombstone> tombstones_;
};

Task<Status> read_tables(ShardRuntime* runtime, Replica* replica, Arena* arena, PartitionCollector::Updates* updates) {
  const SchemaPtr schema = replica->schema().current();
  for (const char* name : schema_tables_in_digest_order()) {
    ReadRequest request;
    request.command.table = schema->table("system_schema", name);
    request.command.range = KeyRange{};
    request.command.now_seconds = runtime->clock.wall_seconds();
    request.columns = ColumnFilter::all(*request.command.table);
    PartitionCollector collector(*request.command.table, replica->local_node().cdc_enabled, *arena, *updates);
    Task<Result<ReadStatistics>> reading = replica->read_unfiltered(request, collector);
    CO_TRY(co_await reading);
  }
  co_return Status();
}

}  // namespace

// A change between the reads of two tables would show a table without its columns.
Task<Result<std::vector<Bytes>>> export_schema(ShardRuntime* runtime, Replica* replica) {
  Arena arena;
  PartitionCollector::Updates updates;
  std::function<Task<Status>()> read = [&] { return read_tables(runtime, replica, &arena, &updates); };
  Task<Status> reading = replica->schema().read_between_changes(read);
  CO_TRY(co_await reading);
  std::vector<Bytes> mutations;
  for (const auto& [key, of_keyspace] : updates) {
    serialize(Mutation{"system_schema", of_keyspace[0].key, of_keyspace}, mutations.emplace_back());
  }
  co_return mutations;
}

Result<std::vector<Bytes>> split_schema_mutations(BytesView body, const Schema& schema) {
  const TableById find = [&schema](const Uuid& id) { return schema.table(id).get(); };
  Reader in(body);
  const int32_t count = in.i32();
  std::vector<Bytes> out;
  Arena arena;
  for (int32_t i = 0; i < count; ++i) {
    const BytesView rest = in.rest();
    ASSIGN_OR_RETURN(Mutation mutation, read_mutation(in, find, arena));
    if (mutation.keyspace != "system_schema") return invalid("it writes to " + std::string(mutation.keyspace));
    if (const char* flaw = flaw_of_schema(mutation)) return Error(ErrorCode::kCorruption, flaw);
    out.emplace_back(rest.substr(0, rest.size() - in.remaining()));
    arena.reset();
  }
  if (in.failed() || count < 0 || !in.at_end()) return Error(ErrorCode::kCorruption, "Corrupt schema mutations");
  return out;
}

SharedBytes join_schema_mutations(const std::vector<Bytes>& mutations) {
  const std::vector<BytesView> views(mutations.begin(), mutations.end());
  Bytes body;
  append_schema_mutations(body, views);
  return SharedBytes::copy_of(body);
}

}  // namespace cassandra_like
