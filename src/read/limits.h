// How much a read may answer with, and the count of what it has answered with: LIMIT, PER PARTITION LIMIT, pages and
// limits of groups. Whoever ends a read because it has enough rows asks a counter of this file.
//
// The rules are those of Cassandra's db.filter.DataLimits:
// - A row counts when it lives. A row that is dead or filtered out is not shown to a counter of rows.
// - A partition whose static row lives, and of which no row counted, counts as one row when the command asks for whole
//   partitions.
// - The partition that an earlier page ended in has what that page left of PER PARTITION LIMIT, and its static row does
//   not count again.
// - A group counts when it ends: at the first row of the next group, or at the end of the data. That row also counts as
//   the end of its group when it is dead.
#pragma once

#include <cstdint>
#include <limits>

#include "base/dcheck.h"
#include "model/key.h"

namespace cassandra_like {

struct DataLimits {
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  uint64_t rows = kNone;           // in all
  uint64_t per_partition = kNone;  // rows, or groups when groups are counted
  uint64_t groups = kNone;         // in all, when groups are counted
  // The key of the partition that an earlier page ended in; null when there is none. Whoever makes the limits keeps it.
  BytesView continued_key = kNull;
  uint64_t left_in_continued = kNone;  // what that page left of per_partition there

  bool continues(const DecoratedKey& key) const { return !is_null(continued_key) && key.key == continued_key; }
};

// Whether a read goes on after a row or a partition.
enum class Enough : uint8_t { kNo, kOfPartition, kOfRead };

// Counts rows.
class RowCounter {
 public:
  // The limits outlive it.
  explicit RowCounter(const DataLimits& limits, bool counts_static_rows = true)
      : limits_(limits), counts_static_rows_(counts_static_rows) {}

  void begin_partition(const DecoratedKey& key) {
    in_partition_ = 0;
    continues_ = limits_.continues(key);
    partition_limit_ = continues_ ? limits_.left_in_continued : limits_.per_partition;
  }
  // A row that is part of the answer. No row follows the last one of its partition, or of the read.
  Enough row() {
    DCHECK(!done() && in_partition_ < partition_limit_);
    ++in_partition_;
    if (++rows_ >= limits_.rows) return Enough::kOfRead;
    return in_partition_ >= partition_limit_ ? Enough::kOfPartition : Enough::kNo;
  }
  // The partition ends without a row that counted, and its static row lives.
  Enough only_static_row() {
    if (counts_static_rows_ && !continues_) return row();
    return done() ? Enough::kOfRead : Enough::kNo;
  }
  // Rows of a whole partition that another counter has counted.
  void count_elsewhere(uint64_t rows) {
    DCHECK(rows <= left());
    rows_ += rows;
  }
  // The partition is the one that an earlier page ended in.
  bool continues_partition() const { return continues_; }

  bool done() const { return rows_ >= limits_.rows; }
  uint64_t rows() const { return rows_; }
  uint64_t in_partition() const { return in_partition_; }
  uint64_t left() const { return limits_.rows - rows_; }
  // The part of PER PARTITION LIMIT that the rows so far leave.
  uint64_t left_in_partition() const { return partition_limit_ - in_partition_; }

 private:
  const DataLimits& limits_;
  bool counts_static_rows_;
  bool continues_ = false;
  uint64_t rows_ = 0;
  uint64_t in_partition_ = 0;
  uint64_t partition_limit_ = DataLimits::kNone;
};

// Counts groups. Whoever calls it knows where a group begins: `begins_group` tells that a row is not of the group of the
// row before it (db.aggregation.GroupMaker.isNewGroup).
class GroupCounter {
 public:
  // The limits outlive it. in_group: an earlier page ended within a group, whose rest comes first.
  explicit GroupCounter(const DataLimits& limits, bool counts_static_rows = true, bool in_group = false)
      : limits_(limits), counts_static_rows_(counts_static_rows), in_group_(in_group) {}

  // begins_group: the partition's static row is of another group than the row before it. With kOfRead nothing of the
  // partition is part of the answer.
  Enough begin_partition(const DecoratedKey& key, bool begins_group);
  // Not kNo: the row is not part of the answer, and nothing behind it in the partition, or in the read.
  Enough row(bool lives, bool begins_group);
  // The partition ends without a row that counted, and its static row lives: it is a group.
  Enough only_static_row();
  // There is no more data.
  void end();

  // The static row of a partition whose rows were given before is no group.
  bool continues_partition() const { return continues_; }
  bool done() const { return groups_ >= limits_.groups; }
  // The rows of an internal page are there; the group that is begun goes on with the next page.
  bool page_is_full() const { return rows_ >= limits_.rows; }
  uint64_t groups() const { return groups_; }
  uint64_t rows() const { return rows_; }
  uint64_t left_in_partition() const { return partition_limit_ - in_partition_; }

 private:
  void end_group();

  const DataLimits& limits_;
  bool counts_static_rows_;
  bool in_group_;
  bool continues_ = false;
  uint64_t groups_ = 0;
  uint64_t rows_ = 0;
  uint64_t in_partition_ = 0;  // groups that ended
  uint64_t partition_limit_ = DataLimits::kNone;
};

}  // namespace cassandra_like
