// Live rows on their way from one shard to another: a sink that keeps them there, and their delivery to the real sink
// here. When the real sink can be forked, the fork makes its bytes of the rows there, and whole partitions of bytes are
// delivered. Otherwise rows are copied; they refer to the columns of the table that was read, which whoever asked keeps
// alive.
//
// The memory is bounded: a buffer that is full stops the read. The rest is asked for behind the last partition, or
// behind the last row when that partition is cut.
#pragma once

#include <vector>

#include "read/read_command.h"

namespace cassandra_like {

class RowBuffer final : public RowSink {
 public:
  // A buffer that is full holds this many bytes. It takes no more but the rest of a whole partition.
  static constexpr size_t kBytes = 192 * 1024;
  // A partition is not cut before it has so many rows or bytes here.
  struct WholePartition {
    uint64_t rows = 0;
    size_t bytes = 0;
  };

  explicit RowBuffer(WholePartition whole) : whole_(whole) {}

  // Rows are encoded from here on. Before the first one.
  void encode_with(std::unique_ptr<EncodingSink> fork) { fork_ = std::move(fork); }
  bool encodes() const { return fork_ != nullptr; }
  // It has enough behind the partition that brings so many rows.
  void set_share(uint64_t rows) { share_ = rows; }

  Next begin_partition(const DecoratedKey& key, const Row& static_row) override;
  Next row(const Row& row) override;
  bool takes_uniform_rows() const override { return fork_ != nullptr && fork_->takes_uniform_rows(); }
  Next uniform_row(const UniformRow& row) override;
  void continue_partition(const DecoratedKey& key) override;
  Next end_partition() override;

  // Forgets everything but keeps its memory.
  void clear();
  // For the rows: the room that is reserved for more of them may be as much again.
  size_t bytes() const { return bytes_ + (fork_ ? fork_->encoded().size() : 0); }

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
    size_t first_row;  // the last one is before the next partition's first
    size_t bytes_before;
    size_t encoded_from;
  };
  // A row that is encoded ends there in the fork's bytes; its clustering begins here in clusterings_.
  struct EncodedRow {
    size_t end;
    size_t clustering;
  };
  size_t row_count() const { return fork_ ? encoded_.size() : rows_.size(); }
  void count_bytes(const Row& row);
  Next taken(const ClusteringPrefix& clustering);
  void keep_clustering(const ClusteringPrefix& clustering);
  ClusteringPrefix clustering_at(size_t row, std::vector<BytesView>& values) const;
  Next deliver_encoded(RowSink& sink, RowCounter& counter, const Partition& partition, size_t end);

  Arena arena_;
  std::vector<Partition> partitions_;
  std::vector<Row> static_rows_;  // of the partitions, when rows are copied
  std::vector<Row> rows_;
  std::unique_ptr<EncodingSink> fork_;
  std::vector<EncodedRow> encoded_;
  Bytes clusterings_;  // of each row: values as [uint32 size or ~0: null][bytes], in the processor's byte order
  WholePartition whole_;
  uint64_t share_ = DataLimits::kNone;
  size_t bytes_ = 0;  // beside what the fork has
  size_t next_ = 0;
  bool cut_ = false;
};

}  // namespace cassandra_like
