// Text of addresses.
#include "runtime/network.h"

#include <fmt/format.h>

#include <algorithm>

namespace cassandra_like {

std::string SocketAddress::to_string() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

bool HttpRequest::has(std::string_view name) const {
  return std::any_of(headers.begin(), headers.end(), [name](const auto& header) { return header.first == name; });
}

const std::string& HttpRequest::header(std::string_view name) const {
  static const std::string none;
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return none;
}

}  // namespace cassandra_like
