// The native protocol server of one shard: accepts clients, serves their requests through the shard's QueryProcessor,
// sends events, and knows who is connected.
//
// All shards of a node listen on the same address; a connection stays on the shard that accepted it. Shards share
// nothing: each enforces its share of the node's byte and rate limits, and tells the others (peers) about connections
// that it opened and closed, so that limits on connections hold for the whole node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "cql/context/tracing.h"
#include "cql/query_processor.h"
#include "runtime/runtime.h"
#include "schema/schema_store.h"

namespace cassandra_like {

// cassandra.yaml's native_transport_*, with its defaults; 0 or a negative number is "no limit" as there.
struct TransportOptions {
  SocketAddress address{"127.0.0.1", 9042};
  unsigned shards = 1;                      // of the node
  uint64_t max_frame_size = 16ull << 20;    // v3 and v4
  uint64_t max_message_size = 16ull << 20;  // v5, whose messages may span segments
  int64_t max_connections = -1;
  int64_t max_connections_per_ip = -1;
  uint64_t max_request_bytes_in_flight = 0;  // of the node
  uint64_t max_request_bytes_in_flight_per_ip = 0;
  uint64_t receive_queue_capacity = 1ull << 20;  // of a v5 connection, before it draws on the two limits above
  uint32_t max_requests_per_connection = 32768;  // at once: as many as there are stream ids
  bool rate_limiting_enabled = false;
  uint32_t max_requests_per_second = 1000000;
  bool throw_on_overload = false;  // where STARTUP does not say
  bool allow_older_protocols = true;
  Duration idle_timeout{0};
  Duration stall_timeout = std::chrono::seconds(60);  // half a frame, and then nothing
  Duration drain_timeout = std::chrono::seconds(12);  // native_transport_timeout
  uint64_t max_unsent_bytes = 8ull << 20;             // of one connection; its requests wait while it does not read
  std::string authenticator = "AllowAllAuthenticator";
  Duration credentials_validity = std::chrono::seconds(2);
  // Says in SUPPORTED which shard serves the connection, as ScyllaDB does, for drivers that choose by token; and listens on
  // another port, where the client's port modulo the shards chooses the shard (0: any free port).
  bool shard_aware = false;
  uint16_t shard_aware_port = 19042;
  std::shared_ptr<const TraceSettings> trace_settings;  // null: nothing is traced but what clients ask for
};

enum class ConnectionStage : uint8_t { kEstablished, kAuthenticating, kReady };
const char* connection_stage_name(ConnectionStage stage);  // "established", …

// One row of system_views.clients and of nodetool clientstats.
struct ClientInfo {
  SocketAddress address;
  ConnectionStage stage = ConnectionStage::kEstablished;
  std::string user;  // "anonymous" without authentication
  std::string keyspace;
  int protocol_version = 0;
  std::string driver_name, driver_version;
  std::map<std::string, std::string> options;  // of STARTUP, names in upper case
  std::string compression;                     // lz4, snappy or empty
  uint64_t requests = 0;
  uint64_t requests_in_flight = 0;
};

// When a client was last seen with a protocol version: nodetool clientstats --by-protocol.
struct ClientHistory {
  int protocol_version = 0;
  std::string host;
  int64_t last_seen_millis = 0;
};

struct TransportMetrics {
  uint64_t connected_clients = 0;        // gauge
  uint64_t requests_in_flight = 0;       // gauge
  uint64_t request_bytes_in_flight = 0;  // gauge
  uint64_t paused_connections = 0;       // gauge
  uint64_t connections = 0;
  uint64_t connections_refused = 0;
  uint64_t requests = 0;
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t requests_discarded = 0;
  uint64_t protocol_errors = 0;
  uint64_t auth_successes = 0;
  uint64_t auth_failures = 0;
  uint64_t events_sent = 0;
  Histogram request_micros;  // from the read that completed the request to its answer
};

// Begins the tracing of one request: TraceSession::begin, or a test's own.
using TraceFactory = std::unique_ptr<TraceSession> (*)(QueryServices& services, const ClientState& client,
                                                       std::string request,
                                                       std::map<std::string, std::string> parameters);

enum EventMask : uint8_t;
class ServerConnection;
struct ServerShard;

class Server {
 public:
  // `schema` is this shard's; its changes are sent to the clients that registered. All must outlive the server.
  Server(ShardRuntime& runtime, QueryProcessor& processor, SchemaStore& schema, TransportOptions options,
         TraceFactory begin_trace = &TraceSession::begin);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Listens; kIo naming the address when that is impossible. Idempotent. Where the options say port 0, this is the one
  // that another shard was given; likewise the shard-aware port.
  Status start(uint16_t port = 0, uint16_t shard_aware_port = 0);
  // Accepts nobody from here on. To be called on every shard before the first one's stop(): clients connect anew as soon
  // as they lose a connection, and some wait forever for the answer to a STARTUP that another shard just accepted.
  void stop_listening();
  // Stops listening, answers what was received (for at most drain_timeout), closes every connection. start() may follow.
  // The server may be destroyed when this has completed.
  Task<void> stop();
  bool running() const { return listener_ != nullptr; }
  // Whether the last start() failed, and the shard-aware port was why.
  bool lacks_shard_aware_port() const { return lacks_shard_aware_port_; }
  uint16_t port() const;              // of the listener, when running
  uint16_t shard_aware_port() const;  // 0: none

  // The servers of all shards in order, once, before start().
  void set_peers(const std::vector<Server*>& peers);

  // Events about other nodes, named by their native address; repeated ones are sent once. To be called on every shard.
  void node_up(const SocketAddress& node);
  void node_down(const SocketAddress& node);
  void node_added(const SocketAddress& node);
  void node_removed(const SocketAddress& node);
  void node_moved(const SocketAddress& node);

  // The settings that an operator may change: with the next frame, or the next password.
  bool allows_older_protocols() const;
  void allow_older_protocols(bool allow);
  Duration credentials_validity() const;
  void set_credentials_validity(Duration validity);
  // See Authenticator.
  void invalidate_credentials(const std::vector<std::string>& roles);

  std::vector<ClientInfo> clients() const;  // in order of their arrival
  std::vector<ClientHistory> client_history() const;
  void clear_client_history();
  TransportMetrics metrics() const;

 private:
  struct Peer {
    Executor* executor;
    std::weak_ptr<ServerShard> core;
  };
  struct LatestEvents {
    std::string status, topology;
  };

  static void send_schema_events(ServerShard& core, const SchemaDiff& diff);
  static Status make_authenticator(ServerShard& core);
  std::shared_ptr<ConnectionHandler> accept(Connection& connection);
  void tell_peers(const std::string& host, int64_t delta);
  void node_event(EventMask kind, const char* change, const SocketAddress& node);
  void schedule_sweep();
  // Waits until done() or until the timeout has passed.
  Task<void> wait_until(bool (*done)(const ServerShard&), Duration timeout);
  template <class F>
  void for_each_connection(F f);

  std::shared_ptr<ServerShard> core_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Listener> shard_aware_listener_;
  bool lacks_shard_aware_port_ = false;
  std::vector<Peer> peers_;
  std::map<SocketAddress, LatestEvents> latest_events_;
  TimerId sweep_ = 0;
};

}  // namespace cassandra_like
