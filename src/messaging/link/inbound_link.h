// One connection that a peer opened (net.InboundConnectionInitiator, net.InboundMessageHandler): its handshake, then its
// messages to the host.
//
// Invariants:
// - A connection without a handshake within handshake_timeout is closed. Until then it may hold the bytes of one
//   Initiate.
// - When there are too many, one is closed: the oldest that has not shaken hands; else the oldest of an address that has most of
//   the shard's; else the one that comes.
// - A message counts in the receive queue from its first frame until the host is done with it, or until its time has passed
//   before all of it has arrived. When there is no room, reading stops, for this connection alone.
// - A message has 20 minutes at most, whatever it says.
// - Memory: what the limits admit, and one frame. Nothing is allocated for what is announced.
// - A connection is closed where Cassandra closes it, with one line that names the peer: a malformed handshake, versions that
//   do not meet, a corrupt frame header, a corrupt first frame of a large message, an unknown verb, a malformed head, a size
//   above internode_max_message_size.
//
// Belongs to one shard.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/log_quota.h"
#include "messaging/link/link_options.h"
#include "messaging/link/trace.h"
#include "messaging/wire/message_frames.h"
#include "runtime/runtime.h"

namespace cassandra_like {

// A message that has arrived. Payload and params are views: into `storage` if that holds anything, or else into the input, and
// then valid until the callee suspends or returns. keep() makes them last as long as this does.
struct InboundMessage {
  InetAddressAndPort from;
  int version = 0;
  MessageHeader header;
  BytesView payload;
  Bytes storage;
  int64_t deadline = 0;  // monotonic, nanoseconds: when its sender gives up
  TracePtr trace;        // set by the messenger, of a session that is traced

  void keep();
  // The node to answer: the sender, unless it passed the message on for somebody else.
  InetAddressAndPort respond_to() const { return header.params.respond_to().value_or(from); }
};

class InboundLink;

// The owner of the links of a shard.
class InboundHost {
 public:
  virtual ~InboundHost() = default;
  virtual void on_handshake(InboundLink& link, const Initiate& initiate) = 0;
  // The message's bytes are in the receive queue until the Task is done, which is awaited.
  virtual Task<void> on_message(InboundMessage message) = 0;
  // A message of the peer did not arrive whole, and its sender may want to know.
  virtual void on_lost(const InetAddressAndPort& from, const MessageHeader& header, int64_t deadline) = 0;
  virtual void on_expired(Verb verb) = 0;
  virtual void on_link_closed(InboundLink& link) = 0;
  // For decompressed frames.
  virtual Bytes& scratch() = 0;
  // For lines that strangers can cause, by the address of the socket.
  virtual LogQuotas& bad_peer_log() = 0;
  // For connections that were accepted, which strangers can cause, too.
  virtual LogQuota& connection_log() = 0;
};

class InboundLink final : public ConnectionHandler, MessageSink, public std::enable_shared_from_this<InboundLink> {
 public:
  struct Counters {
    uint64_t received = 0, received_bytes = 0;
    uint64_t expired = 0, lost = 0, throttled = 0, corrupt_frames = 0;
  };

  // All of these outlive the link, the host until detach().
  InboundLink(ShardRuntime& runtime, const LinkOptions& options, NodeReserves& node, InboundHost& host,
              Connection& connection);
  // Once, after its making.
  void start();
  // The host goes away: closes the connection, and the host is not called any more.
  void detach();

  size_t on_received(BytesView data) override;
  void on_closed(const Status& reason) override;

  // nullopt: it has not shaken hands.
  const std::optional<Initiate>& initiate() const { return initiate_; }
  const std::string& remote_host() const { return remote_.host; }
  bool is_closing() const { return closing_; }
  // Leaves its descriptor to another one.
  void give_way() { reject("Too many connections from other nodes for a limit of open files (ulimit -n)"); }
  int version() const { return version_; }
  const Counters& counters() const { return counters_; }
  size_t pending_bytes() const { return budget_ == nullptr ? 0 : budget_->used(); }
  // /127.0.0.2:7000(/127.0.0.2:53412)->/127.0.0.1:7000-SMALL_MESSAGES, with the socket's address: the first one is the peer's
  // word. Before the handshake that address alone.
  std::string name() const;

 private:
  // MessageSink
  Admission admit(const MessageHeader& header, size_t size) override;
  bool still_wanted(const MessageHeader& header) override;
  void on_message(ReceivedMessage message) override;
  void on_lost(const MessageHeader& header, size_t size, bool expired) override;
  void on_corrupt_frame(const Segment& frame) override;

  size_t shake_hands(BytesView data);
  void accept(const Initiate& initiate);
  void reject(const std::string& why);
  int64_t age_of(const MessageHeader& header);
  int64_t deadline_of(const MessageHeader& header);
  void tell_of_expired(const MessageHeader& header);
  void tell_of_future(const MessageHeader& header, int64_t millis);
  std::optional<std::string> bad_peer_line();
  void watch_large();
  void cancel_timers();
  void wait_for_room();
  void release(size_t bytes);
  static Task<void> finish(std::shared_ptr<InboundLink> self, Task<void> task, size_t bytes);

  ShardRuntime& runtime_;
  const LinkOptions& options_;
  NodeReserves& node_;
  InboundHost* host_;
  Connection* connection_;
  const SocketAddress remote_;  // the socket's
  std::optional<Initiate> initiate_;
  int version_ = 0;
  bool closing_ = false;
  TimerId timer_ = 0;  // of the handshake, then of waiting for room
  TimerId large_ = 0;  // looks whether the time of a large message has passed that is on its way

  std::shared_ptr<PeerReserves> reserves_;
  std::unique_ptr<QueueBudget> budget_;
  std::unique_ptr<MessageReader> reader_;
  bool paused_ = false;
  int64_t admitted_deadline_ = 0;  // of the message that was admitted last
  Counters counters_;
  LogQuota clock_log_{1};
};

}  // namespace cassandra_like
