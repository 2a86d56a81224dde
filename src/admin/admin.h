// The admin interface of a node: HTTP/JSON for nodetool (docs/ADMIN.md), Prometheus metrics, and the virtual tables that
// show the same facts to CQL.
//
// AdminHooks reaches the parts above this folder (clients' connections, the order of stopping, configuration).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "coordinator/coordinator.h"
#include "cql/context/tracing.h"
#include "cql/query_processor.h"
#include "hints/hints.h"
#include "peers/membership_service.h"
#include "peers/schema_sync.h"
#include "replica/replica.h"
#include "runtime/runtime.h"

namespace cassandra_like {

struct AdminContext;

struct AdminClient {
  std::string address;
  uint16_t port = 0;
  std::string stage;  // established, authenticating, ready
  std::string user, keyspace, driver_name, driver_version, compression;
  std::map<std::string, std::string> options;
  int protocol_version = 0;
  uint64_t requests = 0;
  unsigned shard = 0;
};

struct AdminClientHistory {
  int protocol_version = 0;
  std::string host;
  int64_t last_seen_millis = 0;
};

// Sums over all shards.
struct AdminTransport {
  uint64_t connected_clients = 0, requests_in_flight = 0, request_bytes_in_flight = 0, paused_connections = 0;
  uint64_t connections = 0, connections_refused = 0, requests = 0, bytes_received = 0, bytes_sent = 0;
  uint64_t requests_discarded = 0, protocol_errors = 0, auth_successes = 0, auth_failures = 0, events_sent = 0;
  Histogram request_micros;
};

struct AdminLogin {
  bool is_superuser = false;
};

struct AdminCredentialsCache {
  Duration validity{};  // how long a password that was right is not hashed again
  size_t max_entries = 0;
};

// By the name that nodetool has for it ("tables_threshold"). A threshold has two values: the failure's, then the warning's.
struct AdminGuardrail {
  std::string name;
  std::vector<std::string> values;
};

struct AdminHooks {
  // Asks the configured authenticator; kBadCredentials when it refuses. Called off loopback alone.
  std::function<Task<Result<AdminLogin>>(std::string user, std::string password)> log_in;
  std::function<Task<std::vector<AdminClient>>()> clients;
  std::function<Task<std::vector<AdminClientHistory>>()> client_history;
  std::function<Task<Status>()> clear_client_history;
  std::function<Task<AdminTransport>()> transport;
  std::function<bool()> binary_running;
  std::function<bool()> allows_older_protocols;
  std::function<Task<Status>(bool)> allow_older_protocols;
  std::function<AdminCredentialsCache()> credentials_cache;
  std::function<Task<Status>(Duration)> set_credentials_validity;
  std::function<Task<Status>(std::vector<std::string> roles)> invalidate_credentials;  // without roles: of all
  std::function<std::string()> operation_mode;                                         // NORMAL, DRAINING, DRAINED
  std::function<Task<Status>()> enable_binary, disable_binary, drain, refresh_size_estimates, replay_batchlog;
  std::function<void()> stop;                                                        // returns at once
  std::function<std::vector<std::pair<std::string, std::string>>()> logging_levels;  // logger, level
  std::function<bool(const std::string& logger, const std::string& level)> set_logging_level;
  std::function<std::vector<std::pair<std::string, std::string>>()> settings;  // cassandra.yaml keys and values in use
  std::function<std::vector<AdminGuardrail>(const Guardrails&)> show_guardrails;  // in order of name
  // kInvalid when the name or the values make no sense, or do not suit default_keyspace_rf.
  std::function<Status(Guardrails*, const std::string& name, const std::vector<std::string>& values, int default_rf)>
      change_guardrail;
  // The seeds of the configuration file as it is now, for `nodetool reloadseeds`.
  std::function<Result<std::vector<InetAddressAndPort>>()> read_seeds;
};

// The parts of one node, by shard.
struct AdminNode {
  Runtime* runtime = nullptr;
  std::vector<Replica*> replicas;
  std::vector<Coordinator*> coordinators;
  std::vector<QueryProcessor*> processors;
  // --- The cluster. Null and empty in a node that is alone for ever.
  MembershipService* membership = nullptr;      // of shard 0
  SchemaSync* schema_sync = nullptr;            // likewise
  std::vector<Messenger*> messengers;           // by shard
  std::vector<Hints*> hints;                    // by shard
  std::shared_ptr<HintsControl> hints_control;  // of all shards
  // ---
  std::shared_ptr<TraceSettings> trace_settings = std::make_shared<TraceSettings>();
  EngineOptions engine_options;  // for snapshots' directories
  std::string snitch;
  bool dynamic_snitch = false;  // the replicas of a read are chosen by their latencies, too
  // PasswordAuthenticator is configured: off loopback the port asks for a role's name and password. Without it, the port
  // does not listen off loopback.
  bool has_passwords = false;
  std::string host_name;      // the name that admin_address was given as; empty: an address
  int64_t started_nanos = 0;  // of the monotonic clock
};

// Lives on shard 0.
class AdminServer {
 public:
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;
  ~AdminServer();  // stops listening
  // kConfigError when the address can be reached from other machines and no authenticator looks passwords up.
  static Result<std::unique_ptr<AdminServer>> start(const SocketAddress& address, AdminNode node, AdminHooks hooks);
  uint16_t port() const { return listener_->port(); }

 private:
  AdminServer(std::shared_ptr<AdminContext> context, std::unique_ptr<Listener> listener)
      : context_(std::move(context)), listener_(std::move(listener)) {}

  std::shared_ptr<AdminContext> context_;  // shared with the commands that still run
  std::unique_ptr<Listener> listener_;
};

// system_views' tables of one shard. The hooks run on shard 0, wherever the table is read.
void add_system_views(const AdminNode& node, unsigned shard, AdminHooks hooks);

}  // namespace cassandra_like
