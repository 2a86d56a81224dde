#include "gossip/gossip_codec.h"

#include <utility>

#include "gossip/modified_utf8.h"

namespace cassandra_like {
namespace {

Error malformed(const char* message) {
  return Error(ErrorCode::kCorruption, std::string("Malformed ") + message + " payload");
}

void append_digests(Bytes& out, const GossipDigests& digests) {
  append_be<int32_t>(out, static_cast<int32_t>(digests.size()));
  for (const GossipDigest& digest : digests) {
    append_endpoint(out, digest.endpoint);
    append_be<int32_t>(out, digest.generation);
    append_be<int32_t>(out, digest.max_version);
  }
}

void append_state(Bytes& out, const EndpointState& state) {
  append_be<int32_t>(out, state.heart_beat.generation);
  append_be<int32_t>(out, state.heart_beat.version);
  append_be<int32_t>(out, static_cast<int32_t>(state.states.size()));
  for (const auto& [key, value] : state.states) {
    append_be<int32_t>(out, static_cast<int32_t>(key));
    append_utf(out, value.value);
    append_be<int32_t>(out, value.version);
  }
}

void append_states(Bytes& out, const EndpointStates& states) {
  append_be<int32_t>(out, static_cast<int32_t>(states.size()));
  for (const auto& [endpoint, state] : states) {
    append_endpoint(out, endpoint);
    append_state(out, state);
  }
}

// A count of things that each take a byte at least; zero when the reader has failed.
int32_t read_count(Reader& in) {
  const int32_t count = in.i32();
  if (count < 0 || static_cast<size_t>(count) > in.remaining()) in.fail();
  return in.failed() ? 0 : count;
}

GossipDigests read_digests(Reader& in) {
  GossipDigests out;
  for (int32_t left = read_count(in); left > 0 && !in.failed(); --left) {
    GossipDigest digest;
    digest.endpoint = read_endpoint(in);
    digest.generation = in.i32();
    digest.max_version = in.i32();
    out.push_back(digest);
  }
  return out;
}

EndpointState read_state(Reader& in) {
  EndpointState out;
  out.heart_beat.generation = in.i32();
  out.heart_beat.version = in.i32();
  for (int32_t left = read_count(in); left > 0 && !in.failed(); --left) {
    const uint32_t key = in.u32();
    VersionedValue value;
    value.value = read_utf(in);
    value.version = in.i32();
    if (key >= kApplicationStates) in.fail();
    if (!in.failed()) out.states[static_cast<ApplicationState>(key)] = std::move(value);
  }
  return out;
}

EndpointStates read_states(Reader& in) {
  EndpointStates out;
  for (int32_t left = read_count(in); left > 0 && !in.failed(); --left) {
    const InetAddressAndPort endpoint = read_endpoint(in);
    out[endpoint] = read_state(in);
  }
  return out;
}

bool is_whole(const Reader& in) { return !in.failed() && in.at_end(); }

}  // namespace

Bytes encode_syn(const GossipDigestSyn& syn) {
  Bytes out;
  append_utf(out, syn.cluster);
  append_utf(out, syn.partitioner);
  append_digests(out, syn.digests);
  return out;
}

Bytes encode_ack(const GossipDigestAck& ack) {
  Bytes out;
  append_digests(out, ack.digests);
  append_states(out, ack.states);
  return out;
}

Bytes encode_ack2(const GossipDigestAck2& ack2) {
  Bytes out;
  append_states(out, ack2.states);
  return out;
}

Bytes encode_shutdown(const GossipShutdown& shutdown, int version) {
  Bytes out;
  if (version < kGossipVersion50) return out;
  CHECK(shutdown.state.has_value());
  append_state(out, *shutdown.state);
  return out;
}

Result<GossipDigestSyn> decode_syn(BytesView payload) {
  Reader in(payload);
  GossipDigestSyn out;
  out.cluster = read_utf(in);
  out.partitioner = read_utf(in);
  out.digests = read_digests(in);
  if (!is_whole(in)) return malformed("GOSSIP_DIGEST_SYN");
  return out;
}

Result<GossipDigestAck> decode_ack(BytesView payload) {
  Reader in(payload);
  GossipDigestAck out;
  out.digests = read_digests(in);
  out.states = read_states(in);
  if (!is_whole(in)) return malformed("GOSSIP_DIGEST_ACK");
  return out;
}

Result<GossipDigestAck2> decode_ack2(BytesView payload) {
  Reader in(payload);
  GossipDigestAck2 out;
  out.states = read_states(in);
  if (!is_whole(in)) return malformed("GOSSIP_DIGEST_ACK2");
  return out;
}

Result<GossipShutdown> decode_shutdown(BytesView payload, int version) {
  Reader in(payload);
  GossipShutdown out;
  if (version >= kGossipVersion50) out.state = read_state(in);
  if (!is_whole(in)) return malformed("GOSSIP_SHUTDOWN");
  return out;
}

}  // namespace cassandra_like
