#include "peers/membership_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/log_quota.h"
#include "peers/peer_rows.h"
#include "schema/system_timestamps.h"
#include "storage/engine/engine.h"

namespace cassandra_like {
namespace {

constexpr Duration kRound = std::chrono::milliseconds(Gossiper::kIntervalMillis);
// A node that starts waits this long for the others that it has heard of, before it serves clients: Gossiper.waitToSettle.
// Behind the push of the change: a node of Cassandra that learns of a version first may pull the whole schema. Several
// changes in a row are told of once.
constexpr Duration kSchemaSpread = std::chrono::milliseconds(50);
constexpr Duration kSettlePoll = std::chrono::milliseconds(10);
constexpr int kMostSettlePolls = 500;
// Between the announcement of a shutdown and the end of the connections (cassandra.shutdown_announce_in_ms).
constexpr Duration kShutdownAnnouncement = std::chrono::seconds(2);

// A gossip message on its way to shard 0.
struct GossipMessage {
  InetAddressAndPort from;
  int64_t created_millis = 0;
  std::variant<GossipDigestSyn, GossipDigestAck, GossipDigestAck2, GossipShutdown> body;
};

// A shard serves so much gossip of one peer in a second. A node of Cassandra sends ten messages; one whose schema changes all
// the time sends some dozens. All states of 1000 nodes with 256 tokens each take 6 MB. A later round brings what is dropped.
class GossipAllowance {
 public:
  bool take(const InetAddressAndPort& peer, size_t bytes, int64_t now_nanos) {
    if (now_nanos - began_ >= kRound.count()) {
      began_ = now_nanos;
      used_.clear();
    }
    Used& used = used_[peer];
    used.bytes += bytes;
    return ++used.messages <= kMostMessages && used.bytes <= kMostBytes;
  }

 private:
  static constexpr int kMostMessages = 256;
  static constexpr size_t kMostBytes = size_t{32} << 20;  // all that a node may know
  struct Used {
    int messages = 0;
    size_t bytes = 0;
  };
  int64_t began_ = 0;
  std::map<InetAddressAndPort, Used> used_;
};

// A shard has one for the messages that arrive on it.
struct Arrivals {
  GossipAllowance allowance;
  LogQuota log;
};

template <class T>
bool keep_body(Result<T> decoded, GossipMessage& message, Status& status) {
  if (!decoded.ok()) {
    status = std::move(decoded.error());
    return false;
  }
  message.body = std::move(*decoded);
  return true;
}

bool has_left(const EndpointState& state) {
  const std::string_view status = state.status();
  return status == state_values::kLeft || status == state_values::kRemoved || status == state_values::kHibernate;
}

Result<GossipMessage> decode(const InboundMessage& in, int64_t now_millis) {
  GossipMessage message{in.from, created_at_millis(in.header.created_millis, now_millis), {}};
  Status status;
  bool decoded = false;
  if (in.header.verb == Verb::kGossipDigestSyn) decoded = keep_body(decode_syn(in.payload), message, status);
  if (in.header.verb == Verb::kGossipDigestAck) decoded = keep_body(decode_ack(in.payload), message, status);
  if (in.header.verb == Verb::kGossipDigestAck2) decoded = keep_body(decode_ack2(in.payload), message, status);
  if (in.header.verb == Verb::kGossipShutdown) {
    decoded = keep_body(decode_shutdown(in.payload, in.version), message, status);
  }
  if (!decoded) return std::move(status.error());
  return message;
}

class MembershipServiceImpl final : public MembershipService, ResponseHandler {
 public:
  MembershipServiceImpl(Runtime& runtime, std::vector<Replica*> replicas, Messenger& messenger,
                        MembershipOptions options, MembershipListener listener)
      : runtime_(runtime),
        here_(runtime.shard(0)),
        replicas_(std::move(replicas)),
        messenger_(messenger),
        options_(std::move(options)),
        listener_(std::move(listener)),
        membership_(options_.membership),
        gossiper_(options_.gossip, membership_, time()) {
    membership_.attach(gossiper_);
  }

  void handle_verbs(Messenger& messenger) override;
  Task<Status> start() override;
  Task<void> stop() override;
  Task<void> halt() override;

  Status enable_gossip() override;
  Status disable_gossip() override;
  Task<Status> assassinate(InetAddressAndPort endpoint) override;
  Status join_ring() override;
  std::vector<InetAddressAndPort> reload_seeds(std::vector<InetAddressAndPort> seeds) override {
    return gossiper_.reload_seeds(seeds);
  }
  void set_rpc_ready(bool ready) override { tell({{ApplicationState::kRpcReady, state_values::boolean(ready)}}); }
  void set_load(uint64_t bytes) override {
    tell({{ApplicationState::kLoad, state_values::number(static_cast<double>(bytes))}});
  }
  void set_disk_usage(DiskUsage usage) override {
    tell({{ApplicationState::kDiskUsage, state_values::disk_usage(usage)}});
  }
  void set_schema_version(const Uuid& version) override;

  bool is_gossip_running() const override { return gossiper_.is_enabled(); }
  bool has_joined() const override { return has_joined_; }
  std::vector<InetAddressAndPort> live_peers() const override {
    return {gossiper_.live().begin(), gossiper_.live().end()};
  }
  const Gossiper& gossiper() const override { return gossiper_; }
  const Membership& membership() const override { return membership_; }

 private:
  // A node as it was told last.
  struct Told {
    std::optional<bool> is_alive;
    Uuid host_id;
    Uuid schema_version;
  };

  GossipTime time() const { return {here_.clock.monotonic_nanos(), here_.clock.wall_millis()}; }
  static Task<VerbResult> take(MembershipServiceImpl* self, ShardRuntime* there, std::shared_ptr<Arrivals> arrivals,
                               InboundMessage message);
  static Task<VerbResult> answer_echo(MembershipServiceImpl* self, ShardRuntime* there);
  void receive(GossipMessage message);
  void on_response(InboundMessage& response) override;
  void on_failure(const InetAddressAndPort& from, RequestFailureReason reason) override;

  Task<Status> shadow_round();
  Status check_may_join() const;
  bool is_settled() const;
  std::shared_ptr<const TokenRing> ring_of_others() const;
  void tell(const LocalStates& states);
  void schedule_round();
  void end_rounds();
  // After each call of the gossiper: sends what it has to say, tells what has changed.
  void flush();
  void send(const GossipSend& send);
  void publish(TopologyPtr topology);
  void tell_nodes();
  Task<void> save_peers();
  Task<Status> note_saved_times();
  Task<Result<std::vector<PeerRow>>> saved_peers();

  Runtime& runtime_;
  ShardRuntime& here_;
  std::vector<Replica*> replicas_;
  Messenger& messenger_;
  MembershipOptions options_;
  MembershipListener listener_;
  Membership membership_;
  Gossiper gossiper_;
  Promise<bool>* shadow_answer_ = nullptr;  // set when the shadow round is answered
  TimerId round_ = 0, shadow_timer_ = 0, spreading_ = 0;
  bool has_joined_ = false;
  bool is_stopping_ = false;
  std::map<InetAddressAndPort, Told> told_;
  std::set<InetAddressAndPort> to_save_, to_remove_;
  bool is_saving_ = false;
  SystemTimestamps saved_at_;
  Gate background_;
};

// ---- Messages

void MembershipServiceImpl::handle_verbs(Messenger& messenger) {
  ShardRuntime* there = &runtime_.shard(messenger.shard());
  auto arrivals = std::make_shared<Arrivals>();
  for (Verb verb : {Verb::kGossipDigestSyn, Verb::kGossipDigestAck, Verb::kGossipDigestAck2, Verb::kGossipShutdown}) {
    messenger.handle(verb, [this, there, arrivals](InboundMessage message) {
      return take(this, there, arrivals, std::move(message));
    });
  }
  messenger.handle(Verb::kEchoReq, [this, there](InboundMessage) { return answer_echo(this, there); });
}

// The message counts in its connection's receive queue until shard 0 has taken it.
Task<VerbResult> MembershipServiceImpl::take(MembershipServiceImpl* self, ShardRuntime* there,
                                             std::shared_ptr<Arrivals> arrivals, InboundMessage message) {
  const int64_t now = there->clock.monotonic_nanos();
  if (!arrivals->allowance.take(message.from, message.payload.size(), now)) {
    if (auto more = arrivals->log.take(now)) {
      LOG_WARN("{} sends more gossip than a node does: the rest of this second is dropped{}", message.from.to_string(),
               *more);
    }
    co_return VerbResult::nothing();
  }
  Result<GossipMessage> decoded = decode(message, there->clock.wall_millis());
  if (!decoded.ok()) {
    if (auto more = arrivals->log.take(now)) {
      LOG_WARN("{}: {}: the message is dropped{}", message.from.to_string(), decoded.error().message(), *more);
    }
    co_return VerbResult::nothing();
  }
  GossipMessage* whole = &*decoded;
  auto receive = [self, whole] {
    self->receive(std::move(*whole));
    return Task<bool>(true);
  };
  Task<bool> receiving = run_on<bool>(there->executor, self->here_.executor, receive);
  co_await receiving;
  co_return VerbResult::nothing();
}

// A node that has announced its shutdown is not called back to life.
Task<VerbResult> MembershipServiceImpl::answer_echo(MembershipServiceImpl* self, ShardRuntime* there) {
  auto ask = [self] { return Task<bool>(self->gossiper_.is_enabled() && !self->is_stopping_); };
  Task<bool> asking = run_on<bool>(there->executor, self->here_.executor, ask);
  const bool answers = co_await asking;
  co_return answers ? VerbResult::answer() : VerbResult::nothing();
}

void MembershipServiceImpl::receive(GossipMessage message) {
  const InetAddressAndPort& from = message.from;
  const int64_t created = message.created_millis;
  if (auto* syn = std::get_if<GossipDigestSyn>(&message.body)) gossiper_.on_syn(from, *syn, created, time());
  if (auto* ack = std::get_if<GossipDigestAck>(&message.body)) {
    gossiper_.on_ack(from, std::move(*ack), created, time());
  }
  if (auto* ack2 = std::get_if<GossipDigestAck2>(&message.body)) {
    gossiper_.on_ack2(from, std::move(*ack2), created, time());
  }
  if (auto* shutdown = std::get_if<GossipShutdown>(&message.body)) {
    gossiper_.on_shutdown(from, std::move(*shutdown), created, time());
  }
  flush();
  if (shadow_answer_ != nullptr && !gossiper_.is_in_shadow_round()) std::exchange(shadow_answer_, nullptr)->set(true);
}

void MembershipServiceImpl::on_response(InboundMessage& response) {
  gossiper_.on_echo_answered(response.from, time());
  flush();
}

void MembershipServiceImpl::on_failure(const InetAddressAndPort& from, RequestFailureReason) {
  gossiper_.on_echo_failed(from);
}

void MembershipServiceImpl::send(const GossipSend& send) {
  auto post = [this, &send](Verb verb, const Bytes& payload) {
    // One that cannot be sent now comes again with a later round.
    messenger_.send(send.to, verb, SharedBytes::copy_of(payload));
  };
  if (auto* syn = std::get_if<GossipDigestSyn>(&send.message)) post(Verb::kGossipDigestSyn, encode_syn(*syn));
  if (auto* ack = std::get_if<GossipDigestAck>(&send.message)) post(Verb::kGossipDigestAck, encode_ack(*ack));
  if (auto* ack2 = std::get_if<GossipDigestAck2>(&send.message)) post(Verb::kGossipDigestAck2, encode_ack2(*ack2));
  if (auto* shutdown = std::get_if<GossipShutdown>(&send.message)) {
    const int version = messenger_.version_of(send.to);
    post(Verb::kGossipShutdown, encode_shutdown(*shutdown, version == 0 ? options_.messaging_version : version));
  }
  if (std::holds_alternative<GossipEcho>(send.message)) messenger_.send_request(send.to, Verb::kEchoReq, {}, *this);
}

// ---- Changes

void MembershipServiceImpl::flush() {
  GossipOutput output = gossiper_.take_output();
  for (const InetAddressAndPort& dead : output.interrupts) messenger_.interrupt(dead);
  for (const GossipSend& one : output.sends) send(one);
  for (const InetAddressAndPort& gone : output.disconnects) messenger_.forget(gone);
  MembershipChanges changes = membership_.take_changes();
  if (changes.ring || changes.liveness) publish(membership_.topology());
  tell_nodes();
  for (const Uuid& left : changes.left_host_ids) listener_.on_node({NodeChange::Kind::kLeft, left, {}});
  for (const DriverEvent& event : changes.events) listener_.on_driver_event(event);
  for (const InetAddressAndPort& peer : changes.peers_updated) {
    to_remove_.erase(peer);
    to_save_.insert(peer);
  }
  for (const InetAddressAndPort& peer : changes.peers_removed) {
    to_save_.erase(peer);
    to_remove_.insert(peer);
  }
  if (!is_saving_ && (!to_save_.empty() || !to_remove_.empty())) spawn(save_peers());
  if (changes.is_local_removed && listener_.on_removed) listener_.on_removed();
}

void MembershipServiceImpl::publish(TopologyPtr topology) {
  for (unsigned shard = 1; shard < runtime_.shard_count(); ++shard) {
    Replica* replica = replicas_[shard];
    runtime_.shard(shard).executor.post([replica, topology] { replica->topology().set(topology); });
  }
  replicas_[0]->topology().set(std::move(topology));
}

// Liveness, host ids and schema versions are compared with those that were told before. A node of Cassandra that joins lives
// before it has a status, and has its host id in the ring with that.
void MembershipServiceImpl::tell_nodes() {
  for (const auto& [endpoint, state] : gossiper_.states()) {
    if (endpoint == options_.gossip.local) continue;
    Told& told = told_[endpoint];
    const bool is_alive = gossiper_.is_alive(endpoint) && gossiper_.live().contains(endpoint);
    const Uuid host_id = membership_.host_id(endpoint).value_or(Uuid());
    const bool is_news = told.is_alive != is_alive || (told.host_id != host_id && !host_id.is_nil());
    if (is_news) {
      told.is_alive = is_alive;
      told.host_id = host_id;
      const auto kind = is_alive ? NodeChange::Kind::kUp : NodeChange::Kind::kDown;
      const bool is_told = !host_id.is_nil() || !is_alive;
      if (is_told && listener_.on_node) listener_.on_node({kind, host_id, endpoint});
    }
    auto schema = Uuid::parse(state->text(ApplicationState::kSchema));
    if (!is_alive || !schema || (!is_news && *schema == told.schema_version)) continue;
    told.schema_version = *schema;
    if (listener_.on_schema_version) listener_.on_schema_version(endpoint, *schema);
  }
  std::erase_if(told_, [this](const auto& entry) { return gossiper_.state(entry.first) == nullptr; });
}

Task<Status> write_update(Replica* replica, const PartitionUpdate* update) {
  const Mutation mutation{update->table->keyspace, update->key, {update, 1}};
  Task<Status> writing = replica->mutate(mutation);
  co_return co_await writing;
}

Task<void> MembershipServiceImpl::save_peers() {
  if (!background_.enter()) co_return;
  is_saving_ = true;
  while (!to_save_.empty() || !to_remove_.empty()) {
    const bool removes = to_save_.empty();
    std::set<InetAddressAndPort>& waiting = removes ? to_remove_ : to_save_;
    const InetAddressAndPort peer = *waiting.begin();
    waiting.erase(waiting.begin());
    Arena arena;
    const SchemaPtr schema = replicas_[0]->schema().current();
    const int64_t now = saved_at_.next(here_.clock.wall_micros());
    std::vector<PartitionUpdate> updates;
    if (removes) {
      updates = peer_removals(*schema, peer, now, arena);
    } else if (auto row = membership_.peer_row(peer)) {
      updates = peer_updates(*schema, *row, now, arena);
    }
    for (const PartitionUpdate& update : updates) {
      Task<Status> writing = write_update(replicas_[0], &update);
      Status written = co_await writing;
      if (!written.ok()) LOG_WARN("system.peers: {} was not saved: {}", peer.to_string(), written.error().message());
    }
  }
  is_saving_ = false;
  background_.leave();
}

// The clock may have been set back since: rows that are written with an older time than a former life's would not show.
Task<Status> MembershipServiceImpl::note_saved_times() {
  const SchemaPtr schema = replicas_[0]->schema().current();
  const std::array<Uuid, 2> tables = {schema->table("system", "peers")->id, schema->table("system", "peers_v2")->id};
  auto note = [this, tables](Engine& engine) {
    Status status;
    for (const Uuid& table : tables) {
      Result<int64_t> latest = engine.maintenance().max_timestamp(table);
      if (latest.ok()) saved_at_.note(*latest);
      if (!latest.ok()) status = std::move(latest.error());
    }
    return Task<Status>(std::move(status));
  };
  return replicas_[0]->on_every_engine(note);
}

Task<Result<std::vector<PeerRow>>> MembershipServiceImpl::saved_peers() {
  ReadCommand command;
  command.table = replicas_[0]->schema().current()->table("system", "peers_v2");
  command.range = KeyRange{};
  command.now_seconds = here_.clock.wall_seconds();
  InternalRows rows(command.table);
  Task<Result<ReadStatistics>> reading = replicas_[0]->read(command, rows);
  CO_TRY(co_await reading);
  co_return parse_peers(rows.rows);
}

// ---- Life

Task<Status> MembershipServiceImpl::shadow_round() {
  auto state = gossiper_.begin_shadow_round(std::vector<InetAddressAndPort>(), time());
  flush();
  while (state == Gossiper::ShadowRound::kRunning) {
    Promise<bool> waiting;
    shadow_answer_ = &waiting;
    shadow_timer_ = here_.executor.schedule(kRound, [this] {
      shadow_timer_ = 0;
      if (shadow_answer_ != nullptr) std::exchange(shadow_answer_, nullptr)->set(false);
    });
    const bool is_answered = co_await waiting;
    if (shadow_timer_ != 0) here_.executor.cancel(std::exchange(shadow_timer_, 0));
    if (is_stopping_) co_return Error(ErrorCode::kClosed, "The node is stopping");
    state = is_answered ? Gossiper::ShadowRound::kDone : gossiper_.shadow_tick(time());
    flush();
  }
  if (state == Gossiper::ShadowRound::kFailed) {
    co_return Error(ErrorCode::kConfigError,
                    "Unable to gossip with any peers: start a seed first, or name one that runs in seed_provider");
  }
  Gossiper::StartupCheck check{options_.membership.host_id};
  co_return gossiper_.check_for_endpoint_collision(check);
}

// A node that gets tokens without their data would answer reads wrongly.
Status MembershipServiceImpl::check_may_join() const {
  if (options_.may_join_without_data || !options_.join_ring) return {};
  for (const auto& [endpoint, state] : gossiper_.shadow_states()) {
    if (endpoint == options_.gossip.local || !state.has(ApplicationState::kTokens)) continue;
    return Error(
        ErrorCode::kConfigError,
        fmt::format("auto_bootstrap: the cluster has a member already ({}), and the data of this node's tokens "
                    "cannot be streamed yet: write auto_bootstrap: false if the cluster has no data, and run "
                    "repairs of Cassandra otherwise",
                    endpoint.to_string()));
  }
  return {};
}

// Without those that have left: their tokens are nobody's.
std::shared_ptr<const TokenRing> MembershipServiceImpl::ring_of_others() const {
  std::vector<Endpoint> endpoints(1);
  endpoints[0].address = options_.gossip.local.host();
  endpoints[0].datacenter = options_.advertised.location.datacenter;
  endpoints[0].rack = options_.advertised.location.rack;
  endpoints[0].state = EndpointStatus::kLeft;
  for (const auto& [address, state] : gossiper_.shadow_states()) {
    auto tokens = state_values::parse_tokens(state.text(ApplicationState::kTokens));
    if (address == options_.gossip.local || !tokens.ok() || tokens->empty() || has_left(state)) continue;
    Endpoint other;
    other.address = address.host();
    other.datacenter = state.text(ApplicationState::kDc);
    other.rack = state.text(ApplicationState::kRack);
    other.tokens = std::move(*tokens);
    endpoints.push_back(std::move(other));
  }
  return std::make_shared<const TokenRing>(std::move(endpoints), 0);
}

Task<Status> MembershipServiceImpl::start() {
  Task<Status> shadow = shadow_round();
  CO_TRY(co_await shadow);
  CO_TRY(check_may_join());
  if (options_.join_ring && options_.tokens.empty()) {
    Task<Result<std::vector<Token>>> taking = options_.take_tokens(ring_of_others());
    CO_ASSIGN_OR_RETURN(options_.tokens, co_await taking);
  }
  Task<Status> noting = note_saved_times();
  CO_TRY(co_await noting);
  Task<Result<std::vector<PeerRow>>> reading = saved_peers();
  CO_ASSIGN_OR_RETURN(std::vector<PeerRow> rows, co_await reading);
  for (const PeerRow& row : rows) membership_.add_saved(row, time());
  CO_TRY(gossiper_.start(options_.generation, starting_states(options_.advertised), time()));
  if (options_.join_ring) {
    CO_TRY(join_ring());
  } else if (!options_.tokens.empty()) {
    CO_TRY(gossiper_.set_local_states(hibernating_states(options_.tokens), time()));
  }
  flush();
  publish(membership_.topology());
  gossiper_.tick(time(), here_.random);
  flush();
  schedule_round();
  for (int poll = 0; poll < kMostSettlePolls && !is_settled() && !is_stopping_; ++poll) {
    co_await here_.executor.sleep(kSettlePoll);
  }
  co_return Status();
}

// Everybody whom the shadow round told of lives, or has said that it does not.
bool MembershipServiceImpl::is_settled() const {
  for (const auto& [endpoint, told] : gossiper_.shadow_states()) {
    auto status = state_values::parse_status(told.status_text());
    const bool is_stopped = status.ok() && status->status == state_values::StatusWord::kShutdown;
    if (endpoint == options_.gossip.local || is_stopped || is_silent_shutdown_state(told)) continue;
    if (!gossiper_.live().contains(endpoint)) return false;
  }
  return true;
}

Status MembershipServiceImpl::join_ring() {
  if (has_joined_) return {};
  if (options_.tokens.empty()) {
    return Error(ErrorCode::kInvalid, "The node was started without tokens: start it again without join_ring=false");
  }
  TRY(gossiper_.set_local_states(normal_states(options_.tokens), time()));
  has_joined_ = true;
  flush();
  return {};
}

void MembershipServiceImpl::tell(const LocalStates& states) {
  if (gossiper_.state(options_.gossip.local) == nullptr) return;  // not started
  Status told = gossiper_.set_local_states(states, time());
  if (!told.ok()) LOG_ERROR("{}", told.error().message());
  flush();
}

// A driver waits after a change of the schema until all nodes tell the same version.
void MembershipServiceImpl::set_schema_version(const Uuid& version) {
  tell({{ApplicationState::kSchema, version.to_string()}});
  if (spreading_ != 0 || is_stopping_) return;
  spreading_ = here_.executor.schedule(kSchemaSpread, [this] {
    spreading_ = 0;
    gossiper_.spread(time(), here_.random);
    flush();
  });
}

void MembershipServiceImpl::schedule_round() {
  round_ = here_.executor.schedule(kRound, [this] {
    schedule_round();
    gossiper_.tick(time(), here_.random);
    flush();
  });
}

void MembershipServiceImpl::end_rounds() {
  if (spreading_ != 0) here_.executor.cancel(std::exchange(spreading_, 0));
  if (round_ != 0) here_.executor.cancel(std::exchange(round_, 0));
}

Task<void> MembershipServiceImpl::stop() {
  const bool was_running = gossiper_.is_enabled();
  const bool has_peers = !gossiper_.live().empty();
  if (was_running) {
    gossiper_.stop(has_joined_, time());
    flush();
  }
  is_stopping_ = true;
  if (was_running && has_peers && has_joined_) co_await here_.executor.sleep(kShutdownAnnouncement);
  Task<void> halting = halt();
  co_await halting;
}

Task<void> MembershipServiceImpl::halt() {
  is_stopping_ = true;
  end_rounds();
  if (shadow_timer_ != 0) here_.executor.cancel(std::exchange(shadow_timer_, 0));
  if (shadow_answer_ != nullptr) std::exchange(shadow_answer_, nullptr)->set(false);
  co_await background_.close();
}

// ---- Orders

Status MembershipServiceImpl::enable_gossip() {
  if (gossiper_.is_enabled()) return {};
  LOG_WARN("Starting gossip by operator request");
  gossiper_.force_newer_generation();
  const int32_t generation = gossiper_.state(options_.gossip.local)->heart_beat.generation;
  TRY(gossiper_.start(generation, {}, time()));
  if (has_joined_) TRY(gossiper_.set_local_states(normal_states(options_.tokens), time()));
  flush();
  if (round_ == 0) schedule_round();
  return {};
}

Status MembershipServiceImpl::disable_gossip() {
  if (!gossiper_.is_enabled()) return {};
  LOG_WARN("Stopping gossip by operator request");
  gossiper_.stop(has_joined_, time());
  flush();
  end_rounds();
  return {};
}

Task<Status> MembershipServiceImpl::assassinate(InetAddressAndPort endpoint) {
  if (!background_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  const Gossiper::Ticket ticket = gossiper_.begin_assassination(endpoint);
  co_await here_.executor.sleep(std::chrono::milliseconds(ticket.wait_ms));
  const std::vector<Token> tokens = membership_.tokens(endpoint);
  Status status = gossiper_.finish_assassination(ticket, tokens, time(), here_.random);
  flush();
  background_.leave();
  co_return status;
}

}  // namespace

std::unique_ptr<MembershipService> MembershipService::create(Runtime& runtime, std::vector<Replica*> replicas,
                                                             Messenger& messenger, MembershipOptions options,
                                                             MembershipListener listener) {
  return std::make_unique<MembershipServiceImpl>(runtime, std::move(replicas), messenger, std::move(options),
                                                 std::move(listener));
}

}  // namespace cassandra_like
