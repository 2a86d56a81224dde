// Accepting, events and shutdown of one shard's native protocol server.
#include "transport/server.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/log.h"
#include "transport/connection.h"
#include "transport/server_shard.h"

namespace cassandra_like {

namespace {

constexpr size_t kMaxHistoryOfVersion = 100;
constexpr Duration kMaxSweepInterval = std::chrono::seconds(15);
constexpr Duration kMinSweepInterval = std::chrono::milliseconds(10);
constexpr Duration kCloseTimeout = std::chrono::seconds(1);

}  // namespace

const char* connection_stage_name(ConnectionStage stage) {
  switch (stage) {
    case ConnectionStage::kEstablished:
      return "established";
    case ConnectionStage::kAuthenticating:
      return "authenticating";
    case ConnectionStage::kReady:
      return "ready";
  }
  return "";
}

Server::Server(ShardRuntime& runtime, QueryProcessor& processor, SchemaStore& schema, TransportOptions options,
               TraceFactory begin_trace)
    : core_(std::make_shared<ServerShard>(runtime, processor, std::move(options), begin_trace)) {
  core_->on_connection_closed = [this](const std::string& host) { tell_peers(host, -1); };
  schema.add_listener([weak = std::weak_ptr<ServerShard>(core_)](const SchemaDiff& diff) {
    if (auto core = weak.lock()) send_schema_events(*core, diff);
  });
}

Server::~Server() {
  // The connections that remain know only the core.
  core_->on_connection_closed = nullptr;
  core_->on_progress = nullptr;
  if (sweep_ != 0) core_->runtime.executor.cancel(sweep_);
}

uint16_t Server::port() const { return listener_ ? listener_->port() : 0; }
uint16_t Server::shard_aware_port() const { return core_->shard_aware_port; }

void Server::set_peers(const std::vector<Server*>& peers) {
  for (Server* peer : peers) {
    if (peer != this) peers_.push_back({&peer->core_->runtime.executor, peer->core_});
  }
}

void ServerShard::release_bytes(HostUsage& host, size_t size) {
  request_limits.release(host, size);
  if (waiting_for_bytes == 0) return;
  for (auto& [id, connection] : connections) connection->reconsider_bytes();
}

void ServerShard::note_client(int version, const std::string& host) {
  history[{version, host}] = runtime.clock.wall_millis();
  auto first = history.lower_bound({version, ""});
  auto last = history.lower_bound({version + 1, ""});
  if (static_cast<size_t>(std::distance(first, last)) <= kMaxHistoryOfVersion) return;
  history.erase(std::min_element(first, last, [](const auto& a, const auto& b) { return a.second < b.second; }));
}

// Connections may close, or open, while they are told something.
template <class F>
void Server::for_each_connection(F f) {
  std::vector<std::shared_ptr<ServerConnection>> all;
  all.reserve(core_->connections.size());
  for (auto& [id, connection] : core_->connections) all.push_back(connection->shared_from_this());
  for (auto& connection : all) f(*connection);
}

Status Server::make_authenticator(ServerShard& core) {
  if (core.authenticator) return {};
  ASSIGN_OR_RETURN(core.authenticator, Authenticator::create(core.options.authenticator, core.runtime, core.processor,
                                                             core.options.credentials_validity));
  return {};
}

Status Server::start(uint16_t port, uint16_t shard_aware_port) {
  if (listener_) return {};
  TRY(make_authenticator(*core_));
  SocketAddress address = core_->options.address;
  if (address.port == 0) address.port = port;
  auto acceptor = [this](Connection& connection) { return accept(connection); };
  Network& network = core_->runtime.network;
  if (core_->options.shard_aware) {
    const uint16_t wanted = core_->options.shard_aware_port;
    const SocketAddress by_port{address.host, wanted == 0 ? shard_aware_port : wanted};
    auto listener = network.listen(by_port, acceptor, Spread::kBySourcePort);
    lacks_shard_aware_port_ = !listener.ok();
    ASSIGN_OR_RETURN(shard_aware_listener_, std::move(listener));
    core_->shard_aware_port = shard_aware_listener_->port();
  }
  ASSIGN_OR_RETURN(listener_, network.listen(address, acceptor));
  if (core_->runtime.executor.shard() == 0) {
    LOG_INFO("Starting listening for CQL clients on /{}:{} (unencrypted)...", address.host, listener_->port());
  }
  return {};
}

std::shared_ptr<ConnectionHandler> Server::accept(Connection& connection) {
  const std::string host = connection.remote_address().host;
  if (!core_->connection_limits.admits(host)) {
    ++core_->metrics.connections_refused;
    if (auto more = core_->refusals.take(core_->now())) {
      LOG_WARN(
          "Refused a client at {}: too many native connections (see native_transport_max_concurrent_connections and "
          "native_transport_max_concurrent_connections_per_ip in cassandra.yaml){}",
          host, *more);
    }
    return nullptr;
  }
  HostUsage& usage = core_->connection_limits.opened(host);
  tell_peers(host, 1);
  ++core_->metrics.connections;
  const uint64_t id = core_->next_id++;
  auto handler = std::make_shared<ServerConnection>(core_, connection, id, usage);
  core_->connections.emplace(id, handler.get());
  schedule_sweep();
  return handler;
}

void Server::tell_peers(const std::string& host, int64_t delta) {
  if (!core_->connection_limits.enabled()) return;
  for (const Peer& peer : peers_) {
    peer.executor->post([weak = peer.core, host, delta] {
      if (auto core = weak.lock()) core->connection_limits.changed_elsewhere(host, delta);
    });
  }
}

// Runs only while there is somebody to look at.
void Server::schedule_sweep() {
  const Duration idle = core_->options.idle_timeout;
  const Duration stall = core_->options.stall_timeout;
  if (sweep_ != 0 || (idle.count() <= 0 && stall.count() <= 0)) return;
  Duration interval = kMaxSweepInterval;
  if (idle.count() > 0) interval = std::min(interval, idle / 4);
  if (stall.count() > 0) interval = std::min(interval, stall / 4);
  sweep_ = core_->runtime.executor.schedule(std::max(interval, kMinSweepInterval), [this] {
    sweep_ = 0;
    const int64_t now = core_->now();
    for_each_connection([now](ServerConnection& connection) { connection.check_idle(now); });
    if (!core_->connections.empty()) schedule_sweep();
  });
}

Task<void> Server::wait_until(bool (*done)(const ServerShard&), Duration timeout) {
  if (done(*core_)) co_return;
  Promise<bool> finished;
  bool set = false;
  auto finish = [&finished, &set](bool value) {
    if (std::exchange(set, true)) return;
    finished.set(value);
  };
  core_->on_progress = [&finish, done, core = core_.get()] {
    if (done(*core)) finish(true);
  };
  const TimerId timer = core_->runtime.executor.schedule(timeout, [&finish] { finish(false); });
  const bool in_time = co_await finished;
  if (in_time) core_->runtime.executor.cancel(timer);
  core_->on_progress = nullptr;
}

void Server::stop_listening() {
  if (listener_ == nullptr) return;
  listener_.reset();
  shard_aware_listener_.reset();
  core_->shard_aware_port = 0;
  if (core_->runtime.executor.shard() == 0) LOG_INFO("Stop listening for CQL clients");
}

Task<void> Server::stop() {
  stop_listening();
  for_each_connection([](ServerConnection& connection) { connection.stop_reading(); });
  auto idle = [](const ServerShard& core) { return core.metrics.requests_in_flight == 0; };
  co_await wait_until(idle, core_->options.drain_timeout);
  if (core_->metrics.requests_in_flight > 0) {
    LOG_WARN("Some connections took longer than the native transport timeout to complete");
  }
  for_each_connection([](ServerConnection& connection) { connection.close(); });
  auto closed = [](const ServerShard& core) { return core.connections.empty(); };
  co_await wait_until(closed, kCloseTimeout);
  for_each_connection([](ServerConnection& connection) { connection.close_now(); });
  co_await wait_until(closed, kCloseTimeout);
}

// ---- events

void Server::send_schema_events(ServerShard& core, const SchemaDiff& diff) {
  for (auto& [id, connection] : core.connections) {
    if (!connection->wants(kSchemaChange)) continue;
    for (const SchemaEvent& event : diff.events) connection->send_schema_event(event);
  }
}

void Server::node_up(const SocketAddress& node) { node_event(kStatusChange, "UP", node); }
void Server::node_down(const SocketAddress& node) { node_event(kStatusChange, "DOWN", node); }
void Server::node_added(const SocketAddress& node) { node_event(kTopologyChange, "NEW_NODE", node); }
void Server::node_removed(const SocketAddress& node) { node_event(kTopologyChange, "REMOVED_NODE", node); }
void Server::node_moved(const SocketAddress& node) { node_event(kTopologyChange, "MOVED_NODE", node); }

void Server::node_event(EventMask kind, const char* change, const SocketAddress& node) {
  LatestEvents& latest = latest_events_[node];
  std::string& last = kind == kStatusChange ? latest.status : latest.topology;
  if (last == change) return;
  last = change;
  if (kind == kStatusChange) latest.topology.clear();  // it may leave and come again
  const char* name = kind == kStatusChange ? "STATUS_CHANGE" : "TOPOLOGY_CHANGE";
  for (auto& [id, connection] : core_->connections) {
    if (connection->wants(kind)) connection->send_node_event(name, change, node);
  }
}

// ---- settings

bool Server::allows_older_protocols() const { return core_->options.allow_older_protocols; }
void Server::allow_older_protocols(bool allow) { core_->options.allow_older_protocols = allow; }
Duration Server::credentials_validity() const { return core_->options.credentials_validity; }

void Server::set_credentials_validity(Duration validity) {
  core_->options.credentials_validity = validity;
  if (core_->authenticator) core_->authenticator->set_credentials_validity(validity);
}

void Server::invalidate_credentials(const std::vector<std::string>& roles) {
  if (core_->authenticator) core_->authenticator->invalidate_credentials(roles);
}

// ---- what others ask

std::vector<ClientInfo> Server::clients() const {
  std::vector<ClientInfo> out;
  out.reserve(core_->connections.size());
  for (const auto& [id, connection] : core_->connections) out.push_back(connection->info());
  return out;
}

std::vector<ClientHistory> Server::client_history() const {
  std::vector<ClientHistory> out;
  for (const auto& [key, seen] : core_->history) out.push_back({key.first, key.second, seen});
  return out;
}

void Server::clear_client_history() { core_->history.clear(); }

TransportMetrics Server::metrics() const {
  TransportMetrics out = core_->metrics;
  out.connected_clients = core_->connections.size();
  return out;
}

}  // namespace cassandra_like
