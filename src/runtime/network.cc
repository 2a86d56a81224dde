// Text of addresses.
#include "runtime/network.h"

#include <fmt/format.h>

namespace cassandra_like {

std::string SocketAddress::to_string() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

}  // namespace cassandra_like
