// The ring as system.peers_v2 remembers it (db.SystemKeyspace.loadTokens). A start has no other until gossip tells one.
#pragma once

#include <vector>

#include "ring/topology.h"
#include "schema/internal_table.h"

namespace cassandra_like {

// This node and those peers whose rows have host id, place and tokens; all of them live.
TopologyPtr saved_ring(Endpoint local, const std::vector<InternalRow>& peers);

}  // namespace cassandra_like
