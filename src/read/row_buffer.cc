#include "read/row_buffer.h"

namespace cassandra_like {

RowSink::Next RowBuffer::begin_partition(const DecoratedKey& key, const Row& static_row) {
  partitions_.push_back({{key.token, arena_.copy(key.key)}, copy_row(static_row, arena_), rows_.size()});
  return Next::kContinue;
}

RowSink::Next RowBuffer::row(const Row& row) {
  rows_.push_back(copy_row(row, arena_));
  return Next::kContinue;
}

void RowBuffer::clear() {
  partitions_.clear();
  rows_.clear();
  arena_.reset();
  next_ = 0;
}

RowSink::Next RowBuffer::deliver(const ReadCommand& command, RowSink& sink, uint64_t* delivered) {
  const Partition& partition = partitions_[next_++];
  const size_t end = has_partition() ? partitions_[next_].first_row : rows_.size();
  Next next = sink.begin_partition(partition.key, partition.static_row);
  if (partition.first_row == end && command.counts_static_rows()) ++*delivered;
  for (size_t i = partition.first_row; i < end && next == Next::kContinue; ++i) {
    if (*delivered == command.limit) {
      next = Next::kStop;
      break;
    }
    next = sink.row(rows_[i]);
    ++*delivered;
  }
  if (next != Next::kStop) next = sink.end_partition();
  return next != Next::kStop && *delivered >= command.limit ? Next::kStop : next;
}

}  // namespace cassandra_like
