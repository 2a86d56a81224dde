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
#include "node/disk_usage.h"
#include "peers/membership_service.h"
#include "peers/peer_requests.h"
#include "peers/schema_sync.h"
#include "replica/replica.h"
#include "runtime/runtime.h"
#include "storage/table/directory_check.h"
#include "transport/server.h"

namespace cassandra_like {

class AdminServer;
class ShardedReplica;

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
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;
  ~ClusterNode();

  uint16_t native_port() const { return parts_[0].server->port(); }
  uint16_t admin_port() const;  // 0: none
  const Config& config() const { return config_; }
  Server& server(unsigned shard) { return *parts_[shard].server; }
  Replica& replica(unsigned shard);
  Coordinator& coordinator(unsigned shard) { return *parts_[shard].coordinator; }
  QueryProcessor& processor(unsigned shard) { return *parts_[shard].processor; }
  // Null in a node that is alone. Messenger and hints only on that shard, the rest on shard 0.
  Messenger* messenger(unsigned shard) { return parts_[shard].messenger.get(); }
  Hints* hints(unsigned shard) { return parts_[shard].hints.get(); }
  PeerRequests* peer_requests(unsigned shard) { return parts_[shard].requests.get(); }
  std::shared_ptr<HintsControl> hints_control() { return hints_control_; }
  std::shared_ptr<TraceSettings> trace_settings() { return trace_settings_; }
  MembershipService* membership() { return membership_.get(); }
  SchemaSync* schema_sync() { return schema_sync_.get(); }

  // The seeds of the configuration file as it is now.
  Result<std::vector<InetAddressAndPort>> read_seeds();
  // system.size_estimates and table_estimates, now. They are kept up to date by themselves every five minutes.
  Task<Status> refresh_size_estimates();
  // Logged batches that should have ended are finished, on every shard.
  Task<Status> replay_batchlog();
  // Starts and stops serving CQL on every shard.
  Task<Status> enable_binary();
  Task<Status> disable_binary();
  bool binary_running() const { return parts_[0].server->running(); }
  // Cassandra's StorageService.Mode: STARTING, NORMAL, JOINING, DRAINING, DRAINED.
  const char* operation_mode() const;
  // Stops clients, flushes, syncs. The node answers nothing but the admin port afterwards.
  Task<Status> drain();
  // drain() unless that was done, then everything ends and the object may be destroyed.
  Task<Status> stop();
  // Ends without flushing, for tests of recovery.
  Task<void> halt();

 private:
  // The parts that one shard owns above its replica. Made, used and destroyed there.
  struct ShardParts {
    std::unique_ptr<Messenger> messenger;
    std::unique_ptr<Hints> hints;
    std::shared_ptr<PeerRequests> requests;
    std::unique_ptr<Coordinator> coordinator;
    std::unique_ptr<QueryProcessor> processor;
    std::unique_ptr<Server> server;
  };

  ClusterNode(Runtime& runtime, Config config, ClusterNodeHooks hooks);
  Task<Status> open();
  Status make_parts(unsigned shard);
  Task<Status> connect_parts(unsigned shard);
  Task<Status> open_peers(unsigned shard);
  Status listen_to_peers(unsigned shard);
  void destroy_parts(unsigned shard);
  Executor& home() { return runtime_.shard(0).executor; }
  Disk& disk() { return runtime_.shard(0).disk; }
  Task<Status> on_every_shard(std::function<Task<Status>(unsigned)> work);
  Result<FoundIds> check_machine();
  Status prepare_directories();
  Task<Status> take_batches_over(EngineOptions options);
  Status prepare(const std::string& directory, const char* key);
  Error listen_error(const Error& error, const char* address_key, const char* port_key) const;
  Error binary_error(const Error& error);
  Task<Status> sync_parents(std::vector<std::string> made);
  LocalNode local_node() const;
  Task<Result<std::vector<Token>>> take_tokens(std::shared_ptr<const TokenRing> ring);
  Task<Status> join_cluster();
  MembershipListener membership_listener();
  void tell_hints(const NodeChange& change);
  void tell_drivers(const DriverEvent& event);
  Task<void> make_default_role();
  Task<void> load_denylist();
  Task<void> stop_coordinators();
  Task<void> stop_peers(bool announces);
  Task<void> close();
  void schedule_snapshot_cleanup();
  void schedule_size_estimates(Duration delay);
  void schedule_load();
  Task<void> tell_load();
  void schedule_disk_usage(Duration delay);
  Task<void> tell_disk_usage();
  Task<void> forget_dropped_sizes(std::vector<SchemaEvent> events);

  Runtime& runtime_;
  Config config_;
  const CqlOptions cql_options_;  // all shards share the memory of answers
  ClusterNodeHooks hooks_;
  std::vector<std::string> made_directories_;
  std::map<std::string, const char*> real_directories_;  // the key of each
  std::vector<std::unique_ptr<DirectoryLock>> locks_;
  std::unique_ptr<ShardedReplica> replicas_;
  std::unique_ptr<MessengerGroup> messengers_;  // null: the node is alone
  std::shared_ptr<HintsControl> hints_control_;
  const std::shared_ptr<TraceSettings> trace_settings_ = std::make_shared<TraceSettings>();
  std::vector<ShardParts> parts_;
  std::unique_ptr<MembershipService> membership_;
  std::unique_ptr<SchemaSync> schema_sync_;
  std::unique_ptr<AdminServer> admin_;
  TimerId snapshot_cleanup_ = 0, size_estimates_ = 0, default_role_ = 0, load_ = 0, denylist_ = 0;
  TimerId disk_usage_ = 0;
  DiskUsageMonitor disks_;
  Gate background_;
  bool started_ = false, draining_ = false, drained_ = false;
  bool peers_stopped_ = false;
};

}  // namespace cassandra_like
