// Live rows on their way from one shard to another: a sink that copies them there, and their delivery to the real sink
// here. They refer to the columns of the table that was read, which whoever asked keeps alive.
//
// The memory is bounded: a buffer that is full stops the read. The rest is asked for behind the last partition, or
// behind the last row when that partition is cut.
#pragma once

#include <vector>

#include "read/read_command.h"

namespace cassandra_like {

class RowBuffer final : public RowSink {
 public:
  // A full buffer holds this many bytes, and at most one row more.
  static constexpr size_t kBytes = 256 * 1024;
  // A partition is not cut before it has so many rows or bytes here.
  struct WholePartition {
    uint64_t rows = 0;
    size_t bytes = 0;
  };

  RowBuffer() = default;
  explicit RowBuffer(WholePartition whole) : whole_(whole) {}

  Next begin_partition(const DecoratedKey& key, const Row& static_row) override;
  Next row(const Row& row) override;
  Next end_partition() override;
  void ended_behind(const ClusteringPrefix* row, uint64_t left_in_partition) override;

  // Forgets everything but keeps its memory.
  void clear();
  // For the rows: the room that is reserved for more of them may be as much again.
  size_t bytes() const { return bytes_; }

  // False when all partitions were delivered. Then key() is that of the first one that was not.
  bool has_partition() const { return next_ < partitions_.size(); }
  const DecoratedKey& key() const { return partitions_[next_].key; }
  // The partition at key() may have more rows than are here.
  bool is_cut() const { return cut_ && next_ + 1 == partitions_.size(); }
  void skip() { ++next_; }
  // Feeds a partition to the sink, as far as the counter lets it. goes_on: rows of it were delivered before.
  // A partition that is cut does not end.
  Next deliver(RowSink& sink, RowCounter& counter, bool goes_on = false);

  // The place behind all that came, delivered or not. There was a partition.
  const DecoratedKey& last_key() const { return partitions_.back().key; }
  // The comparable clustering of the last row.
  Bytes last_clustering(const TableMetadata& table) const;

 private:
  struct Partition {
    DecoratedKey key;
    Row static_row;
    size_t first_row;  // in rows_; the last one is before the next partition's first
    size_t bytes_before;
  };
  void count_bytes(const Row& row);

  Arena arena_;
  std::vector<Partition> partitions_;
  std::vector<Row> rows_;
  WholePartition whole_;
  size_t bytes_ = 0;
  size_t next_ = 0;
  bool cut_ = false;
};

}  // namespace cassandra_like
