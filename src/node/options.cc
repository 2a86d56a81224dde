#include "node/options.h"

#include <algorithm>

namespace cassandra_like {
namespace {

FailurePolicy failure_policy(CommitFailurePolicy policy) {
  switch (policy) {
    case CommitFailurePolicy::kStop:
      return FailurePolicy::kStop;
    case CommitFailurePolicy::kStopCommit:
      return FailurePolicy::kStopCommit;
    case CommitFailurePolicy::kIgnore:
      return FailurePolicy::kIgnore;
    case CommitFailurePolicy::kDie:
      return FailurePolicy::kDie;
  }
  return FailurePolicy::kStop;
}

FailurePolicy failure_policy(DiskFailurePolicy policy) {
  switch (policy) {
    case DiskFailurePolicy::kBestEffort:
      return FailurePolicy::kBestEffort;
    case DiskFailurePolicy::kStop:
      return FailurePolicy::kStop;
    case DiskFailurePolicy::kIgnore:
      return FailurePolicy::kIgnore;
    case DiskFailurePolicy::kStopParanoid:
      return FailurePolicy::kStopParanoid;
    case DiskFailurePolicy::kDie:
      return FailurePolicy::kDie;
  }
  return FailurePolicy::kIgnore;
}

// Class names as tools expect them: with the package.
std::string qualified(const std::string& package, const std::string& name) {
  return name.find('.') == std::string::npos ? package + "." + name : name;
}

// Completes the options as CREATE TABLE would: all strategies but Unified's have thresholds.
StringPairs compaction_options(const ClassConfig& config) {
  StringPairs options(config.parameters.begin(), config.parameters.end());
  options["class"] = qualified("org.apache.cassandra.db.compaction", config.class_name);
  if (config.short_name() != "UnifiedCompactionStrategy") {
    options.emplace("min_threshold", "4");
    options.emplace("max_threshold", "32");
  }
  return options;
}

}  // namespace

std::string snitch_class(const Config& config) {
  return qualified("org.apache.cassandra.locator", config.endpoint_snitch);
}

EngineOptions engine_options(const Config& config) {
  EngineOptions options;
  options.data_directories = config.data_file_directories;
  options.commitlog_directory = config.commitlog_directory;
  options.commitlog_sync = config.commitlog_sync;
  options.commitlog_sync_period = config.commitlog_sync_period;
  options.commitlog_group_window = config.commitlog_sync_group_window;
  options.commitlog_segment_bytes = config.commitlog_segment_size;
  options.commitlog_total_bytes = config.commitlog_total_space;
  options.commit_failure_policy = failure_policy(config.commit_failure_policy);
  options.disk_failure_policy = failure_policy(config.disk_failure_policy);
  options.memtable_bytes = config.memtable_space();
  options.chunk_cache_bytes = config.file_cache_enabled ? config.file_cache_size : 0;
  if (config.column_index_size) options.column_index_bytes = static_cast<uint32_t>(*config.column_index_size);
  options.auto_snapshot = config.auto_snapshot;
  if (config.auto_snapshot_ttl) options.auto_snapshot_ttl_millis = Millis(*config.auto_snapshot_ttl).count();
  options.tombstone_warn_threshold = static_cast<uint64_t>(std::max(config.tombstone_warn_threshold, 0));
  options.tombstone_failure_threshold = static_cast<uint64_t>(std::max(config.tombstone_failure_threshold, 0));
  return options;
}

TransportOptions transport_options(const Config& config) {
  TransportOptions options;
  options.address = {config.rpc_address, config.native_transport_port};
  options.shards = config.shards;
  options.max_frame_size = config.native_transport_max_frame_size;
  options.max_message_size = config.native_transport_max_message_size;
  options.max_connections = config.native_transport_max_concurrent_connections;
  options.max_connections_per_ip = config.native_transport_max_concurrent_connections_per_ip;
  options.max_request_bytes_in_flight = config.native_transport_max_request_data_in_flight;
  options.max_request_bytes_in_flight_per_ip = config.native_transport_max_request_data_in_flight_per_ip;
  options.receive_queue_capacity = config.native_transport_receive_queue_capacity;
  options.rate_limiting_enabled = config.native_transport_rate_limiting_enabled;
  options.max_requests_per_second = static_cast<uint32_t>(config.native_transport_max_requests_per_second);
  options.allow_older_protocols = config.native_transport_allow_older_protocols;
  options.idle_timeout = config.native_transport_idle_timeout;
  options.drain_timeout = config.native_transport_timeout;
  options.shard_aware = config.enable_shard_aware_drivers;
  options.shard_aware_port = config.native_shard_aware_transport_port;
  options.authenticator = config.authenticator.short_name();
  options.credentials_validity = config.credentials_validity;
  return options;
}

CqlOptions cql_options(const Config& config) {
  CqlOptions options;
  options.answer_memory = std::make_shared<AnswerMemory>(config.native_transport_max_frame_size,
                                                         config.native_transport_max_request_data_in_flight);
  options.takes_using_timeout = config.enable_shard_aware_drivers;
  options.batch_size_warn_bytes = config.batch_size_warn_threshold;
  options.batch_size_fail_bytes = config.batch_size_fail_threshold;
  options.unlogged_batch_across_partitions_warn_threshold =
      static_cast<uint32_t>(std::max(config.unlogged_batch_across_partitions_warn_threshold, 0));
  options.tombstone_warn_threshold = static_cast<uint64_t>(std::max(config.tombstone_warn_threshold, 0));
  if (config.prepared_statements_cache_size > 0) {
    options.prepared_statements_cache_bytes = config.prepared_statements_cache_size;
  }
  options.default_secondary_index = config.default_secondary_index;
  options.cluster_name = config.cluster_name;
  options.partitioner = qualified("org.apache.cassandra.dht", config.partitioner);
  // Cassandra's answer when the dynamic snitch is in front of the one that was configured.
  options.snitch = config.dynamic_snitch ? "org.apache.cassandra.locator.DynamicEndpointSnitch" : snitch_class(config);
  if (!config.default_compaction.class_name.empty()) {
    options.default_compaction = compaction_options(config.default_compaction);
  }
  options.guardrails = config.guardrails;
  options.authenticator = config.authenticator.short_name();
  options.authorizer = config.authorizer.short_name();
  options.default_keyspace_rf = config.default_keyspace_rf;
  for (const auto& [name, memtable] : config.memtable_configurations) options.memtable_configurations.push_back(name);
  return options;
}

}  // namespace cassandra_like
