#include "runtime/linux/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace cassandra_like {

namespace {

SocketAddress from_os(const sockaddr_storage& storage) {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {text, ntohs(v4.sin_port)};
  }
  if (storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return {text, ntohs(v6.sin6_port)};
  }
  return {};
}

using GetName = int (*)(int, sockaddr*, socklen_t*);
SocketAddress name_of(GetName get, int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (get(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return from_os(storage);
}

}  // namespace

Result<OsAddress> to_os_address(const SocketAddress& address) {
  OsAddress out;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.size = sizeof v4;
    return out;
  }
  if (::inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.size = sizeof v6;
    return out;
  }
  return Error(ErrorCode::kIo, "'" + address.host + "' is not a numeric IP address");
}

SocketAddress local_address_of(int fd) { return name_of(::getsockname, fd); }
SocketAddress remote_address_of(int fd) { return name_of(::getpeername, fd); }

FileDescriptor open_tcp_socket(int family) {
  return FileDescriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

}  // namespace cassandra_like
