// The facts that this node would tell others of itself: Cassandra's application states, in their order, TOKENS last.
//
// The ring has one node, which nobody asks: its heartbeat stands still, and versions only tell the order in which a starting
// node sets its states.
#pragma once

#include <string>
#include <vector>

#include "admin/context.h"

namespace cassandra_like {

struct ApplicationState {
  const char* name;  // as ApplicationState's constants
  int version;
  std::string value;
};

struct EndpointState {
  int64_t generation = 0;  // when the node started, in seconds; kept in system.local
  int64_t heartbeat = 0;
  std::vector<ApplicationState> states;
};
Task<EndpointState> endpoint_state(AdminContextPtr context);
Task<int64_t> gossip_generation(AdminContextPtr context);

// STATUS' value: the name and the node's first token.
std::string normal_status(const std::vector<Token>& tokens);

}  // namespace cassandra_like
