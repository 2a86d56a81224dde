// Requests, answers and failures between nodes of one process, over a simulated network.
#include "gmock/gmock.h"
#include "tests/messaging/messenger_fixture.h"

namespace cassandra_like::messaging_test::messenger_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Bytes letters(size_t size) {
  Bytes out(size, '\0');
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i * i % 23);
  return out;
}

// Requests that wait until the test answers them.
struct Slow {
  std::deque<Promise<VerbResult>> promises;
  std::vector<InboundMessage> messages;

  VerbHandler handler() {
    return [this](InboundMessage message) {
      message.keep();
      messages.push_back(std::move(message));
      return wait(&promises.emplace_back());
    };
  }
  static Task<VerbResult> wait(Promise<VerbResult>* promise) { co_return co_await *promise; }
  void answer_all() {
    for (auto& promise : promises) promise.set(VerbResult::answer());
    promises.clear();
  }
};

class Recorder final : public ResponseHandler {
 public:
  void on_response(InboundMessage& response) override {
    told.push_back(response.from.host() + ": " + Bytes(response.payload));
  }
  void on_failure(const InetAddressAndPort& from, RequestFailureReason reason) override {
    told.push_back(from.host() + ": " + failure_reason_name(reason));
  }
  std::vector<std::string> told;
};

uint64_t sum(const TestNode& node, uint64_t PeerLink::Counters::*counter) {
  uint64_t total = 0;
  for (const auto& messenger : node.messengers) {
    for (const PeerStatistics& peer : messenger->peers()) {
      for (const auto& link : peer.links) total += link.counters.*counter;
    }
  }
  return total;
}

class EachFraming : public testing::TestWithParam<Framing> {};
INSTANTIATE_TEST_SUITE_P(Framings, EachFraming, testing::Values(Framing::kUnprotected, Framing::kLz4, Framing::kCrc),
                         [](const auto& info) { return std::string(framing_name(info.param)); });

// internode_compression: dc
TEST(Compression, MayBeForOtherDatacentersAlone) {
  Cluster cluster;
  const InetAddressAndPort near = endpoint_at("10.0.0.2");
  cluster.prepare = [near](TestNode&, Messenger& messenger) {
    messenger.locate_with([near](const InetAddressAndPort& peer) { return peer == near; });
    messenger.handle(Verb::kReadReq, echo_payload());
  };
  TestNode& a = cluster.add(1, [](LinkOptions& options) { options.distant_framing = Framing::kLz4; });
  TestNode& b = cluster.add();
  TestNode& c = cluster.add();
  CapturedLog log;
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "near"), "near");
  EXPECT_EQ(cluster.ask(a, c.endpoint(), Verb::kReadReq, "far"), "far");
  EXPECT_EQ(
      log.count("10.0.0.1:7000->/10.0.0.2:7000-SMALL_MESSAGES successfully connected, version = 13, framing = crc"),
      1u);
  EXPECT_EQ(
      log.count("10.0.0.1:7000->/10.0.0.3:7000-SMALL_MESSAGES successfully connected, version = 13, framing = lz4"),
      1u);
}

TEST_P(EachFraming, CarriesRequestsAndAnswersOfAnySize) {
  Cluster cluster;
  auto framing = [](LinkOptions& options) { options.framing = GetParam(); };
  TestNode& a = cluster.add(1, framing);
  TestNode& b = cluster.add(1, framing);
  for (size_t size : {size_t{0}, size_t{1}, size_t{60'000}, size_t{70'000}, size_t{3'000'000}}) {
    EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, letters(size)), letters(size)) << size;
  }
  ASSERT_EQ(a.messengers[0]->peers().size(), 1u);
  const PeerStatistics peer = a.messengers[0]->peers()[0];
  EXPECT_EQ(peer.peer, b.endpoint());
  ASSERT_EQ(peer.links.size(), 2u);
  EXPECT_EQ(peer.links[0].type, ConnectionType::kSmall);
  EXPECT_EQ(peer.links[0].counters.sent, 3u);
  EXPECT_EQ(peer.links[1].type, ConnectionType::kLarge);
  EXPECT_EQ(peer.links[1].counters.sent, 2u);
  EXPECT_EQ(peer.links[1].pending_bytes, 0u);
  EXPECT_EQ(a.messengers[0]->waiting_requests(), 0u);
}

// Whichever shard a connection came to, an answer finds the shard that asked.
TEST(Messenger, AnswersTheShardThatAsked) {
  Cluster cluster;
  TestNode& a = cluster.add(3);
  TestNode& b = cluster.add(4);
  for (unsigned shard = 0; shard < 3; ++shard) {
    for (int i = 0; i < 20; ++i) {
      const Bytes text = std::to_string(shard) + "/" + std::to_string(i);
      EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, text, {}, shard), text);
    }
  }
  for (unsigned shard = 0; shard < 3; ++shard) EXPECT_EQ(a.messengers[shard]->unexpected_responses(), 0u);
}

TEST(Messenger, SendsOneWay) {
  std::vector<std::string> got;
  Cluster cluster;
  cluster.prepare = [&got](TestNode& node, Messenger& messenger) {
    messenger.handle(Verb::kGossipDigestSyn, [&got, host = node.host](InboundMessage m) -> Task<VerbResult> {
      got.push_back(host + " from " + m.from.host() + ": " + Bytes(m.payload));
      return VerbResult::nothing();
    });
  };
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  cluster.on(a, 0, [&](Messenger& m) {
    EXPECT_TRUE(m.send(b.endpoint(), Verb::kGossipDigestSyn, shared("syn")));
    EXPECT_TRUE(m.send(a.endpoint(), Verb::kGossipDigestSyn, shared("to myself")));
  });
  ASSERT_TRUE(cluster.wait([&] { return got.size() == 2; }));
  EXPECT_THAT(got, testing::UnorderedElementsAre("10.0.0.2 from 10.0.0.1: syn", "10.0.0.1 from 10.0.0.1: to myself"));
  EXPECT_EQ(a.messengers[0]->peers()[1].links[0].type, ConnectionType::kUrgent);
}

TEST(Messenger, FailsWithThePeersReason) {
  Cluster cluster;
  cluster.prepare = [](TestNode&, Messenger& messenger) {
    messenger.handle(Verb::kMutationReq, [](InboundMessage) -> Task<VerbResult> {
      return VerbResult::failure(RequestFailureReason::kIncompatibleSchema);
    });
  };
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  const SendOptions wants{.flags = kCallBackOnFailure};
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kMutationReq, "m", wants), "<INCOMPATIBLE_SCHEMA>");
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kMutationReq, "m"), "<TIMEOUT>");  // it did not ask for it
  CapturedLog log;
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kPaxosPrepareReq, "m", wants), "<UNKNOWN>");
  EXPECT_EQ(log.count("/10.0.0.1:7000 sent PAXOS_PREPARE_REQ, which this node does not serve"), 1u) << log.all();
}

TEST(Messenger, GivesUpAtTheDeadline) {
  Slow slow;
  Recorder told;
  Cluster cluster;
  cluster.prepare = [&slow](TestNode&, Messenger& messenger) { messenger.handle(Verb::kMutationReq, slow.handler()); };
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  const int64_t began = cluster.world->clock().monotonic_nanos();
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kMutationReq, "m"), "<TIMEOUT>");
  const int64_t took = cluster.world->clock().monotonic_nanos() - began;
  EXPECT_GE(took, 2'000'000'000);  // write_request_timeout
  EXPECT_LE(took, 2'020'000'000);
  cluster.on(a, 0, [](Messenger& m) { m.set_timeout(&VerbTimeouts::write, 300); });
  const int64_t again = cluster.world->clock().monotonic_nanos();
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kMutationReq, "m"), "<TIMEOUT>");
  EXPECT_GE(cluster.world->clock().monotonic_nanos() - again, 300'000'000);
  EXPECT_LE(cluster.world->clock().monotonic_nanos() - again, 320'000'000);
  // One that asks for less gets it, though another one waits for longer.
  cluster.on(a, 0, [&](Messenger& m) {
    m.send_request(b.endpoint(), Verb::kMutationReq, shared("long"), told);
    const int64_t soon = cluster.world->clock().monotonic_nanos() + 50'000'000;
    m.send_request(b.endpoint(), Verb::kMutationReq, shared("short"), told, {.deadline = soon});
  });
  cluster.world->run_for(milliseconds(60));
  EXPECT_THAT(told.told, testing::ElementsAre("10.0.0.2: TIMEOUT"));
  cluster.world->run_for(seconds(3));
  EXPECT_EQ(told.told.size(), 2u);
  EXPECT_EQ(slow.messages.size(), 4u);
  cluster.on(b, 0, [&](Messenger&) { slow.answer_all(); });
}

TEST(Messenger, ForgetsARequestThatIsCancelled) {
  Recorder told;
  Cluster cluster;
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  cluster.on(a, 0, [&](Messenger& m) {
    const uint32_t id = m.send_request(b.endpoint(), Verb::kReadReq, shared("r"), told);
    EXPECT_NE(id, 0u);
    m.cancel(id);
  });
  cluster.world->run_for(seconds(20));
  EXPECT_TRUE(told.told.empty());
  EXPECT_EQ(a.messengers[0]->unexpected_responses(), 1u);
}

// A node passes a mutation on; who gets it answers the one that asked (FORWARD_TO, RESPOND_TO).
TEST(Messenger, PassesOnAndIsAnsweredByTheLast) {
  Recorder told;
  Cluster cluster;
  cluster.prepare = [](TestNode& node, Messenger& messenger) {
    messenger.handle(Verb::kMutationReq, [&messenger, host = node.host](InboundMessage m) -> Task<VerbResult> {
      m.header.params.for_each_forward([&](const InetAddressAndPort& to, uint32_t id) {
        ParamsBuilder params;
        params.respond_to(m.from).copy_without(m.header.params, ParamType::kForwardTo);
        messenger.forward(to, id, m.header.verb, shared(m.payload), {.params = params.get(), .deadline = m.deadline});
      });
      return VerbResult::answer(shared("done by " + host));
    });
  };
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  TestNode& c = cluster.add();
  cluster.on(a, 0, [&](Messenger& m) {
    const int64_t deadline = cluster.world->clock().monotonic_nanos() + 2'000'000'000;
    const InetAddressAndPort other = c.endpoint();
    m.send_request_through(b.endpoint(), {&other, 1}, Verb::kMutationReq, shared("m"), told, {.deadline = deadline});
  });
  ASSERT_TRUE(cluster.wait([&] { return told.told.size() == 2; }));
  EXPECT_THAT(told.told, testing::UnorderedElementsAre("10.0.0.2: done by 10.0.0.2", "10.0.0.3: done by 10.0.0.3"));
}

// The acceptor's rule holds in both directions.
TEST(Messenger, SpeaksTheOlderVersion) {
  int seen = 0;
  Cluster cluster;
  cluster.prepare = [&seen](TestNode&, Messenger& messenger) {
    messenger.handle(Verb::kMutationReq, [&seen](InboundMessage m) -> Task<VerbResult> {
      seen = m.version;
      return VerbResult::answer();
    });
  };
  TestNode& a = cluster.add();
  TestNode& b = cluster.add(1, [](LinkOptions& options) { options.versions = {12, 12}; });
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kMutationReq, ""), "");
  EXPECT_EQ(seen, 12);
  EXPECT_EQ(a.messengers[0]->version_of(b.endpoint()), 12);
  EXPECT_EQ(b.messengers[0]->version_of(a.endpoint()), 13);
}

TEST(Messenger, FailsWhatWaitsWhenItCloses) {
  Slow slow;
  Recorder told;
  Cluster cluster;
  cluster.prepare = [&slow](TestNode&, Messenger& messenger) { messenger.handle(Verb::kMutationReq, slow.handler()); };
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  cluster.on(a, 0, [&](Messenger& m) { m.send_request(b.endpoint(), Verb::kMutationReq, shared("m"), told); });
  ASSERT_TRUE(cluster.wait([&] { return slow.messages.size() == 1; }));
  cluster.shut_down(a);
  EXPECT_THAT(told.told, testing::ElementsAre("10.0.0.2: NODE_DOWN"));
  cluster.on(b, 0, [&](Messenger&) { slow.answer_all(); });
}

// ---- peers that come and go

TEST(Messenger, FindsAPeerThatStartsAgain) {
  Cluster cluster;
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "before"), "before");
  cluster.crash(b);
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "while it is down"), "<TIMEOUT>");
  cluster.boot(b);
  EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "after"), "after");
  EXPECT_EQ(sum(a, &PeerLink::Counters::connections), 2u);
}

// The peer answers a request of the node's former life when the node, started again, waits for the answer to another one.
TEST(Messenger, TakesNoAnswerToItsFormerLife) {
  Slow slow;
  Recorder former, told;
  Cluster cluster;
  cluster.prepare = [&slow](TestNode&, Messenger& messenger) { messenger.handle(Verb::kMutationReq, slow.handler()); };
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  cluster.on(a, 0, [&](Messenger& m) { m.send_request(b.endpoint(), Verb::kMutationReq, shared("before"), former); });
  ASSERT_TRUE(cluster.wait([&] { return slow.messages.size() == 1; }));
  cluster.crash(a);
  cluster.boot(a);
  cluster.on(a, 0, [&](Messenger& m) { m.send_request(b.endpoint(), Verb::kMutationReq, shared("after"), told); });
  ASSERT_TRUE(cluster.wait([&] { return slow.messages.size() == 2; }));
  cluster.on(b, 0, [&](Messenger&) {
    slow.promises.front().set(VerbResult::answer(shared("before")));
    slow.promises.pop_front();
  });
  cluster.world->run_for(milliseconds(500));
  EXPECT_THAT(told.told, testing::IsEmpty());
  EXPECT_EQ(a.messengers[0]->unexpected_responses(), 1u);
  cluster.on(b, 0, [&](Messenger&) { slow.answer_all(); });
  ASSERT_TRUE(cluster.wait([&] { return told.told.size() == 1; }));
  EXPECT_THAT(told.told, testing::ElementsAre("10.0.0.2: "));
}

std::vector<bool> connected(const TestNode& node) {
  std::vector<bool> out;
  for (const auto& messenger : node.messengers) {
    for (const PeerStatistics& peer : messenger->peers()) {
      for (const auto& link : peer.links) out.push_back(link.connected);
    }
  }
  return out;
}

TEST(Messenger, LeavesTheConnectionsOfAllShardsToAPeerThatIsTakenForDead) {
  Cluster cluster;
  TestNode& a = cluster.add(2);
  TestNode& b = cluster.add();
  auto ask_on_both = [&] {
    for (unsigned shard : {0u, 1u}) {
      EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "question", {}, shard), "question");
    }
  };
  ask_on_both();
  EXPECT_THAT(connected(a), testing::ElementsAre(true, true));
  cluster.on(a, 0, [&](Messenger& m) { m.interrupt(b.endpoint()); });
  cluster.world->run_for(milliseconds(10));
  EXPECT_THAT(connected(a), testing::ElementsAre(false, false));
  ask_on_both();
  EXPECT_EQ(sum(a, &PeerLink::Counters::connections), 4u);
}

TEST(Messenger, ForgetsAPeerThatHasLeftOnAllShards) {
  Cluster cluster;
  TestNode& a = cluster.add(2);
  TestNode& b = cluster.add();
  for (unsigned shard : {0u, 1u}) cluster.ask(a, b.endpoint(), Verb::kReadReq, "question", {}, shard);
  cluster.on(a, 1, [&](Messenger& m) { m.forget(b.endpoint()); });
  cluster.world->run_for(milliseconds(10));
  EXPECT_THAT(connected(a), testing::IsEmpty());
}

// A message may wait for a peer that is not there yet; how long it takes is bounded by last_retry.
TEST(Messenger, DeliversWhenThePeerComes) {
  Recorder told;
  Cluster cluster;
  TestNode& a = cluster.add();
  TestNode& b = cluster.add();
  cluster.crash(b);
  cluster.on(a, 0, [&](Messenger& m) { m.send_request(b.endpoint(), Verb::kReadReq, shared("early"), told); });
  cluster.world->run_for(milliseconds(2700));
  EXPECT_TRUE(told.told.empty());
  cluster.boot(b);
  cluster.world->run_for(milliseconds(1200));
  EXPECT_THAT(told.told, testing::ElementsAre("10.0.0.2: early"));
  EXPECT_GE(sum(a, &PeerLink::Counters::attempts), 4u);
  EXPECT_LE(sum(a, &PeerLink::Counters::attempts), 8u);
}

// Faults of the network lose requests, and nothing else: no answer is wrong, none comes twice.
TEST(Messenger, SurvivesResets) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster(seed);
    TestNode& a = cluster.add(2);
    TestNode& b = cluster.add(2);
    a.machine->faults().reset_ppm = b.machine->faults().reset_ppm = 20'000;
    size_t answered = 0;
    for (int i = 0; i < 40; ++i) {
      const Bytes text = letters(static_cast<size_t>(i % 8 == 0 ? 200'000 : 10)) + std::to_string(i);
      const std::string answer = cluster.ask(a, b.endpoint(), Verb::kReadReq, text, {}, static_cast<unsigned>(i) % 2);
      EXPECT_TRUE(answer == text || answer == "<TIMEOUT>") << answer.substr(0, 20);
      answered += answer == text;
    }
    EXPECT_GT(answered, 10u) << seed;
    a.machine->faults().reset_ppm = b.machine->faults().reset_ppm = 0;
    EXPECT_EQ(cluster.ask(a, b.endpoint(), Verb::kReadReq, "at last"), "at last");
    for (const auto& messenger : a.messengers) {
      for (const PeerStatistics& peer : messenger->peers()) {
        for (const auto& link : peer.links) EXPECT_EQ(link.pending_bytes, 0u);
      }
    }
    EXPECT_EQ(a.group->reserves.send.used(), 0u);
  }
}

// One seed, one history.
TEST(Messenger, IsTheSameForTheSameSeed) {
  auto run = [](uint64_t seed) {
    Cluster cluster(seed);
    TestNode& a = cluster.add(2);
    TestNode& b = cluster.add(2);
    a.machine->faults().reset_ppm = 20'000;
    for (int i = 0; i < 20; ++i) cluster.ask(a, b.endpoint(), Verb::kReadReq, letters(100), {}, i % 2);
    return cluster.world->trace_hash();
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

}  // namespace
}  // namespace cassandra_like::messaging_test::messenger_test
