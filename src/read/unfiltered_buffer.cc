#include "read/unfiltered_buffer.h"

#include <algorithm>

#include "base/dcheck.h"

namespace cassandra_like {

ClusteringPrefix UnfilteredBuffer::copy(const ClusteringPrefix& prefix) {
  auto values = arena_.make_span<BytesView>(prefix.values.size());
  std::transform(prefix.values.begin(), prefix.values.end(), values.begin(),
                 [this](BytesView value) { return arena_.copy(value); });
  return {prefix.kind, values, arena_.copy(prefix.comparable)};
}

void UnfilteredBuffer::begin_partition(const Partition& partition) {
  DCHECK(partitions_.empty() || partitions_.back().key < partition.key);
  const bool fits = has_room_for(partition.static_row);
  partitions_.push_back({{partition.key.token, arena_.copy(partition.key.key)},
                         partition.deletion,
                         fits ? copy_row(partition.static_row, arena_) : Row(),
                         unfiltereds_.size()});
  if (!fits) cut();
}

// A row may be larger than all that the buffer is to have.
bool UnfilteredBuffer::has_room_for(const Row& row) const {
  if (last_ == Last::kWhole) return true;
  size_t bytes = 0;
  for (const Cell& cell : row.cells) bytes += sizeof(Cell) + cell.value.size();
  return !has_enough(bytes);
}

void UnfilteredBuffer::unfiltered(const Unfiltered& unfiltered) {
  if (is_cut_) return;
  if (unfiltered.is_row && !has_room_for(unfiltered.row)) return cut();
  Unfiltered& held = unfiltereds_.emplace_back(unfiltered);
  if (unfiltered.is_row) {
    held.row = copy_row(unfiltered.row, arena_);
  } else {
    held.marker.bound = copy(unfiltered.marker.bound);
  }
  if (last_ == Last::kKey && has_enough()) cut();
}

void UnfilteredBuffer::cut() {
  unfiltereds_.erase(unfiltereds_.begin() + static_cast<ptrdiff_t>(partitions_.back().first), unfiltereds_.end());
  is_full_ = is_cut_ = true;
  want_more(false);
}

bool UnfilteredBuffer::end_partition() {
  is_full_ = is_cut_ || has_enough();
  return !is_full_;
}

PartitionReader& UnfilteredBuffer::take() {
  const Held& held = partitions_[next_++];
  const size_t end = has_partition() ? partitions_[next_].first : unfiltereds_.size();
  reader_.start(held, std::span(unfiltereds_).subspan(held.first, end - held.first));
  return reader_;
}

void UnfilteredBuffer::clear() {
  partitions_.clear();
  unfiltereds_.clear();
  arena_.reset();
  next_ = 0;
  is_full_ = is_cut_ = false;
  want_more(true);
}

void UnfilteredBuffer::HeldReader::start(const Held& held, std::span<const Unfiltered> unfiltereds) {
  key_ = held.key;
  partition_deletion_ = held.deletion;
  static_row_ = held.static_row;
  all_ = unfiltereds;
  at_ = 0;
}

}  // namespace cassandra_like
