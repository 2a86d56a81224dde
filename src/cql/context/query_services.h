// The services of the query processor that statements use while they run, and the options that it was made with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log_quota.h"
#include "base/uuid.h"
#include "coordinator/coordinator.h"
#include "cql/context/guardrails.h"
#include "cql/context/request_memory.h"
#include "cql/context/result.h"
#include "model/row.h"

namespace cassandra_like {

// Thresholds and switches of cassandra.yaml that statements look at.
struct CqlOptions {
  uint64_t batch_size_warn_bytes = 5 * 1024;
  uint64_t batch_size_fail_bytes = 50 * 1024;
  uint32_t unlogged_batch_across_partitions_warn_threshold = 10;
  uint64_t tombstone_warn_threshold = 1000;
  bool read_thresholds_enabled = false;  // replicas tell the coordinator of their tombstones
  uint64_t prepared_statements_cache_bytes = 64ull << 20;
  std::string default_secondary_index = "legacy_local_table";
  std::string cluster_name = "Test Cluster";
  std::string partitioner = "org.apache.cassandra.dht.Murmur3Partitioner";
  std::string snitch = "org.apache.cassandra.locator.SimpleSnitch";
  std::string authenticator = "AllowAllAuthenticator";
  std::string authorizer = "AllowAllAuthorizer";
  int default_keyspace_rf = 1;
  bool takes_using_timeout = false;  // SELECT … USING TIMEOUT, which is ScyllaDB's
  StringPairs default_compaction;    // of new tables, as TableParams::compaction; empty: SizeTieredCompactionStrategy
  std::vector<std::string> memtable_configurations{"default"};  // what a table's `memtable` may name
  int64_t max_deletion_time = kMaxDeletionTime;                 // what the SSTables that are written can hold
  Guardrails guardrails;
  GuardrailUse guardrail_use;                     // of them; the query processor sets it
  std::shared_ptr<RequestMemory> request_memory;  // nullptr: unbounded
  // How many terms, combinations of the values of its INs and JSON values a statement may have.
  uint64_t max_values() const { return request_memory ? request_memory->max_values() : RequestMemory::kMaxValues; }
};

// auth_read_consistency_level and auth_write_consistency_level, by default.
inline constexpr Consistency kAuthRead = Consistency::kLocalQuorum;
inline constexpr Consistency kAuthWrite = Consistency::kEachQuorum;

// Limits that keep clients from flooding the log, for each kind of line.
struct RequestLog {
  LogQuota large_batches, wide_batches{1}, short_batchlogs{1}, guardrails;
  // Lines on the disks of replicas. Clients are warned as rarely, too.
  LogQuota stuffed_disks{1, 30 * LogQuota::kMinute}, full_disks{1, 30 * LogQuota::kMinute};
};

// One a shard. QueryProcessor implements it.
class QueryServices {
 public:
  virtual ~QueryServices() = default;

  RequestLog& request_log() { return request_log_; }

  // The node's own queries, e.g. of roles and tracing: literals and values by position.
  virtual Task<Result<QueryResult>> execute_internal(std::string text, std::vector<Bytes> values = {},
                                                     Consistency consistency = Consistency::kOne) = 0;
  // The write time of data, in microseconds: the clock's, or later; increasing on this shard.
  virtual int64_t next_timestamp() = 0;
  // A version 1 uuid that no other call on any shard of this node returns; increasing on this shard.
  virtual Uuid next_time_uuid() = 0;
  // Removes the statements that the last change of the schema has made stale from system.prepared_statements.
  virtual Task<Status> remove_stale_prepared() { return Status(); }

  virtual Coordinator& coordinator() = 0;
  virtual ShardRuntime& runtime() = 0;
  virtual const CqlOptions& options() const = 0;

 private:
  RequestLog request_log_;
};

}  // namespace cassandra_like
