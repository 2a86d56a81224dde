// The TOPOLOGY_CHANGE and STATUS_CHANGE events that drivers get (transport.Server.EventNotifier): what is told already is
// not told again, and a node is told of only when it is ready for clients.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "messaging/wire/endpoint_codec.h"

namespace cassandra_like {

struct DriverEvent {
  enum class Kind { kNewNode, kRemovedNode, kMovedNode, kUp, kDown };
  Kind kind = Kind::kUp;
  InetAddressAndPort node;  // its address for clients

  // STATUS_CHANGE; TOPOLOGY_CHANGE otherwise.
  bool is_status() const { return kind == Kind::kUp || kind == Kind::kDown; }
  bool operator==(const DriverEvent&) const = default;
};

class DriverEvents {
 public:
  // Both belong to the local node. Events never tell of another node with the local node's address for clients: such a
  // node was told to listen on "localhost".
  DriverEvents(const InetAddressAndPort& local, const InetAddressAndPort& local_native)
      : local_(local), local_native_(local_native) {}

  // NEW_NODE, or nothing until the node is up and ready.
  void joined(const InetAddressAndPort& endpoint, const InetAddressAndPort& native, bool is_rpc_ready);
  void left(const InetAddressAndPort& endpoint, const InetAddressAndPort& native);
  void moved(const InetAddressAndPort& endpoint, const InetAddressAndPort& native);
  void up(const InetAddressAndPort& endpoint, const InetAddressAndPort& native, bool is_rpc_ready);
  void down(const InetAddressAndPort& endpoint, const InetAddressAndPort& native);
  std::vector<DriverEvent> take() { return std::exchange(events_, {}); }

 private:
  struct Latest {
    std::optional<DriverEvent::Kind> topology;
    std::optional<DriverEvent::Kind> status;
  };
  void tell(const InetAddressAndPort& endpoint, DriverEvent event);

  InetAddressAndPort local_;
  InetAddressAndPort local_native_;
  std::map<InetAddressAndPort, Latest> latest_;
  std::set<InetAddressAndPort> joined_but_not_ready_;
  std::vector<DriverEvent> events_;
};

}  // namespace cassandra_like
