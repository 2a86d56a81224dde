// Cassandra's value syntax: DurationSpec, DataStorageSpec, DataRateSpec, ParameterizedClass.
#include "node/config_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>
#include <span>

namespace cassandra_like {
namespace {

constexpr Unit kDurations[] = {{"ns", 1},
                               {"us", 1000},
                               {"µs", 1000},
                               kUnitMilli,
                               kUnitSecond,
                               {"m", 60 * kUnitSecond.factor},
                               {"h", 3600 * kUnitSecond.factor},
                               {"d", 86400 * kUnitSecond.factor}};
constexpr Unit kSizes[] = {kUnitByte, kUnitKiB, kUnitMiB, {"GiB", kGiB}};
constexpr Unit kRates[] = {{"B/s", 1}, {"KiB/s", kKiB}, {"MiB/s", kMiB}};

struct Quantity {
  std::string_view what;  // "a duration"
  std::string_view example;
  std::span<const Unit> units;
  uint64_t least;
};

std::string accepted(const Quantity& q) {
  std::vector<std::string_view> symbols;
  for (const Unit& unit : q.units) {
    if (unit.factor >= q.least && unit.symbol != "µs") symbols.push_back(unit.symbol);
  }
  return fmt::format("write a whole number and one of {} (case matters), as in {}", fmt::join(symbols, ", "),
                     q.example);
}

Problem parse_quantity(const std::string& text, const Quantity& q, uint64_t limit, uint64_t& out) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view symbol(rest, static_cast<size_t>(end - rest));
  for (const Unit& unit : q.units) {
    if (error != std::errc{} || symbol != unit.symbol || unit.factor < q.least) continue;
    uint64_t total = 0;
    if (__builtin_mul_overflow(number, unit.factor, &total) || total / q.least >= limit) {
      return fmt::format("'{}' is too large: write less than {} units of {}", text, limit, q.least);
    }
    out = total;
    return {};
  }
  return fmt::format("cannot read '{}' as {}: {}", text, q.what, accepted(q));
}

uint64_t limit_of(Bound bound) {
  return bound == Bound::kInt ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
}

Problem need_scalar(const YAML::Node& node, std::string_view what) {
  if (node.IsScalar()) return {};
  return fmt::format("is not {}: write one value", what);
}

// A list of strings; Cassandra takes a string with commas as well where it wants a set.
Problem read_strings(const YAML::Node& node, std::vector<std::string>& out) {
  if (node.IsScalar()) {
    out.push_back(node.Scalar());
    return {};
  }
  if (!node.IsSequence()) return "is not a list: write one '- value' a line";
  for (const auto& item : node) {
    if (!item.IsScalar()) return "holds an item that is no string: write one '- value' a line";
    out.push_back(item.Scalar());
  }
  return {};
}

// `parameters` is a map, or (as in the shipped cassandra.yaml) a list of one map.
Problem read_parameters(const YAML::Node& node, std::map<std::string, std::string>& out) {
  if (node.IsNull()) return {};
  const YAML::Node map = node.IsSequence() && node.size() == 1 ? node[0] : node;
  if (map.IsNull()) return {};
  if (!map.IsMap()) return "has parameters that are no map: write 'name: value' lines below parameters";
  for (const auto& item : map) {
    if (item.second.IsNull()) continue;
    out[item.first.Scalar()] = item.second.IsScalar() ? item.second.Scalar() : YAML::Dump(item.second);
  }
  return {};
}

Problem read_class_field(const YAML::Node& key, const YAML::Node& value, std::string& class_name,
                         std::map<std::string, std::string>& parameters) {
  if (key.Scalar() == "class_name") return read_value(value, class_name);
  if (key.Scalar() == "parameters") return read_parameters(value, parameters);
  return fmt::format("has the unknown property '{}': remove it", key.Scalar());
}

template <class T>
Problem read_integer(const YAML::Node& node, T& out, std::string_view what) {
  if (Problem problem = need_scalar(node, what)) return problem;
  std::string text = node.Scalar();
  std::erase(text, '_');
  if (text.starts_with('+')) text.erase(0, 1);
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || rest != text.data() + text.size()) {
    return fmt::format("cannot read '{}' as {}: write {}", node.Scalar(), what, what);
  }
  return {};
}

std::string show_map(const std::map<std::string, std::string>& map) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : map) parts.push_back(name + "=" + value);
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace

Problem parse_duration(const std::string& text, Unit least, Bound bound, uint64_t& out) {
  return parse_quantity(text, {"a duration", "10s", kDurations, least.factor}, limit_of(bound), out);
}

Problem parse_size(const std::string& text, Unit least, Bound bound, uint64_t& out) {
  return parse_quantity(text, {"a size", "32MiB", kSizes, least.factor}, limit_of(bound), out);
}

Problem parse_rate(const std::string& text, uint64_t& out) {
  return parse_quantity(text, {"a data rate", "64MiB/s", kRates, 1}, limit_of(Bound::kLong), out);
}

Problem read_value(const YAML::Node& node, bool& out) {
  if (Problem problem = need_scalar(node, "true or false")) return problem;
  if (YAML::convert<bool>::decode(node, out)) return {};
  return fmt::format("cannot read '{}' as true or false: write true or false", node.Scalar());
}

Problem read_value(const YAML::Node& node, int64_t& out) { return read_integer(node, out, "a whole number"); }
Problem read_value(const YAML::Node& node, int& out) { return read_integer(node, out, "a whole number"); }
Problem read_value(const YAML::Node& node, unsigned& out) {
  return read_integer(node, out, "a whole number of 0 or more");
}

// 0 is a port that the system chooses.
Problem read_value(const YAML::Node& node, uint16_t& out) { return read_integer(node, out, "a port from 0 to 65535"); }

Problem read_value(const YAML::Node& node, double& out) {
  if (Problem problem = need_scalar(node, "a number")) return problem;
  if (YAML::convert<double>::decode(node, out)) return {};
  return fmt::format("cannot read '{}' as a number: write a number", node.Scalar());
}

Problem read_value(const YAML::Node& node, std::string& out) {
  if (Problem problem = need_scalar(node, "a string")) return problem;
  out = node.Scalar();
  return {};
}

Problem read_value(const YAML::Node& node, std::vector<std::string>& out) {
  out.clear();
  return read_strings(node, out);
}

Problem read_value(const YAML::Node& node, std::set<std::string>& out) {
  std::vector<std::string> items;
  Problem problem = read_strings(node, items);
  out = std::set<std::string>(items.begin(), items.end());
  return problem;
}

Problem read_value(const YAML::Node& node, std::vector<int64_t>& out) {
  if (Problem problem = need_scalar(node, "a list of tokens")) return problem;
  out.clear();
  const std::string& text = node.Scalar();
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p != end;) {
    if (*p == ',' || *p == ' ') {
      ++p;
      continue;
    }
    auto [rest, error] = std::from_chars(p, end, out.emplace_back());
    if (error != std::errc{} || (rest != end && *rest != ',' && *rest != ' ')) {
      return fmt::format("cannot read '{}' as tokens: write whole numbers with commas between them", text);
    }
    p = rest;
  }
  return {};
}

Problem read_value(const YAML::Node& node, ClassConfig& out) {
  out = {};
  if (node.IsScalar()) {
    out.class_name = node.Scalar();
    return {};
  }
  // The shipped files write seed_provider and some compressions as a list of one.
  const YAML::Node map = node.IsSequence() && node.size() == 1 ? node[0] : node;
  if (!map.IsMap()) return "is not a class: write 'class_name: NAME' below it";
  for (const auto& item : map) {
    if (Problem problem = read_class_field(item.first, item.second, out.class_name, out.parameters)) return problem;
  }
  if (out.class_name.empty()) return "has no class_name: write 'class_name: NAME' below it";
  return {};
}

Problem read_value(const YAML::Node& node, std::map<std::string, MemtableConfig>& out) {
  out.clear();
  if (!node.IsMap()) return "is not a map: write one 'name:' with its class_name below for each configuration";
  for (const auto& item : node) {
    const std::string name = item.first.Scalar();
    if (!item.second.IsMap()) return fmt::format("has '{}' without a class_name or inherits: write one below it", name);
    MemtableConfig config;
    for (const auto& field : item.second) {
      Problem problem = field.first.Scalar() == "inherits"
                            ? read_value(field.second, config.inherits)
                            : read_class_field(field.first, field.second, config.class_name, config.parameters);
      if (problem) return problem;
    }
    out[name] = std::move(config);
  }
  return {};
}

std::string show_value(bool value) { return value ? "true" : "false"; }
std::string show_value(int64_t value) { return std::to_string(value); }
std::string show_value(double value) { return fmt::format("{:.1f}", value); }
std::string show_value(const std::string& value) { return value.empty() ? "null" : value; }
std::string show_value(const std::vector<std::string>& value) { return fmt::format("[{}]", fmt::join(value, ", ")); }
std::string show_value(const std::set<std::string>& value) { return fmt::format("[{}]", fmt::join(value, ", ")); }
std::string show_value(const std::vector<int64_t>& value) {
  return value.empty() ? "null" : fmt::format("{}", fmt::join(value, ","));
}

std::string show_value(const ClassConfig& value) {
  if (value.class_name.empty()) return "null";
  return value.parameters.empty() ? value.class_name : value.class_name + show_map(value.parameters);
}

std::string show_value(const std::map<std::string, MemtableConfig>& value) {
  std::map<std::string, std::string> shown;
  for (const auto& [name, config] : value) {
    shown[name] = (config.inherits.empty() ? "" : config.inherits + "+") + config.class_name +
                  (config.parameters.empty() ? "" : show_map(config.parameters));
  }
  return shown.empty() ? "null" : show_map(shown);
}

}  // namespace cassandra_like
