// Reading virtual tables: their rows become a partition each time, filtered and ordered as the command asks.
#include <algorithm>
#include <map>

#include "replica/replica_impl.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

struct OwnedRow {
  std::vector<std::optional<Bytes>> values;
  std::vector<Bytes> clustering;
  Bytes comparable;
};

struct OwnedPartition {
  Bytes key;
  std::vector<OwnedRow> rows;
};

// Ordered by token and then key.
using Partitions = std::map<std::pair<Token, Bytes>, OwnedPartition>;

Partitions group(const TableMetadata& table, VirtualRows rows) {
  Partitions partitions;
  size_t key_columns = table.partition_key.size(), clustering_columns = table.clustering.size();
  for (VirtualRow& values : rows) {
    std::vector<BytesView> key;
    for (size_t i = 0; i < key_columns; ++i) key.push_back(values[i] ? BytesView(*values[i]) : BytesView("", 0));
    OwnedRow row;
    std::vector<BytesView> clustering;
    for (size_t i = 0; i < clustering_columns; ++i) row.clustering.push_back(values[key_columns + i].value_or(""));
    for (const Bytes& value : row.clustering) clustering.push_back(value);
    append_comparable(row.comparable, table, clustering, ClusteringKind::kClustering);
    row.values = std::move(values);
    Bytes serialized = serialize_partition_key(key);
    auto& partition = partitions[{murmur3_token(serialized), serialized}];
    partition.key = serialized;
    partition.rows.push_back(std::move(row));
  }
  for (auto& [key, partition] : partitions) {
    std::sort(partition.rows.begin(), partition.rows.end(),
              [](const OwnedRow& a, const OwnedRow& b) { return a.comparable < b.comparable; });
  }
  return partitions;
}

class PartitionFeeder {
 public:
  PartitionFeeder(const TableMetadata& table, const ReadCommand& command, RowSink& sink)
      : table_(table),
        command_(command),
        sink_(sink),
        counter_(command.limits, command.counts_static_rows()),
        columns_(table.all_columns_in_select_order()) {}

  uint64_t rows() const { return counter_.rows(); }

  // False when the sink has had enough.
  bool feed(const OwnedPartition& partition) {
    Arena arena;
    DecoratedKey key = DecoratedKey::of(partition.key);
    Row no_static;
    no_static.clustering.kind = ClusteringKind::kStaticClustering;
    bool begun = false;
    Enough enough = Enough::kNo;
    ClusteringPrefix last;
    counter_.begin_partition(key);
    size_t count = partition.rows.size();
    for (size_t i = 0; i < count && enough == Enough::kNo; ++i) {
      const OwnedRow& owned = partition.rows[command_.reversed ? count - 1 - i : i];
      Row row = view(owned, arena);
      if (!wanted(row, key, no_static)) continue;
      if (!begun) {
        auto next = sink_.begin_partition(key, no_static);
        if (next != RowSink::Next::kContinue) return next != RowSink::Next::kStop;
        begun = true;
      }
      enough = counter_.row();
      if (!command_.wants_rows) break;
      last = row.clustering;
      auto next = sink_.row(row);
      if (next == RowSink::Next::kStop) return false;
      if (next == RowSink::Next::kSkipPartition) break;
    }
    if (begun && sink_.end_partition() == RowSink::Next::kStop) return false;
    if (enough != Enough::kOfRead) return true;
    sink_.ended_behind(command_.wants_rows ? &last : nullptr, counter_.left_in_partition());
    return false;
  }

 private:
  Row view(const OwnedRow& owned, Arena& arena) const {
    size_t first_other = table_.partition_key.size() + table_.clustering.size();
    auto clustering = arena.make_span<BytesView>(owned.clustering.size());
    for (size_t i = 0; i < owned.clustering.size(); ++i) clustering[i] = owned.clustering[i];
    auto cells = arena.make_span<Cell>(columns_.size() - first_other);
    size_t count = 0;
    for (size_t i = first_other; i < columns_.size(); ++i) {
      if (!owned.values[i]) continue;
      cells[count].column = columns_[i];
      cells[count].timestamp = 0;
      cells[count++].value = *owned.values[i];
    }
    std::sort(cells.begin(), cells.begin() + static_cast<ptrdiff_t>(count),
              [](const Cell& a, const Cell& b) { return compare_columns(a.column, b.column) < 0; });
    Row row;
    row.clustering = {ClusteringKind::kClustering, clustering, owned.comparable};
    row.liveness.timestamp = 0;
    row.cells = cells.first(count);
    return row;
  }

  bool wanted(const Row& row, const DecoratedKey& key, const Row& no_static) const {
    bool inside = command_.slices.empty();
    for (const Slice& slice : command_.slices) inside = inside || slice.contains(row.clustering.comparable);
    return inside && satisfies(command_.filter, table_, key, no_static, row, command_.now_seconds);
  }

  const TableMetadata& table_;
  const ReadCommand& command_;
  RowSink& sink_;
  RowCounter counter_;
  std::vector<const Column*> columns_;
};

}  // namespace

Task<Result<ReadStatistics>> ReplicaImpl::read_virtual(VirtualTable* table, const ReadCommand* command, RowSink* sink) {
  VirtualRows rows = co_await table->rows();
  Partitions partitions = group(*command->table, std::move(rows));
  PartitionFeeder feeder(*command->table, *command, *sink);
  ReadStatistics statistics;
  if (command->range) {
    for (const auto& [position, partition] : partitions) {
      if (!command->range->contains(DecoratedKey{position.first, partition.key})) continue;
      statistics.stopped = !feeder.feed(partition);
      if (statistics.stopped) break;
    }
    statistics.rows = feeder.rows();
    co_return statistics;
  }
  for (const DecoratedKey& key : command->keys) {
    auto it = partitions.find({key.token, Bytes(key.key)});
    if (it != partitions.end()) statistics.stopped = !feeder.feed(it->second);
    if (statistics.stopped) break;
  }
  statistics.rows = feeder.rows();
  co_return statistics;
}

}  // namespace cassandra_like
