// The numbers of all shards as one: a sum of what each of them counted.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "admin/context.h"

namespace cassandra_like {

inline constexpr size_t kSSTableLevels = 9;  // LeveledGenerations.MAX_LEVEL_COUNT

struct TableReport {
  TablePtr table;
  TableStatistics statistics;
  TableRequests coordinator;
  // The numbers of its SSTables, each counted once, although shards may share it.
  std::set<std::string> counted;  // their Data.db files
  uint64_t max_sstable_bytes = 0;
  uint64_t old_sstables = 0;        // of a version that the node no longer writes
  uint64_t compressed_bytes = 0;    // of compressed Data.db files,
  uint64_t decompressed_bytes = 0;  // and what they hold
  uint64_t uncompressed_load = 0;   // what all Data.db files hold
  uint64_t repaired_bytes = 0, unrepaired_bytes = 0, pending_repair_bytes = 0;
  uint64_t cells = 0;
  double droppable_tombstones = 0;  // older than gc_grace_seconds
  // Each level's SSTables, and the bytes of their Data.db files on the disk.
  std::array<uint64_t, kSSTableLevels> sstables_per_level{}, sstable_bytes_per_level{};
  int64_t longest_sstable_micros = 0;  // from its first timestamp to its last

  double compression_ratio() const;  // -1 without a compressed SSTable
  double droppable_ratio() const;
  double bloom_false_ratio() const;
  double percent_repaired() const;
};

// Every table that is stored, in order of keyspace and name.
std::vector<TablePtr> stored_tables(const Schema& schema);
Task<std::vector<TableReport>> report_tables(AdminContextPtr context, std::vector<TablePtr> tables);
Task<EngineStatistics> sum_engines(AdminContextPtr context);
Task<std::vector<RunningCompaction>> running_compactions(AdminContextPtr context);  // of all shards
Task<ReplicaStatistics> sum_replicas(AdminContextPtr context);
Task<CoordinatorStatistics> sum_coordinators(AdminContextPtr context);
Task<QueryStatistics> sum_queries(AdminContextPtr context);

// Live bytes on disk of all tables.
uint64_t load_of(const std::vector<TableReport>& reports);
// Share of the bytes on disk that are repaired, in percent; 100 when there is nothing.
double percent_repaired(uint64_t repaired, uint64_t unrepaired);

// A histogram as Cassandra shows it: by the bounds of its buckets.
struct Percentiles {
  uint64_t p50 = 0, p75 = 0, p95 = 0, p98 = 0, p99 = 0, min = 0, max = 0;
};
Percentiles percentiles(const Histogram& histogram);
// Histograms of live cells and tombstones, where a read that found none counts as one that found one: and their mean.
Percentiles slice_percentiles(const Histogram& histogram);
double slice_mean(const Histogram& histogram);

// The work of shards under the name of one of Cassandra's thread pools.
struct ThreadPool {
  const char* name;
  uint64_t active = 0, pending = 0, completed = 0;
  bool is_idle = false;  // its work never comes up on this node
};
// In order of name.
std::vector<ThreadPool> thread_pools(const std::vector<TableReport>& tables, const EngineStatistics& engines,
                                     const AdminTransport& transport);

// Resident memory of the process; nullopt where the system does not tell.
std::optional<uint64_t> resident_bytes(Disk& disk);

}  // namespace cassandra_like
