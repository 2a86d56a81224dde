#include "read/row_buffer.h"

namespace cassandra_like {

void RowBuffer::count_bytes(const Row& row) {
  bytes_ += sizeof(Row) + row.cells.size() * sizeof(Cell) + row.clustering.comparable.size();
  for (const BytesView value : row.clustering.values) bytes_ += sizeof(BytesView) + value.size();
  for (const Cell& cell : row.cells) bytes_ += cell.value.size() + cell.path.size();
}

RowSink::Next RowBuffer::begin_partition(const DecoratedKey& key, const Row& static_row) {
  partitions_.push_back({{key.token, arena_.copy(key.key)}, copy_row(static_row, arena_), rows_.size(), bytes_});
  bytes_ += sizeof(Partition) + key.key.size();
  count_bytes(static_row);
  return Next::kContinue;
}

RowSink::Next RowBuffer::row(const Row& row) {
  rows_.push_back(copy_row(row, arena_));
  count_bytes(row);
  // A partition without clustering has no other row.
  if (bytes_ < kBytes || row.clustering.values.empty()) return Next::kContinue;
  const Partition& partition = partitions_.back();
  if (rows_.size() - partition.first_row < whole_.rows && bytes_ - partition.bytes_before < whole_.bytes) {
    return Next::kContinue;
  }
  cut_ = true;
  return Next::kStop;
}

RowSink::Next RowBuffer::end_partition() { return bytes_ < kBytes ? Next::kContinue : Next::kStop; }

void RowBuffer::ended_behind(const ClusteringPrefix* row, uint64_t left_in_partition) {
  cut_ = row != nullptr && !row->values.empty() && left_in_partition > 0;
}

void RowBuffer::clear() {
  partitions_.clear();
  rows_.clear();
  arena_.reset();
  bytes_ = 0;
  next_ = 0;
  cut_ = false;
}

RowSink::Next RowBuffer::deliver(RowSink& sink, RowCounter& counter, bool goes_on) {
  const bool cut = is_cut();
  const Partition& partition = partitions_[next_++];
  const size_t end = has_partition() ? partitions_[next_].first_row : rows_.size();
  Next next = Next::kContinue;
  if (goes_on) {
    sink.continue_partition(partition.key);
  } else {
    counter.begin_partition(partition.key);
    next = sink.begin_partition(partition.key, partition.static_row);
  }
  Enough enough = Enough::kNo;
  const ClusteringPrefix* last = nullptr;
  for (size_t i = partition.first_row; i < end && next == Next::kContinue && enough == Enough::kNo; ++i) {
    last = &rows_[i].clustering;
    next = sink.row(rows_[i]);
    enough = counter.row();
  }
  if (partition.first_row == end && next != Next::kStop) enough = counter.only_static_row();
  if (next == Next::kStop) return next;
  if (cut && next == Next::kContinue && enough == Enough::kNo) return next;
  if (sink.end_partition() == Next::kStop) return Next::kStop;
  if (enough != Enough::kOfRead) return Next::kContinue;
  sink.ended_behind(last, counter.left_in_partition());
  return Next::kStop;
}

Bytes RowBuffer::last_clustering(const TableMetadata& table) const {
  if (rows_.empty()) return Bytes();
  const ClusteringPrefix& clustering = rows_.back().clustering;
  Bytes place(clustering.comparable);
  if (place.empty()) append_comparable(place, table, clustering.values, ClusteringKind::kClustering);
  return place;
}

}  // namespace cassandra_like
