// A node's memory of the others: system.peers_v2 and, for older drivers, system.peers (db.SystemKeyspace.updatePeerInfo).
#pragma once

#include <vector>

#include "gossip/membership.h"
#include "model/mutation.h"
#include "schema/internal_table.h"

namespace cassandra_like {

// Both rows of a peer as a whole. system.peers knows no ports: with several nodes of one address the last one is there.
std::vector<PartitionUpdate> peer_updates(const Schema& schema, const PeerRow& row, int64_t timestamp_micros,
                                          Arena& arena);
std::vector<PartitionUpdate> peer_removals(const Schema& schema, const InetAddressAndPort& peer,
                                           int64_t timestamp_micros, Arena& arena);
// Rows of system.peers_v2; one that lacks something is left out.
std::vector<PeerRow> parse_peers(const std::vector<InternalRow>& rows);

}  // namespace cassandra_like
