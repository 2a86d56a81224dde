// The requests of other nodes to this one as a replica, a leader of counters and a keeper of batchlogs and hints: each verb is
// decoded, done by the Replica or the Coordinator of the shard that it arrived on, and answered (the verb handlers of db,
// batchlog, hints, net).
//
//   MUTATION_REQ, READ_REPAIR_REQ, COUNTER_MUTATION_REQ, READ_REQ, RANGE_REQ, TRUNCATE_REQ, HINT_REQ, BATCH_STORE_REQ,
//   BATCH_REMOVE_REQ, PING_REQ, REPLICATION_DONE_REQ
//
// The messenger answers every other verb with a failure and a line that names verb and peer.
//
// A table or column that is not known here may be on its way: the request waits for the schema until half of its time has
// passed, then fails with INCOMPATIBLE_SCHEMA. So many bytes may wait, no more. A request whose time has passed is not
// answered. A body that is malformed is refused, with a line that names the peer; the connection stays.
#pragma once

#include <functional>
#include <memory>

#include "coordinator/coordinator.h"
#include "hints/hints.h"
#include "messaging/link/messenger.h"

namespace cassandra_like {

struct PeerRequestsOptions {
  // cassandra.yaml's keys: requests for tokens that this node is no replica of.
  bool log_out_of_token_range = true;
  bool reject_out_of_token_range = false;
  // An answer with more bytes fails with READ_SIZE. At most internode_max_message_size less 64 KiB.
  size_t max_answer_bytes = (size_t{128} << 20) - (64 << 10);
  // Thresholds of this node as a replica: who asks for warnings is told. 0: none.
  uint64_t tombstone_warn_threshold = 1000, tombstone_failure_threshold = 100'000;
  size_t max_mutation_bytes = size_t{16} << 20;  // max_mutation_size
  // Requests that wait for the schema, on each shard.
  size_t max_waiting = 1024;
  size_t max_waiting_bytes = size_t{16} << 20;
  // A request names a table or column that is not known here: somebody may ask for the schema.
  std::function<void()> on_unknown_schema;
};

struct PeerRequestsStatistics {
  uint64_t writes = 0, reads = 0, hints = 0;
  uint64_t forwarded = 0;                                       // mutations passed on to other nodes
  uint64_t out_of_range_writes = 0, out_of_range_reads = 0;     // outOfRangeTokenWrites, outOfRangeTokenReads
  uint64_t waited_for_schema = 0, incompatible_schema = 0;      // requests
  uint64_t malformed = 0;                                       // bodies
  uint64_t tombstone_failures = 0, expired = 0, too_large = 0;  // reads
};

// The handlers of one shard.
class PeerRequests {
 public:
  virtual ~PeerRequests() = default;
  virtual const PeerRequestsStatistics& statistics() const = 0;
  // Requests that wait for the schema fail now. Before the messenger closes, which waits for them.
  virtual void stop() = 0;
};

// On that shard, before the messenger listens. All of them outlive the messenger's last handler. Without hints, what is to be
// kept for other nodes fails.
std::shared_ptr<PeerRequests> handle_peer_requests(Messenger& messenger, ShardRuntime& runtime,
                                                   Coordinator& coordinator, Hints* hints = nullptr,
                                                   PeerRequestsOptions options = {});

}  // namespace cassandra_like
