#include "read/wire_limits.h"

namespace cassandra_like {

namespace {

uint64_t limit_of(uint32_t v) { return v == WireLimits::kNoLimit ? DataLimits::kNone : v; }

}  // namespace

DataLimits WireLimits::to_count() const {
  DataLimits out;
  out.rows = limit_of(rows);
  const uint32_t per_partition = is_grouped() ? groups_per_partition : rows_per_partition;
  out.per_partition = out.left_in_continued = limit_of(per_partition);
  if (is_grouped()) out.groups = limit_of(groups);
  if (is_paging()) {
    out.continued_key = last_key;
    out.left_in_continued = last_key_remaining == per_partition ? out.per_partition : last_key_remaining;
  } else if (is_grouped() && group_by.last_key) {
    out.continued_key = *group_by.last_key;
  }
  return out;
}

LimitCounter::LimitCounter(const WireLimits& limits, const TableMetadata& table, int64_t now_seconds,
                           bool counts_static_rows)
    : limits_(limits),
      counted_(limits.to_count()),
      clustering_columns_(table.clustering),
      now_seconds_(now_seconds),
      is_grouped_(limits.is_grouped()),
      rows_(counted_, counts_static_rows),
      // The partition may have ended just where the page before did: its last group may be open still.
      groups_(counted_, counts_static_rows, limits.group_by.last_clustering.has_value()) {
  last_key_ = limits.group_by.last_key;
  if (!limits.group_by.last_clustering) return;
  last_clustering_ = limits.group_by.last_clustering->values;
  if (last_clustering_->size() > limits.group_by.prefix) last_clustering_->resize(limits.group_by.prefix);
}

bool LimitCounter::begin_partition(const DecoratedKey& key, const Row& static_row) {
  has_live_static_ = static_row.has_live_data(now_seconds_);
  has_counted_row_ = false;
  if (!is_grouped_) {
    rows_.begin_partition(key);
    return true;
  }
  key_.assign(key.key);
  const bool begins = !counted_.continues(key) && begins_group(key.key, nullptr);
  return groups_.begin_partition(key, begins) != Enough::kOfRead;
}

bool LimitCounter::has_same_prefix(const ClusteringPrefix& clustering) const {
  for (size_t i = 0; i < last_clustering_->size() && i < clustering.values.size(); ++i) {
    const std::optional<Bytes>& last = (*last_clustering_)[i];
    BytesView value = clustering.values[i];
    if (!last || is_null(value)) {
      if (last.has_value() != !is_null(value)) return false;
      continue;
    }
    if (*last != value && clustering_columns_[i]->type->compare(*last, value) != 0) return false;
  }
  return true;
}

// db.aggregation.GroupMaker
bool LimitCounter::begins_group(BytesView key, const ClusteringPrefix* clustering) {
  if (limits_.group_by.kind == GroupBy::Kind::kEverything) return false;
  bool is_new = !last_key_ || key != *last_key_ || !last_clustering_;
  if (!is_new) is_new = clustering == nullptr ? limits_.group_by.prefix > 0 : !has_same_prefix(*clustering);
  last_key_ = Bytes(key);
  if (clustering == nullptr) last_clustering_.reset();
  if (clustering == nullptr || !is_new) return is_new;
  last_clustering_.emplace();
  for (size_t i = 0; i < limits_.group_by.prefix && i < clustering->values.size(); ++i) {
    BytesView value = clustering->values[i];
    last_clustering_->push_back(is_null(value) ? std::nullopt : std::optional<Bytes>(Bytes(value)));
  }
  return true;
}

LimitCounter::Step LimitCounter::row(const Row& row) {
  const bool lives = row.has_live_data(now_seconds_);
  if (is_grouped_) return grouped_row(row, lives);
  if (!lives) return Step::kContinue;
  has_counted_row_ = true;
  return rows_.row() == Enough::kNo ? Step::kContinue : Step::kLast;
}

LimitCounter::Step LimitCounter::grouped_row(const Row& row, bool lives) {
  if (groups_.row(lives, begins_group(key_, &row.clustering)) != Enough::kNo) return Step::kPartitionDone;
  has_counted_row_ |= lives;
  return groups_.page_is_full() ? Step::kLast : Step::kContinue;
}

void LimitCounter::end_partition() {
  if (!has_live_static_ || has_counted_row_) return;
  static_cast<void>(is_grouped_ ? groups_.only_static_row() : rows_.only_static_row());
}

}  // namespace cassandra_like
