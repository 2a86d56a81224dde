// The columns of Cassandra 5.0's system tables, as its system_schema describes them: `name type [key|clustering|static]
// [desc]`, in key order and then by name.
#include "schema/system_tables.h"

namespace cassandra_like {

std::span<const SystemTableText> system_table_texts() {
  static constexpr SystemTableText kTables[] = {
      // keyspace, table, comment, gc_grace_seconds, default_time_to_live, columns[, compaction]
      {"system", "IndexInfo", "built column indexes", 0, 0,
       "table_name text key; index_name text clustering; value blob"},
      {"system", "available_ranges", "available keyspace/ranges during bootstrap/replace that are ready to be served",
       0, 0, "keyspace_name text key; ranges set<blob>"},
      {"system", "available_ranges_v2",
       "available keyspace/ranges during bootstrap/replace that are ready to be served", 0, 0,
       "keyspace_name text key; full_ranges set<blob>; transient_ranges set<blob>"},
      {"system", "batches", "batches awaiting replay", 0, 0, "id timeuuid key; mutations list<blob>; version int",
       "SizeTieredCompactionStrategy min_threshold=2"},
      {"system", "built_views", "built views", 0, 0,
       "keyspace_name text key; view_name text clustering; status_replicated boolean"},
      {"system", "compaction_history", "week-long compaction history", 0, 604800,
       "id timeuuid key; bytes_in bigint; bytes_out bigint; columnfamily_name text; compacted_at timestamp; "
       "compaction_properties frozen<map<text, text>>; keyspace_name text; rows_merged map<int, bigint>"},
      {"system", "local", "information about the local node", 0, 0,
       "key text key; bootstrapped text; broadcast_address inet; broadcast_port int; cluster_name text; "
       "cql_version text; data_center text; gossip_generation int; host_id uuid; listen_address inet; "
       "listen_port int; native_protocol_version text; partitioner text; rack text; release_version text; "
       "rpc_address inet; rpc_port int; schema_version uuid; tokens set<text>; "
       "truncated_at map<uuid, blob>"},
      {"system", "paxos", "in-progress paxos proposals", 0, 0,
       "row_key blob key; cf_id uuid clustering; in_progress_ballot timeuuid; "
       "in_progress_read_ballot timeuuid; most_recent_commit blob; most_recent_commit_at timeuuid; "
       "most_recent_commit_version int; proposal blob; proposal_ballot timeuuid; proposal_version int",
       "LeveledCompactionStrategy"},
      {"system", "paxos_repair_history", "paxos repair history", 0, 0,
       "keyspace_name text key; table_name text clustering; "
       "points frozen<list<frozen<tuple<blob, timeuuid>>>>"},
      {"system", "peer_events", "events related to peers", 0, 0, "peer inet key; hints_dropped map<timeuuid, int>"},
      {"system", "peer_events_v2", "events related to peers", 0, 0,
       "peer inet key; peer_port int clustering; hints_dropped map<timeuuid, int>"},
      {"system", "peers", "information about known peers in the cluster", 0, 0,
       "peer inet key; data_center text; host_id uuid; preferred_ip inet; rack text; release_version text; "
       "rpc_address inet; schema_version uuid; tokens set<text>"},
      {"system", "peers_v2", "information about known peers in the cluster", 0, 0,
       "peer inet key; peer_port int clustering; data_center text; host_id uuid; native_address inet; "
       "native_port int; preferred_ip inet; preferred_port int; rack text; release_version text; "
       "schema_version uuid; tokens set<text>"},
      {"system", "prepared_statements", "prepared statements", 0, 0,
       "prepared_id blob key; logged_keyspace text; query_string text"},
      {"system", "repairs", "repairs", 0, 0,
       "parent_id timeuuid key; cfids set<uuid>; coordinator inet; coordinator_port int; "
       "last_update timestamp; participants set<inet>; participants_wp set<text>; ranges set<blob>; "
       "repaired_at timestamp; started_at timestamp; state int"},
      {"system", "size_estimates",
       "per-table primary range size estimates, table is deprecated in favor of table_estimates", 0, 0,
       "keyspace_name text key; table_name text clustering; range_start text clustering; "
       "range_end text clustering; mean_partition_size bigint; partitions_count bigint"},
      {"system", "sstable_activity", "historic sstable read rates", 0, 0,
       "keyspace_name text key; columnfamily_name text key; generation int key; rate_120m double; "
       "rate_15m double"},
      {"system", "sstable_activity_v2", "historic sstable read rates", 0, 0,
       "keyspace_name text key; table_name text key; id text key; rate_120m double; rate_15m double"},
      {"system", "table_estimates", "per-table range size estimates", 0, 0,
       "keyspace_name text key; table_name text clustering; range_type text clustering; "
       "range_start text clustering; range_end text clustering; mean_partition_size bigint; "
       "partitions_count bigint"},
      {"system", "top_partitions", "Stores the top partitions", 0, 0,
       "keyspace_name text key; table_name text clustering; top_type text clustering; "
       "last_update timestamp; top frozen<list<frozen<tuple<text, bigint>>>>"},
      {"system", "transferred_ranges", "record of transferred ranges for streaming operation", 0, 0,
       "operation text key; keyspace_name text key; peer inet clustering; ranges set<blob>"},
      {"system", "transferred_ranges_v2", "record of transferred ranges for streaming operation", 0, 0,
       "operation text key; keyspace_name text key; peer inet clustering; peer_port int clustering; "
       "ranges set<blob>"},
      {"system", "view_builds_in_progress", "views builds current progress", 0, 0,
       "keyspace_name text key; view_name text clustering; start_token text clustering; "
       "end_token text clustering; keys_built bigint; last_token text"},
      {"system_schema", "aggregates", "user defined aggregate definitions", 604800, 0,
       "keyspace_name text key; aggregate_name text clustering; "
       "argument_types frozen<list<text>> clustering; final_func text; initcond text; return_type text; "
       "state_func text; state_type text"},
      {"system_schema", "column_masks", "column dynamic data masks", 604800, 0,
       "keyspace_name text key; table_name text clustering; column_name text clustering; "
       "function_argument_nulls frozen<list<boolean>>; function_argument_types frozen<list<text>>; "
       "function_argument_values frozen<list<text>>; function_keyspace text; function_name text"},
      {"system_schema", "columns", "column definitions", 604800, 0,
       "keyspace_name text key; table_name text clustering; column_name text clustering; "
       "clustering_order text; column_name_bytes blob; kind text; position int; type text"},
      {"system_schema", "dropped_columns", "dropped column registry", 604800, 0,
       "keyspace_name text key; table_name text clustering; column_name text clustering; "
       "dropped_time timestamp; kind text; type text"},
      {"system_schema", "functions", "user defined function definitions", 604800, 0,
       "keyspace_name text key; function_name text clustering; "
       "argument_types frozen<list<text>> clustering; argument_names frozen<list<text>>; body text; "
       "called_on_null_input boolean; language text; return_type text"},
      {"system_schema", "indexes", "secondary index definitions", 604800, 0,
       "keyspace_name text key; table_name text clustering; index_name text clustering; kind text; "
       "options frozen<map<text, text>>"},
      {"system_schema", "keyspaces", "keyspace definitions", 604800, 0,
       "keyspace_name text key; durable_writes boolean; replication frozen<map<text, text>>"},
      {"system_schema", "tables", "table definitions", 604800, 0,
       "keyspace_name text key; table_name text clustering; additional_write_policy text; "
       "allow_auto_snapshot boolean; bloom_filter_fp_chance double; caching frozen<map<text, text>>; "
       "cdc boolean; comment text; compaction frozen<map<text, text>>; compression frozen<map<text, text>>; "
       "crc_check_chance double; dclocal_read_repair_chance double; default_time_to_live int; "
       "extensions frozen<map<text, blob>>; flags frozen<set<text>>; gc_grace_seconds int; id uuid; "
       "incremental_backups boolean; max_index_interval int; memtable text; "
       "memtable_flush_period_in_ms int; min_index_interval int; read_repair text; "
       "read_repair_chance double; speculative_retry text"},
      {"system_schema", "triggers", "trigger definitions", 604800, 0,
       "keyspace_name text key; table_name text clustering; trigger_name text clustering; "
       "options frozen<map<text, text>>"},
      {"system_schema", "types", "user defined type definitions", 604800, 0,
       "keyspace_name text key; type_name text clustering; field_names frozen<list<text>>; "
       "field_types frozen<list<text>>"},
      {"system_schema", "views", "view definitions", 604800, 0,
       "keyspace_name text key; view_name text clustering; additional_write_policy text; "
       "allow_auto_snapshot boolean; base_table_id uuid; base_table_name text; "
       "bloom_filter_fp_chance double; caching frozen<map<text, text>>; cdc boolean; comment text; "
       "compaction frozen<map<text, text>>; compression frozen<map<text, text>>; crc_check_chance double; "
       "dclocal_read_repair_chance double; default_time_to_live int; extensions frozen<map<text, blob>>; "
       "gc_grace_seconds int; id uuid; include_all_columns boolean; incremental_backups boolean; "
       "max_index_interval int; memtable text; memtable_flush_period_in_ms int; min_index_interval int; "
       "read_repair text; read_repair_chance double; speculative_retry text; where_clause text"},
      {"system_auth", "cidr_groups", "cidr groups to cidrs mapping", 7776000, 0,
       "cidr_group text key; cidrs frozen<set<frozen<tuple<inet, smallint>>>>"},
      {"system_auth", "cidr_permissions", "user cidr permissions", 7776000, 0,
       "role text key; cidr_groups frozen<set<text>>"},
      {"system_auth", "identity_to_role", "mtls authorized identities lookup table", 7776000, 0,
       "identity text key; role text"},
      {"system_auth", "network_permissions", "user network permissions", 7776000, 0,
       "role text key; dcs frozen<set<text>>"},
      {"system_auth", "resource_role_permissons_index", "index of db roles with permissions granted on a resource",
       7776000, 0, "resource text key; role text clustering"},
      {"system_auth", "role_members", "role memberships lookup table", 7776000, 0,
       "role text key; member text clustering"},
      {"system_auth", "role_permissions", "permissions granted to db roles", 7776000, 0,
       "role text key; resource text clustering; permissions set<text>"},
      {"system_auth", "roles", "role definitions", 7776000, 0,
       "role text key; can_login boolean; is_superuser boolean; member_of set<text>; salted_hash text"},
      {"system_distributed", "parent_repair_history", "Repair history", 864000, 2592000,
       "parent_id timeuuid key; columnfamily_names set<text>; exception_message text; "
       "exception_stacktrace text; finished_at timestamp; keyspace_name text; options map<text, text>; "
       "requested_ranges set<text>; started_at timestamp; successful_ranges set<text>",
       "TimeWindowCompactionStrategy compaction_window_size=1 compaction_window_unit=DAYS"},
      {"system_distributed", "partition_denylist", "Partition keys which have been denied access", 864000, 0,
       "ks_name text key; table_name text key; key blob clustering"},
      {"system_distributed", "repair_history", "Repair history", 864000, 2592000,
       "keyspace_name text key; columnfamily_name text key; id timeuuid clustering; coordinator inet; "
       "coordinator_port int; exception_message text; exception_stacktrace text; finished_at timestamp; "
       "parent_id timeuuid; participants set<inet>; participants_v2 set<text>; range_begin text; "
       "range_end text; started_at timestamp; status text",
       "TimeWindowCompactionStrategy compaction_window_size=1 compaction_window_unit=DAYS"},
      {"system_distributed", "view_build_status", "Materialized View build status", 864000, 0,
       "keyspace_name text key; view_name text key; host_id uuid clustering; status text"},
      {"system_traces", "events", "tracing events", 0, 0,
       "session_id uuid key; event_id timeuuid clustering; activity text; source inet; source_elapsed int; "
       "source_port int; thread text"},
      {"system_traces", "sessions", "tracing sessions", 0, 0,
       "session_id uuid key; client inet; command text; coordinator inet; coordinator_port int; "
       "duration int; parameters map<text, text>; request text; started_at timestamp"},
      {"system_views", "batch_metrics", "Metrics specific to batch statements", 0, 0,
       "name text key; max bigint; p50th double; p999th double; p99th double"},
      {"system_views", "caches", "system caches", 0, 0,
       "name text key; capacity_bytes bigint; entry_count int; hit_count bigint; hit_ratio double; "
       "recent_hit_rate_per_second bigint; recent_request_rate_per_second bigint; request_count bigint; "
       "size_bytes bigint"},
      {"system_views", "clients", "currently connected clients", 0, 0,
       "address inet key; port int clustering; client_options frozen<map<text, text>>; "
       "connection_stage text; driver_name text; driver_version text; hostname text; keyspace_name text; "
       "protocol_version int; request_count bigint; ssl_cipher_suite text; ssl_enabled boolean; "
       "ssl_protocol text; username text"},
      {"system_views", "coordinator_read_latency", "", 0, 0,
       "keyspace_name text key; table_name text key; count bigint; max_ms double; p50th_ms double; "
       "p99th_ms double; per_second double"},
      {"system_views", "coordinator_scan_latency", "", 0, 0,
       "keyspace_name text key; table_name text key; count bigint; max_ms double; p50th_ms double; "
       "p99th_ms double; per_second double"},
      {"system_views", "coordinator_write_latency", "", 0, 0,
       "keyspace_name text key; table_name text key; count bigint; max_ms double; p50th_ms double; "
       "p99th_ms double; per_second double"},
      {"system_views", "cql_metrics", "Metrics specific to CQL prepared statement caching", 0, 0,
       "name text key; value double"},
      {"system_views", "disk_usage", "", 0, 0, "keyspace_name text key; table_name text key; mebibytes bigint"},
      {"system_views", "gossip_info", "lists the gossip information for the cluster", 0, 0,
       "address inet key; port int clustering; dc text; dc_version int; disk_usage text; "
       "disk_usage_version int; generation int; heartbeat int; host_id text; host_id_version int; "
       "hostname text; index_status text; index_status_version int; internal_address_and_port text; "
       "internal_address_and_port_version int; internal_ip text; internal_ip_version int; load text; "
       "load_version int; native_address_and_port text; native_address_and_port_version int; "
       "net_version text; net_version_version int; rack text; rack_version int; release_version text; "
       "release_version_version int; removal_coordinator text; removal_coordinator_version int; "
       "rpc_address text; rpc_address_version int; rpc_ready text; rpc_ready_version int; schema text; "
       "schema_version int; severity text; severity_version int; sstable_versions text; "
       "sstable_versions_version int; status text; status_version int; status_with_port text; "
       "status_with_port_version int; tokens_version int; x1 text; x10 text; x10_version int; "
       "x1_version int; x2 text; x2_version int; x3 text; x3_version int; x4 text; x4_version int; x5 text; "
       "x5_version int; x6 text; x6_version int; x7 text; x7_version int; x8 text; x8_version int; x9 text; "
       "x9_version int; x_11_padding text; x_11_padding_version int"},
      {"system_views", "internode_inbound", "", 0, 0,
       "address inet key; port int key; dc text clustering; rack text clustering; corrupt_frames_recovered bigint; "
       "corrupt_frames_unrecovered bigint; error_bytes bigint; error_count bigint; expired_bytes bigint; "
       "expired_count bigint; processed_bytes bigint; processed_count bigint; received_bytes bigint; "
       "received_count bigint; scheduled_bytes bigint; scheduled_count bigint; throttled_count bigint; "
       "throttled_nanos bigint; using_bytes bigint; using_reserve_bytes bigint"},
      {"system_views", "internode_outbound", "", 0, 0,
       "address inet key; port int key; dc text clustering; rack text clustering; active_connections bigint; "
       "connection_attempts bigint; error_bytes bigint; error_count bigint; expired_bytes bigint; "
       "expired_count bigint; overload_bytes bigint; overload_count bigint; pending_bytes bigint; "
       "pending_count bigint; sent_bytes bigint; sent_count bigint; successful_connection_attempts bigint; "
       "using_bytes bigint; using_reserve_bytes bigint"},
      {"system_views", "local_read_latency", "", 0, 0,
       "keyspace_name text key; table_name text key; count bigint; max_ms double; p50th_ms double; "
       "p99th_ms double; per_second double"},
      {"system_views", "local_scan_latency", "", 0, 0,
       "keyspace_name text key; table_name text key; count bigint; max_ms double; p50th_ms double; "
       "p99th_ms double; per_second double"},
      {"system_views", "local_write_latency", "", 0, 0,
       "keyspace_name text key; table_name text key; count bigint; max_ms double; p50th_ms double; "
       "p99th_ms double; per_second double"},
      {"system_views", "max_partition_size", "", 0, 0, "keyspace_name text key; table_name text key; mebibytes bigint"},
      {"system_views", "max_sstable_size", "", 0, 0, "keyspace_name text key; table_name text key; mebibytes bigint"},
      {"system_views", "pending_hints", "Pending hints that this node has for other nodes", 0, 0,
       "host_id uuid key; address inet; dc text; files int; newest timestamp; oldest timestamp; port int; "
       "rack text; status text"},
      {"system_views", "rows_per_read", "", 0, 0,
       "keyspace_name text key; table_name text key; count bigint; max double; p50th double; p99th double"},
      {"system_views", "settings", "current settings", 0, 0, "name text key; value text"},
      {"system_views", "snapshots", "available snapshots", 0, 0,
       "name text key; keyspace_name text clustering; table_name text clustering; created_at timestamp; "
       "ephemeral boolean; expires_at timestamp; size_on_disk bigint; true_size bigint"},
      {"system_views", "sstable_tasks", "current sstable tasks", 0, 0,
       "keyspace_name text key; table_name text clustering; task_id timeuuid clustering; "
       "completion_ratio double; kind text; progress bigint; sstables int; target_directory text; "
       "total bigint; total_compressed bigint; unit text"},
      {"system_views", "streaming", "", 0, 0,
       "id timeuuid key; bytes_received bigint; bytes_sent bigint; bytes_to_receive bigint; bytes_to_send bigint; "
       "duration_millis bigint; failure_cause text; files_received bigint; files_sent bigint; "
       "files_to_receive bigint; files_to_send bigint; follower boolean; last_updated_at timestamp; operation text; "
       "peers frozen<list<text>>; progress_percentage float; status text; status_failure_timestamp timestamp; "
       "status_init_timestamp timestamp; status_start_timestamp timestamp; status_success_timestamp timestamp; "
       "success_message text"},
      {"system_views", "system_logs", "Cassandra logs", 0, 0,
       "timestamp timestamp key; order_in_millisecond int clustering; level text; logger text; message text"},
      {"system_views", "system_properties", "Cassandra relevant system properties", 0, 0, "name text key; value text"},
      {"system_views", "thread_pools", "", 0, 0,
       "name text key; active_tasks int; active_tasks_limit int; blocked_tasks bigint; "
       "blocked_tasks_all_time bigint; completed_tasks bigint; pending_tasks int"},
      {"system_views", "tombstones_per_read", "", 0, 0,
       "keyspace_name text key; table_name text key; count bigint; max double; p50th double; p99th double"},
      {"system_virtual_schema", "columns", "virtual column definitions", 0, 0,
       "keyspace_name text key; table_name text clustering; column_name text clustering; "
       "clustering_order text; column_name_bytes blob; kind text; position int; type text"},
      {"system_virtual_schema", "keyspaces", "virtual keyspace definitions", 0, 0, "keyspace_name text key"},
      {"system_virtual_schema", "tables", "virtual table definitions", 0, 0,
       "keyspace_name text key; table_name text clustering; comment text"},
  };
  return kTables;
}

}  // namespace cassandra_like
