// Reads one YAML value as one of the types of cassandra.yaml. Internal to the configuration.
//
// A reader answers nothing when it succeeded, or else the rest of an error line: `what: what to do`.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "node/config.h"

namespace cassandra_like {

using Problem = std::optional<std::string>;

// A unit, and how many of the smallest unit it is: nanoseconds, bytes.
struct Unit {
  std::string_view symbol;
  uint64_t factor;
};
inline constexpr Unit kUnitSecond{"s", 1000000000};
inline constexpr Unit kUnitMicro{"us", 1000};
inline constexpr Unit kUnitMilli{"ms", 1000000};
inline constexpr Unit kUnitByte{"B", 1};
inline constexpr Unit kUnitKiB{"KiB", kKiB};
inline constexpr Unit kUnitMiB{"MiB", kMiB};

// Cassandra's upper bound, counted in the smallest unit that the key accepts.
enum class Bound { kInt, kLong };

// `least` is the smallest unit that the key accepts. The results are nanoseconds, bytes, bytes a second.
Problem parse_duration(const std::string& text, Unit least, Bound bound, uint64_t& out);
Problem parse_size(const std::string& text, Unit least, Bound bound, uint64_t& out);
Problem parse_rate(const std::string& text, uint64_t& out);

Problem read_value(const YAML::Node& node, bool& out);
Problem read_value(const YAML::Node& node, int64_t& out);
Problem read_value(const YAML::Node& node, int& out);
Problem read_value(const YAML::Node& node, unsigned& out);
Problem read_value(const YAML::Node& node, uint16_t& out);  // a port
Problem read_value(const YAML::Node& node, double& out);
Problem read_value(const YAML::Node& node, std::string& out);
Problem read_value(const YAML::Node& node, std::vector<std::string>& out);
Problem read_value(const YAML::Node& node, std::set<std::string>& out);
Problem read_value(const YAML::Node& node, std::vector<int64_t>& out);  // a comma-separated list
Problem read_value(const YAML::Node& node, ClassConfig& out);
Problem read_value(const YAML::Node& node, std::map<std::string, MemtableConfig>& out);

template <class T>
Problem read_value(const YAML::Node& node, std::optional<T>& out) {
  T value{};
  if (Problem problem = read_value(node, value)) return problem;
  out = std::move(value);
  return {};
}

std::string show_value(bool value);
std::string show_value(int64_t value);
std::string show_value(double value);
std::string show_value(const std::string& value);
std::string show_value(const std::vector<std::string>& value);
std::string show_value(const std::set<std::string>& value);
std::string show_value(const std::vector<int64_t>& value);
std::string show_value(const ClassConfig& value);
std::string show_value(const std::map<std::string, MemtableConfig>& value);
inline std::string show_value(int value) { return show_value(int64_t{value}); }
inline std::string show_value(unsigned value) { return show_value(int64_t{value}); }
inline std::string show_value(uint16_t value) { return show_value(int64_t{value}); }

template <class T>
std::string show_value(const std::optional<T>& value) {
  return value ? show_value(*value) : "null";
}

// One key of the file: how to read it into a Config, and how to show what a Config holds.
struct ConfigBinding {
  std::function<Problem(const YAML::Node&, Config&)> read;
  std::function<std::string(const Config&)> show;
  bool nullable = false;  // an empty value means "not set"
};
// Every key in use, by its name; a nested one with a dot ("sstable.selected_format").
const std::map<std::string, ConfigBinding, std::less<>>& config_bindings();

}  // namespace cassandra_like
