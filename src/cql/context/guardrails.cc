#include "cql/context/guardrails.h"

#include <algorithm>

#include <fmt/format.h>

#include "cql/context/statement.h"

namespace cassandra_like {
namespace {

bool is_ordinary(const ClientState& client) {
  return !client.is_internal && !client.is_superuser && !client.user.empty();
}

// "Guardrail tables violated: …. Why."
std::string decorated(const char* name, const std::string& message, const char* reason) {
  std::string text = fmt::format("Guardrail {} violated: {}", name, message);
  if (*reason != '\0') text += (message.ends_with('.') ? " " : ". ") + std::string(reason);
  return text;
}

// A number that may be too large. Texts take {0} what, {1} the number, {2} the threshold, {3} "warning" or "failure".
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
  auto passed = [&](int threshold) {
    return threshold > 0 && (limit.is_minimum ? value < threshold : value > threshold);
  };
  auto text = [&](const char* form, int threshold) {
    return decorated(limit.name, fmt::format(fmt::runtime(form), what, value, threshold), "");
  };
  if (int fail = guardrails.*limit.fail; passed(fail)) return invalid(text(limit.failure, fail));
  if (int warn = guardrails.*limit.warn; passed(warn)) context.warnings.push_back(text(limit.warning, warn));
  return {};
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
  if (context.config.guardrails.*feature.enabled) return {};
  return invalid(decorated(feature.name, std::string(feature.feature) + " is not allowed", feature.reason));
}

// Values of which some are not wanted.
Status check_values(const char* name, const char* what, const std::set<std::string>& values,
                    const std::set<std::string>& disallowed, const std::set<std::string>& warned,
                    ExecutionContext& context) {
  auto among = [&values](const std::set<std::string>& unwanted) {
    std::vector<std::string> found;
    std::set_intersection(values.begin(), values.end(), unwanted.begin(), unwanted.end(), std::back_inserter(found));
    return found;
  };
  if (auto found = among(disallowed); !found.empty()) {
    return invalid(decorated(name,
                             fmt::format("Provided values [{}] are not allowed for {} (disallowed values are: [{}])",
                                         fmt::join(found, ", "), what, fmt::join(disallowed, ", ")),
                             ""));
  }
  if (auto found = among(warned); !found.empty()) {
    context.warnings.push_back(
        decorated(name,
                  fmt::format("Provided values [{}] are not recommended for {} (warned values are: [{}])",
                              fmt::join(found, ", "), what, fmt::join(warned, ", ")),
                  ""));
  }
  return {};
}

Status check_write_consistency(ExecutionContext& context) {
  const Guardrails& g = context.config.guardrails;
  std::set<std::string> levels{std::string(consistency_name(context.options.consistency)),
                               std::string(consistency_name(context.options.serial_consistency))};
  return check_values("write_consistency_levels", "write consistency levels", levels,
                      g.write_consistency_levels_disallowed, g.write_consistency_levels_warned, context);
}

Status check_read_consistency(ExecutionContext& context) {
  const Guardrails& g = context.config.guardrails;
  return check_values("read_consistency_levels", "read consistency levels",
                      {std::string(consistency_name(context.options.consistency))},
                      g.read_consistency_levels_disallowed, g.read_consistency_levels_warned, context);
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
                        g.table_properties_warned, context);
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
    if (is_uncompressed(s.properties)) add(guard(kUncompressed));
  }
  void operator()(const ast::AlterTable& s) {
    if (const auto* properties = std::get_if<ast::Properties>(&s.change)) {
      add(guard_properties(*properties));
      if (is_uncompressed(*properties)) add(guard(kUncompressed));
    } else if (const auto* added = std::get_if<ast::AddColumns>(&s.change)) {
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
  }
  void operator()(const ast::AlterType& s) {
    if (!std::holds_alternative<ast::AddField>(s.change)) return;
    KeyspacePtr keyspace = context_.schema()->keyspace(keyspace_of(s.type));
    if (keyspace == nullptr) return;
    auto type = keyspace->types.find(s.type.name);
    if (type == keyspace->types.end()) return;
    auto fields = static_cast<int64_t>(type->second->elements().size());
    add([fields, name = s.type.name](ExecutionContext& c) { return check(kFieldsPerUdt, fields + 1, name, c); });
  }
  template <class Other>
  void operator()(const Other&) {}

  StatementGuard take() { return std::move(checks_); }

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
  StatementGuard checks_;
};

}  // namespace

std::shared_ptr<const StatementGuard> guard_of(const ast::Statement& statement, const PrepareContext& context) {
  static const Guardrails kNone;
  if (context.is_internal() || context.config().guardrails == kNone) return nullptr;
  Collector collector(context);
  std::visit(collector, statement.body);
  StatementGuard checks = collector.take();
  if (checks.empty()) return nullptr;
  return std::make_shared<const StatementGuard>(std::move(checks));
}

Status check_guard(const StatementGuard* guard, ExecutionContext& context) {
  if (guard == nullptr || !is_ordinary(context.client)) return {};
  for (const GuardCheck& check : *guard) TRY(check(context));
  return {};
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
