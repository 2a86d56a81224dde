// The settings and the counters of a shard's coordinator.
#pragma once

#include <chrono>

#include "base/histogram.h"
#include "coordinator/quorum/batchlog_endpoints.h"
#include "coordinator/quorum/consistency.h"
#include "runtime/executor.h"

namespace cassandra_like {

// See coordinator/denylist.h.
struct DenylistOptions {
  bool enabled = false;  // partition_denylist_enabled
  bool writes = true, reads = true, range_reads = true;
  Duration refresh = std::chrono::seconds(600);
  size_t max_keys_per_table = 1000, max_keys_total = 10'000;
  Consistency consistency = Consistency::kQuorum;
};

struct CoordinatorOptions {
  Duration read_timeout = std::chrono::seconds(5);
  Duration range_timeout = std::chrono::seconds(10);
  Duration write_timeout = std::chrono::seconds(2);
  Duration counter_write_timeout = std::chrono::seconds(5);
  Duration truncate_timeout = std::chrono::seconds(60);
  size_t max_mutation_bytes = size_t{16} << 20;             // max_mutation_size
  uint64_t batchlog_replay_bytes_per_second = 1024 * 1024;  // 0: no limit
  BatchlogStrategy batchlog_strategy;
  bool dynamic_snitch = true;
  double dynamic_snitch_badness = 1.0;  // dynamic_snitch_badness_threshold
  Duration dynamic_snitch_update = std::chrono::milliseconds(100);
  Duration dynamic_snitch_reset = std::chrono::minutes(10);
  // Replicas are asked for their warnings (read_thresholds_enabled). The thresholds are those of this node as a replica; 0: none.
  bool tracks_warnings = false;
  uint64_t tombstone_warn_threshold = 1000, tombstone_failure_threshold = 100'000;
  std::chrono::seconds trace_query_ttl = std::chrono::hours(24);       // trace_type_query_ttl
  std::chrono::seconds trace_repair_ttl = std::chrono::hours(7 * 24);  // trace_type_repair_ttl
  DenylistOptions denylist;
};

// The requests of this node's clients to one table.
struct TableRequests {
  Histogram read_micros, range_micros, write_micros;
  // Reads of a partition that asked one more replica; those among them that timed out nevertheless; slow reads that had
  // no other replica to ask.
  uint64_t speculative_retries = 0, speculative_failed_retries = 0, speculative_insufficient_replicas = 0;
};

// Latencies seen by clients' requests, for proxyhistograms and metrics.
struct CoordinatorStatistics {
  Histogram read_micros, range_micros, write_micros, cas_read_micros, cas_write_micros, view_write_micros;
  Histogram partitions_per_logged_batch, partitions_per_unlogged_batch, partitions_per_counter_batch;
  uint64_t unavailables = 0, timeouts = 0, failures = 0;
  uint64_t read_repairs_blocking = 0, read_repairs_attempted = 0;  // ReadRepair metrics
  uint64_t speculative_retries = 0, speculative_insufficient_replicas = 0;
  uint64_t abandoned_reads = 0;                                          // ended early because their client was gone
  uint64_t denied_writes = 0, denied_reads = 0, denied_range_reads = 0;  // by the partition denylist
};

}  // namespace cassandra_like
