// Gossip as a state machine (gms.Gossiper and the verb handlers beside it). Events come in as calls; messages to send come
// out of take_output(); what changed about a node is told to the subscriber within the call. Pure: times and randomness
// are arguments, so one seed gives one run. Lives on shard 0.
//
// Each second a node starts a round. It raises its heartbeat and sends a SYN, digests of all that it knows, to a random
// live node, perhaps to an unreachable one, perhaps to a seed. The ACK asks for what the other lacks and brings what the
// other knows better; the ACK2 answers.
//
//   silent node      --convict-->            dead, unreachable; rounds try it now and then
//   newer heartbeat  --ECHO_REQ, answered--> alive
//   newer generation                         "restarted"; the old state is replaced as a whole
//   removed node                             in quarantine: nothing about it is believed for quarantine_delay
//   LEFT, removed                            forgotten at the expire time, three days after
//   no member, silent ("fat client")         forgotten after half of quarantine_delay; a bootstrapping one after ten times that
//
// Invariants: the local node is in states() from start() on and is never live() or unreachable(). Only live() and seeds get
// a SYN for sure. A generation never falls.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/log_quota.h"
#include "base/result.h"
#include "base/uuid.h"
#include "gossip/endpoint_state.h"
#include "gossip/failure_detector.h"
#include "gossip/gossip_codec.h"
#include "model/key.h"
#include "runtime/executor.h"

namespace cassandra_like {

struct GossipTime {
  int64_t nanos = 0;   // of the monotonic clock
  int64_t millis = 0;  // since 1970
};

struct GossipEcho {};  // ECHO_REQ
struct GossipSend {
  InetAddressAndPort to;
  std::variant<GossipDigestSyn, GossipDigestAck, GossipDigestAck2, GossipShutdown, GossipEcho> message;
};
struct GossipOutput {
  std::vector<GossipSend> sends;
  std::vector<InetAddressAndPort> disconnects;  // removed nodes: close what is open to them
  std::vector<InetAddressAndPort> interrupts;   // convicted nodes: what is open to them may be stuck
};

using LocalStates = std::vector<std::pair<ApplicationState, std::string>>;

// Follows the changes (gms.IEndpointStateChangeSubscriber) and knows the ring. May call the Gossiper's functions that say
// so. The states live until the call returns.
class GossipSubscriber {
 public:
  virtual ~GossipSubscriber() = default;
  // A node, or a generation of it, that was not known before. Told before its echo is answered.
  virtual void on_join(const InetAddressAndPort& endpoint, const EndpointState& state) = 0;
  virtual void on_alive(const InetAddressAndPort& endpoint, const EndpointState& state) = 0;
  virtual void on_dead(const InetAddressAndPort& endpoint, const EndpointState& state) = 0;
  virtual void on_remove(const InetAddressAndPort& endpoint) = 0;
  // `before` is the state of the generation before.
  virtual void on_restart(const InetAddressAndPort& endpoint, const EndpointState& before) = 0;
  // The local node is told of, too.
  virtual void on_change(const InetAddressAndPort& endpoint, ApplicationState state, const VersionedValue& value) = 0;
  // It owns tokens or did when it was seen last.
  virtual bool is_member(const InetAddressAndPort& endpoint) const = 0;
  // HOST_ID and TOKENS as system.peers has them, for a node in its shadow round.
  virtual LocalStates saved_states(const InetAddressAndPort& endpoint) const = 0;
};

// The generation of a life that starts now: seconds since 1970, but above the one that was saved.
int32_t next_generation(std::optional<int32_t> saved, int64_t now_millis);

class Gossiper {
 public:
  struct Config {
    InetAddressAndPort local;
    std::string cluster;
    std::string partitioner = "org.apache.cassandra.dht.Murmur3Partitioner";
    std::vector<InetAddressAndPort> seeds;
    int64_t ring_delay_ms = 30'000;
    int64_t quarantine_delay_ms = 60'000;
    int64_t very_long_time_ms = 259'200'000;  // until LEFT and removed nodes are forgotten
    size_t max_endpoints = 16'384;            // more are not believed
    // EndpointState::bytes(): of one endpoint, of all that are no members of the ring, of all. A node tells 2 KB with 16
    // tokens, 30 KB with 1536. What would be more is not believed.
    size_t max_bytes_of_one = size_t{256} << 10;
    size_t max_bytes_of_strangers = size_t{4} << 20;
    size_t max_bytes = size_t{24} << 20;
    size_t max_bytes_to_send = size_t{1} << 20;  // of states in an ACK or ACK2; a later round brings the rest
    FailureDetector::Config detector;
  };
  static constexpr int64_t kIntervalMillis = 1000;
  // In seconds. A generation that is further ahead of the local clock is not believed.
  static constexpr int64_t kMaxGenerationDifference = 86'400LL * 365;

  // The subscriber outlives the Gossiper.
  Gossiper(Config config, GossipSubscriber& subscriber, GossipTime now);

  // --- Life of the local node
  // kInvalid when a value is longer than a message can carry. A node that gossiped before keeps its generation: call
  // force_newer_generation() first.
  Status start(int32_t generation, const LocalStates& states, GossipTime now);
  // Tells the live nodes of the shutdown when the node has joined the ring, and stops taking part. The caller waits two
  // seconds after it.
  void stop(bool has_joined, GossipTime now);
  bool is_enabled() const { return is_enabled_; }
  void force_newer_generation();
  // kInvalid as for start(). Each value gets a version.
  Status set_local_states(const LocalStates& states, GossipTime now);
  // Once a second. `backlog` messages of gossip have arrived and wait: while the last one that was taken is older than a
  // second nobody is judged.
  void tick(GossipTime now, Random& random, size_t backlog = 0);
  // A SYN to three live nodes at most, between two rounds: for news that clients wait for.
  void spread(GossipTime now, Random& random);
  // A node that the system tables remember, before start(). The subscriber may call it.
  void add_saved_endpoint(const InetAddressAndPort& endpoint, GossipTime now);

  // --- Messages; created_millis is when the sender made them
  void on_syn(const InetAddressAndPort& from, const GossipDigestSyn& syn, int64_t created_millis, GossipTime now);
  void on_ack(const InetAddressAndPort& from, GossipDigestAck ack, int64_t created_millis, GossipTime now);
  void on_ack2(const InetAddressAndPort& from, GossipDigestAck2 ack2, int64_t created_millis, GossipTime now);
  void on_shutdown(const InetAddressAndPort& from, GossipShutdown shutdown, int64_t created_millis, GossipTime now);
  void on_echo_answered(const InetAddressAndPort& from, GossipTime now);
  void on_echo_failed(const InetAddressAndPort& from);
  GossipOutput take_output() { return std::exchange(output_, {}); }

  // --- Shadow round: what is known of this node, before it says anything. Peers are asked, too, when no seed answers.
  enum class ShadowRound { kRunning, kDone, kFailed };
  // kDone at once when there is nobody to ask.
  ShadowRound begin_shadow_round(std::span<const InetAddressAndPort> peers, GossipTime now);
  // Each second while it is running, or at once when is_in_shadow_round() has become false. kFailed: nobody answered in
  // time, and this node is no seed.
  ShadowRound shadow_tick(GossipTime now);
  bool is_in_shadow_round() const { return is_in_shadow_round_; }
  const EndpointStates& shadow_states() const { return shadow_states_; }
  struct StartupCheck {
    Uuid host_id;
    bool is_bootstrapping = false;
    bool bootstrap_complete = false;
    bool consistent_range_movement = true;  // refuse to bootstrap beside others that join, leave or move
  };
  // kConfigError, in Cassandra's words, when the states of the shadow round forbid this node to start.
  Status check_for_endpoint_collision(const StartupCheck& check) const;

  // --- Orders of an operator
  struct Ticket {
    InetAddressAndPort endpoint;
    HeartBeatState seen;
    bool is_known = true;
    int64_t wait_ms = 0;  // how long to wait before the second step
  };
  Ticket begin_assassination(const InetAddressAndPort& endpoint) const;
  // kServerError when the node gave a sign of life meanwhile. tokens: those of the ring; none: a random one is told.
  Status finish_assassination(const Ticket& ticket, std::span<const Token> tokens, GossipTime now, Random& random);
  // `removenode`: the states of the other node are told in its name.
  Result<Ticket> begin_removal(const InetAddressAndPort& endpoint) const;
  Status advertise_removing(const Ticket& ticket, const Uuid& host_id, const Uuid& local_host_id, GossipTime now);
  Status advertise_token_removed(const InetAddressAndPort& endpoint, const Uuid& host_id, GossipTime now);
  // Returns the seeds that count from now on; an empty list changes nothing.
  std::vector<InetAddressAndPort> reload_seeds(std::span<const InetAddressAndPort> seeds);

  // --- For the subscriber, from within its calls
  void remove_endpoint(const InetAddressAndPort& endpoint);
  void add_expire_time(const InetAddressAndPort& endpoint, int64_t millis) { expire_times_[endpoint] = millis; }
  void replacement_quarantine(const InetAddressAndPort& endpoint);
  // Whether the first one started later than the second.
  bool started_later(const InetAddressAndPort& endpoint, const InetAddressAndPort& than) const;

  // --- Questions
  using StateMap = std::map<InetAddressAndPort, std::shared_ptr<EndpointState>>;
  const StateMap& states() const { return states_; }
  const EndpointState* state(const InetAddressAndPort& endpoint) const;
  // FailureDetector.isAlive: the local node is.
  bool is_alive(const InetAddressAndPort& endpoint) const;
  const std::set<InetAddressAndPort>& live() const { return live_; }
  // With the monotonic time since when.
  const std::map<InetAddressAndPort, int64_t>& unreachable() const { return unreachable_; }
  const std::set<InetAddressAndPort>& seeds() const { return seeds_; }
  bool is_quarantined(const InetAddressAndPort& endpoint) const { return just_removed_.contains(endpoint); }
  bool seen_any_seed() const;
  const Config& config() const { return config_; }
  FailureDetector& detector() { return detector_; }
  const FailureDetector& detector() const { return detector_; }
  // `nodetool gossipinfo`: FailureDetector.getAllEndpointStates.
  std::string info(bool with_port) const;

 private:
  using StatePtr = std::shared_ptr<EndpointState>;

  int32_t next_version() { return ++last_version_; }
  StatePtr find(const InetAddressAndPort& endpoint) const;
  bool is_local(const InetAddressAndPort& endpoint) const { return endpoint == config_.local; }
  template <class Message>
  void send(const InetAddressAndPort& to, Message message) {
    output_.sends.push_back({to, std::move(message)});
  }
  void build_seeds_list();
  int64_t fat_client_timeout_ms() const { return config_.quarantine_delay_ms / 2; }

  // Rounds. The first one asks for the states that the shadow round told of, which are not this node's yet. Nodes that are
  // found alive within a round's time of the start get a round of their own, so many of them.
  static constexpr int kMostGreetings = 8;
  GossipDigests make_digests() const;
  void greet(const InetAddressAndPort& endpoint);
  bool send_syn(const GossipDigestSyn& syn, const std::vector<InetAddressAndPort>& to, Random& random);
  void maybe_gossip_to_unreachable(const GossipDigestSyn& syn, Random& random);
  void maybe_gossip_to_seed(const GossipDigestSyn& syn, Random& random);
  void check_status(size_t backlog);
  void check_status_of(const InetAddressAndPort& endpoint);

  // Examination and exchange of states.
  bool hears(const InetAddressAndPort& from) const;
  bool has_too_many(const InetAddressAndPort& from, const GossipDigests& digests);
  bool accepts(const InetAddressAndPort& from, const GossipDigestSyn& syn);
  void examine(const GossipDigests& digests, GossipDigestAck& answer);
  EndpointStates examine_shadow_state();
  EndpointStates newer_than(const GossipDigests& digests) const;
  void notify_failure_detector(const EndpointStates& states);
  bool may_have_legacy_nodes();
  void count_bytes();
  // Whether what is known of an endpoint may grow so much; `told` is what makes it grow.
  bool has_room(const InetAddressAndPort& from, const InetAddressAndPort& endpoint, const EndpointState& told,
                size_t before, size_t after);
  void apply(const InetAddressAndPort& from, EndpointStates states);
  void apply_one(const InetAddressAndPort& from, const InetAddressAndPort& endpoint, EndpointState remote,
                 bool keep_legacy);
  void apply_newer_values(const InetAddressAndPort& from, const InetAddressAndPort& endpoint, const StatePtr& local,
                          const EndpointState& remote, bool keep_legacy);
  void handle_major_state_change(const InetAddressAndPort& endpoint, StatePtr state);
  bool are_sufficient_for_startup(const EndpointStates& states) const;
  void maybe_finish_shadow_round(const InetAddressAndPort& from, bool is_in_shadow_round, EndpointStates states);
  void send_shadow_syns();

  // A starting node asks for all states every five seconds, and one that is started over and over again somewhat more often.
  static constexpr int kMostShadowAnswers = 4;  // to a peer, between two rounds

  // Liveness.
  void mark_alive(const InetAddressAndPort& endpoint, const StatePtr& state);
  void really_mark_alive(const InetAddressAndPort& endpoint, const StatePtr& state);
  void mark_dead(const InetAddressAndPort& endpoint, const StatePtr& state);
  void silently_mark_dead(const InetAddressAndPort& endpoint, const StatePtr& state);
  void convict(const InetAddressAndPort& endpoint, double phi);
  void mark_as_shutdown(const InetAddressAndPort& endpoint);
  void mark_as_shutdown(const InetAddressAndPort& endpoint, EndpointState told);
  void evict(const InetAddressAndPort& endpoint);

  Config config_;
  GossipSubscriber& subscriber_;
  FailureDetector detector_;
  GossipTime now_;
  GossipOutput output_;
  LogQuota refusals_;
  bool is_enabled_ = false;
  int64_t started_nanos_ = 0;
  int greetings_left_ = 0;
  bool asks_for_shadow_states_ = false;
  int32_t last_version_ = 0;
  int64_t last_message_millis_;
  bool has_sent_syn_ = false;
  bool only_modern_nodes_ = false;

  StateMap states_;
  std::set<InetAddressAndPort> seeds_;
  std::set<InetAddressAndPort> live_;
  std::map<InetAddressAndPort, int64_t> unreachable_;
  std::map<InetAddressAndPort, StatePtr> echoes_;       // ECHO_REQs on their way
  std::map<InetAddressAndPort, int64_t> just_removed_;  // milliseconds since 1970
  std::map<InetAddressAndPort, int64_t> expire_times_;  // likewise
  // Counted in the last round; they grow until the next one.
  size_t bytes_ = 0, bytes_of_strangers_ = 0;
  std::map<InetAddressAndPort, int> shadow_answers_;  // since the last round

  bool is_in_shadow_round_ = false;
  bool asks_peers_ = false;
  int64_t shadow_waited_ms_ = 0;
  std::vector<InetAddressAndPort> shadow_peers_;
  std::set<InetAddressAndPort> seeds_in_shadow_round_;
  EndpointStates shadow_states_;
};

}  // namespace cassandra_like
