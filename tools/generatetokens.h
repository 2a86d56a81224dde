// generatetokens: the tokens of all nodes of a datacenter, before the first of them is started.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "model/key.h"

namespace cassandra_like::sstable_tools {

struct PlannedNode {
  size_t rack;                // in the list of racks
  std::vector<Token> tokens;  // sorted

  bool operator==(const PlannedNode&) const = default;
};

// In the order in which the nodes are to be started: the racks in turn. racks has the number of nodes of each and is not empty.
// first is the token that the first node begins with. The tokens are those that Cassandra 5.0.9's tool chooses. Like there, they
// do not depend on the racks.
Result<std::vector<PlannedNode>> plan_datacenter(int replicas, int num_tokens, std::vector<int> racks, Token first);

}  // namespace cassandra_like::sstable_tools
