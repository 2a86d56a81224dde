// One outbound connection of one type to one peer (net.OutboundConnection): it connects when there is something to send, shakes
// hands, and sends what waits.
//
// Invariants:
// - A message is accepted when its bytes and OutboundMessage::kOverhead fit into the queue's own share, or into what the peer
//   and the node have in reserve. While no connection can be had the reserve is left to others. So a peer that does not read
//   costs its own queue.
// - Messages of one turn of the loop leave in one send, those of a higher priority first. An expired message leaves the
//   queue before its bytes are looked at: when it would be sent, when there is no room for others, and every 100 ms while
//   nothing can be sent.
// - No more messages are framed while unsent_high_water bytes wait for the network. Bytes that do count as queued.
// - A failed connection is tried again after first_retry, then twice that, and so on up to last_retry, as long as something
//   waits. A connection that ends takes what was handed to it along; the queue stays.
// - The version of a connection is the one of the peer's Accept. Peers from 4.0 on need no second attempt with another.
//
// Belongs to one shard.
#pragma once

#include <memory>
#include <string>

#include "base/log_quota.h"
#include "messaging/link/link_options.h"
#include "messaging/link/outbound_queue.h"
#include "runtime/runtime.h"

namespace cassandra_like {

enum class DropReason : uint8_t { kExpired, kClosed };

class PeerLinkObserver {
 public:
  virtual ~PeerLinkObserver() = default;
  // A message that was accepted will not be sent.
  virtual void on_dropped(const InetAddressAndPort& peer, const OutboundMessage& message, DropReason reason) = 0;
  // The newest version that the peer speaks.
  virtual void on_peer_version(const InetAddressAndPort& peer, int version) = 0;
  // Whether the peer is in this node's datacenter, as far as this node knows. Asked when it connects.
  virtual bool is_near(const InetAddressAndPort& peer) = 0;
  // For attempts that fail, of all links: a message may name any address as the one to answer.
  virtual LogQuota& connect_log() = 0;
};

class PeerLink : public std::enable_shared_from_this<PeerLink> {
 public:
  struct Counters {
    uint64_t submitted = 0;
    uint64_t sent = 0, sent_bytes = 0;
    uint64_t expired = 0, expired_bytes = 0;
    uint64_t overloaded = 0, overloaded_bytes = 0;  // refused for want of room
    uint64_t attempts = 0, connections = 0;
  };
  enum class Enqueued : uint8_t { kQueued, kOverloaded, kTooLarge, kClosed };

  // All of these outlive the link, the observer until close().
  PeerLink(ShardRuntime& runtime, const LinkOptions& options, NodeReserves& node, PeerLinkObserver& observer,
           InetAddressAndPort peer, ConnectionType type);
  ~PeerLink() { abandon(); }

  // A message that has been measured.
  Enqueued enqueue(OutboundMessage message);
  // The peer is taken for dead: what is sent from now on goes over another connection. TCP would go on with this one, and
  // after a long silence of the network it tries it again in minutes only.
  void interrupt();
  // Drops what waits; afterwards the observer is not called.
  void close();
  // Instead of close(), when the executor and its connections are gone already, as after a crash.
  void abandon();

  bool is_connected() const { return state_ == State::kEstablished; }
  // It has no connection, makes none, and has nothing to send.
  bool is_unused() const { return state_ == State::kIdle && queue_.empty() && pump_.keep == nullptr; }
  int version() const { return version_; }  // of the connection; 0 before the first
  ConnectionType type() const { return type_; }
  const Counters& counters() const { return counters_; }
  size_t pending() const { return queue_.count(); }
  // Bytes of the wire: of messages, and of those in the connection's output.
  size_t pending_bytes() const { return budget_.used() - queue_.count() * OutboundMessage::kOverhead; }
  std::string name() const;  // /127.0.0.1:7000->/127.0.0.2:7000-SMALL_MESSAGES

 private:
  class Session;
  enum class State : uint8_t { kIdle, kConnecting, kShakingHands, kEstablished, kRetrying, kClosed };

  // Runs in the next turn, for all messages of this one.
  struct Pump final : PostedWork {
    explicit Pump(PeerLink& l) : link(l) {}
    void run() override;
    void drop() override;
    PeerLink& link;
    std::shared_ptr<PeerLink> keep;  // while it is posted
  };

  void schedule_pump();
  void pump();
  void send_queued();
  void after_flush();
  // The last thing that a function does: the observer may send, or close the link.
  void drop(std::vector<OutboundMessage> messages, DropReason reason);
  void prune();
  void watch_expiry();

  void connect();
  static Task<void> connect_to_peer(std::shared_ptr<PeerLink> self, uint64_t attempt);
  std::shared_ptr<ConnectionHandler> open_session(Connection& connection, uint64_t attempt);
  void shake_hands(uint64_t attempt);
  size_t on_received(Session& session, BytesView data);
  void on_closed(Session& session, const Status& reason);
  void on_drained(Session& session);
  void fail_attempt(const std::string& why);
  void leave_session();
  void retry_later();
  void set_timer(Duration delay, void (PeerLink::*then)());
  void cancel_timer();
  void on_timeout();
  void on_retry();

  ShardRuntime& runtime_;
  const LinkOptions& options_;
  PeerLinkObserver& observer_;
  const InetAddressAndPort peer_;
  const ConnectionType type_;
  const std::shared_ptr<PeerReserves> reserves_;

  State state_ = State::kIdle;
  uint64_t attempt_ = 0;
  bool failing_ = false;  // the last attempt failed
  Duration retry_;
  TimerId timer_ = 0;   // of the attempt or of the pause between two
  TimerId expiry_ = 0;  // of watch_expiry()
  std::shared_ptr<Session> session_;
  int64_t established_at_ = 0;
  int version_ = 0;
  Framing framing_ = Framing::kCrc;  // of the connection

  OutboundQueue queue_;
  QueueBudget budget_;
  size_t framed_ = 0;  // bytes of messages in the connection's output
  bool blocked_ = false;
  Pump pump_{*this};
  Counters counters_;
  LogQuota connect_log_{1}, drop_log_{1}, size_log_{1};
};

}  // namespace cassandra_like
