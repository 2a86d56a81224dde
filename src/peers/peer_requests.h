// The requests of other nodes to this one as a replica, a leader of counters and a keeper of batchlogs and hints: each verb is
// decoded, done by the Replica or the Coordinator of the shard that it arrived on, and answered (the verb handlers of db,
// batchlog, hints, net).
//
// A table or column that is not known here may be on its way: the request waits for the schema for a while, then fails with
// INCOMPATIBLE_SCHEMA.
#pragma once

#include "coordinator/coordinator.h"
#include "messaging/link/messenger.h"

namespace cassandra_like {

// On that shard, before the messenger listens. All of them outlive the messenger's last handler.
void handle_peer_requests(Messenger& messenger, ShardRuntime& runtime, Coordinator& coordinator);

}  // namespace cassandra_like
