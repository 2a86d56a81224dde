// The table of the keys in use: for each its name, its type with the smallest unit that Cassandra accepts, its field.
#include <fmt/format.h>

#include <utility>

#include "node/config_values.h"

namespace cassandra_like {
namespace {

using Bindings = std::map<std::string, ConfigBinding, std::less<>>;

template <class C, class T>
auto& field_of(C& config, T Config::*field) {
  return config.*field;
}
template <class C, class T>
auto& field_of(C& config, T Guardrails::*field) {
  return config.guardrails.*field;
}

// Adds bindings under readable names: one method for each kind of value.
class Binder {
 public:
  template <class Field>
  void value(const char* name, Field field) {
    add(
        name, [field](const YAML::Node& node, Config& c) { return read_value(node, field_of(c, field)); },
        [field](const Config& c) { return show_value(field_of(c, field)); });
  }

  void millis(const char* name, Millis Config::*field, Bound bound = Bound::kLong) {
    add(
        name,
        [=](const YAML::Node& node, Config& c) {
          uint64_t nanos = 0;
          Problem problem = quantity(node, [&](auto& s) { return parse_duration(s, kUnitMilli, bound, nanos); });
          if (!problem) c.*field = Millis(nanos / kUnitMilli.factor);
          return problem;
        },
        [field](const Config& c) { return fmt::format("{}ms", (c.*field).count()); });
  }

  template <class Field>
  void seconds(const char* name, Field field) {
    add(
        name,
        [=](const YAML::Node& node, Config& c) {
          uint64_t nanos = 0;
          Problem problem = quantity(node, [&](auto& s) { return parse_duration(s, kUnitSecond, Bound::kInt, nanos); });
          if (!problem) c.*field = Seconds(nanos / kUnitSecond.factor);
          return problem;
        },
        [field](const Config& c) { return show_seconds(c.*field); });
  }

  void micros(const char* name, std::optional<uint64_t> Guardrails::*field) {
    add(
        name,
        [=](const YAML::Node& node, Config& c) {
          uint64_t nanos = 0;
          Problem problem = quantity(node, [&](auto& s) { return parse_duration(s, kUnitMicro, Bound::kLong, nanos); });
          if (!problem) c.guardrails.*field = nanos / kUnitMicro.factor;
          return problem;
        },
        [field](const Config& c) {
          const std::optional<uint64_t> micros = c.guardrails.*field;
          return micros ? fmt::format("{}us", *micros) : std::string("null");
        });
  }

  template <class Field>
  void size(const char* name, Field field, Unit least, Bound bound = Bound::kInt) {
    add(
        name,
        [=](const YAML::Node& node, Config& c) {
          uint64_t bytes = 0;
          Problem problem = quantity(node, [&](auto& s) { return parse_size(s, least, bound, bytes); });
          if (!problem) field_of(c, field) = bytes;
          return problem;
        },
        [=](const Config& c) { return show_size(field_of(c, field), least); });
  }

  void rate(const char* name, uint64_t Config::*field) {
    add(
        name,
        [=](const YAML::Node& node, Config& c) {
          return quantity(node, [&](auto& s) { return parse_rate(s, c.*field); });
        },
        [=](const Config& c) {
          const uint64_t rate = c.*field;
          return rate % kMiB == 0 ? fmt::format("{}MiB/s", rate / kMiB) : fmt::format("{}B/s", rate);
        });
  }

  template <class E>
  void choice(const char* name, E Config::*field, std::vector<std::pair<std::string, E>> names) {
    add(
        name,
        [=](const YAML::Node& node, Config& c) -> Problem {
          std::string text, all;
          if (Problem problem = read_value(node, text)) return problem;
          for (const auto& [key, value] : names) {
            all += (all.empty() ? "" : ", ") + key;
            if (key == text) return c.*field = value, Problem{};
          }
          return fmt::format("cannot read '{}': write one of {}", text, all);
        },
        [=](const Config& c) {
          for (const auto& [key, value] : names) {
            if (value == c.*field) return key;
          }
          return std::string("null");
        });
  }

  // Keys that Cassandra leaves unset by default: an empty value is no error.
  void nullable(std::initializer_list<const char*> names) {
    for (const char* name : names) bindings_.at(name).nullable = true;
  }

  Bindings take() { return std::move(bindings_); }

 private:
  template <class Parse>
  static Problem quantity(const YAML::Node& node, Parse parse) {
    std::string text;
    if (Problem problem = read_value(node, text)) return problem;
    return parse(text);
  }

  static std::string show_seconds(Seconds value) { return fmt::format("{}s", value.count()); }
  static std::string show_seconds(const std::optional<Seconds>& value) { return value ? show_seconds(*value) : "null"; }
  static std::string show_size(uint64_t bytes, Unit unit) {
    return fmt::format("{}{}", bytes / unit.factor, unit.symbol);
  }
  static std::string show_size(const std::optional<uint64_t>& bytes, Unit unit) {
    return bytes ? show_size(*bytes, unit) : "null";
  }

  void add(const char* name, std::function<Problem(const YAML::Node&, Config&)> read,
           std::function<std::string(const Config&)> show) {
    bindings_.emplace(name, ConfigBinding{std::move(read), std::move(show)});
  }

  Bindings bindings_;
};

#define VALUE(name) b.value(#name, &Config::name)
#define MILLIS(name, ...) b.millis(#name, &Config::name __VA_OPT__(, ) __VA_ARGS__)
#define SIZE(name, ...) b.size(#name, &Config::name, __VA_ARGS__)
#define GUARDRAIL(name) b.value(#name, &Guardrails::name)
#define GUARDRAIL_PAIR(name)        \
  GUARDRAIL(name##_warn_threshold); \
  GUARDRAIL(name##_fail_threshold)
#define GUARDRAIL_SIZE(name)                                 \
  b.size(#name, &Guardrails::name, kUnitByte, Bound::kLong); \
  b.nullable({#name})
#define GUARDRAIL_MICROS(name)        \
  b.micros(#name, &Guardrails::name); \
  b.nullable({#name})

void bind_cluster(Binder& b) {
  VALUE(cluster_name);
  VALUE(num_tokens);
  VALUE(allocate_tokens_for_local_replication_factor);
  VALUE(initial_token);
  VALUE(partitioner);
  VALUE(endpoint_snitch);
  VALUE(dynamic_snitch);
  VALUE(dynamic_snitch_badness_threshold);
  MILLIS(dynamic_snitch_update_interval, Bound::kInt);
  MILLIS(dynamic_snitch_reset_interval, Bound::kInt);
  VALUE(seed_provider);
  VALUE(auto_bootstrap);
  VALUE(phi_convict_threshold);
  VALUE(listen_address);
  VALUE(broadcast_address);
  VALUE(rpc_address);
  VALUE(broadcast_rpc_address);
  VALUE(storage_port);
  VALUE(ssl_storage_port);
  VALUE(rpc_keepalive);
  VALUE(join_ring);
  MILLIS(ring_delay);
  b.nullable({"num_tokens", "allocate_tokens_for_local_replication_factor", "initial_token", "listen_address",
              "broadcast_address", "rpc_address", "broadcast_rpc_address"});
}

void bind_native_transport(Binder& b) {
  VALUE(start_native_transport);
  VALUE(native_transport_port);
  VALUE(native_transport_allow_older_protocols);
  SIZE(native_transport_max_frame_size, kUnitMiB);
  SIZE(native_transport_max_message_size, kUnitByte, Bound::kLong);
  VALUE(native_transport_max_concurrent_connections);
  VALUE(native_transport_max_concurrent_connections_per_ip);
  SIZE(native_transport_max_request_data_in_flight, kUnitByte, Bound::kLong);
  SIZE(native_transport_max_request_data_in_flight_per_ip, kUnitByte, Bound::kLong);
  SIZE(native_transport_receive_queue_capacity, kUnitByte);
  VALUE(native_transport_rate_limiting_enabled);
  VALUE(native_transport_max_requests_per_second);
  MILLIS(native_transport_idle_timeout);
  MILLIS(native_transport_timeout);
  b.value("client_encryption_options.enabled", &Config::client_encryption_enabled);
  b.nullable({"native_transport_max_message_size", "native_transport_max_request_data_in_flight",
              "native_transport_max_request_data_in_flight_per_ip"});
}

void bind_internode(Binder& b) {
  b.value("server_encryption_options.internode_encryption", &Config::internode_encryption);
  VALUE(internode_authenticator);
  VALUE(internode_compression);
  VALUE(internode_timeout);
  MILLIS(internode_tcp_connect_timeout, Bound::kInt);
  MILLIS(internode_tcp_user_timeout, Bound::kInt);
  SIZE(internode_max_message_size, kUnitByte);
  VALUE(log_out_of_token_range_requests);
  VALUE(reject_out_of_token_range_requests);
  SIZE(internode_application_send_queue_capacity, kUnitByte);
  SIZE(internode_application_send_queue_reserve_endpoint_capacity, kUnitByte);
  SIZE(internode_application_send_queue_reserve_global_capacity, kUnitByte);
  SIZE(internode_application_receive_queue_capacity, kUnitByte);
  SIZE(internode_application_receive_queue_reserve_endpoint_capacity, kUnitByte);
  SIZE(internode_application_receive_queue_reserve_global_capacity, kUnitByte);
  b.nullable({"internode_authenticator", "internode_max_message_size"});
}

void bind_commitlog(Binder& b) {
  b.choice(
      "commitlog_sync", &Config::commitlog_sync,
      {{"periodic", CommitLogSync::kPeriodic}, {"batch", CommitLogSync::kBatch}, {"group", CommitLogSync::kGroup}});
  MILLIS(commitlog_sync_period, Bound::kInt);
  MILLIS(commitlog_sync_group_window, Bound::kInt);
  MILLIS(periodic_commitlog_sync_lag_block, Bound::kInt);
  SIZE(commitlog_segment_size, kUnitMiB);
  SIZE(commitlog_total_space, kUnitMiB);
  SIZE(max_mutation_size, kUnitKiB);
  SIZE(batchlog_replay_throttle, kUnitKiB);
  VALUE(commitlog_compression);
  b.choice("commit_failure_policy", &Config::commit_failure_policy,
           {{"stop", CommitFailurePolicy::kStop},
            {"stop_commit", CommitFailurePolicy::kStopCommit},
            {"ignore", CommitFailurePolicy::kIgnore},
            {"die", CommitFailurePolicy::kDie}});
  VALUE(cdc_enabled);
  b.nullable({"commitlog_sync", "periodic_commitlog_sync_lag_block", "commitlog_total_space", "max_mutation_size",
              "commitlog_compression"});
}

void bind_storage(Binder& b) {
  VALUE(data_file_directories);
  VALUE(local_system_data_file_directory);
  VALUE(commitlog_directory);
  VALUE(saved_caches_directory);
  VALUE(hints_directory);
  VALUE(cdc_raw_directory);
  b.choice("disk_failure_policy", &Config::disk_failure_policy,
           {{"best_effort", DiskFailurePolicy::kBestEffort},
            {"stop", DiskFailurePolicy::kStop},
            {"ignore", DiskFailurePolicy::kIgnore},
            {"stop_paranoid", DiskFailurePolicy::kStopParanoid},
            {"die", DiskFailurePolicy::kDie}});
  SIZE(memtable_heap_space, kUnitMiB);
  SIZE(memtable_offheap_space, kUnitMiB);
  b.value("memtable.configurations", &Config::memtable_configurations);
  SIZE(prepared_statements_cache_size, kUnitMiB, Bound::kLong);
  SIZE(key_cache_size, kUnitMiB, Bound::kLong);
  SIZE(row_cache_size, kUnitMiB, Bound::kLong);
  SIZE(counter_cache_size, kUnitMiB, Bound::kLong);
  VALUE(file_cache_enabled);
  SIZE(file_cache_size, kUnitMiB);
  b.value("sstable.selected_format", &Config::sstable_selected_format);
  VALUE(default_compaction);
  VALUE(default_secondary_index);
  VALUE(default_secondary_index_enabled);
  b.choice("storage_compatibility_mode", &Config::storage_compatibility_mode,
           {{"CASSANDRA_4", StorageCompatibilityMode::kCassandra4},
            {"UPGRADING", StorageCompatibilityMode::kUpgrading},
            {"NONE", StorageCompatibilityMode::kNone}});
  SIZE(column_index_size, kUnitKiB);
  VALUE(concurrent_compactors);
  b.rate("compaction_throughput", &Config::compaction_throughput);
  VALUE(autocompaction_on_startup_enabled);
  VALUE(auto_snapshot);
  b.seconds("auto_snapshot_ttl", &Config::auto_snapshot_ttl);
  VALUE(snapshot_before_compaction);
  VALUE(incremental_backups);
  VALUE(uuid_sstable_identifiers_enabled);
  SIZE(max_value_size, kUnitMiB);
  b.nullable({"local_system_data_file_directory", "commitlog_directory", "saved_caches_directory", "hints_directory",
              "cdc_raw_directory", "data_file_directories", "memtable_heap_space", "memtable_offheap_space",
              "memtable.configurations", "prepared_statements_cache_size", "key_cache_size", "counter_cache_size",
              "file_cache_size", "default_compaction", "storage_compatibility_mode", "column_index_size",
              "concurrent_compactors", "auto_snapshot_ttl"});
}

void bind_requests(Binder& b) {
  MILLIS(request_timeout);
  MILLIS(read_request_timeout);
  MILLIS(range_request_timeout);
  MILLIS(write_request_timeout);
  MILLIS(counter_write_request_timeout);
  MILLIS(cas_contention_timeout);
  MILLIS(truncate_request_timeout);
  MILLIS(slow_query_log_timeout);
  SIZE(batch_size_warn_threshold, kUnitKiB);
  SIZE(batch_size_fail_threshold, kUnitKiB);
  VALUE(unlogged_batch_across_partitions_warn_threshold);
  VALUE(tombstone_warn_threshold);
  VALUE(tombstone_failure_threshold);
  VALUE(read_thresholds_enabled);
  b.seconds("trace_type_query_ttl", &Config::trace_type_query_ttl);
  b.seconds("trace_type_repair_ttl", &Config::trace_type_repair_ttl);
  MILLIS(repair_request_timeout);
  VALUE(batchlog_endpoint_strategy);
  VALUE(hinted_handoff_enabled);
  VALUE(hinted_handoff_disabled_datacenters);
  SIZE(hinted_handoff_throttle, kUnitKiB);
  MILLIS(max_hint_window, Bound::kInt);
  SIZE(max_hints_file_size, kUnitMiB);
  SIZE(max_hints_size_per_host, kUnitMiB);
  VALUE(hint_window_persistent_enabled);
  VALUE(auto_hints_cleanup_enabled);
  VALUE(authenticator);
  VALUE(authorizer);
  VALUE(role_manager);
  MILLIS(permissions_validity, Bound::kInt);
  MILLIS(roles_validity, Bound::kInt);
  MILLIS(credentials_validity, Bound::kInt);
  b.nullable({"authenticator", "authorizer", "role_manager"});
}

void bind_denylist(Binder& b) {
  VALUE(partition_denylist_enabled);
  VALUE(denylist_writes_enabled);
  VALUE(denylist_reads_enabled);
  VALUE(denylist_range_reads_enabled);
  b.seconds("denylist_refresh", &Config::denylist_refresh);
  b.seconds("denylist_initial_load_retry", &Config::denylist_initial_load_retry);
  VALUE(denylist_max_keys_per_table);
  VALUE(denylist_max_keys_total);
  std::vector<std::pair<std::string, Consistency>> levels;
  for (size_t i = 0; i < kConsistencyLevels; ++i) {
    const auto level = static_cast<Consistency>(i);
    levels.emplace_back(consistency_name(level), level);
  }
  b.choice("denylist_consistency_level", &Config::denylist_consistency_level, std::move(levels));
}

void bind_features(Binder& b) {
  VALUE(default_keyspace_rf);
  VALUE(materialized_views_enabled);
  VALUE(sasi_indexes_enabled);
  VALUE(user_defined_functions_enabled);
  VALUE(transient_replication_enabled);
  VALUE(drop_compact_storage_enabled);
  VALUE(dynamic_data_masking_enabled);
  VALUE(shards);
  VALUE(enable_shard_aware_drivers);
  VALUE(native_shard_aware_transport_port);
  VALUE(admin_address);
  VALUE(admin_port);
  VALUE(log_directory);
}

void bind_guardrails(Binder& b) {
  GUARDRAIL_PAIR(keyspaces);
  GUARDRAIL_PAIR(tables);
  GUARDRAIL_PAIR(columns_per_table);
  GUARDRAIL_PAIR(secondary_indexes_per_table);
  GUARDRAIL_PAIR(materialized_views_per_table);
  GUARDRAIL_PAIR(page_size);
  GUARDRAIL_PAIR(partition_keys_in_select);
  GUARDRAIL_PAIR(in_select_cartesian_product);
  GUARDRAIL_PAIR(items_per_collection);
  GUARDRAIL_PAIR(fields_per_udt);
  GUARDRAIL_PAIR(vector_dimensions);
  GUARDRAIL_PAIR(minimum_replication_factor);
  GUARDRAIL_PAIR(maximum_replication_factor);
  GUARDRAIL_PAIR(data_disk_usage_percentage);
  GUARDRAIL_PAIR(partition_tombstones);
  GUARDRAIL_SIZE(column_value_size_warn_threshold);
  GUARDRAIL_SIZE(column_value_size_fail_threshold);
  GUARDRAIL_SIZE(collection_size_warn_threshold);
  GUARDRAIL_SIZE(collection_size_fail_threshold);
  GUARDRAIL_SIZE(partition_size_warn_threshold);
  GUARDRAIL_SIZE(partition_size_fail_threshold);
  GUARDRAIL_SIZE(data_disk_usage_max_disk_size);
  GUARDRAIL_MICROS(maximum_timestamp_warn_threshold);
  GUARDRAIL_MICROS(maximum_timestamp_fail_threshold);
  GUARDRAIL_MICROS(minimum_timestamp_warn_threshold);
  GUARDRAIL_MICROS(minimum_timestamp_fail_threshold);
  GUARDRAIL(table_properties_warned);
  GUARDRAIL(table_properties_ignored);
  GUARDRAIL(table_properties_disallowed);
  GUARDRAIL(read_consistency_levels_warned);
  GUARDRAIL(read_consistency_levels_disallowed);
  GUARDRAIL(write_consistency_levels_warned);
  GUARDRAIL(write_consistency_levels_disallowed);
  GUARDRAIL(user_timestamps_enabled);
  GUARDRAIL(alter_table_enabled);
  GUARDRAIL(group_by_enabled);
  GUARDRAIL(drop_truncate_table_enabled);
  GUARDRAIL(drop_keyspace_enabled);
  GUARDRAIL(secondary_indexes_enabled);
  GUARDRAIL(uncompressed_tables_enabled);
  GUARDRAIL(compact_tables_enabled);
  GUARDRAIL(read_before_write_list_operations_enabled);
  GUARDRAIL(allow_filtering_enabled);
  GUARDRAIL(simplestrategy_enabled);
  GUARDRAIL(use_statements_enabled);
  GUARDRAIL(vector_type_enabled);
  GUARDRAIL(zero_ttl_on_twcs_warned);
  GUARDRAIL(zero_ttl_on_twcs_enabled);
  GUARDRAIL(non_partition_restricted_index_query_enabled);
  GUARDRAIL(intersect_filtering_query_warned);
  GUARDRAIL(intersect_filtering_query_enabled);
}

}  // namespace

const Bindings& config_bindings() {
  static const Bindings bindings = [] {
    Binder b;
    bind_cluster(b);
    bind_native_transport(b);
    bind_internode(b);
    bind_commitlog(b);
    bind_storage(b);
    bind_requests(b);
    bind_denylist(b);
    bind_features(b);
    bind_guardrails(b);
    return b.take();
  }();
  return bindings;
}

}  // namespace cassandra_like
