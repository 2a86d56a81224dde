// A node's address and port for other nodes, as gossip names it (locator.InetAddressAndPort).
//
// Layout in messages, for messaging versions 12 and 13; integers are big-endian:
//
//   endpoint := size:u8 (6 or 18), address:4 or 16 bytes, port:u16
//
// Text, as Java prints it: 127.0.0.1:7000, [0:0:0:0:0:0:0:1]:7000.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/bytes.h"

namespace cassandra_like {

inline constexpr uint16_t kDefaultStoragePort = 7000;

// Ordered as Cassandra orders them: by the unsigned bytes of the address, then by the port.
struct GossipEndpoint {
  std::array<uint8_t, 16> address{};  // zeros behind the first `size`
  uint8_t size = 4;                   // 4 or 16
  uint16_t port = kDefaultStoragePort;

  bool operator==(const GossipEndpoint&) const = default;
  std::strong_ordering operator<=>(const GossipEndpoint& o) const { return key() <=> o.key(); }

  BytesView bytes() const { return BytesView(reinterpret_cast<const char*>(address.data()), size); }
  std::string host() const;
  std::string to_string() const;

  // 4 or 16 bytes.
  static std::optional<GossipEndpoint> from_bytes(BytesView address, uint16_t port);
  // With or without a port; nothing when it is no numeric address.
  static std::optional<GossipEndpoint> parse(std::string_view text, uint16_t default_port = kDefaultStoragePort);

 private:
  std::tuple<uint64_t, uint64_t, uint8_t, uint16_t> key() const {
    const char* begin = reinterpret_cast<const char*>(address.data());
    return {load_be<uint64_t>(begin), load_be<uint64_t>(begin + 8), size, port};
  }
};

void append_gossip_endpoint(Bytes& out, const GossipEndpoint& endpoint);
// Fails the reader when the size is neither 6 nor 18.
GossipEndpoint read_gossip_endpoint(Reader& in);

}  // namespace cassandra_like
