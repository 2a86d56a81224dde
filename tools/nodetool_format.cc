#include "nodetool_format.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <regex>

namespace cassandra_like::nodetool {

namespace {

// DecimalFormat("#.##").
std::string two_decimals(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string yaml_scalar(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_number_float()) {
    const double number = value.get<double>();
    return std::isnan(number) ? ".NaN" : java_double(number);
  }
  if (!value.is_string()) return value.dump();
  const std::string text = value.get<std::string>();
  const bool numeric = text.find_first_not_of("0123456789.-") == std::string::npos;
  static const std::regex kTimestamp(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*)?)");
  const bool quoted = numeric || text.starts_with('{') || std::regex_match(text, kTimestamp);
  return quoted ? "'" + text + "'" : text;
}

// NaN is no number of JSON: Cassandra writes null two levels deep, and a text below.
constexpr int kIndentOfNull = 4;

void write_json(const Json& value, int indent, std::string& out) {
  const std::string inside(static_cast<size_t>(indent) + 2, ' ');
  if (value.is_object()) {
    if (value.empty()) {
      out += "{ }";
      return;
    }
    out += "{\n";
    bool first = true;
    for (const auto& [key, child] : value.items()) {
      out += (first ? "" : ",\n") + inside + Json(key).dump() + " : ";
      write_json(child, indent + 2, out);
      first = false;
    }
    out += "\n" + std::string(static_cast<size_t>(indent), ' ') + "}";
  } else if (value.is_array()) {
    out += "[ ";
    for (size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ", ";
      write_json(value[i], indent, out);
    }
    out += value.empty() ? "]" : " ]";
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    out += !std::isnan(number) ? java_double(number) : indent <= kIndentOfNull ? "null" : "\"NaN\"";
  } else {
    out += value.dump();
  }
}

void write_yaml(const Json& value, int indent, std::string& out) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  for (const auto& [key, child] : value.items()) {
    out += margin + key + ":";
    if (child.is_object() && !child.empty()) {
      out += "\n";
      write_yaml(child, indent + 2, out);
    } else if (child.is_array() && !child.empty()) {
      out += "\n";
      for (const Json& item : child) {
        if (!item.is_object()) {
          out += margin + "- " + yaml_scalar(item) + "\n";
          continue;
        }
        // A map's first line has the dash where the others are indented.
        const size_t at = out.size();
        write_yaml(item, indent + 2, out);
        out[at + static_cast<size_t>(indent)] = '-';
      }
    } else {
      out += " " + (child.is_structured() ? std::string(child.is_object() ? "{}" : "[]") : yaml_scalar(child)) + "\n";
    }
  }
}

}  // namespace

std::string file_size(double bytes) {
  static constexpr const char* kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  for (; unit < 4 && bytes >= 1024; ++unit) bytes /= 1024;
  return two_decimals(bytes) + kUnits[unit];
}

std::string pretty_memory(int64_t bytes) {
  if (std::abs(bytes) < 1024) return fmt::format("{}B", bytes);
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; std::abs(value) >= 1024; ++unit) value /= 1024;
  return fmt::format("{:.3f}{}iB", value, "?KMGTPE"[unit]);
}

std::string java_double(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  const double size = std::abs(value);
  if (value != 0 && (size < 1e-3 || size >= 1e7)) {
    std::string text = fmt::format("{:e}", value);
    // The shortest digits that read back as the same number, then Java's exponent.
    for (int digits = 1; digits <= 17; ++digits) {
      text = fmt::format("{:.{}e}", value, digits - 1);
      if (std::stod(text) == value) break;
    }
    const size_t e = text.find('e');
    std::string mantissa = text.substr(0, e);
    if (mantissa.find('.') == std::string::npos) mantissa += ".0";
    return fmt::format("{}E{}", mantissa, std::stoi(text.substr(e + 1)));
  }
  std::string text = fmt::format("{}", value);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string fixed(const Json& value, int decimals) {
  return value.is_number() ? fmt::format("{:.{}f}", value.get<double>(), decimals) : "NaN";
}

std::string percent(double ratio, int decimals) { return fmt::format("{:.{}f}%", ratio * 100, decimals); }

std::string address_of(const Json& node, bool with_port) {
  std::string address = node.at("address").get<std::string>();
  if (!with_port) return address;
  if (address.find(':') != std::string::npos) address = "[" + address + "]";
  return fmt::format("{}:{}", address, node.at("port").get<int>());
}

std::string iso_instant(int64_t millis) {
  const std::time_t seconds = millis / 1000;
  const std::string whole = fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(seconds));
  return millis % 1000 == 0 ? whole + "Z" : fmt::format("{}.{:03}Z", whole, millis % 1000);
}

double number_or(const Json& object, const char* key, double otherwise) {
  auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : otherwise;
}

std::string text_or(const Json& object, const char* key, const std::string& otherwise) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : otherwise;
}

void Table::add(std::vector<std::string> row) {
  widths_.resize(std::max(widths_.size(), row.size()));
  for (size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], row[i].size());
  rows_.push_back(std::move(row));
}

void Table::share_widths(const Table& other) {
  widths_.resize(std::max(widths_.size(), other.widths_.size()));
  for (size_t i = 0; i < other.widths_.size(); ++i) widths_[i] = std::max(widths_[i], other.widths_[i]);
}

std::string Table::text() const {
  std::string out;
  for (const auto& row : rows_) {
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (i > 0) out += delimiter_;
      out += fmt::format("{:<{}}", i < row.size() ? row[i] : "", widths_[i]);
    }
    out += '\n';
  }
  return out;
}

std::string pretty_json(const Json& value) {
  std::string out;
  write_json(value, 0, out);
  return out;
}

std::string block_yaml(const Json& value) {
  if (value.empty()) return "{}\n";
  std::string out;
  write_yaml(value, 0, out);
  return out;
}

}  // namespace cassandra_like::nodetool
