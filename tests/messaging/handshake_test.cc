// Handshakes of good and of bad peers; their bytes are compared with Cassandra's in wire_oracle_test.cc.
#include "messaging/wire/handshake.h"

#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

Initiate some_initiate() {
  Initiate initiate;
  initiate.from = *InetAddressAndPort::parse("127.0.0.2", 7000);
  return initiate;
}
Bytes initiate_bytes(const Initiate& initiate = some_initiate()) {
  Bytes out;
  append_initiate(out, initiate);
  return out;
}

// The bytes with others from a place on; the CRC stays as it was.
Bytes with(Bytes bytes, size_t at, BytesView other) { return bytes.replace(at, other.size(), other); }

std::string refusal(BytesView data) {
  Initiate initiate;
  auto size = decode_initiate(data, &initiate);
  if (!size.ok()) return size.error().message();
  return *size == 0 ? "incomplete" : "ok";
}

TEST(Initiate, MayArriveByteByByte) {
  const Bytes bytes = initiate_bytes();
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_EQ(refusal(bytes.substr(0, size)), "incomplete") << size;
  EXPECT_EQ(refusal(bytes), "ok");
}

TEST(Initiate, IsRefusedAsSoonAsItCannotBeOne) {
  const Bytes bytes = initiate_bytes();
  EXPECT_EQ(refusal("GET "), "Read 1195725856, Expected -900387334: these bytes are no internode handshake");
  EXPECT_EQ(refusal("\x16\x03\x01\x02"), "it begins a TLS handshake, and server_encryption_options is none here");
  EXPECT_EQ(refusal(with(bytes, 6, "\x0b").substr(0, 8)),
            "it speaks messaging version 13; 12 (Cassandra 4.0) is the first that this node speaks");
  EXPECT_EQ(refusal(with(bytes, 4, "\x0b\x0b\x0b").substr(0, 8)),
            "it speaks messaging version 11; 12 (Cassandra 4.0) is the first that this node speaks");
  EXPECT_EQ(refusal(with(bytes, 7, "\x16")), "it asks for the unknown framing 3");
  EXPECT_EQ(refusal(with(bytes, 8, BytesView("\x04", 1)).substr(0, 9)),
            "its address has 4 bytes, which must be 6 or 18");
}

TEST(Initiate, ShowsAnyFlippedBit) {
  const Bytes bytes = initiate_bytes();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes bad = bytes;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    EXPECT_NE(refusal(bad), "ok") << bit;
  }
}

TEST(Accept, MayArriveByteByByteAndShowsAnyFlippedBit) {
  Bytes bytes;
  append_accept(bytes, {13, 12});
  Accept accept;
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto got = decode_accept(BytesView(bytes).substr(0, size), &accept);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(*got, 0u);
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes bad = bytes;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(decode_accept(bad, &accept).ok()) << bit;
  }
}

struct Meeting {
  AcceptVersions acceptor, initiator;
  int use;               // what the acceptor answers
  bool acceptor_closes;  // behind its answer
  bool initiator_closes;
};

// InboundConnectionInitiator's rule, for every pair of nodes of today and of later versions.
TEST(Versions, AreTheNewestOfBoth) {
  const Meeting meetings[] = {
      {{12, 13}, {12, 13}, 13, false, false}, {{12, 12}, {12, 13}, 12, false, false},
      {{12, 13}, {12, 12}, 12, false, false}, {{12, 13}, {13, 15}, 13, false, false},
      {{12, 12}, {13, 15}, 12, true, true},   {{13, 13}, {12, 12}, 13, true, true},
      {{12, 13}, {14, 15}, 13, true, true},
  };
  for (const Meeting& m : meetings) {
    const Accept accept = choose_version(m.acceptor, m.initiator);
    EXPECT_EQ(accept, (Accept{m.acceptor.max, m.use}));
    EXPECT_EQ(!version_conflict(m.acceptor, m.initiator, "/127.0.0.2:7000").empty(), m.acceptor_closes);
    auto version = accepted_version(m.initiator, accept, "/127.0.0.1:7000");
    EXPECT_EQ(!version.ok(), m.initiator_closes);
    if (version.ok()) {
      EXPECT_EQ(*version, m.use);
    }
  }
  EXPECT_EQ(version_conflict({12, 12}, {13, 15}, "/127.0.0.2:7000"),
            "peer /127.0.0.2:7000 only supports messaging versions higher (13) than this node supports (12)");
  EXPECT_EQ(version_conflict({13, 13}, {12, 12}, "/127.0.0.2:7000"),
            "peer /127.0.0.2:7000 only supports messaging versions lower (12) than this node supports (13)");
  EXPECT_EQ(accepted_version({13, 15}, {12, 12}, "/127.0.0.1:7000").error().message(),
            "Incompatible peer: /127.0.0.1:7000, messaging version: 12");
}

}  // namespace
}  // namespace cassandra_like
