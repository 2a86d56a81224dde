// Machines, their lives and the loop that a test drives.
#include <map>
#include <vector>

#include "base/result.h"
#include "runtime/sim/sim_disk.h"
#include "runtime/sim/sim_network.h"
#include "runtime/sim/sim_runtime.h"
#include "runtime/sim/sim_scheduler.h"

namespace cassandra_like {

namespace {

constexpr int64_t kForever = INT64_MAX;

struct SimShard {
  SimShard(SimScheduler& scheduler, SimLife& life, unsigned index, SimFabric& fabric, SimHost& host,
           SimDiskState& disk_state, const int64_t* clock_offset)
      : executor(scheduler, life, index),
        clock(scheduler, clock_offset),
        network(fabric, executor, host),
        disk(disk_state, executor),
        random(scheduler.draw()),
        blocking(scheduler, executor, *host.faults) {}

  SimExecutor executor;
  SimClock clock;
  SimNetwork network;
  SimDisk disk;
  SimRandom random;
  SimBlocking blocking;
  ShardRuntime view{executor, clock, network, disk, random, blocking};
};

class SimBoot final : public Runtime {
 public:
  unsigned shard_count() const override { return static_cast<unsigned>(shards.size()); }
  ShardRuntime& shard(unsigned i) override { return shards.at(i)->view; }

  SimLife life;
  std::vector<std::unique_ptr<SimShard>> shards;
};

class SimMachineImpl final : public SimMachine {
 public:
  SimMachineImpl(SimScheduler& scheduler, SimFabric& fabric, uint32_t index, uint32_t* lives, std::string address)
      : scheduler_(scheduler), fabric_(fabric), lives_(lives), disk_(scheduler, index, faults_) {
    host_.machine = index;
    host_.address = std::move(address);
    host_.faults = &faults_;
    fabric_.add_host(host_);
  }

  Runtime& boot(unsigned shards) override {
    CHECK(shards >= 1 && shards <= 64);
    CHECK(!is_alive());
    auto boot = std::make_unique<SimBoot>();
    boot->life.machine = host_.machine;
    boot->life.number = (*lives_)++;
    for (unsigned i = 0; i < shards; ++i) {
      boot->shards.push_back(
          std::make_unique<SimShard>(scheduler_, boot->life, i, fabric_, host_, disk_, &clock_offset_));
    }
    boots_.push_back(std::move(boot));
    return *boots_.back();
  }

  void crash() override {
    if (!end_life(SimFabric::End::kReset)) return;
    scheduler_.fold(SimEvent::kCrash, host_.machine, 0);
    disk_.crash();
  }

  void shut_down() override {
    if (end_life(SimFabric::End::kClean)) disk_.locks().clear();
  }

  void kill() override {
    if (!end_life(SimFabric::End::kEither)) return;
    scheduler_.fold(SimEvent::kKill, host_.machine, 0);
    disk_.locks().clear();
  }

  void pause() override {
    if (!is_alive() || is_paused()) return;
    scheduler_.fold(SimEvent::kPause, host_.machine, 0);
    boots_.back()->life.paused = true;
  }

  void resume() override {
    if (!is_paused()) return;
    scheduler_.fold(SimEvent::kContinue, host_.machine, 0);
    scheduler_.resume(boots_.back()->life);
  }

  bool is_paused() const override { return is_alive() && boots_.back()->life.paused; }

  SimFaults& faults() override { return faults_; }
  void set_disk_capacity(uint64_t bytes) override { disk_.set_capacity(bytes); }
  bool damage(const std::string& path, uint64_t offset, BytesView bytes) override {
    const std::shared_ptr<SimInode> inode = disk_.find(path);
    if (inode == nullptr || offset + bytes.size() > inode->content.size()) return false;
    inode->content.replace(offset, bytes.size(), bytes);
    return true;
  }
  void shift_wall_clock(Duration by) override {
    clock_offset_ += std::chrono::duration_cast<std::chrono::microseconds>(by).count();
  }
  uint32_t index() const { return host_.machine; }

 private:
  bool is_alive() const { return !boots_.empty() && boots_.back()->life.alive; }

  bool end_life(SimFabric::End end) {
    if (!is_alive()) return false;
    SimBoot& boot = *boots_.back();
    boot.life.alive = false;
    boot.life.paused = false;
    fabric_.end_life(boot.life, end);
    scheduler_.drop_events_of(boot.life);
    for (auto& s : boot.shards) s->executor.drop_timers();
    return true;
  }

  SimScheduler& scheduler_;
  SimFabric& fabric_;
  uint32_t* lives_;
  SimFaults faults_;
  int64_t clock_offset_ = 0;  // microseconds
  SimHost host_;
  SimDiskState disk_;
  // The dead are kept: what is left of a crashed node may still refer to its runtime.
  std::vector<std::unique_ptr<SimBoot>> boots_;
};

class SimWorldImpl final : public SimWorld {
 public:
  explicit SimWorldImpl(uint64_t seed)
      : scheduler_(seed), fabric_(scheduler_), clock_(scheduler_), random_(scheduler_.draw()) {}
  ~SimWorldImpl() override {
    for (auto& m : machines_) m->shut_down();
  }

  SimMachine& add_machine(const std::string& address) override {
    auto index = static_cast<uint32_t>(machines_.size());
    machines_.push_back(std::make_unique<SimMachineImpl>(scheduler_, fabric_, index, &lives_, address));
    return *machines_.back();
  }
  void set_link(SimMachine& from, SimMachine& to, const SimLink& link) override {
    fabric_.set_link(index_of(from), index_of(to), link);
  }
  SimLink link(SimMachine& from, SimMachine& to) const override { return fabric_.link(index_of(from), index_of(to)); }
  Clock& clock() override { return clock_; }
  Random& random() override { return random_; }

  bool step() override { return scheduler_.step(kForever); }
  void run_for(Duration virtual_time) override {
    int64_t end = scheduler_.now() + virtual_time.count();
    while (scheduler_.step(end)) {
    }
    scheduler_.advance_to(end);
  }
  bool run_until(absl::AnyInvocable<bool()> done, Duration limit) override {
    int64_t end = scheduler_.now() + limit.count();
    while (!done()) {
      if (scheduler_.step(end)) continue;
      scheduler_.advance_to(end);
      return done();
    }
    return true;
  }
  uint64_t steps() const override { return scheduler_.steps(); }
  uint64_t trace_hash() const override { return scheduler_.trace_hash(); }

 private:
  static uint32_t index_of(SimMachine& machine) { return static_cast<SimMachineImpl&>(machine).index(); }

  SimScheduler scheduler_;
  SimFabric fabric_;
  SimClock clock_;
  SimRandom random_;
  uint32_t lives_ = 0;
  std::vector<std::unique_ptr<SimMachineImpl>> machines_;
};

}  // namespace

std::unique_ptr<SimWorld> SimWorld::create(uint64_t seed) { return std::make_unique<SimWorldImpl>(seed); }

}  // namespace cassandra_like
