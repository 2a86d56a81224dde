// Counts partitions, rows and cells while they are written.
#include "storage/sstable/statistics_collector.h"

#include <algorithm>

namespace cassandra_like {

namespace {

// Counter contexts of before 2.1 have shards that are not global: local ones have a header element whose sign bit is not
// set, remote ones none at all.
bool has_legacy_shards(BytesView context) {
  constexpr size_t kShardBytes = 32;
  Reader in(context);
  auto elements = static_cast<int16_t>(in.u16());
  if (elements < 0 || in.remaining() < 2 * static_cast<size_t>(elements)) return false;
  size_t shards = (in.remaining() - 2 * static_cast<size_t>(elements)) / kShardBytes;
  if (static_cast<size_t>(elements) < shards) return true;
  for (int16_t i = 0; i < elements; ++i) {
    if (static_cast<int16_t>(in.u16()) >= 0) return true;
  }
  return false;
}

}  // namespace

void StatisticsCollector::update(int64_t timestamp, int64_t local_deletion_time) {
  min_timestamp_ = any_timestamp_ ? std::min(min_timestamp_, timestamp) : timestamp;
  max_timestamp_ = any_timestamp_ ? std::max(max_timestamp_, timestamp) : timestamp;
  any_timestamp_ = true;
  min_deletion_time_ = any_deletion_time_ ? std::min(min_deletion_time_, local_deletion_time) : local_deletion_time;
  max_deletion_time_ = any_deletion_time_ ? std::max(max_deletion_time_, local_deletion_time) : local_deletion_time;
  any_deletion_time_ = true;
  if (local_deletion_time != kNoDeletionTime) tombstones_.add(local_deletion_time);
}

void StatisticsCollector::update_ttl(int32_t ttl) {
  min_ttl_ = any_ttl_ ? std::min(min_ttl_, ttl) : ttl;
  max_ttl_ = any_ttl_ ? std::max(max_ttl_, ttl) : ttl;
  any_ttl_ = true;
}

void StatisticsCollector::update(const DeletionTime& deletion) {
  if (!deletion.is_live()) update(deletion.marked_for_delete_at, deletion.local_deletion_time);
}

void StatisticsCollector::begin_partition(BytesView key, const DeletionTime& deletion) {
  ++partitions_;
  cardinality_.add_key(key);
  if (!deletion.is_live()) has_partition_deletions_ = true;
  update(deletion);
}

void StatisticsCollector::add(const Row& row) {
  if (row.clustering.kind != ClusteringKind::kStaticClustering) update_covered(row.clustering);
  if (!row.liveness.is_empty()) {
    update(row.liveness.timestamp, row.liveness.local_expiration_time);
    update_ttl(row.liveness.ttl);
  }
  update(row.deletion);
  for (const ComplexDeletion& complex : row.complex_deletions) update(complex.deletion);
  const Column* last_column = nullptr;
  for (const Cell& cell : row.cells) {
    ++partition_cells_;
    update(cell.timestamp, cell.local_deletion_time);
    update_ttl(cell.ttl);
    if (cell.column != last_column) ++cells_;
    last_column = cell.column;
    if (cell.column->type->is_counter() && !cell.is_tombstone() && has_legacy_shards(cell.value)) {
      has_legacy_counter_shards_ = true;
    }
  }
  ++rows_;
}

void StatisticsCollector::add(const UniformRow& row) {
  update_covered(row.clustering);
  const uint64_t values = row.count();
  partition_cells_ += values;
  cells_ += values;
  ++rows_;
  // Each end counts in the histogram.
  const uint64_t ages = values + (row.has_liveness ? 1 : 0);
  const uint64_t updates = row.age.is_expiring() ? ages : std::min<uint64_t>(ages, 1);
  for (uint64_t i = 0; i < updates; ++i) update(row.age.timestamp, row.age.local_expiration_time);
  if (ages > 0) update_ttl(row.age.ttl);
}

void StatisticsCollector::add(const RangeTombstoneMarker& marker) {
  if (!is_boundary(marker.bound.kind)) update_covered(marker.bound);
  update(marker.close);
  update(marker.open);
}

void StatisticsCollector::end_partition(uint64_t bytes) {
  partition_sizes_.add(bytes);
  cells_per_partition_.add(partition_cells_);
  partition_cells_ = 0;
}

// A start never is the greatest, nor an end the least, since what begins also ends.
void StatisticsCollector::update_covered(const ClusteringPrefix& position) {
  ClusteringKind kind = position.kind;
  if (position.comparable > covered_end_) {
    if (!is_start(kind)) {
      covered_end_.assign(position.comparable);
      end_kind_ = is_end(kind) ? kind : ClusteringKind::kInclEndBound;
    }
    if (!is_end(kind) && !has_start_) {
      covered_start_.assign(position.comparable);
      start_kind_ = is_start(kind) ? kind : ClusteringKind::kInclStartBound;
      has_start_ = true;
    }
  } else if (position.comparable < covered_start_ && !is_end(kind)) {
    covered_start_.assign(position.comparable);
    start_kind_ = is_start(kind) ? kind : ClusteringKind::kInclStartBound;
    has_start_ = true;
  }
}

Bytes StatisticsCollector::serialize_bound(const SerializationHeader& header, const SSTableVersion& version,
                                           BytesView comparable, ClusteringKind kind) const {
  Arena arena;
  ClusteringPrefix prefix;
  CHECK(split_comparable(table_, comparable, arena, &prefix));
  prefix.kind = kind;
  Bytes out;
  if (version.has_improved_min_max) {
    append_clustering_prefix(out, header, prefix);
    return out;
  }
  // The values before the first null.
  const auto end = std::find_if(prefix.values.begin(), prefix.values.end(), [](BytesView v) { return is_null(v); });
  append_be<uint32_t>(out, static_cast<uint32_t>(end - prefix.values.begin()));
  for (auto value = prefix.values.begin(); value != end; ++value) {
    append_be<uint16_t>(out, static_cast<uint16_t>(value->size()));
    out.append(*value);
  }
  return out;
}

void StatisticsCollector::finish(const SerializationHeader& header, const SSTableVersion& version,
                                 Statistics* statistics) {
  Statistics& s = *statistics;
  s.cardinality = cardinality_.serialize();
  s.partition_sizes = partition_sizes_.serialize();
  s.cells_per_partition = cells_per_partition_.serialize();
  if (any_timestamp_) {
    s.min_timestamp = min_timestamp_;
    s.max_timestamp = max_timestamp_;
  }
  if (any_deletion_time_) {
    s.min_local_deletion_time = min_deletion_time_;
    s.max_local_deletion_time = max_deletion_time_;
  }
  s.min_ttl = min_ttl_;
  s.max_ttl = max_ttl_;
  s.tombstones = tombstones_.finish();
  s.covered_start = serialize_bound(header, version, covered_start_, start_kind_);
  s.covered_end = serialize_bound(header, version, covered_end_, end_kind_);
  s.has_legacy_counter_shards = has_legacy_counter_shards_;
  s.cells = cells_;
  s.rows = rows_;
  s.has_partition_deletions = has_partition_deletions_;
}

}  // namespace cassandra_like
