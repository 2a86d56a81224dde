// The same messengers on real sockets; and beside a real Cassandra, when INTERNODE_PEER names its address (INTERNODE_SELF: the
// loopback address that this end takes, 127.0.0.22 if it is not set). The peer needs no more than to run.
#include <unistd.h>

#include <cstdlib>
#include <future>

#include <fmt/format.h>

#include "gtest/gtest.h"
#include "messaging/link/messenger.h"
#include "messaging/wire/control_codec.h"
#include "messaging/wire/mutation_codec.h"
#include "runtime/linux/linux_runtime.h"
#include "tests/messaging/wire_oracle.h"

namespace cassandra_like::messaging_test {
namespace {

InetAddressAndPort storage_port_of(const std::string& host) { return *InetAddressAndPort::parse(host, 7000); }

Task<VerbResult> echo(InboundMessage message) { co_return VerbResult::answer(SharedBytes::copy_of(message.payload)); }

// A node's messengers on all shards of a runtime.
class RealNode {
 public:
  RealNode(LinuxRuntime& runtime, const std::string& host, Framing framing) : runtime_(runtime) {
    LinkOptions options;
    options.self = storage_port_of(host);
    options.framing = framing;
    group_ = std::make_unique<MessengerGroup>(runtime, options);
    for (unsigned i = 0; i < runtime.shard_count(); ++i) messengers_.push_back(std::make_unique<Messenger>(*group_, i));
    for (unsigned i = 0; i < runtime.shard_count(); ++i) {
      on(i, [&](Messenger& m) {
        m.handle(Verb::kReadReq, echo);
        m.handle(Verb::kEchoReq, echo);
        const Status listening = m.listen({host, 7000});
        EXPECT_TRUE(listening.ok()) << listening.error().message();
      });
    }
  }
  ~RealNode() {
    for (unsigned i = 0; i < messengers_.size(); ++i) {
      std::promise<void> closed;
      runtime_.shard(i).executor.post([&] { spawn(close(messengers_[i].get(), &closed)); });
      closed.get_future().get();
    }
    for (unsigned i = 0; i < messengers_.size(); ++i) {
      std::promise<void> gone;
      runtime_.shard(i).executor.post([&] {
        messengers_[i].reset();
        gone.set_value();
      });
      gone.get_future().get();
    }
  }
  void on(unsigned shard, const std::function<void(Messenger&)>& fn) {
    std::promise<void> done;
    runtime_.shard(shard).executor.post([&] {
      fn(*messengers_[shard]);
      done.set_value();
    });
    done.get_future().get();
  }
  // The answer's payload, or the failure in angle brackets.
  std::future<std::string> ask(unsigned shard, InetAddressAndPort to, Verb verb, Bytes payload, uint32_t flags = 0) {
    auto answer = std::make_shared<std::promise<std::string>>();
    auto future = answer->get_future();
    runtime_.shard(shard).executor.post([this, shard, to, verb, payload = std::move(payload), flags, answer] {
      spawn(wait(messengers_[shard].get(), to, verb, SharedBytes::copy_of(payload), flags, answer));
    });
    return future;
  }
  std::vector<PeerStatistics> peers(unsigned shard) {
    std::vector<PeerStatistics> out;
    on(shard, [&](Messenger& m) { out = m.peers(); });
    return out;
  }

 private:
  static Task<void> wait(Messenger* messenger, InetAddressAndPort to, Verb verb, SharedBytes payload, uint32_t flags,
                         std::shared_ptr<std::promise<std::string>> out) {
    SendOptions options;
    options.flags = flags;
    auto answer = co_await messenger->request(to, verb, std::move(payload), options);
    if (answer.ok()) {
      out->set_value(Bytes(answer->payload));
    } else {
      out->set_value(std::string("<") + failure_reason_name(reason_of(answer.error())) + ">");
    }
  }
  static Task<void> close(Messenger* messenger, std::promise<void>* closed) {
    co_await messenger->close();
    closed->set_value();
  }

  LinuxRuntime& runtime_;
  std::unique_ptr<MessengerGroup> group_;
  std::vector<std::unique_ptr<Messenger>> messengers_;
};

struct RealWorld {
  explicit RealWorld(unsigned shards) : runtime(std::make_unique<LinuxRuntime>(shards)) {
    CHECK(runtime->start().ok());
  }
  ~RealWorld() { runtime->stop(); }
  std::unique_ptr<LinuxRuntime> runtime;
};

class RealSockets : public testing::TestWithParam<Framing> {};
INSTANTIATE_TEST_SUITE_P(Framings, RealSockets, testing::Values(Framing::kUnprotected, Framing::kLz4, Framing::kCrc),
                         [](const auto& info) { return std::string(framing_name(info.param)); });

TEST_P(RealSockets, CarryManyRequestsOfManyShards) {
  RealWorld world(3);
  const std::string own = fmt::format("{}.{}", ::getpid() / 250 % 250 + 1, ::getpid() % 250 + 1);
  {
    RealNode a(*world.runtime, "127.7." + own, GetParam()), b(*world.runtime, "127.8." + own, GetParam());
    std::vector<std::pair<Bytes, std::future<std::string>>> asked;
    for (unsigned i = 0; i < 600; ++i) {
      const Bytes text(i % 100 == 7 ? 150'000 + i : i, static_cast<char>('a' + i % 26));
      asked.emplace_back(text, a.ask(i % 3, storage_port_of("127.8." + own), Verb::kReadReq, text));
    }
    for (auto& [text, answer] : asked) EXPECT_EQ(answer.get(), text);
  }
}

// Verbs that any Cassandra answers, and failures that it has to tell.
TEST(RealCassandra, AnswersAndIsAnswered) {
  const char* host = std::getenv("INTERNODE_PEER");
  if (host == nullptr) GTEST_SKIP() << "INTERNODE_PEER names no address";
  const char* self = std::getenv("INTERNODE_SELF");
  const InetAddressAndPort peer = storage_port_of(host);
  for (const Framing framing : {Framing::kCrc, Framing::kLz4}) {
    SCOPED_TRACE(framing_name(framing));
    RealWorld world(2);
    RealNode node(*world.runtime, self == nullptr ? "127.0.0.22" : self, framing);
    for (unsigned shard : {0u, 1u}) {
      EXPECT_EQ(node.ask(shard, peer, Verb::kEchoReq, "").get(), "");
      for (const ConnectionType type : {ConnectionType::kSmall, ConnectionType::kLarge}) {
        Bytes ping;
        append_ping_request(ping, type);
        EXPECT_EQ(node.ask(shard, peer, Verb::kPingReq, ping).get(), "");
      }
      const Bytes version = node.ask(shard, peer, Verb::kSchemaVersionReq, "").get();
      EXPECT_EQ(version.size(), 16u);
      EXPECT_NE(decode_schema_version(version)->to_string(), Uuid{}.to_string());
      const Bytes schema = node.ask(shard, peer, Verb::kSchemaPullReq, "").get();
      EXPECT_GT(schema.size(), 10'000u);
      EXPECT_GT(load_be<uint32_t>(schema.data()), 0u);
      // A table that it does not have, and bodies that are none, a large one among them.
      EXPECT_EQ(node.ask(shard, peer, Verb::kMutationReq, wire_payload("mutation one"), kCallBackOnFailure).get(),
                "<INCOMPATIBLE_SCHEMA>");
      EXPECT_EQ(node.ask(shard, peer, Verb::kMutationReq, Bytes(10, '\xFF'), kCallBackOnFailure).get(), "<UNKNOWN>");
      EXPECT_EQ(node.ask(shard, peer, Verb::kEchoReq, Bytes(300'000, 'x'), kCallBackOnFailure).get(), "<UNKNOWN>");
      EXPECT_EQ(node.ask(shard, peer, Verb::kEchoReq, "").get(), "");
    }
    for (const PeerStatistics& statistics : node.peers(0)) {
      for (const auto& link : statistics.links) {
        EXPECT_EQ(link.counters.connections, 1u) << connection_type_name(link.type);
        EXPECT_EQ(link.counters.expired + link.counters.overloaded, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace cassandra_like::messaging_test
