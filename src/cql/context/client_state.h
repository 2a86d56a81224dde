// The state that a connection keeps between requests.
#pragma once

#include <string>

#include "runtime/network.h"

namespace cassandra_like {

struct ClientState {
  std::string keyspace;  // of USE; empty: none
  std::string user;      // empty before login or with AllowAllAuthenticator ("anonymous" then)
  bool is_superuser = false;
  bool is_internal = false;        // the node's own queries: no authorization, system tables may be written
  bool was_warned_of_use = false;  // that prepared statements depend on USE
  SocketAddress address;
  int protocol_version = 4;
  std::string driver_name, driver_version;
};

}  // namespace cassandra_like
