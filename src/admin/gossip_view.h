// The things that this node tells others of itself and has heard of them: Cassandra's application states, node by node.
//
// Gossip lives on shard 0; the functions may be called on any shard. A node that is alone has states of its own, too: its
// heartbeat stands still, and their versions only tell the order in which a starting node sets them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admin/context.h"

namespace cassandra_like {

struct GossipedState {
  ApplicationState state;
  int32_t version;
  std::string value;  // of TOKENS: "<hidden>"
};

struct GossipedNode {
  InetAddressAndPort endpoint;
  bool is_alive = true;
  int64_t generation = 0;  // when the node started, in seconds, or more
  int64_t heartbeat = 0;
  std::vector<GossipedState> states;  // in the order of ApplicationState, TOKENS last

  // Empty when the node has told nothing of it.
  std::string_view text(ApplicationState state) const;
};
// In order of address.
Task<std::vector<GossipedNode>> gossiped_nodes(AdminContextPtr context);

// The generation of this node.
Task<int64_t> gossip_generation(AdminContextPtr context);

// A node that hints wait for, as `nodetool listpendinghints` shows it.
struct HintedNode {
  PendingHints hints;                          // of all shards
  std::optional<InetAddressAndPort> endpoint;  // nullopt: nobody has this host id any more
  NodeLocation location{"Unknown", "Unknown"};
  std::string status = "Unknown";  // UP, DOWN
};
// In order of host id.
Task<std::vector<HintedNode>> hinted_nodes(AdminContextPtr context);

// Runs make() on shard 0, where gossip lives.
template <class T, class Make>
Task<T> on_gossip_shard(const AdminContextPtr& context, Make make) {
  return run_on<T>(context->here(), context->node.runtime->shard(0).executor, std::move(make));
}

}  // namespace cassandra_like
