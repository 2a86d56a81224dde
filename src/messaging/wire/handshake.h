// Two nodes say this to each other before the first message (net.HandshakeProtocol, net.InboundConnectionInitiator). Integers
// are big-endian; the CRC is crc32_of_frame() of all bytes before it.
//
//   initiate := 0xCA552DFA:u32, flags:u32, endpoint (of the initiator: its broadcast address), crc:u32
//   flags    := bits 0 and 1: connection type, bit 2: framing & 1, bit 3: streaming, bit 4: framing >> 1,
//               bits 8 to 15: its lowest version again (of nodes before 4.0: the version of the connection),
//               bits 16 to 23: its lowest version, bits 24 to 31: its highest version
//   accept   := highest version of the acceptor:u32, version of this connection:u32, crc:u32
//
// The initiator chooses type and framing. Both versions and framing hold from the byte behind `accept` on. There is no third
// message: the initiator that cannot speak the version of `accept` closes.
#pragma once

#include "base/segment.h"
#include "messaging/wire/endpoint_codec.h"
#include "messaging/wire/verb.h"

namespace cassandra_like {

inline constexpr uint32_t kInternodeMagic = 0xCA552DFA;

// Messaging versions, both inclusive.
struct AcceptVersions {
  int min = 12;
  int max = 13;

  bool operator==(const AcceptVersions&) const = default;
};

struct Initiate {
  AcceptVersions versions;
  ConnectionType type = ConnectionType::kSmall;
  Framing framing = Framing::kCrc;
  InetAddressAndPort from;

  bool operator==(const Initiate&) const = default;
};

struct Accept {
  int max_version = 0;
  int use_version = 0;

  bool operator==(const Accept&) const = default;
};

inline constexpr size_t kMaxInitiateSize = 12 + kMaxEndpointSize;
inline constexpr size_t kAcceptSize = 12;

void append_initiate(Bytes& out, const Initiate& initiate);
void append_accept(Bytes& out, const Accept& accept);

// The number of bytes that were one; 0 when more have to come. kProtocolError, with what is wrong, when no bytes that may
// follow can make it one. A peer before 4.0 is refused by its version.
Result<size_t> decode_initiate(BytesView data, Initiate* initiate);
Result<size_t> decode_accept(BytesView data, Accept* accept);

// The acceptor's rule: the newest version of both, or else its own that is nearest.
Accept choose_version(AcceptVersions ours, AcceptVersions theirs);
// Why the acceptor closes behind its answer; empty when it does not. `peer` names the initiator.
std::string version_conflict(AcceptVersions ours, AcceptVersions theirs, std::string_view peer);
// The initiator's: the version of the connection, or kProtocolError.
Result<int> accepted_version(AcceptVersions ours, const Accept& accept, std::string_view peer);

}  // namespace cassandra_like
