// A shard's messages to and from other nodes (net.MessagingService): requests with their answers, one-way messages, handlers.
//
// A shard opens its own connection of a type to a peer with the first message that needs it, and accepts some of those that
// peers open. Any shard may get a peer's request; an answer has to come to the shard that asked: its number is in the id.
//
//   id := sequence << 6 | shard, 1 to 2^31 - 1: Cassandra reads the ids of forwarded messages as positive 32-bit integers
//
// An answer for another shard hops there once, undecoded. An answer that nobody waits for, or that comes from another node
// than was asked, is counted and dropped.
//
// Belongs to one shard, but for what MessengerGroup says.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "messaging/link/expiry_lanes.h"
#include "messaging/link/inbound_link.h"
#include "messaging/link/peer_link.h"
#include "messaging/wire/failure_codec.h"

namespace cassandra_like {

class Messenger;

inline constexpr unsigned kMaxMessengerShards = 64;
// Links that nothing needs are kept up to about so many peers: a message may name any address as the one to answer.
inline constexpr size_t kUnusedPeers = 1024;

// The things that the messengers of a node share. Made before them and destroyed after them. When all of them have closed, each
// is destroyed on its own shard: an answer that hopped there before has found it, or finds that it is gone.
class MessengerGroup {
 public:
  MessengerGroup(Runtime& runtime, const LinkOptions& options)
      : reserves(options),
        runtime_(runtime),
        options_(runtime.shard_count(), options),
        messengers_(runtime.shard_count()) {}

  NodeReserves reserves;
  std::atomic<uint64_t> inbound{0};  // connections from peers, of all shards

  Runtime& runtime() { return runtime_; }
  // Only on that shard: the timeouts may change while the node runs.
  LinkOptions& options(unsigned shard) { return options_[shard]; }
  // Only on that shard, once messages may flow.
  Messenger* messenger(unsigned shard) { return shard < messengers_.size() ? messengers_[shard] : nullptr; }
  void set(unsigned shard, Messenger* messenger) { messengers_[shard] = messenger; }

 private:
  Runtime& runtime_;
  std::vector<LinkOptions> options_;
  std::vector<Messenger*> messengers_;
};

// Told of the answer to a request, once; not after cancel().
class ResponseHandler {
 public:
  // The message's views are valid during the call; its keep() makes them last.
  virtual void on_response(InboundMessage& response) = 0;
  // The peer says so, or kTimeout: nothing came in time, or nothing will, since there was no room for the message; kNodeDown:
  // this node stops, or the peer has left.
  virtual void on_failure(const InetAddressAndPort& from, RequestFailureReason reason) = 0;

 protected:
  ~ResponseHandler() = default;
};

// The result of a handler of requests.
struct VerbResult {
  enum class Kind : uint8_t { kAnswer, kFailure, kNothing };
  Kind kind = Kind::kAnswer;
  RequestFailureReason reason = RequestFailureReason::kUnknown;
  SharedBytes payload;  // of the response verb
  // Warnings of the replica, with an answer.
  SharedBytes params;
  uint32_t params_count = 0;

  static VerbResult answer(SharedBytes payload = {}) { return {.payload = std::move(payload)}; }
  // A FAILURE_RSP, if the request wants one.
  static VerbResult failure(RequestFailureReason reason) { return {.kind = Kind::kFailure, .reason = reason}; }
  // For verbs without an answer, and when somebody else answers.
  static VerbResult nothing() { return {.kind = Kind::kNothing}; }
};
using VerbHandler = std::function<Task<VerbResult>(InboundMessage)>;

struct SendOptions {
  uint32_t flags = 0;
  MessageParams params;                // borrowed until the call returns; of a Task until it is awaited
  int64_t deadline = 0;                // monotonic, nanoseconds; 0: the verb's timeout from now
  Trace* trace = nullptr;              // borrowed like the params: the message carries its session
  std::optional<ConnectionType> type;  // else by verb and size
};

struct PeerStatistics {
  struct Link {
    ConnectionType type = ConnectionType::kSmall;
    bool connected = false;
    int version = 0;
    size_t pending = 0, pending_bytes = 0;
    PeerLink::Counters counters;
  };
  InetAddressAndPort peer;
  std::vector<Link> links;
};
struct InboundStatistics {
  InetAddressAndPort peer;
  ConnectionType type = ConnectionType::kSmall;
  int version = 0;
  size_t pending_bytes = 0;
  InboundLink::Counters counters;
};

class Messenger final : InboundHost, PeerLinkObserver {
 public:
  Messenger(MessengerGroup& group, unsigned shard);
  // Behind close(), or after its shard has ended.
  ~Messenger() override;

  unsigned shard() const { return shard_; }
  NodeReserves& reserves() { return group_.reserves; }
  const LinkOptions& options() const { return options_; }
  // For the messages that are sent, and the connections that are opened, from now on.
  void set_timeout(int64_t VerbTimeouts::*which, int64_t millis) { options_.timeouts.*which = millis; }
  void set_connect_timeout(Duration timeout) { options_.connect_timeout = timeout; }
  // Before listen(). Without it no session is traced. It outlives the last handler.
  void trace_with(Traces* traces) { traces_ = traces; }
  // Before listen(). Whether a peer is in this node's datacenter: internode_compression may depend on it. Without it, all are.
  void locate_with(std::function<bool(const InetAddressAndPort&)> is_near) { is_near_ = std::move(is_near); }
  // Before listen(). A verb has one handler; the answers of requests need none.
  void handle(Verb verb, VerbHandler handler);
  Status listen(const SocketAddress& address);
  // Closes all links, fails all requests with kNodeDown, waits for handlers. Once.
  Task<void> close();

  // One way. False: there was no room, or the message is too large.
  bool send(const InetAddressAndPort& to, Verb verb, SharedBytes payload, const SendOptions& options = {});
  // Passes a message on under an id that its origin chose (FORWARD_TO); the answer goes where RESPOND_TO says.
  bool forward(const InetAddressAndPort& to, uint64_t id, Verb verb, SharedBytes payload, const SendOptions& options) {
    return post(to, id, verb, std::move(payload), options, deadline_of(verb, options));
  }
  // Sends and returns the id of the request; `handler` has to live until it is told or the id is cancelled. Told within the
  // call only when the message is not accepted for sending, and then 0 is returned.
  uint32_t send_request(const InetAddressAndPort& to, Verb verb, SharedBytes payload, ResponseHandler& handler,
                        const SendOptions& options = {});
  // A request that `to` passes on to the others (FORWARD_TO). All of them answer under its id, as nodes of Cassandra do;
  // the handler is told once for each. Params of the options other than FORWARD_TO go along.
  uint32_t send_request_through(const InetAddressAndPort& to, std::span<const InetAddressAndPort> others, Verb verb,
                                SharedBytes payload, ResponseHandler& handler, SendOptions options = {});
  void cancel(uint32_t id);
  // Fails with the reason in failure_reasons and a message that names verb, peer and reason: see reason_of(). The answer's
  // views are valid until the caller suspends again, unless it calls keep().
  Task<Result<InboundMessage>> request(InetAddressAndPort to, Verb verb, SharedBytes payload, SendOptions options = {});

  // The highest version that the peer has shown; 0: it has not been met.
  int version_of(const InetAddressAndPort& peer) const;
  // Closes all shards' links to a peer that has left.
  void forget(const InetAddressAndPort& peer) { on_all_shards(&Messenger::forget_here, peer); }
  // Leaves all shards' connections to a peer that is taken for dead.
  void interrupt(const InetAddressAndPort& peer) { on_all_shards(&Messenger::interrupt_here, peer); }

  std::vector<PeerStatistics> peers() const;
  std::vector<InboundStatistics> inbound() const;
  // Messages of a verb that expired on this side of the handler: inbound, or before they were sent (tpstats: dropped).
  uint64_t dropped(Verb verb) const { return dropped_[verb_index(verb)]; }
  size_t waiting_requests() const { return waiting_.size(); }
  uint64_t unexpected_responses() const { return unexpected_; }

 private:
  struct Peer {
    std::array<std::shared_ptr<PeerLink>, 3> links;  // urgent, small, large
  };
  struct Waiting {
    InetAddressAndPort from;
    int64_t deadline = 0;
    ResponseHandler* handler = nullptr;
  };
  // Where an answer goes, taken out of the request before its handler has it.
  struct ReplyTo {
    InetAddressAndPort to;
    uint64_t id = 0;
    Verb verb = Verb::kNoVerb;  // of the request
    bool wants_failure = false;
    int64_t deadline = 0;
    TracePtr trace;
  };

  // InboundHost
  void on_handshake(InboundLink& link, const Initiate& initiate) override;
  Task<void> on_message(InboundMessage message) override;
  void on_lost(const InetAddressAndPort& from, const MessageHeader& header, int64_t deadline) override;
  void on_expired(Verb verb) override { ++dropped_[verb_index(verb)]; }
  void on_link_closed(InboundLink& link) override;
  Bytes& scratch() override { return scratch_; }
  LogQuotas& bad_peer_log() override { return bad_peer_log_; }
  LogQuota& connection_log() override { return connection_log_; }
  // PeerLinkObserver
  void on_dropped(const InetAddressAndPort& peer, const OutboundMessage& message, DropReason reason) override;
  void on_peer_version(const InetAddressAndPort& peer, int version) override { note_version(peer, version); }
  bool is_near(const InetAddressAndPort& peer) override { return !is_near_ || is_near_(peer); }
  LogQuota& connect_log() override { return connect_log_; }

  void on_all_shards(void (Messenger::*what)(const InetAddressAndPort&), const InetAddressAndPort& peer);
  void forget_here(const InetAddressAndPort& peer);
  void interrupt_here(const InetAddressAndPort& peer);
  std::shared_ptr<ConnectionHandler> accept(Connection& connection);
  InboundLink& one_too_many(InboundLink& newest);
  PeerLink& link_to(const InetAddressAndPort& peer, ConnectionType type);
  void forget_unused();
  bool post(const InetAddressAndPort& to, uint64_t id, Verb verb, SharedBytes payload, const SendOptions& options,
            int64_t deadline, bool is_request = false);
  // nullptr: the message is of no session that is traced.
  TracePtr trace_of(const InboundMessage& message);
  int64_t deadline_of(Verb verb, const SendOptions& options) const;
  void note_version(const InetAddressAndPort& peer, int version);

  static uint32_t first_sequence(const ShardRuntime& runtime);
  uint32_t next_id();
  RequestFailureReason not_accepted() const;
  void on_response(InboundMessage& response);
  void complete(InboundMessage& response);
  void fail_waiting(uint32_t id, RequestFailureReason reason);
  // The one that waits for this node's answer under this id, which is taken out; nullopt: nobody does.
  std::optional<Waiting> take_waiting(uint64_t id, const InetAddressAndPort& from);
  void schedule_expiry();
  void expire();
  void reply(const ReplyTo& to, const VerbResult& result);
  void send_reply(const ReplyTo& to, const VerbResult& result);
  static Task<void> answer(Messenger* self, ReplyTo to, Task<VerbResult> task);

  MessengerGroup& group_;
  ShardRuntime& runtime_;
  LinkOptions& options_;
  const unsigned shard_;
  std::unique_ptr<Listener> listener_;
  std::array<VerbHandler, kVerbCount> handlers_;
  absl::flat_hash_map<InetAddressAndPort, Peer> peers_;
  absl::flat_hash_map<InetAddressAndPort, int> versions_;
  absl::flat_hash_map<InboundLink*, uint64_t> inbound_;  // each with its number among those that were accepted
  uint64_t accepted_ = 0;
  size_t sweep_at_ = kUnusedPeers;  // so many peers: those that are not in use go
  Traces* traces_ = nullptr;
  std::function<bool(const InetAddressAndPort&)> is_near_;
  Gate handlers_running_;
  bool closed_ = false;

  uint32_t sequence_;
  absl::flat_hash_map<uint32_t, Waiting> waiting_;
  // The same for nodes that get a message through another one.
  absl::flat_hash_map<uint32_t, absl::InlinedVector<Waiting, 2>> waiting_behind_;
  ExpiryLanes expiries_;
  TimerId expiry_timer_ = 0;
  int64_t expiry_at_ = 0;  // the deadline that it is for

  Bytes scratch_;
  LogQuotas bad_peer_log_;
  LogQuota connection_log_{100};
  LogQuota connect_log_{30};
  std::array<uint64_t, kVerbCount> dropped_{};
  uint64_t unexpected_ = 0;
};

// The reason that a failed request() carries.
RequestFailureReason reason_of(const Error& error);

}  // namespace cassandra_like
