// Turns the rows of a read into the rows of a result: encodes values and feeds groups.
//
// The read counts rows and ends where the page ends (read/limits.h); it tells the sink the place (ended_behind). Groups
// are known here alone, so the sink shows them to a GroupCounter and ends the read when that says so.
#pragma once

#include "absl/container/inlined_vector.h"
#include "base/pooled_bytes.h"
#include "cql/context/paging_state.h"
#include "cql/selection/grouping.h"
#include "read/read_command.h"

namespace cassandra_like {

class SelectSink : public EncodingSink {
 public:
  // one_row_per_partition: SELECT DISTINCT. The read asks for one row of each partition.
  // static_rows: a partition without rows but with static values is a result (no clustering restriction asked for rows).
  SelectSink(const TableMetadata& table, const Selection& selection, ExecutionContext& context,
             bool one_row_per_partition, bool static_rows);
  // Rows of the result are groups; the read ends when there are as many as the limits say.
  void group_by(const Grouping& grouping, const DataLimits& limits);
  // All rows are one group.
  void group_all() { groups_.emplace(table_, selection_, nullptr); }

  // Functions may call the shard's processor; columns are only copied.
  bool callable_from_any_shard() const override { return selection_.is_pure(); }
  bool takes_any_order() const override { return groups_ && groups_->is_one_group() && selection_.takes_any_order(); }
  Next begin_partition(const DecoratedKey& key, const Row& static_row) override;
  Next row(const Row& row) override;
  void continue_partition(const DecoratedKey& key) override { take_key(key); }
  bool takes_uniform_rows() const override {
    return selection_.is_plain() && !groups_ && !one_row_per_partition_ && !keep_positions_ && marks_ != Marks::kLegacy;
  }
  Next uniform_row(const UniformRow& row) override;
  Next end_partition() override;
  void ended_behind(const ClusteringPrefix* row, uint64_t left_in_partition) override;
  // Rows of plain columns are the same bytes on any shard.
  std::unique_ptr<EncodingSink> fork() const override;
  Next encoded_rows(const DecoratedKey& key, BytesView bytes, uint64_t rows) override;
  BytesView encoded() const override { return {out_.data(), size_}; }
  void clear_encoded() override { size_ = 0; }

  // The partition of this key goes on, whose first groups were of an earlier page. The key outlives the sink.
  void continue_groups(BytesView key, uint64_t left_in_partition);

  // An error of a function stops the read; it is asked for afterwards.
  Status take_status() { return std::move(status_); }
  // Rows of the result; the last group is one of them when finish() was called.
  uint64_t row_count() const { return rows_; }
  // The groups are all there, or there was an error.
  bool stopped() const { return (group_counter_ && group_counter_->done()) || !status_.ok(); }
  // The last row of a page, and of a read of groups. Its key:
  const Bytes& last_key() const { return last_key_; }
  // Its comparable clustering, of groups; empty when the partition is done.
  const Bytes& last_clustering() const { return last_clustering_; }
  // The rest of PER PARTITION LIMIT in its partition; 0 when that has one row only.
  uint64_t left_in_partition() const;
  // Marks the last row for the paging state of a page of so many rows. A static row leaves the mark of the page before.
  void keep_mark(int protocol_version, uint64_t page, Bytes before) {
    marks_ = has_legacy_marks(protocol_version) ? Marks::kLegacy : Marks::kModern;
    page_ = page;
    mark_before_ = std::move(before);
  }
  const Bytes& last_mark() const { return last_mark_; }

  // After the last row: writes the last group. The encoded rows are complete then.
  Status finish();
  PooledBytes take_rows() { return std::move(out_); }
  // For ORDER BY over several partitions: where each row starts in the output, and the first `columns` of its clustering.
  void keep_positions(size_t columns) {
    keep_positions_ = true;
    ordering_columns_ = columns;
  }
  struct Position {
    size_t offset;
    Bytes comparable;
  };
  std::vector<Position>& positions() { return positions_; }
  Bytes& rows() { return out_; }

 private:
  SelectSink(const TableMetadata& table, const Selection& selection, const ExecutionContext& context, bool is_fork,
             bool one_row_per_partition, bool static_rows);
  void take_key(const DecoratedKey& key);
  Next emit(const Row* row);
  Next begin_groups_of_partition();
  Result<Next> emit_to_group(const Row* row);
  Status close_group();
  void mark(const ClusteringPrefix* clustering);
  void mark_legacy(const Row& row);
  void keep_place(const ClusteringPrefix* clustering);
  Bytes ordering_place(const ClusteringPrefix& clustering);
  Status write_row(const InputRow& input);
  char* extend(size_t n);
  bool grow(size_t n);
  void join_pieces();
  void append_value(BytesView value);
  void append_json(std::string& json, const ColumnSpec& spec, BytesView value);
  InputRow input(const Row* row);

  const TableMetadata& table_;
  const Selection& selection_;
  Arena row_arena_{1024};
  ExecutionContext row_context_;
  RequestShare share_;
  const bool is_fork_;
  bool one_row_per_partition_;
  bool static_rows_;
  bool keep_positions_ = false;
  size_t ordering_columns_ = 0;
  Status status_;

  DecoratedKey key_;
  absl::InlinedVector<BytesView, 4> key_components_;
  Arena partition_arena_{256};
  Row static_row_;
  bool has_rows_ = false;  // of the partition
  uint64_t rows_ = 0;
  enum class Marks : uint8_t { kNone, kModern, kLegacy } marks_ = Marks::kNone;
  uint64_t page_ = 0;
  Bytes last_key_, last_clustering_, last_mark_, mark_before_;
  bool last_has_clustering_ = false;
  uint64_t left_in_partition_ = 0;
  PooledBytes out_;  // with room for more behind
  size_t size_ = 0;  // of what is written of it
  // A large answer begins with these, since it would take long to copy all of it each time it grows. Never in a fork.
  std::vector<Bytes> pieces_;
  size_t piece_bytes_ = 0;
  std::vector<Position> positions_;
  std::optional<GroupCollector> groups_;
  DataLimits group_limits_;
  std::optional<GroupCounter> group_counter_;  // none when all rows are one group
};

}  // namespace cassandra_like
