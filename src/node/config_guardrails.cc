#include "node/config_guardrails.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "coordinator/quorum/consistency.h"
#include "cql/schema/table_options.h"

namespace cassandra_like {
namespace {

// -1 or no value switches one off.
struct Thresholds {
  const char* name;
  int Guardrails::*warn;
  int Guardrails::*fail;
  int most = std::numeric_limits<int>::max();
};

#define THRESHOLDS(name) #name, &Guardrails::name##_warn_threshold, &Guardrails::name##_fail_threshold
constexpr Thresholds kThresholds[] = {{THRESHOLDS(keyspaces)},
                                      {THRESHOLDS(tables)},
                                      {THRESHOLDS(columns_per_table)},
                                      {THRESHOLDS(secondary_indexes_per_table)},
                                      {THRESHOLDS(materialized_views_per_table)},
                                      {THRESHOLDS(page_size)},
                                      {THRESHOLDS(partition_keys_in_select)},
                                      {THRESHOLDS(in_select_cartesian_product)},
                                      {THRESHOLDS(items_per_collection)},
                                      {THRESHOLDS(fields_per_udt)},
                                      {THRESHOLDS(vector_dimensions)},
                                      {THRESHOLDS(data_disk_usage_percentage), 100},
                                      {THRESHOLDS(maximum_replication_factor)}};
constexpr Thresholds kMinimumFactor{THRESHOLDS(minimum_replication_factor)};
#undef THRESHOLDS

Status check_number(const Config& config, const std::string& key, int value, int most) {
  if (value == 0) return config.error_at(key, "0 is not allowed: write -1 to switch it off");
  if (value < -1) {
    return config.error_at(
        key, fmt::format("Invalid value {}, negative values are not allowed: write -1 to switch it off", value));
  }
  if (value > most) {
    return config.error_at(key, fmt::format("Invalid value {}: maximum allowed value is {}", value, most));
  }
  return {};
}

Status check_thresholds(const Config& config, const Thresholds& t, bool warns_above) {
  const int warn = config.guardrails.*t.warn, fail = config.guardrails.*t.fail;
  const std::string name = t.name;
  TRY(check_number(config, name + "_warn_threshold", warn, t.most));
  TRY(check_number(config, name + "_fail_threshold", fail, t.most));
  if (warn == -1 || fail == -1 || (warns_above ? fail <= warn : warn <= fail)) return {};
  return config.error_at(name + "_warn_threshold",
                         fmt::format("The warn threshold {} should be {} than the fail threshold {}: {} it", warn,
                                     warns_above ? "greater" : "lower", fail, warns_above ? "raise" : "lower"));
}

Status check_sizes(const Config& config, const std::string& name, std::optional<uint64_t> warn,
                   std::optional<uint64_t> fail) {
  for (const auto& [key, value] : {std::pair{name + "_warn_threshold", warn}, {name + "_fail_threshold", fail}}) {
    if (value == 0u) return config.error_at(key, "0 is not allowed: write no value to switch it off");
  }
  if (!warn || !fail || *warn <= *fail) return {};
  return config.error_at(
      name + "_warn_threshold",
      fmt::format("The warn threshold {}B should be lower than the fail threshold {}B: lower it", *warn, *fail));
}

Status check_tombstones(const Config& config) {
  const std::string name = "partition_tombstones";
  const int64_t warn = config.guardrails.partition_tombstones_warn_threshold;
  const int64_t fail = config.guardrails.partition_tombstones_fail_threshold;
  for (const auto& [key, value] : {std::pair{name + "_warn_threshold", warn}, {name + "_fail_threshold", fail}}) {
    if (value > 0 || value == -1) continue;
    return config.error_at(key,
                           fmt::format("Invalid value {}: write a number from 1 on, or -1 to switch it off", value));
  }
  if (warn == -1 || fail == -1 || warn <= fail) return {};
  return config.error_at(
      name + "_warn_threshold",
      fmt::format("The warn threshold {} should be lower than the fail threshold {}: lower it", warn, fail));
}

Status check_distances(const Config& config, const std::string& name, std::optional<uint64_t> warn,
                       std::optional<uint64_t> fail) {
  if (!warn || !fail || *warn <= *fail) return {};
  return config.error_at(
      name + "_warn_threshold",
      fmt::format("The warn threshold {}us should be lower than the fail threshold {}us: lower it", *warn, *fail));
}

Status check_factors(const Config& config) {
  const Guardrails& g = config.guardrails;
  TRY(check_thresholds(config, kMinimumFactor, true));
  if (g.maximum_replication_factor_fail_threshold != -1 &&
      g.maximum_replication_factor_fail_threshold < config.default_keyspace_rf) {
    return config.error_at("maximum_replication_factor_fail_threshold",
                           fmt::format("{} cannot be lesser than default_keyspace_rf ({}): raise it",
                                       g.maximum_replication_factor_fail_threshold, config.default_keyspace_rf));
  }
  return {};
}

Status check_levels(const Config& config, const char* key, const std::set<std::string>& levels) {
  for (const std::string& level : levels) {
    if (parse_consistency(level)) continue;
    return config.error_at(key, fmt::format("'{}' is no consistency level: write one as LOCAL_QUORUM", level));
  }
  return {};
}

Status check_properties(const Config& config, const char* key, const std::set<std::string>& properties) {
  for (std::string name : properties) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (std::ranges::find(table_properties(), name) != table_properties().end()) continue;
    return config.error_at(
        key, fmt::format("'{}' is no table property: write one of {}", name, fmt::join(table_properties(), ", ")));
  }
  return {};
}

}  // namespace

Status check_guardrails(const Config& config) {
  const Guardrails& g = config.guardrails;
  for (const Thresholds& thresholds : kThresholds) TRY(check_thresholds(config, thresholds, false));
  TRY(check_factors(config));
  TRY(check_sizes(config, "column_value_size", g.column_value_size_warn_threshold, g.column_value_size_fail_threshold));
  TRY(check_sizes(config, "collection_size", g.collection_size_warn_threshold, g.collection_size_fail_threshold));
  TRY(check_sizes(config, "partition_size", g.partition_size_warn_threshold, g.partition_size_fail_threshold));
  TRY(check_tombstones(config));
  TRY(check_distances(config, "maximum_timestamp", g.maximum_timestamp_warn_threshold,
                      g.maximum_timestamp_fail_threshold));
  TRY(check_distances(config, "minimum_timestamp", g.minimum_timestamp_warn_threshold,
                      g.minimum_timestamp_fail_threshold));
  if (g.data_disk_usage_max_disk_size == 0u) {
    return config.error_at("data_disk_usage_max_disk_size", "0 is not allowed: write no value to switch it off");
  }
  TRY(check_levels(config, "read_consistency_levels_warned", g.read_consistency_levels_warned));
  TRY(check_levels(config, "read_consistency_levels_disallowed", g.read_consistency_levels_disallowed));
  TRY(check_levels(config, "write_consistency_levels_warned", g.write_consistency_levels_warned));
  TRY(check_levels(config, "write_consistency_levels_disallowed", g.write_consistency_levels_disallowed));
  TRY(check_properties(config, "table_properties_warned", g.table_properties_warned));
  TRY(check_properties(config, "table_properties_ignored", g.table_properties_ignored));
  return check_properties(config, "table_properties_disallowed", g.table_properties_disallowed);
}

}  // namespace cassandra_like
