// Faults of simulated machines and of the links between them.
#include <set>

#include "tests/runtime/echo_world.h"

namespace cassandra_like {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Cut = SimLink::Cut;

struct FaultyWorld : EchoWorld {
  explicit FaultyWorld(uint64_t seed) : EchoWorld(seed) {}

  void to_server(const SimLink& link) { world->set_link(*client_machine, *server, link); }
  void to_client(const SimLink& link) { world->set_link(*server, *client_machine, link); }
  bool hears(EchoClient& client, const Bytes& what, Duration limit) {
    return world->run_until([&] { return client.received == what; }, limit);
  }
};

SimLink cut(Cut kind) { return {.cut = kind}; }

TEST(SimLinks, ASilentCutHoldsBytesBackAndResetsNothing) {
  FaultyWorld w(1);
  auto client = w.connect();
  w.to_server(cut(Cut::kSilent));
  EchoWorld::send(*client, "one ");
  EXPECT_FALSE(w.hears(*client, "one ", seconds(60)));
  w.to_server({});
  EchoWorld::send(*client, "two");
  EXPECT_TRUE(w.hears(*client, "one two", seconds(1)));
  EXPECT_EQ(client->closed, 0);
}

TEST(SimLinks, OneDirectionMayBeCutAlone) {
  FaultyWorld w(2);
  auto client = w.connect();
  w.to_client(cut(Cut::kSilent));
  std::string heard;
  w.on_server_received = [&](BytesView data) { heard += data; };
  EchoWorld::send(*client, "hello");
  w.world->run_for(seconds(1));
  EXPECT_EQ(heard, "hello");
  EXPECT_EQ(client->received, "");
  w.to_client({});
  EXPECT_TRUE(w.hears(*client, "hello", seconds(1)));
}

TEST(SimLinks, BehindASilentCutAWindowDoesNotOpenAgain) {
  FaultyWorld w(3);
  auto client = w.connect();
  w.to_client(cut(Cut::kSilent));
  EchoWorld::send(*client, Bytes(1 << 20, 'x'));
  w.world->run_for(seconds(10));
  EXPECT_EQ(client->connection->unsent(), (1u << 20) - (256u << 10));
  w.to_client({});
  EXPECT_TRUE(w.hears(*client, Bytes(1 << 20, 'x'), seconds(10)));
}

TEST(SimLinks, AnAttemptToConnectWaitsAtACutInEitherDirection) {
  for (bool there : {true, false}) {
    FaultyWorld w(4);
    there ? w.to_server(cut(Cut::kSilent)) : w.to_client(cut(Cut::kSilent));
    std::shared_ptr<EchoClient> client;
    std::optional<Status> status;
    w.begin_to_connect(&client, &status);
    w.world->run_for(seconds(100));
    EXPECT_FALSE(status.has_value());
    there ? w.to_server({}) : w.to_client({});
    EXPECT_TRUE(w.world->run_until([&] { return status.has_value(); }, seconds(1)));
    EXPECT_TRUE(status->ok());
    EchoWorld::send(*client, "late");
    EXPECT_TRUE(w.hears(*client, "late", seconds(1)));
  }
}

TEST(SimLinks, AnAttemptToConnectIsGivenUpAtLast) {
  FaultyWorld w(5);
  w.to_server(cut(Cut::kSilent));
  std::shared_ptr<EchoClient> client;
  std::optional<Status> status;
  w.begin_to_connect(&client, &status);
  ASSERT_TRUE(w.world->run_until([&] { return status.has_value(); }, seconds(131)));
  EXPECT_EQ(status->error().message(), "cannot connect to 10.0.0.1:9042: Connection timed out");
  w.to_server({});
  w.world->run_for(seconds(1));
  EXPECT_EQ(client, nullptr);
}

TEST(SimLinks, AResettingCutEndsConnectionsAndRefusesNewOnes) {
  FaultyWorld w(6);
  auto client = w.connect();
  w.to_client(cut(Cut::kReset));
  ASSERT_TRUE(w.world->run_until([&] { return client->closed == 1; }, seconds(1)));
  EXPECT_EQ(client->reason.error().code(), ErrorCode::kClosed);
  Status status;
  EXPECT_EQ(w.connect(&status), nullptr);
  EXPECT_EQ(status.error().message(), "cannot connect to 10.0.0.1:9042: Connection refused");
  w.to_client({});
  EXPECT_NE(w.connect(&status), nullptr);
}

TEST(SimLinks, ADelayComesOnTopOfTheSendersOwn) {
  FaultyWorld w(7);
  auto client = w.connect();
  w.to_server({.delay = milliseconds(300)});
  w.to_client({.delay = milliseconds(40)});
  const int64_t began = w.world->clock().monotonic_nanos();
  EchoWorld::send(*client, "x");
  ASSERT_TRUE(w.hears(*client, "x", seconds(1)));
  const int64_t took = w.world->clock().monotonic_nanos() - began;
  EXPECT_GE(took, 340'000'000);
  EXPECT_LE(took, 341'100'000);
}

TEST(SimLinks, AllConnectionsShareABandwidth) {
  FaultyWorld w(8);
  auto one = w.connect(), other = w.connect();
  w.to_server({.bytes_per_second = 10'000});
  const int64_t began = w.world->clock().monotonic_nanos();
  EchoWorld::send(*one, Bytes(10'000, 'a'));
  EchoWorld::send(*other, Bytes(10'000, 'b'));
  ASSERT_TRUE(w.world->run_until([&] { return one->received.size() + other->received.size() == 20'000; }, seconds(9)));
  const int64_t took = w.world->clock().monotonic_nanos() - began;
  EXPECT_GE(took, 2'000'000'000);
  EXPECT_LE(took, 2'010'000'000);
}

TEST(SimLinks, WhatIsLostIsSentAgainAndHoldsUpItsConnectionOnly) {
  FaultyWorld w(9);
  auto one = w.connect(), other = w.connect();
  w.to_server({.loss_ppm = 1'000'000});
  EchoWorld::send(*one, "a");
  w.to_server({});
  EchoWorld::send(*one, "b");
  EchoWorld::send(*other, "c");
  EXPECT_TRUE(w.hears(*other, "c", milliseconds(10)));
  EXPECT_EQ(one->received, "");
  EXPECT_TRUE(w.hears(*one, "ab", seconds(5)));
}

TEST(SimLinks, TheEndOfAMachineBehindACutIsHeardOfWhenItIsMended) {
  for (bool power_cut : {true, false}) {
    FaultyWorld w(10);
    auto client = w.connect();
    w.to_client(cut(Cut::kSilent));
    EchoWorld::send(*client, "x");
    w.world->run_for(seconds(1));
    power_cut ? w.server->crash() : w.server->kill();
    w.world->run_for(seconds(60));
    EXPECT_EQ(client->closed, 0);
    // Another life, which ends behind the cut, too.
    w.boot_server();
    power_cut ? w.server->crash() : w.server->kill();
    w.to_client({});
    EXPECT_TRUE(w.world->run_until([&] { return client->closed == 1; }, seconds(1)));
    // The kernel of a process that was killed goes on to send.
    EXPECT_EQ(client->received, power_cut ? "" : "x");
  }
}

TEST(SimMachine, APauseKeepsConnectionsAndWhatArrivesUntilTheMachineGoesOn) {
  FaultyWorld w(11);
  auto client = w.connect();
  w.server->pause();
  EXPECT_TRUE(w.server->is_paused());
  EchoWorld::send(*client, "one ");
  auto later = w.connect();  // the kernel takes it
  ASSERT_NE(later, nullptr);
  EchoWorld::send(*later, "hello");
  EXPECT_FALSE(w.hears(*client, "one ", seconds(60)));
  EchoWorld::send(*client, "two");
  w.server->resume();
  EXPECT_TRUE(w.hears(*client, "one two", seconds(1)));
  EXPECT_TRUE(w.hears(*later, "hello", seconds(1)));
  EXPECT_EQ(client->closed + later->closed, 0);
}

TEST(SimMachine, TimersOfAPausedMachineAreLateInTheirOrderAndItsClockGoesOn) {
  auto world = SimWorld::create(12);
  SimMachine& machine = world->add_machine("10.0.0.1");
  ShardRuntime& shard = machine.boot(1).shard(0);
  std::string rang;
  int64_t rang_at = 0;
  shard.executor.schedule(seconds(2), [&] { rang += "b", rang_at = shard.clock.monotonic_nanos(); });
  shard.executor.schedule(seconds(1), [&] { rang += "a"; });
  shard.executor.schedule(seconds(9), [&] { rang += "c"; });
  machine.pause();
  world->run_for(seconds(8));
  EXPECT_EQ(rang, "");
  machine.resume();
  world->run_for(milliseconds(1));
  EXPECT_EQ(rang, "ab");
  EXPECT_EQ(rang_at, 8'000'000'000);
  world->run_for(seconds(2));
  EXPECT_EQ(rang, "abc");
}

TEST(SimMachine, TheEndOfALifeEndsItsPause) {
  FaultyWorld w(13);
  auto client = w.connect();
  w.server->pause();
  EchoWorld::send(*client, "x");
  w.world->run_for(seconds(1));
  w.server->kill();
  EXPECT_FALSE(w.server->is_paused());
  EXPECT_TRUE(w.world->run_until([&] { return client->closed == 1; }, seconds(1)));
  w.boot_server();
  auto again = w.connect();
  EchoWorld::send(*again, "y");
  EXPECT_TRUE(w.hears(*again, "y", seconds(1)));
}

Bytes content(Runtime& runtime, const std::string& path) {
  auto file = runtime.shard(0).disk.open(path);
  if (!file.ok()) return "no file";
  Bytes out((*file)->size(), '\0');
  EXPECT_TRUE((*file)->read(0, out).ok());
  return out;
}

TEST(SimMachine, AKilledProcessLeavesOnTheDiskWhatItWroteAndAPowerCutDoesNot) {
  for (bool power_cut : {true, false}) {
    auto world = SimWorld::create(14);
    SimMachine& machine = world->add_machine("10.0.0.1");
    machine.faults().tear_on_crash = false;
    Disk& disk = machine.boot(1).shard(0).disk;
    ASSERT_TRUE(disk.make_directories("/d").ok());
    auto lock = disk.lock("/d");
    auto file = disk.create("/f");
    EXPECT_TRUE((*file)->append("written, not synced").ok());
    power_cut ? machine.crash() : machine.kill();
    Runtime& again = machine.boot(1);
    EXPECT_EQ(content(again, "/f"), power_cut ? "no file" : "written, not synced");
    EXPECT_EQ(again.shard(0).disk.lock("/d").ok(), !power_cut);
  }
}

TEST(SimMachine, PeersOfAKilledProcessSeeTheEndOrAReset) {
  std::set<bool> clean;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    FaultyWorld w(seed);
    auto client = w.connect();
    w.server->kill();
    ASSERT_TRUE(w.world->run_until([&] { return client->closed == 1; }, seconds(1)));
    clean.insert(client->reason.ok());
  }
  EXPECT_EQ(clean, (std::set<bool>{false, true}));
}

TEST(SimMachine, WallClocksDifferAndJumpWhileTheMonotonicOnesGoOn) {
  auto world = SimWorld::create(15);
  SimMachine& one = world->add_machine("10.0.0.1");
  SimMachine& other = world->add_machine("10.0.0.2");
  Clock& clock = one.boot(1).shard(0).clock;
  Clock& other_clock = other.boot(1).shard(0).clock;
  one.shift_wall_clock(seconds(-600));
  other.shift_wall_clock(milliseconds(5));
  EXPECT_EQ(other_clock.wall_micros() - clock.wall_micros(), 600'005'000);
  EXPECT_EQ(other_clock.monotonic_nanos(), clock.monotonic_nanos());
}

// All faults at once, drawn from the seed.
struct End {
  uint64_t hash;
  uint64_t steps;
  auto operator<=>(const End&) const = default;
};
End faulty_history(uint64_t seed) {
  FaultyWorld w(seed);
  auto random = [&](uint64_t bound) { return w.world->random().below(bound); };
  std::vector<std::shared_ptr<EchoClient>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(w.connect());
  for (int round = 0; round < 30; ++round) {
    SimLink link;
    link.cut = static_cast<Cut>(random(3));
    link.delay = milliseconds(random(20));
    link.bytes_per_second = random(2) * 100'000;
    link.loss_ppm = static_cast<uint32_t>(random(2) * 100'000);
    random(2) == 0 ? w.to_server(link) : w.to_client(link);
    if (random(4) == 0) w.server->pause();
    if (random(3) == 0) w.server->resume();
    for (auto& client : clients) {
      if (client->connection != nullptr) EchoWorld::send(*client, Bytes(random(5000) + 1, 'x'));
    }
    w.world->run_for(milliseconds(random(100)));
    if (random(10) == 0) {
      w.server->kill();
      w.boot_server();
    }
    if (random(5) == 0) {
      w.to_server({});
      w.to_client({});
      w.server->resume();
      clients[random(4)] = w.connect();
    }
  }
  return {w.world->trace_hash(), w.world->steps()};
}

TEST(SimWorld, OneSeedIsOneHistoryOfFaults) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const End end = faulty_history(seed);
    EXPECT_EQ(end, faulty_history(seed)) << seed;
    hashes.insert(end.hash);
  }
  EXPECT_EQ(hashes.size(), 20u);
}

}  // namespace
}  // namespace cassandra_like
