#include "node/guardrail_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <span>

#include "coordinator/quorum/consistency.h"
#include "cql/schema/table_options.h"
#include "node/config_values.h"

namespace cassandra_like {
namespace {

using Values = std::vector<std::string>;

struct Setting {
  std::function<Values(const Guardrails&)> show;
  std::function<Status(Guardrails&, const Values&, int default_rf)> change;  // unset: not supported yet
};

bool is_off(const std::string& text) { return text.empty() || text == "null"; }

// --- Numbers ---

enum class Bounds { kMaximum, kPercentage, kMinimumFactor, kMaximumFactor };

// GuardrailsOptions.validatePositiveNumeric
Status verify_number(int64_t value, int64_t most, const std::string& name) {
  if (value == -1) return {};
  if (value > most) {
    return invalid(fmt::format("Invalid value {} for {}: maximum allowed value is {}", value, name, most));
  }
  if (value == 0) {
    return invalid(fmt::format("Invalid value for {}: 0 is not allowed; if attempting to disable use -1", name));
  }
  if (value > 0) return {};
  return invalid(fmt::format(
      "Invalid value {} for {}: negative values are not allowed, outside of -1 which disables the guardrail", value,
      name));
}

Status check_order(const std::string& name, bool is_right, const char* relation, const std::string& warn,
                   const std::string& fail) {
  if (is_right) return {};
  return invalid(fmt::format("The warn threshold {} for {}_warn_threshold should be {} than the fail threshold {}",
                             warn, name, relation, fail));
}

Status check_factor(Bounds bounds, int64_t fail, int default_rf, const std::string& name) {
  const bool is_too_large = bounds == Bounds::kMinimumFactor && fail > default_rf;
  const bool is_too_small = bounds == Bounds::kMaximumFactor && fail != -1 && fail < default_rf;
  if (!is_too_large && !is_too_small) return {};
  return invalid(fmt::format("{}_fail_threshold to be set ({}) cannot be {} than default_keyspace_rf ({})", name, fail,
                             is_too_large ? "greater" : "lesser", default_rf));
}

template <class Number>
Result<Number> read_number(const std::string& text) {
  if (text == "null") return Number{-1};
  const char* begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  Number value = 0;
  auto [rest, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error == std::errc{} && rest == text.data() + text.size()) return value;
  return invalid(fmt::format("For input string: \"{}\"", text));
}

template <class Number>
Setting of_numbers(const std::string& name, Number Guardrails::*warn, Number Guardrails::*fail,
                   Bounds bounds = Bounds::kMaximum) {
  Setting setting;
  setting.show = [=](const Guardrails& g) { return Values{std::to_string(g.*fail), std::to_string(g.*warn)}; };
  setting.change = [=](Guardrails& g, const Values& values, int default_rf) -> Status {
    ASSIGN_OR_RETURN(const Number new_fail, read_number<Number>(values[0]));
    ASSIGN_OR_RETURN(const Number new_warn, read_number<Number>(values[1]));
    const int64_t most = bounds == Bounds::kPercentage ? 100 : std::numeric_limits<Number>::max();
    TRY(verify_number(new_warn, most, name + "_warn_threshold"));
    TRY(verify_number(new_fail, most, name + "_fail_threshold"));
    const bool is_minimum = bounds == Bounds::kMinimumFactor;
    const bool is_right =
        new_warn == -1 || new_fail == -1 || (is_minimum ? new_fail <= new_warn : new_warn <= new_fail);
    TRY(check_order(name, is_right, is_minimum ? "greater" : "lower", std::to_string(new_warn),
                    std::to_string(new_fail)));
    TRY(check_factor(bounds, new_fail, default_rf, name));
    g.*warn = new_warn;
    g.*fail = new_fail;
    return {};
  };
  return setting;
}

// --- Sizes and durations ---

using Amount = std::optional<uint64_t>;

// In the largest unit that it is a whole number of.
std::string amount_text(const Amount& amount, std::span<const Unit> units) {
  if (!amount) return "null";
  for (const Unit& unit : units) {
    if (*amount % unit.factor == 0 && (*amount != 0 || unit.factor == 1)) {
      return fmt::format("{}{}", *amount / unit.factor, unit.symbol);
    }
  }
  return std::to_string(*amount);
}

constexpr Unit kSizeUnits[] = {{"GiB", kGiB}, kUnitMiB, kUnitKiB, kUnitByte};
constexpr uint64_t kMicros = 1'000'000;
constexpr Unit kTimeUnits[] = {{"d", 86400 * kMicros}, {"h", 3600 * kMicros}, {"m", 60 * kMicros},
                               {"s", kMicros},         {"ms", 1000},          {"us", 1}};

std::string size_text(const Amount& size) { return amount_text(size, kSizeUnits); }
std::string time_text(const Amount& time) { return amount_text(time, kTimeUnits); }

Result<Amount> read_size(const std::string& text) {
  if (is_off(text)) return Amount();
  uint64_t bytes = 0;
  if (!parse_size(text, kUnitByte, Bound::kLong, bytes)) return Amount(bytes);
  return invalid(
      fmt::format("Invalid data storage: {} Accepted units:[BYTES, KIBIBYTES, MEBIBYTES, GIBIBYTES] where case "
                  "matters and only non-negative values are accepted",
                  text));
}

Result<Amount> read_micros(const std::string& text) {
  if (is_off(text)) return Amount();
  uint64_t nanos = 0;
  if (!parse_duration(text, kUnitMicro, Bound::kLong, nanos)) return Amount(nanos / kUnitMicro.factor);
  return invalid(
      fmt::format("Invalid duration: {} Accepted units:[MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS, "
                  "DAYS] where case matters and only non-negative values.",
                  text));
}

Status check_size(const Amount& size, const std::string& name) {
  if (size != 0u) return {};
  return invalid(
      fmt::format("Invalid value for {}: 0 is not allowed; if attempting to disable use an empty value", name));
}

Setting of_amounts(const std::string& name, Amount Guardrails::*warn, Amount Guardrails::*fail, bool are_sizes) {
  auto text = are_sizes ? &size_text : &time_text;
  auto read = are_sizes ? &read_size : &read_micros;
  Setting setting;
  setting.show = [=](const Guardrails& g) { return Values{text(g.*fail), text(g.*warn)}; };
  setting.change = [=](Guardrails& g, const Values& values, int) -> Status {
    // The setter's first argument is the warning's.
    ASSIGN_OR_RETURN(const Amount new_warn, read(values[1]));
    ASSIGN_OR_RETURN(const Amount new_fail, read(values[0]));
    if (are_sizes) TRY(check_size(new_warn, name + "_warn_threshold"));
    if (are_sizes) TRY(check_size(new_fail, name + "_fail_threshold"));
    auto shown = [&](const Amount& amount) { return are_sizes ? text(amount) : std::to_string(*amount); };
    if (new_warn && new_fail) TRY(check_order(name, *new_warn <= *new_fail, "lower", shown(new_warn), shown(new_fail)));
    g.*warn = new_warn;
    g.*fail = new_fail;
    return {};
  };
  return setting;
}

Setting of_disk_size() {
  Setting setting;
  setting.show = [](const Guardrails& g) { return Values{size_text(g.data_disk_usage_max_disk_size)}; };
  setting.change = [](Guardrails& g, const Values& values, int) -> Status {
    ASSIGN_OR_RETURN(const Amount size, read_size(values[0]));
    TRY(check_size(size, "data_disk_usage_max_disk_size"));
    g.data_disk_usage_max_disk_size = size;
    return {};
  };
  return setting;
}

// --- Flags and sets ---

Setting of_flag(bool Guardrails::*flag) {
  Setting setting;
  setting.show = [=](const Guardrails& g) { return Values{g.*flag ? "true" : "false"}; };
  setting.change = [=](Guardrails& g, const Values& values, int) -> Status {
    const std::string text = values[0] == "null" ? "false" : values[0];
    if (text != "true" && text != "false") return invalid("Use 'true' or 'false' values for booleans");
    g.*flag = text == "true";
    return {};
  };
  return setting;
}

std::set<std::string> read_set(const std::string& text) {
  std::set<std::string> out;
  if (is_off(text) || text == "[]") return out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    out.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Status verify_levels(std::set<std::string>& levels, const std::string&) {
  for (const std::string& level : levels) {
    if (!parse_consistency(level)) {
      return invalid("No enum constant org.apache.cassandra.db.ConsistencyLevel." + level);
    }
  }
  return {};
}

Status verify_properties(std::set<std::string>& properties, const std::string& name) {
  std::set<std::string> lower, unknown;
  for (std::string property : properties) {
    std::transform(property.begin(), property.end(), property.begin(), [](unsigned char c) { return std::tolower(c); });
    if (std::ranges::find(table_properties(), property) == table_properties().end()) unknown.insert(property);
    lower.insert(std::move(property));
  }
  properties = std::move(lower);
  if (unknown.empty()) return {};
  return invalid(fmt::format("Invalid value for {}: '[{}]' do not parse as valid table properties", name,
                             fmt::join(unknown, ", ")));
}

Setting of_set(const std::string& name, std::set<std::string> Guardrails::*field,
               Status (*check)(std::set<std::string>&, const std::string&)) {
  Setting setting;
  setting.show = [=](const Guardrails& g) { return Values{fmt::format("[{}]", fmt::join(g.*field, ", "))}; };
  setting.change = [=](Guardrails& g, const Values& values, int) -> Status {
    std::set<std::string> set = read_set(values[0]);
    TRY(check(set, name));
    g.*field = std::move(set);
    return {};
  };
  return setting;
}

// --- All of them ---

using Settings = std::map<std::string, Setting, std::less<>>;

#define PAIR(name) #name, &Guardrails::name##_warn_threshold, &Guardrails::name##_fail_threshold

void add_thresholds(Settings& all) {
  auto add = [&all](const std::string& name, Setting setting) { all[name + "_threshold"] = std::move(setting); };
  auto number = [&add](const std::string& name, auto warn, auto fail, Bounds bounds = Bounds::kMaximum) {
    add(name, of_numbers(name, warn, fail, bounds));
  };
  number(PAIR(columns_per_table));
  number(PAIR(data_disk_usage_percentage), Bounds::kPercentage);
  number(PAIR(fields_per_udt));
  number(PAIR(in_select_cartesian_product));
  number(PAIR(items_per_collection));
  number(PAIR(keyspaces));
  number(PAIR(materialized_views_per_table));
  number(PAIR(maximum_replication_factor), Bounds::kMaximumFactor);
  number(PAIR(minimum_replication_factor), Bounds::kMinimumFactor);
  number(PAIR(page_size));
  number(PAIR(partition_keys_in_select));
  number(PAIR(partition_tombstones));
  number(PAIR(secondary_indexes_per_table));
  number(PAIR(tables));
  number(PAIR(vector_dimensions));
  all.at("materialized_views_per_table_threshold").change = nullptr;
  add("collection_size", of_amounts(PAIR(collection_size), true));
  add("column_value_size", of_amounts(PAIR(column_value_size), true));
  add("partition_size", of_amounts(PAIR(partition_size), true));
  add("maximum_timestamp", of_amounts(PAIR(maximum_timestamp), false));
  add("minimum_timestamp", of_amounts(PAIR(minimum_timestamp), false));
}
#undef PAIR

void add_flags(Settings& all) {
#define FLAG(name) all[#name] = of_flag(&Guardrails::name)
  FLAG(allow_filtering_enabled);
  FLAG(alter_table_enabled);
  FLAG(compact_tables_enabled);
  FLAG(drop_keyspace_enabled);
  FLAG(drop_truncate_table_enabled);
  FLAG(group_by_enabled);
  FLAG(intersect_filtering_query_enabled);
  FLAG(intersect_filtering_query_warned);
  FLAG(non_partition_restricted_index_query_enabled);
  FLAG(read_before_write_list_operations_enabled);
  FLAG(secondary_indexes_enabled);
  FLAG(simplestrategy_enabled);
  FLAG(uncompressed_tables_enabled);
  FLAG(user_timestamps_enabled);
  FLAG(vector_type_enabled);
  FLAG(zero_ttl_on_twcs_enabled);
  FLAG(zero_ttl_on_twcs_warned);
#undef FLAG
}

void add_sets(Settings& all) {
#define SET(name, check) all[#name] = of_set(#name, &Guardrails::name, check)
  SET(read_consistency_levels_disallowed, verify_levels);
  SET(read_consistency_levels_warned, verify_levels);
  SET(table_properties_disallowed, verify_properties);
  SET(table_properties_ignored, verify_properties);
  SET(table_properties_warned, verify_properties);
  SET(write_consistency_levels_disallowed, verify_levels);
  SET(write_consistency_levels_warned, verify_levels);
#undef SET
}

const Settings& all_settings() {
  static const Settings settings = [] {
    Settings all;
    add_thresholds(all);
    add_flags(all);
    add_sets(all);
    all["data_disk_usage_max_disk_size"] = of_disk_size();
    return all;
  }();
  return settings;
}

}  // namespace

std::vector<AdminGuardrail> show_guardrails(const Guardrails& guardrails) {
  std::vector<AdminGuardrail> out;
  for (const auto& [name, setting] : all_settings()) out.push_back({name, setting.show(guardrails)});
  return out;
}

Status change_guardrail(Guardrails* guardrails, const std::string& name, const std::vector<std::string>& values,
                        int default_keyspace_rf) {
  const auto found = all_settings().find(name);
  if (found == all_settings().end()) return invalid(fmt::format("Guardrail {} not found.", name));
  const Setting& setting = found->second;
  if (!setting.change) return invalid(fmt::format("{} is not supported yet", name));
  const size_t expected = setting.show(*guardrails).size();
  if (values.size() != expected) {
    return invalid(
        fmt::format("{} is expecting {} argument values. Getting {} instead.", name, expected, values.size()));
  }
  return setting.change(*guardrails, values, default_keyspace_rf);
}

}  // namespace cassandra_like
