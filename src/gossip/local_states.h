// The application states that a node tells of itself at each step of its life (service.StorageService): with each of them
// the version without ports that nodes before 4.0 read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "gossip/gossiper.h"
#include "gossip/snitch.h"
#include "gossip/state_values.h"

namespace cassandra_like {

struct AdvertisedNode {
  Uuid host_id;
  InetAddressAndPort internal;  // where it listens for other nodes
  InetAddressAndPort native;    // where drivers reach it
  NodeLocation location;
  std::string release_version;  // begins with the peers' major version, or they pull no schema
  int messaging_version = 0;
  std::vector<std::string> sstable_versions;  // "big-nb"
  Uuid schema_version;
  double load = 0;  // bytes
};
// For Gossiper::start(). Enough for a node that owns no tokens and takes none.
LocalStates starting_states(const AdvertisedNode& node);

// For Gossiper::set_local_states(). The tokens are not empty.
LocalStates bootstrapping_states(std::span<const Token> tokens);
LocalStates replacing_states(std::span<const Token> tokens, const InetAddressAndPort& old_node);
LocalStates normal_states(std::span<const Token> tokens);
LocalStates leaving_states(std::span<const Token> tokens);
LocalStates left_states(std::span<const Token> tokens, int64_t expire_time_ms);
LocalStates moving_states(Token to);
// A node with tokens that does not join the ring now.
LocalStates hibernating_states(std::span<const Token> tokens);

}  // namespace cassandra_like
