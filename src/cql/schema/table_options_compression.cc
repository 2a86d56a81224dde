// The `compression` option: {'class': …, 'chunk_length_in_kb': …} and the compressor's own options, or
// {'enabled': 'false'}.
#include <cmath>

#include "base/ascii.h"
#include "base/java_numbers.h"
#include "cql/schema/table_options.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr std::string_view kCompressionPackage = "org.apache.cassandra.io.compress.";
constexpr int kDefaultChunkLength = 16 * 1024;

std::optional<std::string> take(StringPairs& options, const char* name) {
  auto it = options.find(name);
  if (it == options.end()) return std::nullopt;
  std::string value = std::move(it->second);
  options.erase(it);
  return value;
}

Result<int> parse_chunk_length(const std::optional<std::string>& text) {
  if (!text) return kDefaultChunkLength;
  auto kilobytes = parse_java_int(*text);
  if (!kilobytes) return config_error("Invalid value for chunk_length_in_kb");
  if (*kilobytes > INT32_MAX / 1024) {
    return config_error("Value of chunk_length_in_kb is too large (" + *text + ")");
  }
  return *kilobytes * 1024;
}

Status check_lz4(const StringPairs& options) {
  auto type = options.find("lz4_compressor_type");
  if (type != options.end() && type->second != "fast" && type->second != "high") {
    return config_error("Invalid compressor type '" + type->second +
                        "' specified for LZ4 parameter 'lz4_compressor_type'. Valid options are [high, fast].");
  }
  auto level = options.find("lz4_high_compressor_level");
  if (level == options.end()) return {};
  auto value = parse_java_int(level->second);
  if (value && *value >= 1 && *value <= 17) return {};
  return config_error("Invalid value [" + level->second +
                      "] for parameter 'lz4_high_compressor_level'. Value must be between 1 and 17.");
}

// Levels as zstd's library has them.
Status check_zstd(const StringPairs& options) {
  constexpr int kMinLevel = -(1 << 17), kMaxLevel = 22;
  auto level = options.find("compression_level");
  if (level == options.end()) return {};
  auto value = parse_java_int(level->second);
  constexpr const char* kThrew = "ZstdCompressor.create() threw an error: java.lang.";
  if (!value) {
    return config_error(std::string(kThrew) + "NumberFormatException For input string: \"" + level->second + "\"");
  }
  if (*value >= kMinLevel && *value <= kMaxLevel) return {};
  return config_error(std::string(kThrew) + "IllegalArgumentException compression_level=" + level->second +
                      " is invalid");
}

// The compressor's own options, after its class is known.
Status check_compressor(const std::string& class_name, const StringPairs& options) {
  std::string_view name = std::string_view(class_name).substr(kCompressionPackage.size());
  bool lz4 = name == "LZ4Compressor", zstd = name == "ZstdCompressor";
  if (lz4) TRY(check_lz4(options));
  if (zstd) TRY(check_zstd(options));
  for (const auto& [option, value] : options) {
    bool known = (lz4 && (option == "lz4_compressor_type" || option == "lz4_high_compressor_level")) ||
                 (zstd && option == "compression_level");
    if (!known) return config_error("Unknown compression options " + option);
  }
  return {};
}

Result<std::string> compressor_class(const std::string& written) {
  std::string full = written.find('.') == std::string::npos ? std::string(kCompressionPackage) + written : written;
  for (const char* known :
       {"LZ4Compressor", "SnappyCompressor", "DeflateCompressor", "ZstdCompressor", "NoopCompressor"}) {
    if (full == std::string(kCompressionPackage) + known) return full;
  }
  return config_error("Could not create Compression for type " + full);
}

}  // namespace

Result<StringPairs> parse_compression(const StringPairs& map) {
  StringPairs options = map;
  auto enabled_text = take(options, "enabled");
  bool enabled = !enabled_text || equals_ignoring_case(*enabled_text, "true");
  if (!map.empty() && enabled && !options.contains("class")) {
    return config_error("Missing sub-option 'class' for the 'compression' option.");
  }
  if (!enabled && !options.empty()) {
    return config_error("If the 'enabled' option is set to false no other options must be specified");
  }
  if (options.empty()) return StringPairs{{"enabled", "false"}};
  std::string written = *take(options, "class");
  if (written.empty()) {
    return config_error("The 'class' option must not be empty. To disable compression use 'enabled' : false");
  }
  ASSIGN_OR_RETURN(int chunk_length, parse_chunk_length(take(options, "chunk_length_in_kb")));
  auto ratio_text = take(options, "min_compress_ratio");
  auto ratio = parse_java_double(ratio_text.value_or("0"));
  if (!ratio) {
    return Error(ErrorCode::kServerError, "java.lang.NumberFormatException: For input string: \"" + *ratio_text + "\"");
  }
  ASSIGN_OR_RETURN(std::string class_name, compressor_class(written));
  TRY(check_compressor(class_name, options));
  options["class"] = class_name;
  options["chunk_length_in_kb"] = std::to_string(chunk_length / 1024);
  if (*ratio != 0) options["min_compress_ratio"] = double_to_text(*ratio);
  return options;
}

Status validate_compression(const StringPairs& compression) {
  auto chunk = compression.find("chunk_length_in_kb");
  if (chunk == compression.end()) return {};
  int length = parse_java_int(chunk->second).value_or(0) * 1024;
  if (length <= 0) return config_error("Invalid negative or null chunk_length_in_kb");
  if ((length & (length - 1)) != 0) return config_error("chunk_length_in_kb must be a power of 2");
  auto ratio = compression.find("min_compress_ratio");
  if (ratio == compression.end()) return {};
  double max_compressed = std::ceil(length / parse_java_double(ratio->second).value_or(1));
  if (max_compressed < 0) return config_error("Invalid negative min_compress_ratio");
  if (max_compressed > length && max_compressed < INT32_MAX) {
    return config_error("min_compress_ratio can either be 0 or greater than or equal to 1");
  }
  return {};
}

}  // namespace cassandra_like
