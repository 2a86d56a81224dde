#include "cql/schema/table_options.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "base/java_numbers.h"
#include "model/values.h"
#include "storage/compaction/strategy/options.h"

namespace cassandra_like {
namespace {

constexpr const char* kAutoRepair = "auto_repair";
constexpr std::string_view kAutoRepairOptions[] = {"full_enabled", "incremental_enabled", "preview_repaired_enabled",
                                                   "priority"};
// The chance of a false positive that stands for the default of the table's compaction strategy.
constexpr double kStrategyDefault = -1;
// The smallest chance that Cassandra's tables of bloom filters reach.
constexpr double kMinBloomFilterFpChance = 6.71E-5;

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Reads properties into a TableParams, and stops at the first that is malformed.
class OptionSetter {
 public:
  OptionSetter(const ast::Properties& properties, TableParams& params) : in_(properties), params_(params) {}

  void boolean(const char* name, bool& into) { set(name, into, &PropertyReader::boolean); }
  void integer(const char* name, int& into) { set(name, into, &PropertyReader::integer); }
  void real(const char* name, double& into) { set(name, into, &PropertyReader::real); }
  void text(const char* name, std::string& into) { set(name, into, &PropertyReader::text); }
  void map(const char* name, StringPairs& into, Result<StringPairs> (*parse)(const StringPairs&)) {
    StringPairs written;
    if (!in_.has(name) || !set(name, written, &PropertyReader::map)) return;
    take(parse(written), into);
  }
  void policy(const char* name, std::string& into) {
    std::string written;
    if (!in_.has(name) || !set(name, written, &PropertyReader::text)) return;
    take(parse_speculative_retry(written), into);
  }
  void memtable(const CqlOptions& options) {
    std::string key;
    if (!in_.has("memtable") || !set("memtable", key, &PropertyReader::text)) return;
    const auto& known = options.memtable_configurations;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      status_ = config_error("Memtable configuration \"" + key + "\" not found.");
      return;
    }
    params_.memtable = key;
  }
  void read_repair() {
    std::string written;
    if (!in_.has("read_repair") || !set("read_repair", written, &PropertyReader::text)) return;
    std::string name = upper(written);
    if (name != "NONE" && name != "BLOCKING") {
      status_ = Error(ErrorCode::kServerError,
                      "java.lang.IllegalArgumentException: No enum constant "
                      "org.apache.cassandra.service.reads.repair.ReadRepairStrategy." +
                          name);
      return;
    }
    params_.read_repair = name;
  }
  // Its sub-options are not kept: a table that has any is refused.
  void auto_repair() {
    StringPairs written;
    if (!in_.has(kAutoRepair) || !set(kAutoRepair, written, &PropertyReader::map)) return;
    for (const auto& [name, value] : written) {
      const std::string folded = lower(name);
      const auto is_known = [&folded](std::string_view known) { return known == folded; };
      if (std::any_of(std::begin(kAutoRepairOptions), std::end(kAutoRepairOptions), is_known)) continue;
      status_ = config_error("Unknown property '" + name + "'");
      return;
    }
  }

  Status status() && { return std::move(status_); }

 private:
  template <class T, class Reader>
  bool set(const char* name, T& into, Reader reader) {
    if (!status_.ok() || !in_.has(name)) return false;
    return take((in_.*reader)(name), into);
  }
  template <class R, class T>
  bool take(R result, T& into) {
    if (!result.ok()) {
      status_ = std::move(result.error());
      return false;
    }
    into = std::move(*result);
    return true;
  }

  PropertyReader in_;
  TableParams& params_;
  Status status_;
};

// The parameters of a table where its statement says nothing.
TableParams default_table_params(const CqlOptions& options) {
  TableParams params;
  params.bloom_filter_fp_chance = kStrategyDefault;
  if (!options.default_compaction.empty()) params.compaction = options.default_compaction;
  return params;
}

Error out_of_bounds(const char* option, const std::string& bound, const std::string& got) {
  return config_error(std::string(option) + " must be " + bound + " (got " + got + ")");
}

// The value of a percentile, printed as DecimalFormat("#.####") does.
std::string percentile_text(double value) {
  char buffer[64];
  int size = std::snprintf(buffer, sizeof buffer, "%.4f", value);
  std::string text(buffer, static_cast<size_t>(size));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

Error invalid_retry(const std::string& text) {
  return config_error("Invalid value " + text + " for option 'speculative_retry'");
}

bool is_decimal(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789.") == text.npos; }

// 99p, 99percentile
Result<std::string> parse_percentile(const std::string& text, std::string_view number) {
  auto value = parse_java_double(number);
  if (!value) return invalid_retry(text);
  if (*value <= 0 || *value >= 100) {
    return config_error("Invalid value " + text +
                        " for PERCENTILE option 'speculative_retry': must be between (0.0 and 100.0)");
  }
  return percentile_text(*value) + "p";
}

// MIN(99p, 5ms), MAX(5ms, 99p); the text is in upper case.
Result<std::string> parse_hybrid_retry(const std::string& text, std::string_view folded) {
  size_t comma = folded.find(',');
  if (comma == folded.npos || folded.back() != ')') return invalid_retry(text);
  std::string_view first = folded.substr(4, comma - 4);
  std::string_view second = folded.substr(comma + 1, folded.size() - comma - 2);
  auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!first.empty() && is_space(first.back())) first.remove_suffix(1);
  while (!second.empty() && is_space(second.front())) second.remove_prefix(1);
  // They begin with a number: one MIN() inside of another, and so on, is nothing to descend into.
  bool simple = first.find_first_of("0123456789.") == 0 && second.find_first_of("0123456789.") == 0;
  if (!simple) return invalid_retry(text);
  auto a = parse_speculative_retry(std::string(first)), b = parse_speculative_retry(std::string(second));
  if (!a.ok() || !b.ok()) return invalid_retry(text);
  bool a_is_fixed = a->ends_with("ms");
  if (a_is_fixed == b->ends_with("ms")) {
    return config_error("Invalid value " + text +
                        " for option 'speculative_retry': MIN()/MAX() arguments should be of different types, but "
                        "both are of type " +
                        (a_is_fixed ? "FIXED" : "PERCENTILE"));
  }
  return std::string(folded.substr(0, 4)) + (a_is_fixed ? *b + "," + *a : *a + "," + *b) + ")";
}

}  // namespace

// --- PropertyReader ---

const ast::Property* PropertyReader::find(std::string_view name) const {
  for (const ast::Property& property : properties_) {
    if (property.name == name) return &property;
  }
  return nullptr;
}

Status PropertyReader::check_names(std::span<const std::string_view> known) const {
  for (const ast::Property& property : properties_) {
    if (std::find(known.begin(), known.end(), property.name) == known.end()) {
      return syntax_error("Unknown property '" + property.name + "'");
    }
  }
  return {};
}

Result<std::string> PropertyReader::text(std::string_view name) const {
  const auto* value = std::get_if<std::string>(&find(name)->value);
  if (value != nullptr) return *value;
  return syntax_error("Invalid value for property '" + std::string(name) + "'. It should be a string");
}

Result<StringPairs> PropertyReader::map(std::string_view name) const {
  const auto* value = std::get_if<ast::Property::Map>(&find(name)->value);
  if (value != nullptr) return StringPairs(value->begin(), value->end());
  return syntax_error("Invalid value for property '" + std::string(name) + "'. It should be a map.");
}

Result<bool> PropertyReader::boolean(std::string_view name) const {
  ASSIGN_OR_RETURN(std::string written, text(name));
  std::string folded = lower(written);
  if (folded == "1" || folded == "true" || folded == "yes") return true;
  if (folded == "0" || folded == "false" || folded == "no") return false;
  return syntax_error("Invalid boolean value " + written + " for '" + std::string(name) +
                      "'. Positive values can be '1', 'true' or 'yes'. Negative values can be '0', 'false' or 'no'.");
}

Result<int32_t> PropertyReader::integer(std::string_view name) const {
  ASSIGN_OR_RETURN(std::string written, text(name));
  if (auto value = parse_java_int(written)) return *value;
  return syntax_error("Invalid integer value " + written + " for '" + std::string(name) + "'");
}

Result<double> PropertyReader::real(std::string_view name) const {
  ASSIGN_OR_RETURN(std::string written, text(name));
  if (auto value = parse_java_double(written)) return *value;
  return syntax_error("Invalid double value " + written + " for '" + std::string(name) + "'");
}

// --- Tables ---

ast::Properties without(const ast::Properties& properties, const std::set<std::string>& ignored) {
  ast::Properties out = properties;
  std::erase_if(out, [&ignored](const ast::Property& property) { return ignored.contains(property.name); });
  return out;
}

Result<TableParams> apply_table_options(const ast::Properties& properties, const TableParams& base,
                                        const CqlOptions& options) {
  TableParams params = base;
  OptionSetter set(properties, params);
  set.boolean("allow_auto_snapshot", params.allow_auto_snapshot);
  set.real("bloom_filter_fp_chance", params.bloom_filter_fp_chance);
  set.map("caching", params.caching, parse_caching);
  set.text("comment", params.comment);
  set.map("compaction", params.compaction, normal_compaction);
  set.map("compression", params.compression, parse_compression);
  set.memtable(options);
  set.integer("default_time_to_live", params.default_time_to_live);
  set.integer("gc_grace_seconds", params.gc_grace_seconds);
  set.boolean("incremental_backups", params.incremental_backups);
  set.integer("max_index_interval", params.max_index_interval);
  set.integer("memtable_flush_period_in_ms", params.memtable_flush_period_in_ms);
  set.integer("min_index_interval", params.min_index_interval);
  set.policy("speculative_retry", params.speculative_retry);
  set.policy("additional_write_policy", params.additional_write_policy);
  set.real("crc_check_chance", params.crc_check_chance);
  set.boolean("cdc", params.cdc);
  set.read_repair();
  set.auto_repair();
  TRY(std::move(set).status());
  if (params.bloom_filter_fp_chance == kStrategyDefault) {
    bool leveled = params.compaction.at("class").ends_with(".LeveledCompactionStrategy");
    params.bloom_filter_fp_chance = leveled ? 0.1 : 0.01;
  }
  return params;
}

Result<TableParams> new_table_params(const ast::Properties& properties, const CqlOptions& options) {
  return apply_table_options(properties, default_table_params(options), options);
}

std::span<const std::string_view> table_properties() {
  static constexpr std::string_view kProperties[] = {"additional_write_policy",
                                                     "allow_auto_snapshot",
                                                     kAutoRepair,
                                                     "bloom_filter_fp_chance",
                                                     "caching",
                                                     "cdc",
                                                     "comment",
                                                     "compaction",
                                                     "compression",
                                                     "crc_check_chance",
                                                     "default_time_to_live",
                                                     "extensions",
                                                     "gc_grace_seconds",
                                                     "id",
                                                     "incremental_backups",
                                                     "max_index_interval",
                                                     "memtable",
                                                     "memtable_flush_period_in_ms",
                                                     "min_index_interval",
                                                     "read_repair",
                                                     "speculative_retry"};
  return kProperties;
}

Status check_table_options(const ast::Properties& properties, const CqlOptions& options) {
  PropertyReader in(properties);
  TRY(in.check_names(table_properties()));
  if (in.has(kAutoRepair)) {
    return config_error(
        "auto_repair option is not supported unless auto-repair is enabled with -Dcassandra.autorepair.enable=true");
  }
  ASSIGN_OR_RETURN(TableParams params, new_table_params(properties, options));
  return validate_table_params(params);
}

Status validate_table_params(const TableParams& p) {
  if (auto compaction = parse_compaction_options(p.compaction); !compaction.ok()) return compaction.error();
  TRY(validate_compression(p.compression));
  // NaN passes, here and below, as in Cassandra.
  if (p.bloom_filter_fp_chance <= kMinBloomFilterFpChance || p.bloom_filter_fp_chance > 1) {
    return out_of_bounds("bloom_filter_fp_chance",
                         "larger than " + double_to_text(kMinBloomFilterFpChance) + " and less than or equal to 1.0",
                         double_to_text(p.bloom_filter_fp_chance));
  }
  if (p.crc_check_chance < 0 || p.crc_check_chance > 1) {
    return out_of_bounds("crc_check_chance", "larger than or equal to 0 and smaller than or equal to 1.0",
                         double_to_text(p.crc_check_chance));
  }
  auto at_least = [](const char* option, int bound, int value) -> Status {
    if (value >= bound) return {};
    return out_of_bounds(option, "greater than or equal to " + std::to_string(bound), std::to_string(value));
  };
  TRY(at_least("default_time_to_live", 0, p.default_time_to_live));
  if (p.default_time_to_live > kMaxTtl) {
    return out_of_bounds("default_time_to_live", "less than or equal to " + std::to_string(kMaxTtl),
                         std::to_string(p.default_time_to_live));
  }
  TRY(at_least("gc_grace_seconds", 0, p.gc_grace_seconds));
  TRY(at_least("min_index_interval", 1, p.min_index_interval));
  if (p.max_index_interval < p.min_index_interval) {
    return out_of_bounds("max_index_interval",
                         "greater than or equal to min_index_interval (" + std::to_string(p.min_index_interval) + ")",
                         std::to_string(p.max_index_interval));
  }
  return at_least("memtable_flush_period_in_ms", 0, p.memtable_flush_period_in_ms);
}

Result<std::optional<Uuid>> table_id_option(const ast::Properties& properties) {
  PropertyReader in(properties);
  if (!in.has("id")) return std::optional<Uuid>();
  ASSIGN_OR_RETURN(std::string text, in.text("id"));
  auto id = Uuid::parse(text);
  if (!id) return config_error("Invalid table id");
  return id;
}

// --- Caching, speculative retry ---

Result<StringPairs> parse_caching(const StringPairs& map) {
  StringPairs caching{{"keys", "NONE"}, {"rows_per_partition", "NONE"}};
  std::vector<std::string> unknown;
  for (const auto& [name, value] : map) {
    std::string folded = upper(value);
    bool all_or_none = folded == "ALL" || folded == "NONE";
    if (name == "keys") {
      if (!all_or_none) {
        return config_error("Invalid value '" + value +
                            "' for caching sub-option 'keys': only 'ALL' and 'NONE' are allowed");
      }
      caching["keys"] = folded;
    } else if (name == "rows_per_partition") {
      auto rows = is_digits(value) ? parse_java_int(value) : std::nullopt;
      if (!all_or_none && !rows) {
        return config_error("Invalid value '" + value +
                            "' for caching sub-option 'rows_per_partition': only 'ALL', 'NONE', and integer values "
                            "are allowed");
      }
      caching["rows_per_partition"] = all_or_none          ? folded
                                      : *rows == 0         ? "NONE"
                                      : *rows == INT32_MAX ? "ALL"
                                                           : std::to_string(*rows);
    } else {
      unknown.push_back(name);
    }
  }
  if (unknown.empty()) return caching;
  std::string names;
  for (const std::string& name : unknown) names += (names.empty() ? "" : ", ") + name;
  return config_error("Invalid caching sub-options [" + names + "]: only 'keys' and 'rows_per_partition' are allowed");
}

Result<std::string> parse_speculative_retry(const std::string& text) {
  std::string folded = upper(text);
  if (folded == "ALWAYS") return folded;
  if (folded == "NEVER" || folded == "NONE") return std::string("NEVER");
  if (folded.starts_with("MIN(") || folded.starts_with("MAX(")) return parse_hybrid_retry(text, folded);
  for (std::string_view suffix : {"PERCENTILE", "P", "MS"}) {
    if (!folded.ends_with(suffix)) continue;
    std::string_view number = std::string_view(folded).substr(0, folded.size() - suffix.size());
    if (!is_decimal(number)) continue;
    if (suffix != "MS") return parse_percentile(text, number);
    auto millis = parse_java_double(number);
    if (!millis) return invalid_retry(text);
    return std::to_string(static_cast<int32_t>(std::min(*millis, 2147483647.0))) + "ms";
  }
  return invalid_retry(text);
}

}  // namespace cassandra_like
