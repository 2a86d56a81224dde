// SocketAddress as the operating system has it.
#pragma once

#include <sys/socket.h>

#include "base/result.h"
#include "runtime/linux/file_descriptor.h"
#include "runtime/network.h"

namespace cassandra_like {

struct OsAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

// kIo when the host is not a numeric IPv4 or IPv6 address.
Result<OsAddress> to_os_address(const SocketAddress& address);
// Empty when the socket is not connected any more.
SocketAddress local_address_of(int fd);
SocketAddress remote_address_of(int fd);
// A TCP socket that does not block.
FileDescriptor open_tcp_socket(int family);

}  // namespace cassandra_like
