// Lives and deaths of simulated machines, their network, and that one seed means one history.
#include <gtest/gtest.h>

#include <set>

#include "tests/runtime/echo_world.h"

namespace cassandra_like {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A little of everything; what it returns is where the world ended.
struct Trace {
  uint64_t hash;
  uint64_t steps;
  int64_t time;
  auto operator<=>(const Trace&) const = default;
};
Trace history(uint64_t seed) {
  EchoWorld c(seed);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<EchoClient>> clients;
    for (int i = 0; i < 5; ++i) clients.push_back(c.connect());
    for (auto& client : clients) EchoWorld::send(*client, Bytes(3000, 'x'));
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
  EchoWorld c(5);
  c.server->shut_down();
  c.listeners.clear();
  auto l = c.server->boot(1).shard(0).network.listen(
      {"10.0.0.1", 9042}, [&](Connection& conn) { return std::make_shared<Mortal>(conn, c.server); });
  auto client = c.connect();
  EchoWorld::send(*client, "x");
  ASSERT_TRUE(c.world->run_until([&] { return client->closed == 1; }, seconds(10)));
  EXPECT_FALSE(client->reason.ok());
  EXPECT_EQ(client->received, "");
}

TEST(SimNetwork, DataIsSplitAndDelayedButInOrder) {
  EchoWorld c(3);
  auto client = c.connect();
  Bytes sent;
  for (int i = 0; i < 300; ++i) {
    Bytes part = std::to_string(i) + ",";
    sent += part;
    EchoWorld::send(*client, part);
  }
  EXPECT_EQ(client->received, "");
  ASSERT_TRUE(c.world->run_until([&] { return client->received.size() == sent.size(); }, seconds(10)));
  EXPECT_EQ(client->received, sent);
  EXPECT_GT(client->chunks, 300);
}

TEST(SimNetwork, ACrashResetsItsConnectionsAndRefusesNewOnes) {
  EchoWorld c(3);
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
  EchoWorld::send(*again, "hello again");
  EXPECT_TRUE(c.world->run_until([&] { return again->received == "hello again"; }, seconds(10)));
}

TEST(SimNetwork, ACleanStopEndsTheStream) {
  EchoWorld c(3);
  auto client = c.connect();
  c.server->shut_down();
  ASSERT_TRUE(c.world->run_until([&] { return client->closed == 1; }, seconds(10)));
  EXPECT_TRUE(client->reason.ok());
}

TEST(SimNetwork, InjectedResetsReachBothEnds) {
  EchoWorld c(3);
  c.client_machine->faults().reset_ppm = 1'000'000;
  auto client = c.connect();
  EchoWorld::send(*client, "x");
  ASSERT_TRUE(c.world->run_until([&] { return client->closed == 1; }, seconds(10)));
  EXPECT_FALSE(client->reason.ok());
  EXPECT_EQ(client->received, "");
}

// Whenever the server dies, a connection attempt ends one way or the other.
TEST(SimNetwork, NoConnectionAttemptHangs) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    EchoWorld c(seed);
    std::shared_ptr<EchoClient> client;
    std::optional<Status> result;
    c.begin_to_connect(&client, &result);
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
