#include "gossip/gossip_endpoint.h"

#include <algorithm>
#include <charconv>

#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr size_t kPortBytes = 2;

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

}  // namespace

std::string GossipEndpoint::host() const { return inet_to_text(bytes()); }

std::string GossipEndpoint::to_string() const {
  std::string text = host();
  if (text.find(':') != text.npos) text = "[" + text + "]";
  return text + ":" + std::to_string(port);
}

std::optional<GossipEndpoint> GossipEndpoint::from_bytes(BytesView address, uint16_t port) {
  if (address.size() != 4 && address.size() != 16) return std::nullopt;
  GossipEndpoint out;
  std::copy(address.begin(), address.end(), out.address.begin());
  out.size = static_cast<uint8_t>(address.size());
  out.port = port;
  return out;
}

std::optional<GossipEndpoint> GossipEndpoint::parse(std::string_view text, uint16_t default_port) {
  std::string_view host = text;
  std::optional<uint16_t> port = default_port;
  if (text.starts_with('[')) {
    size_t end = text.find(']');
    if (end == text.npos) return std::nullopt;
    host = text.substr(1, end - 1);
    std::string_view rest = text.substr(end + 1);
    if (!rest.empty()) port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  } else if (size_t colon = text.find(':'); colon != text.npos && text.find(':', colon + 1) == text.npos) {
    host = text.substr(0, colon);
    port = parse_port(text.substr(colon + 1));
  }
  auto address = parse_inet(host);
  if (!address.ok() || !port) return std::nullopt;
  return from_bytes(*address, *port);
}

void append_gossip_endpoint(Bytes& out, const GossipEndpoint& endpoint) {
  out.push_back(static_cast<char>(endpoint.size + kPortBytes));
  out += endpoint.bytes();
  append_be<uint16_t>(out, endpoint.port);
}

GossipEndpoint read_gossip_endpoint(Reader& in) {
  const size_t size = in.u8();
  if (size != 4 + kPortBytes && size != 16 + kPortBytes) {
    in.fail();
    return {};
  }
  BytesView address = in.take(size - kPortBytes);
  const uint16_t port = in.u16();
  return GossipEndpoint::from_bytes(address, port).value_or(GossipEndpoint{});
}

}  // namespace cassandra_like
