// The payloads of gossip's messages, for messaging versions 12 (Cassandra 4.0) and 13 (5.0). Integers are big-endian;
// endpoints are drawn in messaging/wire/endpoint_codec.h, strings in gossip/modified_utf8.h:
//
//   GOSSIP_DIGEST_SYN  := cluster name:string, partitioner:string, digests
//   GOSSIP_DIGEST_ACK  := digests, states
//   GOSSIP_DIGEST_ACK2 := states
//   GOSSIP_SHUTDOWN    := state in version 13, nothing in version 12
//
//   digests := count:i32, (endpoint, generation:i32, greatest version:i32)…
//   states  := count:i32, (endpoint, state)…
//   state   := generation:i32, heartbeat version:i32, count:i32, (application state:i32, value:string, version:i32)…
//
// ECHO_REQ and ECHO_RSP have no payload. A decoder allocates no more than a small multiple of its input.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gossip/endpoint_state.h"
#include "messaging/wire/endpoint_codec.h"

namespace cassandra_like {

inline constexpr int kGossipVersion40 = 12;
inline constexpr int kGossipVersion50 = 13;

// How much of an endpoint's state somebody has.
struct GossipDigest {
  InetAddressAndPort endpoint;
  int32_t generation = 0;
  int32_t max_version = 0;
  bool operator==(const GossipDigest&) const = default;
};
using GossipDigests = std::vector<GossipDigest>;
using EndpointStates = std::map<InetAddressAndPort, EndpointState>;

struct GossipDigestSyn {
  std::string cluster;
  std::string partitioner;  // with its package
  GossipDigests digests;    // none: the sender is in its shadow round
};
struct GossipDigestAck {
  GossipDigests digests;  // what the sender asks for
  EndpointStates states;  // what the sender knows better
};
struct GossipDigestAck2 {
  EndpointStates states;
};
struct GossipShutdown {
  std::optional<EndpointState> state;  // the sender's; nothing in version 12
};

// Texts in messages that are encoded must not need more than kMaxUtfBytes.
Bytes encode_syn(const GossipDigestSyn& syn);
Bytes encode_ack(const GossipDigestAck& ack);
Bytes encode_ack2(const GossipDigestAck2& ack2);
// Version 13 needs the state.
Bytes encode_shutdown(const GossipShutdown& shutdown, int version);

// kCorruption, with the message's name, when the bytes are not what is drawn above, all of them.
Result<GossipDigestSyn> decode_syn(BytesView payload);
Result<GossipDigestAck> decode_ack(BytesView payload);
Result<GossipDigestAck2> decode_ack2(BytesView payload);
Result<GossipShutdown> decode_shutdown(BytesView payload, int version);

}  // namespace cassandra_like
