#include "read/limits.h"

#include "base/dcheck.h"

namespace cassandra_like {

void GroupCounter::end_group() {
  if (!in_group_) return;
  in_group_ = false;
  DCHECK(!done() && in_partition_ < partition_limit_);
  ++groups_;
  ++in_partition_;
}

Enough GroupCounter::begin_partition(const DecoratedKey& key, bool begins_group) {
  if (begins_group) end_group();
  // The rest of the last partition's limit is asked for afterwards.
  if (done()) return Enough::kOfRead;
  in_partition_ = 0;
  continues_ = limits_.continues(key);
  partition_limit_ = continues_ ? limits_.left_in_continued : limits_.per_partition;
  return in_partition_ >= partition_limit_ ? Enough::kOfPartition : Enough::kNo;
}

Enough GroupCounter::row(bool lives, bool begins_group) {
  if (begins_group) end_group();
  if (done()) return Enough::kOfRead;
  if (in_partition_ >= partition_limit_) return Enough::kOfPartition;
  if (lives) {
    in_group_ = true;
    ++rows_;
  }
  return Enough::kNo;
}

Enough GroupCounter::only_static_row() {
  if (counts_static_rows_ && !continues_) {
    ++rows_;
    in_group_ = true;
    end_group();
  }
  return done() ? Enough::kOfRead : Enough::kNo;
}

void GroupCounter::end() {
  if (!done() && !page_is_full()) end_group();
}

}  // namespace cassandra_like
