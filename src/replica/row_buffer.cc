#include "replica/row_buffer.h"

#include <algorithm>

namespace cassandra_like {

RowSink::Next RowBuffer::begin_partition(const DecoratedKey& key, const Row& static_row) {
  arena_.reset();
  rows_.clear();
  key_.assign(key.key);
  static_row_ = copy_row(static_row, arena_);
  return Next::kContinue;
}

RowSink::Next RowBuffer::row(const Row& row) {
  rows_.push_back(copy_row(row, arena_));
  return Next::kContinue;
}

RowSink::Next RowBuffer::end_partition() {
  // Rows of a reversed read come from the end; the serialized form is always in order.
  if (rows_.size() > 1 && rows_.back().clustering.comparable < rows_.front().clustering.comparable) {
    std::reverse(rows_.begin(), rows_.end());
  }
  PartitionUpdate update;
  update.table = table_.get();
  update.key = DecoratedKey::of(key_);
  update.static_row = static_row_;
  update.rows = rows_;
  size_t at = out_.size();
  append_be<uint32_t>(out_, 0);
  serialize(Mutation{table_->keyspace, update.key, {&update, 1}}, out_);
  store_be<uint32_t>(out_.data() + at, static_cast<uint32_t>(out_.size() - at - 4));
  return Next::kContinue;
}

RowBufferReader::RowBufferReader(const ReadCommand& command, Bytes data)
    : table_(command.table),
      data_(std::move(data)),
      reversed_(command.reversed),
      counts_static_(command.counts_static_rows()),
      in_(data_) {
  advance();
}

void RowBufferReader::advance() {
  has_current_ = false;
  if (in_.at_end()) return;
  arena_.reset();
  BytesView bytes = in_.take(in_.u32());
  auto mutation = deserialize_mutation(
      bytes, [this](const Uuid&) { return table_.get(); }, arena_);
  CHECK(!in_.failed() && mutation.ok() && mutation->updates.size() == 1);
  current_ = mutation->updates[0];
  has_current_ = true;
}

RowSink::Next RowBufferReader::deliver(RowSink& sink, uint64_t limit, uint64_t* delivered) {
  using Next = RowSink::Next;
  Next next = sink.begin_partition(current_.key, current_.static_row);
  size_t count = current_.rows.size();
  if (count == 0 && counts_static_) ++*delivered;
  for (size_t i = 0; i < count && next == Next::kContinue; ++i) {
    if (*delivered == limit) {
      next = Next::kStop;
      break;
    }
    next = sink.row(current_.rows[reversed_ ? count - 1 - i : i]);
    ++*delivered;
  }
  if (next != Next::kStop) next = sink.end_partition();
  if (next != Next::kStop) {
    advance();
    if (*delivered >= limit) next = Next::kStop;
  }
  return next;
}

}  // namespace cassandra_like
