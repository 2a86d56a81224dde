// The limits of a request from another node as messages have them (db.filter.DataLimits), and the counter that ends the
// answer there (DataLimits.Counter). The counting itself is that of read/limits.h.
//
// A replica counts rows that live at the request's time, and lets everything else pass uncounted. A row that reaches a
// limit of rows is still part of the answer.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "model/row.h"
#include "read/limits.h"

namespace cassandra_like {

// A clustering of somebody else's, with its own memory.
struct OwnedClustering {
  std::vector<std::optional<Bytes>> values;  // nullopt: null
  Bytes comparable;

  bool operator==(const OwnedClustering&) const = default;
};

// The rule that makes rows a group (db.aggregation.AggregationSpecification).
struct GroupBy {
  enum class Kind : uint8_t { kEverything = 0, kPrefix = 1 };
  Kind kind = Kind::kEverything;
  uint32_t prefix = 0;  // of kPrefix: so many clustering columns; 0: the partition key alone
  // The group that the page before ended in (db.aggregation.GroupingState).
  std::optional<Bytes> last_key;
  std::optional<OwnedClustering> last_clustering;

  bool operator==(const GroupBy&) const = default;
};

struct WireLimits {
  static constexpr uint32_t kNoLimit = std::numeric_limits<int32_t>::max();
  // The numbers are those of DataLimits.Kind, as on the wire.
  enum class Kind : uint8_t { kCql = 0, kCqlPaging = 1, kGroupBy = 4, kGroupByPaging = 5 };

  Kind kind = Kind::kCql;
  uint32_t rows = kNoLimit;
  uint32_t rows_per_partition = kNoLimit;  // not of groups
  bool is_distinct = false;                // not of groups
  // For groups.
  uint32_t groups = kNoLimit;
  uint32_t groups_per_partition = kNoLimit;
  GroupBy group_by;
  // For the two paging kinds: the partition that the page before ended in, and the rest of its own limit.
  Bytes last_key;
  uint32_t last_key_remaining = kNoLimit;

  bool is_paging() const { return kind == Kind::kCqlPaging || kind == Kind::kGroupByPaging; }
  bool is_grouped() const { return kind == Kind::kGroupBy || kind == Kind::kGroupByPaging; }
  // The same for the counters of read/limits.h. Refers to this.
  DataLimits to_count() const;
  bool operator==(const WireLimits&) const = default;
};

class LimitCounter {
 public:
  enum class Step {
    kContinue,       // the row is part of the answer
    kLast,           // the row is part of the answer and the partition's last
    kPartitionDone,  // the row is not part of the answer
  };

  // The limits outlive it.
  LimitCounter(const WireLimits& limits, const TableMetadata& table, int64_t now_seconds, bool counts_static_rows);
  LimitCounter(const LimitCounter&) = delete;
  LimitCounter& operator=(const LimitCounter&) = delete;

  // False when the answer shows no static row and no rows of the partition: the group before it was the last one.
  bool begin_partition(const DecoratedKey& key, const Row& static_row);
  Step row(const Row& row);
  void end_partition();
  // No more partitions.
  bool done() const { return is_grouped_ ? groups_.done() || groups_.page_is_full() : rows_.done(); }
  uint64_t rows() const { return is_grouped_ ? groups_.rows() : rows_.rows(); }

 private:
  Step grouped_row(const Row& row, bool lives);
  // Whether a row begins a group; null stands for the static row.
  bool begins_group(BytesView key, const ClusteringPrefix* clustering);
  bool has_same_prefix(const ClusteringPrefix& clustering) const;

  const WireLimits& limits_;
  const DataLimits counted_;
  const std::vector<ColumnPtr>& clustering_columns_;
  const int64_t now_seconds_;
  const bool is_grouped_;
  RowCounter rows_;
  GroupCounter groups_;
  bool has_live_static_ = false;
  bool has_counted_row_ = false;  // of this partition
  // For groups.
  Bytes key_;  // of this partition
  std::optional<Bytes> last_key_;
  std::optional<std::vector<std::optional<Bytes>>> last_clustering_;  // the group's columns of it
};

}  // namespace cassandra_like
