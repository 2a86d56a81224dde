#include "coordinator/quorum/speculative_retry.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace cassandra_like {
namespace {

// The whole text, without a sign.
template <class Number>
std::optional<Number> parse_unsigned_number(std::string_view text) {
  Number value{};
  if (text.empty() || text[0] == '-') return std::nullopt;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_percentile_policy(std::string_view text) {
  if (!text.ends_with('p')) return std::nullopt;
  auto value = parse_unsigned_number<double>(text.substr(0, text.size() - 1));
  if (!value || !(*value > 0 && *value < 100)) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_fixed_policy(std::string_view text) {
  if (!text.ends_with("ms")) return std::nullopt;
  auto millis = parse_unsigned_number<int32_t>(text.substr(0, text.size() - 2));
  if (!millis) return std::nullopt;
  return int64_t{*millis} * 1000;
}

}  // namespace

Result<SpeculativeRetry> SpeculativeRetry::parse(std::string_view text) {
  SpeculativeRetry out;
  if (text == "NEVER") return out;
  if (text == "ALWAYS") {
    out.kind_ = Kind::kAlways;
    return out;
  }
  if (auto fixed = parse_fixed_policy(text)) {
    out.kind_ = Kind::kFixed;
    out.fixed_micros_ = *fixed;
    return out;
  }
  if (auto percentile = parse_percentile_policy(text)) {
    out.kind_ = Kind::kPercentile;
    out.percentile_ = *percentile;
    return out;
  }
  const size_t comma = text.find(',');
  if ((text.starts_with("MIN(") || text.starts_with("MAX(")) && text.ends_with(')') && comma != text.npos) {
    auto percentile = parse_percentile_policy(text.substr(4, comma - 4));
    auto fixed = parse_fixed_policy(text.substr(comma + 1, text.size() - comma - 2));
    if (percentile && fixed) {
      out.kind_ = text.starts_with("MIN(") ? Kind::kMin : Kind::kMax;
      out.percentile_ = *percentile;
      out.fixed_micros_ = *fixed;
      return out;
    }
  }
  return invalid("The schema holds '" + std::string(text) +
                 "' as a retry policy, which is none of ALWAYS, NEVER, 99p, 5ms, MIN(99p,5ms) and MAX(99p,5ms)");
}

int64_t SpeculativeRetry::percentile_micros(const Histogram& latencies_micros) const {
  return static_cast<int64_t>(latencies_micros.quantile(percentile_ / 100));
}

int64_t SpeculativeRetry::threshold_micros(const Histogram& latencies_micros, int64_t current) const {
  const bool has_latencies = latencies_micros.count() > 0;
  switch (kind_) {
    case Kind::kNever:
      return kNeverMicros;
    case Kind::kAlways:
      return 0;
    case Kind::kFixed:
      return fixed_micros_;
    case Kind::kPercentile:
      return has_latencies ? percentile_micros(latencies_micros) : current;
    case Kind::kMin:
      return has_latencies ? std::min(percentile_micros(latencies_micros), fixed_micros_) : current;
    case Kind::kMax:
      return has_latencies ? std::max(percentile_micros(latencies_micros), fixed_micros_) : current;
  }
  return current;
}

}  // namespace cassandra_like
