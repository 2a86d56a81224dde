#include "gossip/snitch.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "gossip/modified_utf8.h"

namespace cassandra_like {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

std::string_view trim(std::string_view text) {
  auto is_space = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// A natural line without its end; the rest stays in text.
std::string_view take_line(std::string_view& text) {
  const size_t end = text.find_first_of("\r\n");
  std::string_view line = text.substr(0, end);
  if (end == text.npos) {
    text = {};
  } else {
    text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return line;
}

bool continues(std::string_view line) {
  const size_t last = line.find_last_not_of('\\');
  return (line.size() - (last == line.npos ? 0 : last + 1)) % 2 == 1;
}

// Without its escapes.
std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      if (text[i] != '\\') out.push_back(text[i]);
      continue;
    }
    const char c = text[++i];
    if (c == 'u') {
      uint32_t unit = 0;
      std::string_view digits = text.substr(i + 1, 4);
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
      if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) return std::nullopt;
      append_utf8(out, unit);
      i += 4;
      continue;
    }
    out.push_back(c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c);
  }
  return out;
}

// The end of the key: the first separator that no backslash protects.
size_t end_of_key(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '=' || line[i] == ':' || is_blank(line[i])) {
      return i;
    }
  }
  return line.size();
}

std::string_view without_leading_blanks(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  return line;
}

// "DC1:RAC1", as Java's split sees it: empty pieces at the end are none.
NodeLocation parse_location(std::string_view value) {
  while (value.ends_with(':')) value.remove_suffix(1);
  const size_t colon = value.find(':');
  if (colon == value.npos) return {"default", "default"};
  std::string_view rack = value.substr(colon + 1);
  rack = rack.substr(0, rack.find(':'));
  return {std::string(trim(value.substr(0, colon))), std::string(trim(rack))};
}

Error config_error(std::string text) { return Error(ErrorCode::kConfigError, std::move(text)); }

}  // namespace

Result<std::map<std::string, std::string>> parse_properties(std::string_view text) {
  std::map<std::string, std::string> out;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view first = without_leading_blanks(take_line(text));
    if (first.empty() || first.front() == '#' || first.front() == '!') continue;
    std::string line(first);
    const int first_number = number;
    while (continues(line)) {
      line.pop_back();
      if (text.empty()) break;
      line += without_leading_blanks(take_line(text));
      ++number;
    }
    const size_t end = end_of_key(line);
    std::string_view value = without_leading_blanks(std::string_view(line).substr(end));
    if (!value.empty() && (value.front() == '=' || value.front() == ':')) {
      value = without_leading_blanks(value.substr(1));
    }
    auto key = unescape(std::string_view(line).substr(0, end)), meant = unescape(value);
    if (!key || !meant) return invalid("Malformed \\u escape in line " + std::to_string(first_number));
    out[*key] = *meant;
  }
  return out;
}

Result<RackDcProperties> parse_rackdc(std::string_view text) {
  ASSIGN_OR_RETURN(auto properties, parse_properties(text));
  if (!properties.contains("dc") || !properties.contains("rack")) {
    return config_error(
        "DC or rack not found in snitch properties, check your configuration in: cassandra-rackdc.properties");
  }
  RackDcProperties out;
  out.location = {std::string(trim(properties["dc"])), std::string(trim(properties["rack"]))};
  out.prefer_local = equals_ignoring_case(properties["prefer_local"], "true");
  return out;
}

Result<TopologyProperties> TopologyProperties::parse(std::string_view text, const InetAddressAndPort& local) {
  ASSIGN_OR_RETURN(auto properties, parse_properties(text));
  TopologyProperties out;
  for (const auto& [key, value] : properties) {
    if (key == "default") {
      out.default_ = parse_location(value);
      continue;
    }
    std::string host = key;
    std::erase(host, '/');
    auto endpoint = InetAddressAndPort::parse(host, local.port);
    if (!endpoint) return config_error("Unknown host " + host + " in cassandra-topology.properties");
    out.locations_[*endpoint] = parse_location(value);
  }
  if (!out.location(local)) {
    return config_error(
        "Snitch definitions at cassandra-topology.properties do not define a location for this node's broadcast "
        "address " +
        local.to_string() + ", nor does it provides a default");
  }
  return out;
}

std::optional<NodeLocation> TopologyProperties::location(const InetAddressAndPort& endpoint) const {
  auto found = locations_.find(endpoint);
  return found == locations_.end() ? default_ : found->second;
}

NodeLocation simple_location() { return {"datacenter1", "rack1"}; }

NodeLocation inferred_location(const InetAddressAndPort& endpoint) {
  return {std::to_string(endpoint.bytes[1]), std::to_string(endpoint.bytes[2])};
}

Snitch simple_snitch() {
  return [](const InetAddressAndPort&, const NodeLocation&) { return simple_location(); };
}

Snitch rack_inferring_snitch() {
  return [](const InetAddressAndPort& endpoint, const NodeLocation&) { return inferred_location(endpoint); };
}

Snitch property_file_snitch(TopologyProperties file) {
  return [file = std::move(file)](const InetAddressAndPort& endpoint, const NodeLocation&) {
    return file.location(endpoint).value_or(NodeLocation{kUnknownDatacenter, kUnknownRack});
  };
}

Snitch gossiping_property_file_snitch(const InetAddressAndPort& local, RackDcProperties own,
                                      std::optional<TopologyProperties> file) {
  return [local, own = std::move(own.location), file = std::move(file)](const InetAddressAndPort& endpoint,
                                                                        const NodeLocation& gossiped) {
    if (endpoint == local) return own;
    NodeLocation out = gossiped;
    auto in_file = file ? file->location(endpoint) : std::nullopt;
    if (in_file && out.datacenter == kUnknownDatacenter) out.datacenter = in_file->datacenter;
    if (in_file && out.rack == kUnknownRack) out.rack = in_file->rack;
    return out;
  };
}

}  // namespace cassandra_like
