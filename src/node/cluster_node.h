// One node, wired together over a Runtime: the order in which its parts start and stop. It does not know whether the
// Runtime is real or simulated.
//
// Start: directories and their lock, ShardedReplica (schema, commit log), then on every shard Messenger, Hints, Coordinator,
// QueryProcessor and Server; then the other nodes (gossip, their schema), what was interrupted (batches) and what must exist
// (roles), the clients' port, the admin port.
// Stop: the reverse.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "hints/hints.h"
#include "node/config.h"
#include "peers/membership_service.h"
#include "peers/peer_requests.h"
#include "peers/schema_sync.h"
#include "replica/replica.h"
#include "runtime/runtime.h"
#include "transport/server.h"

namespace cassandra_like {

struct ClusterNodeHooks {
  // Somebody asked the node to end: stopdaemon, or a failure policy (then with its error).
  std::function<void(const Status& reason)> on_stop_requested;
  // The configuration as its file has it now, for `nodetool reloadseeds`.
  std::function<Result<Config>(Disk&)> read_config;
  bool serve_admin = true;
  // Listens to other nodes on storage_port and takes part in gossip. Otherwise the node is alone for ever.
  bool serve_peers = false;
};

class ClusterNode {
 public:
  // Runs on shard 0, as do all calls.
  static Task<Result<std::unique_ptr<ClusterNode>>> start(Runtime* runtime, Config config, ClusterNodeHooks hooks);
  virtual ~ClusterNode() = default;

  virtual uint16_t native_port() const = 0;
  virtual uint16_t admin_port() const = 0;  // 0: none
  virtual const Config& config() const = 0;
  virtual Server& server(unsigned shard) = 0;
  virtual Replica& replica(unsigned shard) = 0;
  virtual Coordinator& coordinator(unsigned shard) = 0;
  virtual QueryProcessor& processor(unsigned shard) = 0;
  // Null in a node that is alone. Messenger and hints only on that shard, the rest on shard 0.
  virtual Messenger* messenger(unsigned shard) = 0;
  virtual Hints* hints(unsigned shard) = 0;
  virtual PeerRequests* peer_requests(unsigned shard) = 0;
  virtual std::shared_ptr<HintsControl> hints_control() = 0;
  virtual std::shared_ptr<TraceSettings> trace_settings() = 0;
  virtual MembershipService* membership() = 0;
  virtual SchemaSync* schema_sync() = 0;

  // The seeds of the configuration file as it is now.
  virtual Result<std::vector<InetAddressAndPort>> read_seeds() = 0;
  // system.size_estimates and table_estimates, now. They are kept up to date by themselves every five minutes.
  virtual Task<Status> refresh_size_estimates() = 0;
  // Logged batches that should have ended are finished, on every shard.
  virtual Task<Status> replay_batchlog() = 0;
  // Starts and stops serving CQL on every shard.
  virtual Task<Status> enable_binary() = 0;
  virtual Task<Status> disable_binary() = 0;
  virtual bool binary_running() const = 0;
  // Cassandra's StorageService.Mode: STARTING, NORMAL, JOINING, DRAINING, DRAINED.
  virtual const char* operation_mode() const = 0;
  // Stops clients, flushes, syncs. The node answers nothing but the admin port afterwards.
  virtual Task<Status> drain() = 0;
  // drain() unless that was done, then everything ends and the object may be destroyed.
  virtual Task<Status> stop() = 0;
  // Ends without flushing, for tests of recovery.
  virtual Task<void> halt() = 0;
};

}  // namespace cassandra_like
