#include "tests/simulation/cluster_simulation.h"

#include "tests/simulation/cluster_workload.h"
#include "tests/simulation/nemesis.h"

namespace cassandra_like {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kStartLimit = seconds(180);
constexpr Duration kRestLimit = seconds(60);

class ClusterSimulation {
 public:
  explicit ClusterSimulation(const ClusterSimulationOptions& options)
      : options_(options), story_(options.seed, options.verbose) {
    const std::string mode = plant() == Plant::kEarlySync ? "periodic" : story_.pick({"batch", "group", "periodic"});
    const unsigned shards = 1 + static_cast<unsigned>(story_.random(2));
    const bool compacts = story_.chance(60);
    NemesisOptions nemesis;
    nemesis.may_cut_power = mode != "periodic" || plant() == Plant::kEarlySync;
    nemesis.may_shift_clocks = story_.chance(50);
    nemesis.only_power_cuts_of_all = plant() == Plant::kEarlySync;
    for (unsigned i = 0; i < options_.nodes; ++i) {
      SimulatedNodeOptions node;
      node.address = fmt::format("10.0.0.{}", i + 1);
      node.seeds = "10.0.0.1,10.0.0.2";
      node.commitlog_sync = mode;
      node.shards = story_.chance(70) ? shards : 3 - shards;
      node.memtable_kib = 256 << story_.random(3);
      node.automatic_compaction = compacts;
      node.two_data_directories = (options_.seed + i) % 4 == 0;
      if (plant() == Plant::kEarlySync) node.sync_period = "2s";
      if (plant() == Plant::kNoHints) node.more = "hinted_handoff_enabled: false\n";
      if (i % 2 == 0) node.more += "file_cache_enabled: false\n";
      // By its clock, a message of a peer whose clock is late would be too old.
      if (nemesis.may_shift_clocks) node.more += "internode_timeout: false\n";
      nodes_.push_back(std::make_unique<SimulatedNode>(story_, node));
      // Clocks are never the same.
      nodes_.back()->machine().shift_wall_clock(story_.between(milliseconds(-200), milliseconds(200)));
      pointers_.push_back(nodes_.back().get());
    }
    nemesis_ = std::make_unique<Nemesis>(story_, pointers_, nemesis);
    workload_ = std::make_unique<ClusterWorkload>(story_, pointers_, plant());
    result_.description = fmt::format("{} nodes, {}{}; {}", options_.nodes, mode,
                                      compacts ? ", automatic compactions" : "", nemesis_->description());
  }

  SimulationResult run() {
    if (join() && workload_->create_schema(3)) {
      for (int round = 0; round < options_.rounds && !story_.failed(); ++round) {
        load();
        if (!story_.failed() && rest()) check();
      }
    }
    story_.say(workload_->summary());
    workload_->stop_clients();
    for (auto& node : nodes_) node->kill();
    result_.failure = story_.failure();
    result_.steps = story_.world().steps();
    result_.trace_hash = story_.world().trace_hash();
    result_.acknowledged = workload_->acknowledged();
    for (const auto& node : nodes_) result_.restarts += node->life();
    return result_;
  }

 private:
  Plant plant() const { return options_.plant; }

  // One after the other, as an operator does it.
  bool join() {
    for (auto& node : nodes_) {
      node->start();
      story_.world().run_until([&] { return node->is_up() || !node->start_error().empty(); }, kStartLimit);
      if (node->is_up()) continue;
      story_.fail(fmt::format("node {} does not start: {}", node->address(), node->start_error()));
      return false;
    }
    workload_->start_clients();
    story_.world().run_until([&] { return workload_->clients_are_ready(); }, kStartLimit);
    return !story_.failed();
  }

  void load() {
    story_.say("load");
    const int64_t end = story_.now() + story_.between(seconds(5), seconds(60)).count();
    while (story_.now() < end && !story_.failed()) {
      nemesis_->act();
      notice_power_cuts();
      workload_->issue_some();
      story_.world().run_for(story_.between(milliseconds(2), milliseconds(150)));
    }
  }

  void notice_power_cuts() {
    uint64_t cuts = 0;
    for (const auto& node : nodes_) cuts += node->power_cuts();
    if (std::exchange(power_cuts_, cuts) != cuts) workload_->power_failed();
  }

  // All nodes are up, all clients connected, and all requests answered.
  bool rest() {
    nemesis_->heal();
    if (plant() == Plant::kLeftOut || plant() == Plant::kLostSchema) leave_one_out();
    auto is_at_rest = [this] {
      for (const auto& node : nodes_) {
        if (!node->is_up()) return false;
      }
      return workload_->clients_are_ready() && workload_->in_flight() == 0;
    };
    const int64_t end = story_.now() + (kStartLimit + kRestLimit).count();
    while (!is_at_rest() && story_.now() < end && !story_.failed()) {
      nemesis_->start_nodes();
      story_.world().run_for(milliseconds(100));
    }
    if (story_.failed()) return false;
    for (const auto& node : nodes_) {
      if (!node->is_up()) story_.fail("node " + node->address() + " does not start again: " + node->start_error());
    }
    if (!is_at_rest()) story_.fail(fmt::format("{} requests are never answered", workload_->in_flight()));
    if (plant() == Plant::kLostSchema) {
      workload_->change_schema(1);
      story_.world().run_for(seconds(2));
    }
    return !story_.failed();
  }

  void leave_one_out() {
    for (size_t i = 1; i < nodes_.size(); ++i) {
      story_.world().set_link(nodes_[0]->machine(), nodes_[i]->machine(), {.cut = SimLink::Cut::kSilent});
      story_.world().set_link(nodes_[i]->machine(), nodes_[0]->machine(), {.cut = SimLink::Cut::kSilent});
    }
  }

  void check() {
    using Check = std::pair<const char*, void (ClusterWorkload::*)()>;
    const Check checks[] = {
        {"schemas", &ClusterWorkload::check_schema},      {"progress", &ClusterWorkload::check_progress},
        {"delivery", &ClusterWorkload::check_delivery},   {"batches", &ClusterWorkload::check_batches},
        {"registers", &ClusterWorkload::check_registers}, {"wide rows", &ClusterWorkload::check_wide_rows},
        {"counters", &ClusterWorkload::check_counters}};
    for (const auto& [name, check] : checks) {
      if (story_.failed()) return;
      story_.say(std::string("check of ") + name);
      (*workload_.*check)();
    }
  }

  const ClusterSimulationOptions options_;
  Story story_;
  SimulationResult result_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
  std::vector<SimulatedNode*> pointers_;
  std::unique_ptr<Nemesis> nemesis_;
  std::unique_ptr<ClusterWorkload> workload_;
  uint64_t power_cuts_ = 0;  // that the workload knows of
};

}  // namespace

const std::vector<std::string>& plant_names() {
  static const std::vector<std::string> names = {"none",        "weak-reads",       "weak-writes",   "early-sync",
                                                 "early-purge", "retried-counters", "split-batches", "no-hints",
                                                 "left-out",    "lost-schema"};
  return names;
}

SimulationResult run_cluster_simulation(const ClusterSimulationOptions& options) {
  return ClusterSimulation(options).run();
}

}  // namespace cassandra_like
