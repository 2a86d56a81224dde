// The TOPOLOGY_CHANGE and STATUS_CHANGE events that drivers get (transport.Server.EventNotifier): what is told already is
// not told again, and a node is told of only when it is ready for clients.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gossip/gossip_endpoint.h"

namespace cassandra_like {

struct DriverEvent {
  enum class Kind { kNewNode, kRemovedNode, kMovedNode, kUp, kDown };
  Kind kind = Kind::kUp;
  GossipEndpoint node;  // its address for clients

  // STATUS_CHANGE; TOPOLOGY_CHANGE otherwise.
  bool is_status() const { return kind == Kind::kUp || kind == Kind::kDown; }
  bool operator==(const DriverEvent&) const = default;
};

class DriverEvents {
 public:
  // Both of the local node. Another node with the local node's address for clients is never told of: it is one that was
  // told to listen on "localhost".
  DriverEvents(const GossipEndpoint& local, const GossipEndpoint& local_native)
      : local_(local), local_native_(local_native) {}

  // NEW_NODE, or nothing until the node is up and ready.
  void joined(const GossipEndpoint& endpoint, const GossipEndpoint& native, bool is_rpc_ready);
  void left(const GossipEndpoint& endpoint, const GossipEndpoint& native);
  void moved(const GossipEndpoint& endpoint, const GossipEndpoint& native);
  void up(const GossipEndpoint& endpoint, const GossipEndpoint& native, bool is_rpc_ready);
  void down(const GossipEndpoint& endpoint, const GossipEndpoint& native);
  std::vector<DriverEvent> take() { return std::exchange(events_, {}); }

 private:
  struct Latest {
    std::optional<DriverEvent::Kind> topology;
    std::optional<DriverEvent::Kind> status;
  };
  void tell(const GossipEndpoint& endpoint, DriverEvent event);

  GossipEndpoint local_;
  GossipEndpoint local_native_;
  std::map<GossipEndpoint, Latest> latest_;
  std::set<GossipEndpoint> joined_but_not_ready_;
  std::vector<DriverEvent> events_;
};

}  // namespace cassandra_like
