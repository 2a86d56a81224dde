#include "node/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "messaging/read_command_codec.h"
#include "read/row_memory.h"

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

CoordinatorOptions coordinator_options(const Config& config) {
  CoordinatorOptions options;
  options.read_timeout = config.read_request_timeout;
  options.range_timeout = config.range_request_timeout;
  options.write_timeout = config.write_request_timeout;
  options.counter_write_timeout = config.counter_write_request_timeout;
  options.max_mutation_bytes = config.max_mutation_size;
  options.truncate_timeout = config.truncate_request_timeout;
  options.batchlog_replay_bytes_per_second = config.batchlog_replay_throttle;
  options.batchlog_strategy.prefers_local_rack =
      config.batchlog_endpoint_strategy == "prefer_local" || config.batchlog_endpoint_strategy == "dynamic";
  options.batchlog_strategy.takes_nearest = config.batchlog_endpoint_strategy.starts_with("dynamic");
  options.tracks_warnings = config.read_thresholds_enabled;
  options.tombstone_warn_threshold = static_cast<uint64_t>(std::max(config.tombstone_warn_threshold, 0));
  options.tombstone_failure_threshold = static_cast<uint64_t>(std::max(config.tombstone_failure_threshold, 0));
  options.trace_query_ttl = config.trace_type_query_ttl;
  options.trace_repair_ttl = config.trace_type_repair_ttl;
  options.dynamic_snitch = config.dynamic_snitch;
  options.dynamic_snitch_badness = config.dynamic_snitch_badness_threshold;
  options.dynamic_snitch_update = config.dynamic_snitch_update_interval;
  options.dynamic_snitch_reset = config.dynamic_snitch_reset_interval;
  options.denylist.enabled = config.partition_denylist_enabled;
  options.denylist.writes = config.denylist_writes_enabled;
  options.denylist.reads = config.denylist_reads_enabled;
  options.denylist.range_reads = config.denylist_range_reads_enabled;
  options.denylist.refresh = config.denylist_refresh;
  options.denylist.max_keys_per_table = static_cast<size_t>(config.denylist_max_keys_per_table);
  options.denylist.max_keys_total = static_cast<size_t>(config.denylist_max_keys_total);
  options.denylist.consistency = config.denylist_consistency_level;
  return options;
}

HintsOptions hints_options(const Config& config) {
  HintsOptions options;
  options.directory = config.hints_directory;
  options.enabled = config.hinted_handoff_enabled;
  options.disabled_datacenters = config.hinted_handoff_disabled_datacenters;
  options.window_millis = config.max_hint_window.count();
  options.throttle_bytes_per_second = config.hinted_handoff_throttle;
  options.max_file_bytes = config.max_hints_file_size;
  options.max_bytes_per_host = config.max_hints_size_per_host;
  options.window_persistent = config.hint_window_persistent_enabled;
  options.auto_cleanup = config.auto_hints_cleanup_enabled;
  options.max_entry_bytes = std::max<uint64_t>(config.max_mutation_size, options.max_entry_bytes);
  options.file_version = config.storage_compatibility_mode == StorageCompatibilityMode::kCassandra4 ? 2 : 3;
  return options;
}

// 5.0's own messages only when no node of 4.x has to understand them.
int messaging_version(const Config& config) {
  return config.storage_compatibility_mode == StorageCompatibilityMode::kCassandra4 ? kMessagingVersion40
                                                                                    : kMessagingVersion50;
}

LinkOptions link_options(const Config& config) {
  LinkOptions options;
  options.self = InetAddressAndPort::parse(config.effective_broadcast_address(), config.storage_port)
                     .value_or(InetAddressAndPort{});
  options.versions = {kMessagingVersion40, messaging_version(config)};
  options.framing = config.internode_compression == "all" ? Framing::kLz4 : Framing::kCrc;
  options.distant_framing = config.internode_compression == "none" ? Framing::kCrc : Framing::kLz4;
  options.timeouts.rpc = config.request_timeout.count();
  options.timeouts.write = config.write_request_timeout.count();
  options.timeouts.read = config.read_request_timeout.count();
  options.timeouts.range = config.range_request_timeout.count();
  options.timeouts.counter = config.counter_write_request_timeout.count();
  options.timeouts.truncate = config.truncate_request_timeout.count();
  options.timeouts.repair = config.repair_request_timeout.count();
  options.timeouts.ping = config.request_timeout.count();
  options.cross_node_timeout = config.internode_timeout;
  options.send_queue = config.internode_application_send_queue_capacity;
  options.send_endpoint_reserve = config.internode_application_send_queue_reserve_endpoint_capacity;
  options.send_global_reserve = config.internode_application_send_queue_reserve_global_capacity;
  options.receive_queue = config.internode_application_receive_queue_capacity;
  options.receive_endpoint_reserve = config.internode_application_receive_queue_reserve_endpoint_capacity;
  options.receive_global_reserve = config.internode_application_receive_queue_reserve_global_capacity;
  options.max_message_size = config.internode_max_message_size;
  options.connect_timeout = config.internode_tcp_connect_timeout;
  options.user_timeout = config.internode_tcp_user_timeout;
  options.handshake_timeout = 3 * Duration(config.request_timeout);
  return options;
}

PeerRequestsOptions peer_requests_options(const Config& config) {
  constexpr uint64_t kHead = 64 * 1024;  // at most
  PeerRequestsOptions options;
  options.tombstone_warn_threshold = static_cast<uint64_t>(std::max(config.tombstone_warn_threshold, 0));
  options.tombstone_failure_threshold = static_cast<uint64_t>(std::max(config.tombstone_failure_threshold, 0));
  options.max_mutation_bytes = config.max_mutation_size;
  options.log_out_of_token_range = config.log_out_of_token_range_requests;
  options.reject_out_of_token_range = config.reject_out_of_token_range_requests;
  const uint64_t size = config.internode_max_message_size;
  options.max_answer_bytes = size > 2 * kHead ? size - kHead : size / 2;
  return options;
}

namespace {

Result<Snitch> snitch_of(const Config& config, const InetAddressAndPort& local) {
  const std::string name = config.endpoint_snitch.substr(config.endpoint_snitch.rfind('.') + 1);
  if (name == "RackInferringSnitch") return rack_inferring_snitch();
  if (name == "SimpleSnitch") return simple_snitch();
  std::optional<TopologyProperties> places;
  if (!config.topology_properties.empty()) {
    ASSIGN_OR_RETURN(places, TopologyProperties::parse(config.topology_properties, local));
  }
  if (name == "PropertyFileSnitch") return property_file_snitch(std::move(*places));
  return gossiping_property_file_snitch(local, {{config.data_center, config.rack}, false}, std::move(places));
}

Result<InetAddressAndPort> endpoint(const Config& config, const char* key, const std::string& address, uint16_t port) {
  auto parsed = InetAddressAndPort::parse(address, port);
  if (!parsed) return config.error_at(key, fmt::format("{} is no address: write a numeric one", address));
  return *parsed;
}

}  // namespace

Result<std::vector<InetAddressAndPort>> seed_addresses(const Config& config) {
  std::vector<InetAddressAndPort> seeds;
  for (const std::string& seed : config.seeds) {
    ASSIGN_OR_RETURN(auto address, endpoint(config, "seed_provider", seed, config.storage_port));
    seeds.push_back(address);
  }
  return seeds;
}

Result<MembershipOptions> membership_options(const Config& config, const LocalNode& node, const Uuid& schema_version) {
  MembershipOptions options;
  ASSIGN_OR_RETURN(const InetAddressAndPort local,
                   endpoint(config, "broadcast_address", config.effective_broadcast_address(), config.storage_port));
  ASSIGN_OR_RETURN(const InetAddressAndPort native,
                   endpoint(config, "broadcast_rpc_address", config.effective_broadcast_rpc_address(),
                            config.native_transport_port));
  options.gossip.local = local;
  options.gossip.cluster = config.cluster_name;
  ASSIGN_OR_RETURN(options.gossip.seeds, seed_addresses(config));
  options.gossip.ring_delay_ms = config.ring_delay.count();
  options.gossip.quarantine_delay_ms = 2 * options.gossip.ring_delay_ms;
  options.gossip.detector.phi_convict_threshold = config.phi_convict_threshold;
  options.membership.local = local;
  options.membership.local_native = native;
  options.membership.host_id = node.host_id;
  options.membership.native_port = config.native_transport_port;
  ASSIGN_OR_RETURN(options.membership.snitch, snitch_of(config, local));
  AdvertisedNode& told = options.advertised;
  told.host_id = node.host_id;
  ASSIGN_OR_RETURN(told.internal, endpoint(config, "listen_address", config.listen_address, config.storage_port));
  told.native = native;
  told.location = {config.data_center, config.rack};
  told.release_version = kReleaseVersion;
  told.messaging_version = messaging_version(config);
  const SSTableVersion& version = written_version(config);
  told.sstable_versions = {fmt::format("{}-{}", version.format_name, version.letters)};
  told.schema_version = schema_version;
  options.tokens = node.tokens;
  options.generation = node.gossip_generation;
  options.messaging_version = told.messaging_version;
  options.join_ring = config.join_ring;
  const auto& seeds = options.gossip.seeds;
  const bool is_seed = std::find(seeds.begin(), seeds.end(), local) != seeds.end();
  options.may_join_without_data = node.had_tokens || !config.auto_bootstrap || is_seed;
  return options;
}

std::string snitch_class(const Config& config) {
  return qualified("org.apache.cassandra.locator", config.endpoint_snitch);
}

namespace {

// DatabaseDescriptor.applySimpleConfig. The number of shards stands for that of processors.
int compactors(const Config& config) {
  const auto least = static_cast<int>(std::min<size_t>(config.shards, config.data_file_directories.size()));
  return config.concurrent_compactors.value_or(std::clamp(least, 2, 8));
}

}  // namespace

const SSTableVersion& written_version(const Config& config) {
  const bool selects = config.given.contains("sstable.selected_format");
  if (!selects && !config.given.contains("storage_compatibility_mode")) return SSTableVersion::da();
  if (selects && config.sstable_selected_format == "bti") return SSTableVersion::da();
  return config.storage_compatibility_mode == StorageCompatibilityMode::kCassandra4 ? SSTableVersion::nb()
                                                                                    : SSTableVersion::oa();
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
  options.row_memory = std::make_shared<RowMemory>(config.row_memory);
  options.chunk_cache_bytes = config.file_cache_enabled ? config.file_cache_size : 0;
  options.sstable_version = &written_version(config);
  if (config.column_index_size) options.column_index_bytes = static_cast<uint32_t>(*config.column_index_size);
  options.guardrails = of_sstables(config.guardrails);
  options.incremental_backups = config.incremental_backups;
  options.auto_compaction = config.autocompaction_on_startup_enabled;
  options.concurrent_compactors = static_cast<unsigned>(compactors(config));
  options.compaction_throughput = config.compaction_throughput;
  options.auto_snapshot = config.auto_snapshot;
  if (config.auto_snapshot_ttl) options.auto_snapshot_ttl_millis = Millis(*config.auto_snapshot_ttl).count();
  options.tombstone_warn_threshold = static_cast<uint64_t>(std::max(config.tombstone_warn_threshold, 0));
  options.tombstone_failure_threshold = static_cast<uint64_t>(std::max(config.tombstone_failure_threshold, 0));
  return options;
}

bool writes_sequence_ids(const Config& config, const FoundIds& found) {
  if (!config.uuid_sstable_identifiers_given) {
    const bool as_before = found.numbers && !found.uuids;
    if (as_before) {
      LOG_INFO("New SSTables have numbers, as those that are there: set uuid_sstable_identifiers_enabled to choose");
    }
    return as_before;
  }
  if (!config.uuid_sstable_identifiers_enabled && found.uuids) {
    LOG_WARN(
        "uuid_sstable_identifiers_enabled is false, but there are SSTables with uuids: Cassandra with this setting "
        "does not start until `nodetool compact` has replaced all of them");
  }
  return !config.uuid_sstable_identifiers_enabled;
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
  options.read_thresholds_enabled = config.read_thresholds_enabled;
  options.request_memory = std::make_shared<RequestMemory>(config.native_transport_max_frame_size,
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
  options.max_deletion_time = written_version(config).max_deletion_time();
  options.authenticator = config.authenticator.short_name();
  options.authorizer = config.authorizer.short_name();
  options.default_keyspace_rf = config.default_keyspace_rf;
  for (const auto& [name, memtable] : config.memtable_configurations) options.memtable_configurations.push_back(name);
  return options;
}

}  // namespace cassandra_like
