// Live rows on their way from one shard to another: a sink that serializes them, and the replay into the real sink.
//
// The bytes are a sequence of partitions: u32 length, then a Mutation of one partition in Cassandra's serialization (mutation.h),
// as a peer's read response holds them.
#pragma once

#include <vector>

#include "model/mutation.h"
#include "model/read_command.h"

namespace cassandra_like {

class RowBuffer : public RowSink {
 public:
  explicit RowBuffer(TablePtr table) : table_(std::move(table)) {}
  Next begin_partition(const DecoratedKey& key, const Row& static_row) override;
  Next row(const Row& row) override;
  Next end_partition() override;

  Bytes take() { return std::move(out_); }

 private:
  TablePtr table_;
  Arena arena_;
  Bytes key_;
  Row static_row_;
  std::vector<Row> rows_;
  Bytes out_;
};

// Reads what RowBuffer wrote, one partition at a time.
class RowBufferReader {
 public:
  RowBufferReader(const ReadCommand& command, Bytes data);
  // False at the end. Then key() is the current partition's.
  bool at_partition() const { return has_current_; }
  const DecoratedKey& key() const { return current_.key; }
  // Feeds the current partition to the sink and goes to the next one; counts rows into *delivered (a partition with none
  // as one, if the command counts static rows) and stops at `limit`.
  RowSink::Next deliver(RowSink& sink, uint64_t limit, uint64_t* delivered);

 private:
  void advance();

  TablePtr table_;
  Bytes data_;
  bool reversed_;
  bool counts_static_;
  Reader in_;
  Arena arena_;
  PartitionUpdate current_;
  bool has_current_ = false;
};

}  // namespace cassandra_like
