// Peers that do not read, say nothing, say nonsense or lie: what they cost, what is told of them, and that their neighbours
// notice nothing. And what exactly leaves for a peer that behaves.
#include <fmt/format.h>

#include "gmock/gmock.h"
#include "messaging/wire/control_codec.h"
#include "tests/messaging/messenger_fixture.h"

namespace cassandra_like::messaging_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kMax = size_t{1} << 20;

class Recorder final : public ResponseHandler {
 public:
  void on_response(InboundMessage& response) override { told.emplace_back(response.payload); }
  void on_failure(const InetAddressAndPort&, RequestFailureReason reason) override {
    told.push_back(std::string("<") + failure_reason_name(reason) + ">");
  }
  size_t count(const std::string& text) const { return static_cast<size_t>(std::ranges::count(told, text)); }
  std::vector<std::string> told;
};

// The messages in the bytes of a connection, and the frames they came in.
struct Received : MessageSink {
  explicit Received(const Bytes& bytes) {
    Bytes scratch;
    BytesView rest = bytes;
    for (Segment frame; read_segment(rest, Framing::kCrc, scratch, &frame) == SegmentStatus::kIntact; ++frames) {
      rest.remove_prefix(frame.size);
    }
    MessageReader reader(Framing::kCrc, kMax);
    EXPECT_TRUE(reader.feed(bytes, scratch, *this).ok());
  }
  Admission admit(const MessageHeader&, size_t) override { return Admission::kTake; }
  bool still_wanted(const MessageHeader&) override { return true; }
  void on_message(ReceivedMessage message) override {
    messages.push_back(std::string(verb_name(message.header.verb)) + " " + Bytes(message.payload));
    ids.push_back(message.header.id);
  }
  void on_lost(const MessageHeader&, size_t, bool) override {}
  void on_corrupt_frame(const Segment&) override {}

  size_t frames = 0;
  std::vector<std::string> messages;
  std::vector<uint64_t> ids;
};

PeerStatistics::Link only_link(const TestNode& node, size_t peer = 0) {
  return node.messengers[0]->peers().at(peer).links.at(0);
}

Bytes initiate_of(const std::string& host, Framing framing = Framing::kCrc) {
  Initiate initiate;
  initiate.from = endpoint_at(host);
  initiate.framing = framing;
  Bytes out;
  append_initiate(out, initiate);
  return out;
}

// ---- what leaves

TEST(PeerLink, SendsATurnsMessagesInOneFrameByPriority) {
  std::vector<std::shared_ptr<HandPeer>> accepted;
  Cluster cluster;
  TestNode& a = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  auto listener = cluster.listen(machine, "10.0.0.9", &accepted);
  cluster.on(a, 0, [&](Messenger& m) {
    for (const char* text : {"1", "2"}) {
      m.send(endpoint_at("10.0.0.9"), Verb::kHintReq, shared(text));
      m.send(endpoint_at("10.0.0.9"), Verb::kMutationReq, shared(text));
      m.send(endpoint_at("10.0.0.9"), Verb::kReadRsp, shared(text));
    }
  });
  ASSERT_TRUE(cluster.wait([&] { return !accepted.empty() && accepted[0]->received.size() >= 19; }));
  const Initiate initiate = accepted[0]->shake_hands();
  EXPECT_EQ(initiate.from, a.endpoint());
  EXPECT_EQ(initiate.type, ConnectionType::kSmall);
  EXPECT_EQ(initiate.versions, (AcceptVersions{12, 13}));
  cluster.world->run_for(milliseconds(100));
  const Received got(accepted[0]->received);
  EXPECT_EQ(got.frames, 1u);
  EXPECT_THAT(got.messages, testing::ElementsAre("READ_RSP 1", "READ_RSP 2", "MUTATION_REQ 1", "MUTATION_REQ 2",
                                                 "HINT_REQ 1", "HINT_REQ 2"));
}

// Expired while nobody was there: told at once, and its bytes never leave.
TEST(PeerLink, DropsWhatHasExpiredBeforeItIsSent) {
  Recorder told;
  std::vector<std::shared_ptr<HandPeer>> accepted;
  Cluster cluster;
  TestNode& a = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  cluster.on(a, 0, [&](Messenger& m) {
    m.send_request(endpoint_at("10.0.0.9"), Verb::kMutationReq, shared("old"), told);  // write_request_timeout: 2 s
    m.send_request(endpoint_at("10.0.0.9"), Verb::kReadReq, shared("young"), told);    // read_request_timeout: 5 s
  });
  cluster.world->run_for(seconds(3));
  EXPECT_THAT(told.told, testing::ElementsAre("<TIMEOUT>"));
  EXPECT_EQ(only_link(a).counters.expired, 1u);
  EXPECT_EQ(a.messengers[0]->dropped(Verb::kMutationReq), 1u);
  auto listener = cluster.listen(machine, "10.0.0.9", &accepted);
  ASSERT_TRUE(cluster.wait([&] { return !accepted.empty() && accepted[0]->received.size() >= 19; }, seconds(2)));
  accepted[0]->shake_hands();
  cluster.world->run_for(milliseconds(100));
  EXPECT_THAT(Received(accepted[0]->received).messages, testing::ElementsAre("READ_REQ young"));
}

// ---- peers that do not read

TEST(BadPeer, ThatNeverReadsCostsItsOwnQueue) {
  std::vector<std::shared_ptr<HandPeer>> accepted;
  Recorder told;
  Cluster cluster;
  TestNode& a = cluster.add(1, [](LinkOptions& options) {
    options.send_queue = 200'000;
    options.send_endpoint_reserve = 300'000;
  });
  cluster.change_options = {};
  TestNode& b = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  auto listener = cluster.listen(machine, "10.0.0.9", &accepted);
  auto flood = [&](Messenger& m) {
    for (int i = 0; i < 100; ++i) {
      const int64_t deadline = cluster.world->clock().monotonic_nanos() + 30'000'000'000;
      m.send_request(endpoint_at("10.0.0.9"), Verb::kMutationReq, shared(Bytes(10'000, 'x')), told,
                     {.deadline = deadline});
    }
  };
  cluster.on(a, 0, [&](Messenger& m) {
    m.send(endpoint_at("10.0.0.9"), Verb::kEchoRsp, {}, {.type = ConnectionType::kSmall});
  });
  ASSERT_TRUE(cluster.wait([&] { return !accepted.empty() && accepted[0]->received.size() >= 19; }));
  accepted[0]->shake_hands();
  cluster.world->run_for(milliseconds(100));
  accepted[0]->connection->pause();
  for (int i = 0; i < 10; ++i) {
    cluster.on(a, 0, flood);
    cluster.world->run_for(milliseconds(100));
    EXPECT_LE(only_link(a).pending_bytes, 500'000u);
    EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "neighbour"), "neighbour");
  }
  EXPECT_GT(told.count("<TIMEOUT>"), 500u);  // refused at once
  EXPECT_EQ(only_link(a, 1).counters.overloaded, told.count("<TIMEOUT>"));
  EXPECT_LE(a.group->reserves.send.used(), 300'000u);
  cluster.world->run_for(seconds(40));
  EXPECT_EQ(told.told.size(), 1000u);
  EXPECT_EQ(told.count("<TIMEOUT>"), 1000u);
  // The messages that waited have expired and left their room to others.
  EXPECT_EQ(only_link(a, 1).pending, 0u);
  accepted[0]->connection->resume();
  cluster.world->run_for(seconds(1));
  EXPECT_EQ(only_link(a, 1).pending_bytes, 0u);
  EXPECT_EQ(a.group->reserves.send.used(), 0u);
}

// A message of a few bytes takes a few hundred of memory, and those are limited. Bytes that are shown are those of the wire.
TEST(BadPeer, ThatNeverReadsShortMessagesCostsItsOwnQueue) {
  std::vector<std::shared_ptr<HandPeer>> accepted;
  Cluster cluster;
  TestNode& a = cluster.add(1, [](LinkOptions& options) {
    options.send_queue = 100'000;
    options.send_endpoint_reserve = 0;
  });
  Runtime& machine = cluster.add_machine("10.0.0.9");
  auto listener = cluster.listen(machine, "10.0.0.9", &accepted);
  constexpr size_t kMost = 100'000 / OutboundMessage::kOverhead;
  size_t taken = 0;
  cluster.on(a, 0, [&](Messenger& m) {
    for (int i = 0; i < 2000; ++i) taken += m.send(endpoint_at("10.0.0.9"), Verb::kMutationRsp, {});
  });
  EXPECT_EQ(only_link(a).pending, taken);
  EXPECT_GT(taken, kMost * 9 / 10);
  EXPECT_LE(taken, kMost);
  EXPECT_EQ(only_link(a).counters.overloaded, 2000 - taken);
  const size_t bytes = only_link(a).pending_bytes;
  EXPECT_EQ(bytes % taken, 0u);
  EXPECT_LT(bytes / taken, 30u);
  ASSERT_TRUE(cluster.wait([&] { return !accepted.empty() && accepted[0]->received.size() >= 19; }));
  accepted[0]->shake_hands();
  cluster.world->run_for(milliseconds(100));
  EXPECT_EQ(Received(accepted[0]->received).messages.size(), taken);
  EXPECT_EQ(only_link(a).counters.sent_bytes, bytes);
  EXPECT_EQ(only_link(a).pending_bytes, 0u);
  // All room was given back.
  cluster.on(a, 0, [&](Messenger& m) {
    for (size_t i = 0; i < taken; ++i) EXPECT_TRUE(m.send(endpoint_at("10.0.0.9"), Verb::kMutationRsp, {}));
  });
}

// The bytes that it has not read are lost with the connection, the messages that wait are not.
TEST(BadPeer, ThatIsTakenForDeadGetsTheRestOverAnotherConnection) {
  std::vector<std::shared_ptr<HandPeer>> accepted;
  Recorder told;
  Cluster cluster;
  TestNode& a = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  auto listener = cluster.listen(machine, "10.0.0.9", &accepted);
  auto flood = [&](Messenger& m) {
    const int64_t deadline = cluster.world->clock().monotonic_nanos() + 30'000'000'000;
    for (int i = 0; i < 300; ++i) {
      m.send_request(endpoint_at("10.0.0.9"), Verb::kMutationReq, shared(Bytes(10'000, 'x')), told,
                     {.deadline = deadline});
    }
  };
  cluster.on(a, 0, [&](Messenger& m) {
    m.send(endpoint_at("10.0.0.9"), Verb::kEchoRsp, {}, {.type = ConnectionType::kSmall});
  });
  ASSERT_TRUE(cluster.wait([&] { return !accepted.empty() && accepted[0]->received.size() >= 19; }));
  accepted[0]->shake_hands();
  cluster.world->run_for(milliseconds(100));
  accepted[0]->connection->pause();
  cluster.on(a, 0, flood);
  cluster.world->run_for(milliseconds(100));
  const size_t waiting = only_link(a).pending;
  ASSERT_GT(waiting, 0u);
  cluster.on(a, 0, [&](Messenger& m) { m.interrupt(endpoint_at("10.0.0.9")); });
  ASSERT_TRUE(cluster.wait([&] { return accepted.size() == 2 && accepted[1]->received.size() >= 19; }));
  accepted[1]->shake_hands();
  cluster.world->run_for(seconds(31));
  EXPECT_EQ(Received(accepted[1]->received).messages.size(), waiting);
  EXPECT_EQ(only_link(a).pending_bytes, 0u);
}

// ---- peers that say nothing

TEST(BadPeer, ThatDoesNotShakeHandsIsClosed) {
  Cluster cluster;
  TestNode& a = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  CapturedLog log;
  auto silent = cluster.connect(machine, a);
  auto half = cluster.connect(machine, a);
  half->send(BytesView("\xCA\x55\x2D\xFA\x0c", 5));
  cluster.world->run_for(seconds(29));
  EXPECT_FALSE(silent->closed || half->closed);
  cluster.world->run_for(seconds(2));
  EXPECT_TRUE(silent->closed && half->closed);
  EXPECT_EQ(log.count("Timeout handshaking: no Initiate in time; closing the connection"), 2u) << log.all();
  EXPECT_EQ(log.count("/10.0.0.9:"), 2u);
  EXPECT_TRUE(a.messengers[0]->inbound().empty());
}

// Connections without a handshake go first, then those of an address that has most: nodes come in, and stay.
TEST(BadPeer, ThatOpensTooManyConnectionsLosesTheOldest) {
  for (const bool shakes_hands : {false, true}) {
    Cluster cluster;
    TestNode& a = cluster.add(1, [](LinkOptions& options) { options.most_inbound = 10; });
    cluster.change_options = {};
    TestNode& b = cluster.add();
    TestNode& c = cluster.add();
    Runtime& machine = cluster.add_machine("10.0.0.9");
    CapturedLog log;
    EXPECT_EQ(cluster.ask(b, a.endpoint(), Verb::kReadReq, "early"), "early");
    std::vector<std::shared_ptr<HandPeer>> strangers;
    for (int i = 0; i < 30; ++i) {
      strangers.push_back(cluster.connect(machine, a));
      if (shakes_hands) strangers.back()->send(initiate_of(fmt::format("10.0.1.{}", i + 1)));
      cluster.world->run_for(milliseconds(10));
      EXPECT_LE(a.group->inbound.load(), 10u);
    }
    for (size_t i = 0; i < strangers.size(); ++i) EXPECT_EQ(strangers[i]->closed, i < 21) << i;
    EXPECT_EQ(log.count("/10.0.0.9:"), shakes_hands ? 40u : 10u) << log.all();  // 30 are told of when they are accepted
    EXPECT_GE(log.count("Too many connections from other nodes"), 9u) << log.all();
    EXPECT_EQ(cluster.ask(c, a.endpoint(), Verb::kReadReq, "late"), "late");
    EXPECT_EQ(cluster.ask(b, a.endpoint(), Verb::kReadReq, "still"), "still");
    EXPECT_EQ(only_link(b).counters.connections, 1u);
    for (const auto& stranger : strangers) {
      if (!stranger->closed) stranger->connection->close();
    }
    cluster.world->run_for(seconds(1));
    EXPECT_EQ(a.group->inbound.load(), 2u);
  }
}

// Nodes that have a few connections each lose none to a node that comes.
TEST(BadPeer, ThatIsOneOfManyTakesNoOthersPlace) {
  Cluster cluster;
  TestNode& a = cluster.add(1, [](LinkOptions& options) { options.most_inbound = 3; });
  std::vector<std::shared_ptr<HandPeer>> peers;
  for (int i = 0; i < 4; ++i) {
    const std::string host = fmt::format("10.0.1.{}", i + 1);
    peers.push_back(cluster.connect(cluster.add_machine(host), a));
    peers.back()->send(initiate_of(host));
    cluster.world->run_for(milliseconds(100));
  }
  for (size_t i = 0; i < peers.size(); ++i) EXPECT_EQ(peers[i]->closed, i == 3) << i;
}

TEST(BadPeer, ThatDoesNotAcceptIsAskedAgain) {
  std::vector<std::shared_ptr<HandPeer>> accepted;
  Cluster cluster;
  TestNode& a = cluster.add(1, [](LinkOptions& options) { options.handshake_timeout = seconds(1); });
  Runtime& machine = cluster.add_machine("10.0.0.9");
  auto listener = cluster.listen(machine, "10.0.0.9", &accepted);
  CapturedLog log;
  EXPECT_EQ(cluster.ask(a, endpoint_at("10.0.0.9"), Verb::kReadReq, "r"), "<TIMEOUT>");
  EXPECT_GE(accepted.size(), 3u);
  EXPECT_LE(accepted.size(), 5u);
  EXPECT_GE(log.count("->/10.0.0.9:7000-SMALL_MESSAGES failed to connect: no answer to the handshake in time"), 1u);
  EXPECT_TRUE(accepted[0]->closed);
}

TEST(BadPeer, ThatAnswersNonsenseIsLeft) {
  std::vector<std::shared_ptr<HandPeer>> accepted;
  Recorder told;
  Cluster cluster;
  TestNode& a = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  auto listener = cluster.listen(machine, "10.0.0.9", &accepted);
  CapturedLog log;
  cluster.on(a, 0, [&](Messenger& m) { m.send_request(endpoint_at("10.0.0.9"), Verb::kReadReq, shared("r"), told); });
  ASSERT_TRUE(cluster.wait([&] { return !accepted.empty() && !accepted[0]->received.empty(); }));
  accepted[0]->send("HTTP/1.1 400");
  cluster.world->run_for(milliseconds(50));
  EXPECT_TRUE(accepted[0]->closed);
  EXPECT_EQ(log.count("failed to connect: its answer to the handshake is none: its CRC is wrong"), 1u) << log.all();
  ASSERT_TRUE(cluster.wait([&] { return accepted.size() > 1 && !accepted[1]->received.empty(); }));
  Bytes answer;
  append_accept(answer, {14, 14});
  accepted[1]->send(answer);
  cluster.world->run_for(milliseconds(50));
  EXPECT_TRUE(accepted[1]->closed);
  cluster.world->run_for(seconds(10));
  EXPECT_THAT(told.told, testing::ElementsAre("<TIMEOUT>"));
}

// ---- peers that say nonsense

Bytes frame_of(BytesView payload, bool self_contained = true) {
  Bytes out;
  append_segment(out, payload, self_contained, Framing::kCrc);
  return out;
}
Bytes message_of(Verb verb, uint64_t id, BytesView payload, size_t claimed = 0) {
  Bytes out;
  append_message_head(out, {.id = id, .expires_in_millis = 600'000, .verb = verb},
                      claimed == 0 ? payload.size() : claimed);
  return out += payload;
}

struct Nonsense {
  Bytes bytes;
  std::string line;
};

TEST(BadPeer, ThatSendsNonsenseIsClosedByName) {
  Bytes flipped = frame_of(message_of(Verb::kReadReq, 1, "r"));
  flipped[1] = static_cast<char>(flipped[1] ^ 1);
  Bytes old = initiate_of("10.0.0.9");
  old[6] = 11;
  const Bytes hello = initiate_of("10.0.0.9");
  const std::string who = "->/10.0.0.1:7000-SMALL_MESSAGES: ";
  const Nonsense cases[] = {
      {"GET / HTTP/1.1\r\n\r\n", "Failed to properly handshake: Read 1195725856, Expected -900387334"},
      {"\x16\x03\x01\x02\x00", "it begins a TLS handshake, and server_encryption_options is none here"},
      {old, "it speaks messaging version 13; 12 (Cassandra 4.0) is the first that this node speaks"},
      {hello.substr(0, 18) + "!", "Failed to properly handshake: its CRC is wrong"},
      {hello + flipped, who},
      {hello + frame_of(BytesView("\1\0\0\0\0\0\x07\0\0\0", 10)), "Unknown verb id 7; closing the connection"},
      {hello + frame_of(message_of(Verb::kReadReq, 1, "", size_t{5} << 30), false),
       "bytes exceeds allowed maximum of 134217728 bytes; closing the connection"},
      {hello + frame_of(message_of(Verb::kReadReq, 1, "abc", 2), false),
       "a large message is longer than the 14 bytes of its head"},
      {hello + frame_of("\1", false), "the head of a large message is not in its first 1 bytes"},
  };
  Cluster cluster;
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  EXPECT_EQ(cluster.ask(b, a.endpoint(), Verb::kReadReq, "neighbour"), "neighbour");
  for (const Nonsense& c : cases) {
    CapturedLog log;
    auto peer = cluster.connect(machine, a);
    peer->send(c.bytes);
    cluster.world->run_for(milliseconds(100));
    EXPECT_TRUE(peer->closed) << c.line;
    EXPECT_EQ(log.count(c.line), 1u) << c.line << "\n" << log.all();
    EXPECT_GE(log.count("10.0.0.9"), 1u);
    EXPECT_EQ(cluster.ask(b, a.endpoint(), Verb::kReadReq, "neighbour"), "neighbour");
  }
  EXPECT_EQ(a.messengers[0]->inbound().size(), 1u);
  EXPECT_EQ(a.group->reserves.receive.used(), 0u);
}

// Random bytes behind a good handshake, in good frames and in none.
TEST(BadPeer, ThatSendsRandomBytesHarmsNobody) {
  Cluster cluster;
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  CapturedLog log;
  size_t closed = 0;
  for (int i = 0; i < 200; ++i) {
    auto peer = cluster.connect(machine, a);
    Bytes noise(300, '\0');
    cluster.world->random().fill(noise.data(), noise.size());
    peer->send(i % 4 == 0 ? noise : initiate_of("10.0.0.9") + (i % 4 == 1 ? noise : frame_of(noise, i % 4 == 2)));
    cluster.world->run_for(milliseconds(20));
    closed += peer->closed;
    if (!peer->closed) peer->connection->close();
  }
  EXPECT_GT(closed, 150u);
  EXPECT_EQ(cluster.ask(b, a.endpoint(), Verb::kReadReq, "neighbour"), "neighbour");
  cluster.world->run_for(seconds(1));
  EXPECT_EQ(a.messengers[0]->inbound().size(), 1u);
  EXPECT_EQ(a.group->reserves.receive.used(), 0u);
  EXPECT_LE(log.count("closing the connection"), 15u);  // the rest is counted
}

TEST(BadPeer, ThatIsLoudHidesNoOther) {
  Cluster cluster;
  TestNode& a = cluster.add();
  Runtime& loud = cluster.add_machine("10.0.0.8");
  Runtime& other = cluster.add_machine("10.0.0.9");
  CapturedLog log;
  for (int i = 0; i < 30; ++i) {
    cluster.connect(loud, a)->send("GET / HTTP/1.1\r\n\r\n");
    cluster.world->run_for(milliseconds(20));
  }
  cluster.connect(other, a)->send("GET / HTTP/1.1\r\n\r\n");
  cluster.world->run_for(milliseconds(20));
  EXPECT_EQ(log.count("/10.0.0.8:"), 10u) << log.all();
  EXPECT_EQ(log.count("/10.0.0.9:"), 1u) << log.all();
}

// An answer may be wanted by any address: links that failed are not kept, nor is each of them told of.
TEST(BadPeer, ThatNamesAnyAddressMakesFewLinks) {
  Cluster cluster;
  cluster.prepare = [](TestNode&, Messenger& messenger) { messenger.handle(Verb::kReadReq, echo_payload()); };
  TestNode& a = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  CapturedLog log;
  auto peer = cluster.connect(machine, a);
  peer->send(initiate_of("10.0.0.9"));
  for (int i = 0; i < 5000; ++i) {
    ParamsBuilder params;
    params.respond_to(endpoint_at(fmt::format("10.1.{}.{}", i / 250, i % 250 + 1)));
    MessageHeader header{.id = 1, .expires_in_millis = 100, .verb = Verb::kReadReq, .params = params.get()};
    header.created_millis = static_cast<uint32_t>(machine.shard(0).clock.wall_millis());
    Bytes message;
    append_message_head(message, header, 0);
    peer->send(frame_of(message));
    cluster.world->run_for(milliseconds(5));
  }
  EXPECT_LE(a.messengers[0]->peers().size(), 2 * kUnusedPeers);
  EXPECT_GT(log.count("failed to connect"), 10u);
  EXPECT_LE(log.count("failed to connect"), 110u);
}

// A frame that was damaged on its way costs its messages, and no more.
TEST(BadPeer, WhoseFrameIsDamagedIsKept) {
  std::vector<std::shared_ptr<HandPeer>> accepted;
  Cluster cluster;
  TestNode& a = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  auto listener = cluster.listen(machine, "10.0.0.9", &accepted);
  CapturedLog log;
  auto peer = cluster.connect(machine, a);
  Bytes damaged = frame_of(message_of(Verb::kReadReq, 1, "first"));
  damaged[10] = static_cast<char>(damaged[10] ^ 1);
  peer->send(initiate_of("10.0.0.9") + damaged + frame_of(message_of(Verb::kReadReq, 2, "second")));
  ASSERT_TRUE(cluster.wait([&] { return !accepted.empty() && accepted[0]->received.size() >= 19; }));
  accepted[0]->shake_hands();
  cluster.world->run_for(milliseconds(100));
  const Received got(accepted[0]->received);
  EXPECT_THAT(got.messages, testing::ElementsAre("READ_RSP second"));
  EXPECT_THAT(got.ids, testing::ElementsAre(2u));
  EXPECT_FALSE(peer->closed);
  EXPECT_EQ(log.count("invalid, recoverable CRC mismatch detected while reading messages (corrupted self-contained"),
            1u);
  EXPECT_EQ(a.messengers[0]->inbound().at(0).counters.corrupt_frames, 1u);
}

// ---- peers that lie

TEST(BadPeer, MayNotAnswerForAnother) {
  Recorder told;
  Cluster cluster;
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  cluster.crash(b);
  auto peer = cluster.connect(machine, a);
  peer->send(initiate_of("10.0.0.9"));
  uint32_t id = 0;
  cluster.on(a, 0, [&](Messenger& m) { id = m.send_request(b.endpoint(), Verb::kReadReq, shared("r"), told); });
  peer->send(frame_of(message_of(Verb::kReadRsp, id, "forged") + message_of(Verb::kReadRsp, 1'000'000, "guessed") +
                      message_of(Verb::kReadRsp, uint64_t{1} << 40, "far")));
  cluster.world->run_for(seconds(1));
  EXPECT_TRUE(told.told.empty());
  EXPECT_EQ(a.messengers[0]->unexpected_responses(), 3u);
  cluster.world->run_for(seconds(10));
}

// Half of a large message waits for its rest, in what all peers have in common, until its connection or the node ends.
TEST(InboundLink, GivesBackWhatHalfAMessageHeld) {
  for (const bool node_ends : {false, true}) {
    Cluster cluster;
    TestNode& a = cluster.add();
    Runtime& machine = cluster.add_machine("10.0.0.9");
    auto peer = cluster.connect(machine, a);
    const Bytes half = message_of(Verb::kReadReq, 1, Bytes(50'000, 'x'), 10'000'000);
    peer->send(initiate_of("10.0.0.9") + frame_of(half, false));
    cluster.world->run_for(milliseconds(100));
    EXPECT_EQ(a.messengers[0]->inbound().at(0).pending_bytes, half.size() - 50'000 + 10'000'000);
    EXPECT_EQ(a.group->reserves.receive.used(), half.size() - 50'000 + 10'000'000 - (size_t{4} << 20));
    if (node_ends) {
      cluster.close_messengers(a);
    } else {
      peer->connection->close();
      cluster.world->run_for(seconds(1));
    }
    EXPECT_EQ(a.group->reserves.receive.used(), 0u);
  }
}

// The rest of a large message has as long as the message says.
TEST(InboundLink, GivesBackWhatHalfAMessageHeldWhenItsTimeHasPassed) {
  Cluster cluster;
  TestNode& a = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  auto peer = cluster.connect(machine, a);
  peer->send(initiate_of("10.0.0.9") + frame_of(message_of(Verb::kReadReq, 1, Bytes(50'000, 'x'), 10'000'000), false));
  cluster.world->run_for(milliseconds(900));
  EXPECT_GT(a.group->reserves.receive.used(), 0u);
  cluster.world->run_for(seconds(602));
  EXPECT_EQ(a.group->reserves.receive.used(), 0u);
  EXPECT_EQ(a.messengers[0]->inbound().at(0).counters.expired, 1u);
  EXPECT_FALSE(peer->closed);
}

// A message that is wanted for centuries is not answered after half an hour.
TEST(InboundLink, BelievesNoTimeWithoutEnd) {
  Cluster cluster;
  int64_t deadline = 0;
  cluster.prepare = [&](TestNode&, Messenger& messenger) {
    messenger.handle(Verb::kReadReq, [&](InboundMessage message) -> Task<VerbResult> {
      deadline = message.deadline;
      return VerbResult::nothing();
    });
  };
  TestNode& a = cluster.add();
  Runtime& machine = cluster.add_machine("10.0.0.9");
  auto peer = cluster.connect(machine, a);
  MessageHeader header{.id = 1, .expires_in_millis = ~uint64_t{0}, .verb = Verb::kReadReq};
  header.created_millis = static_cast<uint32_t>(machine.shard(0).clock.wall_millis());
  Bytes message;
  append_message_head(message, header, 0);
  peer->send(initiate_of("10.0.0.9") + frame_of(message));
  ASSERT_TRUE(cluster.wait([&] { return deadline != 0; }));
  EXPECT_LE(deadline - machine.shard(0).clock.monotonic_nanos(), Duration(std::chrono::minutes(20)).count());
}

// A clock that is an hour off changes no deadline here, and is told of.
TEST(BadPeer, WhoseClockIsWrongIsServed) {
  Cluster cluster;
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  for (const Duration off :
       {Duration(seconds(600)), Duration(std::chrono::hours(1)), Duration(-std::chrono::hours(2))}) {
    a.machine->shift_wall_clock(off);
    CapturedLog log;
    EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "r"), "r");
    if (off > seconds(900)) {
      EXPECT_GE(
          log.count(
              "->/10.0.0.2:7000-SMALL_MESSAGES: the time at which a message was made is more than 15 minutes away from "
              "this node's"),
          1u)
          << log.all();
    }
  }
}

// By its clock, its messages are too old when they come.
TEST(BadPeer, WhoseClockIsTenMinutesLateIsToldOf) {
  Cluster cluster;
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  TestNode& c = cluster.add();
  a.machine->shift_wall_clock(-seconds(600));
  CapturedLog log;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "r"), "<TIMEOUT>");
  EXPECT_EQ(log.count("->/10.0.0.2:7000-SMALL_MESSAGES: READ_REQ was made 600"), 1u) << log.all();
  EXPECT_EQ(cluster.ask(c, b.endpoint(), Verb::kReadReq, "neighbour"), "neighbour");
}

TEST(BadPeer, WhoseClockIsTenMinutesAheadIsServedAndToldOf) {
  Cluster cluster;
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  for (const Duration off : {Duration(seconds(4)), Duration(seconds(600))}) {
    a.machine->shift_wall_clock(off);
    CapturedLog log;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "r"), "r");
    EXPECT_EQ(log.count("->/10.0.0.2:7000-SMALL_MESSAGES: READ_REQ was made"), off == seconds(600) ? 1u : 0u)
        << log.all();
  }
}

// ---- back-pressure

// Slow handlers: the connection is read only as far as there is room, and nothing is lost.
TEST(InboundLink, StopsReadingWhenThereIsNoRoom) {
  std::deque<Promise<VerbResult>> promises;
  size_t most = 0, running = 0;
  Recorder told;
  Cluster cluster;
  cluster.prepare = [&](TestNode&, Messenger& messenger) {
    messenger.handle(Verb::kMutationReq, [&](InboundMessage) {
      most = std::max(most, ++running);
      auto wait = [](Promise<VerbResult>* promise) -> Task<VerbResult> { co_return co_await *promise; };
      return wait(&promises.emplace_back());
    });
  };
  TestNode& a = cluster.add();
  TestNode& b = cluster.add(1, [](LinkOptions& options) {
    options.receive_queue = 50'000;
    options.receive_endpoint_reserve = 0;
  });
  cluster.on(a, 0, [&](Messenger& m) {
    const int64_t deadline = cluster.world->clock().monotonic_nanos() + 100'000'000'000;
    for (int i = 0; i < 200; ++i) {
      m.send_request(b.endpoint(), Verb::kMutationReq, shared(Bytes(9'000, 'x')), told, {.deadline = deadline});
    }
  });
  while (told.told.size() < 200) {
    cluster.world->run_for(milliseconds(50));
    ASSERT_FALSE(promises.empty());
    EXPECT_LE(b.messengers[0]->inbound().at(0).pending_bytes, 50'000u);
    cluster.on(b, 0, [&](Messenger&) {
      auto done = std::exchange(promises, {});
      running -= done.size();
      for (auto& promise : done) promise.set(VerbResult::answer(shared("done")));
    });
    cluster.world->run_for(milliseconds(5));
  }
  EXPECT_EQ(most, 5u);  // five of 9 kB and their heads
  EXPECT_EQ(told.count("done"), 200u);
  EXPECT_GT(b.messengers[0]->inbound().at(0).counters.throttled, 10u);
}

}  // namespace
}  // namespace cassandra_like::messaging_test
