#include "read/read_digest.h"

#include <cstdlib>

namespace cassandra_like {

namespace {

constexpr size_t kGathered = 4096;

// The shards of a counter, without the header that only its own node understands.
BytesView counter_shards(BytesView context) {
  if (context.size() < sizeof(int16_t)) return context;
  const int entries = std::abs(static_cast<int>(static_cast<int16_t>(load_be<uint16_t>(context.data()))));
  const size_t header = sizeof(int16_t) * (1 + static_cast<size_t>(entries));
  return header <= context.size() ? context.substr(header) : BytesView("", 0);
}

}  // namespace

template <class T>
void ReadDigest::number(T v) {
  append_be(pending_, v);
}

void ReadDigest::flush() {
  md5_.update(pending_);
  pending_.clear();
}

void ReadDigest::names(const ColumnFilter::Columns& columns) {
  for (const Column* column : columns) pending_ += column->name;
}

void ReadDigest::clustering(const ClusteringPrefix& prefix) {
  for (BytesView value : prefix.values) pending_ += value;
  number(static_cast<uint8_t>(prefix.kind));
}

void ReadDigest::cell(const Cell& cell) {
  const bool is_counter = cell.column->type->is_counter() && !cell.is_tombstone();
  pending_ += is_counter ? counter_shards(cell.value) : cell.value;
  number(cell.timestamp);
  number(cell.ttl);
  boolean(is_counter);
  pending_ += cell.path;
}

void ReadDigest::row(const Row& row) {
  number<uint8_t>(0);
  clustering(row.clustering);
  number(row.deletion.marked_for_delete_at);
  boolean(false);
  number(row.liveness.timestamp);
  if (row.liveness.is_expiring()) {
    number(static_cast<uint32_t>(row.liveness.local_expiration_time));
    number(row.liveness.ttl);
  }
  size_t next = 0;
  auto delete_before = [&](const Column* column) {
    while (next < row.complex_deletions.size() &&
           (column == nullptr || compare_columns(row.complex_deletions[next].column, column) <= 0)) {
      number(row.complex_deletions[next++].deletion.marked_for_delete_at);
    }
  };
  for (const Cell& c : row.cells) {
    if (next < row.complex_deletions.size()) delete_before(c.column);
    cell(c);
  }
  delete_before(nullptr);
}

void ReadDigest::begin_partition(const Partition& partition) {
  pending_ += partition.key.key;
  number(partition.deletion.marked_for_delete_at);
  names(request_.columns.fetched_regulars);
  if (!partition.static_row.is_empty()) names(request_.columns.fetched_statics);
  is_reversed_ = partition.is_reversed;
  boolean(is_reversed_);
  Row static_row = partition.static_row;
  static_row.clustering = static_clustering();
  row(static_row);
}

void ReadDigest::unfiltered(const Unfiltered& unfiltered) {
  if (unfiltered.is_row) {
    row(unfiltered.row);
  } else {
    const RangeTombstoneMarker& marker = unfiltered.marker;
    clustering(marker.bound);
    // In clustering order, whichever way it is read.
    const DeletionTime& first = is_reversed_ ? marker.open : marker.close;
    const DeletionTime& second = is_reversed_ ? marker.close : marker.open;
    if (!first.is_live()) number(first.marked_for_delete_at);
    if (!second.is_live()) number(second.marked_for_delete_at);
  }
  if (pending_.size() >= kGathered) flush();
}

Bytes ReadDigest::finish() {
  flush();
  const std::array<uint8_t, 16> digest = md5_.finish();
  return Bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace cassandra_like
