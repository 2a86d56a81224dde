// Gathers an SSTable's Statistics while it is written (io.sstable.metadata.MetadataCollector).
#pragma once

#include "storage/sstable/cardinality.h"
#include "storage/sstable/statistics.h"

namespace cassandra_like {

class StatisticsCollector {
 public:
  explicit StatisticsCollector(const TableMetadata& table) : table_(table) {}

  void begin_partition(BytesView key, const DeletionTime& deletion);
  // The static row is added, too, unless it is empty.
  void add(const Row& row);
  void add(const UniformRow& row);
  void add(const RangeTombstoneMarker& marker);
  void end_partition(uint64_t bytes);
  uint64_t partitions() const { return partitions_; }

  // Fills in what was gathered.
  void finish(const SerializationHeader& header, const SSTableVersion& version, Statistics* statistics);

 private:
  void update(const DeletionTime& deletion);
  void update(int64_t timestamp, int64_t local_deletion_time);
  void update_ttl(int32_t ttl);
  void update_covered(const ClusteringPrefix& position);
  Bytes serialize_bound(const SerializationHeader& header, const SSTableVersion& version, BytesView comparable,
                        ClusteringKind kind) const;

  const TableMetadata& table_;
  CardinalityEstimator cardinality_;
  EstimatedHistogram partition_sizes_{155};
  EstimatedHistogram cells_per_partition_{118};
  TombstoneHistogram tombstones_;
  bool any_timestamp_ = false, any_deletion_time_ = false, any_ttl_ = false;
  int64_t min_timestamp_ = 0, max_timestamp_ = 0;
  int64_t min_deletion_time_ = 0, max_deletion_time_ = 0;
  int32_t min_ttl_ = 0, max_ttl_ = 0;
  // Comparable forms of the least start and the greatest end of everything; at first after and before everything.
  Bytes covered_start_{kAfterTerminator}, covered_end_{kBeforeTerminator};
  ClusteringKind start_kind_ = ClusteringKind::kExclStartBound, end_kind_ = ClusteringKind::kExclEndBound;
  bool has_start_ = false;
  bool has_partition_deletions_ = false;
  bool has_legacy_counter_shards_ = false;
  uint64_t partitions_ = 0;
  uint64_t partition_cells_ = 0;
  uint64_t cells_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace cassandra_like
