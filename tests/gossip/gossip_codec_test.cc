// Gossip's payloads: the bytes of Cassandra's own serializers are decoded, and written again as they were.
#include "gossip/gossip_codec.h"

#include <gtest/gtest.h>

#include "tests/gossip/gossip_testing.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;

const InetAddressAndPort kNode1 = *InetAddressAndPort::parse("10.0.0.1:7000");
const InetAddressAndPort kNode7 = *InetAddressAndPort::parse("[fd00::7]:7010");
constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
const std::string kZurich = std::string("Z\u00fcrich\0\u20ac\U0001F600", 15);

GossipDigests oracle_digests() {
  return {{kNode1, 1'700'000'000, 42}, {kNode7, 0, -1}, {*InetAddressAndPort::parse("10.0.0.255:65535"), kMax, kMax}};
}

EndpointStates oracle_states() {
  const std::vector<Token> one = {7}, three = {7, -7, std::numeric_limits<int64_t>::min() + 1};
  EndpointState rich;
  rich.heart_beat = {1'700'000'000, 43};
  rich.states = {{ApplicationState::kStatus, {state_values::normal(one), 12}},
                 {ApplicationState::kLoad, {state_values::number(98765), 40}},
                 {ApplicationState::kDc, {kZurich + "\xED\xA0\x80", 3}},
                 {ApplicationState::kHostId, {"12345678-9abc-4def-8123-456789abcdef", 2}},
                 {ApplicationState::kTokens, {state_values::tokens(three), 11}},
                 {ApplicationState::kStatusWithPort, {state_values::normal(one), 13}},
                 {ApplicationState::kIndexStatus, {"{}", 5}},
                 {ApplicationState::kX10, {"", 6}}};
  EndpointState bare;
  bare.heart_beat = HeartBeatState::empty();
  return {{kNode1, rich}, {kNode7, bare}};
}

const Bytes& recorded(const char* name, int version) { return oracle().messages.at({name, version}); }

void expect_same(const EndpointStates& a, const EndpointStates& b) {
  ASSERT_EQ(a.size(), b.size());
  for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j) {
    EXPECT_EQ(i->first, j->first);
    EXPECT_EQ(i->second.heart_beat, j->second.heart_beat);
    EXPECT_EQ(i->second.states, j->second.states);
  }
}

TEST(GossipCodec, SynIsCassandras) {
  const std::string partitioner = "org.apache.cassandra.dht.Murmur3Partitioner";
  for (int version : {kGossipVersion40, kGossipVersion50}) {
    auto syn = decode_syn(recorded("syn", version));
    ASSERT_TRUE(syn.ok());
    EXPECT_EQ(syn->cluster, kZurich);
    EXPECT_EQ(syn->partitioner, partitioner);
    EXPECT_EQ(syn->digests, oracle_digests());
    EXPECT_EQ(encode_syn(*syn), recorded("syn", version));
    EXPECT_EQ(encode_syn({"Test Cluster", partitioner, {}}), recorded("syn of a shadow round", version));
  }
}

TEST(GossipCodec, AckIsCassandras) {
  for (int version : {kGossipVersion40, kGossipVersion50}) {
    auto ack = decode_ack(recorded("ack", version));
    ASSERT_TRUE(ack.ok());
    EXPECT_EQ(ack->digests, oracle_digests());
    expect_same(ack->states, oracle_states());
    EXPECT_EQ(encode_ack(*ack), recorded("ack", version));
    EXPECT_EQ(encode_ack({}), recorded("ack of a shadow round", version));
  }
}

TEST(GossipCodec, Ack2IsCassandras) {
  for (int version : {kGossipVersion40, kGossipVersion50}) {
    auto ack2 = decode_ack2(recorded("ack2", version));
    ASSERT_TRUE(ack2.ok());
    expect_same(ack2->states, oracle_states());
    EXPECT_EQ(encode_ack2(*ack2), recorded("ack2", version));
  }
}

TEST(GossipCodec, ShutdownHasAStateInVersion13Only) {
  auto of_40 = decode_shutdown(recorded("shutdown", kGossipVersion40), kGossipVersion40);
  ASSERT_TRUE(of_40.ok());
  EXPECT_FALSE(of_40->state.has_value());
  auto of_50 = decode_shutdown(recorded("shutdown", kGossipVersion50), kGossipVersion50);
  ASSERT_TRUE(of_50.ok() && of_50->state);
  EXPECT_EQ(of_50->state->heart_beat, (HeartBeatState{1'700'000'000, 99}));
  EXPECT_EQ(of_50->state->status(), "shutdown");
  EXPECT_EQ(encode_shutdown(*of_50, kGossipVersion50), recorded("shutdown", kGossipVersion50));
  EXPECT_EQ(encode_shutdown(*of_50, kGossipVersion40), "");
}

TEST(GossipCodec, WhatIsCutAnywhereOrTooLongIsRefused) {
  const Bytes& ack = recorded("ack", kGossipVersion50);
  for (size_t size = 0; size < ack.size(); ++size) {
    EXPECT_FALSE(decode_ack(BytesView(ack).substr(0, size)).ok()) << size;
  }
  auto longer = decode_ack(ack + "x");
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(longer.error().message(), "Malformed GOSSIP_DIGEST_ACK payload");
}

TEST(GossipCodec, CountsThatTheInputCannotHoldAreRefused) {
  for (uint32_t count : {0x7FFFFFFFu, 0xFFFFFFFFu, 0x80000000u, 1u}) {
    Bytes ack2;
    append_be<uint32_t>(ack2, count);
    EXPECT_FALSE(decode_ack2(ack2).ok()) << count;
  }
}

TEST(GossipCodec, AnApplicationStateThatCassandraDoesNotHaveIsRefused) {
  for (uint32_t key : {kApplicationStates - 1, kApplicationStates, 0xFFFFFFFFu}) {
    Bytes shutdown;
    for (uint32_t word : {5u, 6u, 1u, key}) append_be<uint32_t>(shutdown, word);
    append_be<uint16_t>(shutdown, 0);
    append_be<uint32_t>(shutdown, 1);
    EXPECT_EQ(decode_shutdown(shutdown, kGossipVersion50).ok(), key == kApplicationStates - 1) << key;
  }
}

TEST(GossipCodec, DamagedBytesAreRefusedOrReadAsSomethingThatCanBeWritten) {
  SeededRandom random(1);
  const Bytes& whole = recorded("ack", kGossipVersion50);
  int readable = 0;
  for (int run = 0; run < 20'000; ++run) {
    Bytes damaged = whole;
    for (uint64_t left = 1 + random.below(3); left > 0; --left) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.next());
    }
    auto ack = decode_ack(damaged);
    if (!ack.ok()) continue;
    ++readable;
    auto again = decode_ack(encode_ack(*ack));
    ASSERT_TRUE(again.ok()) << to_hex(damaged);
    EXPECT_EQ(again->digests, ack->digests);
    expect_same(again->states, ack->states);
  }
  EXPECT_GT(readable, 0);
}

}  // namespace
}  // namespace cassandra_like
