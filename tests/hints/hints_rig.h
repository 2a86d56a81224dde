// A node whose hints are under test, and peers that note the hints that come to them; in a simulated world.
#pragma once

#include <map>

#include "hints/hints.h"
#include "hints/hints_file.h"
#include "tests/messaging/messenger_fixture.h"

namespace cassandra_like::hints_test {

using messaging_test::Cluster;
using messaging_test::TestNode;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr int32_t kTenDays = 864'000;

// Host ids of the peers: their number in each digit.
Uuid host_id(int peer);

class HintsRig {
 public:
  explicit HintsRig(unsigned shards = 1, HintsOptions options = {}, uint64_t seed = 1);
  ~HintsRig();

  // The node's life. stop() ends it in order, kill() as kill -9 does, lose_power() loses what was not synced.
  void start(unsigned shards = 1);
  void stop();
  void kill();
  void lose_power();

  // Machines 10.0.0.2 and so on, for peer 1 and so on. They take hints as `answer` says.
  TestNode& add_peer();
  void up(int peer);
  void down(int peer);
  void left(int peer);
  // On all shards.
  void each(std::function<void(Hints&)> fn);
  void on(unsigned shard, std::function<void(Hints&)> fn);

  // "ok", or the error. The mutation is a text, as a peer notes it.
  std::string write(int peer, const std::string& text, unsigned shard = 0, int32_t gc_grace_seconds = kTenDays);
  std::string write_to(std::vector<int> peers, const std::string& text, unsigned shard = 0,
                       int32_t gc_grace_seconds = kTenDays);
  // All in one turn of the shard's loop.
  std::vector<std::string> write_many(int peer, const std::vector<std::string>& texts, unsigned shard = 0);
  std::string run(unsigned shard, std::function<Task<Status>(Hints&)> work);
  bool should_hint(int peer, unsigned shard = 0, std::string_view datacenter = "dc1");

  bool wait(std::function<bool()> done, Duration limit = seconds(60)) { return cluster.wait(std::move(done), limit); }
  void pass(Duration time) { cluster.world->run_for(time); }
  HintsStatistics statistics() const;
  std::vector<PendingHints> pending() const;

  // Names in the directory, and the hints in a file ("text" each).
  std::vector<std::string> files();
  std::vector<std::string> files(const std::string& suffix);
  std::vector<std::string> hints_in(const std::string& name);
  Bytes read_file(const std::string& name);
  void write_file(const std::string& name, BytesView content);
  Disk& disk() { return node->runtime->shard(0).disk; }
  std::string path(const std::string& name) const { return options.directory + "/" + name; }

  HintsOptions options;
  Cluster cluster;
  TestNode* node = nullptr;
  std::vector<TestNode*> peers;
  std::shared_ptr<HintsControl> control;
  std::vector<std::unique_ptr<Hints>> hints;

  std::map<std::string, std::vector<std::string>> got;  // by the peer's address, in the order of their coming
  std::function<VerbResult(const std::string& text)> answer = [](const std::string&) { return VerbResult::answer(); };
};

}  // namespace cassandra_like::hints_test
