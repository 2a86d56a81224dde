#include "node/cluster_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "coordinator/denylist.h"
#include "cql/auth/roles.h"
#include "gossip/snitch.h"
#include "node/admin_wiring.h"
#include "node/options.h"
#include "replica/sharded_replica.h"
#include "replica/size_estimates.h"
#include "ring/token_allocator.h"
#include "runtime/gather.h"
#include "schema/system_tables.h"
#include "storage/engine/logged_batches.h"

namespace cassandra_like {

namespace {

constexpr Duration kSnapshotCleanupPeriod = std::chrono::seconds(60);
// Cassandra's times: first when the node has come to rest, then every five minutes.
constexpr Duration kFirstSizeEstimates = std::chrono::seconds(30);
constexpr Duration kSizeEstimatesPeriod = std::chrono::minutes(5);
// LoadBroadcaster.
constexpr Duration kLoadPeriod = std::chrono::seconds(60);
// Cassandra's superuser setup delay.
constexpr Duration kRoleSetupDelay = std::chrono::seconds(10);

// Whether a peer is in this node's datacenter. One that gossip has not told of is taken to be elsewhere, unless the snitch
// knows better.
std::function<bool(const InetAddressAndPort&)> is_near(const Config& config, Replica& replica) {
  if (config.endpoint_snitch.ends_with("SimpleSnitch")) return [](const InetAddressAndPort&) { return true; };
  const bool infers = config.endpoint_snitch.ends_with("RackInferringSnitch");
  return [infers, &replica](const InetAddressAndPort& peer) {
    const Topology& topology = *replica.topology().current();
    const std::string& here = topology.local().datacenter;
    if (infers) return inferred_location(peer).datacenter == here;
    for (const Endpoint& endpoint : topology.ring()->endpoints()) {
      if (InetAddressAndPort::parse(endpoint.address, endpoint.storage_port) == peer)
        return endpoint.datacenter == here;
    }
    return false;
  };
}

}  // namespace

ClusterNode::ClusterNode(Runtime& runtime, Config config, ClusterNodeHooks hooks)
    : runtime_(runtime),
      config_(std::move(config)),
      cql_options_(cql_options(config_)),
      hooks_(std::move(hooks)),
      parts_(runtime.shard_count()) {}

ClusterNode::~ClusterNode() = default;

uint16_t ClusterNode::admin_port() const { return admin_ == nullptr ? 0 : admin_->port(); }
Replica& ClusterNode::replica(unsigned shard) { return replicas_->shard(shard); }

const char* ClusterNode::operation_mode() const {
  if (drained_) return "DRAINED";
  if (draining_) return "DRAINING";
  if (!started_) return "STARTING";
  return membership_ == nullptr || membership_->has_joined() ? "NORMAL" : "STARTING";
}

Task<Status> ClusterNode::on_every_shard(std::function<Task<Status>(unsigned)> work) {
  auto statuses = co_await gather<Status>(runtime_, home(), std::move(work));
  co_return first_error(std::move(statuses));
}

// Its clock, as files hold times of deletions in seconds from 1970 to 2106, and the directories that are there.
Result<FoundIds> ClusterNode::check_machine() {
  const int64_t seconds = runtime_.shard(0).clock.wall_seconds();
  if (seconds < 0 || seconds > kMaxDeletionTime) {
    return Error(
        ErrorCode::kConfigError,
        fmt::format("The clock is {} s from 1970-01-01: it must be between 1970 and 2106. Set the clock", seconds));
  }
  for (const std::string& directory : config_.data_file_directories) {
    if (!disk().exists(directory)) continue;
    const auto entries = disk().list(directory);
    if (!entries.ok()) return config_.error_at("data_file_directories", entries.error().message());
  }
  for (const std::string& directory : empty_data_directories(disk(), config_.data_file_directories)) {
    LOG_WARN(
        "{} is empty, and other data directories are not: if its disk is not mounted, rows are missing. Stop the "
        "node then, and mount it",
        directory);
  }
  DirectoryCheck check;
  check.data_directories = config_.data_file_directories;
  check.local_system_directory = config_.local_system_data_file_directory;
  return check_data_directories(disk(), check);
}

Status ClusterNode::prepare_directories() {
  for (const std::string& directory : config_.data_file_directories) TRY(prepare(directory, "data_file_directories"));
  TRY(prepare(config_.commitlog_directory, "commitlog_directory"));
  TRY(prepare(config_.hints_directory, "hints_directory"));
  return prepare(config_.saved_caches_directory, "saved_caches_directory");
}

// Nobody else may use it while this node does.
Status ClusterNode::prepare(const std::string& directory, const char* key) {
  if (directory.empty()) return {};
  if (!disk().exists(directory)) made_directories_.push_back(directory);
  Status made = disk().make_directories(directory);
  if (!made.ok()) {
    return config_.error_at(key, made.error().message() + ": write a directory that this user can write to");
  }
  auto real = disk().real_path(directory);
  if (!real.ok()) return config_.error_at(key, real.error().message());
  if (const auto [other, is_new] = real_directories_.try_emplace(*real, key); !is_new) {
    return config_.error_at(key, fmt::format("{} is also in {}: write another directory", *real, other->second));
  }
  auto lock = disk().lock(directory);
  if (!lock.ok()) {
    return config_.error_at(key, lock.error().message() + ": stop that process, or write another directory");
  }
  locks_.push_back(std::move(*lock));
  return {};
}

// At the one that the file has.
Error ClusterNode::listen_error(const Error& error, const char* address_key, const char* port_key) const {
  if (error.code() == ErrorCode::kOverloaded) return error;  // of descriptors, whatever the address is
  const bool has_only_address = config_.lines.contains(address_key) && !config_.lines.contains(port_key);
  return config_.error_at(
      has_only_address ? address_key : port_key,
      fmt::format("{}: stop what listens there, or write another {} or {}", error.message(), address_key, port_key));
}

Error ClusterNode::binary_error(const Error& error) {
  bool lacks_other = false;
  for (unsigned shard = 0; shard < runtime_.shard_count(); ++shard) {
    lacks_other |= server(shard).lacks_shard_aware_port();
  }
  return listen_error(error, "rpc_address",
                      lacks_other ? "native_shard_aware_transport_port" : "native_transport_port");
}

// A directory is on the disk when the one that holds it was synced, and so on up to the root.
Task<Status> ClusterNode::sync_parents(std::vector<std::string> made) {
  std::set<std::string> parents;
  for (std::string path : made) {
    for (size_t slash = path.rfind('/'); slash != std::string::npos && !path.empty(); slash = path.rfind('/')) {
      path.resize(slash);
      parents.insert(path.empty() ? "/" : path);
    }
  }
  for (const std::string& parent : parents) CO_TRY(co_await disk().sync_directory(parent));
  co_return Status();
}

LocalNode ClusterNode::local_node() const {
  LocalNode node;
  node.cluster_name = config_.cluster_name;
  node.data_center = config_.data_center;
  node.rack = config_.rack;
  node.listen_address = config_.listen_address;
  node.broadcast_address = config_.effective_broadcast_address();
  node.rpc_address = config_.effective_broadcast_rpc_address();
  node.storage_port = config_.storage_port;
  node.native_port = config_.native_transport_port;
  node.tokens.assign(config_.initial_token.begin(), config_.initial_token.end());
  // With other nodes they are taken when these are known.
  node.takes_tokens = config_.join_ring && !hooks_.serve_peers;
  const CqlOptions cql = cql_options(config_);
  node.system_keyspaces = {cql.default_compaction, cql.default_keyspace_rf};
  node.cdc_enabled = config_.cdc_enabled;
  return node;
}

Status ClusterNode::make_parts(unsigned shard) {
  ShardRuntime& runtime = runtime_.shard(shard);
  ShardParts& parts = parts_[shard];
  Replica& replica = replicas_->shard(shard);
  if (messengers_ != nullptr) {
    parts.messenger = std::make_unique<Messenger>(*messengers_, shard);
    parts.hints = Hints::create(runtime, shard, *parts.messenger, hints_control_);
  }
  if (parts.messenger != nullptr) parts.messenger->locate_with(is_near(config_, replica));
  const CoordinatorPeers peers{parts.messenger.get(), parts.hints.get()};
  parts.coordinator = Coordinator::create(runtime, replica, coordinator_options(config_), peers);
  parts.processor = QueryProcessor::create(runtime, *parts.coordinator, cql_options_);
  TransportOptions options = transport_options(config_);
  options.shards = runtime_.shard_count();
  options.trace_settings = trace_settings_;
  parts.server = std::make_unique<Server>(runtime, *parts.processor, replica.schema(), std::move(options));
  return {};
}

// Each refers to those above it.
void ClusterNode::destroy_parts(unsigned shard) {
  ShardParts& parts = parts_[shard];
  parts.server.reset();
  parts.processor.reset();
  parts.coordinator.reset();
  parts.hints.reset();
  parts.requests.reset();
  parts.messenger.reset();
}

Task<Status> ClusterNode::connect_parts(unsigned shard) {
  std::vector<QueryProcessor*> processors;
  std::vector<Server*> servers;
  for (ShardParts& parts : parts_) {
    processors.push_back(parts.processor.get());
    servers.push_back(parts.server.get());
  }
  parts_[shard].processor->set_peers(std::move(processors));
  parts_[shard].server->set_peers(servers);
  add_system_views(admin_node(*this, runtime_), shard, admin_hooks(*this, runtime_, hooks_.on_stop_requested));
  return parts_[shard].processor->load_prepared();
}

Result<std::vector<InetAddressAndPort>> ClusterNode::read_seeds() {
  if (!hooks_.read_config) return invalid("The node has no configuration file");
  ASSIGN_OR_RETURN(const Config config, hooks_.read_config(runtime_.shard(0).disk));
  return seed_addresses(config);
}

// Handlers first: a peer may connect as soon as somebody listens.
Task<Status> ClusterNode::open_peers(unsigned shard) {
  ShardParts& parts = parts_[shard];
  membership_->handle_verbs(*parts.messenger);
  schema_sync_->handle_verbs(*parts.messenger, runtime_.shard(shard), replicas_->shard(shard));
  PeerRequestsOptions requests = peer_requests_options(config_);
  requests.on_unknown_schema = [sync = schema_sync_.get(), executor = &runtime_.shard(0).executor] {
    executor->post([sync] { sync->hurry(); });
  };
  parts.requests = handle_peer_requests(*parts.messenger, runtime_.shard(shard), *parts.coordinator, parts.hints.get(),
                                        std::move(requests));
  Task<Status> opening = parts.hints->open();
  co_return co_await opening;
}

namespace {

// Nothing between nodes is encrypted.
bool is_private(const InetAddressAndPort& address) {
  const auto& b = address.bytes;
  if (address.is_ipv6) return (b[0] & 0xFE) == 0xFC || (b[0] == 0xFE && (b[1] & 0xC0) == 0x80) || b[0] == 0;
  return b[0] == 10 || b[0] == 127 || (b[0] == 172 && (b[1] & 0xF0) == 16) || (b[0] == 192 && b[1] == 168) ||
         (b[0] == 169 && b[1] == 254);
}

}  // namespace

Status ClusterNode::listen_to_peers(unsigned shard) {
  return parts_[shard].messenger->listen({config_.listen_address, config_.storage_port});
}

MembershipListener ClusterNode::membership_listener() {
  MembershipListener listener;
  listener.on_node = [this](const NodeChange& change) { tell_hints(change); };
  listener.on_driver_event = [this](const DriverEvent& event) { tell_drivers(event); };
  listener.on_schema_version = [this](const InetAddressAndPort& peer, const Uuid& version) {
    note_schema_version_of(*hints_control_, peer, version);
    schema_sync_->on_version(peer, version);
  };
  listener.on_removed = [this] {
    if (hooks_.on_stop_requested) {
      hooks_.on_stop_requested(Error(ErrorCode::kInvalid, "Another node has removed this one from the ring"));
    }
  };
  return listener;
}

void ClusterNode::tell_hints(const NodeChange& change) {
  if (change.kind != NodeChange::Kind::kUp) schema_sync_->on_gone(change.address);
  if (change.host_id.is_nil()) return;
  for (unsigned shard = 0; shard < runtime_.shard_count(); ++shard) {
    Hints* hints = parts_[shard].hints.get();
    runtime_.shard(shard).executor.post([hints, change] {
      if (change.kind == NodeChange::Kind::kUp) hints->node_up(change.host_id, change.address);
      if (change.kind == NodeChange::Kind::kDown) hints->node_down(change.host_id);
      if (change.kind == NodeChange::Kind::kLeft) hints->node_left(change.host_id);
    });
  }
}

void ClusterNode::tell_drivers(const DriverEvent& event) {
  const SocketAddress node{event.node.host(), event.node.port};
  for (unsigned shard = 0; shard < runtime_.shard_count(); ++shard) {
    Server* server = parts_[shard].server.get();
    runtime_.shard(shard).executor.post([server, node, kind = event.kind] {
      if (kind == DriverEvent::Kind::kNewNode) server->node_added(node);
      if (kind == DriverEvent::Kind::kRemovedNode) server->node_removed(node);
      if (kind == DriverEvent::Kind::kMovedNode) server->node_moved(node);
      if (kind == DriverEvent::Kind::kUp) server->node_up(node);
      if (kind == DriverEvent::Kind::kDown) server->node_down(node);
    });
  }
}

namespace {

// initial_token's, if nobody has one of them (BootStrapper.getSpecifiedTokens): the other node would lose it to this one, and its
// data would not be found any more.
Result<std::vector<Token>> specified_tokens(const Config& config, const TokenRing& ring) {
  for (const TokenRing::Entry& entry : ring.entries()) {
    if (std::ranges::find(config.initial_token, entry.token) == config.initial_token.end()) continue;
    return config.error_at("initial_token",
                           fmt::format("Bootstrapping to existing token {} is not allowed (decommission/removenode the "
                                       "old node first).",
                                       entry.token));
  }
  std::vector<Token> tokens(config.initial_token.begin(), config.initial_token.end());
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

}  // namespace

// Takes initial_token's, or num_tokens tokens that nobody has: a first node's are spread evenly, others are chosen for the
// replication factor if the configuration names one, or else random.
Task<Result<std::vector<Token>>> ClusterNode::take_tokens(std::shared_ptr<const TokenRing> ring) {
  const size_t count = config_.num_tokens ? static_cast<size_t>(*config_.num_tokens) : 1;
  Random& random = runtime_.shard(0).random;
  std::vector<Token> tokens;
  if (!config_.initial_token.empty()) {
    CO_ASSIGN_OR_RETURN(tokens, specified_tokens(config_, *ring));
  } else if (ring->entries().empty()) {
    tokens = make_tokens(count, random);
  } else if (config_.allocate_tokens_for_local_replication_factor) {
    TokenRequest request{config_.data_center, config_.rack, *config_.allocate_tokens_for_local_replication_factor,
                         count, static_cast<Token>(random.next())};
    CO_ASSIGN_OR_RETURN(tokens, allocate_tokens(*ring, request));
  } else {
    std::set<Token> taken{kMinimumToken};
    for (const TokenRing::Entry& entry : ring->entries()) taken.insert(entry.token);
    while (tokens.size() < count) {
      const auto token = static_cast<Token>(random.next());
      if (taken.insert(token).second) tokens.push_back(token);
    }
    std::sort(tokens.begin(), tokens.end());
  }
  Task<Status> saving = replicas_->take_tokens(tokens);
  CO_TRY(co_await saving);
  co_return tokens;
}

// The schema of this node: its version is told to others, theirs is pulled.
Task<Status> ClusterNode::join_cluster() {
  SchemaStore& schema = replicas_->shard(0).schema();
  CO_ASSIGN_OR_RETURN(MembershipOptions options,
                      membership_options(config_, replicas_->shard(0).local_node(), schema.current()->version()));
  std::vector<Replica*> replicas;
  for (unsigned shard = 0; shard < runtime_.shard_count(); ++shard) replicas.push_back(&replicas_->shard(shard));
  Messenger& messenger = *parts_[0].messenger;
  auto* self = this;
  options.take_tokens = [self](std::shared_ptr<const TokenRing> ring) { return self->take_tokens(std::move(ring)); };
  membership_ =
      MembershipService::create(runtime_, std::move(replicas), messenger, std::move(options), membership_listener());
  SchemaSyncNode sync;
  sync.live_peers = [self] { return self->membership_->live_peers(); };
  sync.has_same_major_version = [self](const InetAddressAndPort& peer) {
    const EndpointState* state = self->membership_->gossiper().state(peer);
    return state != nullptr && state->text(ApplicationState::kReleaseVersion).starts_with("5.");
  };
  schema_sync_ = SchemaSync::create(runtime_.shard(0), messenger, replicas_->shard(0), std::move(sync));
  auto open = [self](unsigned shard) { return self->open_peers(shard); };
  CO_TRY(co_await on_every_shard(open));
  auto listen = [self](unsigned shard) { return Task<Status>(self->listen_to_peers(shard)); };
  Status listening = co_await on_every_shard(listen);
  if (!listening.ok()) co_return listen_error(listening.error(), "listen_address", "storage_port");
  const auto listen_address = InetAddressAndPort::parse(config_.listen_address);
  if (listen_address && !is_private(*listen_address)) {
    LOG_WARN(
        "listen_address {} is not private, and messages between nodes are not encrypted: let only nodes reach port {}",
        config_.listen_address, config_.storage_port);
  }
  note_schema_version(*hints_control_, schema.current()->version());
  schema.add_listener([self](const SchemaDiff& diff) {
    note_schema_version(*self->hints_control_, diff.schema->version());
    if (!self->draining_) self->membership_->set_schema_version(diff.schema->version());
  });
  Task<Status> starting = membership_->start();
  CO_TRY(co_await starting);
  Task<Status> agreeing = schema_sync_->await_agreement(config_.ring_delay);
  co_return co_await agreeing;
}

namespace {

// A keyspace's event has no name: all its tables go.
bool is_drop_of_tables(const SchemaEvent& event) {
  return event.change == "DROPPED" && (event.target == "TABLE" || event.target == "KEYSPACE");
}

}  // namespace

Task<Status> ClusterNode::take_batches_over(EngineOptions options) {
  return log_batches_of_sstables(&runtime_.shard(0), std::move(options), builtin_schema()->table("system", "batches"));
}

Task<Status> ClusterNode::open() {
  CO_ASSIGN_OR_RETURN(const FoundIds ids, check_machine());
  CO_TRY(co_await finish_transactions(&disk(), config_.data_file_directories));
  CO_TRY(prepare_directories());
  CO_TRY(co_await sync_parents(std::move(made_directories_)));
  EngineOptions options = engine_options(config_);
  options.sequence_ids = writes_sequence_ids(config_, ids);
  CO_TRY(co_await take_batches_over(options));
  auto* hooks = &hooks_;
  Executor* home_executor = &home();
  options.on_failure = [hooks, home_executor](FailurePolicy, const Error& error) {
    home_executor->post([hooks, error] {
      if (hooks->on_stop_requested) hooks->on_stop_requested(Status(error));
    });
  };
  CO_ASSIGN_OR_RETURN(replicas_, co_await ShardedReplica::open(&runtime_, std::move(options), local_node(),
                                                               static_cast<size_t>(config_.num_tokens.value_or(1))));
  auto* self = this;
  if (hooks_.serve_peers) {
    LinkOptions links = link_options(config_);
    // This node opens as many to peers. The rest is for clients and files.
    links.most_inbound = std::min(links.most_inbound, runtime_.descriptors() / 3);
    messengers_ = std::make_unique<MessengerGroup>(runtime_, links);
    hints_control_ = make_hints_control(hints_options(config_), runtime_.shard_count());
  }
  auto make = [self](unsigned shard) { return Task<Status>(self->make_parts(shard)); };
  auto connect = [self](unsigned shard) { return self->connect_parts(shard); };
  CO_TRY(co_await on_every_shard(make));
  CO_TRY(co_await on_every_shard(connect));
  if (messengers_ != nullptr) CO_TRY(co_await join_cluster());
  co_await parts_[0].coordinator->batchlog().replay_all();
  co_await make_default_role();
  if (config_.partition_denylist_enabled && config_.join_ring) co_await load_denylist();
  if (hooks_.serve_admin) {
    AdminHooks with_login = admin_hooks(*this, runtime_, hooks_.on_stop_requested);
    CO_TRY(add_admin_login(with_login, *this, runtime_));
    auto admin = AdminServer::start({config_.admin_address, config_.admin_port}, admin_node(*this, runtime_),
                                    std::move(with_login));
    if (!admin.ok()) co_return listen_error(admin.error(), "admin_address", "admin_port");
    admin_ = std::move(*admin);
  }
  if (config_.start_native_transport) {
    Status listening = co_await enable_binary();
    if (!listening.ok()) co_return binary_error(listening.error());
  }
  started_ = true;
  schedule_snapshot_cleanup();
  auto start_batchlog = [self](unsigned shard) {
    self->coordinator(shard).batchlog().start();
    return Task<Status>(Status());
  };
  CO_TRY(co_await on_every_shard(start_batchlog));
  auto relocate = [self](unsigned shard) {
    self->replicas_->shard(shard).maintenance().relocate_in_background();
    return Task<Status>(Status());
  };
  CO_TRY(co_await on_every_shard(relocate));
  schedule_size_estimates(kFirstSizeEstimates);
  if (membership_ != nullptr) {
    spawn(tell_load());
    schedule_load();
    schedule_disk_usage(Duration::zero());
  }
  replicas_->shard(0).schema().add_listener([self](const SchemaDiff& diff) {
    const bool drops = std::any_of(diff.events.begin(), diff.events.end(), is_drop_of_tables);
    if (drops) spawn(self->forget_dropped_sizes(diff.events));
  });
  LOG_INFO("Startup complete");
  co_return Status();
}

Task<Status> ClusterNode::refresh_size_estimates() {
  if (drained_ || !background_.enter()) co_return Error(ErrorCode::kInvalid, "The node is stopping");
  std::vector<Replica*> replicas;
  for (unsigned shard = 0; shard < runtime_.shard_count(); ++shard) replicas.push_back(&replicas_->shard(shard));
  Task<Status> task = record_size_estimates(&runtime_, std::move(replicas));
  Status status = co_await task;
  background_.leave();
  co_return status;
}

Task<Status> ClusterNode::replay_batchlog() {
  if (drained_ || !background_.enter()) co_return Error(ErrorCode::kInvalid, "The node is stopping");
  auto* self = this;
  auto replay = [self](unsigned shard) { return self->coordinator(shard).batchlog().force_replay(); };
  Status status = co_await on_every_shard(replay);
  background_.leave();
  co_return status;
}

namespace {

Task<void> refresh_in_background(ClusterNode* node) {
  Task<Status> task = node->refresh_size_estimates();
  Status status = co_await task;
  if (!status.ok()) LOG_WARN("The estimates of tables' sizes were not refreshed: {}", status.error().message());
}

}  // namespace

void ClusterNode::schedule_load() {
  load_ = home().schedule(kLoadPeriod, [this] {
    if (!draining_) spawn(tell_load());
    schedule_load();
  });
}

Task<void> ClusterNode::tell_load() {
  if (!background_.enter()) co_return;
  uint64_t bytes = 0;
  const SchemaPtr schema = replicas_->shard(0).schema().current();
  for (const auto& [name, keyspace] : schema->keyspaces()) {
    if (keyspace->is_virtual) continue;
    for (const auto& [table_name, table] : keyspace->tables) {
      Task<std::vector<TableStatistics>> asking = replicas_->shard(0).table_statistics(table->id);
      const std::vector<TableStatistics> by_shard = co_await asking;
      for (const TableStatistics& statistics : by_shard) bytes += statistics.live_disk_bytes;
    }
  }
  if (!draining_) membership_->set_load(bytes);
  background_.leave();
}

void ClusterNode::schedule_disk_usage(Duration delay) {
  disk_usage_ = home().schedule(delay, [this] {
    if (!draining_) spawn(tell_disk_usage());
    schedule_disk_usage(DiskUsageMonitor::kPeriod);
  });
}

Task<void> ClusterNode::tell_disk_usage() {
  if (!background_.enter()) co_return;
  Task<std::vector<EngineStatistics>> asking = replicas_->shard(0).engine_statistics();
  const std::vector<EngineStatistics> all = co_await asking;
  uint64_t memtables = 0;
  for (const EngineStatistics& each : all) memtables += each.memtable_bytes;
  Task<std::optional<DiskUsage>> looking = disks_.look(&runtime_.shard(0), config_.data_file_directories,
                                                       parts_[0].processor->options().guardrails, memtables);
  const std::optional<DiskUsage> usage = co_await looking;
  if (usage && !draining_) membership_->set_disk_usage(*usage);
  background_.leave();
}

// The replicas of system_auth may be other nodes, which may not be there yet.
Task<void> ClusterNode::make_default_role() {
  if (!background_.enter()) co_return;
  Task<Status> creating = create_default_role(parts_[0].processor.get());
  Status created = co_await creating;
  if (!created.ok() && !draining_) {
    LOG_WARN("CassandraRoleManager skipped default role setup: {}: it is tried again", created.error().message());
    default_role_ = home().schedule(kRoleSetupDelay, [this] {
      default_role_ = 0;
      spawn(make_default_role());
    });
  }
  background_.leave();
}

// One shard reads for all of them (StorageProxy.initialLoadPartitionDenylist).
Task<void> ClusterNode::load_denylist() {
  if (!background_.enter()) co_return;
  Task<std::optional<Denylist::KeysByTable>> loading = coordinator(0).denylist()->load();
  const std::optional<Denylist::KeysByTable> keys = co_await loading;
  if (!keys && !draining_) {
    LOG_INFO("Insufficient nodes while loading partition denylist cache. Scheduled retry in {} seconds.",
             config_.denylist_initial_load_retry.count());
    denylist_ = home().schedule(config_.denylist_initial_load_retry, [this] {
      denylist_ = 0;
      spawn(load_denylist());
    });
  }
  auto* self = this;
  auto use = [self, &keys](unsigned shard) {
    if (keys) self->coordinator(shard).denylist()->use(*keys);
    return Task<Status>(Status());
  };
  Status used = co_await on_every_shard(use);
  CHECK(used.ok());
  background_.leave();
}

void ClusterNode::schedule_size_estimates(Duration delay) {
  size_estimates_ = home().schedule(delay, [this] {
    if (!draining_) spawn(refresh_in_background(this));
    schedule_size_estimates(kSizeEstimatesPeriod);
  });
}

Task<void> ClusterNode::forget_dropped_sizes(std::vector<SchemaEvent> events) {
  if (!background_.enter()) co_return;
  for (const SchemaEvent& event : events) {
    if (!is_drop_of_tables(event)) continue;
    const int64_t now = runtime_.shard(0).clock.wall_micros();
    Task<Status> task = forget_size_estimates(&replicas_->shard(0), event.keyspace, event.name, now);
    Status status = co_await task;
    if (!status.ok()) LOG_WARN("The size of a dropped table was not removed: {}", status.error().message());
  }
  background_.leave();
}

void ClusterNode::schedule_snapshot_cleanup() {
  snapshot_cleanup_ = home().schedule(kSnapshotCleanupPeriod, [this] {
    Status done = clear_expired_snapshots(disk(), engine_options(config_), runtime_.shard(0).clock.wall_millis());
    if (!done.ok()) LOG_WARN("Removing expired snapshots: {}", done.error().message());
    schedule_snapshot_cleanup();
  });
}

Task<Status> ClusterNode::enable_binary() {
  if (drained_) co_return Error(ErrorCode::kInvalid, "The node is drained; restart it to serve clients again");
  // First here, so that all shards listen on the port that this one was given where the configuration says 0.
  CO_TRY(server(0).start());
  auto* self = this;
  uint16_t port = native_port(), shard_aware_port = server(0).shard_aware_port();
  auto start = [self, port, shard_aware_port](unsigned shard) {
    return Task<Status>(self->server(shard).start(port, shard_aware_port));
  };
  CO_TRY(co_await on_every_shard(start));
  if (membership_ != nullptr) membership_->set_rpc_ready(true);
  co_return Status();
}

namespace {

Task<Status> stop_listening(Server* server) {
  server->stop_listening();
  co_return Status();
}

Task<Status> stop_server(Server* server) {
  co_await server->stop();
  co_return Status();
}

}  // namespace

Task<Status> ClusterNode::disable_binary() {
  auto* self = this;
  if (membership_ != nullptr && !peers_stopped_) membership_->set_rpc_ready(false);
  auto stop_to_listen = [self](unsigned shard) { return stop_listening(&self->server(shard)); };
  CO_TRY(co_await on_every_shard(stop_to_listen));
  auto stop = [self](unsigned shard) { return stop_server(&self->server(shard)); };
  CO_TRY(co_await on_every_shard(stop));
  co_return Status();
}

namespace {

Task<Status> stop_coordinator(ClusterNode* node, unsigned shard) {
  co_await node->coordinator(shard).stop();
  co_return Status();
}

}  // namespace

// The writes whose clients are gone end before the engines do, too.
Task<void> ClusterNode::stop_coordinators() {
  if (parts_[0].coordinator == nullptr) co_return;
  auto* self = this;
  auto stop = [self](unsigned shard) { return stop_coordinator(self, shard); };
  Status stopped = co_await on_every_shard(stop);
  CHECK(stopped.ok());
}

namespace {

Task<Status> close_peers_on(ClusterNode* node, unsigned shard) {
  if (node->messenger(shard) == nullptr) co_return Status();
  if (PeerRequests* requests = node->peer_requests(shard)) requests->stop();
  Task<Status> stopping = node->hints(shard)->stop();
  Status stopped = co_await stopping;
  if (!stopped.ok()) LOG_WARN("Hints: {}", stopped.error().message());
  co_await node->messenger(shard)->close();
  co_return Status();
}

}  // namespace

// Behind it no message comes or goes.
Task<void> ClusterNode::stop_peers(bool announces) {
  if (messengers_ == nullptr || std::exchange(peers_stopped_, true)) co_return;
  if (schema_sync_ != nullptr) co_await schema_sync_->stop();
  if (membership_ != nullptr) {
    Task<void> stopping = announces ? membership_->stop() : membership_->halt();
    co_await stopping;
  }
  // Writes that were answered at their level go on to the other replicas, or become hints.
  if (announces) co_await stop_coordinators();
  auto* self = this;
  auto close = [self](unsigned shard) { return close_peers_on(self, shard); };
  Status closed = co_await on_every_shard(close);
  CHECK(closed.ok());
}

Task<Status> ClusterNode::drain() {
  if (drained_) co_return Status();
  draining_ = true;
  LOG_INFO("DRAINING: starting drain process");
  CO_TRY(co_await disable_binary());
  co_await stop_peers(true);
  co_await stop_coordinators();
  Status status = co_await replicas_->drain();
  drained_ = status.ok();
  if (drained_) LOG_INFO("DRAINED");
  co_return status;
}

Task<void> ClusterNode::close() {
  if (snapshot_cleanup_ != 0) home().cancel(std::exchange(snapshot_cleanup_, 0));
  if (size_estimates_ != 0) home().cancel(std::exchange(size_estimates_, 0));
  if (default_role_ != 0) home().cancel(std::exchange(default_role_, 0));
  if (load_ != 0) home().cancel(std::exchange(load_, 0));
  if (disk_usage_ != 0) home().cancel(std::exchange(disk_usage_, 0));
  admin_.reset();
  co_await stop_peers(false);
  co_await background_.close();
  if (denylist_ != 0) home().cancel(std::exchange(denylist_, 0));
  co_await stop_coordinators();
  auto* self = this;
  auto destroy = [self](unsigned shard) {
    self->destroy_parts(shard);
    return Task<Status>(Status());
  };
  Status destroyed = co_await on_every_shard(destroy);
  CHECK(destroyed.ok());
  schema_sync_.reset();
  membership_.reset();
  messengers_.reset();
  if (replicas_ != nullptr) co_await replicas_->stop();
  replicas_.reset();
  locks_.clear();
}

Task<Status> ClusterNode::stop() {
  Status status = co_await drain();
  co_await close();
  co_return status;
}

Task<void> ClusterNode::halt() {
  if (parts_[0].server != nullptr) {
    Status stopped = co_await disable_binary();
    if (!stopped.ok()) LOG_WARN("{}", stopped.error().message());
  }
  co_await close();
}

Task<Result<std::unique_ptr<ClusterNode>>> ClusterNode::start(Runtime* runtime, Config config, ClusterNodeHooks hooks) {
  std::unique_ptr<ClusterNode> node(new ClusterNode(*runtime, std::move(config), std::move(hooks)));
  Status status = co_await node->open();
  if (!status.ok()) {
    co_await node->halt();
    co_return std::move(status.error());
  }
  co_return std::move(node);
}

}  // namespace cassandra_like
