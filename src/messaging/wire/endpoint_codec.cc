#include "messaging/wire/endpoint_codec.h"

#include <algorithm>
#include <charconv>

#include "model/values.h"

namespace cassandra_like {

namespace {

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

}  // namespace

std::optional<InetAddressAndPort> InetAddressAndPort::parse(std::string_view text, uint16_t default_port) {
  std::string_view host = text;
  std::optional<uint16_t> port = default_port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos) return std::nullopt;
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty()) port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  } else if (const size_t colon = text.find(':'); colon != text.npos && text.find(':', colon + 1) == text.npos) {
    host = text.substr(0, colon);
    port = parse_port(text.substr(colon + 1));
  }
  auto address = parse_inet(host);
  if (!address.ok() || !port) return std::nullopt;
  InetAddressAndPort out;
  out.is_ipv6 = address->size() == 16;
  std::copy(address->begin(), address->end(), out.bytes.begin());
  out.port = *port;
  return out;
}

std::string InetAddressAndPort::host() const { return inet_to_text(address()); }

std::string InetAddressAndPort::host_and_port() const {
  return (is_ipv6 ? "[" + host() + "]" : host()) + ":" + std::to_string(port);
}

std::strong_ordering InetAddressAndPort::operator<=>(const InetAddressAndPort& o) const {
  if (const int order = address().compare(o.address()); order != 0) return order <=> 0;
  return port <=> o.port;
}

void append_endpoint(Bytes& out, const InetAddressAndPort& endpoint) {
  const BytesView address = endpoint.address();
  out.push_back(static_cast<char>(address.size() + 2));
  out.append(address);
  append_be(out, endpoint.port);
}

InetAddressAndPort read_endpoint(Reader& in) {
  InetAddressAndPort out;
  const uint8_t size = in.u8();
  if (size != 6 && size != 18) {
    in.fail();
    return out;
  }
  const BytesView address = in.take(size - 2u);
  out.is_ipv6 = size == 18;
  std::copy(address.begin(), address.end(), out.bytes.begin());
  out.port = in.u16();
  return out;
}

}  // namespace cassandra_like
