// The state that a connection keeps between requests.
#pragma once

#include <string>

#include "runtime/network.h"

namespace cassandra_like {

class Abandonment;

struct ClientState {
  std::string keyspace;  // of USE; empty: none
  std::string user;      // empty before login or with AllowAllAuthenticator ("anonymous" then)
  bool is_superuser = false;
  bool is_internal = false;            // the node's own queries: no authorization, system tables may be written
  Abandonment* abandonment = nullptr;  // set when the connection is gone; null: of no connection
  bool was_warned_of_use = false;      // that prepared statements depend on USE
  SocketAddress address;
  int protocol_version = 4;
  std::string driver_name, driver_version;

  // For the log: "cassandra at 127.0.0.1:50376".
  std::string to_string() const {
    if (is_internal) return "the node itself";
    return (user.empty() ? "anonymous" : user) + " at " + address.to_string();
  }
};

}  // namespace cassandra_like
