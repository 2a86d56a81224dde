// How many rows more a replica is asked for when its answer has ended at a limit and, because other replicas have deleted
// some of its rows, fewer than that are left (service.reads.ShortReadRowsProtection, ShortReadPartitionsProtection).
//
// The questions are asked when all that the replica has sent is merged and the limits of the merged answer are not yet
// reached. The replica may hold rows then that it did not send, and the rows of the others behind its last one are not
// known to be complete.
#pragma once

#include <algorithm>
#include <optional>

#include "read/limits.h"

namespace cassandra_like {

// The counts of the rows that one replica sent, before they were merged.
struct SentRows {
  uint64_t counted = 0;       // rows, or groups when groups are counted
  uint64_t rows = 0;          // live rows
  uint64_t in_partition = 0;  // live rows of the partition that ends
};

// No limit has cut the answer.
inline bool is_whole_answer(const DataLimits& limits, const SentRows& sent) {
  if (limits.per_partition != DataLimits::kNone) return false;  // rows may have gone uncounted
  return sent.rows < limits.rows && (limits.groups == DataLimits::kNone || sent.counted < limits.groups);
}

// The rows of one partition of one replica.
class ShortReadRows {
 public:
  // Nothing: the replica has no more of the partition. has_clustering: its rows have clusterings; without, there is one.
  std::optional<uint64_t> more(const DataLimits& limits, const SentRows& sent, bool has_clustering) {
    if (is_whole_answer(limits, sent) || sent.in_partition == 0 || !has_clustering) return std::nullopt;
    const uint64_t fetched = sent.in_partition - counted_;
    counted_ = sent.in_partition;
    if (asked_ > 0 && fetched < asked_) return std::nullopt;
    // More than are missing: a row costs little, a question much.
    asked_ = std::min(limits.groups != DataLimits::kNone ? limits.groups : limits.rows, limits.per_partition);
    return asked_;
  }

 private:
  uint64_t counted_ = 0;
  uint64_t asked_ = 0;  // the last time
};

// The partitions of one replica in a range read.
class ShortReadPartitions {
 public:
  void partition() { has_partition_ = true; }
  // Nothing: the replica has no more partitions. merged_rows: of the merged answer.
  std::optional<uint64_t> more(const DataLimits& limits, const SentRows& sent, uint64_t merged_rows) {
    if (is_whole_answer(limits, sent) || !has_partition_) return std::nullopt;
    has_partition_ = false;
    const uint64_t count = limits.groups != DataLimits::kNone ? limits.groups : limits.rows;
    return count != DataLimits::kNone ? count - merged_rows : limits.per_partition;
  }

 private:
  bool has_partition_ = false;  // since it was asked last
};

}  // namespace cassandra_like
