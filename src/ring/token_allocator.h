// Tokens for a node that joins, chosen so that all nodes own about as much (allocate_tokens_for_local_replication_factor;
// dht.tokenallocator). For one ring it chooses the tokens that Cassandra 5.0 chooses.
//
// The first nodes, which hold everything anyway, split the ring into ranges of varied sizes. After them:
//
//   one replica in a ring of its own   the largest ranges of the nodes with the most are split, so that all those nodes
//                                      and the joining one come to about their average
//   several replicas                   of the midpoints of all ranges, again and again the one is taken that brings what
//                                      tokens and nodes replicate closest to their averages
//
// With as many racks as replicas each rack is a ring of its own; with more racks the racks count as the groups of which
// each holds one replica. Fewer racks than replicas, but more than one, are refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ring/token_ring.h"

namespace cassandra_like {

struct TokenRequest {
  std::string datacenter;  // of the joining node
  std::string rack;
  int replicas = 3;  // in this datacenter
  size_t num_tokens = 16;
  Token first = 0;  // random: where the first token of an empty ring lies
};
// Sorted. The ring has everybody with tokens, those that join too, but not the joining node's. kConfigError, in Cassandra's
// words, when racks and replicas do not fit together or somebody else took a chosen token.
Result<std::vector<Token>> allocate_tokens(const TokenRing& ring, const TokenRequest& request);

}  // namespace cassandra_like
