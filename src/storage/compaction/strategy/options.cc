#include "storage/compaction/strategy/options.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/ascii.h"
#include "base/java_numbers.h"
#include "model/values.h"
#include "storage/compaction/strategy/byte_sizes.h"

namespace cassandra_like {
namespace {

constexpr std::string_view kCompactionPackage = "org.apache.cassandra.db.compaction.";
constexpr std::string_view kSizeTieredClass = "SizeTieredCompactionStrategy";
constexpr std::string_view kLeveledClass = "LeveledCompactionStrategy";
constexpr std::string_view kTimeWindowClass = "TimeWindowCompactionStrategy";
constexpr std::string_view kUnifiedClass = "UnifiedCompactionStrategy";
constexpr std::string_view kUnsafeExpiration = "unsafe_aggressive_sstable_expiration";
constexpr std::string_view kExpiredCheckFrequency = "expired_sstable_check_frequency_seconds";

Error bad_option(std::string message) { return Error(ErrorCode::kConfigError, std::move(message)); }

Error not_parsable(std::string_view value, std::string_view option, std::string_view type = "int") {
  return bad_option(std::string(value) + " is not a parsable " + std::string(type) + " (base10) for " +
                    std::string(option));
}

std::optional<bool> parse_boolean(std::string_view text) {
  if (equals_ignoring_case(text, "true")) return true;
  if (equals_ignoring_case(text, "false")) return false;
  return std::nullopt;
}

// The options that are left to read: one that is read is taken out.
class OptionMap {
 public:
  explicit OptionMap(const StringPairs& options) : options_(options) { options_.erase("class"); }

  std::optional<std::string> take(std::string_view name) {
    auto it = options_.find(std::string(name));
    if (it == options_.end()) return std::nullopt;
    std::string value = std::move(it->second);
    options_.erase(it);
    return value;
  }
  // An unreadable boolean is an error that ends with its text, in quotes or without.
  Status take_boolean(std::string_view name, std::string_view complaint, bool& into, bool quote = false) {
    const auto text = take(name);
    if (!text) return {};
    const auto value = parse_boolean(*text);
    if (!value) return bad_option(std::string(complaint) + (quote ? quoted(*text) : *text));
    into = *value;
    return {};
  }
  const StringPairs& rest() const { return options_; }

 private:
  StringPairs options_;
};

// --- Options of all strategies ---

Status read_tombstone_options(OptionMap& map, CompactionOptions& options) {
  if (auto threshold = map.take("tombstone_threshold")) {
    const auto value = parse_java_double(*threshold);
    if (!value) return not_parsable(*threshold, "tombstone_threshold");
    options.tombstone_threshold = static_cast<float>(*value);
    char text[64];
    std::snprintf(text, sizeof text, "%f", static_cast<double>(options.tombstone_threshold));
    if (options.tombstone_threshold < 0) {
      return bad_option(std::string("tombstone_threshold must be greater than 0, but was ") + text);
    }
  }
  if (auto interval = map.take("tombstone_compaction_interval")) {
    const auto value = parse_java_long(*interval);
    if (!value) return not_parsable(*interval, "tombstone_compaction_interval");
    if (*value < 0) {
      return bad_option("tombstone_compaction_interval must be greater than 0, but was " + std::to_string(*value));
    }
    options.tombstone_compaction_interval = *value;
  }
  return map.take_boolean("unchecked_tombstone_compaction",
                          "'unchecked_tombstone_compaction' should be either 'true' or 'false', not ",
                          options.unchecked_tombstone_compaction, true);
}

// TimeWindowCompactionStrategy's constructor: a value that is not "false" switches tombstone compactions on.
bool wants_tombstone_compactions(const StringPairs& compaction) {
  for (const char* name : {"tombstone_threshold", "tombstone_compaction_interval", "unchecked_tombstone_compaction"}) {
    auto it = compaction.find(name);
    if (it != compaction.end() && it->second != "false") return true;
  }
  return false;
}

Status read_common_options(OptionMap& map, CompactionOptions& options) {
  TRY(read_tombstone_options(map, options));
  TRY(map.take_boolean("log_all", "'log_all' should either be 'true' or 'false', not ", options.log_all));
  TRY(map.take_boolean("enabled", "enabled should either be 'true' or 'false', not ", options.enabled));
  // Any text that is not "true" is false.
  options.only_purge_repaired_tombstones =
      parse_boolean(map.take("only_purge_repaired_tombstones").value_or("")).value_or(false);
  using Overlapping = CompactionOptions::OverlappingTombstones;
  const std::string overlapping = upper(map.take("provide_overlapping_tombstones").value_or("NONE"));
  options.provide_overlapping_tombstones = overlapping == "ROW"    ? Overlapping::kRow
                                           : overlapping == "CELL" ? Overlapping::kCell
                                                                   : Overlapping::kNone;
  return {};
}

// --- Size-tiered ---

Status take_double(OptionMap& map, std::string_view name, double& into) {
  const auto text = map.take(name);
  if (!text) return {};
  const auto value = parse_java_double(*text);
  if (!value) return bad_option(*text + " is not a parsable float for " + std::string(name));
  into = *value;
  return {};
}

Status read_size_tiered(OptionMap& map, SizeTieredOptions& options) {
  if (auto size = map.take("min_sstable_size")) {
    const auto value = parse_java_long(*size);
    if (!value) return not_parsable(*size, "min_sstable_size");
    if (*value < 0) return bad_option("min_sstable_size must be non negative: " + std::to_string(*value));
    options.min_sstable_size = static_cast<uint64_t>(*value);
  }
  TRY(take_double(map, "bucket_low", options.bucket_low));
  TRY(take_double(map, "bucket_high", options.bucket_high));
  if (!(options.bucket_high <= options.bucket_low)) return {};
  return bad_option("bucket_high value (" + double_to_text(options.bucket_high) +
                    ") is less than or equal to the bucket_low value (" + double_to_text(options.bucket_low) + ")");
}

// --- Leveled ---

Status take_positive_int(OptionMap& map, std::string_view name, int32_t& into) {
  const auto text = map.take(name);
  if (!text) return {};
  const auto value = parse_java_int(*text);
  if (!value) return not_parsable(*text, name);
  if (*value < 1) return bad_option(std::string(name) + " must be larger than 0, but was " + std::to_string(*value));
  into = *value;
  return {};
}

// base^8 * megabytes in decimal: more digits than any integer type has.
std::string bytes_of_level_8(uint32_t base, uint64_t megabytes) {
  constexpr uint64_t kLimb = 1000000000;
  std::vector<uint64_t> limbs{1};  // least significant first
  auto multiply = [&limbs](uint64_t by) {
    uint64_t carry = 0;
    for (uint64_t& limb : limbs) {
      const uint64_t product = limb * by + carry;
      limb = product % kLimb;
      carry = product / kLimb;
    }
    for (; carry > 0; carry /= kLimb) limbs.push_back(carry % kLimb);
  };
  for (int i = 0; i < 8; ++i) multiply(base);
  multiply(megabytes);
  multiply(1024 * 1024);
  std::string text = std::to_string(limbs.back());
  for (size_t i = limbs.size() - 1; i-- > 0;) {
    const std::string digits = std::to_string(limbs[i]);
    text += std::string(9 - digits.size(), '0') + digits;
  }
  return text;
}

Status read_leveled(OptionMap& map, CompactionOptions& options) {
  constexpr std::string_view kMaxLong = "9223372036854775807";
  LeveledOptions& leveled = options.leveled;
  // The check takes one megabyte where none is given; the strategy takes 160.
  const bool has_size = map.rest().contains("sstable_size_in_mb");
  TRY(take_positive_int(map, "sstable_size_in_mb", leveled.sstable_size_in_mb));
  TRY(take_positive_int(map, "fanout_size", leveled.fanout_size));
  const std::string bytes =
      bytes_of_level_8(static_cast<uint32_t>(leveled.fanout_size),
                       has_size ? static_cast<uint64_t>(leveled.sstable_size_in_mb) : uint64_t{1});
  if (bytes.size() > kMaxLong.size() || (bytes.size() == kMaxLong.size() && bytes > kMaxLong)) {
    return bad_option("At most " + std::string(kMaxLong) +
                      " bytes may be in a compaction level; your maxSSTableSize must be absurdly high to compute " +
                      bytes);
  }
  leveled.single_sstable_uplevel = parse_boolean(map.take("single_sstable_uplevel").value_or("")).value_or(false);
  return read_size_tiered(map, options.size_tiered);
}

// --- Time windows ---

// The position of the unit among the valid ones.
Status take_unit(OptionMap& map, std::string_view name, std::initializer_list<std::string_view> units, size_t& into) {
  const auto unit = map.take(name);
  if (!unit) return {};
  const auto found = std::find(units.begin(), units.end(), *unit);
  if (found == units.end()) return bad_option(*unit + " is not valid for " + std::string(name));
  into = static_cast<size_t>(found - units.begin());
  return {};
}

Status read_unsafe_expiration(OptionMap& map) {
  const std::string name(kUnsafeExpiration);
  const auto text = map.take(name);
  if (!text) return {};
  const auto unsafe = parse_boolean(*text);
  if (!unsafe) return bad_option(name + " is not 'true' or 'false' (" + *text + ")");
  if (!*unsafe) return {};
  return bad_option(name +
                    " is requested but not allowed, restart cassandra with "
                    "-Dcassandra.allow_unsafe_aggressive_sstable_expiration=true to allow it");
}

// Seconds as milliseconds, no more than fit.
int64_t to_millis(int64_t seconds) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return seconds > kMost / 1000 ? kMost : seconds * 1000;
}

Status read_time_window(OptionMap& map, CompactionOptions& options) {
  TimeWindowOptions& windows = options.time_window;
  size_t resolution = static_cast<size_t>(windows.timestamp_resolution), unit = 2;
  TRY(take_unit(map, "timestamp_resolution", {"SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS"}, resolution));
  windows.timestamp_resolution = static_cast<TimeWindowOptions::Resolution>(resolution);
  TRY(take_unit(map, "compaction_window_unit", {"MINUTES", "HOURS", "DAYS"}, unit));
  constexpr int64_t kUnitSeconds[] = {60, 3600, 86400};
  windows.window_seconds = kUnitSeconds[unit];
  if (auto size = map.take("compaction_window_size")) {
    const auto value = parse_java_int(*size);
    if (!value) return not_parsable(*size, "compaction_window_size");
    if (*value < 1) {
      return bad_option(std::to_string(*value) + " must be greater than 1 for compaction_window_size");
    }
    windows.window_seconds *= *value;
  }
  if (auto seconds = map.take(kExpiredCheckFrequency)) {
    const auto value = parse_java_long(*seconds);
    if (!value) return not_parsable(*seconds, kExpiredCheckFrequency);
    if (*value < 0) {
      return bad_option(std::string(kExpiredCheckFrequency) + " must not be negative, but was " +
                        std::to_string(*value));
    }
    windows.expired_check_millis = to_millis(*value);
  }
  TRY(read_unsafe_expiration(map));
  return read_size_tiered(map, options.size_tiered);
}

// --- Unified ---

constexpr int64_t kMinTargetSize = 1 << 20;
const double kInverseSqrt2 = std::sqrt(0.5);

Error unacceptable_size(std::string_view name, std::string_view text) {
  return bad_option(std::string(name) + " " + std::string(text) + " is not acceptable, size must be at least " +
                    pretty_memory(kMinTargetSize));
}

// The strategy's own size is cut to whole bytes; the check of min_sstable_size takes it rounded up.
Status read_target_size(OptionMap& map, int64_t& into, int64_t& rounded_up) {
  const auto text = map.take("target_sstable_size");
  if (!text) return {};
  const Result<double> size = parse_byte_size(*text);
  if (!size.ok()) {
    return bad_option("target_sstable_size " + *text + " is not a valid size in bytes: " + size.error().message());
  }
  if (*size >= 0x1p63) return bad_option("target_sstable_size " + *text + " is out of range of Long.");
  if (*size < kMinTargetSize) return unacceptable_size("target_sstable_size", *text);
  into = to_java_long(*size);
  rounded_up = to_java_long(std::ceil(*size));
  return {};
}

Status read_flush_size(OptionMap& map, int64_t& into) {
  const auto text = map.take("flush_size_override");
  if (!text) return {};
  const Result<double> size = parse_byte_size(*text);
  if (!size.ok()) {
    return bad_option("flush_size_override " + *text + " is not a valid size in bytes: " + size.error().message());
  }
  into = to_java_long(*size);
  if (into < kMinTargetSize) return unacceptable_size("flush_size_override", *text);
  return {};
}

// An integer that Integer.parseInt does not take becomes an error of the whole check.
Error number_too_large(std::string_view digits) {
  return bad_option(std::string(kCompactionPackage) + std::string(kUnifiedClass) +
                    ".validateOptions() threw an error: java.lang.NumberFormatException For input string: \"" +
                    std::string(digits) + "\"");
}

// T4, L10, N or a number.
Result<int32_t> parse_scaling_parameter(std::string_view value) {
  auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  if (value == "N") return 0;
  if (!value.empty() && (value[0] == 'T' || value[0] == 'L') && is_number(value.substr(1))) {
    const auto fan = parse_java_int(value.substr(1));
    if (!fan) return number_too_large(value.substr(1));
    if (*fan < 2) return bad_option("Fan factor cannot be lower than 2 in " + std::string(value));
    return value[0] == 'T' ? *fan - 2 : 2 - *fan;
  }
  const bool has_sign = !value.empty() && (value[0] == '+' || value[0] == '-');
  if (!is_number(has_sign ? value.substr(1) : value)) {
    return bad_option("Scaling parameter " + std::string(value) + " must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+");
  }
  const auto number = parse_java_int(value);
  if (!number) return number_too_large(value);
  return *number;
}

// Java's String.split drops empty strings at the end.
Status read_scaling_parameters(OptionMap& map, std::vector<int32_t>& into) {
  const auto text = map.take("scaling_parameters");
  if (!text) return {};
  std::vector<std::string_view> values;
  for (size_t start = 0; start <= text->size();) {
    const size_t end = std::min(text->find(',', start), text->size());
    values.push_back(std::string_view(*text).substr(start, end - start));
    start = end + 1;
  }
  while (values.size() > 1 && values.back().empty()) values.pop_back();
  if (values.size() == 1 && values[0].empty() && !text->empty()) values.clear();
  into.clear();
  for (std::string_view value : values) {
    ASSIGN_OR_RETURN(int32_t parameter, parse_scaling_parameter(java_trim(value)));
    into.push_back(parameter);
  }
  if (!into.empty()) return {};
  // Commas alone: Cassandra accepts the options, and fails when it makes the strategy.
  return bad_option("Scaling parameter " + *text + " must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+");
}

Status take_positive_number(OptionMap& map, std::string_view name, bool is_long, int64_t& into) {
  const auto text = map.take(name);
  if (!text) return {};
  const std::optional<int64_t> value = is_long ? parse_java_long(*text) : std::optional<int64_t>(parse_java_int(*text));
  if (!value) return not_parsable(*text, name, is_long ? "long" : "int");
  if (*value <= 0) {
    return bad_option("Invalid configuration, " + std::string(name) + " should be positive: " + std::to_string(*value));
  }
  into = *value;
  return {};
}

Status read_overlap_method(OptionMap& map, UnifiedOptions& options) {
  const auto method = map.take("overlap_inclusion_method");
  if (!method) return {};
  const std::string name = upper(*method);
  using Overlap = UnifiedOptions::Overlap;
  if (name == "NONE")
    options.overlap = Overlap::kNone;
  else if (name == "SINGLE")
    options.overlap = Overlap::kSingle;
  else if (name == "TRANSITIVE")
    options.overlap = Overlap::kTransitive;
  else {
    return bad_option("Invalid overlap inclusion method " + *method +
                      ". The valid options are [NONE, SINGLE, TRANSITIVE].");
  }
  return {};
}

Status read_min_size(OptionMap& map, int64_t target, int64_t& into) {
  const auto text = map.take("min_sstable_size");
  if (!text) return {};
  const Result<double> size = parse_byte_size(*text);
  if (!size.ok()) return bad_option(*text + " is not a valid size in bytes for min_sstable_size");
  into = to_java_long(*size);
  if (into < 0) {
    return bad_option("Invalid configuration, min_sstable_size should be greater than or equal to 0 (zero)");
  }
  if (into < to_java_long(std::ceil(static_cast<double>(target) * kInverseSqrt2))) return {};
  return bad_option("Invalid configuration, min_sstable_size (" + pretty_memory(into) +
                    ") should be less than 70% of the targetSSTableSize (" + pretty_memory(target) + ")");
}

Status read_growth(OptionMap& map, double& into) {
  const auto text = map.take("sstable_growth");
  if (!text) return {};
  std::string_view number = java_trim(*text);
  const bool percent = number.ends_with('%');
  if (percent) number = java_trim(number.substr(0, number.size() - 1));
  const auto value = parse_java_double(number);
  if (!value) {
    return bad_option("sstable_growth is not a valid number between 0 and 1: " +
                      (number.empty() ? "empty String" : "For input string: \"" + std::string(number) + "\""));
  }
  into = percent ? *value / 100 : *value;
  if (into < 0 || into > 1) return bad_option("sstable_growth " + *text + " must be between 0 and 1");
  return {};
}

Status read_unified(OptionMap& map, UnifiedOptions& options) {
  TRY(read_scaling_parameters(map, options.scaling_parameters));
  int64_t shards = options.base_shard_count;
  TRY(take_positive_number(map, "base_shard_count", false, shards));
  options.base_shard_count = static_cast<int32_t>(shards);
  int64_t rounded_target = options.target_sstable_size;
  TRY(read_target_size(map, options.target_sstable_size, rounded_target));
  TRY(read_flush_size(map, options.flush_size_override));
  if (auto sstables = map.take("max_sstables_to_compact")) {
    const auto value = parse_java_int(*sstables);
    if (!value) return not_parsable(*sstables, "max_sstables_to_compact");
    if (*value > 0) options.max_sstables_to_compact = *value;
  }
  int64_t seconds = options.expired_check_millis / 1000;
  TRY(take_positive_number(map, kExpiredCheckFrequency, true, seconds));
  options.expired_check_millis = to_millis(seconds);
  // Without -Dcassandra.allow_unsafe_aggressive_sstable_expiration the option does nothing.
  bool unsafe = false;
  TRY(map.take_boolean(kUnsafeExpiration, std::string(kUnsafeExpiration) + " should either be 'true' or 'false', not ",
                       unsafe));
  TRY(read_overlap_method(map, options));
  TRY(read_min_size(map, rounded_target, options.min_sstable_size));
  return read_growth(map, options.sstable_growth);
}

// --- What is left ---

// The names in the order of a java.util.HashMap that was made for so many entries.
Error not_understood(std::string_view strategy, const StringPairs& rest, size_t entries) {
  const uint32_t buckets = std::bit_ceil(static_cast<uint32_t>(static_cast<float>(entries) / 0.75F + 1));
  std::vector<std::pair<uint32_t, std::string_view>> names;
  for (const auto& [name, value] : rest) {
    uint32_t hash = 0;
    for (char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
    names.emplace_back((hash ^ hash >> 16) % buckets, name);
  }
  std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [bucket, name] : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return bad_option("Properties specified [" + text + "] are not understood by " + std::string(strategy));
}

// --- Thresholds ---

Status read_threshold(const StringPairs& compaction, const char* name, int32_t& into) {
  auto it = compaction.find(name);
  if (it == compaction.end()) return {};
  const bool digits = it->second.find_first_not_of("0123456789") == std::string::npos;
  const auto value = digits ? parse_java_int(it->second) : std::nullopt;
  if (!value) {
    return bad_option("Invalid value " + it->second + " for '" + name + "' compaction sub-option - must be an integer");
  }
  into = *value;
  return {};
}

Status read_thresholds(const StringPairs& compaction, CompactionOptions& options) {
  TRY(read_threshold(compaction, "min_threshold", options.min_threshold));
  TRY(read_threshold(compaction, "max_threshold", options.max_threshold));
  const int32_t min = options.min_threshold, max = options.max_threshold;
  if (min <= 0 || max <= 0) {
    return bad_option(
        "Disabling compaction by setting compaction thresholds to 0 has been removed, set the compaction option "
        "'enabled' to false instead.");
  }
  if (min <= 1) {
    return bad_option("Min compaction threshold cannot be less than 2 (got " + std::to_string(min) + ")");
  }
  if (min <= max) return {};
  return bad_option("Min compaction threshold (got " + std::to_string(min) +
                    ") cannot be greater than max compaction threshold (got " + std::to_string(max) + ")");
}

Status read_strategy_options(std::string_view name, OptionMap& map, CompactionOptions& options) {
  using Strategy = CompactionOptions::Strategy;
  if (name == kUnifiedClass) {
    options.strategy = Strategy::kUnified;
    return read_unified(map, options.unified);
  }
  map.take("min_threshold");
  map.take("max_threshold");
  if (name == kLeveledClass) {
    options.strategy = Strategy::kLeveled;
    return read_leveled(map, options);
  }
  if (name == kTimeWindowClass) {
    options.strategy = Strategy::kTimeWindow;
    return read_time_window(map, options);
  }
  options.strategy = Strategy::kSizeTiered;
  return read_size_tiered(map, options.size_tiered);
}

}  // namespace

Result<StringPairs> normal_compaction(const StringPairs& map) {
  StringPairs options = map;
  auto written = options.find("class");
  if (written == options.end()) return bad_option("Missing sub-option 'class' for the 'compaction' option");
  std::string& class_name = written->second;
  if (class_name.find('.') == std::string::npos) class_name.insert(0, kCompactionPackage);
  std::string_view name = class_name;
  if (name.starts_with(kCompactionPackage)) name.remove_prefix(kCompactionPackage.size());
  if (name != kSizeTieredClass && name != kLeveledClass && name != kTimeWindowClass && name != kUnifiedClass) {
    return bad_option("Unable to find compaction strategy class '" + class_name + "'");
  }
  auto overlapping = options.find("provide_overlapping_tombstones");
  if (overlapping != options.end()) {
    const std::string value = upper(overlapping->second);
    if (value != "NONE" && value != "ROW" && value != "CELL") {
      return bad_option("Invalid value " + value +
                        " for 'provide_overlapping_tombstones' compaction sub-option - must be one of the following "
                        "[NONE, ROW, CELL].");
    }
  }
  if (name != kUnifiedClass) {
    options.emplace("min_threshold", "4");
    options.emplace("max_threshold", "32");
  }
  return options;
}

Result<CompactionOptions> parse_compaction_options(const StringPairs& compaction) {
  const std::string_view name = std::string_view(compaction.at("class")).substr(kCompactionPackage.size());
  CompactionOptions options;
  OptionMap map(compaction);
  TRY(read_common_options(map, options));
  const size_t after_common = map.rest().size();
  TRY(read_strategy_options(name, map, options));
  options.tombstone_compactions =
      options.strategy != CompactionOptions::Strategy::kTimeWindow || wants_tombstone_compactions(compaction);
  if (!map.rest().empty()) {
    // Cassandra's map of what is left has room for the options that it was copied from.
    const bool copies_late = options.strategy == CompactionOptions::Strategy::kUnified;
    return not_understood(name, map.rest(), copies_late ? after_common : compaction.size() - 1);
  }
  TRY(read_thresholds(compaction, options));
  return options;
}

}  // namespace cassandra_like
