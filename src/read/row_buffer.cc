#include "read/row_buffer.h"

#include <cstring>

namespace cassandra_like {

namespace {
constexpr uint32_t kNullValue = ~uint32_t{0};
}  // namespace

void RowBuffer::count_bytes(const Row& row) {
  bytes_ += sizeof(Row) + row.cells.size() * sizeof(Cell) + row.clustering.comparable.size();
  for (const BytesView value : row.clustering.values) bytes_ += sizeof(BytesView) + value.size();
  for (const Cell& cell : row.cells) bytes_ += cell.value.size() + cell.path.size();
}

RowSink::Next RowBuffer::begin_partition(const DecoratedKey& key, const Row& static_row) {
  Partition partition{{key.token, arena_.copy(key.key)}, row_count(), bytes(), 0};
  bytes_ += sizeof(Partition) + key.key.size();
  if (fork_) {
    partition.encoded_from = fork_->encoded().size();
    fork_->begin_partition(key, static_row);
  } else {
    static_rows_.push_back(copy_row(static_row, arena_));
    count_bytes(static_row);
  }
  partitions_.push_back(partition);
  return Next::kContinue;
}

RowSink::Next RowBuffer::row(const Row& row) {
  if (fork_) {
    fork_->row(row);
    keep_clustering(row.clustering);
  } else {
    rows_.push_back(copy_row(row, arena_));
    count_bytes(row);
  }
  return taken(row.clustering);
}

RowSink::Next RowBuffer::uniform_row(const UniformRow& row) {
  fork_->uniform_row(row);
  keep_clustering(row.clustering);
  return taken(row.clustering);
}

void RowBuffer::keep_clustering(const ClusteringPrefix& clustering) {
  const size_t begin = clusterings_.size();
  encoded_.push_back({fork_->encoded().size(), begin});
  for (const BytesView value : clustering.values) {
    const uint32_t size = is_null(value) ? kNullValue : static_cast<uint32_t>(value.size());
    clusterings_.append(reinterpret_cast<const char*>(&size), sizeof size);
    clusterings_.append(value);
  }
  bytes_ += sizeof(EncodedRow) + clusterings_.size() - begin;
}

RowSink::Next RowBuffer::taken(const ClusteringPrefix& clustering) {
  // A partition without clustering has no other row.
  const size_t all = bytes();
  if (all < kBytes || clustering.values.empty()) return Next::kContinue;
  const Partition& partition = partitions_.back();
  if (row_count() - partition.first_row < whole_.rows && all - partition.bytes_before < whole_.bytes) {
    return Next::kContinue;
  }
  cut_ = true;
  return Next::kStop;
}

void RowBuffer::continue_partition(const DecoratedKey& key) {
  if (fork_) fork_->continue_partition(key);
}

RowSink::Next RowBuffer::end_partition() {
  if (fork_) fork_->end_partition();
  return bytes() < kBytes && row_count() < share_ ? Next::kContinue : Next::kStop;
}

void RowBuffer::clear() {
  partitions_.clear();
  static_rows_.clear();
  rows_.clear();
  encoded_.clear();
  clusterings_.clear();
  if (fork_) fork_->clear_encoded();
  arena_.reset();
  bytes_ = 0;
  next_ = 0;
  cut_ = false;
}

RowSink::Next RowBuffer::deliver(RowSink& sink, RowCounter& counter, bool goes_on) {
  const bool cut = is_cut();
  const Partition& partition = partitions_[next_++];
  const size_t end = has_partition() ? partitions_[next_].first_row : row_count();
  if (!goes_on) counter.begin_partition(partition.key);
  if (fork_) return deliver_encoded(sink, counter, partition, end);
  Next next = Next::kContinue;
  if (goes_on) {
    sink.continue_partition(partition.key);
  } else {
    next = sink.begin_partition(partition.key, static_rows_[next_ - 1]);
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

RowSink::Next RowBuffer::deliver_encoded(RowSink& sink, RowCounter& counter, const Partition& partition, size_t end) {
  Enough enough = Enough::kNo;
  size_t row = partition.first_row;
  while (row < end && enough == Enough::kNo) {
    enough = counter.row();
    ++row;
  }
  const BytesView encoded = fork_->encoded();
  const size_t whole = has_partition() ? partitions_[next_].encoded_from : encoded.size();
  const size_t until = row < end ? encoded_[row - 1].end : whole;
  uint64_t rows = row - partition.first_row;
  if (rows == 0) enough = counter.only_static_row();
  const bool only_static = rows == 0 && until > partition.encoded_from;
  const BytesView bytes = encoded.substr(partition.encoded_from, until - partition.encoded_from);
  if (sink.encoded_rows(partition.key, bytes, only_static ? 1 : rows) == Next::kStop) return Next::kStop;
  if (enough != Enough::kOfRead) return Next::kContinue;
  std::vector<BytesView> values;
  ClusteringPrefix last;
  if (rows > 0) last = clustering_at(row - 1, values);
  sink.ended_behind(rows > 0 ? &last : nullptr, counter.left_in_partition());
  return Next::kStop;
}

ClusteringPrefix RowBuffer::clustering_at(size_t row, std::vector<BytesView>& values) const {
  size_t at = encoded_[row].clustering;
  const size_t end = row + 1 < encoded_.size() ? encoded_[row + 1].clustering : clusterings_.size();
  while (at < end) {
    uint32_t size = 0;
    std::memcpy(&size, clusterings_.data() + at, sizeof size);
    at += sizeof size;
    values.push_back(size == kNullValue ? kNull : BytesView(clusterings_).substr(at, size));
    at += values.back().size();
  }
  return {ClusteringKind::kClustering, values, {}};
}

Bytes RowBuffer::last_clustering(const TableMetadata& table) const {
  if (row_count() == 0) return Bytes();
  std::vector<BytesView> values;
  const ClusteringPrefix clustering = fork_ ? clustering_at(encoded_.size() - 1, values) : rows_.back().clustering;
  Bytes place(clustering.comparable);
  if (place.empty()) append_comparable(place, table, clustering.values, ClusteringKind::kClustering);
  return place;
}

}  // namespace cassandra_like
