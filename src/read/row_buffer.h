// Live rows on their way from one shard to another: a sink that copies them there, and their delivery to the real sink
// here. They refer to the columns of the table that was read, which whoever asked keeps alive.
#pragma once

#include <vector>

#include "read/read_command.h"

namespace cassandra_like {

class RowBuffer final : public RowSink {
 public:
  Next begin_partition(const DecoratedKey& key, const Row& static_row) override;
  Next row(const Row& row) override;

  // Forgets everything but keeps its memory.
  void clear();
  size_t memory_used() const { return arena_.reserved() + rows_.capacity() * sizeof(Row); }

  // False when all partitions were delivered. Then key() is that of the first one that was not.
  bool has_partition() const { return next_ < partitions_.size(); }
  const DecoratedKey& key() const { return partitions_[next_].key; }
  // Feeds a partition to the sink; counts rows into *delivered (a partition with none as one, if the command counts
  // static rows) and stops at command.limit.
  RowSink::Next deliver(const ReadCommand& command, RowSink& sink, uint64_t* delivered);

 private:
  struct Partition {
    DecoratedKey key;
    Row static_row;
    size_t first_row;  // in rows_; the last one is before the next partition's first
  };

  Arena arena_;
  std::vector<Partition> partitions_;
  std::vector<Row> rows_;
  size_t next_ = 0;
};

}  // namespace cassandra_like
