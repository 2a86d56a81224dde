// Turns the rows of a read into the rows of a result: encodes values, counts limits and pages, feeds groups.
#pragma once

#include <limits>

#include "absl/container/inlined_vector.h"
#include "base/pooled_bytes.h"
#include "cql/context/paging_state.h"
#include "cql/selection/grouping.h"
#include "read/read_command.h"

namespace cassandra_like {

struct SelectLimits {
  uint64_t rows = kNoLimit;  // of LIMIT, what is left of it
  uint64_t per_partition = kNoLimit;
  uint64_t page = std::numeric_limits<uint64_t>::max();
};

class SelectSink : public RowSink {
 public:
  // one_row_per_partition: SELECT DISTINCT, or static columns only.
  // static_rows: a partition without rows but with static values is a result (no clustering restriction asked for rows).
  SelectSink(const TableMetadata& table, const Selection& selection, ExecutionContext& context, SelectLimits limits,
             bool one_row_per_partition, bool static_rows);
  // Rows of the result are groups, and limits and pages count them. Without a grouping, there is one of all rows.
  void group_by(const Grouping* grouping) { groups_.emplace(table_, selection_, grouping); }

  // Functions may ask the shard's processor for something; columns are only copied.
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

  // The partition that a page ended in goes on with at most so many rows: its static row was reported before.
  void resume_partition(uint64_t limit) {
    resumed_ = true;
    resumed_limit_ = limit;
  }
  // It is done, whether or not anything was left of it.
  void leave_partition() { resumed_ = false; }

  // An error of a function stops the read; it is asked for afterwards.
  Status take_status() { return std::move(status_); }
  uint64_t row_count() const { return rows_; }
  // The rest of PER PARTITION LIMIT in the partition of the last row; 0 when that has one row only.
  uint64_t left_in_partition() const { return left_in_partition_; }
  bool page_full() const { return rows_ >= limits_.page; }
  bool limit_reached() const { return rows_ >= limits_.rows; }
  // Rows that came in, of groups too.
  uint64_t rows_seen() const { return rows_seen_; }
  bool stopped() const { return full_ || !status_.ok(); }
  // The key of the last row, of the last row of the last group.
  const Bytes& last_key() const { return last_key_; }
  // The comparable clustering of a row in groups; empty when the partition is done.
  const Bytes& last_clustering() const { return last_clustering_; }
  // For a page: the last row is marked for its paging state. A static row leaves the mark of the page before.
  void keep_mark(int protocol_version, Bytes before) {
    marks_ = has_legacy_marks(protocol_version) ? Marks::kLegacy : Marks::kModern;
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
  void take_key(const DecoratedKey& key);
  Next emit(const Row* row);
  // A row of the result has been written, of a row with this clustering; nullptr: of the static row.
  Next written(const ClusteringPrefix* clustering, const Row* row);
  Result<Next> emit_to_group(const Row* row);
  Status close_group();
  void mark(const ClusteringPrefix* clustering, const Row* row);
  void keep_place(const ClusteringPrefix* clustering, const Row* row);
  Bytes ordering_place(const ClusteringPrefix& clustering);
  Status write_row(const InputRow& input);
  char* extend(size_t n);
  void grow(size_t size);
  void append_value(BytesView value);
  void append_json(std::string& json, const ColumnSpec& spec, BytesView value);
  InputRow input(const Row* row);

  const TableMetadata& table_;
  const Selection& selection_;
  Arena row_arena_{1024};
  ExecutionContext row_context_;
  AnswerShare share_;
  SelectLimits limits_;
  bool one_row_per_partition_;
  bool static_rows_;
  bool resumed_ = false;
  uint64_t resumed_limit_ = 0;
  bool keep_positions_ = false;
  size_t ordering_columns_ = 0;
  Status status_;

  DecoratedKey key_;
  absl::InlinedVector<BytesView, 4> key_components_;
  Arena partition_arena_{256};
  Row static_row_;
  uint64_t rows_in_partition_ = 0;
  uint64_t partition_limit_ = 0;
  uint64_t left_in_partition_ = 0;
  uint64_t rows_ = 0;
  uint64_t rows_seen_ = 0;
  uint64_t rows_of_groups_ = 0;
  enum class Marks : uint8_t { kNone, kModern, kLegacy } marks_ = Marks::kNone;
  Bytes last_key_, last_clustering_, last_mark_, mark_before_;
  PooledBytes out_;  // with room for more behind
  size_t size_ = 0;  // of what is written of it
  std::vector<Position> positions_;
  std::optional<GroupCollector> groups_;
  uint64_t groups_in_partition_ = 0;
  bool full_ = false;  // the next group is for another page, or beyond the limit
};

}  // namespace cassandra_like
