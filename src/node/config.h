// The configuration of one node: cassandra.yaml with Cassandra 5.0's names, units and defaults, and a few keys of our
// own.
//
// - A duration is "10s", "500ms", "3h"; a size "32MiB"; a rate "64MiB/s". Sizes are bytes here, rates bytes a second.
// - The names that 3.x and 4.0 used (`read_request_timeout_in_ms: 5000`) are read as Cassandra reads them.
// - A key that Cassandra knows and this node does not use lands in `ignored_keys`; a key that nobody knows is an error.
// - Every error is one line, `FILE:LINE: what: what to do`.
//
// An optional is a key that is not set; where Cassandra derives a default from the machine, the parser has done so
// with HostFacts and the field holds the result.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "coordinator/quorum/consistency.h"
#include "cql/context/guardrails.h"
#include "storage/options.h"

namespace cassandra_like {

using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;

// The facts that the defaults depend on, and that go before the file. The daemon takes them from the machine and its
// command line, the simulator from its scenario.
struct HostFacts {
  unsigned cores = 1;
  uint64_t memory_bytes = 4 * kGiB;
  std::string storage_directory = "data";  // parent of the directories that the file does not name
  std::vector<std::pair<std::string, std::string>> overrides =
      {};  // key and its value in YAML, as from --set key=value
  // The address of a host name; empty when nobody knows it. Without a function no name is known but localhost.
  std::function<std::string(const std::string&)> resolve = {};
};

// A class that Cassandra would load by name: `X`, or `class_name: X` with parameters. The package may be left out.
struct ClassConfig {
  std::string class_name;
  std::map<std::string, std::string> parameters;
  std::string short_name() const { return class_name.substr(class_name.rfind('.') + 1); }
};

struct MemtableConfig {
  std::string class_name;  // empty when it inherits
  std::string inherits;
  std::map<std::string, std::string> parameters;
};

enum class CommitFailurePolicy { kStop, kStopCommit, kIgnore, kDie };
enum class DiskFailurePolicy { kBestEffort, kStop, kIgnore, kStopParanoid, kDie };
enum class StorageCompatibilityMode { kCassandra4, kUpgrading, kNone };

struct Config {
  // The cluster and this node's place in it.
  std::string cluster_name = "Test Cluster";
  std::optional<int> num_tokens;
  std::optional<int> allocate_tokens_for_local_replication_factor;
  std::vector<int64_t> initial_token;  // the numbers of a comma-separated list
  std::string partitioner = "org.apache.cassandra.dht.Murmur3Partitioner";
  std::string endpoint_snitch = "SimpleSnitch";
  bool dynamic_snitch = true;
  double dynamic_snitch_badness_threshold = 1.0;
  Millis dynamic_snitch_update_interval{100};
  Millis dynamic_snitch_reset_interval{600000};
  std::string topology_properties;          // the text of cassandra-topology.properties, for the snitches that read it
  std::string data_center = "datacenter1";  // cassandra-rackdc.properties, for the snitch that reads it
  std::string rack = "rack1";
  ClassConfig seed_provider;
  std::vector<std::string> seeds;  // of SimpleSeedProvider
  bool auto_bootstrap = true;
  double phi_convict_threshold = 8.0;
  bool join_ring = true;  // of our own, as -Dcassandra.join_ring; false: no tokens are taken, the node coordinates only
  Millis ring_delay{30000};  // of our own, as -Dcassandra.ring_delay_ms

  // Addresses and ports. Names are resolved when the file is read; "localhost" is 127.0.0.1.
  std::string listen_address = "127.0.0.1";
  std::string broadcast_address;          // empty: listen_address
  std::string rpc_address = "127.0.0.1";  // listen_address unless it is given
  std::string broadcast_rpc_address;      // empty: rpc_address
  uint16_t storage_port = 7000;
  uint16_t ssl_storage_port = 7001;
  uint16_t native_transport_port = 9042;
  bool rpc_keepalive = true;

  // Native protocol.
  bool start_native_transport = true;
  bool native_transport_allow_older_protocols = true;
  uint64_t native_transport_max_frame_size = 16 * kMiB;
  uint64_t native_transport_max_message_size = 16 * kMiB;
  int64_t native_transport_max_concurrent_connections = -1;
  int64_t native_transport_max_concurrent_connections_per_ip = -1;
  uint64_t native_transport_max_request_data_in_flight = 0;
  uint64_t native_transport_max_request_data_in_flight_per_ip = 0;
  uint64_t native_transport_receive_queue_capacity = kMiB;
  bool native_transport_rate_limiting_enabled = false;
  int native_transport_max_requests_per_second = 1000000;
  Millis native_transport_idle_timeout{0};  // 0: never
  Millis native_transport_timeout{12000};
  bool enable_shard_aware_drivers = false;  // this and the next are ScyllaDB's names
  uint16_t native_shard_aware_transport_port = 19042;
  bool client_encryption_enabled = false;  // client_encryption_options.enabled

  // Messages between nodes.
  std::string internode_encryption = "none";  // server_encryption_options.internode_encryption
  ClassConfig internode_authenticator{"AllowAllInternodeAuthenticator", {}};
  std::string internode_compression = "none";
  bool internode_timeout = true;
  Millis internode_tcp_connect_timeout{2000};
  Millis internode_tcp_user_timeout{30000};  // 0: the operating system's
  uint64_t internode_max_message_size = 128 * kMiB;
  bool log_out_of_token_range_requests = true;
  bool reject_out_of_token_range_requests = false;
  uint64_t internode_application_send_queue_capacity = 4 * kMiB;
  uint64_t internode_application_send_queue_reserve_endpoint_capacity = 128 * kMiB;
  uint64_t internode_application_send_queue_reserve_global_capacity = 512 * kMiB;
  uint64_t internode_application_receive_queue_capacity = 4 * kMiB;
  uint64_t internode_application_receive_queue_reserve_endpoint_capacity = 128 * kMiB;
  uint64_t internode_application_receive_queue_reserve_global_capacity = 512 * kMiB;

  // Directories.
  std::vector<std::string> data_file_directories;
  std::string local_system_data_file_directory;  // empty: with the rest
  std::string commitlog_directory;
  std::string saved_caches_directory;
  std::string hints_directory;
  std::string cdc_raw_directory;

  // Commit log.
  CommitLogSync commitlog_sync = CommitLogSync::kPeriodic;
  Millis commitlog_sync_period{10000};
  Millis commitlog_sync_group_window{0};
  Millis periodic_commitlog_sync_lag_block{15000};  // default: 1.5 commitlog_sync_period
  uint64_t commitlog_segment_size = 32 * kMiB;
  uint64_t commitlog_total_space = 8192 * kMiB;
  uint64_t max_mutation_size = 16 * kMiB;  // default: half a segment
  std::optional<ClassConfig> commitlog_compression;
  CommitFailurePolicy commit_failure_policy = CommitFailurePolicy::kStop;
  DiskFailurePolicy disk_failure_policy = DiskFailurePolicy::kIgnore;
  bool cdc_enabled = false;

  // Memory. The two memtable spaces are one budget here.
  uint64_t memtable_heap_space = 0;
  uint64_t row_memory = 0;  // of large rows that are read (read/row_memory.h); no key, derived
  uint64_t memtable_offheap_space = 0;
  std::map<std::string, MemtableConfig> memtable_configurations;
  uint64_t prepared_statements_cache_size = 0;
  uint64_t key_cache_size = 0;
  uint64_t row_cache_size = 0;
  uint64_t counter_cache_size = 0;
  bool file_cache_enabled = true;  // Cassandra's default is false: it leaves caching to the page cache of its host
  uint64_t file_cache_size = 0;

  // Storage.
  // sstable.selected_format. Without it and without storage_compatibility_mode, this node writes bti.
  std::string sstable_selected_format = "big";
  ClassConfig default_compaction;  // empty: SizeTieredCompactionStrategy
  std::string default_secondary_index = "legacy_local_table";
  bool default_secondary_index_enabled = true;
  StorageCompatibilityMode storage_compatibility_mode = StorageCompatibilityMode::kCassandra4;
  std::optional<uint64_t> column_index_size;  // default depends on the format
  std::optional<int> concurrent_compactors;
  bool autocompaction_on_startup_enabled = true;
  uint64_t compaction_throughput = 64 * kMiB;  // 0: unlimited
  bool auto_snapshot = true;
  std::optional<Seconds> auto_snapshot_ttl;
  bool snapshot_before_compaction = false;
  bool incremental_backups = false;
  // Not given: as the SSTables that there are; uuids, where there are none.
  bool uuid_sstable_identifiers_enabled = false, uuid_sstable_identifiers_given = false;
  uint64_t max_value_size = 256 * kMiB;

  // Requests.
  Millis request_timeout{10000};
  Millis read_request_timeout{5000};
  Millis range_request_timeout{10000};
  Millis write_request_timeout{2000};
  Millis counter_write_request_timeout{5000};
  uint64_t batchlog_replay_throttle = 1024 * 1024;  // bytes in a second; 0: no limit
  Millis cas_contention_timeout{1800};
  Millis truncate_request_timeout{60000};
  Millis slow_query_log_timeout{500};
  uint64_t batch_size_warn_threshold = 5 * kKiB;
  uint64_t batch_size_fail_threshold = 50 * kKiB;
  int unlogged_batch_across_partitions_warn_threshold = 10;
  int tombstone_warn_threshold = 1000;
  int tombstone_failure_threshold = 100000;
  bool read_thresholds_enabled = false;
  Seconds trace_type_query_ttl{86400};
  Seconds trace_type_repair_ttl{7 * 86400};
  Millis repair_request_timeout{120000};
  std::string batchlog_endpoint_strategy = "random_remote";
  bool hinted_handoff_enabled = true;
  std::vector<std::string> hinted_handoff_disabled_datacenters;
  uint64_t hinted_handoff_throttle = kMiB;  // bytes in a second; 0: no limit
  Millis max_hint_window{10800000};
  uint64_t max_hints_file_size = 128 * kMiB;
  uint64_t max_hints_size_per_host = 0;  // 0: no limit
  bool hint_window_persistent_enabled = true;
  bool auto_hints_cleanup_enabled = false;

  // Partitions that clients are denied.
  bool partition_denylist_enabled = false;
  bool denylist_writes_enabled = true;
  bool denylist_reads_enabled = true;
  bool denylist_range_reads_enabled = true;
  Seconds denylist_refresh{600};
  Seconds denylist_initial_load_retry{5};
  int denylist_max_keys_per_table = 1000;
  int denylist_max_keys_total = 10'000;
  Consistency denylist_consistency_level = Consistency::kQuorum;

  // Access.
  ClassConfig authenticator{"AllowAllAuthenticator", {}};
  ClassConfig authorizer{"AllowAllAuthorizer", {}};
  ClassConfig role_manager{"CassandraRoleManager", {}};
  Millis permissions_validity{2000};
  Millis roles_validity{2000};
  Millis credentials_validity{2000};

  // Features.
  int default_keyspace_rf = 1;
  bool materialized_views_enabled = false;
  bool sasi_indexes_enabled = false;
  bool user_defined_functions_enabled = false;
  bool transient_replication_enabled = false;
  bool drop_compact_storage_enabled = false;
  bool dynamic_data_masking_enabled = false;
  Guardrails guardrails;

  // Options of our own.
  unsigned shards = 1;                      // 1 to 64; default: the cores
  std::string admin_address = "127.0.0.1";  // where nodetool and Prometheus call
  std::string admin_host_name;              // what admin_address was given as, when that is a name
  uint16_t admin_port = 7199;
  std::string log_directory = "logs";  // of system.log

  // The text of the file.
  std::string file;
  std::vector<std::string> ignored_keys;  // in the file's order
  std::vector<std::string> old_names;     // that were read under their new names
  std::vector<std::string> warnings;      // to be logged at the start
  std::map<std::string, std::string> given;
  std::map<std::string, int> lines;  // where a key stands

  // `FILE:LINE: key: text`, at the first line when the file does not have the key.
  Error error_at(const std::string& key, const std::string& text) const;

  // A budget for all memtables of the node.
  uint64_t memtable_space() const { return memtable_heap_space + memtable_offheap_space; }
  const std::string& effective_broadcast_address() const {
    return broadcast_address.empty() ? listen_address : broadcast_address;
  }
  const std::string& effective_broadcast_rpc_address() const {
    return broadcast_rpc_address.empty() ? rpc_address : broadcast_rpc_address;
  }
  // Name and value of every key in use, as system_views.settings shows them, in order of name.
  std::vector<std::pair<std::string, std::string>> settings() const;
  // The same where guardrails have changed since the start.
  std::vector<std::pair<std::string, std::string>> settings_with(const Guardrails& now) const;
};

// `file` names the text in errors. An empty text gives the defaults.
Result<Config> parse_config(std::string_view text, const std::string& file, const HostFacts& host);
// The same from a file, or from a directory that holds cassandra.yaml; reads cassandra-rackdc.properties beside it when
// the snitch asks for it.
Result<Config> load_config(Disk& disk, const std::string& path, const HostFacts& host);
// Data centre and rack from the text of cassandra-rackdc.properties.
Status apply_rackdc(Config& config, std::string_view text, const std::string& file);

}  // namespace cassandra_like
