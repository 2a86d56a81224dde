// The `compaction` option: {'class': …} and the strategy's own options, each checked as the strategy's validateOptions.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/ascii.h"
#include "cql/schema/table_options.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr std::string_view kCompactionPackage = "org.apache.cassandra.db.compaction.";
constexpr std::string_view kSizeTiered = "SizeTieredCompactionStrategy";
constexpr std::string_view kLeveled = "LeveledCompactionStrategy";
constexpr std::string_view kTimeWindow = "TimeWindowCompactionStrategy";
constexpr std::string_view kUnified = "UnifiedCompactionStrategy";

bool is_boolean(std::string_view text) { return lower(text) == "true" || lower(text) == "false"; }

Error not_parsable(const std::string& value, const char* option, const char* type = "int") {
  return config_error(value + " is not a parsable " + type + " (base10) for " + option);
}

// The options that are left to check; what is understood is taken out of them.
class Options {
 public:
  explicit Options(const StringPairs& options) : options_(options) { options_.erase("class"); }

  std::optional<std::string> take(const char* name) {
    auto it = options_.find(name);
    if (it == options_.end()) return std::nullopt;
    std::string value = it->second;
    options_.erase(it);
    return value;
  }
  const StringPairs& rest() const { return options_; }

 private:
  StringPairs options_;
};

// --- Options of all strategies ---

Status check_tombstones(Options& options) {
  if (auto threshold = options.take("tombstone_threshold")) {
    auto value = parse_java_double(*threshold);
    if (!value) return not_parsable(*threshold, "tombstone_threshold");
    char text[64];
    std::snprintf(text, sizeof text, "%f", *value);
    if (*value < 0) return config_error(std::string("tombstone_threshold must be greater than 0, but was ") + text);
  }
  if (auto interval = options.take("tombstone_compaction_interval")) {
    auto value = parse_java_long(*interval);
    if (!value) return not_parsable(*interval, "tombstone_compaction_interval");
    if (*value < 0) {
      return config_error("tombstone_compaction_interval must be greater than 0, but was " + std::to_string(*value));
    }
  }
  auto unchecked = options.take("unchecked_tombstone_compaction");
  if (!unchecked || is_boolean(*unchecked)) return {};
  return config_error("'unchecked_tombstone_compaction' should be either 'true' or 'false', not '" + *unchecked + "'");
}

Status check_common(Options& options) {
  TRY(check_tombstones(options));
  auto log_all = options.take("log_all");
  if (log_all && !is_boolean(*log_all)) {
    return config_error("'log_all' should either be 'true' or 'false', not " + *log_all);
  }
  auto enabled = options.take("enabled");
  if (enabled && !is_boolean(*enabled)) {
    return config_error("enabled should either be 'true' or 'false', not " + *enabled);
  }
  options.take("only_purge_repaired_tombstones");
  options.take("provide_overlapping_tombstones");
  return {};
}

// --- Size-tiered ---

Result<double> take_double(Options& options, const char* name, double otherwise) {
  auto text = options.take(name);
  auto value = text ? parse_java_double(*text) : otherwise;
  if (!value) return config_error(*text + " is not a parsable float for " + name);
  return *value;
}

Status check_size_tiered(Options& options) {
  if (auto size = options.take("min_sstable_size")) {
    auto value = parse_java_long(*size);
    if (!value) return not_parsable(*size, "min_sstable_size");
    if (*value < 0) return config_error("min_sstable_size must be non negative: " + std::to_string(*value));
  }
  ASSIGN_OR_RETURN(double low, take_double(options, "bucket_low", 0.5));
  ASSIGN_OR_RETURN(double high, take_double(options, "bucket_high", 1.5));
  if (high > low) return {};
  return config_error("bucket_high value (" + double_to_text(high) +
                      ") is less than or equal to the bucket_low value (" + double_to_text(low) + ")");
}

// --- Leveled ---

Result<int32_t> take_positive(Options& options, const char* name, int32_t otherwise) {
  auto text = options.take(name);
  if (!text) return otherwise;
  auto value = parse_java_int(*text);
  if (!value) return not_parsable(*text, name);
  if (*value < 1) return config_error(std::string(name) + " must be larger than 0, but was " + std::to_string(*value));
  return *value;
}

// base^8 * factor in decimal: more digits than any integer type has.
std::string eighth_power_times(uint32_t base, uint64_t factor) {
  constexpr uint64_t kLimb = 1000000000;
  std::vector<uint64_t> limbs{1};  // least significant first
  auto multiply = [&limbs](uint64_t by) {
    uint64_t carry = 0;
    for (uint64_t& limb : limbs) {
      uint64_t product = limb * by + carry;
      limb = product % kLimb;
      carry = product / kLimb;
    }
    for (; carry > 0; carry /= kLimb) limbs.push_back(carry % kLimb);
  };
  for (int i = 0; i < 8; ++i) multiply(base);
  multiply(factor);
  multiply(1024 * 1024);
  std::string text = std::to_string(limbs.back());
  for (size_t i = limbs.size() - 1; i-- > 0;) {
    std::string digits = std::to_string(limbs[i]);
    text += std::string(9 - digits.size(), '0') + digits;
  }
  return text;
}

Status check_leveled(Options& options) {
  constexpr std::string_view kMaxLong = "9223372036854775807";
  ASSIGN_OR_RETURN(int32_t size, take_positive(options, "sstable_size_in_mb", 1));
  ASSIGN_OR_RETURN(int32_t fanout, take_positive(options, "fanout_size", 10));
  std::string bytes = eighth_power_times(static_cast<uint32_t>(fanout), static_cast<uint64_t>(size));
  if (bytes.size() > kMaxLong.size() || (bytes.size() == kMaxLong.size() && bytes > kMaxLong)) {
    return config_error("At most " + std::string(kMaxLong) +
                        " bytes may be in a compaction level; your maxSSTableSize must be absurdly high to compute " +
                        bytes);
  }
  options.take("single_sstable_uplevel");
  return check_size_tiered(options);
}

// --- Time windows ---

Status check_unit(Options& options, const char* name, std::initializer_list<std::string_view> units) {
  auto unit = options.take(name);
  if (!unit || std::find(units.begin(), units.end(), *unit) != units.end()) return {};
  return config_error(*unit + " is not valid for " + name);
}

Status check_time_window(Options& options) {
  TRY(check_unit(options, "timestamp_resolution", {"SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS"}));
  TRY(check_unit(options, "compaction_window_unit", {"MINUTES", "HOURS", "DAYS"}));
  if (auto size = options.take("compaction_window_size")) {
    auto value = parse_java_int(*size);
    if (!value) return not_parsable(*size, "compaction_window_size");
    if (*value < 1) {
      return config_error(std::to_string(*value) + " must be greater than 1 for compaction_window_size");
    }
  }
  constexpr const char* kFrequency = "expired_sstable_check_frequency_seconds";
  if (auto seconds = options.take(kFrequency)) {
    auto value = parse_java_long(*seconds);
    if (!value) return not_parsable(*seconds, kFrequency);
    if (*value < 0) {
      return config_error(std::string(kFrequency) + " must not be negative, but was " + std::to_string(*value));
    }
  }
  if (auto unsafe = options.take("unsafe_aggressive_sstable_expiration")) {
    if (!is_boolean(*unsafe)) {
      return config_error("unsafe_aggressive_sstable_expiration is not 'true' or 'false' (" + *unsafe + ")");
    }
    if (lower(*unsafe) == "true") {
      return config_error(
          "unsafe_aggressive_sstable_expiration is requested but not allowed, restart cassandra with "
          "-Dcassandra.allow_unsafe_aggressive_sstable_expiration=true to allow it");
    }
  }
  return check_size_tiered(options);
}

// --- Unified ---

constexpr double kMebibyte = 1024 * 1024;
constexpr double kDefaultTargetSize = 1024 * kMebibyte;

// 1.000GiB
std::string memory_text(int64_t size) {
  if (std::abs(size) < 1024) return std::to_string(size) + "B";
  int prefix = 0;
  double value = static_cast<double>(size);
  for (; std::abs(value) >= 1024; ++prefix) value /= 1024;
  char text[64];
  std::snprintf(text, sizeof text, "%.3f%ciB", value, " KMGTPE"[prefix]);
  return text;
}

size_t number_length(std::string_view text) {
  auto digits = [&](size_t from) {
    while (from < text.size() && text[from] >= '0' && text[from] <= '9') ++from;
    return from;
  };
  size_t start = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  size_t end = digits(start);
  if (end == start) return 0;
  if (end < text.size() && text[end] == '.' && digits(end + 1) > end + 1) end = digits(end + 1);
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    if (digits(exponent) > exponent) end = digits(exponent);
  }
  return end;
}

// 2GiB, 100MB, 5B: FBUtilities.parseHumanReadable with unit B. The error is its exception's message.
Result<double> parse_size(const std::string& text) {
  if (!text.ends_with('B')) return config_error(text + " does not end in unit B");
  size_t end = text.size() - 1;
  size_t pos = number_length(std::string_view(text).substr(0, end));
  if (pos == 0) return config_error("null");
  double value = *parse_java_double(std::string_view(text).substr(0, pos));
  while (pos < end && (text[pos] == ' ' || (text[pos] >= '\t' && text[pos] <= '\r'))) ++pos;
  constexpr std::string_view kPrefixes = "qryzafpnum KMGTPEZYRQ";
  if (pos < end && kPrefixes.find(text[pos]) != std::string_view::npos) {
    int power = static_cast<int>(kPrefixes.find(text[pos])) - static_cast<int>(kPrefixes.find(' '));
    bool binary = ++pos < end && text[pos] == 'i';
    if (binary) ++pos;
    value *= binary ? std::exp2(10.0 * power) : std::pow(1000.0, power);
  }
  if (pos == end) return value;
  return config_error("Unexpected characters between pos " + std::to_string(pos) + " and " + std::to_string(end) +
                      " in " + text);
}

Result<std::optional<double>> take_target_size(Options& options, const char* name) {
  auto text = options.take(name);
  if (!text) return std::optional<double>();
  auto size = parse_size(*text);
  if (!size.ok()) {
    return config_error(std::string(name) + " " + *text + " is not a valid size in bytes: " + size.error().message());
  }
  if (*size >= 9223372036854775807.0)
    return config_error(std::string(name) + " " + *text + " is out of range of Long.");
  if (*size < kMebibyte) {
    return config_error(std::string(name) + " " + *text + " is not acceptable, size must be at least " +
                        memory_text(static_cast<int64_t>(kMebibyte)));
  }
  return std::optional<double>(std::ceil(*size));
}

// T4, L10, N or a number.
Status check_scaling_parameter(std::string_view value) {
  auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  if (value == "N") return {};
  if (!value.empty() && (value[0] == 'T' || value[0] == 'L') && is_number(value.substr(1))) {
    if (parse_java_int(value.substr(1)).value_or(0) >= 2) return {};
    return config_error("Fan factor cannot be lower than 2 in " + std::string(value));
  }
  std::string_view digits = !value.empty() && (value[0] == '+' || value[0] == '-') ? value.substr(1) : value;
  if (is_number(digits)) return {};
  return config_error("Scaling parameter " + std::string(value) + " must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+");
}

Status check_scaling(const std::string& parameters) {
  for (size_t start = 0; start <= parameters.size();) {
    size_t end = std::min(parameters.find(',', start), parameters.size());
    std::string_view value = std::string_view(parameters).substr(start, end - start);
    while (!value.empty() && value.front() <= ' ') value.remove_prefix(1);
    while (!value.empty() && value.back() <= ' ') value.remove_suffix(1);
    TRY(check_scaling_parameter(value));
    start = end + 1;
  }
  return {};
}

Status check_positive(Options& options, const char* name, const char* type) {
  auto text = options.take(name);
  if (!text) return {};
  auto value = parse_java_long(*text);
  bool in_range = value && (std::string_view(type) == "long" || (*value >= INT32_MIN && *value <= INT32_MAX));
  if (!in_range) return not_parsable(*text, name, type);
  if (*value > 0) return {};
  return config_error(std::string("Invalid configuration, ") + name + " should be positive: " + std::to_string(*value));
}

Status check_min_size(Options& options, double target) {
  auto text = options.take("min_sstable_size");
  if (!text) return {};
  auto size = parse_size(*text);
  if (!size.ok()) return config_error(*text + " is not a valid size in bytes for min_sstable_size");
  if (*size < 0) {
    return config_error("Invalid configuration, min_sstable_size should be greater than or equal to 0 (zero)");
  }
  if (*size < std::ceil(target * std::sqrt(0.5))) return {};
  return config_error("Invalid configuration, min_sstable_size (" + memory_text(static_cast<int64_t>(*size)) +
                      ") should be less than 70% of the targetSSTableSize (" +
                      memory_text(static_cast<int64_t>(target)) + ")");
}

Status check_growth(Options& options) {
  auto text = options.take("sstable_growth");
  if (!text) return {};
  bool percent = text->ends_with('%');
  std::string number = percent ? text->substr(0, text->size() - 1) : *text;
  auto value = parse_java_double(number);
  if (!value) {
    return config_error("sstable_growth is not a valid number between 0 and 1: For input string: \"" + number + "\"");
  }
  double growth = percent ? *value / 100 : *value;
  if (growth >= 0 && growth <= 1) return {};
  return config_error("sstable_growth " + *text + " must be between 0 and 1");
}

Status check_unified(Options& options) {
  if (auto parameters = options.take("scaling_parameters")) TRY(check_scaling(*parameters));
  TRY(check_positive(options, "base_shard_count", "int"));
  ASSIGN_OR_RETURN(auto target, take_target_size(options, "target_sstable_size"));
  TRY(take_target_size(options, "flush_size_override"));
  if (auto sstables = options.take("max_sstables_to_compact"); sstables && !parse_java_int(*sstables)) {
    return not_parsable(*sstables, "max_sstables_to_compact");
  }
  TRY(check_positive(options, "expired_sstable_check_frequency_seconds", "long"));
  auto unsafe = options.take("unsafe_aggressive_sstable_expiration");
  if (unsafe && !is_boolean(*unsafe)) {
    return config_error("unsafe_aggressive_sstable_expiration should either be 'true' or 'false', not " + *unsafe);
  }
  if (auto method = options.take("overlap_inclusion_method")) {
    std::string name = upper(*method);
    if (name != "NONE" && name != "SINGLE" && name != "TRANSITIVE") {
      return config_error("Invalid overlap inclusion method " + *method +
                          ". The valid options are [NONE, SINGLE, TRANSITIVE].");
    }
  }
  TRY(check_min_size(options, target.value_or(kDefaultTargetSize)));
  return check_growth(options);
}

// --- Thresholds ---

Result<int32_t> threshold(const StringPairs& compaction, const char* name, int32_t otherwise) {
  auto it = compaction.find(name);
  if (it == compaction.end()) return otherwise;
  bool digits = it->second.find_first_not_of("0123456789") == std::string::npos;
  auto value = digits ? parse_java_int(it->second) : std::nullopt;
  if (value) return *value;
  return config_error("Invalid value " + it->second + " for '" + name + "' compaction sub-option - must be an integer");
}

Status check_thresholds(const StringPairs& compaction) {
  ASSIGN_OR_RETURN(int32_t min, threshold(compaction, "min_threshold", 4));
  ASSIGN_OR_RETURN(int32_t max, threshold(compaction, "max_threshold", 32));
  if (min <= 0 || max <= 0) {
    return config_error(
        "Disabling compaction by setting compaction thresholds to 0 has been removed, set the compaction option "
        "'enabled' to false instead.");
  }
  if (min <= 1) {
    return config_error("Min compaction threshold cannot be less than 2 (got " + std::to_string(min) + ")");
  }
  if (min <= max) return {};
  return config_error("Min compaction threshold (got " + std::to_string(min) +
                      ") cannot be greater than max compaction threshold (got " + std::to_string(max) + ")");
}

std::string_view short_name(const StringPairs& compaction) {
  return std::string_view(compaction.at("class")).substr(kCompactionPackage.size());
}

}  // namespace

Result<StringPairs> parse_compaction(const StringPairs& map) {
  StringPairs options = map;
  auto written = options.find("class");
  if (written == options.end()) return config_error("Missing sub-option 'class' for the 'compaction' option");
  std::string& class_name = written->second;
  if (class_name.find('.') == std::string::npos) class_name.insert(0, kCompactionPackage);
  bool known = class_name.starts_with(kCompactionPackage);
  std::string_view name = known ? short_name(options) : std::string_view();
  if (name != kSizeTiered && name != kLeveled && name != kTimeWindow && name != kUnified) {
    return config_error("Unable to find compaction strategy class '" + class_name + "'");
  }
  auto overlapping = options.find("provide_overlapping_tombstones");
  if (overlapping != options.end()) {
    std::string value = upper(overlapping->second);
    if (value != "NONE" && value != "ROW" && value != "CELL") {
      return config_error("Invalid value " + value +
                          " for 'provide_overlapping_tombstones' compaction sub-option - must be one of the following "
                          "[NONE, ROW, CELL].");
    }
  }
  if (name != kUnified) {
    options.emplace("min_threshold", "4");
    options.emplace("max_threshold", "32");
  }
  return options;
}

Status validate_compaction(const StringPairs& compaction) {
  std::string_view name = short_name(compaction);
  Options options(compaction);
  TRY(check_common(options));
  if (name == kUnified) {
    TRY(check_unified(options));
  } else {
    options.take("min_threshold");
    options.take("max_threshold");
    TRY(name == kLeveled      ? check_leveled(options)
        : name == kTimeWindow ? check_time_window(options)
                              : check_size_tiered(options));
  }
  if (!options.rest().empty()) {
    std::string names;
    for (const auto& [option, value] : options.rest()) names += (names.empty() ? "" : ", ") + option;
    return config_error("Properties specified [" + names + "] are not understood by " + std::string(name));
  }
  return check_thresholds(compaction);
}

}  // namespace cassandra_like
