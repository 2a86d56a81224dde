// Promises of every Network, in the real and in the simulated world.
#include <algorithm>
#include <vector>

#include "tests/runtime/worlds.h"

namespace cassandra_like {
namespace {

class NetworkTest : public BothWorlds {};
INSTANTIATE_TEST_SUITE_P(Worlds, NetworkTest, testing::Values(WorldKind::kLinux, WorldKind::kSim), world_name);

// Records what it sees; a server's may also do something with it.
struct Peer : ConnectionHandler {
  explicit Peer(Connection& c) : connection(&c) {}

  size_t on_received(BytesView data) override {
    if (on_data) return on_data(data);
    received += data;
    return data.size();
  }
  void on_closed(const Status& r) override {
    ++closed;
    reason = r;
    connection = nullptr;
  }
  void on_drained() override { ++drained; }

  Connection* connection;
  std::function<size_t(BytesView)> on_data;
  Bytes received;
  int closed = 0;
  int drained = 0;
  Status reason;
};

// A server of one connection and a client connected to it, both on shard 0.
struct Pair {
  std::unique_ptr<Listener> listener;
  std::shared_ptr<Peer> server;
  std::shared_ptr<Peer> client;
};

Acceptor keep(std::shared_ptr<Peer>* to, std::function<void(Peer&)> prepare = {}) {
  return [to, prepare](Connection& c) {
    *to = std::make_shared<Peer>(c);
    if (prepare) prepare(**to);
    return *to;
  };
}

Task<void> connect_pair(TestWorld* world, Pair* pair, std::function<void(Peer&)> prepare_server) {
  Network& network = world->shard(0).network;
  auto listener = network.listen({world->address(), 0}, keep(&pair->server, prepare_server));
  EXPECT_TRUE(listener.ok());
  pair->listener = std::move(*listener);
  SocketAddress to{world->address(), pair->listener->port()};
  Status status = co_await network.connect(to, keep(&pair->client));
  EXPECT_TRUE(status.ok());
}

class PairTest : public NetworkTest {
 protected:
  void connect(std::function<void(Peer&)> prepare_server = {}) {
    world().run(0, [&] { return connect_pair(&world(), &pair_, prepare_server); });
    wait([&] { return pair_.server != nullptr; });
  }
  void on_shard(std::function<void()> fn) {
    bool done = false;
    world().shard(0).executor.post([&] {
      fn();
      done = true;
    });
    wait([&] { return done; });
  }
  void wait(std::function<bool()> done) { world().wait_until(std::move(done)); }
  Peer& client() { return *pair_.client; }
  Peer& server() { return *pair_.server; }
  void send(Bytes data) {
    on_shard([&] {
      client().connection->output() += data;
      client().connection->flush();
    });
  }
  void TearDown() override {
    on_shard([&] { pair_.listener.reset(); });
    NetworkTest::TearDown();
  }

  Pair pair_;
};
INSTANTIATE_TEST_SUITE_P(Worlds, PairTest, testing::Values(WorldKind::kLinux, WorldKind::kSim), world_name);

void echo(Peer& p) {
  p.on_data = [&p](BytesView data) {
    p.connection->output() += data;
    return data.size();
  };
}

TEST_P(PairTest, EchoesAndCloses) {
  connect(echo);
  EXPECT_EQ(client().connection->remote_address().to_string(),
            world().address() + ":" + std::to_string(pair_.listener->port()));
  EXPECT_EQ(client().connection->local_address(), server().connection->remote_address());
  send("hello");
  wait([&] { return client().received == "hello"; });
  on_shard([&] { client().connection->close(); });
  wait([&] { return client().closed == 1 && server().closed == 1; });
  EXPECT_TRUE(client().reason.ok());
  EXPECT_TRUE(server().reason.ok());
}

// Frames of a 4-byte length: what is not whole yet is offered again, with more.
size_t answer_frames(Peer& p, BytesView data) {
  size_t consumed = 0;
  for (;;) {
    Reader in(data.substr(consumed));
    uint32_t size = in.u32();
    BytesView body = in.take(size);
    if (in.failed()) return consumed;
    append_be<uint32_t>(p.connection->output(), static_cast<uint32_t>(body.size()));
    p.connection->output() += body;
    consumed += 4 + body.size();
  }
}

TEST_P(PairTest, AnswersPipelinedFramesOfAnySize) {
  connect([](Peer& p) { p.on_data = [&p](BytesView data) { return answer_frames(p, data); }; });
  Bytes requests;
  for (size_t size : {0, 1, 10, 4092, 4096, 5, 100'000, 3, 1'000'000, 17}) {
    append_be<uint32_t>(requests, static_cast<uint32_t>(size));
    requests.append(size, static_cast<char>('a' + size % 26));
  }
  send(requests);
  wait([&] { return client().received.size() == requests.size(); });
  EXPECT_TRUE(client().received == requests);
}

TEST_P(PairTest, APausedReaderHoldsTheSenderBack) {
  connect();
  on_shard([&] { server().connection->pause(); });
  Bytes data(20'000'000, 'x');
  for (size_t i = 0; i < data.size(); i += 1000) data[i] = static_cast<char>(i / 1000);
  send(data);
  on_shard([&] { EXPECT_GT(client().connection->unsent(), 0u); });
  EXPECT_EQ(client().drained, 0);
  on_shard([&] { server().connection->resume(); });
  wait([&] { return server().received.size() == data.size() && client().drained == 1; });
  EXPECT_TRUE(server().received == data);
  on_shard([&] { EXPECT_EQ(client().connection->unsent(), 0u); });
}

TEST_P(PairTest, WhatAPausedHandlerLeftIsOfferedAgainOnResume) {
  std::vector<Bytes> offered;
  connect([&](Peer& p) {
    p.on_data = [&](BytesView data) -> size_t {
      offered.push_back(Bytes(data));
      if (offered.size() == 1) p.connection->pause();
      return offered.size() == 1 ? 1 : data.size();
    };
  });
  send("abc");
  wait([&] { return offered.size() == 1; });
  on_shard([&] { server().connection->resume(); });
  wait([&] {
    Bytes rest;
    for (size_t i = 1; i < offered.size(); ++i) rest += offered[i];
    return offered[0].substr(0, 1) + rest == "abc";
  });
}

TEST_P(PairTest, CloseSendsWhatIsStillToBeSent) {
  Bytes data(3'000'000, 'y');
  connect([&](Peer& p) {
    p.on_data = [&](BytesView received) {
      p.connection->output() += data;
      p.connection->close();
      return received.size();
    };
  });
  send("?");
  wait([&] { return client().closed == 1 && server().closed == 1; });
  EXPECT_TRUE(client().received == data);
  EXPECT_TRUE(server().reason.ok());
}

TEST_P(PairTest, CloseNowDropsTheOutput) {
  connect([](Peer& p) {
    p.on_data = [&p](BytesView data) {
      p.connection->output() += "never sent";
      p.connection->close_now();
      return data.size();
    };
  });
  send("?");
  wait([&] { return client().closed == 1 && server().closed == 1; });
  EXPECT_EQ(client().received, "");
}

TEST_P(PairTest, AClosedListenerKeepsItsConnections) {
  connect(echo);
  uint16_t port = pair_.listener->port();
  on_shard([&] { pair_.listener.reset(); });
  send("still here");
  wait([&] { return client().received == "still here"; });

  std::shared_ptr<Peer> late;
  Status status;
  struct Body {
    static Task<void> run(Network* network, SocketAddress address, std::shared_ptr<Peer>* late, Status* status) {
      *status = co_await network->connect(address, keep(late));
    }
  };
  SocketAddress address{world().address(), port};
  world().run(0, [&] { return Body::run(&world().shard(0).network, address, &late, &status); });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kIo);
  EXPECT_EQ(status.error().message(), "cannot connect to " + address.to_string() + ": Connection refused");
}

TEST_P(PairTest, ARefusingAcceptorClosesTheConnection) {
  std::unique_ptr<Listener> refusing;
  on_shard([&] {
    auto l = world().shard(0).network.listen({world().address(), 0}, [](Connection&) { return nullptr; });
    EXPECT_TRUE(l.ok());
    refusing = std::move(*l);
  });
  struct Body {
    static Task<void> run(Network* network, SocketAddress address, std::shared_ptr<Peer>* to) {
      Status status = co_await network->connect(address, keep(to));
      EXPECT_TRUE(status.ok());
    }
  };
  SocketAddress address{world().address(), refusing->port()};
  world().run(0, [&] { return Body::run(&world().shard(0).network, address, &pair_.client); });
  wait([&] { return client().closed == 1; });
  on_shard([&] { refusing.reset(); });
}

TEST_P(PairTest, AnAddressInUseOrNotOursIsRefused) {
  connect();
  on_shard([&] {
    Network& network = world().shard(0).network;
    SocketAddress taken{world().address(), pair_.listener->port()};
    auto in_use = network.listen(taken, [](Connection&) { return nullptr; });
    ASSERT_FALSE(in_use.ok());
    EXPECT_EQ(in_use.error().code(), ErrorCode::kIo);
    EXPECT_EQ(in_use.error().message(), "cannot listen on " + taken.to_string() + ": Address already in use");
    auto not_ours = network.listen({"203.0.113.9", 0}, [](Connection&) { return nullptr; });
    ASSERT_FALSE(not_ours.ok());
    EXPECT_EQ(not_ours.error().message(), "cannot listen on 203.0.113.9:0: Cannot assign requested address");
  });
}

// Connects 60 times to an address on which three shards listen; returns the ports of the clients that each shard serves.
std::vector<std::vector<uint16_t>> connect_to_shards(TestWorld& w, Spread spread) {
  constexpr unsigned kShards = 3;
  constexpr int kConnections = 60;
  std::vector<std::unique_ptr<Listener>> listeners(kShards);
  std::vector<std::vector<std::shared_ptr<Peer>>> servers(kShards);
  std::vector<std::shared_ptr<Peer>> clients(kConnections);

  struct Body {
    static Task<void> listen(TestWorld* w, unsigned i, uint16_t port, std::unique_ptr<Listener>* to,
                             std::vector<std::shared_ptr<Peer>>* peers, Spread spread) {
      Executor* mine = &w->shard(i).executor;
      auto accept = [mine, peers](Connection& c) {
        EXPECT_TRUE(mine->is_current());
        peers->push_back(std::make_shared<Peer>(c));
        echo(*peers->back());
        return peers->back();
      };
      auto l = w->shard(i).network.listen({w->address(), port}, accept, spread);
      EXPECT_TRUE(l.ok());
      *to = std::move(*l);
      return {};
    }
    static Task<void> connect(TestWorld* w, uint16_t port, std::vector<std::shared_ptr<Peer>>* clients) {
      for (auto& c : *clients) {
        SocketAddress to{w->address(), port};
        Status s = co_await w->shard(0).network.connect(to, keep(&c));
        EXPECT_TRUE(s.ok());
        c->connection->output() += "hi";
        c->connection->flush();
      }
    }
    static Task<void> close(std::unique_ptr<Listener>* l) {
      l->reset();
      return {};
    }
  };
  w.run(0, [&] { return Body::listen(&w, 0, 0, &listeners[0], &servers[0], spread); });
  uint16_t port = listeners[0]->port();
  for (unsigned i = 1; i < kShards; ++i) {
    w.run(i, [&] { return Body::listen(&w, i, port, &listeners[i], &servers[i], spread); });
  }
  w.run(0, [&] { return Body::connect(&w, port, &clients); });
  w.wait_until(
      [&] { return std::all_of(clients.begin(), clients.end(), [](auto& c) { return c->received == "hi"; }); });
  std::vector<std::vector<uint16_t>> ports(kShards);
  size_t total = 0;
  for (unsigned i = 0; i < kShards; ++i) {
    EXPECT_GT(servers[i].size(), 0u);
    total += servers[i].size();
    for (const auto& server : servers[i]) ports[i].push_back(server->connection->remote_address().port);
    w.run(i, [&] { return Body::close(&listeners[i]); });
  }
  EXPECT_EQ(total, static_cast<size_t>(kConnections));
  return ports;
}

// Connections to an address on which several shards listen are spread, each served on one shard.
TEST_P(NetworkTest, ShardsShareAnAddress) { connect_to_shards(world(3), Spread::kAny); }

TEST_P(NetworkTest, TheClientsPortMayChooseTheShard) {
  auto ports = connect_to_shards(world(3), Spread::kBySourcePort);
  for (unsigned shard = 0; shard < ports.size(); ++shard) {
    for (uint16_t port : ports[shard]) EXPECT_EQ(port % ports.size(), shard);
  }
}

TEST(SocketAddress, Text) {
  EXPECT_EQ((SocketAddress{"127.0.0.1", 9042}).to_string(), "127.0.0.1:9042");
  EXPECT_EQ((SocketAddress{"::1", 9042}).to_string(), "[::1]:9042");
}

}  // namespace
}  // namespace cassandra_like
