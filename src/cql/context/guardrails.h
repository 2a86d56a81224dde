// Guardrails: limits on what schemas and requests may ask for, with Cassandra's names and texts (db.guardrails.Guardrails). They
// hold for ordinary users only: not for superusers, nor for anybody where nobody has to log in.
//
// The numbers that they compare are taken from the syntax tree when a statement is prepared (guard_of); they compare when it runs.
// Values are compared while a modification is made (cql/modification/value_guard.h), partitions while an SSTable
// is written (storage/sstable/partition_guard.h). nodetool setguardrailsconfig changes them while the node runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/sstable_guardrails.h"

namespace cassandra_like {

struct ClientState;
struct ExecutionContext;
class PrepareContext;
namespace ast {
struct Statement;
}

// The keys of cassandra.yaml; -1 or no value switches one off.
struct Guardrails {
  int keyspaces_warn_threshold = -1, keyspaces_fail_threshold = -1;
  int tables_warn_threshold = -1, tables_fail_threshold = -1;
  int columns_per_table_warn_threshold = -1, columns_per_table_fail_threshold = -1;
  int secondary_indexes_per_table_warn_threshold = -1, secondary_indexes_per_table_fail_threshold = -1;
  int materialized_views_per_table_warn_threshold = -1, materialized_views_per_table_fail_threshold = -1;
  int page_size_warn_threshold = -1, page_size_fail_threshold = -1;
  int partition_keys_in_select_warn_threshold = -1, partition_keys_in_select_fail_threshold = -1;
  int in_select_cartesian_product_warn_threshold = -1, in_select_cartesian_product_fail_threshold = -1;
  int items_per_collection_warn_threshold = -1, items_per_collection_fail_threshold = -1;
  int fields_per_udt_warn_threshold = -1, fields_per_udt_fail_threshold = -1;
  int vector_dimensions_warn_threshold = -1, vector_dimensions_fail_threshold = -1;
  int minimum_replication_factor_warn_threshold = -1, minimum_replication_factor_fail_threshold = -1;
  int maximum_replication_factor_warn_threshold = -1, maximum_replication_factor_fail_threshold = -1;
  int data_disk_usage_percentage_warn_threshold = -1, data_disk_usage_percentage_fail_threshold = -1;
  std::optional<uint64_t> data_disk_usage_max_disk_size;
  std::optional<uint64_t> partition_size_warn_threshold, partition_size_fail_threshold;
  int64_t partition_tombstones_warn_threshold = -1, partition_tombstones_fail_threshold = -1;
  // How far from now, in microseconds.
  std::optional<uint64_t> maximum_timestamp_warn_threshold, maximum_timestamp_fail_threshold;
  std::optional<uint64_t> minimum_timestamp_warn_threshold, minimum_timestamp_fail_threshold;
  std::optional<uint64_t> column_value_size_warn_threshold, column_value_size_fail_threshold;
  std::optional<uint64_t> collection_size_warn_threshold, collection_size_fail_threshold;
  std::set<std::string> table_properties_warned, table_properties_ignored, table_properties_disallowed;
  std::set<std::string> read_consistency_levels_warned, read_consistency_levels_disallowed;
  std::set<std::string> write_consistency_levels_warned, write_consistency_levels_disallowed;
  bool user_timestamps_enabled = true;
  bool alter_table_enabled = true;
  bool group_by_enabled = true;
  bool drop_truncate_table_enabled = true;
  bool drop_keyspace_enabled = true;
  bool secondary_indexes_enabled = true;
  bool uncompressed_tables_enabled = true;
  bool compact_tables_enabled = true;
  bool read_before_write_list_operations_enabled = true;
  bool allow_filtering_enabled = true;
  bool simplestrategy_enabled = true;
  bool use_statements_enabled = true;
  bool vector_type_enabled = true;
  bool zero_ttl_on_twcs_warned = true, zero_ttl_on_twcs_enabled = true;
  bool non_partition_restricted_index_query_enabled = true;
  bool intersect_filtering_query_warned = true, intersect_filtering_query_enabled = true;

  bool operator==(const Guardrails&) const = default;
};

// The kinds that are set: where all of a kind are off, a request pays one branch for it.
struct GuardrailUse {
  bool statements = false;  // on statements of rows, whatever they write
  bool values = false;      // on what a modification writes
  bool disks = false;       // some node tells that its disks are stuffed or full
};
GuardrailUse use_of(const Guardrails& guardrails);
// The ones that SSTables are compared with.
SSTableGuardrails of_sstables(const Guardrails& guardrails);

// The checks of one statement: run in order, each may add a warning or refuse.
using GuardCheck = std::function<Status(ExecutionContext& context)>;
struct StatementGuard {
  std::vector<GuardCheck> checks;
  bool is_of_schema = false;  // the statement changes the schema: some checks warn as cassandra.yaml is by default
};

// nullptr when no guardrail looks at such a statement, or none is set and the statement will not run later.
std::shared_ptr<const StatementGuard> guard_of(const ast::Statement& statement, const PrepareContext& context);
// Before a statement runs. `guard` may be nullptr.
Status check_guard(const StatementGuard* guard, ExecutionContext& context);
// When it is known what a SELECT reads. Several slices come from IN.
Status guard_restrictions(ExecutionContext& context, const std::string& table, size_t keys, size_t slices);
// A SELECT of no given partitions that an index answers.
Status guard_index_query(ExecutionContext& context);
// A SELECT that filters by several columns that replicas may have different values of.
Status guard_intersection(ExecutionContext& context);
// The properties that CREATE and ALTER TABLE of this client leave out.
std::set<std::string> ignored_properties(const ExecutionContext& context);

// Whether guardrails hold for the client.
bool is_ordinary(const ClientState& client);

// A number that may be too large, or too small. Texts take {0} what, {1} the number, {2} the threshold.
struct GuardedNumber {
  const char* name;
  const char* warning;
  const char* failure;
  const char* reason = "";
  bool is_minimum = false;
};
// nullopt: no threshold.
Status guard_number(const GuardedNumber& number, int64_t value, std::optional<int64_t> warn,
                    std::optional<int64_t> fail, const std::string& what, ExecutionContext& context);
// A feature that may be switched off, or only be warned of.
struct GuardedFeature {
  const char* name;
  const char* feature;
  const char* reason = "";
};
Status guard_feature(const GuardedFeature& feature, bool enabled, bool warned, ExecutionContext& context);

}  // namespace cassandra_like
