// The links of a node have this in common: settings, and the bytes that all peers share. The defaults are Cassandra's.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "messaging/link/byte_limit.h"
#include "messaging/wire/handshake.h"
#include "runtime/executor.h"

namespace cassandra_like {

struct LinkOptions {
  InetAddressAndPort self;  // broadcast address and storage port
  AcceptVersions versions;
  // Connections that this node opens: within its datacenter and to others: kLz4 by internode_compression.
  Framing framing = Framing::kCrc, distant_framing = Framing::kCrc;
  VerbTimeouts timeouts;
  bool cross_node_timeout = true;  // internode_timeout: a message's age counts from its making, not from its arrival

  size_t send_queue = size_t{4} << 20;               // internode_application_send_queue_capacity
  size_t send_endpoint_reserve = size_t{128} << 20;  // ..._reserve_endpoint_capacity
  size_t send_global_reserve = size_t{512} << 20;    // ..._reserve_global_capacity
  size_t receive_queue = size_t{4} << 20;            // internode_application_receive_queue_*
  size_t receive_endpoint_reserve = size_t{128} << 20;
  size_t receive_global_reserve = size_t{512} << 20;
  size_t max_message_size = size_t{128} << 20;  // internode_max_message_size

  Duration connect_timeout = std::chrono::seconds(2);  // internode_tcp_connect_timeout
  // internode_tcp_user_timeout: a connection ends when the peer's machine has not acknowledged bytes for so long.
  Duration user_timeout = std::chrono::seconds(30);
  Duration handshake_timeout = std::chrono::seconds(30);  // three times request_timeout
  Duration first_retry = std::chrono::milliseconds(100);  // of a connection; doubles up to last_retry
  Duration last_retry = std::chrono::seconds(1);
  uint64_t most_inbound = 64 * 1024;      // connections from peers
  size_t unsent_high_water = 128 * 1024;  // no further messages are framed while more bytes wait for the network
};

// The reserves of one peer, for the queues of all shards.
struct PeerReserves {
  explicit PeerReserves(const LinkOptions& options)
      : send(options.send_endpoint_reserve), receive(options.receive_endpoint_reserve) {}
  ByteLimit send, receive;
};

// The reserves of a node. Outlives its links; any shard may ask.
class NodeReserves {
 public:
  explicit NodeReserves(const LinkOptions& options)
      : send(options.send_global_reserve),
        receive(options.receive_global_reserve),
        read_ahead(options.send_global_reserve / 8),
        options_(options) {}

  // The reserves of a peer live as long as somebody holds them: addresses that strangers claim do not pile up.
  std::shared_ptr<PeerReserves> of(const InetAddressAndPort& peer);

  ByteLimit send, receive;
  ByteLimit read_ahead;  // of ranges that peers ask for, by ReadRequest

 private:
  const LinkOptions options_;
  std::mutex mutex_;
  std::map<InetAddressAndPort, std::weak_ptr<PeerReserves>> peers_;
  size_t sweep_at_ = 64;
};

}  // namespace cassandra_like
