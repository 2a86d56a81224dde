// Lives and deaths of simulated machines, their network, and that one seed means one history.
#include <gtest/gtest.h>

#include <set>

#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct EchoServer : ConnectionHandler {
  explicit EchoServer(Connection& c) : connection(&c) {}
  size_t on_received(BytesView data) override {
    connection->output() += data;
    return data.size();
  }
  void on_closed(const Status&) override {}
  Connection* connection;
};

struct Client : ConnectionHandler {
  explicit Client(Connection& c) : connection(&c) {}
  size_t on_received(BytesView data) override {
    received += data;
    ++chunks;
    return data.size();
  }
  void on_closed(const Status& r) override {
    connection = nullptr;
    reason = r;
    ++closed;
  }
  Connection* connection;
  Bytes received;
  int chunks = 0;
  int closed = 0;
  Status reason;
};

struct Cluster {
  explicit Cluster(uint64_t seed) : world(SimWorld::create(seed)) {
    server = &world->add_machine("10.0.0.1");
    client_machine = &world->add_machine("10.0.0.2");
    client_runtime = &client_machine->boot(1);
    boot_server();
  }
  void boot_server() {
    Runtime& r = server->boot(2);
    listeners.clear();
    for (unsigned i = 0; i < 2; ++i) {
      auto l =
          r.shard(i).network.listen({"10.0.0.1", 9042}, [](Connection& c) { return std::make_shared<EchoServer>(c); });
      EXPECT_TRUE(l.ok());
      listeners.push_back(std::move(*l));
    }
  }
  static Task<void> connect_client(Network* network, std::shared_ptr<Client>* to, std::optional<Status>* status) {
    SocketAddress address{"10.0.0.1", 9042};
    *status = co_await network->connect(address, [to](Connection& c) {
      *to = std::make_shared<Client>(c);
      return *to;
    });
  }
  std::shared_ptr<Client> connect(Status* status = nullptr) {
    std::shared_ptr<Client> client;
    std::optional<Status> result;
    client_runtime->shard(0).executor.post(
        [&] { spawn(connect_client(&client_runtime->shard(0).network, &client, &result)); });
    EXPECT_TRUE(world->run_until([&] { return result.has_value(); }, seconds(10)));
    if (status != nullptr) *status = *result;
    return client;
  }
  static void send(Client& c, BytesView data) {
    c.connection->output() += data;
    c.connection->flush();
  }

  std::unique_ptr<SimWorld> world;
  SimMachine* server;
  SimMachine* client_machine;
  Runtime* client_runtime;
  std::vector<std::unique_ptr<Listener>> listeners;
};

// A little of everything; what it returns is where the world ended.
struct Trace {
  uint64_t hash;
  uint64_t steps;
  int64_t time;
  auto operator<=>(const Trace&) const = default;
};
Trace history(uint64_t seed) {
  Cluster c(seed);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<Client>> clients;
    for (int i = 0; i < 5; ++i) clients.push_back(c.connect());
    for (auto& client : clients) Cluster::send(*client, Bytes(3000, 'x'));
    auto file = c.client_runtime->shard(0).disk.create("/f" + std::to_string(round));
    EXPECT_TRUE((*file)->append("data").ok());
    c.world->run_for(milliseconds(1));
    c.server->crash();
    c.world->run_for(milliseconds(5));
    c.boot_server();
  }
  return {c.world->trace_hash(), c.world->steps(), c.world->clock().monotonic_nanos()};
}

TEST(SimWorld, OneSeedIsOneHistory) {
  for (uint64_t seed = 1; seed <= 10; ++seed) EXPECT_EQ(history(seed), history(seed)) << seed;
}

TEST(SimWorld, SeedsDiffer) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= 50; ++seed) hashes.insert(history(seed).hash);
  EXPECT_EQ(hashes.size(), 50u);
}

TEST(SimWorld, ReadyCallbacksOfDifferentSourcesComeInAnyOrder) {
  std::set<std::string> orders;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    auto world = SimWorld::create(seed);
    Runtime& r = world->add_machine("10.0.0.1").boot(3);
    std::string order;
    for (unsigned i = 0; i < 3; ++i) {
      r.shard(i).executor.post([&order, i] { order += std::to_string(i); });
    }
    while (world->step()) {
    }
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(SimWorld, TimeIsVirtual) {
  auto world = SimWorld::create(1);
  Runtime& r = world->add_machine("10.0.0.1").boot(1);
  bool rang = false;
  int64_t wall = world->clock().wall_micros();
  r.shard(0).executor.schedule(std::chrono::hours(24), [&] { rang = true; });
  world->run_for(std::chrono::hours(23));
  EXPECT_FALSE(rang);
  EXPECT_EQ(world->clock().wall_micros() - wall, 23LL * 3600 * 1'000'000);
  EXPECT_TRUE(world->run_until([&] { return rang; }, std::chrono::hours(2)));
  EXPECT_FALSE(world->run_until([&] { return false; }, seconds(1)));
}

TEST(SimWorld, ACrashDropsCallbacksAndWhatTheyHold) {
  auto world = SimWorld::create(1);
  SimMachine& machine = world->add_machine("10.0.0.1");
  Executor& executor = machine.boot(1).shard(0).executor;
  auto held = std::make_shared<int>(0);
  executor.post([held] { ++*held; });
  executor.schedule(seconds(1), [held] { ++*held; });
  EXPECT_EQ(held.use_count(), 3);
  machine.crash();
  EXPECT_EQ(held.use_count(), 1);
  executor.post([held] { ++*held; });
  executor.schedule(seconds(1), [held] { ++*held; });
  EXPECT_EQ(held.use_count(), 1);
  world->run_for(seconds(5));
  EXPECT_EQ(*held, 0);
  bool ran = false;
  machine.boot(1).shard(0).executor.post([&] { ran = true; });
  world->run_for(seconds(1));
  EXPECT_TRUE(ran);
}

// Dies on its first byte.
struct Mortal : ConnectionHandler {
  Mortal(Connection& c, SimMachine* m) : connection(&c), machine(m) {}
  size_t on_received(BytesView data) override {
    machine->crash();
    connection->output() += "after death";
    connection->flush();
    return data.size();
  }
  void on_closed(const Status&) override { ADD_FAILURE() << "the dead are not told"; }
  Connection* connection;
  SimMachine* machine;
};

TEST(SimWorld, AMachineMayCrashInItsOwnCallback) {
  Cluster c(5);
  c.server->shut_down();
  c.listeners.clear();
  auto l = c.server->boot(1).shard(0).network.listen(
      {"10.0.0.1", 9042}, [&](Connection& conn) { return std::make_shared<Mortal>(conn, c.server); });
  auto client = c.connect();
  Cluster::send(*client, "x");
  ASSERT_TRUE(c.world->run_until([&] { return client->closed == 1; }, seconds(10)));
  EXPECT_FALSE(client->reason.ok());
  EXPECT_EQ(client->received, "");
}

TEST(SimNetwork, DataIsSplitAndDelayedButInOrder) {
  Cluster c(3);
  auto client = c.connect();
  Bytes sent;
  for (int i = 0; i < 300; ++i) {
    Bytes part = std::to_string(i) + ",";
    sent += part;
    Cluster::send(*client, part);
  }
  EXPECT_EQ(client->received, "");
  ASSERT_TRUE(c.world->run_until([&] { return client->received.size() == sent.size(); }, seconds(10)));
  EXPECT_EQ(client->received, sent);
  EXPECT_GT(client->chunks, 300);
}

TEST(SimNetwork, ACrashResetsItsConnectionsAndRefusesNewOnes) {
  Cluster c(3);
  auto client = c.connect();
  c.server->crash();
  ASSERT_TRUE(c.world->run_until([&] { return client->closed == 1; }, seconds(10)));
  EXPECT_EQ(client->reason.error().code(), ErrorCode::kClosed);
  Status status;
  EXPECT_EQ(c.connect(&status), nullptr);
  EXPECT_EQ(status.error().message(), "cannot connect to 10.0.0.1:9042: Connection refused");
  c.boot_server();
  auto again = c.connect(&status);
  ASSERT_TRUE(status.ok());
  Cluster::send(*again, "hello again");
  EXPECT_TRUE(c.world->run_until([&] { return again->received == "hello again"; }, seconds(10)));
}

TEST(SimNetwork, ACleanStopEndsTheStream) {
  Cluster c(3);
  auto client = c.connect();
  c.server->shut_down();
  ASSERT_TRUE(c.world->run_until([&] { return client->closed == 1; }, seconds(10)));
  EXPECT_TRUE(client->reason.ok());
}

TEST(SimNetwork, InjectedResetsReachBothEnds) {
  Cluster c(3);
  c.client_machine->faults().reset_ppm = 1'000'000;
  auto client = c.connect();
  Cluster::send(*client, "x");
  ASSERT_TRUE(c.world->run_until([&] { return client->closed == 1; }, seconds(10)));
  EXPECT_FALSE(client->reason.ok());
  EXPECT_EQ(client->received, "");
}

// Whenever the server dies, a connection attempt ends one way or the other.
TEST(SimNetwork, NoConnectionAttemptHangs) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster c(seed);
    std::shared_ptr<Client> client;
    std::optional<Status> result;
    c.client_runtime->shard(0).executor.post(
        [&] { spawn(Cluster::connect_client(&c.client_runtime->shard(0).network, &client, &result)); });
    for (uint64_t steps = seed % 5; steps > 0; --steps) c.world->step();
    c.server->crash();
    EXPECT_TRUE(c.world->run_until([&] { return result.has_value(); }, seconds(10))) << seed;
    if (client != nullptr) {
      EXPECT_TRUE(c.world->run_until([&] { return client->closed == 1; }, seconds(10))) << seed;
    }
  }
}

}  // namespace
}  // namespace cassandra_like
