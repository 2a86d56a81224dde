#include "cql/context/guardrails.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "cql/context/statement.h"

namespace cassandra_like {
namespace {

// "Guardrail tables violated: …. Why."
std::string decorated(const char* name, const std::string& message, const char* reason) {
  std::string text = fmt::format("Guardrail {} violated: {}", name, message);
  if (*reason != '\0') text += (message.ends_with('.') ? " " : ". ") + std::string(reason);
  return text;
}

void warn(ExecutionContext& context, std::string text) {
  LogQuota& quota = context.services.request_log().guardrails;
  if (auto more = quota.take(context.runtime.clock.monotonic_nanos())) LOG_WARN("{}{}", text, *more);
  context.warnings.push_back(std::move(text));
}

// The client gets the text as a warning, too (Guardrail.fail).
Error refuse(ExecutionContext& context, std::string text) {
  LogQuota& quota = context.services.request_log().guardrails;
  if (auto more = quota.take(context.runtime.clock.monotonic_nanos())) LOG_ERROR("{}{}", text, *more);
  context.warnings.push_back(text);
  return invalid(std::move(text));
}

// The guarded numbers whose thresholds are whole.
struct Limit {
  const char* name;
  int Guardrails::*warn;
  int Guardrails::*fail;
  const char* warning;
  const char* failure;
  bool is_minimum = false;
};

constexpr Limit kKeyspaces{"keyspaces", &Guardrails::keyspaces_warn_threshold, &Guardrails::keyspaces_fail_threshold,
                           "Creating keyspace {0}, current number of keyspaces {1} exceeds warning threshold of {2}.",
                           "Cannot have more than {2} keyspaces, aborting the creation of keyspace {0}"};
constexpr Limit kTables{"tables", &Guardrails::tables_warn_threshold, &Guardrails::tables_fail_threshold,
                        "Creating table {0}, current number of tables {1} exceeds warning threshold of {2}.",
                        "Cannot have more than {2} tables, aborting the creation of table {0}"};
constexpr Limit kColumnsPerTable{"columns_per_table", &Guardrails::columns_per_table_warn_threshold,
                                 &Guardrails::columns_per_table_fail_threshold,
                                 "The table {0} has {1} columns, this exceeds the warning threshold of {2}.",
                                 "Tables cannot have more than {2} columns, but {1} provided for table {0}"};
constexpr Limit kIndexesPerTable{
    "secondary_indexes_per_table", &Guardrails::secondary_indexes_per_table_warn_threshold,
    &Guardrails::secondary_indexes_per_table_fail_threshold,
    "Creating secondary index {0}, current number of indexes {1} exceeds warning threshold of {2}.",
    "Tables cannot have more than {2} secondary indexes, aborting the creation of secondary index {0}"};
constexpr Limit kFieldsPerUdt{"fields_per_udt", &Guardrails::fields_per_udt_warn_threshold,
                              &Guardrails::fields_per_udt_fail_threshold,
                              "The user type {0} has {1} columns, this exceeds the warning threshold of {2}.",
                              "User types cannot have more than {2} columns, but {1} provided for user type {0}."};
constexpr Limit kPageSize{"page_size", &Guardrails::page_size_warn_threshold, &Guardrails::page_size_fail_threshold,
                          "Query for table {0} with page size {1} exceeds warning threshold of {2}.",
                          "Aborting query for table {0}, page size {1} exceeds fail threshold of {2}."};
constexpr Limit kPartitionKeysInSelect{
    "partition_keys_in_select", &Guardrails::partition_keys_in_select_warn_threshold,
    &Guardrails::partition_keys_in_select_fail_threshold,
    "Query with partition keys in IN clause on table {0}, with number of partition keys {1} exceeds warning threshold "
    "of {2}.",
    "Aborting query with partition keys in IN clause on table {0}, number of partition keys {1} exceeds fail threshold "
    "of {2}."};
constexpr Limit kCartesianProduct{
    "in_select_cartesian_product", &Guardrails::in_select_cartesian_product_warn_threshold,
    &Guardrails::in_select_cartesian_product_fail_threshold,
    "The cartesian product of the IN restrictions on {0} produces {1} values, this exceeds warning threshold of {2}.",
    "Aborting query because the cartesian product of the IN restrictions on {0} produces {1} values, this exceeds fail "
    "threshold of {2}."};
constexpr Limit kMinimumReplication{
    "minimum_replication_factor",
    &Guardrails::minimum_replication_factor_warn_threshold,
    &Guardrails::minimum_replication_factor_fail_threshold,
    "The keyspace {0} has a replication factor of {1}, below the warning threshold of {2}.",
    "The keyspace {0} has a replication factor of {1}, below the failure threshold of {2}.",
    true};
constexpr Limit kMaximumReplication{
    "maximum_replication_factor", &Guardrails::maximum_replication_factor_warn_threshold,
    &Guardrails::maximum_replication_factor_fail_threshold,
    "The keyspace {0} has a replication factor of {1}, above the warning threshold of {2}.",
    "The keyspace {0} has a replication factor of {1}, above the failure threshold of {2}."};

Status check(const Limit& limit, int64_t value, const std::string& what, ExecutionContext& context) {
  const Guardrails& guardrails = context.config.guardrails;
  auto threshold = [](int number) { return number > 0 ? std::optional<int64_t>(number) : std::nullopt; };
  return guard_number({limit.name, limit.warning, limit.failure, "", limit.is_minimum}, value,
                      threshold(guardrails.*limit.warn), threshold(guardrails.*limit.fail), what, context);
}

// A feature that may be switched off.
struct Switch {
  const char* name;
  bool Guardrails::*enabled;
  const char* feature;
  const char* reason = "";
};

constexpr Switch kSimpleStrategy{"simplestrategy", &Guardrails::simplestrategy_enabled, "SimpleStrategy"};
constexpr Switch kDropKeyspace{"drop_keyspace_enabled", &Guardrails::drop_keyspace_enabled,
                               "DROP KEYSPACE functionality"};
constexpr Switch kDropTable{"drop_truncate_table_enabled", &Guardrails::drop_truncate_table_enabled,
                            "DROP and TRUNCATE TABLE functionality"};
constexpr Switch kAlterTable{"alter_table", &Guardrails::alter_table_enabled, "ALTER TABLE changing columns"};
constexpr Switch kCompactTables{"compact_tables", &Guardrails::compact_tables_enabled,
                                "Creation of new COMPACT STORAGE tables"};
constexpr Switch kUncompressed{"uncompressed_tables_enabled", &Guardrails::uncompressed_tables_enabled,
                               "Uncompressed table"};
constexpr Switch kIndexes{"secondary_indexes", &Guardrails::secondary_indexes_enabled, "Creating secondary indexes"};
constexpr Switch kUserTimestamps{"user_timestamps", &Guardrails::user_timestamps_enabled,
                                 "User provided timestamps (USING TIMESTAMP)"};
constexpr Switch kGroupBy{"group_by", &Guardrails::group_by_enabled, "GROUP BY functionality"};
constexpr Switch kAllowFiltering{
    "allow_filtering", &Guardrails::allow_filtering_enabled, "Querying with ALLOW FILTERING",
    "ALLOW FILTERING can potentially visit all the data in the table and have unpredictable performance."};

Status check(const Switch& feature, ExecutionContext& context) {
  return guard_feature({feature.name, feature.feature, feature.reason}, context.config.guardrails.*feature.enabled,
                       false, context);
}

// Values of which some are not wanted.
Status check_values(const char* name, const char* what, const std::set<std::string>& values,
                    const std::set<std::string>& disallowed, const std::set<std::string>& ignored,
                    const std::set<std::string>& warned, ExecutionContext& context) {
  auto tell = [&](const std::set<std::string>& unwanted, const char* form) {
    std::vector<std::string> found;
    std::set_intersection(values.begin(), values.end(), unwanted.begin(), unwanted.end(), std::back_inserter(found));
    if (found.empty()) return std::string();
    return decorated(name, fmt::format(fmt::runtime(form), fmt::join(found, ", "), what, fmt::join(unwanted, ", ")),
                     "");
  };
  std::string text = tell(disallowed, "Provided values [{}] are not allowed for {} (disallowed values are: [{}])");
  if (!text.empty()) return refuse(context, std::move(text));
  text = tell(ignored, "Ignoring provided values [{}] as they are not supported for {} (ignored values are: [{}])");
  if (!text.empty()) warn(context, std::move(text));
  text = tell(warned, "Provided values [{}] are not recommended for {} (warned values are: [{}])");
  if (!text.empty()) warn(context, std::move(text));
  return {};
}

Status check_write_consistency(ExecutionContext& context) {
  const Guardrails& g = context.config.guardrails;
  std::set<std::string> levels{std::string(consistency_name(context.options.consistency)),
                               std::string(consistency_name(context.options.serial_consistency))};
  return check_values("write_consistency_levels", "write consistency levels", levels,
                      g.write_consistency_levels_disallowed, {}, g.write_consistency_levels_warned, context);
}

Status check_read_consistency(ExecutionContext& context) {
  const Guardrails& g = context.config.guardrails;
  return check_values("read_consistency_levels", "read consistency levels",
                      {std::string(consistency_name(context.options.consistency))},
                      g.read_consistency_levels_disallowed, {}, g.read_consistency_levels_warned, context);
}

GuardCheck guard(const Switch& feature) {
  return [feature](ExecutionContext& context) { return check(feature, context); };
}

GuardCheck guard_properties(const ast::Properties& properties) {
  std::set<std::string> names;
  for (const ast::Property& property : properties) names.insert(property.name);
  return [names](ExecutionContext& context) {
    const Guardrails& g = context.config.guardrails;
    return check_values("table_properties", "Table Properties", names, g.table_properties_disallowed,
                        g.table_properties_ignored, g.table_properties_warned, context);
  };
}

bool is_uncompressed(const ast::Properties& properties) {
  for (const ast::Property& property : properties) {
    const auto* map = std::get_if<ast::Property::Map>(&property.value);
    if (property.name != "compression" || map == nullptr) continue;
    for (const auto& [name, value] : *map) {
      if (name == "enabled" && value == "false") return true;
      if ((name == "class" || name == "sstable_compression") && value.empty()) return true;
    }
  }
  return false;
}

// AlterSchemaStatement.validateDefaultTimeToLive: what the statement does not say is as in a new table.
bool has_time_windows_without_ttl(const ast::Properties& properties, const CqlOptions& options) {
  std::string strategy;
  for (const auto& [name, value] : options.default_compaction) {
    if (name == "class") strategy = value;
  }
  for (const ast::Property& property : properties) {
    const auto* map = std::get_if<ast::Property::Map>(&property.value);
    const auto* text = std::get_if<std::string>(&property.value);
    if (property.name == "default_time_to_live" && text != nullptr && *text != "0") return false;
    if (property.name != "compaction" || map == nullptr) continue;
    for (const auto& [name, value] : *map) {
      if (name == "class") strategy = value;
    }
  }
  return strategy.ends_with("TimeWindowCompactionStrategy");
}

constexpr GuardedFeature kZeroTtl{
    "zero_ttl_on_twcs", "0 default_time_to_live on a table with TimeWindowCompactionStrategy compaction strategy",
    "It is suspicious to use default_time_to_live set to 0 with such compaction strategy. Please keep in mind that "
    "data will not start to automatically expire after they are older than a respective compaction window unit of a "
    "certain size. Please set TTL for your INSERT or UPDATE statements if you expect data to be expired as table "
    "settings will not do it. "};

GuardCheck guard_default_ttl(const ast::Properties& properties, const CqlOptions& options) {
  return [applies = has_time_windows_without_ttl(properties, options)](ExecutionContext& context) {
    const Guardrails& g = context.config.guardrails;
    if (!applies) return Status();
    return guard_feature(kZeroTtl, g.zero_ttl_on_twcs_enabled, g.zero_ttl_on_twcs_warned, context);
  };
}

constexpr Limit kVectorDimensions{"vector_dimensions", &Guardrails::vector_dimensions_warn_threshold,
                                  &Guardrails::vector_dimensions_fail_threshold,
                                  "{0} has a vector of {1} dimensions, this exceeds the warning threshold of {2}.",
                                  "{0} has a vector of {1} dimensions, this exceeds the failure threshold of {2}."};

// CQL3Type.Raw.validate: the vectors of a type, wherever they are, but for those in a vector or a user type.
void find_vectors(const ast::TypeName& type, std::vector<int32_t>* dimensions) {
  if (type.kind == ast::TypeName::Kind::kVector) {
    dimensions->push_back(type.dimension);
    return;
  }
  for (const ast::TypeName& parameter : type.parameters) find_vectors(parameter, dimensions);
}

// `what`: "Column v", "Field v".
GuardCheck guard_vectors(const ast::TypeName& type, std::string what) {
  std::vector<int32_t> vectors;
  find_vectors(type, &vectors);
  return [vectors, what](ExecutionContext& context) -> Status {
    for (int32_t dimensions : vectors) {
      TRY(guard_feature({"vector_type_enabled", what.c_str()}, context.config.guardrails.vector_type_enabled, false,
                        context));
      TRY(check(kVectorDimensions, dimensions, what, context));
    }
    return Status();
  };
}

bool is_user_keyspace(const std::string& name) { return !is_system_keyspace(name); }

int64_t count_keyspaces(const Schema& schema) {
  return std::count_if(schema.keyspaces().begin(), schema.keyspaces().end(),
                       [](const auto& keyspace) { return is_user_keyspace(keyspace.first); });
}

int64_t count_tables(const Schema& schema) {
  int64_t count = 0;
  for (const auto& [name, keyspace] : schema.keyspaces()) {
    if (is_user_keyspace(name)) count += static_cast<int64_t>(keyspace->tables.size());
  }
  return count;
}

// Takes from each kind of statement what guardrails compare.
class Collector {
 public:
  explicit Collector(const PrepareContext& context) : context_(context) {}

  void operator()(const ast::Select& s) {
    if (s.allow_filtering && is_user_keyspace(keyspace_of(s.table))) add(guard(kAllowFiltering));
    if (!s.group_by.empty()) add(guard(kGroupBy));
    add(&check_read_consistency);
    add([table = s.table.name](ExecutionContext& c) { return check(kPageSize, c.options.page_size, table, c); });
  }
  void operator()(const ast::Insert& s) { modification(s.using_); }
  void operator()(const ast::InsertJson& s) { modification(s.using_); }
  void operator()(const ast::Update& s) { modification(s.using_); }
  void operator()(const ast::Delete& s) { modification(s.using_); }
  void operator()(const ast::Batch& s) {
    bool timestamps = s.using_.timestamp.has_value();
    for (const ast::Modification& each : s.statements) {
      std::visit([&](const auto& m) { timestamps = timestamps || m.using_.timestamp.has_value(); }, each);
    }
    if (timestamps) add(guard(kUserTimestamps));
    add(&check_write_consistency);
  }
  void operator()(const ast::Truncate&) { add(guard(kDropTable)); }
  void operator()(const ast::DropTable&) { add(guard(kDropTable)); }
  void operator()(const ast::DropKeyspace&) { add(guard(kDropKeyspace)); }

  void operator()(const ast::CreateKeyspace& s) {
    replication(s.keyspace, s.properties);
    add([name = s.keyspace](ExecutionContext& c) {
      return check(kKeyspaces, count_keyspaces(*c.coordinator.schema().current()) + 1, name, c);
    });
  }
  void operator()(const ast::AlterKeyspace& s) { replication(s.keyspace, s.properties); }

  void operator()(const ast::CreateTable& s) {
    add(guard_properties(s.properties));
    auto columns = static_cast<int64_t>(s.columns.size());
    add([columns, name = s.table.name](ExecutionContext& c) { return check(kColumnsPerTable, columns, name, c); });
    add([name = s.table.name](ExecutionContext& c) {
      return check(kTables, count_tables(*c.coordinator.schema().current()) + 1, name, c);
    });
    if (s.compact_storage) add(guard(kCompactTables));
    if (is_user_keyspace(keyspace_of(s.table))) add(guard_default_ttl(s.properties, context_.config()));
    for (const ast::ColumnDefinition& column : s.columns) add(guard_vectors(column.type, "Column " + column.name));
    if (is_uncompressed(s.properties)) add(guard(kUncompressed));
  }
  void operator()(const ast::AlterTable& s) {
    if (const auto* properties = std::get_if<ast::Properties>(&s.change)) {
      add(guard_properties(*properties));
      if (is_user_keyspace(keyspace_of(s.table))) add(guard_default_ttl(*properties, context_.config()));
      if (is_uncompressed(*properties)) add(guard(kUncompressed));
    } else if (const auto* added = std::get_if<ast::AddColumns>(&s.change)) {
      for (const ast::ColumnDefinition& column : added->columns) {
        add(guard_vectors(column.type, "Column " + column.name));
      }
      add(guard(kAlterTable));
      TablePtr table = context_.schema()->table(keyspace_of(s.table), s.table.name);
      size_t columns = (table == nullptr ? 0 : table->all_columns_in_select_order().size()) + added->columns.size();
      add([columns, name = s.table.name](ExecutionContext& c) {
        return check(kColumnsPerTable, static_cast<int64_t>(columns), name, c);
      });
    } else if (std::holds_alternative<ast::DropColumns>(s.change) ||
               std::holds_alternative<ast::RenameColumns>(s.change)) {
      add(guard(kAlterTable));
    }
  }
  void operator()(const ast::CreateIndex& s) {
    add(guard(kIndexes));
    std::string what = (s.name.empty() ? "" : s.name + " ") + "on table " + s.table.name;
    TablePtr table = context_.schema()->table(keyspace_of(s.table), s.table.name);
    int64_t indexes = table == nullptr ? 0 : static_cast<int64_t>(table->indexes.size());
    add([indexes, what](ExecutionContext& c) { return check(kIndexesPerTable, indexes + 1, what, c); });
  }
  void operator()(const ast::CreateType& s) {
    auto fields = static_cast<int64_t>(s.fields.size());
    add([fields, name = s.type.name](ExecutionContext& c) { return check(kFieldsPerUdt, fields, name, c); });
    for (const auto& [name, field] : s.fields) add(guard_vectors(field, "Field " + name));
  }
  void operator()(const ast::AlterType& s) {
    const auto* added = std::get_if<ast::AddField>(&s.change);
    if (added == nullptr) return;
    KeyspacePtr keyspace = context_.schema()->keyspace(keyspace_of(s.type));
    if (keyspace == nullptr) return;
    auto type = keyspace->types.find(s.type.name);
    if (type == keyspace->types.end()) return;
    auto fields = static_cast<int64_t>(type->second->elements().size());
    add([fields, name = s.type.name](ExecutionContext& c) { return check(kFieldsPerUdt, fields + 1, name, c); });
    add(guard_vectors(added->type, "Field " + added->field));
  }
  template <class Other>
  void operator()(const Other&) {}

  std::vector<GuardCheck> take() { return std::move(checks_); }

 private:
  void add(GuardCheck check) { checks_.push_back(std::move(check)); }
  std::string keyspace_of(const ast::QualifiedName& name) const {
    auto keyspace = context_.keyspace_of(name.keyspace);
    return keyspace.ok() ? *keyspace : "";
  }
  void modification(const ast::Attributes& attributes) {
    if (attributes.timestamp) add(guard(kUserTimestamps));
    add(&check_write_consistency);
  }
  void replication(const std::string& keyspace, const ast::Properties& properties) {
    for (const ast::Property& property : properties) {
      const auto* map = std::get_if<ast::Property::Map>(&property.value);
      if (property.name != "replication" || map == nullptr) continue;
      for (const auto& [name, value] : *map) {
        if (name == "class") {
          if (value.substr(value.rfind('.') + 1) == "SimpleStrategy") add(guard(kSimpleStrategy));
          continue;
        }
        int64_t factor = std::strtoll(value.c_str(), nullptr, 10);
        add([factor, keyspace](ExecutionContext& c) { return check(kMinimumReplication, factor, keyspace, c); });
        add([factor, keyspace](ExecutionContext& c) { return check(kMaximumReplication, factor, keyspace, c); });
      }
    }
  }

  const PrepareContext& context_;
  std::vector<GuardCheck> checks_;
};

}  // namespace

bool is_ordinary(const ClientState& client) {
  return !client.is_internal && !client.is_superuser && !client.user.empty();
}

Status guard_number(const GuardedNumber& number, int64_t value, std::optional<int64_t> warn_threshold,
                    std::optional<int64_t> fail_threshold, const std::string& what, ExecutionContext& context) {
  auto passed = [&](const std::optional<int64_t>& threshold) {
    return threshold && (number.is_minimum ? value < *threshold : value > *threshold);
  };
  auto text = [&](const char* form, int64_t threshold) {
    return decorated(number.name, fmt::format(fmt::runtime(form), what, value, threshold), number.reason);
  };
  if (passed(fail_threshold)) return refuse(context, text(number.failure, *fail_threshold));
  if (passed(warn_threshold)) warn(context, text(number.warning, *warn_threshold));
  return {};
}

Status guard_feature(const GuardedFeature& feature, bool enabled, bool warned, ExecutionContext& context) {
  const std::string name = feature.feature;
  if (!enabled) return refuse(context, decorated(feature.name, name + " is not allowed", feature.reason));
  if (warned) warn(context, decorated(feature.name, name + " is not recommended", feature.reason));
  return {};
}

GuardrailUse use_of(const Guardrails& guardrails) {
  Guardrails of_values, rest = guardrails;
  auto take = [&](auto Guardrails::*field) {
    of_values.*field = guardrails.*field;
    rest.*field = Guardrails().*field;
  };
  take(&Guardrails::column_value_size_warn_threshold);
  take(&Guardrails::column_value_size_fail_threshold);
  take(&Guardrails::collection_size_warn_threshold);
  take(&Guardrails::collection_size_fail_threshold);
  take(&Guardrails::items_per_collection_warn_threshold);
  take(&Guardrails::items_per_collection_fail_threshold);
  take(&Guardrails::maximum_timestamp_warn_threshold);
  take(&Guardrails::maximum_timestamp_fail_threshold);
  take(&Guardrails::minimum_timestamp_warn_threshold);
  take(&Guardrails::minimum_timestamp_fail_threshold);
  take(&Guardrails::read_before_write_list_operations_enabled);
  const bool values = of_values != Guardrails();
  // No statement is compared with these.
  take(&Guardrails::partition_size_warn_threshold);
  take(&Guardrails::partition_size_fail_threshold);
  take(&Guardrails::partition_tombstones_warn_threshold);
  take(&Guardrails::partition_tombstones_fail_threshold);
  take(&Guardrails::data_disk_usage_percentage_warn_threshold);
  take(&Guardrails::data_disk_usage_percentage_fail_threshold);
  take(&Guardrails::data_disk_usage_max_disk_size);
  return {.statements = rest != Guardrails(), .values = values};
}

SSTableGuardrails of_sstables(const Guardrails& g) {
  auto number = [](int64_t threshold) { return threshold > 0 ? static_cast<uint64_t>(threshold) : 0; };
  SSTableGuardrails out;
  out.partition_size = {g.partition_size_warn_threshold.value_or(0), g.partition_size_fail_threshold.value_or(0)};
  out.partition_tombstones = {number(g.partition_tombstones_warn_threshold),
                              number(g.partition_tombstones_fail_threshold)};
  out.collection_size = {g.collection_size_warn_threshold.value_or(0), g.collection_size_fail_threshold.value_or(0)};
  out.items_per_collection = {number(g.items_per_collection_warn_threshold),
                              number(g.items_per_collection_fail_threshold)};
  return out;
}

namespace {

bool changes_schema(const ast::Statement& statement) {
  const auto& body = statement.body;
  return std::holds_alternative<ast::CreateTable>(body) || std::holds_alternative<ast::AlterTable>(body);
}

}  // namespace

std::shared_ptr<const StatementGuard> guard_of(const ast::Statement& statement, const PrepareContext& context) {
  if (context.is_internal()) return nullptr;
  const bool is_of_schema = changes_schema(statement);
  if (!is_of_schema && !context.is_kept() && !context.config().guardrail_use.statements) return nullptr;
  Collector collector(context);
  std::visit(collector, statement.body);
  StatementGuard guard{collector.take(), is_of_schema};
  if (guard.checks.empty()) return nullptr;
  return std::make_shared<const StatementGuard>(std::move(guard));
}

Status check_guard(const StatementGuard* guard, ExecutionContext& context) {
  if (guard == nullptr || !(context.config.guardrail_use.statements || guard->is_of_schema)) return {};
  if (!is_ordinary(context.client)) return {};
  for (const GuardCheck& check : guard->checks) TRY(check(context));
  return {};
}

Status guard_index_query(ExecutionContext& context) {
  if (context.config.guardrails.non_partition_restricted_index_query_enabled || !is_ordinary(context.client)) return {};
  return guard_feature(
      {"non_partition_restricted_index_query_enabled", "Non-partition key restricted query",
       "Executing a query on secondary indexes without partition key restriction might degrade performance"},
      false, false, context);
}

Status guard_intersection(ExecutionContext& context) {
  if (!is_ordinary(context.client)) return {};
  const Guardrails& g = context.config.guardrails;
  return guard_feature(
      {"intersect_filtering_query",
       "Filtering query with intersection on mutable columns at consistency level requiring coordinator reconciliation",
       "Filtering queries involving an intersection on multiple mutable (i.e. non-key) columns over unrepaired data at "
       "read consistency levels that would require coordinator reconciliation may violate the guarantees of those "
       "consistency levels."},
      g.intersect_filtering_query_enabled, g.intersect_filtering_query_warned, context);
}

std::set<std::string> ignored_properties(const ExecutionContext& context) {
  return is_ordinary(context.client) ? context.config.guardrails.table_properties_ignored : std::set<std::string>();
}

Status guard_restrictions(ExecutionContext& context, const std::string& table, size_t keys, size_t slices) {
  if (!is_ordinary(context.client)) return {};
  if (keys > 1) {
    TRY(check(kCartesianProduct, static_cast<int64_t>(keys), "partition key", context));
    TRY(check(kPartitionKeysInSelect, static_cast<int64_t>(keys), table, context));
  }
  if (slices > 1) TRY(check(kCartesianProduct, static_cast<int64_t>(slices), "clustering key", context));
  return {};
}

}  // namespace cassandra_like
