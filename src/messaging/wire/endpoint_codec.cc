#include "messaging/wire/endpoint_codec.h"

#include <algorithm>

#include "model/values.h"

namespace cassandra_like {

std::optional<InetAddressAndPort> InetAddressAndPort::parse(std::string_view host, uint16_t port) {
  auto address = parse_inet(host);
  if (!address.ok()) return std::nullopt;
  InetAddressAndPort out;
  out.is_ipv6 = address->size() == 16;
  std::copy(address->begin(), address->end(), out.bytes.begin());
  out.port = port;
  return out;
}

std::string InetAddressAndPort::host() const { return inet_to_text(address()); }

std::string InetAddressAndPort::to_string() const {
  const std::string text = is_ipv6 ? "[" + host() + "]" : host();
  return "/" + text + ":" + std::to_string(port);
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
