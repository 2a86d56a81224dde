// A node's address as peers know it (locator.InetAddressAndPort) and its bytes, the same in messaging versions 12 and 13:
//
//   endpoint := size:u8 (6: IPv4, 18: IPv6), address:4 or 16, port:u16
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace cassandra_like {

inline constexpr uint16_t kDefaultStoragePort = 7000;

struct InetAddressAndPort {
  std::array<uint8_t, 16> bytes{};  // an IPv4 address is the first four
  bool is_ipv6 = false;
  uint16_t port = kDefaultStoragePort;

  // A numeric address, with a port or without; then an IPv6 address may have brackets. nullopt when it is none.
  static std::optional<InetAddressAndPort> parse(std::string_view text, uint16_t default_port = kDefaultStoragePort);
  BytesView address() const { return BytesView(reinterpret_cast<const char*>(bytes.data()), is_ipv6 ? 16 : 4); }
  std::string host() const;                                        // 127.0.0.1, 0:0:0:0:0:0:0:1
  std::string host_and_port() const;                               // 127.0.0.1:7000, [0:0:0:0:0:0:0:1]:7000
  std::string to_string() const { return "/" + host_and_port(); }  // in logs
  // Cassandra's order: the address as unsigned bytes (the shorter first), then the port.
  std::strong_ordering operator<=>(const InetAddressAndPort& o) const;
  bool operator==(const InetAddressAndPort& o) const = default;

  template <class H>
  friend H AbslHashValue(H h, const InetAddressAndPort& v) {
    return H::combine(std::move(h), v.bytes, v.is_ipv6, v.port);
  }
};

inline constexpr size_t kMaxEndpointSize = 19;

inline size_t endpoint_size(const InetAddressAndPort& endpoint) { return endpoint.is_ipv6 ? 19 : 7; }
void append_endpoint(Bytes& out, const InetAddressAndPort& endpoint);
// Fails `in` when the size is neither of the two, or when it is cut.
InetAddressAndPort read_endpoint(Reader& in);

}  // namespace cassandra_like
